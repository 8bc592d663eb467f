/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loopback wire (FI_PGAS_LOOP=1), which peers in one process use; it is in the library of the tests only. Checks
 * that nothing a wire may do breaks its callers: a pending connection, a refused submit, late completions. Correct
 * delivery is tested by the other programs over this wire (prov/pgas/tests/run_loop.sh).
 */
#include "common.h"

static const char *const env_loop[] = {"FI_PGAS_LOOP=1", NULL};

static struct fi_pgas_ops *ops_of(struct node *n)
{
	struct fi_pgas_ops *ops;
	CHECK_OK(fi_open_ops(&n->domain->fid, FI_PGAS_OPS, 0, (void **)&ops, NULL));
	return ops;
}

/* Peers in this process are reached by the loopback wire, which has no windows; all others as usual. */
static void who_gets_it(int rank, void *arg)
{
	const bool loop = arg;
	const struct node_opts o = {.two_cqs = true};
	struct node n;
	struct mem m;
	struct remote_mem r[TEAM_MAX];
	void *window = &window;
	node_open(&n, &o);
	mem_open(&n, &m, MEM_MEMFD, 4096, 0);
	node_connect(&n);
	mem_exchange(&n, &m, r);
	struct fi_pgas_ops *ops = ops_of(&n);
	CHECK_EQ(strstr(n.name, "+lo/") != NULL, loop);
	CHECK_OK(RETRY(&n, ops->window(n.ep, n.peer[1 - rank], &window)));
	CHECK(window != NULL);
	CHECK_OK(RETRY(&n, ops->window(n.ep, n.peer[rank], &window)));
	CHECK_EQ(window == NULL, loop);
	team_barrier(&n);
	mem_close(&m);
	node_close(&n);
}

static void test_loop_serves_own_process_only_when_asked(void **state)
{
	(void)state;
	team_run(2, who_gets_it, NULL);
	team_run_env(2, who_gets_it, (void *)1, env_loop);
}

/* A write is not complete when the call returns: the connection takes several tries, then the target must run it. */
static void later(int rank, void *arg)
{
	const struct node_opts o = {.two_cqs = true, .counters = FI_WRITE | FI_REMOTE_WRITE};
	struct node n;
	struct mem m;
	uint64_t v = 0x1234567890abcdef, got;
	int refused = 0;
	(void)rank;
	(void)arg;
	node_open(&n, &o);
	mem_open(&n, &m, MEM_MEMFD, 4096, 3);
	node_connect(&n);
	while (fi_write(n.ep, &v, sizeof v, NULL, n.self, m.start + 16, m.key, &v) == -FI_EAGAIN)
		CHECK(++refused < 100);
	CHECK(refused >= 2); /* the connection was pending */
	memcpy(&got, m.base + 16, sizeof got);
	CHECK_EQ(got, 0);
	CHECK_EQ(fi_cntr_read(n.c_rem_write) > 1, false);
	wait_cntr(&n, n.c_write, 1);
	wait_tx(&n, 1);
	memcpy(&got, m.base + 16, sizeof got);
	CHECK_EQ(got, v);
	wait_cntr(&n, n.c_rem_write, 1);
	mem_close(&m);
	node_close(&n);
}

static void test_loop_write_completes_after_connection_and_answer(void **state)
{
	(void)state;
	team_run_env(1, later, NULL, env_loop);
}

/* Refusals come now and then, and retrying neither loses nor duplicates anything. drain() waits for all of it. */
static void refuses(int rank, void *arg)
{
	const struct node_opts o = {.two_cqs = true, .counters = FI_WRITE};
	enum { COUNT = 500 };
	struct node n;
	struct mem m;
	uint64_t one = 1, sum;
	int refused = 0;
	(void)rank;
	(void)arg;
	node_open(&n, &o);
	mem_open(&n, &m, MEM_PRIVATE, 4096, 3);
	node_connect(&n);
	for (int i = 0; i < COUNT; i++) {
		ssize_t rc;
		while ((rc = fi_inject(n.ep, &one, sizeof one, n.self)) == -FI_EAGAIN) {
			refused++;
			node_poll(&n);
		}
		CHECK_OK(rc);
		CHECK_OK(RETRY(&n, fi_inject_atomic(n.ep, &one, 1, n.self, m.start, m.key, FI_UINT64, FI_SUM)));
	}
	CHECK(refused >= COUNT / 10);
	CHECK_OK(ops_of(&n)->drain(n.ep));
	memcpy(&sum, m.base, sizeof sum);
	CHECK_EQ(sum, COUNT);
	CHECK_EQ(fi_cntr_read(n.c_write), COUNT);
	for (int i = 0; i < COUNT; i++) {
		uint64_t buf;
		struct fi_cq_tagged_entry e;
		CHECK_OK(fi_recv(n.ep, &buf, sizeof buf, NULL, FI_ADDR_UNSPEC, NULL));
		wait_cq(&n, n.rx_cq, &e);
		CHECK_EQ(buf, 1);
	}
	mem_close(&m);
	node_close(&n);
}

static void test_loop_refusals_lose_and_double_nothing(void **state)
{
	(void)state;
	team_run_env(1, refuses, NULL, env_loop);
}

/* Two endpoints of one process; one closes while a long message to it waits. */
static void closes(int rank, void *arg)
{
	const struct node_opts o = {.two_cqs = true};
	struct node a, b;
	struct fi_cq_err_entry err;
	fi_addr_t dest;
	enum { LEN = 1 << 20 };
	char *buf = calloc(1, LEN);
	(void)rank;
	(void)arg;
	node_open(&a, &o);
	node_open(&b, &o);
	CHECK_EQ(fi_av_insert(a.av, b.name, 1, &dest, 0, NULL), 1);
	CHECK_OK(RETRY(&a, fi_send(a.ep, buf, LEN, NULL, dest, buf)));
	for (int i = 0; i < 50; i++)
		node_poll(&b);
	node_close(&b);
	wait_cq_error(&a, a.tx_cq, &err);
	CHECK_EQ(err.err, FI_ECONNRESET);
	CHECK(err.op_context == buf);
	CHECK_EQ(RETRY(&a, fi_inject(a.ep, buf, 8, dest)), -FI_ECONNRESET);
	node_close(&a);
	free(buf);
}

static void test_loop_peer_that_closes_ends_what_waits_for_it(void **state)
{
	(void)state;
	team_run_env(1, closes, NULL, env_loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loop_serves_own_process_only_when_asked),
		cmocka_unit_test(test_loop_write_completes_after_connection_and_answer),
		cmocka_unit_test(test_loop_refusals_lose_and_double_nothing),
		cmocka_unit_test(test_loop_peer_that_closes_ends_what_waits_for_it),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
