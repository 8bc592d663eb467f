/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queues: waiting for an entry, by call, descriptor and condition; signals. Built twice. */
#define _GNU_SOURCE
#include "common.h"

#include <poll.h>
#include <pthread.h>

/* --- waiting ------------------------------------------------------------------------------------------------------ */

static const enum fi_wait_obj waits[] = {FI_WAIT_UNSPEC, FI_WAIT_FD, FI_WAIT_MUTEX_COND, FI_WAIT_YIELD};

static void sread(int rank, void *arg)
{
	const struct node_opts *o = arg;
	struct node n;
	struct fi_cq_tagged_entry e;
	fi_addr_t src = 99;
	uint64_t v = 0;
	node_open(&n, o);
	node_connect(&n);
	if (rank == 0) {
		double t = now_s();
		CHECK_EQ(fi_cq_sread(n.rx_cq, &e, 1, NULL, 0), -FI_EAGAIN); /* only polls */
		CHECK(now_s() - t < 0.5 * patience());
		t = now_s();
		CHECK_EQ(fi_cq_sread(n.rx_cq, &e, 1, NULL, 120), -FI_EAGAIN);
		const double waited = now_s() - t;
		CHECK(waited > 0.119 && waited < 2 * patience());
		for (uint64_t i = 0; i < 20; i++) {
			CHECK_OK(fi_recv(n.ep, &v, 8, NULL, FI_ADDR_UNSPEC, &v));
			CHECK_OK(RETRY(&n, fi_inject(n.ep, &i, 8, n.peer[1]))); /* "go": it replies some time later */
			CHECK_EQ(i % 2 ? fi_cq_sread(n.rx_cq, &e, 1, NULL, -1)
				       : fi_cq_sreadfrom(n.rx_cq, &e, 1, &src, NULL, hang_ms()),
				 1);
			CHECK(e.op_context == &v);
			CHECK_EQ(v, 100 + i);
			if (i % 2 == 0)
				CHECK_EQ(src, n.peer[1]);
		}
	} else {
		for (uint64_t i = 0; i < 20; i++) {
			CHECK_OK(fi_recv(n.ep, &v, 8, NULL, FI_ADDR_UNSPEC, &v));
			wait_cq(&n, n.rx_cq, &e);
			CHECK_EQ(v, i);
			sleep_ms((int)(i % 4) * 7);
			v = 100 + i;
			CHECK_OK(RETRY(&n, fi_inject(n.ep, &v, 8, n.peer[0])));
		}
	}
	team_barrier(&n);
	node_close(&n);
}

static void test_cq_sread_waits_for_entry_or_time(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		struct node_opts o = {.two_cqs = true, .wait = waits[i]};
		team_run(2, sread, &o);
		o.threading = FI_THREAD_SAFE;
		o.progress = FI_PROGRESS_AUTO;
		team_run(2, sread, &o);
	}
}

struct sleeper {
	struct fid_cq *cq;
	ssize_t rc;
};

static void *sleep_in_sread(void *arg)
{
	struct sleeper *s = arg;
	struct fi_cq_tagged_entry e;
	s->rc = fi_cq_sread(s->cq, &e, 1, NULL, hang_ms());
	return NULL;
}

static void signalled(int rank, void *arg)
{
	const struct node_opts o = {.wait = *(enum fi_wait_obj *)arg, .threading = FI_THREAD_SAFE};
	struct node n;
	pthread_t t;
	(void)rank;
	node_open(&n, &o);
	for (int i = 0; i < 3; i++) {
		struct sleeper s = {n.tx_cq, 1};
		const double start = now_s();
		CHECK_OK(pthread_create(&t, NULL, sleep_in_sread, &s));
		sleep_ms(i * 60);
		CHECK_OK(fi_cq_signal(n.tx_cq));
		CHECK_OK(pthread_join(t, NULL));
		CHECK_EQ(s.rc, -FI_EAGAIN);
		CHECK(now_s() - start < 10 * patience());
	}
	node_close(&n);
}

static void test_cq_signal_wakes_a_sleeper(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		enum fi_wait_obj w = waits[i];
		team_run(1, signalled, &w);
	}
}

/* FI_WAIT_FD: after fi_trywait the descriptor signals the next entry, including one that another process causes. */
static void wait_fd(int rank, void *arg)
{
	const struct node_opts o = {.two_cqs = true, .wait = FI_WAIT_FD};
	struct node n;
	struct fi_cq_tagged_entry e;
	uint64_t v = 0;
	(void)arg;
	node_open(&n, &o);
	node_connect(&n);
	enum fi_wait_obj kind;
	CHECK_OK(fi_control(&n.rx_cq->fid, FI_GETWAITOBJ, &kind));
	CHECK_EQ(kind, FI_WAIT_FD);
	if (rank == 0) {
		int fd = -1;
		CHECK_OK(fi_control(&n.rx_cq->fid, FI_GETWAIT, &fd));
		struct fid *fids[] = {&n.rx_cq->fid};
		struct pollfd p = {fd, POLLIN, 0};
		CHECK_OK(fi_trywait(n.fabric, fids, 1));
		CHECK_EQ(poll(&p, 1, 50), 0); /* nothing was sent yet */
		CHECK_OK(RETRY(&n, fi_inject(n.ep, &v, 8, n.peer[1])));
		for (int i = 0; i < 19; i++) {
			CHECK_OK(fi_recv(n.ep, &v, 8, NULL, FI_ADDR_UNSPEC, &v));
			while (fi_cq_read(n.rx_cq, &e, 1) == -FI_EAGAIN)
				if (fi_trywait(n.fabric, fids, 1) == 0)
					CHECK_EQ(poll(&p, 1, hang_ms()), 1);
			CHECK_EQ(e.len, 8);
		}
	} else {
		CHECK_OK(fi_recv(n.ep, &v, 8, NULL, FI_ADDR_UNSPEC, &v));
		wait_cq(&n, n.rx_cq, &e);
		for (int i = 0; i < 19; i++) {
			sleep_ms(5 * (i % 3));
			CHECK_OK(RETRY(&n, fi_inject(n.ep, &v, 8, n.peer[0])));
		}
	}
	team_barrier(&n);
	node_close(&n);
}

static void test_cq_wait_fd_becomes_readable_for_an_arrival(void **state)
{
	(void)state;
	team_run(2, wait_fd, NULL);
}

/* FI_WAIT_MUTEX_COND: the condition is signalled for an arrival. */
static void wait_cond(int rank, void *arg)
{
	const struct node_opts o = {.two_cqs = true, .wait = FI_WAIT_MUTEX_COND};
	struct node n;
	struct fi_cq_tagged_entry e;
	uint64_t v;
	(void)arg;
	node_open(&n, &o);
	node_connect(&n);
	if (rank == 0) {
		struct fi_mutex_cond mc;
		struct fid *fids[] = {&n.rx_cq->fid};
		CHECK_OK(fi_control(&n.rx_cq->fid, FI_GETWAIT, &mc));
		for (int i = 0; i < 10; i++) {
			CHECK_OK(fi_recv(n.ep, &v, 8, NULL, FI_ADDR_UNSPEC, &v));
			CHECK_OK(RETRY(&n, fi_inject(n.ep, &v, 8, n.peer[1])));
			while (fi_cq_read(n.rx_cq, &e, 1) == -FI_EAGAIN) {
				struct timespec until;
				clock_gettime(CLOCK_REALTIME, &until);
				until.tv_sec += 20;
				pthread_mutex_lock(mc.mutex);
				if (fi_trywait(n.fabric, fids, 1) == 0)
					CHECK_OK(pthread_cond_timedwait(mc.cond, mc.mutex, &until));
				pthread_mutex_unlock(mc.mutex);
			}
		}
	} else {
		for (int i = 0; i < 10; i++) {
			CHECK_OK(fi_recv(n.ep, &v, 8, NULL, FI_ADDR_UNSPEC, &v));
			wait_cq(&n, n.rx_cq, &e);
			sleep_ms(5 * (i % 3));
			CHECK_OK(RETRY(&n, fi_inject(n.ep, &v, 8, n.peer[0])));
		}
	}
	team_barrier(&n);
	node_close(&n);
}

static void test_cq_wait_mutex_cond_is_signalled_for_an_arrival(void **state)
{
	(void)state;
	team_run(2, wait_cond, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cq_sread_waits_for_entry_or_time),
		cmocka_unit_test(test_cq_signal_wakes_a_sleeper),
		cmocka_unit_test(test_cq_wait_fd_becomes_readable_for_an_arrival),
		cmocka_unit_test(test_cq_wait_mutex_cond_is_signalled_for_an_arrival),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
