/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters: every call; waiting with threshold, timeout and error; every bind flag, including the remote ones on
 * endpoints and on regions. A counted operation has arrived. Built twice: table and FABRIC_DIRECT.
 */
#include "common.h"

#include <poll.h>
#include <pthread.h>

static const char *const env_no_cma[] = {"FI_PGAS_CMA=0", NULL};

static void calls(int rank, void *arg)
{
	struct node n;
	struct fid_cntr *c;
	struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP};
	int context;
	uint64_t flags = 1;
	(void)rank;
	(void)arg;
	node_open(&n, NULL);
	CHECK_OK(fi_cntr_open(n.domain, &attr, &c, &context));
	CHECK(c->fid.context == &context);
	CHECK_EQ(c->fid.fclass, FI_CLASS_CNTR);
	CHECK_EQ(fi_cntr_read(c), 0);
	CHECK_EQ(fi_cntr_readerr(c), 0);
	CHECK_OK(fi_cntr_add(c, 5));
	CHECK_OK(fi_cntr_add(c, 7));
	CHECK_EQ(fi_cntr_read(c), 12);
	CHECK_OK(fi_cntr_adderr(c, 2));
	CHECK_EQ(fi_cntr_readerr(c), 2);
	CHECK_EQ(fi_cntr_read(c), 12);
	CHECK_OK(fi_cntr_set(c, 100));
	CHECK_EQ(fi_cntr_read(c), 100);
	CHECK_OK(fi_cntr_seterr(c, 9));
	CHECK_EQ(fi_cntr_readerr(c), 9);
	CHECK_OK(fi_cntr_wait(c, 100, 0)); /* reached already */
	CHECK_OK(fi_cntr_wait(c, 50, -1));
	const double t = now_s();
	CHECK_EQ(fi_cntr_wait(c, 101, 110), -FI_ETIMEDOUT);
	CHECK(now_s() - t > 0.109 && now_s() - t < 3 * patience());
	CHECK_OK(fi_cntr_set(c, UINT64_MAX - 1));
	CHECK_OK(fi_cntr_add(c, 5)); /* above the threshold */
	CHECK_EQ(fi_cntr_read(c), 3);
	CHECK_OK(fi_cntr_wait(c, UINT64_MAX, 0));
	CHECK_OK(fi_control(&c->fid, FI_GETOPSFLAG, &flags));
	CHECK_EQ(flags, 0);
	enum fi_wait_obj w = FI_WAIT_FD;
	CHECK_OK(fi_control(&c->fid, FI_GETWAITOBJ, &w));
	CHECK_EQ(w, FI_WAIT_NONE);
	CHECK_EQ(fi_control(&c->fid, FI_GETWAIT, &w), -FI_ENODATA);
	CHECK_OK(fi_close(&c->fid));
	CHECK_OK(fi_cntr_open(n.domain, NULL, &c, NULL));
	CHECK_OK(fi_close(&c->fid));
	attr.events = FI_CNTR_EVENTS_COMP + 1;
	CHECK_EQ(fi_cntr_open(n.domain, &attr, &c, NULL), -FI_ENOSYS);
	attr.events = FI_CNTR_EVENTS_COMP;
	attr.wait_obj = FI_WAIT_SET;
	CHECK_EQ(fi_cntr_open(n.domain, &attr, &c, NULL), -FI_ENOSYS);
	attr.wait_obj = FI_WAIT_NONE;
	attr.flags = 1;
	CHECK_EQ(fi_cntr_open(n.domain, &attr, &c, NULL), -FI_EBADFLAGS);
	node_close(&n);
}

static void test_cntr_every_call_does_what_it_says(void **state)
{
	(void)state;
	team_run(1, calls, NULL);
}

/* --- waiting ------------------------------------------------------------------------------------------------------ */

static const enum fi_wait_obj waits[] = {FI_WAIT_NONE, FI_WAIT_UNSPEC, FI_WAIT_FD, FI_WAIT_MUTEX_COND, FI_WAIT_YIELD};

struct later {
	struct fid_cntr *c;
	int ms;
	bool error;
};

static void *add_later(void *arg)
{
	const struct later *l = arg;
	sleep_ms(l->ms);
	CHECK_OK(l->error ? fi_cntr_adderr(l->c, 1) : fi_cntr_add(l->c, 3));
	return NULL;
}

static void waiting(int rank, void *arg)
{
	const struct node_opts o = {.threading = FI_THREAD_SAFE};
	struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = *(enum fi_wait_obj *)arg};
	struct node n;
	struct fid_cntr *c;
	(void)rank;
	node_open(&n, &o);
	CHECK_OK(fi_cntr_open(n.domain, &attr, &c, NULL));
	for (int i = 1; i <= 3; i++) { /* another thread adds, sooner or later */
		struct later l = {c, i * 40 - 40, false};
		pthread_t t;
		CHECK_OK(pthread_create(&t, NULL, add_later, &l));
		/* a threshold that falls within the step */
		CHECK_OK(fi_cntr_wait(c, 3 * (uint64_t)i - 1, i == 3 ? -1 : hang_ms()));
		CHECK_EQ(fi_cntr_read(c), 3 * (uint64_t)i);
		CHECK_OK(pthread_join(t, NULL));
	}
	struct later l = {c, 30, true}; /* an error ends the wait */
	pthread_t t;
	CHECK_OK(pthread_create(&t, NULL, add_later, &l));
	CHECK_EQ(fi_cntr_wait(c, 1000, hang_ms()), -FI_EAVAIL);
	CHECK_OK(pthread_join(t, NULL));
	CHECK_EQ(fi_cntr_readerr(c), 1);
	CHECK_EQ(fi_cntr_wait(c, 1000, 30), -FI_ETIMEDOUT); /* an error from before the wait does not */
	CHECK_OK(fi_close(&c->fid));
	node_close(&n);
}

static void test_cntr_wait_ends_at_threshold_error_or_time(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		enum fi_wait_obj w = waits[i];
		team_run(1, waiting, &w);
	}
}

/* --- bind flags --------------------------------------------------------------------------------------------------- */

/* Each counter moves for its own kind of operation only. */
static void kinds(int rank, void *arg)
{
	const struct node_opts o = {.selective = true,
				    .counters = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ |
						FI_REMOTE_WRITE};
	struct node n;
	struct mem m;
	struct remote_mem r[2];
	uint64_t v = 1, res, input[4];
	node_open(&n, &o);
	mem_open(&n, &m, *(enum mem_kind *)arg, 4096, 0);
	node_connect(&n);
	mem_exchange(&n, &m, r);
	if (rank == 1)
		for (int i = 0; i < 4; i++)
			CHECK_OK(fi_recv(n.ep, &input[i], 8, NULL, FI_ADDR_UNSPEC, NULL));
	team_barrier(&n);
	if (rank == 0) {
		for (int i = 0; i < 3; i++)
			CHECK_OK(RETRY(&n, fi_write(n.ep, &v, 8, NULL, n.peer[1], r[1].start, 0, NULL)));
		CHECK_OK(RETRY(&n, fi_inject_write(n.ep, &v, 8, n.peer[1], r[1].start + 8, 0)));
		wait_cntr(&n, n.c_write, 4);
		for (int i = 0; i < 2; i++)
			CHECK_OK(RETRY(&n, fi_read(n.ep, &res, 8, NULL, n.peer[1], r[1].start, 0, NULL)));
		wait_cntr(&n, n.c_read, 2);
		CHECK_OK(RETRY(&n, fi_inject_atomic(n.ep, &v, 1, n.peer[1], r[1].start + 16, 0, FI_UINT64, FI_SUM)));
		wait_cntr(&n, n.c_write, 5);
		CHECK_OK(RETRY(&n, fi_fetch_atomic(n.ep, &v, 1, NULL, &res, NULL, n.peer[1], r[1].start + 16, 0,
						   FI_UINT64, FI_SUM, NULL)));
		wait_cntr(&n, n.c_read, 3);
		for (int i = 0; i < 4; i++)
			CHECK_OK(RETRY(&n, i % 2 ? fi_inject(n.ep, &v, 8, n.peer[1])
						 : fi_send(n.ep, &v, 8, NULL, n.peer[1], NULL)));
		wait_cntr(&n, n.c_send, 4);
	}
	team_barrier(&n);
	if (rank == 0) {
		CHECK_EQ(fi_cntr_read(n.c_write), 5);
		CHECK_EQ(fi_cntr_read(n.c_read), 3);
		CHECK_EQ(fi_cntr_read(n.c_send), 4);
		CHECK_EQ(fi_cntr_read(n.c_recv), 0);
		CHECK_EQ(fi_cntr_read(n.c_rem_write), 0);
		CHECK_EQ(fi_cntr_read(n.c_rem_read), 0);
	} else {
		wait_cntr(&n, n.c_recv, 4);
		CHECK_EQ(fi_cntr_read(n.c_write), 0);
		CHECK_EQ(fi_cntr_read(n.c_read), 0);
		CHECK_EQ(fi_cntr_read(n.c_send), 0);
		CHECK_EQ(fi_cntr_read(n.c_recv), 4);
		CHECK_EQ(fi_cntr_read(n.c_rem_write), 5);
		CHECK_EQ(fi_cntr_read(n.c_rem_read), 3);
		CHECK_OK(fi_cntr_set(n.c_rem_write, 50)); /* counting continues from a set value */
	}
	team_barrier(&n);
	if (rank == 0) {
		CHECK_OK(RETRY(&n, fi_inject_write(n.ep, &v, 8, n.peer[1], r[1].start + 8, 0)));
		wait_cntr(&n, n.c_write, 6);
	}
	team_barrier(&n);
	if (rank == 1)
		CHECK_EQ(fi_cntr_read(n.c_rem_write), 51);
	team_barrier(&n);
	mem_close(&m);
	node_close(&n);
}

static void test_cntr_each_bind_flag_counts_its_kind(void **state)
{
	(void)state;
	for (enum mem_kind k = MEM_MEMFD; k <= MEM_WHOLE; k++) {
		team_run(2, kinds, &k);
		team_run_env(2, kinds, &k, env_no_cma);
	}
}

/* Binding: which flags may be bound, and when. */
static void binding(int rank, void *arg)
{
	const struct node_opts o = {.no_enable = true};
	struct node n;
	struct fid_cntr *c, *d;
	struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP};
	(void)rank;
	(void)arg;
	node_open(&n, &o);
	CHECK_OK(fi_cntr_open(n.domain, &attr, &c, NULL));
	CHECK_OK(fi_cntr_open(n.domain, &attr, &d, NULL));
	CHECK_EQ(fi_ep_bind(n.ep, &c->fid, 0), -FI_EBADFLAGS);
	CHECK_EQ(fi_ep_bind(n.ep, &c->fid, FI_WRITE | FI_MULTI_RECV), -FI_EBADFLAGS);
	CHECK_OK(fi_ep_bind(n.ep, &c->fid, FI_WRITE | FI_READ));
	CHECK_EQ(fi_ep_bind(n.ep, &d->fid, FI_WRITE), -FI_EINVAL); /* taken */
	CHECK_EQ(fi_close(&c->fid), -FI_EBUSY);
	CHECK_OK(fi_enable(n.ep));
	/* later is allowed for events that we count ourselves, */
	CHECK_OK(fi_ep_bind(n.ep, &d->fid, FI_SEND));
	CHECK_EQ(fi_ep_bind(n.ep, &d->fid, FI_REMOTE_WRITE), -FI_EOPBADSTATE); /* not for what peers must know */
	CHECK_OK(fi_close(&n.ep->fid));
	n.ep = NULL;
	CHECK_OK(fi_close(&c->fid));
	CHECK_OK(fi_close(&d->fid));
	node_close(&n);
}

static void test_cntr_bind_refuses_what_could_not_count(void **state)
{
	(void)state;
	team_run(1, binding, NULL);
}

/* Many counters for remote events: all that were promised, each separate; the place of a closed one is reused. */
static void many_remote(int rank, void *arg)
{
	const struct node_opts o = {.no_enable = true};
	enum { MANY = 500 };
	struct node n;
	struct fid_cntr *c[MANY];
	struct fid_mr *mr[MANY];
	static uint64_t cell[MANY];
	struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP};
	(void)rank;
	(void)arg;
	node_open(&n, &o);
	CHECK_OK(fi_enable(n.ep));
	size_t len = sizeof n.name;
	CHECK_OK(fi_getname(&n.ep->fid, n.name, &len));
	CHECK_EQ(fi_av_insert(n.av, n.name, 1, &n.self, 0, NULL), 1);
	for (int round = 0; round < 10; round++) { /* 5000 in all */
		for (int i = 0; i < MANY; i++) {
			CHECK_OK(fi_cntr_open(n.domain, &attr, &c[i], NULL));
			CHECK_OK(fi_mr_reg(n.domain, &cell[i], 8, ACCESS_ALL, 0, (uint64_t)i + 10, 0, &mr[i], NULL));
			CHECK_OK(fi_mr_bind(mr[i], &c[i]->fid, FI_REMOTE_WRITE));
		}
		for (uint64_t i = 0; i < MANY; i += 7)
			CHECK_OK(RETRY(&n, fi_inject_write(n.ep, &i, 8, n.self, 0, i + 10)));
		for (int i = 0; i < MANY; i++) {
			CHECK_EQ(fi_cntr_read(c[i]), i % 7 == 0);
			CHECK_EQ(fi_close(&c[i]->fid), -FI_EBUSY);
			CHECK_OK(fi_close(&mr[i]->fid));
			CHECK_OK(fi_close(&c[i]->fid));
		}
	}
	node_close(&n);
}

static void test_cntr_remote_places_are_used_again(void **state)
{
	(void)state;
	ONLY_AT_ONCE();
	team_run(1, many_remote, NULL);
}

/* FI_RMA_EVENT: a region is live after fi_mr_enable only, and its counter wakes a sleeper in fi_cntr_wait. */
static void rma_event(int rank, void *arg)
{
	const struct node_opts o = {.counters = FI_WRITE, .caps = FI_RMA | FI_ATOMIC | FI_RMA_EVENT};
	struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = *(enum fi_wait_obj *)arg};
	struct node n;
	struct mem m;
	struct fid_cntr *c = NULL;
	struct fi_cq_err_entry err;
	uint64_t v = 1;
	node_open(&n, &o);
	CHECK(n.info->caps & FI_RMA_EVENT);
	mem_alloc(&m, MEM_MEMFD, 4096);
	if (rank == 1) {
		CHECK_OK(fi_cntr_open(n.domain, &attr, &c, NULL));
		CHECK_OK(fi_mr_reg(n.domain, m.base, m.len, ACCESS_ALL, 0, 4, FI_RMA_EVENT, &m.mr, NULL));
		CHECK_OK(fi_mr_bind(m.mr, &c->fid, FI_REMOTE_WRITE));
	}
	node_connect(&n);
	if (rank == 0) {
		CHECK_OK(RETRY(&n, fi_write(n.ep, &v, 8, NULL, n.peer[1], 0, 4, NULL)));
		wait_cq_error(&n, n.tx_cq, &err);
		CHECK_EQ(err.err, FI_EKEYREJECTED);
	}
	team_barrier(&n);
	if (rank == 1)
		CHECK_OK(fi_mr_enable(m.mr));
	team_barrier(&n);
	for (uint64_t i = 1; i <= 10; i++) {
		if (rank == 0) {
			sleep_ms(i == 5 ? 150 : 2);
			CHECK_OK(RETRY(&n, fi_write(n.ep, &i, 8, NULL, n.peer[1], 8 * i, 4, NULL)));
			wait_tx(&n, 1);
		} else {
			CHECK_OK(fi_cntr_wait(c, i, hang_ms()));
			CHECK_EQ(fi_cntr_read(c), i);
			CHECK_EQ(((volatile uint64_t *)m.base)[i], i); /* counted means arrived */
		}
		team_barrier(&n);
	}
	/* whatever modifies the region counts, even if it restores the old value; a fetch alone does not */
	if (rank == 0) {
		uint64_t old, mask = ~0ull;
		CHECK_OK(fi_fetch_atomic(n.ep, &v, 1, NULL, &old, NULL, n.peer[1], 8, 4, FI_UINT64, FI_SUM, NULL));
		wait_tx(&n, 1);
		CHECK_OK(fi_fetch_atomic(n.ep, NULL, 1, NULL, &old, NULL, n.peer[1], 8, 4, FI_UINT64, FI_ATOMIC_READ,
					 NULL));
		wait_tx(&n, 1);
		CHECK_OK(fi_compare_atomic(n.ep, &v, 1, NULL, &mask, NULL, &old, NULL, n.peer[1], 8, 4, FI_UINT64,
					   FI_MSWAP, NULL));
		wait_tx(&n, 1);
	} else {
		CHECK_OK(fi_cntr_wait(c, 12, hang_ms()));
	}
	team_barrier(&n);
	if (rank == 1) {
		CHECK_EQ(fi_cntr_read(c), 12);
		CHECK_OK(fi_close(&m.mr->fid));
		CHECK_OK(fi_close(&c->fid));
	}
	node_close(&n);
}

static void test_cntr_rma_event_counts_after_enable(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		enum fi_wait_obj w = waits[i];
		team_run(2, rma_event, &w);
	}
}

/* The counter's descriptor becomes readable when a peer writes, although no message arrives. */
static void remote_fd(int rank, void *arg)
{
	struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_FD};
	struct node n;
	struct mem m;
	struct fid_cntr *c;
	(void)arg;
	node_open(&n, NULL);
	mem_open(&n, &m, MEM_MEMFD, 4096, 3);
	CHECK_OK(fi_cntr_open(n.domain, &attr, &c, NULL));
	CHECK_OK(fi_mr_bind(m.mr, &c->fid, FI_REMOTE_WRITE));
	node_connect(&n);
	if (rank == 0) {
		for (uint64_t i = 0; i < 5; i++) {
			team_barrier(NULL);
			sleep_ms(20);
			CHECK_OK(RETRY(&n, fi_write(n.ep, &i, 8, NULL, n.peer[1], 0, 3, NULL)));
			wait_tx(&n, 1);
		}
	} else {
		int fd;
		CHECK_OK(fi_control(&c->fid, FI_GETWAIT, &fd));
		for (uint64_t i = 0; i < 5; i++) {
			struct fid *fids[] = {&c->fid};
			struct pollfd p = {fd, POLLIN, 0};
			while (fi_trywait(n.fabric, fids, 1) != 0) {}
			team_barrier(NULL);
			const double t = now_s();
			CHECK_EQ(poll(&p, 1, hang_ms()), 1);
			CHECK(now_s() - t < 5 * patience());
			const double end = hang_end();
			while (fi_cntr_read(c) < i + 1)
				CHECK(now_s() < end);
		}
	}
	team_barrier(&n);
	mem_close(&m);
	CHECK_OK(fi_close(&c->fid));
	node_close(&n);
}

static void test_cntr_wait_fd_tells_of_remote_writes(void **state)
{
	(void)state;
	team_run(2, remote_fd, NULL);
}

/* A counter-only endpoint with manual progress serves its peers if it only reads any counter now and then. */
static void counter_progress(int rank, void *arg)
{
	const struct node_opts o = {.no_cq = true, .counters = FI_WRITE | FI_READ};
	struct node n;
	struct mem m;
	struct remote_mem r[2];
	volatile uint32_t *done = team_shared();
	(void)arg;
	node_open(&n, &o);
	mem_open(&n, &m, MEM_PRIVATE, 4096, 0);
	node_connect(&n);
	mem_exchange(&n, &m, r);
	if (rank == 0) {
		const uint64_t one = 1;
		const double t = now_s();
		for (uint64_t i = 1; i <= 50; i++) {
			CHECK_OK(RETRY(&n,
				       fi_inject_atomic(n.ep, &one, 1, n.peer[1], r[1].start, 0, FI_UINT64, FI_SUM)));
			CHECK_OK(fi_cntr_wait(n.c_write, i, hang_ms()));
		}
		CHECK(now_s() - t < 10 * patience()); /* the first may wait for the watcher's poll, the others do not */
		__atomic_store_n(done, 1, __ATOMIC_SEQ_CST);
	} else {
		while (!__atomic_load_n(done, __ATOMIC_SEQ_CST)) {
			CHECK_EQ(fi_cntr_read(n.c_write), 0); /* the only call it makes */
			sleep_ms(1);
		}
		CHECK_EQ(fi_cntr_read(n.c_write), 0); /* sees what the service thread has written */
		CHECK_EQ(*(uint64_t *)m.base, 50);
	}
	team_barrier(NULL);
	mem_close(&m);
	node_close(&n);
}

static void test_cntr_read_makes_progress_for_peers(void **state)
{
	(void)state;
	team_run(2, counter_progress, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cntr_every_call_does_what_it_says),
		cmocka_unit_test(test_cntr_wait_ends_at_threshold_error_or_time),
		cmocka_unit_test(test_cntr_each_bind_flag_counts_its_kind),
		cmocka_unit_test(test_cntr_bind_refuses_what_could_not_count),
		cmocka_unit_test(test_cntr_remote_places_are_used_again),
		cmocka_unit_test(test_cntr_rma_event_counts_after_enable),
		cmocka_unit_test(test_cntr_wait_fd_tells_of_remote_writes),
		cmocka_unit_test(test_cntr_read_makes_progress_for_peers),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
