/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Endpoints: required bindings before enabling, options, default flags, aliases, names, several in one process,
 * closing, and that every call of every table returns.
 */
#include "common.h"

#include <rdma/fi_collective.h>

#include <unistd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* fi_wait_open: deprecated since libfabric 2, still works */

/* --- states ------------------------------------------------------------------------------------------------------- */

static void states(int rank, void *arg)
{
	const struct node_opts o = {.no_enable = true};
	struct node n;
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct fi_cq_attr ca = {0};
	uint64_t v = 1;
	char name[ADDR_BYTES];
	size_t len = sizeof name;
	int context;
	(void)rank;
	(void)arg;
	node_open(&n, &o);
	CHECK_OK(fi_endpoint(n.domain, n.info, &ep, &context));
	CHECK(ep->fid.context == &context);
	CHECK_EQ(ep->fid.fclass, FI_CLASS_EP);
	CHECK_EQ(fi_enable(ep), -FI_ENOAV);
	CHECK_OK(fi_ep_bind(ep, &n.av->fid, 0));
	CHECK_EQ(fi_ep_bind(ep, &n.av->fid, 0), -FI_EINVAL); /* it has one */
	CHECK_EQ(fi_enable(ep), -FI_ENOCQ);
	/* before it is enabled, all calls fail with a clear code */
	CHECK_EQ(fi_getname(&ep->fid, name, &len), -FI_EOPBADSTATE);
	CHECK_EQ(fi_send(ep, &v, 8, NULL, 0, NULL), -FI_EOPBADSTATE);
	CHECK_EQ(fi_inject(ep, &v, 8, 0), -FI_EOPBADSTATE);
	CHECK_EQ(fi_recv(ep, &v, 8, NULL, 0, NULL), -FI_EOPBADSTATE);
	CHECK_EQ(fi_trecv(ep, &v, 8, NULL, 0, 0, 0, NULL), -FI_EOPBADSTATE);
	CHECK_EQ(fi_write(ep, &v, 8, NULL, 0, 0, 0, NULL), -FI_EOPBADSTATE);
	CHECK_EQ(fi_inject_write(ep, &v, 8, 0, 0, 0), -FI_EOPBADSTATE);
	CHECK_EQ(fi_read(ep, &v, 8, NULL, 0, 0, 0, NULL), -FI_EOPBADSTATE);
	CHECK_EQ(fi_atomic(ep, &v, 1, NULL, 0, 0, 0, FI_UINT64, FI_SUM, NULL), -FI_EOPBADSTATE);
	/* queues */
	CHECK_OK(fi_cq_open(n.domain, &ca, &cq, NULL));
	CHECK_EQ(fi_ep_bind(ep, &cq->fid, 0), -FI_EBADFLAGS);
	CHECK_EQ(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_MORE), -FI_EBADFLAGS);
	CHECK_OK(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT));
	CHECK_EQ(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT), -FI_EINVAL);
	CHECK_EQ(fi_ep_bind(ep, &n.domain->fid, 0), -FI_EINVAL);
	CHECK_EQ(fi_close(&cq->fid), -FI_EBUSY);
	CHECK_OK(fi_enable(ep));
	CHECK_OK(fi_enable(ep)); /* a repeated call changes nothing */
	CHECK_EQ(fi_ep_bind(ep, &cq->fid, FI_RECV), -FI_EOPBADSTATE);
	CHECK_EQ(fi_ep_bind(ep, &n.av->fid, 0), -FI_EOPBADSTATE);
	CHECK_EQ(fi_close(&n.av->fid), -FI_EBUSY);
	CHECK_OK(fi_getname(&ep->fid, name, &len));
	len = 10;
	CHECK_EQ(fi_getname(&ep->fid, name, &len), -FI_ETOOSMALL);
	CHECK_EQ(len, ADDR_BYTES);
	len = 0;
	CHECK_EQ(fi_getname(&ep->fid, NULL, &len), -FI_ETOOSMALL);
	CHECK_EQ(len, ADDR_BYTES);
	CHECK_EQ(fi_setname(&ep->fid, "fi_pgas://@late", 16), -FI_EOPBADSTATE);
	CHECK_OK(fi_close(&ep->fid));
	CHECK_OK(fi_close(&cq->fid));
	node_close(&n); /* an endpoint that was never enabled closes too */
}

static void test_ep_enable_wants_vector_and_queue(void **state)
{
	(void)state;
	team_run(1, states, NULL);
}

/* Clients with a pool of transmit contexts bind one, some of them after the endpoint was enabled. */
static void transmit_contexts(int rank, void *arg)
{
	const struct node_opts o = {0};
	struct node n;
	struct fid_stx *stx;
	uint64_t out = 7, input = 0;
	(void)rank;
	(void)arg;
	node_open(&n, &o);
	node_connect(&n);
	CHECK_OK(fi_stx_context(n.domain, n.info->tx_attr, &stx, &n));
	CHECK(stx->fid.context == &n);
	CHECK_OK(fi_ep_bind(n.ep, &stx->fid, 0));
	CHECK_EQ(fi_ep_bind(n.ep, &n.av->fid, 0), -FI_EOPBADSTATE); /* everything else is too late */
	CHECK_OK(fi_recv(n.ep, &input, 8, NULL, FI_ADDR_UNSPEC, NULL));
	CHECK_OK(RETRY(&n, fi_inject(n.ep, &out, 8, n.self)));
	struct fi_cq_tagged_entry e;
	wait_cq(&n, n.rx_cq, &e);
	CHECK_EQ(input, 7);
	CHECK_OK(fi_close(&stx->fid));
	node_close(&n);
}

static void test_ep_transmit_contexts_may_be_bound_any_time(void **state)
{
	(void)state;
	team_run(1, transmit_contexts, NULL);
}

/* Objects of another domain are refused. */
static void foreign(int rank, void *arg)
{
	const struct node_opts o = {.no_enable = true};
	struct node a, b;
	struct fid_cntr *c;
	struct fi_cntr_attr ca = {.events = FI_CNTR_EVENTS_COMP};
	struct fid_ep *ep;
	(void)rank;
	(void)arg;
	node_open(&a, &o);
	node_open(&b, &o);
	CHECK_OK(fi_endpoint(a.domain, a.info, &ep, NULL));
	CHECK_OK(fi_cntr_open(b.domain, &ca, &c, NULL));
	CHECK_EQ(fi_ep_bind(ep, &b.av->fid, 0), -FI_EDOMAIN);
	CHECK_EQ(fi_ep_bind(ep, &b.tx_cq->fid, FI_TRANSMIT), -FI_EDOMAIN);
	CHECK_EQ(fi_ep_bind(ep, &c->fid, FI_WRITE), -FI_EDOMAIN);
	CHECK_OK(fi_close(&ep->fid));
	CHECK_OK(fi_close(&c->fid));
	node_close(&a);
	node_close(&b);
}

static void test_ep_bind_refuses_objects_of_another_domain(void **state)
{
	(void)state;
	team_run(1, foreign, NULL);
}

/* --- options and flags -------------------------------------------------------------------------------------------- */

static void options(int rank, void *arg)
{
	struct node n;
	size_t v = 0, len = sizeof v;
	uint64_t flags;
	(void)rank;
	(void)arg;
	node_open(&n, NULL);
	CHECK_OK(fi_getopt(&n.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &v, &len));
	CHECK(v > 0 && len == sizeof v);
	v = 12345;
	CHECK_OK(fi_setopt(&n.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &v, sizeof v));
	v = 0;
	CHECK_OK(fi_getopt(&n.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &v, &len));
	CHECK_EQ(v, 12345);
	CHECK_OK(fi_getopt(&n.ep->fid, FI_OPT_ENDPOINT, FI_OPT_TX_SIZE, &v, &len));
	CHECK(v > 0);
	CHECK_EQ(fi_setopt(&n.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &v, 2), -FI_EINVAL);
	CHECK_EQ(fi_setopt(&n.ep->fid, FI_OPT_ENDPOINT, 9999, &v, sizeof v), -FI_ENOPROTOOPT);
	CHECK_EQ(fi_setopt(&n.ep->fid, 77, FI_OPT_MIN_MULTI_RECV, &v, sizeof v), -FI_ENOPROTOOPT);
	CHECK_EQ(fi_getopt(&n.ep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &v, &len), -FI_ENOPROTOOPT);
	len = 1;
	CHECK_EQ(fi_getopt(&n.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &v, &len), -FI_ETOOSMALL);
	/* FI_OPT_CUDA_API_PERMITTED, by its value: old headers lack it. With devices: test_prov_hmem.c */
	bool permitted = false;
	CHECK_OK(fi_getopt(&n.ep->fid, FI_OPT_ENDPOINT, API_OPT_CUDA_PERMITTED, &permitted, &len));
	CHECK(permitted && len == sizeof permitted);
	len = 0;
	CHECK_EQ(fi_getopt(&n.ep->fid, FI_OPT_ENDPOINT, API_OPT_CUDA_PERMITTED, &permitted, &len), -FI_ETOOSMALL);
	CHECK_EQ(fi_setopt(&n.ep->fid, FI_OPT_ENDPOINT, API_OPT_CUDA_PERMITTED, &v, sizeof v), -FI_EINVAL);
	/* default flags */
	flags = FI_TRANSMIT;
	CHECK_OK(fi_control(&n.ep->fid, FI_GETOPSFLAG, &flags));
	CHECK_EQ(flags, 0);
	flags = FI_TRANSMIT | FI_COMPLETION | FI_DELIVERY_COMPLETE;
	CHECK_OK(fi_control(&n.ep->fid, FI_SETOPSFLAG, &flags));
	flags = FI_TRANSMIT;
	CHECK_OK(fi_control(&n.ep->fid, FI_GETOPSFLAG, &flags));
	CHECK_EQ(flags, FI_COMPLETION | FI_DELIVERY_COMPLETE);
	flags = FI_RECV | FI_MULTI_RECV;
	CHECK_OK(fi_control(&n.ep->fid, FI_SETOPSFLAG, &flags));
	flags = FI_RECV;
	CHECK_OK(fi_control(&n.ep->fid, FI_GETOPSFLAG, &flags));
	CHECK_EQ(flags, FI_MULTI_RECV);
	flags = FI_TRANSMIT | FI_RECV;
	CHECK_EQ(fi_control(&n.ep->fid, FI_GETOPSFLAG, &flags), -FI_EINVAL);
	CHECK_EQ(fi_control(&n.ep->fid, FI_SETOPSFLAG, &flags), -FI_EINVAL);
	CHECK_EQ(fi_control(&n.ep->fid, 9999, &flags), -FI_ENOSYS);
	node_close(&n);
}

static void test_ep_options_and_default_flags_are_kept(void **state)
{
	(void)state;
	team_run(1, options, NULL);
}

/* An alias is the same endpoint with other default flags, and lives until it is closed itself. */
static void alias(int rank, void *arg)
{
	const struct node_opts o = {.two_cqs = true, .selective = true, .counters = FI_WRITE};
	struct node n;
	struct mem m;
	struct remote_mem r[2];
	struct fid_ep *loud = NULL;
	struct fi_cq_tagged_entry e;
	uint64_t v = 0;
	const bool main_first = *(bool *)arg;
	node_open(&n, &o);
	mem_open(&n, &m, MEM_MEMFD, 4096, 0);
	node_connect(&n);
	mem_exchange(&n, &m, r);
	CHECK_EQ(fi_ep_alias(n.ep, &loud, FI_TRANSMIT | FI_PEEK), -FI_EBADFLAGS);
	CHECK_OK(fi_ep_alias(n.ep, &loud, FI_TRANSMIT | FI_COMPLETION));
	CHECK(loud != n.ep);
	if (rank == 0) {
		for (uint64_t i = 0; i < 5; i++) {
			CHECK_OK(RETRY(&n, fi_write(n.ep, &i, 8, NULL, n.peer[1], 8 * i, 0, NULL))); /* quiet */
			CHECK_OK(RETRY(&n, fi_write(loud, &i, 8, NULL, n.peer[1], 80 + 8 * i, 0, &e)));
			wait_cq(&n, n.tx_cq, &e);
			CHECK(e.op_context == &e);
		}
		CHECK_EQ(fi_cq_read(n.tx_cq, &e, 1), -FI_EAGAIN);
		wait_cntr(&n, n.c_write, 10); /* one counter for both */
		CHECK_OK(RETRY(&n, fi_send(loud, &v, 8, NULL, n.peer[1], &v)));
		wait_cq(&n, n.tx_cq, &e);
		CHECK_OK(RETRY(&n, fi_inject(n.ep, &v, 8, n.peer[1])));
	} else {
		for (int i = 0; i < 2; i++) {
			struct iovec iov = {&v, 8};
			struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1, .addr = n.peer[0]};
			CHECK_OK(fi_recvmsg(i ? n.ep : loud, &msg, FI_COMPLETION));
			wait_cq(&n, n.rx_cq, &e);
		}
	}
	team_barrier(&n);
	if (rank == 1)
		for (uint64_t i = 0; i < 5; i++)
			CHECK(((uint64_t *)m.base)[i] == i && ((uint64_t *)m.base)[10 + i] == i);
	team_barrier(&n);
	/* whichever is closed first, the other continues to work */
	struct fid_ep *left = main_first ? loud : n.ep;
	CHECK_OK(fi_close(main_first ? &n.ep->fid : &loud->fid));
	if (rank == 0) {
		v = 99;
		CHECK_OK(RETRY(&n, fi_inject_write(left, &v, 8, n.peer[1], 800, 0)));
		wait_cntr(&n, n.c_write, 11);
	}
	team_barrier(&n);
	if (rank == 1)
		CHECK_EQ(((uint64_t *)m.base)[100], 99);
	team_barrier(&n);
	n.ep = left;
	mem_close(&m);
	node_close(&n);
}

static void test_ep_alias_has_its_own_flags_and_life(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		bool main_first = i;
		team_run(2, alias, &main_first);
	}
}

/* --- several endpoints -------------------------------------------------------------------------------------------- */

/* Three endpoints per process, one shared transmit queue, separate receive queues and vectors, as in GASNet. */
static void several(int rank, void *arg)
{
	enum { EPS = 3, EACH = 100 };
	struct node n;
	struct fid_ep *ep[EPS];
	struct fid_cq *tx, *rx[EPS];
	struct fid_av *av[EPS];
	fi_addr_t peer[EPS];
	char(*names)[EPS][ADDR_BYTES] = team_shared();
	struct mem m;
	struct remote_mem r[2];
	(void)arg;
	node_open(&n, NULL);
	mem_open(&n, &m, MEM_MEMFD, 4096, 9);
	struct fi_cq_attr ca = {.format = FI_CQ_FORMAT_DATA, .size = 4096};
	struct fi_av_attr aa = {.type = FI_AV_TABLE};
	CHECK_OK(fi_cq_open(n.domain, &ca, &tx, NULL));
	for (int i = 0; i < EPS; i++) {
		size_t len = ADDR_BYTES;
		CHECK_OK(fi_endpoint(n.domain, n.info, &ep[i], NULL));
		CHECK_OK(fi_av_open(n.domain, &aa, &av[i], NULL));
		CHECK_OK(fi_cq_open(n.domain, &ca, &rx[i], NULL));
		CHECK_OK(fi_ep_bind(ep[i], &av[i]->fid, 0));
		CHECK_OK(fi_ep_bind(ep[i], &tx->fid, FI_TRANSMIT));
		CHECK_OK(fi_ep_bind(ep[i], &rx[i]->fid, FI_RECV));
		CHECK_OK(fi_enable(ep[i]));
		CHECK_OK(fi_getname(&ep[i]->fid, names[rank][i], &len));
	}
	mem_exchange(&n, &m, r);
	for (int i = 0; i < EPS; i++) {
		CHECK(strcmp(names[rank][i], names[rank][(i + 1) % EPS]) != 0);
		CHECK_EQ(fi_av_insert(av[i], names[1 - rank][i], 1, &peer[i], 0, NULL), 1);
	}
	int sends = 0;
	for (uint64_t k = 0; k < EACH; k++) {
		for (int i = 0; i < EPS; i++) {
			uint64_t out = k * 10 + (uint64_t)i, input = 0;
			struct fi_cq_data_entry e;
			CHECK_OK(fi_recv(ep[i], &input, 8, NULL, FI_ADDR_UNSPEC, NULL));
			while (fi_senddata(ep[i], &out, 8, NULL, out + 5, peer[i], NULL) == -FI_EAGAIN)
				fi_cq_read(tx, NULL, 0);
			sends++;
			const double end = hang_end();
			while (fi_cq_read(rx[i], &e, 1) != 1)
				CHECK(now_s() < end);
			CHECK_EQ(input, out);
			CHECK_EQ(e.data, out + 5);
		}
	}
	uint64_t v = 7;
	CHECK_OK(fi_write(ep[2], &v, 8, NULL, peer[2], 8 * (uint64_t)rank, 9, NULL)); /* a region is the domain's */
	sends++;
	while (sends > 0) {
		struct fi_cq_data_entry e;
		if (fi_cq_read(tx, &e, 1) == 1)
			sends--;
	}
	team_barrier(NULL);
	CHECK_EQ(((uint64_t *)m.base)[1 - rank], 7);
	for (int i = 0; i < EPS; i++) {
		CHECK_OK(fi_close(&ep[i]->fid));
		CHECK_OK(fi_close(&rx[i]->fid));
		CHECK_OK(fi_close(&av[i]->fid));
	}
	CHECK_OK(fi_close(&tx->fid));
	mem_close(&m);
	node_close(&n);
}

static void test_ep_several_per_process_keep_apart(void **state)
{
	(void)state;
	team_run(2, several, NULL);
}

/* A number of /proc/self/status. */
static long status_of(const char *name)
{
	char line[256];
	long value = -1;
	const size_t len = strlen(name);
	FILE *f = fopen("/proc/self/status", "r");
	CHECK(f != NULL);
	while (fgets(line, sizeof line, f))
		if (strncmp(line, name, len) == 0 && line[len] == ':')
			value = strtol(line + len + 1, NULL, 10);
	fclose(f);
	return value;
}

/* A joined thread is still counted for a moment. */
static bool threads_end_soon(long threads)
{
	for (int i = 0; i < 5000; i++) {
		if (status_of("Threads") == threads)
			return true;
		usleep(1000);
	}
	return false;
}

/* A closed object's resources are gone when fi_close returns: descriptors, threads, memory. */
static void thousand(int rank, void *arg)
{
	const struct node_opts o = {.two_cqs = true};
	struct node n;
	int fds = 0;
	long kib = 0;
	(void)rank;
	(void)arg;
	const int fds_before = open_fds();
	long threads_before = status_of("Threads"); /* more than one if the ranks are threads */
#ifdef __SANITIZE_THREAD__
	threads_before++; /* its own, from our first thread on */
#endif
	for (int i = 0; i < 1000; i++) {
		node_open(&n, &o);
		CHECK_EQ(fi_av_insert(n.av, n.name, 1, &n.self, 0, NULL), 1);
		node_close(&n);
		if (i == 0)
			fds = open_fds();
		if (i == 100)
			kib = status_of("VmRSS");
		CHECK_EQ(open_fds(), fds);
		CHECK(threads_end_soon(threads_before));
	}
	CHECK_EQ(fds, fds_before);
	CHECK(TEST_SLOW || status_of("VmRSS") < kib + 1024); /* sanitizers retain freed memory */
}

static void test_ep_a_thousand_opened_and_closed_leave_nothing(void **state)
{
	(void)state;
	team_run(1, thousand, NULL);
}

/* Opens and closes repeatedly, with traffic in between: nothing is left behind. */
static void again_and_again(int rank, void *arg)
{
	const struct node_opts *o = arg;
	struct node n;
	(void)rank;
	node_open(&n, o);
	node_close(&n);
	const int fds = open_fds();
	for (int i = 0; i < 30; i++) {
		uint64_t v = (uint64_t)i, input = 0;
		struct fi_cq_tagged_entry e;
		node_open(&n, o);
		CHECK_EQ(fi_av_insert(n.av, n.name, 1, &n.self, 0, NULL), 1);
		CHECK_OK(fi_recv(n.ep, &input, 8, NULL, FI_ADDR_UNSPEC, NULL));
		CHECK_OK(RETRY(&n, fi_inject(n.ep, &v, 8, n.self)));
		wait_cq(&n, n.rx_cq, &e);
		CHECK_EQ(input, v);
		node_close(&n);
	}
	CHECK_EQ(open_fds(), fds);
}

static void test_ep_open_and_close_leave_nothing_behind(void **state)
{
	struct node_opts o = {0};
	(void)state;
	team_run(1, again_and_again, &o);
	o.progress = FI_PROGRESS_AUTO;
	o.wait = FI_WAIT_FD;
	team_run(1, again_and_again, &o);
}

/* --- completeness of the tables ----------------------------------------------------------------------------------- */

static void tables(int rank, void *arg)
{
	struct node n;
	struct fid_ep *ep = NULL;
	struct fid_stx *stx = NULL;
	struct fid_pep *pep = NULL;
	struct fid_wait *wait = NULL;
	struct fi_wait_attr wa = {0};
	size_t len = 0;
	void *ops;
	(void)rank;
	(void)arg;
	node_open(&n, NULL);
	/* shared transmit contexts are accepted, though nothing is shared */
	CHECK_OK(fi_stx_context(n.domain, NULL, &stx, NULL));
	CHECK_OK(fi_endpoint(n.domain, n.info, &ep, NULL));
	CHECK_OK(fi_ep_bind(ep, &stx->fid, 0));
	CHECK_OK(fi_close(&ep->fid));
	CHECK_OK(fi_close(&stx->fid));
	/* the calls that the manual page lists as unsupported */
	CHECK_EQ(fi_scalable_ep(n.domain, n.info, &ep, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_srx_context(n.domain, NULL, &ep, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_passive_ep(n.fabric, n.info, &pep, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_wait_open(n.fabric, &wa, &wait), -FI_ENOSYS);
	CHECK_EQ(fi_tx_context(n.ep, 0, NULL, &ep, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_rx_context(n.ep, 0, NULL, &ep, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_connect(n.ep, NULL, NULL, 0), -FI_ENOSYS);
	CHECK_EQ(fi_accept(n.ep, NULL, 0), -FI_ENOSYS);
	CHECK_EQ(fi_shutdown(n.ep, 0), -FI_ENOSYS);
	CHECK_EQ(fi_getpeer(n.ep, NULL, &len), -FI_ENOSYS);
	CHECK_EQ(fi_open_ops(&n.domain->fid, "no such ops", 0, &ops, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_open_ops(&n.ep->fid, "no such ops", 0, &ops, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_barrier(n.ep, 0, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_set_ops(&n.domain->fid, "x", 0, NULL, NULL), -FI_ENOSYS);
	struct fi_collective_attr ca = {0};
	CHECK_EQ(fi_query_collective(n.domain, FI_BARRIER, &ca, 0), -FI_ENOSYS);
	struct fid_mc *mc;
	CHECK_EQ(fi_join(n.ep, n.name, 0, &mc, NULL), -FI_ENOSYS);
	CHECK(n.ep->ops->tx_size_left(n.ep) > 0 && n.ep->ops->rx_size_left(n.ep) > 0);
	/* every table has every entry */
	void *const *tables_[] = {
		(void *const *)n.ep->ops,        (void *const *)n.ep->cm,          (void *const *)n.ep->msg,
		(void *const *)n.ep->rma,        (void *const *)n.ep->tagged,      (void *const *)n.ep->atomic,
		(void *const *)n.ep->collective, (void *const *)n.domain->ops,     (void *const *)n.domain->mr,
		(void *const *)n.fabric->ops,    (void *const *)n.av->ops,         (void *const *)n.tx_cq->ops,
		(void *const *)n.ep->fid.ops,    (void *const *)n.domain->fid.ops, (void *const *)n.av->fid.ops};
	for (size_t t = 0; t < ARRAY_SIZE(tables_); t++) {
		const size_t bytes = (size_t)tables_[t][0]; /* .size comes first in all of them */
		CHECK(bytes >= 2 * sizeof(void *) && bytes < 1000);
		for (size_t k = 1; k < bytes / sizeof(void *); k++)
			if (!tables_[t][k]) {
				fprintf(stderr, "table %zu has no entry %zu\n", t, k);
				CHECK(!"incomplete table");
			}
	}
	node_close(&n);
}

static void test_ep_every_table_is_complete(void **state)
{
	(void)state;
	team_run(1, tables, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ep_enable_wants_vector_and_queue),
		cmocka_unit_test(test_ep_transmit_contexts_may_be_bound_any_time),
		cmocka_unit_test(test_ep_bind_refuses_objects_of_another_domain),
		cmocka_unit_test(test_ep_options_and_default_flags_are_kept),
		cmocka_unit_test(test_ep_alias_has_its_own_flags_and_life),
		cmocka_unit_test(test_ep_several_per_process_keep_apart),
		cmocka_unit_test(test_ep_open_and_close_leave_nothing_behind),
		cmocka_unit_test(test_ep_a_thousand_opened_and_closed_leave_nothing),
		cmocka_unit_test(test_ep_every_table_is_complete),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
