/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What fi_ext_pgas.h offers for peers that answer later: FI_PGAS_WAIT, fence, failed, progress and wait. Built twice.
 */
#include "common.h"

static const char *const env_requests[] = {"FI_PGAS_MAP=0", "FI_PGAS_CMA=0", NULL};
static const char *const env_no_cma[] = {"FI_PGAS_CMA=0", NULL};

struct wait_node {
	struct node n;
	struct mem m;
	struct remote_mem r[TEAM_MAX];
	struct fi_pgas_ops *ops;
};

static void open_all(struct wait_node *w, enum mem_kind kind, const struct node_opts *o)
{
	node_open(&w->n, o);
	mem_open(&w->n, &w->m, kind, 1 << 20, 0);
	node_connect(&w->n);
	mem_exchange(&w->n, &w->m, w->r);
	CHECK_OK(fi_open_ops(&w->n.domain->fid, FI_PGAS_OPS, 0, (void **)&w->ops, NULL));
	CHECK(w->ops->size >= sizeof *w->ops);
}

static void close_all(struct wait_node *w)
{
	mem_close(&w->m);
	node_close(&w->n);
}

/* --- one operation, waited for ------------------------------------------------------------------------------------ */

static ssize_t move_and_wait(struct wait_node *w, int rank, bool write, void *buf, size_t len, uint64_t off)
{
	struct iovec iov = {buf, len};
	struct fi_rma_iov place = {w->r[rank].start + off, len, 0};
	const struct fi_msg_rma m = {
		.msg_iov = &iov, .iov_count = 1, .addr = w->n.peer[rank], .rma_iov = &place, .rma_iov_count = 1};
	return write ? fi_writemsg(w->n.ep, &m, FI_PGAS_WAIT) : fi_readmsg(w->n.ep, &m, FI_PGAS_WAIT);
}

static ssize_t add_and_wait(struct wait_node *w, int rank, uint64_t value, uint64_t *old, uint64_t off)
{
	struct fi_ioc operand = {&value, 1}, out = {old, 1};
	struct fi_rma_ioc place = {w->r[rank].start + off, 1, 0};
	const struct fi_msg_atomic m = {.msg_iov = &operand,
					.iov_count = 1,
					.addr = w->n.peer[rank],
					.rma_iov = &place,
					.rma_iov_count = 1,
					.datatype = FI_UINT64,
					.op = FI_SUM};
	return old ? fi_fetch_atomicmsg(w->n.ep, &m, &out, NULL, 1, FI_PGAS_WAIT)
		   : fi_atomicmsg(w->n.ep, &m, FI_PGAS_WAIT);
}

static ssize_t swap_and_wait(struct wait_node *w, int rank, uint64_t value, uint64_t compare, uint64_t *old,
			     uint64_t off)
{
	struct fi_ioc operand = {&value, 1}, cmp = {&compare, 1}, out = {old, 1};
	struct fi_rma_ioc place = {w->r[rank].start + off, 1, 0};
	const struct fi_msg_atomic m = {.msg_iov = &operand,
					.iov_count = 1,
					.addr = w->n.peer[rank],
					.rma_iov = &place,
					.rma_iov_count = 1,
					.datatype = FI_UINT64,
					.op = FI_CSWAP};
	return fi_compare_atomicmsg(w->n.ep, &m, &cmp, NULL, 1, &out, NULL, 1, FI_PGAS_WAIT);
}

/* Both ranks at the same time: each serves the other while it waits. */
static void waits(int rank, void *arg)
{
	const struct node_opts o = {.counters = FI_READ | FI_WRITE};
	const int other = !rank;
	struct wait_node w;
	unsigned char *out = malloc(300000), *input = malloc(300000);
	open_all(&w, *(enum mem_kind *)arg, &o);
	if (rank == 1)
		sleep_ms(50); /* the first one waits for a target that makes no calls */
	for (uint64_t i = 0; i < 20; i++) {
		uint64_t old = 0;
		fill(out, 300000, i);
		memset(input, 0, 300000);
		CHECK_OK(move_and_wait(&w, other, true, out, 300000, 4096));
		CHECK_OK(move_and_wait(&w, other, false, input, 300000, 4096));
		CHECK(filled(input, 300000, i));
		CHECK_OK(add_and_wait(&w, other, 2, NULL, 0));
		CHECK_OK(add_and_wait(&w, other, 1, &old, 0));
		CHECK_EQ(old, 3 * i + 2);
		CHECK_OK(swap_and_wait(&w, other, i + 1, i, &old, 8));
		CHECK_EQ(old, i);
	}
	struct fi_cq_tagged_entry e;
	CHECK_EQ(fi_cq_read(w.n.tx_cq, &e, 1), -FI_EAGAIN); /* the calls returned the result; the queue stays empty */
	CHECK_EQ(fi_cntr_read(w.n.c_write), 40);
	CHECK_EQ(fi_cntr_read(w.n.c_read), 60);
	team_barrier(&w.n);
	CHECK_EQ(*(uint64_t *)w.m.base, 60);
	CHECK(filled(w.m.base + 4096, 300000, 19));
	team_barrier(&w.n);
	free(out);
	free(input);
	close_all(&w);
}

static void test_wait_returns_when_the_operation_is_over(void **state)
{
	(void)state;
	for (enum mem_kind k = MEM_MEMFD; k < MEM_WHOLE; k++) {
		team_run(2, waits, &k);
		team_run_env(2, waits, &k, env_no_cma);
		team_run_env(2, waits, &k, env_requests);
	}
}

static void refused(int rank, void *arg)
{
	const struct node_opts o = {.counters = FI_READ | FI_WRITE};
	struct wait_node w;
	uint64_t v = 7;
	(void)arg;
	open_all(&w, MEM_PRIVATE, &o);
	if (rank == 0) {
		struct fi_cq_tagged_entry e;
		fi_addr_t who = 0;
		CHECK_EQ(move_and_wait(&w, 1, true, &v, 8, 1 << 20), -FI_EACCES); /* past the region's end */
		CHECK_EQ(move_and_wait(&w, 1, false, &v, 8, 1 << 20), -FI_EACCES);
		CHECK_EQ(v, 7);
		CHECK_EQ(fi_cq_read(w.n.tx_cq, &e, 1), -FI_EAGAIN);
		CHECK_EQ(fi_cntr_readerr(w.n.c_write), 0);
		CHECK_EQ(w.ops->failed(w.n.ep, &who), 0);
	}
	team_barrier(&w.n);
	close_all(&w);
}

static void test_wait_refused_returns_the_error(void **state)
{
	(void)state;
	team_run(2, refused, NULL);
	team_run_env(2, refused, NULL, env_requests);
}

/* Rank 1 never calls and is killed by rank 2 while rank 0 waits for it. */
static void killed(int rank, void *arg)
{
	const struct node_opts o = {.counters = FI_WRITE, .no_cq = true};
	struct wait_node w;
	uint64_t v = 7;
	(void)arg;
	open_all(&w, MEM_PRIVATE, &o);
	team_barrier(&w.n);
	if (rank == 1)
		for (;;)
			sleep_ms(1000);
	if (rank == 2) {
		sleep_ms(100);
		team_kill(1);
	} else {
		fi_addr_t who = FI_ADDR_UNSPEC;
		CHECK_OK(RETRY(&w.n, fi_inject_write(w.n.ep, &v, 8, w.n.peer[1], w.r[1].start, 0)));
		CHECK_EQ(w.ops->failed(w.n.ep, &who), 0); /* not yet */
		CHECK_EQ(move_and_wait(&w, 1, false, &v, 8, 0), -FI_ECONNRESET);
		CHECK_OK(w.ops->drain(w.n.ep));
		CHECK_EQ(w.ops->failed(w.n.ep, &who), -FI_ECONNRESET); /* the inject, not the read */
		CHECK_EQ(who, w.n.peer[1]);
		CHECK_EQ(w.ops->failed(w.n.ep, &who), 0);
		CHECK_EQ(fi_cntr_readerr(w.n.c_write), 1);
		CHECK_OK(w.ops->fence(w.n.ep));
	}
	team_barrier(&w.n);
	close_all(&w);
}

static void test_wait_for_a_peer_that_dies_ends(void **state)
{
	(void)state;
	ONLY_AT_ONCE();
	team_run_env(3, killed, NULL, env_requests);
}

/* --- fence -------------------------------------------------------------------------------------------------------- */

/* The flag is mapped, or as far as the data: after a fence it is never seen before the data. */
static void data_fence_flag(int rank, void *arg)
{
	const struct node_opts o = {.counters = FI_WRITE, .no_cq = true};
	struct wait_node w;
	struct mem data;
	struct remote_mem rd[2];
	uint64_t buf[512];
	const bool atomic = *(bool *)arg;
	open_all(&w, MEM_MEMFD, &o);
	mem_open(&w.n, &data, MEM_PRIVATE, 4096, 5);
	mem_exchange(&w.n, &data, rd);
	volatile uint64_t *flag = (volatile uint64_t *)w.m.base, *ack = flag + 8;
	for (uint64_t i = 1; i <= (TEST_SLOW ? 50 : 200); i++) {
		const double end = hang_end();
		if (rank == 0) {
			for (uint64_t k = 0; k < 512; k++)
				buf[k] = 1000 * i + k;
			CHECK_OK(RETRY(&w.n, fi_write(w.n.ep, buf, 4096, NULL, w.n.peer[1], rd[1].start, 5, NULL)));
			CHECK_OK(w.ops->fence(w.n.ep));
			const uint64_t one = 1;
			if (atomic)
				CHECK_OK(RETRY(&w.n, fi_inject_atomic(w.n.ep, &one, 1, w.n.peer[1], w.r[1].start, 0,
								      FI_UINT64, FI_SUM)));
			else
				CHECK_OK(RETRY(&w.n, fi_inject_write(w.n.ep, &i, 8, w.n.peer[1], w.r[1].start, 0)));
			for (; __atomic_load_n(ack, __ATOMIC_ACQUIRE) != i; w.ops->progress(w.n.domain))
				CHECK(now_s() < end);
		} else {
			for (; __atomic_load_n(flag, __ATOMIC_ACQUIRE) != i; w.ops->progress(w.n.domain))
				CHECK(now_s() < end);
			for (uint64_t k = 0; k < 512; k++)
				CHECK_EQ(((uint64_t *)data.base)[k], 1000 * i + k);
			CHECK_OK(RETRY(&w.n, fi_inject_write(w.n.ep, &i, 8, w.n.peer[0], w.r[0].start + 64, 0)));
		}
	}
	team_barrier(&w.n);
	CHECK_OK(w.ops->drain(w.n.ep));
	team_barrier(&w.n);
	mem_close(&data);
	close_all(&w);
}

static void test_fence_flag_comes_after_data(void **state)
{
	(void)state;
	for (int atomic = 0; atomic < 2; atomic++) {
		bool arg = atomic;
		team_run(2, data_fence_flag, &arg);
		team_run_env(2, data_fence_flag, &arg, env_no_cma);
		team_run_env(2, data_fence_flag, &arg, env_requests);
	}
}

/* Requests run in order: a fence, and an operation with FI_FENCE, wait for nothing. */
static void no_wait(int rank, void *arg)
{
	const struct node_opts o = {.counters = FI_WRITE, .no_cq = true};
	struct wait_node w;
	uint64_t v = 7;
	(void)arg;
	open_all(&w, MEM_MEMFD, &o);
	if (rank == 0) {
		struct iovec iov = {&v, 8};
		struct fi_rma_iov place = {w.r[1].start + 8, 8, 0};
		const struct fi_msg_rma m = {
			.msg_iov = &iov, .iov_count = 1, .addr = w.n.peer[1], .rma_iov = &place, .rma_iov_count = 1};
		CHECK_OK(RETRY(&w.n, fi_inject_write(w.n.ep, &v, 8, w.n.peer[1], w.r[1].start, 0)));
		CHECK_OK(w.ops->fence(w.n.ep));
		CHECK_OK(RETRY(&w.n, fi_writemsg(w.n.ep, &m, FI_FENCE | FI_INJECT)));
		CHECK_EQ(fi_cntr_read(w.n.c_write), 0); /* rank 1 has made no call since */
		team_barrier(NULL);
		wait_cntr(&w.n, w.n.c_write, 2);
	} else {
		team_barrier(NULL);
	}
	team_barrier(&w.n);
	if (rank == 1)
		CHECK_EQ(((uint64_t *)w.m.base)[1], 7);
	close_all(&w);
}

static void test_fence_waits_for_nobody_where_order_is_kept(void **state)
{
	ONLY_AT_ONCE(); /* over a link a thread of rank 1 runs them */
	(void)state;
	team_run_env(2, no_wait, NULL, env_requests);
}

/* --- progress and wait -------------------------------------------------------------------------------------------- */

static void sleeps(int rank, void *arg)
{
	const struct node_opts o = {.counters = FI_WRITE, .no_cq = true};
	struct wait_node w;
	uint64_t v = 7;
	(void)arg;
	open_all(&w, MEM_PRIVATE, &o);
	if (rank == 0)
		CHECK_OK(move_and_wait(&w, 1, true, &v, 8, 8)); /* connected */
	team_barrier(&w.n);
	if (rank == 0) {
		while (w.ops->progress(w.n.domain))
			;
		CHECK_EQ(w.ops->progress(w.n.domain), 0);
		double start = now_s();
		CHECK_EQ(w.ops->wait(w.n.domain, 30000000), 0); /* no peer sends */
		CHECK(now_s() - start > 0.02);
		team_barrier(NULL);
		start = now_s();
		while (*(volatile uint64_t *)w.m.base != 7) { /* rank 1's write wakes us and our progress runs it */
			w.ops->wait(w.n.domain, 60000000000);
			CHECK(now_s() - start < 50);
		}
	} else {
		team_barrier(NULL);
		sleep_ms(100);
		CHECK_OK(move_and_wait(&w, 0, true, &v, 8, 0));
	}
	team_barrier(&w.n);
	close_all(&w);
}

static void test_wait_sleeps_until_something_arrives(void **state)
{
	(void)state;
	ONLY_AT_ONCE(); /* ranks that are threads share one doorbell, and packets arrive late */
	team_run_env(2, sleeps, NULL, env_requests);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wait_returns_when_the_operation_is_over),
		cmocka_unit_test(test_wait_refused_returns_the_error),
		cmocka_unit_test(test_wait_for_a_peer_that_dies_ends),
		cmocka_unit_test(test_fence_flag_comes_after_data),
		cmocka_unit_test(test_fence_waits_for_nobody_where_order_is_kept),
		cmocka_unit_test(test_wait_sleeps_until_something_arrives),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
