/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion queues: formats, selective completion, a full queue, error entries with text, one queue for several
 * endpoints. Waiting is in test_prov_cq_wait.c. Built twice: table and FABRIC_DIRECT.
 */
#define _GNU_SOURCE
#include "common.h"

/* --- formats ------------------------------------------------------------------------------------------------------ */

static void formats(int rank, void *arg)
{
	static const struct {
		enum fi_cq_format format;
		size_t bytes;
	} all[] = {
		{FI_CQ_FORMAT_CONTEXT, sizeof(struct fi_cq_entry)},
		{FI_CQ_FORMAT_MSG, sizeof(struct fi_cq_msg_entry)},
		{FI_CQ_FORMAT_DATA, sizeof(struct fi_cq_data_entry)},
		{FI_CQ_FORMAT_TAGGED, sizeof(struct fi_cq_tagged_entry)},
	};
	(void)rank;
	(void)arg;
	for (size_t f = 0; f < ARRAY_SIZE(all); f++) {
		const struct node_opts o = {.two_cqs = true, .format = all[f].format};
		struct node n;
		unsigned char raw[4 * sizeof(struct fi_cq_tagged_entry)];
		uint64_t buf[3] = {0}, v = 11;
		node_open(&n, &o);
		CHECK_EQ(fi_av_insert(n.av, n.name, 1, &n.self, 0, NULL), 1);
		for (int i = 0; i < 3; i++)
			CHECK_OK(fi_trecv(n.ep, &buf[i], 8, NULL, FI_ADDR_UNSPEC, 40 + (uint64_t)i, 0, &buf[i]));
		for (uint64_t i = 0; i < 3; i++)
			CHECK_OK(RETRY(&n, fi_tinjectdata(n.ep, &v, 8, 500 + i, n.self, 40 + i)));
		memset(raw, 0xAB, sizeof raw);
		ssize_t got = 0;
		while (got < 3) { /* several in one call, packed by the size of the format */
			const ssize_t rc = fi_cq_read(n.rx_cq, raw + (size_t)got * all[f].bytes, (size_t)(3 - got));
			CHECK(rc > 0 || rc == -FI_EAGAIN);
			got += rc > 0 ? rc : 0;
		}
		for (size_t i = 0; i < 3; i++) {
			struct fi_cq_tagged_entry e;
			memset(&e, 0, sizeof e);
			memcpy(&e, raw + i * all[f].bytes, all[f].bytes);
			CHECK(e.op_context == &buf[i]);
			if (all[f].format >= FI_CQ_FORMAT_MSG)
				CHECK(e.len == 8 && e.flags == (FI_RECV | FI_TAGGED | FI_REMOTE_CQ_DATA));
			if (all[f].format >= FI_CQ_FORMAT_DATA)
				CHECK(e.buf == &buf[i] && e.data == 500 + i);
			if (all[f].format >= FI_CQ_FORMAT_TAGGED)
				CHECK_EQ(e.tag, 40 + i);
		}
		for (size_t i = 3 * all[f].bytes; i < sizeof raw; i++)
			CHECK_EQ(raw[i], 0xAB);
		node_close(&n);
	}
}

static void test_cq_every_format_has_its_fields(void **state)
{
	(void)state;
	team_run(1, formats, NULL);
}

static void opening(int rank, void *arg)
{
	struct node n;
	struct fid_cq *cq;
	struct fi_cq_attr attr = {0};
	int context;
	(void)rank;
	(void)arg;
	node_open(&n, NULL);
	CHECK_OK(fi_cq_open(n.domain, NULL, &cq, &context)); /* all defaults */
	CHECK(cq->fid.context == &context);
	CHECK_EQ(cq->fid.fclass, FI_CLASS_CQ);
	CHECK_OK(fi_close(&cq->fid));
	CHECK_OK(fi_cq_open(n.domain, &attr, &cq, NULL));
	CHECK_EQ(attr.format, FI_CQ_FORMAT_CONTEXT); /* chosen for "unspecified" */
	struct fi_cq_tagged_entry e;
	CHECK_EQ(fi_cq_sread(cq, &e, 1, NULL, 10), -FI_EINVAL); /* FI_WAIT_NONE */
	CHECK_EQ(fi_cq_signal(cq), -FI_EINVAL);
	CHECK_OK(fi_close(&cq->fid));
	attr.wait_obj = FI_WAIT_SET;
	CHECK_EQ(fi_cq_open(n.domain, &attr, &cq, NULL), -FI_ENOSYS);
	attr.wait_obj = FI_WAIT_NONE;
	attr.format = FI_CQ_FORMAT_TAGGED + 1;
	CHECK_EQ(fi_cq_open(n.domain, &attr, &cq, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_close(&n.tx_cq->fid), -FI_EBUSY); /* an endpoint uses it */
	struct fi_cq_err_entry err = {0};
	CHECK_EQ(fi_cq_readerr(n.tx_cq, &err, 0), -FI_EAGAIN);
	node_close(&n);
}

static void test_cq_open_takes_what_it_knows_and_refuses_the_rest(void **state)
{
	(void)state;
	team_run(1, opening, NULL);
}

/* --- selective completion ----------------------------------------------------------------------------------------- */

static void selective(int rank, void *arg)
{
	const struct node_opts o = {
		.two_cqs = true, .selective = true, .counters = FI_SEND | FI_RECV | FI_WRITE | FI_READ};
	struct node n;
	struct mem m;
	struct fi_cq_tagged_entry e;
	uint64_t v = 3, input[4] = {0};
	(void)rank;
	(void)arg;
	node_open(&n, &o);
	mem_open(&n, &m, MEM_MEMFD, 4096, 1);
	node_connect(&n);
	struct iovec iov = {&v, 8};
	struct fi_rma_iov rma = {0, 8, 1};
	struct fi_msg_rma w = {
		.msg_iov = &iov, .iov_count = 1, .addr = n.self, .rma_iov = &rma, .rma_iov_count = 1, .context = &w};
	CHECK_OK(RETRY(&n, fi_write(n.ep, &v, 8, NULL, n.self, 0, 1, NULL)));
	CHECK_OK(fi_writemsg(n.ep, &w, 0));
	CHECK_OK(fi_read(n.ep, &v, 8, NULL, n.self, 0, 1, NULL));
	CHECK_OK(fi_send(n.ep, &v, 8, NULL, n.self, NULL));
	CHECK_OK(fi_recv(n.ep, &input[0], 8, NULL, FI_ADDR_UNSPEC, NULL));
	wait_cntr(&n, n.c_write, 2);
	wait_cntr(&n, n.c_read, 1);
	wait_cntr(&n, n.c_send, 1);
	wait_cntr(&n, n.c_recv, 1);
	CHECK_EQ(input[0], 3);
	CHECK_EQ(fi_cq_read(n.tx_cq, &e, 1), -FI_EAGAIN); /* no entry was requested */
	CHECK_EQ(fi_cq_read(n.rx_cq, &e, 1), -FI_EAGAIN);
	CHECK_OK(fi_writemsg(n.ep, &w, FI_COMPLETION));
	wait_cq(&n, n.tx_cq, &e);
	CHECK(e.op_context == &w);
	struct iovec riov = {&input[1], 8};
	struct fi_msg r = {.msg_iov = &riov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = &r};
	CHECK_OK(fi_recvmsg(n.ep, &r, FI_COMPLETION));
	CHECK_OK(fi_inject(n.ep, &v, 8, n.self));
	wait_cq(&n, n.rx_cq, &e);
	CHECK(e.op_context == &r);
	/* an error always has an entry */
	struct fi_cq_err_entry err;
	CHECK_OK(fi_write(n.ep, &v, 8, NULL, n.self, 0, 999, &v));
	wait_cq_error(&n, n.tx_cq, &err);
	CHECK_EQ(err.err, FI_EKEYREJECTED);
	CHECK(err.op_context == &v);
	CHECK_EQ(fi_cntr_readerr(n.c_write), 1);
	/* the endpoint's default flags request entries */
	uint64_t flags = FI_TRANSMIT | FI_COMPLETION;
	CHECK_OK(fi_control(&n.ep->fid, FI_SETOPSFLAG, &flags));
	CHECK_OK(fi_write(n.ep, &v, 8, NULL, n.self, 0, 1, &input[2]));
	wait_cq(&n, n.tx_cq, &e);
	CHECK(e.op_context == &input[2]);
	mem_close(&m);
	node_close(&n);
}

static void test_cq_selective_has_entries_only_where_asked(void **state)
{
	(void)state;
	team_run(1, selective, NULL);
}

/* --- a full queue ------------------------------------------------------------------------------------------------- */

/* Four places and many operations: the calls return -FI_EAGAIN, and in the end nothing is missing. */
static void overrun(int rank, void *arg)
{
	const struct node_opts o = {.two_cqs = true, .cq_size = 4, .counters = FI_WRITE};
	struct node n;
	struct mem m;
	struct remote_mem r[2];
	uint64_t v = 0, again = 0;
	enum { MANY = 1000 };
	(void)arg;
	node_open(&n, &o);
	mem_open(&n, &m, MEM_MEMFD, 8 * MANY, 2);
	node_connect(&n);
	mem_exchange(&n, &m, r);
	if (rank == 0) {
		struct fi_cq_tagged_entry e[4];
		uint64_t done = 0;
		for (uint64_t i = 0; i < MANY;) {
			v = i + 1;
			const ssize_t rc =
				fi_write(n.ep, &v, 8, NULL, n.peer[1], r[1].start + 8 * i, 2, (void *)(i + 1));
			if (rc == 0) {
				i++;
				continue;
			}
			CHECK_EQ(rc, -FI_EAGAIN);
			again++;
			const ssize_t got = fi_cq_read(n.tx_cq, e, 4);
			CHECK_EQ(got, 4);
			for (int k = 0; k < 4; k++)
				CHECK_EQ((uint64_t)e[k].op_context, ++done);
		}
		CHECK(again >= MANY / 4 - 1);
		while (done < MANY) {
			CHECK_EQ(fi_cq_read(n.tx_cq, e, 1), 1);
			CHECK_EQ((uint64_t)e[0].op_context, ++done);
		}
		CHECK_EQ(fi_cntr_read(n.c_write), MANY);
		/* the receiving side: more messages than places, none is lost */
		for (uint64_t i = 0; i < MANY; i++)
			CHECK_OK(RETRY(&n, fi_inject(n.ep, &i, 8, n.peer[1])));
		team_barrier(&n);
	} else {
		static uint64_t input[MANY];
		for (int i = 0; i < MANY; i++)
			CHECK_OK(fi_recv(n.ep, &input[i], 8, NULL, FI_ADDR_UNSPEC, &input[i]));
		team_barrier(&n);
		for (int i = 0; i < MANY; i++) {
			struct fi_cq_tagged_entry e;
			wait_cq(&n, n.rx_cq, &e);
			CHECK(e.op_context == &input[i]);
			CHECK_EQ(input[i], i);
			CHECK_EQ(((uint64_t *)m.base)[i], (uint64_t)i + 1);
		}
	}
	team_barrier(&n);
	mem_close(&m);
	node_close(&n);
}

static void test_cq_of_four_places_loses_nothing(void **state)
{
	(void)state;
	ONLY_AT_ONCE();
	team_run(2, overrun, NULL);
}

/* --- errors and sharing ------------------------------------------------------------------------------------------- */

static void error_entries(int rank, void *arg)
{
	struct node n;
	struct mem m;
	struct fi_cq_tagged_entry e[2];
	struct fi_cq_err_entry err;
	uint64_t v = 1;
	char text[128] = {0}, short_text[4];
	(void)rank;
	(void)arg;
	node_open(&n, NULL);
	mem_open(&n, &m, MEM_MEMFD, 4096, 1);
	node_connect(&n);
	/* good, bad, good: the queue keeps their order, and an error blocks later entries until it is read */
	CHECK_OK(RETRY(&n, fi_write(n.ep, &v, 8, NULL, n.self, 0, 1, &e[0])));
	CHECK_OK(fi_write(n.ep, &v, 8, NULL, n.self, 4096, 1, &e[1]));
	CHECK_OK(fi_write(n.ep, &v, 8, NULL, n.self, 8, 1, &v));
	CHECK_EQ(fi_cq_readerr(n.tx_cq, &err, 0), -FI_EAGAIN); /* a good one comes first */
	CHECK_EQ(fi_cq_read(n.tx_cq, e, 2), 1);
	CHECK_EQ(fi_cq_read(n.tx_cq, e, 2), -FI_EAVAIL);
	CHECK_EQ(fi_cq_read(n.tx_cq, NULL, 0), -FI_EAVAIL);
	memset(&err, 0, sizeof err);
	char room[16];
	err.err_data = room;
	err.err_data_size = sizeof room;
	CHECK_EQ(fi_cq_readerr(n.tx_cq, &err, 0), 1);
	CHECK_EQ(err.err, FI_EACCES);
	CHECK(err.op_context == &e[1]);
	CHECK_EQ(err.flags, FI_RMA | FI_WRITE);
	CHECK_EQ(err.err_data_size, 0);
	const char *s = fi_cq_strerror(n.tx_cq, err.prov_errno, err.err_data, text, sizeof text);
	CHECK(strcasestr(s, "permission") != NULL && strcmp(s, text) == 0);
	fi_cq_strerror(n.tx_cq, err.prov_errno, NULL, short_text, sizeof short_text);
	CHECK_EQ(strlen(short_text), 3); /* truncated to the given size */
	CHECK_EQ(fi_cq_read(n.tx_cq, e, 2), 1);
	CHECK(e[0].op_context == &v);
	CHECK_EQ(fi_cq_read(n.tx_cq, e, 2), -FI_EAGAIN);
	mem_close(&m);
	node_close(&n);
}

/*
 * The error entry grew: err_data_size was added in API 1.5, the source in 1.20. A caller of an older API has less room,
 * and nothing may be written past it. The table is called directly: libfabric's own inline writes the source first.
 */
static void error_entry_ends_where_the_api_does(int rank, void *arg)
{
	static const struct {
		uint32_t api;
		size_t bytes;
	} known[] = {
		{FI_VERSION(1, 4), offsetof(struct fi_cq_err_entry, err_data_size)},
		{FI_VERSION(1, 5), offsetof(struct fi_cq_err_entry, err_data_size) + 8},
		{FI_VERSION(1, 17), offsetof(struct fi_cq_err_entry, err_data_size) + 8},
		{FI_VERSION(1, 20), offsetof(struct fi_cq_err_entry, err_data_size) + 16},
	};
	(void)rank;
	(void)arg;
	for (size_t k = 0; k < ARRAY_SIZE(known) && known[k].api <= fi_version(); k++) {
		const struct node_opts o = {.version = known[k].api,
					    .two_cqs = true,
					    .caps = FI_MSG | FI_SOURCE,
					    .mr_mode = known[k].api < FI_VERSION(1, 5) ? API_MR_SCALABLE : 0};
		struct node n;
		uint64_t small, big[2] = {1, 2};
		unsigned char err[256];
		fi_addr_t src;
		node_open(&n, &o);
		node_connect(&n);
		CHECK_OK(fi_recv(n.ep, &small, 8, NULL, FI_ADDR_UNSPEC, NULL));
		CHECK_OK(RETRY(&n, fi_inject(n.ep, big, 16, n.self)));
		memset(err, 0xa5, sizeof err);
		CHECK_EQ(RETRY(&n, n.rx_cq->ops->readerr(n.rx_cq, (struct fi_cq_err_entry *)err, 0)), 1);
		CHECK_EQ(((struct fi_cq_err_entry *)err)->err, FI_ETRUNC);
		for (size_t b = known[k].bytes; b < sizeof err; b++)
			CHECK_EQ(err[b], 0xa5);
		memcpy(&src, err + known[k].bytes - 8, sizeof src);
		if (known[k].api >= FI_VERSION(1, 20))
			CHECK_EQ(src, n.self);
		node_close(&n);
	}
}

static void test_cq_error_entry_ends_where_the_api_does(void **state)
{
	(void)state;
	team_run(1, error_entry_ends_where_the_api_does, NULL);
}

/* The error entry of a cancelled multi-receive buffer releases it as any other entry does: it sets FI_MULTI_RECV. */
static void cancelled_multi_receive(int rank, void *arg)
{
	const struct node_opts o = {.two_cqs = true};
	struct node n;
	char pool[4096];
	uint64_t v = 7;
	struct fi_cq_tagged_entry e;
	struct fi_cq_err_entry err;
	struct iovec iov = {pool, sizeof pool};
	struct fi_msg m = {.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = &v};
	(void)rank;
	(void)arg;
	node_open(&n, &o);
	node_connect(&n);
	for (int used = 0; used < 2; used++) {
		CHECK_OK(fi_recvmsg(n.ep, &m, FI_MULTI_RECV | FI_COMPLETION));
		if (used) {
			CHECK_OK(RETRY(&n, fi_inject(n.ep, &v, 8, n.self)));
			wait_cq(&n, n.rx_cq, &e);
			CHECK_EQ(e.flags & FI_MULTI_RECV, 0);
		}
		CHECK_OK(fi_cancel(&n.ep->fid, &v));
		wait_cq_error(&n, n.rx_cq, &err);
		CHECK_EQ(err.err, FI_ECANCELED);
		CHECK(err.op_context == &v);
		CHECK_EQ(err.flags, FI_RECV | FI_MSG | FI_MULTI_RECV);
	}
	CHECK_OK(fi_recv(n.ep, pool, 8, NULL, FI_ADDR_UNSPEC, &e)); /* a plain receive does not set the flag */
	CHECK_OK(fi_cancel(&n.ep->fid, &e));
	wait_cq_error(&n, n.rx_cq, &err);
	CHECK_EQ(err.flags, FI_RECV | FI_MSG);
	node_close(&n);
}

static void test_cq_cancelled_multi_receive_gives_the_buffer_back(void **state)
{
	(void)state;
	team_run(1, cancelled_multi_receive, NULL);
}

static void test_cq_error_entry_tells_operation_and_reason(void **state)
{
	(void)state;
	ONLY_AT_ONCE();
	team_run(1, error_entries, NULL);
}

/* One queue for three endpoints of a process, each sending to the next. */
static void shared_queue(int rank, void *arg)
{
	enum { EPS = 3, EACH = 200 };
	struct node n;
	struct fid_ep *ep[EPS];
	fi_addr_t addr[EPS];
	uint64_t input[EPS] = {0}, next[EPS] = {0}, out[EPS] = {0};
	(void)rank;
	(void)arg;
	node_open(&n, NULL);
	for (int i = 0; i < EPS; i++) {
		char name[ADDR_BYTES];
		size_t len = sizeof name;
		CHECK_OK(fi_endpoint(n.domain, n.info, &ep[i], NULL));
		CHECK_OK(fi_ep_bind(ep[i], &n.av->fid, 0));
		CHECK_OK(fi_ep_bind(ep[i], &n.tx_cq->fid, FI_TRANSMIT | FI_RECV));
		CHECK_OK(fi_enable(ep[i]));
		CHECK_OK(fi_getname(&ep[i]->fid, name, &len));
		CHECK_EQ(fi_av_insert(n.av, name, 1, &addr[i], 0, NULL), 1);
	}
	for (int i = 0; i < EPS; i++)
		CHECK_OK(fi_recv(ep[i], &input[i], 8, NULL, FI_ADDR_UNSPEC, &input[i]));
	int sends = 0, recvs = 0;
	while (recvs < EPS * EACH) {
		struct fi_cq_tagged_entry e;
		for (int i = 0; i < EPS; i++)
			if (out[i] < EACH && fi_send(ep[i], &out[i], 8, NULL, addr[(i + 1) % EPS], &out[i]) == 0)
				out[i]++;
		if (fi_cq_read(n.tx_cq, &e, 1) != 1)
			continue;
		if (e.flags & FI_SEND) {
			sends++;
			continue;
		}
		const int pos = (int)((uint64_t *)e.op_context - input);
		CHECK_EQ(input[pos], next[pos]++);
		recvs++;
		CHECK_OK(fi_recv(ep[pos], &input[pos], 8, NULL, FI_ADDR_UNSPEC, &input[pos]));
	}
	while (sends < EPS * EACH) {
		struct fi_cq_tagged_entry e;
		wait_cq(&n, n.tx_cq, &e);
		CHECK(e.flags & FI_SEND);
		sends++;
	}
	for (int i = 0; i < EPS; i++)
		CHECK_OK(fi_close(&ep[i]->fid));
	node_close(&n);
}

static void test_cq_shared_by_endpoints_serves_all(void **state)
{
	(void)state;
	team_run(1, shared_queue, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cq_every_format_has_its_fields),
		cmocka_unit_test(test_cq_open_takes_what_it_knows_and_refuses_the_rest),
		cmocka_unit_test(test_cq_selective_has_entries_only_where_asked),
		cmocka_unit_test(test_cq_of_four_places_loses_nothing),
		cmocka_unit_test(test_cq_error_entry_tells_operation_and_reason),
		cmocka_unit_test(test_cq_error_entry_ends_where_the_api_does),
		cmocka_unit_test(test_cq_cancelled_multi_receive_gives_the_buffer_back),
		cmocka_unit_test(test_cq_shared_by_endpoints_serves_all),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
