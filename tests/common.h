/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the provider's tests share: a team of processes per case, one process's libfabric objects (node), memory to
 * register (mem), and checks that work in the children too.
 *
 * The CMocka process itself never opens anything: every case runs in fresh children, so a crash or a hang hurts one
 * case only, FI_PGAS_* can differ from case to case, and nothing is left behind (children die with their parent).
 */
#ifndef TESTS_COMMON_H
#define TESTS_COMMON_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <cmocka.h>

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

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_SLOW 1 /* a sanitizer makes everything several times slower */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEST_SLOW 1
#endif
#endif
#ifndef TEST_SLOW
#define TEST_SLOW 0
#endif

#define TEST_API FI_VERSION(1, 17)
/* Names that libfabric 2 deprecates with a warning at each use, or does not have; the values are part of the ABI. */
#define API_ORDER_STRICT 0x1ffull
#define API_ORDER_DATA (1ull << 16)
#define API_MR_BASIC (1 << 0)
#define API_MR_SCALABLE (1 << 1)
#define API_PROGRESS_UNIFIED 3
#define TEAM_MAX 64
#define ADDR_BYTES 64
#define ARRAY_SIZE(a_arg) (sizeof(a_arg) / sizeof((a_arg)[0]))

/* --- checks: in a child they print and end it; the CMocka process sees the exit status ---------------------------- */

#define CHECK(cond_arg) check_true(!!(cond_arg), #cond_arg, __FILE__, __LINE__)
#define CHECK_EQ(a_arg, b_arg) check_equal((long long)(a_arg), (long long)(b_arg), #a_arg, #b_arg, __FILE__, __LINE__)
#define CHECK_OK(call_arg) check_ok((long long)(call_arg), #call_arg, __FILE__, __LINE__)
#define CHECK_MEM(a_arg, b_arg, len_arg) check_bytes((a_arg), (b_arg), (len_arg), __FILE__, __LINE__)
void check_true(bool ok, const char *what, const char *file, int line);
void check_equal(long long a, long long b, const char *wa, const char *wb, const char *file, int line);
void check_ok(long long rc, const char *what, const char *file, int line);
void check_bytes(const void *a, const void *b, size_t len, const char *file, int line);

/* --- a team of processes ------------------------------------------------------------------------------------------ */

typedef void (*team_fn)(int rank, void *arg);

/* Runs fn in `size` children and asserts that all end well. env: "NAME=VALUE" strings, NULL at the end, or NULL. */
void team_run(int size, team_fn fn, void *arg);
void team_run_env(int size, team_fn fn, void *arg, const char *const *env);

struct node;
int team_size(void);
void team_barrier(struct node *progress); /* all living ranks; polls the node's queues meanwhile when it is not NULL */
void *team_shared(void);                  /* 4 MiB, zero at the start of the case */
pid_t team_pid(int rank);
void team_mark_victim(int rank); /* this rank may end by SIGKILL; barriers go on without it */
void team_kill(int rank);        /* marks and kills; returns when the process is gone */

/* --- time --------------------------------------------------------------------------------------------------------- */

double now_s(void);
/* when a wait that is still going on counts as hung, by now_s(); hang_ms() is the same as a timeout */
double hang_end(void);
int hang_ms(void);
double patience(void); /* how many times longer than on an idle machine "soon" may take now; 1 on an idle one */
double cpu_s(void);
void sleep_ms(int ms);
int open_fds(void); /* descriptors of this process */

/* --- one process's objects ---------------------------------------------------------------------------------------- */

struct node_opts {
	uint32_t version;
	uint64_t caps;
	enum fi_threading threading; /* default FI_THREAD_DOMAIN: the short ways are open */
	enum fi_progress progress;   /* default FI_PROGRESS_MANUAL */
	enum fi_av_type av_type;     /* default FI_AV_TABLE */
	int mr_mode;                 /* picks the entry of fi_getinfo that has these bits */
	uint64_t tx_flags, rx_flags, order;
	size_t inject_size;
	size_t cq_size;
	enum fi_cq_format format; /* default FI_CQ_FORMAT_TAGGED */
	enum fi_wait_obj wait;
	bool selective; /* FI_SELECTIVE_COMPLETION on both queues */
	bool no_cq;
	bool two_cqs;        /* separate queues for transmit and receive */
	uint64_t counters;   /* FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE */
	const char *service; /* FI_SOURCE */
	bool no_enable;
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
void node_poll(struct node *n); /* progress, takes nothing out */

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
/* Everybody's region by rank; a collective call of the team. */
void mem_exchange(struct node *n, const struct mem *m, struct remote_mem *all);

void fill(void *p, size_t len, uint64_t seed); /* bytes that depend on seed and place */
bool filled(const void *p, size_t len, uint64_t seed);

/* --- waiting: progress included, given up at hang_end() ----------------------------------------------------------- */

void wait_cntr(struct node *n, struct fid_cntr *c, uint64_t value);
/* The next entry of the queue; fails the case on an error entry. */
void wait_cq(struct node *n, struct fid_cq *cq, struct fi_cq_tagged_entry *e);
/* The next entry must be an error; fills e (strings may be asked for afterwards). */
void wait_cq_error(struct node *n, struct fid_cq *cq, struct fi_cq_err_entry *e);
void wait_tx(struct node *n, int count); /* `count` good transmit completions */

/* Repeats a data call while it answers -FI_EAGAIN, polling in between. */
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

/* Sets FI_PROVIDER_PATH for a program started by hand, loads libfabric once, runs the group. */
#define TEST_MAIN(tests_arg)                                                                                           \
	int main(void)                                                                                                 \
	{                                                                                                              \
		common_init();                                                                                         \
		return cmocka_run_group_tests(tests_arg, NULL, NULL);                                                  \
	}
void common_init(void);

#endif /* TESTS_COMMON_H */
