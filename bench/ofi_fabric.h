/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One of the two processes of a measurement: its libfabric objects, its registered memory, and the page through which
 * the two synchronize without the provider under test. Plain libfabric calls only; the same source is compiled a second
 * time with FABRIC_DIRECT.
 *
 * Every wait has a deadline: if a provider hangs, the process ends with BENCH_TIMEOUT, and ofi_bench continues with the
 * next row.
 */
#ifndef BENCH_OFI_FABRIC_H
#define BENCH_OFI_FABRIC_H

#include <stdint.h>
#include <stddef.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#define BENCH_MAX_BYTES (4u << 20)             /* largest transfer */
#define BENCH_MEM_BYTES (2u * BENCH_MAX_BYTES) /* registered memory, and each private buffer */
#define BENCH_LINE 64
#define BENCH_SLOTS 256 /* buffers of a stream of messages */

enum { BENCH_TIMEOUT = 3, BENCH_FAILED = 4, BENCH_ABSENT = 5 }; /* exit codes of a process */

/* Shared by both processes. Each line has one writer, named in the comment. */
struct bench_control {
	struct {
		char name[256];
		uint64_t name_len, base, key, ready;
	} side[2];                          /* each process writes its own */
	_Alignas(BENCH_LINE) uint64_t go;   /* origin: number of the sample being started; odd: prepare, even: run */
	uint64_t row, count, stamp;         /* origin, before go */
	_Alignas(BENCH_LINE) uint64_t ack;  /* target: the last go it has finished */
	uint64_t disturbed;                 /* target, before ack: it was descheduled during the sample */
	_Alignas(BENCH_LINE) uint64_t seen; /* target: how much of the sample has arrived in its own memory */
	_Alignas(BENCH_LINE) uint64_t hello[2]; /* handshake right before a sample */
};

struct bench_side {
	int rank; /* 0: origin, measures. 1: target */
	struct bench_control *control;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_cntr *written, *got;
	struct fid_ep *ep;
	struct fid_mr *mr;
	fi_addr_t peer;
	uint64_t peer_base, peer_key; /* offset addressing: base is 0 */
	char *mem;                    /* registered, from a memfd */
	char *out, *input;            /* private buffers of BENCH_MEM_BYTES */
	int mem_fd;
	uint64_t writes, reads;  /* values that the counters must reach */
	uint64_t received, sent; /* completion entries taken from the queue */
	/* the same, for operations whose context points here */
	uint64_t slot_received[BENCH_SLOTS], slot_sent[BENCH_SLOTS];
	/* a wait that has not finished by then ends the process */
	uint64_t deadline_ns;
	/* a wait that has not finished by then yields the core, every patience_ns */
	uint64_t yield_ns;
	uint64_t patience_ns;
	uint32_t idle;
};

uint64_t bench_now_ns(void);

/* Opens everything and exchanges addresses. Ends the process on failure. provider is NAME or NAME:virt. */
void bench_open(struct bench_side *s, const char *provider, int rank, struct bench_control *control);
void bench_close(struct bench_side *s);

/* Ends the process with a line on stderr if the call returned an error. */
void bench_check(const struct bench_side *s, ssize_t rc, const char *call);

/*
 * Takes all entries from the queue and adds them to received and sent, and to the word a context points to; makes
 * progress.
 */
void bench_poll(struct bench_side *s);
/* For use after a poll that found nothing: yields the core when the peer may need it, and checks the deadline. */
void bench_idle(struct bench_side *s);
/* Bounds all later waits. patience: how long to poll before yielding the core. */
void bench_bound(struct bench_side *s, uint64_t timeout_ns, uint64_t patience_ns);

/* Waits until the counter has reached value. */
void bench_wait_counter(struct bench_side *s, struct fid_cntr *counter, uint64_t value);
/* Waits until *word == value while making progress: *word is a control word, or memory that the peer writes to. */
void bench_wait_word(struct bench_side *s, const uint64_t *word, uint64_t value);

static inline uint64_t bench_load(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static inline void bench_store(uint64_t *p, uint64_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

/* Repeats a call that returns -FI_EAGAIN, with progress in between. */
#define BENCH_RETRY(s_arg, call_arg)                                                                                   \
	do {                                                                                                           \
		ssize_t rc_;                                                                                           \
		while (__builtin_expect((rc_ = (call_arg)) != 0, 0)) {                                                 \
			if (rc_ != -FI_EAGAIN)                                                                         \
				bench_check((s_arg), rc_, #call_arg);                                                  \
			bench_poll(s_arg);                                                                             \
			bench_idle(s_arg);                                                                             \
		}                                                                                                      \
	} while (0)

#endif /* BENCH_OFI_FABRIC_H */
