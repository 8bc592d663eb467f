/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A peer that dies (kill -9) at any point: the others get errors within about a second of the next progress, traffic
 * between the living continues, and nothing leaks. Deaths while holding a resource are in test_prov_death_holding.c.
 * Built twice.
 */
#include "victim.h"

#include <sys/mman.h>

static const char *const env_no_cma[] = {"FI_PGAS_CMA=0", NULL};
static const char *const env_tiny[] = {"FI_PGAS_RX_SLOTS=16", "FI_PGAS_EAGER_COUNT=2", NULL};

/* --- in the middle of a flood ------------------------------------------------------------------------------------- */

/* Rank 2 floods rank 0 and is killed; rank 1 floods rank 0 all the time and must lose nothing. */
static void flood(int rank, void *arg)
{
	const size_t len = *(size_t *)arg;
	const struct node_opts o = {.two_cqs = true};
	enum { COUNT = 1500 };
	struct node n;
	unsigned char *buf = malloc(len + 8), *drop = malloc(len);
	node_open(&n, &o);
	node_connect(&n);
	const int fds = open_fds();
	if (rank == 2) {
		fill(buf, len, 2);
		for (;;)
			if (fi_send(n.ep, buf, len, NULL, n.peer[0], NULL) == -FI_EAGAIN || len > 16384) {
				struct fi_cq_tagged_entry e;
				fi_cq_read(n.tx_cq, &e, 1);
			}
	}
	if (rank == 1) {
		for (uint64_t i = 0; i < COUNT; i++) {
			fill(buf, len, i);
			memcpy(buf, &i, 8);
			CHECK_OK(RETRY(&n, fi_tsend(n.ep, buf, len, NULL, n.peer[0], 1, NULL)));
			wait_tx(&n, 1);
		}
	}
	if (rank == 0) {
		unsigned char *want = malloc(len);
		uint64_t next = 0, dropped = 0;
		bool killed = false;
		CHECK_OK(fi_trecv(n.ep, buf, len, NULL, n.peer[1], 1, 0, buf));
		CHECK_OK(fi_recv(n.ep, drop, len, NULL, FI_ADDR_UNSPEC, drop));
		const double end = hang_end();
		while (next < COUNT || !killed) {
			struct fi_cq_tagged_entry e;
			const ssize_t rc = fi_cq_read(n.rx_cq, &e, 1);
			CHECK(now_s() < end);
			if (rc == -FI_EAGAIN)
				continue;
			/* the receive that held part of the dead sender's long message */
			if (rc == -FI_EAVAIL) {
				struct fi_cq_err_entry err = {0};
				CHECK_EQ(fi_cq_readerr(n.rx_cq, &err, 0), 1);
				CHECK(killed && err.err == FI_ECONNRESET && err.op_context == drop);
				CHECK_OK(fi_recv(n.ep, drop, len, NULL, FI_ADDR_UNSPEC, drop));
				continue;
			}
			CHECK_EQ(rc, 1);
			if (e.op_context == drop) {
				dropped++;
				CHECK(filled(drop, len, 2));
				CHECK_OK(fi_recv(n.ep, drop, len, NULL, FI_ADDR_UNSPEC, drop));
			} else {
				fill(want, len, next);
				memcpy(want, &next, 8);
				CHECK_MEM(buf, want, len);
				next++;
				if (next < COUNT)
					CHECK_OK(fi_trecv(n.ep, buf, len, NULL, n.peer[1], 1, 0, buf));
			}
			if (!killed && dropped > 20 && next > 10) {
				team_kill(2);
				killed = true;
			}
		}
		CHECK(killed);
		expect_reset(&n, n.peer[2]);
		free(want);
	}
	team_barrier(&n);
	converse(&n, rank, 0, 1, 50, len);
	converse(&n, rank, 1, 0, 50, len);
	CHECK(open_fds() <= fds + 1); /* at most the descriptor that watches the other living peer */
	team_barrier(&n);
	node_close(&n);
	CHECK_EQ(leftovers(), 0);
	free(drop); /* a receive into it stayed posted to the end */
	free(buf);
}

static void test_death_in_a_send_flood_loses_nothing_of_others(void **state)
{
	size_t lens[] = {16, 2000, 40000};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
		team_run(3, flood, &lens[i]);
		team_run_env(3, flood, &lens[i], env_tiny);
	}
	team_run_env(3, flood, &lens[2], env_no_cma);
}

/* --- with something pending --------------------------------------------------------------------------------------- */

/* Every operation that waits for the dead peer ends with an error, in a process that only reads its queue and
 * counters. */
static void pending(int rank, void *arg)
{
	const enum fi_progress progress = *(enum fi_progress *)arg;
	const struct node_opts o = {.two_cqs = true, .counters = FI_SEND | FI_WRITE | FI_READ, .progress = progress};
	struct node n;
	struct mem m;
	struct remote_mem r[2];
	const size_t len = 1 << 20;
	unsigned char *buf = calloc(1, len);
	node_open(&n, &o);
	mem_open(&n, &m, MEM_PRIVATE, 4096, 3);
	node_connect(&n);
	mem_exchange(&n, &m, r);
	if (rank == 1)
		wait_for_death();
	uint64_t one = 1, res = 0;
	CHECK_OK(RETRY(&n, fi_send(n.ep, buf, len, NULL, n.peer[1], &n)));
	CHECK_OK(RETRY(&n, fi_tsend(n.ep, buf, len, NULL, n.peer[1], 1, &n)));
	int ops = 2;
	/* an automatic target would have served these, and so might the thread that serves other hosts */
	const bool unanswered = progress == FI_PROGRESS_MANUAL && !team_over_link();
	if (unanswered) {
		CHECK_OK(RETRY(&n, fi_atomic(n.ep, &one, 1, NULL, n.peer[1], r[1].start, 3, FI_UINT64, FI_SUM, &n)));
		CHECK_OK(RETRY(&n, fi_fetch_atomic(n.ep, &one, 1, NULL, &res, NULL, n.peer[1], r[1].start, 3, FI_UINT64,
						   FI_SUM, &n)));
		CHECK_OK(RETRY(&n, fi_inject_atomic(n.ep, &one, 1, n.peer[1], r[1].start, 3, FI_UINT64, FI_SUM)));
		ops += 3;
	}
	team_kill(1);
	const double end = now_s() + LIMIT_S;
	for (int i = 0; i < ops; i++) {
		struct fi_cq_tagged_entry e;
		struct fi_cq_err_entry err = {0};
		ssize_t rc;
		while ((rc = fi_cq_read(n.tx_cq, &e, 1)) == -FI_EAGAIN) {
			CHECK(now_s() < end);
			sleep_ms(1);
		}
		CHECK_EQ(rc, -FI_EAVAIL);
		CHECK_EQ(fi_cq_readerr(n.tx_cq, &err, 0), 1);
		CHECK_EQ(err.err, FI_ECONNRESET);
	}
	CHECK_EQ(fi_cntr_readerr(n.c_send), 2);
	if (unanswered) {
		CHECK_EQ(fi_cntr_readerr(n.c_write), 2);
		CHECK_EQ(fi_cntr_readerr(n.c_read), 1);
	}
	CHECK_EQ(fi_cntr_read(n.c_send) + fi_cntr_read(n.c_write) + fi_cntr_read(n.c_read), 0);
	/* and so do all later attempts */
	CHECK_EQ(fi_send(n.ep, buf, 8, NULL, n.peer[1], NULL), -FI_ECONNRESET);
	CHECK_EQ(fi_write(n.ep, buf, 8, NULL, n.peer[1], r[1].start, 3, NULL), -FI_ECONNRESET);
	CHECK_EQ(fi_read(n.ep, buf, 8, NULL, n.peer[1], r[1].start, 3, NULL), -FI_ECONNRESET);
	CHECK_EQ(fi_inject(n.ep, buf, 8, n.peer[1]), -FI_ECONNRESET);
	CHECK_EQ(fi_inject_write(n.ep, buf, 8, n.peer[1], r[1].start, 3), -FI_ECONNRESET);
	mem_close(&m);
	free(buf);
	node_close(&n);
}

static void test_death_ends_everything_that_is_pending(void **state)
{
	enum fi_progress p = FI_PROGRESS_MANUAL;
	(void)state;
	team_run(2, pending, &p);
	team_run_env(2, pending, &p, env_no_cma);
	p = FI_PROGRESS_AUTO;
	team_run(2, pending, &p);
}

/* Asleep in fi_cntr_wait or fi_cq_sread, waiting for the dead peer. */
static void asleep(int rank, void *arg)
{
	const bool queue = *(bool *)arg;
	const struct node_opts o = {.two_cqs = true, .counters = FI_SEND, .wait = FI_WAIT_UNSPEC};
	struct node n;
	const size_t len = 1 << 20;
	unsigned char *buf = calloc(1, len);
	struct fi_cq_tagged_entry e;
	node_open(&n, &o);
	node_connect(&n);
	if (rank == 1)
		wait_for_death();
	if (rank == 2) {
		sleep_ms(400);
		team_kill(1);
	} else {
		CHECK_OK(RETRY(&n, fi_send(n.ep, buf, len, NULL, n.peer[1], &n)));
		const double start = now_s();
		if (queue)
			CHECK_EQ(fi_cq_sread(n.tx_cq, &e, 1, NULL, hang_ms()), -FI_EAVAIL);
		else
			CHECK_EQ(fi_cntr_wait(n.c_send, 1, hang_ms()), -FI_EAVAIL);
		CHECK(now_s() - start < 0.4 + LIMIT_S);
	}
	team_barrier(NULL);
	free(buf);
	node_close(&n);
}

static void test_death_wakes_who_sleeps_for_it(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		bool queue = i;
		team_run(3, asleep, &queue);
	}
}

/* The sender of a long message dies before it is received, or while its bytes are fetched. */
static void sender_dies(int rank, void *arg)
{
	const bool begun = *(bool *)arg;
	const struct node_opts o = {.two_cqs = true};
	const size_t len = 64 << 20;
	struct node n;
	unsigned char *buf = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	node_open(&n, &o);
	node_connect(&n);
	if (rank == 1) {
		memset(buf, 3, len);
		CHECK_OK(RETRY(&n, fi_send(n.ep, buf, len, NULL, n.peer[0], NULL)));
		team_barrier(NULL);
		const double end = hang_end();
		while (now_s() < end)
			node_poll(&n); /* serves the receiver's fetches */
		CHECK(!"still alive");
	}
	team_barrier(NULL);
	struct fi_cq_err_entry err;
	struct fi_cq_tagged_entry e;
	if (begun) {
		CHECK_OK(fi_recv(n.ep, buf, len, NULL, FI_ADDR_UNSPEC, buf));
		const double end = hang_end();
		while (((volatile unsigned char *)buf)[0] != 3) { /* the first bytes have arrived */
			CHECK_EQ(fi_cq_read(n.rx_cq, &e, 1), -FI_EAGAIN);
			CHECK(now_s() < end);
		}
		team_kill(1);
	} else {
		for (int i = 0; i < 100; i++)
			node_poll(&n); /* it has arrived unexpected by now */
		team_kill(1);
		CHECK_OK(fi_recv(n.ep, buf, len, NULL, FI_ADDR_UNSPEC, buf));
	}
	const double start = now_s();
	wait_cq_error(&n, n.rx_cq, &err);
	CHECK(now_s() - start < LIMIT_S);
	CHECK_EQ(err.err, FI_ECONNRESET);
	CHECK(err.op_context == buf);
	node_close(&n);
	munmap(buf, len);
}

static void test_death_of_a_long_sender_ends_the_receive(void **state)
{
	bool begun = false;
	(void)state;
	team_run(2, sender_dies, &begun);
	team_run_env(2, sender_dies, &begun, env_no_cma);
	begun = true;
	team_run_env(2, sender_dies, &begun, env_no_cma);
}

/* --- one-sided ---------------------------------------------------------------------------------------------------- */

/* Direct puts and gets to a peer that dies: prompt errors, no crash, and no effect on the others. */
static void one_sided(int rank, void *arg)
{
	const struct node_opts o = {
		.selective = true, .counters = FI_WRITE | FI_READ, .threading = *(enum fi_threading *)arg};
	struct node n;
	struct mem m;
	struct remote_mem r[3];
	node_open(&n, &o);
	mem_open(&n, &m, MEM_MEMFD, 4096, 0);
	node_connect(&n);
	mem_exchange(&n, &m, r);
	if (rank == 2) {
		team_mark_victim(2);
		wait_for_death();
	}
	uint64_t v = 1, writes = 0;
	for (int i = 0; i < 100; i++) {
		CHECK_OK(fi_inject_write(n.ep, &v, 8, n.peer[2], 8, 0));
		CHECK_OK(fi_inject_write(n.ep, &v, 8, n.peer[1 - rank], 8, 0));
		writes += 2;
	}
	team_barrier(&n);
	if (rank == 0)
		team_kill(2);
	team_barrier(&n);
	const double end = now_s() + LIMIT_S;
	ssize_t rc;
	while ((rc = fi_inject_write(n.ep, &v, 8, n.peer[2], 8, 0)) == 0) {
		writes++;
		CHECK(now_s() < end);
	}
	CHECK_EQ(rc, -FI_ECONNRESET);
	CHECK_EQ(fi_read(n.ep, &v, 8, NULL, n.peer[2], 8, 0, NULL), -FI_ECONNRESET);
	CHECK_EQ(fi_inject_atomic(n.ep, &v, 1, n.peer[2], 8, 0, FI_UINT64, FI_SUM), -FI_ECONNRESET);
	for (uint64_t i = 0; i < 100; i++) {
		CHECK_OK(fi_inject_write(n.ep, &i, 8, n.peer[1 - rank], 16, 0));
		writes++;
	}
	CHECK_EQ(fi_cntr_read(n.c_write), writes);
	team_barrier(&n);
	CHECK_EQ(((uint64_t *)m.base)[2], 99);
	team_barrier(&n);
	mem_close(&m);
	node_close(&n);
}

static void test_death_of_a_put_target_is_noticed_by_the_short_way(void **state)
{
	ONLY_AT_ONCE();
	enum fi_threading t = FI_THREAD_DOMAIN;
	(void)state;
	team_run(3, one_sided, &t);
	t = FI_THREAD_SAFE;
	team_run(3, one_sided, &t);
}

/* --- again and again ---------------------------------------------------------------------------------------------- */

static ssize_t random_call(struct node *n, const struct remote_mem *to_mem, fi_addr_t dest, unsigned *seed)
{
	static unsigned char out[50000];
	const size_t len = (size_t)rand_r(seed) % (rand_r(seed) % 8 ? 200 : 20000);
	uint64_t v = 1;
	switch (rand_r(seed) % 4) {
	case 0:
		return fi_send(n->ep, out, len, NULL, dest, NULL);
	case 1:
		return fi_inject_write(n->ep, out, len % 4096, dest, to_mem->start, 0);
	case 2:
		return fi_inject_atomic(n->ep, &v, 1, dest, to_mem->start + 60000, 0, FI_UINT64, FI_SUM);
	default:
		return fi_inject(n->ep, out, len % 4096, dest);
	}
}

/* Takes all available entries, including errors from the dead; reposts the one buffer whenever it is returned. */
static void take_some(struct node *n, unsigned char *buf)
{
	for (int k = 0; k < 4; k++) {
		struct fi_cq_tagged_entry e;
		struct fi_cq_err_entry err = {0};
		struct fid_cq *cq = k % 2 ? n->tx_cq : n->rx_cq;
		const ssize_t got = fi_cq_read(cq, &e, 1);
		if (got == -FI_EAVAIL) {
			CHECK_EQ(fi_cq_readerr(cq, &err, 0), 1);
			CHECK_EQ(err.err, FI_ECONNRESET);
			if (err.op_context == buf)
				CHECK_OK(fi_recv(n->ep, buf, 50000, NULL, FI_ADDR_UNSPEC, buf));
		} else if (got == 1 && (e.flags & FI_RECV)) {
			CHECK_OK(fi_recv(n->ep, buf, 50000, NULL, FI_ADDR_UNSPEC, buf));
		}
	}
}

/* Polls until the deaths of ranks 2 to 5 are known. */
static void know_the_dead(struct node *n)
{
	const double end = now_s() + LIMIT_S;
	for (int i = 2; i < 6; i++) {
		uint64_t v = 0;
		ssize_t rc;
		while ((rc = fi_inject(n->ep, &v, 8, n->peer[i])) != -FI_ECONNRESET && rc != -FI_EHOSTUNREACH) {
			struct fi_cq_tagged_entry e;
			struct fi_cq_err_entry err = {0};
			if (fi_cq_read(n->tx_cq, &e, 1) == -FI_EAVAIL)
				fi_cq_readerr(n->tx_cq, &err, 0);
			CHECK(now_s() < end);
			sleep_ms(1);
		}
	}
}

/* Four processes all talk to all; one after the other is killed at a random moment; the last two still talk. */
static void decimation(int rank, void *arg)
{
	const struct node_opts o = {.two_cqs = true, .cq_size = 1 << 16};
	struct node n;
	struct mem m;
	struct remote_mem r[6];
	unsigned seed = (unsigned)(rank * 77 + *(int *)arg);
	unsigned char *buf = malloc(50000);
	node_open(&n, &o);
	mem_open(&n, &m, rank % 2 ? MEM_MEMFD : MEM_PRIVATE, 65536, 0);
	node_connect(&n);
	mem_exchange(&n, &m, r);
	const int fds = open_fds();
	const double start = now_s();
	double next_kill = 0.2;
	int victim = 5;
	CHECK_OK(fi_recv(n.ep, buf, 50000, NULL, FI_ADDR_UNSPEC, buf));
	while (now_s() - start < 1.6) {
		const int dest = (int)(rand_r(&seed) % 6);
		const ssize_t rc = random_call(&n, &r[dest], n.peer[dest], &seed);
		CHECK(rc == 0 || rc == -FI_EAGAIN || rc == -FI_ECONNRESET || rc == -FI_EHOSTUNREACH);
		if (rc == -FI_ECONNRESET || rc == -FI_EHOSTUNREACH)
			CHECK(dest >= 2); /* no living peer is reported dead */
		take_some(&n, buf);
		if (rank == 0 && victim >= 2 && now_s() - start > next_kill) {
			team_kill(victim--);
			next_kill += 0.2;
		}
	}
	if (rank >= 2)
		wait_for_death(); /* rank 0 was late: it kills the rest now */
	while (rank == 0 && victim >= 2)
		team_kill(victim--);
	team_barrier(&n);
	know_the_dead(&n); /* then the two talk on */
	team_barrier(&n);
	converse(&n, rank, 0, 1, 20, 30000);
	converse(&n, rank, 1, 0, 20, 500);
	CHECK(open_fds() <= fds + 1);
	team_barrier(&n);
	free(buf);
	mem_close(&m);
	node_close(&n);
	CHECK_EQ(leftovers(), 0);
}

static void test_death_of_one_after_the_other_leaves_the_rest_working(void **state)
{
	(void)state;
	for (int seed = 1; seed <= 2; seed++) {
		team_run(6, decimation, &seed);
		team_run_env(6, decimation, &seed, env_tiny);
	}
	int seed = 3;
	team_run_env(6, decimation, &seed, env_no_cma);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_death_in_a_send_flood_loses_nothing_of_others),
		cmocka_unit_test(test_death_ends_everything_that_is_pending),
		cmocka_unit_test(test_death_wakes_who_sleeps_for_it),
		cmocka_unit_test(test_death_of_a_long_sender_ends_the_receive),
		cmocka_unit_test(test_death_of_a_put_target_is_noticed_by_the_short_way),
		cmocka_unit_test(test_death_of_one_after_the_other_leaves_the_rest_working),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
