/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One process's libfabric objects (node), memory to register (mem), and waiting for completions. Every wait makes
 * progress and gives up at hang_end().
 */
#ifndef TESTS_NODE_H
#define TESTS_NODE_H

#include "team.h"

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/fi_ext_pgas.h>

#define TEST_API FI_VERSION(1, 17)
/* Names that libfabric 2 deprecates with a warning at each use, or does not have; the values are part of the ABI. */
#define API_ORDER_STRICT 0x1ffull
#define API_ORDER_DATA (1ull << 16)
#define API_MR_BASIC (1 << 0)
#define API_MR_SCALABLE (1 << 1)
#define API_PROGRESS_UNIFIED 3
#define API_OPT_CUDA_PERMITTED 10
#define ADDR_BYTES 64

struct node_opts {
	uint32_t version;
	uint64_t caps;
	enum fi_threading threading; /* default FI_THREAD_DOMAIN: the fast paths are enabled */
	enum fi_progress progress;   /* default FI_PROGRESS_MANUAL */
	enum fi_av_type av_type;     /* default FI_AV_TABLE */
	int mr_mode;                 /* selects the entry of fi_getinfo that has these bits */
	uint64_t tx_flags, rx_flags, order;
	size_t inject_size;
	size_t cq_size;
	size_t key_size;          /* mr_key_size; default 8 */
	enum fi_cq_format format; /* default FI_CQ_FORMAT_TAGGED */
	enum fi_wait_obj wait;
	bool selective; /* FI_SELECTIVE_COMPLETION on both queues */
	bool no_cq;
	bool two_cqs;        /* separate queues for transmit and receive */
	uint64_t counters;   /* FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE */
	const char *service; /* FI_SOURCE */
	bool no_enable;
	bool peers_watched; /* by the launcher or test: the provider starts no thread for it */
};

struct node {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *tx_cq, *rx_cq;
	struct fid_cntr *c_send, *c_recv, *c_read, *c_write, *c_rem_read, *c_rem_write;
	struct fid_ep *ep;
	char name[ADDR_BYTES];
	fi_addr_t self;           /* own entry of the vector, after node_connect() */
	fi_addr_t peer[TEAM_MAX]; /* by rank, after node_connect() */
};

struct fi_info *hints_new(void); /* fi_allocinfo with prov_name pgas */
struct fi_info *info_get(const struct node_opts *o);
void node_open(struct node *n, const struct node_opts *o);
void node_open_ep(struct node *n, const struct node_opts *o); /* in a node whose domain is open */
void node_connect(struct node *n);                            /* exchanges addresses with the whole team */
void node_close(struct node *n);
void node_poll(struct node *n); /* makes progress, reads no entries */

/* --- memory ------------------------------------------------------------------------------------------------------- */

enum mem_kind { MEM_MEMFD, MEM_PRIVATE, MEM_WHOLE };
#define MEM_KINDS 3
extern const char *const mem_names[MEM_KINDS];

struct mem {
	enum mem_kind kind;
	char *alloc; /* with canary pages on both sides */
	size_t alloc_len;
	unsigned char *base; /* the region, len bytes */
	size_t len;
	struct fid_mr *mr;
	uint64_t key;
	uint64_t start; /* what peers add to an offset */
};
struct remote_mem {
	uint64_t key, start, len;
};

#define ACCESS_ALL (FI_REMOTE_READ | FI_REMOTE_WRITE | FI_READ | FI_WRITE | FI_SEND | FI_RECV)
void mem_alloc(struct mem *m, enum mem_kind kind, size_t len);
void mem_register(struct node *n, struct mem *m, uint64_t key, uint64_t access);
void mem_open(struct node *n, struct mem *m, enum mem_kind kind, size_t len, uint64_t key);
void mem_check_canaries(const struct mem *m);
void mem_close(struct mem *m);
/* All regions by rank; a collective call of the team. */
void mem_exchange(struct node *n, const struct mem *m, struct remote_mem *all);

void fill(void *p, size_t len, uint64_t seed); /* bytes that depend on seed and position */
bool filled(const void *p, size_t len, uint64_t seed);

/* --- waiting ------------------------------------------------------------------------------------------------------ */

void wait_cntr(struct node *n, struct fid_cntr *c, uint64_t value);
/* Waits for the next entry of the queue; fails the case on an error entry. */
void wait_cq(struct node *n, struct fid_cq *cq, struct fi_cq_tagged_entry *e);
/* The next entry must be an error; fills e (its strings may be read afterwards). */
void wait_cq_error(struct node *n, struct fid_cq *cq, struct fi_cq_err_entry *e);
void wait_tx(struct node *n, int count); /* `count` good transmit completions */

/* Repeats a data call while it returns -FI_EAGAIN, polling in between. */
#define RETRY(n_arg, call_arg)                                                                                         \
	({                                                                                                             \
		ssize_t rc_;                                                                                           \
		const double end_ = hang_end();                                                                        \
		while ((rc_ = (call_arg)) == -FI_EAGAIN) {                                                             \
			node_poll(n_arg);                                                                              \
			CHECK(now_s() < end_);                                                                         \
		}                                                                                                      \
		rc_;                                                                                                   \
	})

#endif /* TESTS_NODE_H */
