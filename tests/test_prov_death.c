/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A peer that dies (kill -9) in the middle of anything: the others get errors within about a second of the next
 * progress, what it held is taken back, traffic between the living goes on, and nothing is left behind. Built twice.
 *
 * To die at an exact place, the victim sends from a page that may not be read: the provider faults while it copies,
 * with the slot, the buffer or the lock already in its hands, the handler says so and waits for the kill.
 */
#include "common.h"

#include <dirent.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const env_no_cma[] = {"FI_PGAS_CMA=0", NULL};
static const char *const env_tiny[] = {"FI_PGAS_RX_SLOTS=16", "FI_PGAS_EAGER_COUNT=2", NULL};

#define LIMIT_S (3.0 * patience()) /* "about a second" on a machine that does something else too */

/* --- the victim --------------------------------------------------------------------------------------------------- */

struct scene {
	uint32_t trapped; /* victims that stand at their place */
	uint32_t stop;
};

static struct scene *scene(void)
{
	return team_shared();
}

static void on_fault(int sig)
{
	(void)sig;
	__atomic_fetch_add(&scene()->trapped, 1, __ATOMIC_SEQ_CST);
	for (;;)
		pause();
}

static char *trap_page(void)
{
	struct sigaction a = {.sa_handler = on_fault};
	sigaction(SIGSEGV, &a, NULL);
	sigaction(SIGBUS, &a, NULL);
	char *p = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED);
	return p;
}

static void wait_trapped(struct node *n, uint32_t count)
{
	const double end = hang_end();
	while (__atomic_load_n(&scene()->trapped, __ATOMIC_SEQ_CST) < count) {
		node_poll(n);
		sleep_ms(1);
		CHECK(now_s() < end);
	}
}

static void __attribute__((noreturn)) wait_for_death(void)
{
	for (;;)
		sleep_ms(1000);
}

/* --- talking among the living ------------------------------------------------------------------------------------- */

/* The entry of one operation; entries of what was under way before go by. */
static void wait_entry(struct node *n, struct fid_cq *cq, const void *context)
{
	const double end = hang_end();
	for (;;) {
		struct fi_cq_tagged_entry e;
		struct fi_cq_err_entry err = {0};
		const ssize_t rc = fi_cq_read(cq, &e, 1);
		if (rc == 1 && e.op_context == context)
			return;
		if (rc == -FI_EAVAIL) {
			CHECK_EQ(fi_cq_readerr(cq, &err, 0), 1);
			CHECK(err.op_context != context);
		}
		node_poll(n);
		CHECK(now_s() < end);
	}
}

/* Rank `from` sends `count` numbered messages of len bytes to rank `to`, which checks them. */
static void converse(struct node *n, int rank, int from, int to, int count, size_t len)
{
	unsigned char *buf = malloc(len + 8);
	for (int i = 0; i < count; i++) {
		if (rank == from) {
			fill(buf, len, (uint64_t)i);
			CHECK_OK(RETRY(n, fi_tsend(n->ep, buf, len, NULL, n->peer[to], 4321, buf)));
			wait_entry(n, n->tx_cq, buf);
		} else if (rank == to) {
			memset(buf, 0, len);
			CHECK_OK(fi_trecv(n->ep, buf, len, NULL, n->peer[from], 4321, 0, buf));
			wait_entry(n, n->rx_cq, buf);
			CHECK(filled(buf, len, (uint64_t)i));
		}
	}
	free(buf);
}

/* Shared memory that has a name; what the provider makes has none. */
static int leftovers(void)
{
	int n = 0;
	struct dirent *e;
	DIR *d = opendir("/dev/shm");
	while (d && (e = readdir(d)) != NULL)
		n += strstr(e->d_name, "pgas") != NULL;
	if (d)
		closedir(d);
	return n;
}

/* Until a call to the dead peer answers with an error. */
static void expect_reset(struct node *n, fi_addr_t to)
{
	const double end = now_s() + LIMIT_S;
	uint64_t v = 1;
	ssize_t rc;
	while ((rc = fi_inject(n->ep, &v, 8, to)) == 0 || rc == -FI_EAGAIN) {
		node_poll(n);
		sleep_ms(2);
		CHECK(now_s() < end);
	}
	CHECK(rc == -FI_ECONNRESET || rc == -FI_EHOSTUNREACH);
}

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
			/* the receive that was in the middle of the dead sender's long message */
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
	CHECK(open_fds() <= fds + 1); /* at most the descriptor by which the other living one is watched */
	team_barrier(&n);
	node_close(&n);
	CHECK_EQ(leftovers(), 0);
	free(drop); /* a receive into it was posted to the end */
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

/* --- holding something -------------------------------------------------------------------------------------------- */

enum hold { HOLD_SLOT, HOLD_SLOT_INJECT, HOLD_EAGER, HOLD_LOCK, HOLD_LOCK_FETCH };

struct holding {
	enum hold what;
	int victims; /* all of them hold one at the same time */
};

/* Ranks 0 and 1 live; the others take something of rank 0's and die with it in their hands. */
static void hold_and_die(int rank, void *arg)
{
	const struct holding *h = arg;
	const struct node_opts o = {.two_cqs = true, .selective = h->what == HOLD_SLOT_INJECT, .counters = FI_WRITE};
	struct node n;
	struct mem m;
	struct remote_mem r[TEAM_MAX];
	node_open(&n, &o);
	mem_open(&n, &m, MEM_MEMFD, 4096, 7);
	node_connect(&n);
	mem_exchange(&n, &m, r);
	const int fds = open_fds();
	if (rank >= 2) {
		char *trap = trap_page();
		uint64_t v = 1;
		long double *ld = (long double *)trap;
		if (h->what != HOLD_LOCK && h->what != HOLD_LOCK_FETCH) /* connected, the way is open */
			CHECK_OK(RETRY(&n, fi_tinject(n.ep, &v, 8, n.peer[0], 99)));
		switch (h->what) {
		case HOLD_SLOT:
			fi_tsend(n.ep, trap, 64, NULL, n.peer[0], 99, NULL);
			break;
		case HOLD_SLOT_INJECT:
			fi_tinject(n.ep, trap, 8, n.peer[0], 99);
			break;
		case HOLD_EAGER:
			fi_tsend(n.ep, trap, 3000, NULL, n.peer[0], 99, NULL);
			break;
		case HOLD_LOCK:
			fi_atomic(n.ep, ld, 1, NULL, n.peer[0], 0, 7, FI_LONG_DOUBLE, FI_SUM, NULL);
			break;
		default: { /* the result goes where it cannot: the value is exchanged already */
			long double one = 1;
			fi_fetch_atomic(n.ep, &one, 1, NULL, ld, NULL, n.peer[0], 0, 7, FI_LONG_DOUBLE, FI_SUM, NULL);
		}
		}
		CHECK(!"the trap did not hold"); /* all calls above fault */
	}
	/* with one lock, only one can hold it: the others wait for it, which is another way to be in the middle */
	const bool lock = h->what == HOLD_LOCK || h->what == HOLD_LOCK_FETCH;
	wait_trapped(&n, lock ? 1 : (uint32_t)h->victims);
	if (rank == 0)
		for (int i = 0; i < h->victims; i++)
			team_kill(2 + i);
	team_barrier(&n);
	const double start = now_s();
	if (!h->what || h->what == HOLD_SLOT_INJECT || h->what == HOLD_EAGER) {
		/* behind the dead one's slot, and with buffers enough: more than the ring has in all */
		for (int i = 0; i < 40; i++) {
			unsigned char buf[3000];
			const size_t len = i % 2 ? 3000 : 40;
			if (rank == 1) {
				fill(buf, len, (uint64_t)i);
				struct iovec iov = {buf, len};
				struct fi_msg_tagged t = {.msg_iov = &iov, .iov_count = 1, .addr = n.peer[0], .tag = 5};
				CHECK_OK(RETRY(&n, fi_tsendmsg(n.ep, &t, FI_COMPLETION)));
				wait_tx(&n, 1);
			} else {
				struct fi_cq_tagged_entry e;
				struct iovec iov = {buf, sizeof buf};
				struct fi_msg_tagged t = {.msg_iov = &iov, .iov_count = 1, .addr = n.peer[1], .tag = 5};
				CHECK_OK(fi_trecvmsg(n.ep, &t, FI_COMPLETION));
				wait_cq(&n, n.rx_cq, &e);
				CHECK_EQ(e.len, len);
				CHECK(filled(buf, len, (uint64_t)i));
			}
		}
	} else {
		/* wide atomics of both go on, and are exact from what the dead one left */
		long double one = 1, now;
		if (rank == 0) {
			/* Each operation happened or not, never half. Victims are killed one after the other: one that
			 * waited for the lock may take it over from the one that died before it, and add as well. */
			memcpy(&now, m.base, sizeof now);
			CHECK(now >= 0 && now <= h->victims && now == (int)now);
			memset(m.base, 0, 32);
		}
		team_barrier(&n);
		for (int i = 0; i < 100; i++) {
			CHECK_OK(RETRY(&n,
				       fi_atomic(n.ep, &one, 1, NULL, n.peer[0], 32, 7, FI_LONG_DOUBLE, FI_SUM, NULL)));
			wait_tx(&n, 1);
		}
		team_barrier(&n);
		if (rank == 0) {
			memcpy(&now, m.base + 32, sizeof now);
			CHECK(now == 200);
		}
	}
	CHECK(now_s() - start < LIMIT_S + 2);
	if (rank == 0)
		for (int i = 0; i < h->victims; i++)
			expect_reset(&n, n.peer[2 + i]);
	CHECK(open_fds() <= fds + 1);
	team_barrier(&n);
	mem_close(&m);
	node_close(&n);
	CHECK_EQ(leftovers(), 0);
}

static void run_holding(enum hold what, int victims, const char *const *env)
{
	struct holding h = {what, victims};
	team_run_env(2 + victims, hold_and_die, &h, env);
}

static void test_death_holding_a_ring_slot_is_stepped_over(void **state)
{
	(void)state;
	run_holding(HOLD_SLOT, 1, NULL);
	run_holding(HOLD_SLOT, 3, env_tiny);
	run_holding(HOLD_SLOT_INJECT, 1, NULL);
	run_holding(HOLD_SLOT_INJECT, 3, env_tiny);
}

static void test_death_holding_an_eager_buffer_gives_it_back(void **state)
{
	(void)state;
	run_holding(HOLD_EAGER, 1, NULL);
	run_holding(HOLD_EAGER, 2, env_tiny); /* all there are */
}

static void test_death_holding_the_wide_atomic_lock_frees_it(void **state)
{
	(void)state;
	run_holding(HOLD_LOCK, 1, NULL);
	run_holding(HOLD_LOCK_FETCH, 2, NULL);
}

/* --- with something pending --------------------------------------------------------------------------------------- */

/* Everything that waits for the dead one ends with an error, in a process that only reads its queue and counters. */
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
	if (progress == FI_PROGRESS_MANUAL) { /* an automatic target would have answered these */
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
	if (progress == FI_PROGRESS_MANUAL) {
		CHECK_EQ(fi_cntr_readerr(n.c_write), 2);
		CHECK_EQ(fi_cntr_readerr(n.c_read), 1);
	}
	CHECK_EQ(fi_cntr_read(n.c_send) + fi_cntr_read(n.c_write) + fi_cntr_read(n.c_read), 0);
	/* and whatever is tried from now on */
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

/* Asleep in fi_cntr_wait or fi_cq_sread for something that the dead one should have done. */
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
			node_poll(&n); /* serves what the receiver fetches */
		CHECK(!"still alive");
	}
	team_barrier(NULL);
	struct fi_cq_err_entry err;
	struct fi_cq_tagged_entry e;
	if (begun) {
		CHECK_OK(fi_recv(n.ep, buf, len, NULL, FI_ADDR_UNSPEC, buf));
		const double end = hang_end();
		while (((volatile unsigned char *)buf)[0] != 3) { /* the first bytes are here */
			CHECK_EQ(fi_cq_read(n.rx_cq, &e, 1), -FI_EAGAIN);
			CHECK(now_s() < end);
		}
		team_kill(1);
	} else {
		for (int i = 0; i < 100; i++)
			node_poll(&n); /* unexpected by now */
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

/* Puts and gets by the short way to a peer that dies: errors soon, no crash, and nobody else notices. */
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
	enum fi_threading t = FI_THREAD_DOMAIN;
	(void)state;
	team_run(3, one_sided, &t);
	t = FI_THREAD_SAFE;
	team_run(3, one_sided, &t);
}

/* --- again and again ---------------------------------------------------------------------------------------------- */

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
		static unsigned char out[50000];
		const int to = (int)(rand_r(&seed) % 6);
		const size_t len = (size_t)rand_r(&seed) % (rand_r(&seed) % 8 ? 200 : 20000);
		uint64_t v = 1;
		ssize_t rc = 0;
		switch (rand_r(&seed) % 4) {
		case 0:
			rc = fi_send(n.ep, out, len, NULL, n.peer[to], NULL);
			break;
		case 1:
			rc = fi_inject_write(n.ep, out, len % 4096, n.peer[to], r[to].start, 0);
			break;
		case 2:
			rc = fi_inject_atomic(n.ep, &v, 1, n.peer[to], r[to].start + 60000, 0, FI_UINT64, FI_SUM);
			break;
		default:
			rc = fi_inject(n.ep, out, len % 4096, n.peer[to]);
		}
		CHECK(rc == 0 || rc == -FI_EAGAIN || rc == -FI_ECONNRESET || rc == -FI_EHOSTUNREACH);
		if (rc == -FI_ECONNRESET || rc == -FI_EHOSTUNREACH)
			CHECK(to >= 2); /* nobody takes the living for dead */
		for (int k = 0; k < 4; k++) {
			struct fi_cq_tagged_entry e;
			struct fi_cq_err_entry err = {0};
			struct fid_cq *cq = k % 2 ? n.tx_cq : n.rx_cq;
			const ssize_t got = fi_cq_read(cq, &e, 1);
			if (got == -FI_EAVAIL) {
				CHECK_EQ(fi_cq_readerr(cq, &err, 0), 1);
				CHECK_EQ(err.err, FI_ECONNRESET);
				if (err.op_context == buf)
					CHECK_OK(fi_recv(n.ep, buf, 50000, NULL, FI_ADDR_UNSPEC, buf));
			} else if (got == 1 && (e.flags & FI_RECV)) {
				CHECK_OK(fi_recv(n.ep, buf, 50000, NULL, FI_ADDR_UNSPEC, buf));
			}
		}
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
	/* every death is known, then the two talk on */
	const double end = now_s() + LIMIT_S;
	for (int i = 2; i < 6; i++) {
		uint64_t v;
		ssize_t rc;
		while ((rc = fi_inject(n.ep, &v, 8, n.peer[i])) != -FI_ECONNRESET && rc != -FI_EHOSTUNREACH) {
			struct fi_cq_tagged_entry e;
			struct fi_cq_err_entry err = {0};
			if (fi_cq_read(n.tx_cq, &e, 1) == -FI_EAVAIL)
				fi_cq_readerr(n.tx_cq, &err, 0);
			CHECK(now_s() < end);
			sleep_ms(1);
		}
	}
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
		cmocka_unit_test(test_death_holding_a_ring_slot_is_stepped_over),
		cmocka_unit_test(test_death_holding_an_eager_buffer_gives_it_back),
		cmocka_unit_test(test_death_holding_the_wide_atomic_lock_frees_it),
		cmocka_unit_test(test_death_ends_everything_that_is_pending),
		cmocka_unit_test(test_death_wakes_who_sleeps_for_it),
		cmocka_unit_test(test_death_of_a_long_sender_ends_the_receive),
		cmocka_unit_test(test_death_of_a_put_target_is_noticed_by_the_short_way),
		cmocka_unit_test(test_death_of_one_after_the_other_leaves_the_rest_working),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
