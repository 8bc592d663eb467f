/* SPDX-License-Identifier: BSD-3-Clause */
/* Fabric, domain, event queue, poll set, trywait: opening in order, closing only when unused, events and waiting. */
#include "common.h"

#include <poll.h>
#include <pthread.h>

#include <pgas/pgas_open.h>

#pragma GCC diagnostic ignored                                                                                         \
	"-Wdeprecated-declarations" /* fi_domain_bind, fi_poll: deprecated since libfabric 2, still work */

static const enum fi_wait_obj waits[] = {FI_WAIT_NONE, FI_WAIT_UNSPEC, FI_WAIT_FD, FI_WAIT_MUTEX_COND, FI_WAIT_YIELD};

/* --- fabric and domain -------------------------------------------------------------------------------------------- */

static void lifetimes(int rank, void *arg)
{
	const struct node_opts o = {0};
	struct fi_info *info = info_get(&o);
	struct fid_fabric *fabric;
	struct fid_domain *domain, *second;
	struct fid_eq *eq;
	struct fid_av *av;
	struct fi_eq_attr ea = {0};
	struct fi_av_attr aa = {0};
	int context;
	(void)rank;
	(void)arg;
	CHECK_OK(fi_fabric(info->fabric_attr, &fabric, &context));
	CHECK(fabric->fid.context == &context && fabric->fid.fclass == FI_CLASS_FABRIC);
	CHECK_OK(fi_domain(fabric, info, &domain, &context));
	CHECK(domain->fid.context == &context && domain->fid.fclass == FI_CLASS_DOMAIN);
	CHECK_OK(fi_domain2(fabric, info, &second, 0, NULL)); /* the two are separate */
	CHECK_EQ(fi_domain2(fabric, info, &second, FI_PEER, NULL), -FI_EBADFLAGS);
	CHECK_OK(fi_eq_open(fabric, &ea, &eq, &context));
	CHECK_EQ(fi_close(&fabric->fid), -FI_EBUSY);
	CHECK_OK(fi_av_open(domain, &aa, &av, NULL));
	CHECK_EQ(fi_close(&domain->fid), -FI_EBUSY);
	CHECK_EQ(fi_domain_bind(domain, &av->fid, 0), -FI_EINVAL);
	CHECK_OK(fi_domain_bind(domain, &eq->fid, 0));
	CHECK_EQ(fi_domain_bind(domain, &eq->fid, 0), -FI_EINVAL); /* it has one */
	CHECK_EQ(fi_close(&eq->fid), -FI_EBUSY);
	CHECK_OK(fi_close(&av->fid));
	CHECK_OK(fi_close(&domain->fid));
	CHECK_OK(fi_close(&second->fid));
	CHECK_OK(fi_close(&eq->fid)); /* the domain released it */
	CHECK_OK(fi_close(&fabric->fid));
	fi_freeinfo(info);
}

static void test_fabric_objects_close_when_unused_only(void **state)
{
	(void)state;
	team_run(1, lifetimes, NULL);
}

/* The wire of the tests is not in this library, which says so instead of taking another one. */
static void no_such_wire(int rank, void *arg)
{
	const struct node_opts o = {0};
	struct fi_info *info = info_get(&o);
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	(void)rank;
	(void)arg;
	CHECK_OK(fi_fabric(info->fabric_attr, &fabric, NULL));
	CHECK_EQ(fi_domain(fabric, info, &domain, NULL), -FI_EINVAL);
	CHECK(strstr(pgas_open_reason(), "FI_PGAS_LOOP=1"));
	CHECK_OK(fi_close(&fabric->fid));
	fi_freeinfo(info);
}

static void test_domain_wire_of_the_tests_is_refused(void **state)
{
	static const char *const env[] = {"FI_PGAS_LOOP=1", NULL};
	(void)state;
	team_run_env(1, no_such_wire, NULL, env);
}

static void wrong_name(int rank, void *arg)
{
	const struct node_opts o = {0};
	struct fi_info *info = info_get(&o);
	struct fid_fabric *fabric = NULL;
	(void)rank;
	(void)arg;
	free(info->fabric_attr->name);
	info->fabric_attr->name = strdup("other");
	CHECK_EQ(fi_fabric(info->fabric_attr, &fabric, NULL), -FI_EINVAL);
	CHECK(fabric == NULL);
	fi_freeinfo(info);
}

static void test_fabric_of_another_name_is_refused(void **state)
{
	(void)state;
	team_run(1, wrong_name, NULL);
}

/* Two domains of one process are two peers: they reach each other's regions, and their keys do not collide. */
static void two_domains(int rank, void *arg)
{
	struct node a, b;
	struct mem ma, mb;
	uint64_t v = 17, back = 0;
	(void)rank;
	(void)arg;
	node_open(&a, NULL);
	node_open(&b, NULL);
	mem_open(&a, &ma, MEM_MEMFD, 4096, 1);
	mem_open(&b, &mb, MEM_PRIVATE, 4096, 1);
	CHECK_EQ(fi_av_insert(a.av, b.name, 1, &a.peer[1], 0, NULL), 1);
	CHECK_EQ(fi_av_insert(b.av, a.name, 1, &b.peer[0], 0, NULL), 1);
	CHECK_OK(RETRY(&a, fi_write(a.ep, &v, 8, NULL, a.peer[1], 8, 1, NULL)));
	wait_tx(&a, 1);
	CHECK_EQ(((uint64_t *)mb.base)[1], 17);
	CHECK_EQ(((uint64_t *)ma.base)[1], 0);
	CHECK_OK(RETRY(&b, fi_read(b.ep, &back, 8, NULL, b.peer[0], 8, 1, NULL)));
	wait_tx(&b, 1);
	CHECK_EQ(back, 0);
	/* an atomic on private memory needs the other domain's progress, even if that domain is our own */
	CHECK_OK(RETRY(&a, fi_atomic(a.ep, &v, 1, NULL, a.peer[1], 8, 1, FI_UINT64, FI_SUM, NULL)));
	const double end = hang_end();
	struct fi_cq_tagged_entry e;
	while (fi_cq_read(a.tx_cq, &e, 1) == -FI_EAGAIN) {
		node_poll(&b);
		CHECK(now_s() < end);
	}
	CHECK_EQ(((uint64_t *)mb.base)[1], 34);
	mem_close(&ma);
	mem_close(&mb);
	node_close(&a);
	node_close(&b);
}

static void test_domain_two_in_one_process_reach_each_other(void **state)
{
	(void)state;
	team_run(1, two_domains, NULL);
}

/* --- event queues ------------------------------------------------------------------------------------------------- */

static void *write_later(void *arg)
{
	struct fi_eq_entry e = {.data = 77};
	sleep_ms(40);
	CHECK_EQ(fi_eq_write(arg, FI_NOTIFY, &e, sizeof e, 0), (ssize_t)sizeof e);
	return NULL;
}

/* Three entries fill it; they come out in order, and a peek removes none. */
static void fill_and_read(struct fid_eq *eq)
{
	struct fi_eq_entry e = {.data = 1}, got;
	struct fi_eq_err_entry err = {0};
	uint32_t event = 0;
	CHECK_EQ(fi_eq_read(eq, &event, &got, sizeof got, 0), -FI_EAGAIN);
	CHECK_EQ(fi_eq_readerr(eq, &err, 0), -FI_EAGAIN);
	for (uint64_t i = 0; i < 3; i++) {
		e.data = i;
		e.context = &got;
		CHECK_EQ(fi_eq_write(eq, 100 + (uint32_t)i, &e, sizeof e, 0), (ssize_t)sizeof e);
	}
	CHECK_EQ(fi_eq_write(eq, 1, &e, sizeof e, 0), -FI_EAGAIN); /* full */
	CHECK_EQ(fi_eq_read(eq, &event, &got, 4, 0), -FI_ETOOSMALL);
	for (uint64_t i = 0; i < 3; i++) {
		memset(&got, 0, sizeof got);
		CHECK_EQ(fi_eq_read(eq, &event, &got, sizeof got, FI_PEEK), (ssize_t)sizeof got); /* only peeks */
		CHECK(event == 100 + i && got.data == i);
		memset(&got, 0, sizeof got);
		CHECK_EQ(fi_eq_read(eq, &event, &got, sizeof got, 0), (ssize_t)sizeof got);
		CHECK(event == 100 + i && got.data == i && got.context == &got);
	}
	CHECK_EQ(fi_eq_read(eq, &event, &got, sizeof got, 0), -FI_EAGAIN);
}

static void blocking_read(struct fid_eq *eq)
{
	struct fi_eq_entry got;
	uint32_t event = 0;
	pthread_t t;
	const double start = now_s();
	CHECK_EQ(fi_eq_sread(eq, &event, &got, sizeof got, 0, 0), -FI_EAGAIN);
	CHECK_EQ(fi_eq_sread(eq, &event, &got, sizeof got, 80, 0), -FI_EAGAIN);
	CHECK(now_s() - start > 0.079 && now_s() - start < 5 * patience());
	for (int i = 0; i < 2; i++) {
		CHECK_OK(pthread_create(&t, NULL, write_later, eq));
		CHECK_EQ(fi_eq_sread(eq, &event, &got, sizeof got, i ? -1 : hang_ms(), 0), (ssize_t)sizeof got);
		CHECK(event == FI_NOTIFY && got.data == 77);
		CHECK_OK(pthread_join(t, NULL));
	}
}

static void polled(struct node *n, struct fid_eq *eq)
{
	struct fi_eq_entry e = {.data = 2}, got;
	struct fid *fids[] = {&eq->fid};
	uint32_t event = 0;
	int fd;
	CHECK_OK(fi_control(&eq->fid, FI_GETWAIT, &fd));
	struct pollfd p = {fd, POLLIN, 0};
	CHECK_OK(fi_trywait(n->fabric, fids, 1));
	CHECK_EQ(poll(&p, 1, 20), 0);
	CHECK_EQ(fi_eq_write(eq, 1, &e, sizeof e, 0), (ssize_t)sizeof e);
	CHECK_EQ(fi_trywait(n->fabric, fids, 1), -FI_EAGAIN);
	CHECK_EQ(poll(&p, 1, hang_ms()), 1);
	CHECK_EQ(fi_eq_read(eq, &event, &got, sizeof got, 0), (ssize_t)sizeof got);
	CHECK_EQ(poll(&p, 1, 0), 0); /* quiet again when it is empty */
}

static void event_queue(int rank, void *arg)
{
	const enum fi_wait_obj w = *(enum fi_wait_obj *)arg;
	struct node n;
	struct fid_eq *eq;
	struct fi_eq_attr attr = {.size = 3, .flags = FI_WRITE, .wait_obj = w};
	struct fi_eq_entry e = {.data = 1};
	uint32_t event = 0;
	enum fi_wait_obj kind;
	(void)rank;
	node_open(&n, NULL);
	CHECK_OK(fi_eq_open(n.fabric, &attr, &eq, &n));
	CHECK(eq->fid.context == &n && eq->fid.fclass == FI_CLASS_EQ);
	CHECK_OK(fi_control(&eq->fid, FI_GETWAITOBJ, &kind));
	CHECK_EQ(kind, w);
	fill_and_read(eq);
	if (w == FI_WAIT_NONE) {
		CHECK_EQ(fi_eq_sread(eq, &event, &e, sizeof e, 10, 0), -FI_EINVAL);
		CHECK_EQ(fi_control(&eq->fid, FI_GETWAIT, &kind), -FI_ENODATA);
	} else {
		blocking_read(eq);
	}
	if (w == FI_WAIT_FD)
		polled(&n, eq);
	CHECK_STR(fi_eq_strerror(eq, FI_ENOMEM, NULL, NULL, 0), fi_strerror(FI_ENOMEM));
	CHECK_EQ(fi_control(&eq->fid, 9999, NULL), -FI_ENOSYS);
	CHECK_OK(fi_close(&eq->fid));
	struct fi_eq_attr plain = {.wait_obj = FI_WAIT_UNSPEC};
	CHECK_OK(fi_eq_open(n.fabric, &plain, &eq, NULL));
	CHECK_EQ(fi_eq_write(eq, 1, &e, sizeof e, 0), -FI_EINVAL); /* not opened for writing */
	CHECK_OK(fi_close(&eq->fid));
	plain.wait_obj = FI_WAIT_SET;
	CHECK_EQ(fi_eq_open(n.fabric, &plain, &eq, NULL), -FI_ENOSYS);
	node_close(&n);
}

static void test_eq_keeps_order_size_and_wait_object(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		enum fi_wait_obj w = waits[i];
		team_run(1, event_queue, &w);
	}
}

/* --- poll sets and trywait ---------------------------------------------------------------------------------------- */

static void poll_set(int rank, void *arg)
{
	const struct node_opts o = {.two_cqs = true, .counters = FI_WRITE};
	struct node n;
	struct fid_poll *set;
	struct fid_cq *cq;
	struct fid_cntr *cntr;
	struct fi_poll_attr attr = {0};
	struct fi_cq_attr ca = {0};
	struct fi_cntr_attr na = {.events = FI_CNTR_EVENTS_COMP};
	void *ctx[4] = {0};
	uint64_t v = 1, input;
	struct fi_cq_tagged_entry e;
	int a, b;
	(void)rank;
	(void)arg;
	node_open(&n, &o);
	CHECK_EQ(fi_av_insert(n.av, n.name, 1, &n.self, 0, NULL), 1);
	n.rx_cq->fid.context = &a;
	n.c_write->fid.context = &b;
	attr.flags = 1;
	CHECK_EQ(fi_poll_open(n.domain, &attr, &set), -FI_EBADFLAGS);
	attr.flags = 0;
	CHECK_OK(fi_poll_open(n.domain, &attr, &set));
	CHECK_EQ(fi_poll_add(set, &n.av->fid, 0), -FI_EINVAL);
	CHECK_EQ(fi_poll_add(set, &n.rx_cq->fid, 1), -FI_EBADFLAGS);
	CHECK_OK(fi_poll_add(set, &n.rx_cq->fid, 0));
	CHECK_OK(fi_poll_add(set, &n.c_write->fid, 0));
	CHECK_EQ(fi_poll(set, ctx, 4), 0);
	CHECK_OK(fi_recv(n.ep, &input, 8, NULL, FI_ADDR_UNSPEC, NULL));
	CHECK_OK(RETRY(&n, fi_inject(n.ep, &v, 8, n.self)));
	const double end = hang_end();
	int rc;
	while ((rc = fi_poll(set, ctx, 4)) == 0) /* it also makes progress */
		CHECK(now_s() < end);
	CHECK_EQ(rc, 1);
	CHECK(ctx[0] == &a);
	CHECK_EQ(fi_poll(set, ctx, 4), 1); /* until it is read */
	CHECK_EQ(fi_cq_read(n.rx_cq, &e, 1), 1);
	CHECK_EQ(fi_poll(set, ctx, 4), 0);
	CHECK_OK(fi_cntr_add(n.c_write, 1));
	CHECK_EQ(fi_poll(set, ctx, 4), 1);
	CHECK(ctx[0] == &b);
	CHECK_OK(fi_poll_del(set, &n.c_write->fid, 0));
	CHECK_EQ(fi_poll_del(set, &n.c_write->fid, 0), -FI_EINVAL);
	CHECK_OK(fi_cntr_add(n.c_write, 1));
	CHECK_EQ(fi_poll(set, ctx, 4), 0);
	/* members cannot be closed */
	CHECK_OK(fi_cq_open(n.domain, &ca, &cq, NULL));
	CHECK_OK(fi_cntr_open(n.domain, &na, &cntr, NULL));
	CHECK_OK(fi_poll_add(set, &cq->fid, 0));
	CHECK_OK(fi_poll_add(set, &cntr->fid, 0));
	CHECK_EQ(fi_close(&cq->fid), -FI_EBUSY);
	CHECK_EQ(fi_close(&cntr->fid), -FI_EBUSY);
	CHECK_OK(fi_close(&set->fid));
	CHECK_OK(fi_close(&cq->fid));
	CHECK_OK(fi_close(&cntr->fid));
	CHECK_OK(fi_poll_open(n.domain, NULL, &set));
	CHECK_EQ(fi_close(&n.domain->fid), -FI_EBUSY);
	CHECK_OK(fi_close(&set->fid));
	node_close(&n);
}

static void test_poll_set_shows_members_with_events(void **state)
{
	(void)state;
	team_run(1, poll_set, NULL);
}

static void trywait(int rank, void *arg)
{
	const struct node_opts o = {.two_cqs = true, .wait = FI_WAIT_FD, .counters = FI_RECV};
	struct node n;
	struct fid_cq *none;
	struct fi_cq_attr ca = {0};
	uint64_t v = 1, input;
	struct fi_cq_tagged_entry e;
	(void)rank;
	(void)arg;
	node_open(&n, &o);
	CHECK_EQ(fi_av_insert(n.av, n.name, 1, &n.self, 0, NULL), 1);
	struct fid *both[] = {&n.rx_cq->fid, &n.c_recv->fid};
	CHECK_OK(fi_trywait(n.fabric, both, 2));
	CHECK_OK(fi_recv(n.ep, &input, 8, NULL, FI_ADDR_UNSPEC, NULL));
	CHECK_OK(RETRY(&n, fi_inject(n.ep, &v, 8, n.self)));
	const double end = hang_end();
	while (fi_trywait(n.fabric, both, 1) == 0) /* an event arrived: do not sleep */
		CHECK(now_s() < end);
	CHECK_EQ(fi_trywait(n.fabric, &both[1], 1), -FI_EAGAIN);
	CHECK_OK(fi_trywait(n.fabric, &both[1], 1)); /* seen */
	CHECK_EQ(fi_trywait(n.fabric, both, 1), -FI_EAGAIN);
	CHECK_EQ(fi_cq_read(n.rx_cq, &e, 1), 1);
	CHECK_OK(fi_trywait(n.fabric, both, 2));
	CHECK_OK(fi_cq_signal(n.rx_cq));
	CHECK_EQ(fi_trywait(n.fabric, both, 1), -FI_EAGAIN);
	CHECK_OK(fi_trywait(n.fabric, both, 1));
	CHECK_OK(fi_cq_open(n.domain, &ca, &none, NULL));
	struct fid *bad[] = {&none->fid, &n.av->fid};
	CHECK_EQ(fi_trywait(n.fabric, &bad[0], 1), -FI_EINVAL); /* no wait object */
	CHECK_EQ(fi_trywait(n.fabric, &bad[1], 1), -FI_EINVAL);
	CHECK_OK(fi_close(&none->fid));
	node_close(&n);
}

static void test_trywait_says_whether_to_sleep(void **state)
{
	(void)state;
	team_run(1, trywait, NULL);
}

/* A child of fork() inherits the library's state; it can open its own objects, and also notices its peers' deaths. */
static void after_fork_child(int rank, void *arg);

static void after_fork(int rank, void *arg)
{
	struct node n;
	(void)rank;
	(void)arg;
	node_open(&n, NULL); /* a watcher thread runs now, but not in the child */
	team_run(2, after_fork_child, NULL);
	node_close(&n);
}

static void after_fork_child(int rank, void *arg)
{
	struct node n;
	struct mem m;
	struct remote_mem r[2];
	(void)arg;
	node_open(&n, NULL);
	mem_open(&n, &m, MEM_MEMFD, 4096, 3);
	node_connect(&n);
	mem_exchange(&n, &m, r);
	uint64_t v = 5;
	CHECK_OK(RETRY(&n, fi_write(n.ep, &v, 8, NULL, n.peer[1 - rank], 8, 3, NULL)));
	wait_tx(&n, 1);
	team_barrier(&n);
	CHECK_EQ(((uint64_t *)m.base)[1], 5);
	team_barrier(&n);
	if (rank == 0) {
		team_kill(1);
		const double end = now_s() + 5 * patience();
		ssize_t rc;
		while ((rc = fi_write(n.ep, &v, 8, NULL, n.peer[1], 8, 3, NULL)) == 0) {
			wait_tx(&n, 1);
			CHECK(now_s() < end);
			sleep_ms(5);
		}
		CHECK_EQ(rc, -FI_ECONNRESET);
		mem_close(&m);
		node_close(&n);
	} else {
		for (;;)
			sleep_ms(1000);
	}
}

static void test_fabric_works_in_a_child_of_fork(void **state)
{
	ONLY_AT_ONCE();
	(void)state;
	team_run(1, after_fork, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fabric_objects_close_when_unused_only),
		cmocka_unit_test(test_fabric_of_another_name_is_refused),
		cmocka_unit_test(test_domain_wire_of_the_tests_is_refused),
		cmocka_unit_test(test_domain_two_in_one_process_reach_each_other),
		cmocka_unit_test(test_eq_keeps_order_size_and_wait_object),
		cmocka_unit_test(test_poll_set_shows_members_with_events),
		cmocka_unit_test(test_trywait_says_whether_to_sleep),
		cmocka_unit_test(test_fabric_works_in_a_child_of_fork),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
