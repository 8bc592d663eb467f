/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages: all send and receive forms, plain and tagged, of all sizes, expected and unexpected, to oneself and to
 * another process; long ones; delivery; leaving while some are in flight. Order and full rings are in
 * test_prov_msg_flow.c; which receive a message matches is in test_prov_msg_match.c and test_prov_tagged.c. Built
 * twice: table and FABRIC_DIRECT.
 */
#include "common.h"

static const size_t sizes[] = {0, 1, 8, 40, 41, 88, 89, 104, 105, 4096, 16384, 16385, 300000};
enum { SIZES = ARRAY_SIZE(sizes), BLANK = 0xEE };
enum { S_SEND, S_SENDV, S_SENDMSG, S_SENDDATA, S_INJECT, S_INJECTDATA, S_MSGINJECT, S_CALLS };
enum { R_RECV, R_RECVV, R_RECVMSG, R_CALLS };

static const char *const env_no_cma[] = {"FI_PGAS_CMA=0", NULL};
static const char *const env_tiny[] = {"FI_PGAS_RX_SLOTS=16", "FI_PGAS_EAGER_COUNT=2", NULL};
static const char *const env_tiny_no_cma[] = {"FI_PGAS_RX_SLOTS=16", "FI_PGAS_EAGER_COUNT=2", "FI_PGAS_CMA=0", NULL};

static bool fits(int call, size_t size)
{
	return size <= 4096 || (call != S_INJECT && call != S_INJECTDATA && call != S_MSGINJECT);
}

static bool has_data(int call)
{
	return call == S_SENDDATA || call == S_INJECTDATA || call == S_SENDMSG;
}

static uint64_t number_of(int call, int s)
{
	return 0x1122334455660000u + (uint64_t)(call * 64 + s);
}

static ssize_t send_form(struct node *n, bool tagged, int call, void *buf, size_t len, fi_addr_t dest, uint64_t number)
{
	const size_t first = len / 3;
	struct iovec iov[2] = {{buf, first}, {(char *)buf + first, len - first}};
	struct fi_msg m = {.msg_iov = iov, .iov_count = 2, .addr = dest, .context = buf, .data = number};
	struct fi_msg_tagged t = {
		.msg_iov = iov, .iov_count = 2, .addr = dest, .tag = number, .context = buf, .data = number};
	switch (call) {
	case S_SEND:
		return tagged ? fi_tsend(n->ep, buf, len, NULL, dest, number, buf)
			      : fi_send(n->ep, buf, len, NULL, dest, buf);
	case S_SENDV:
		return tagged ? fi_tsendv(n->ep, iov, NULL, 2, dest, number, buf)
			      : fi_sendv(n->ep, iov, NULL, 2, dest, buf);
	case S_SENDMSG:
		return tagged ? fi_tsendmsg(n->ep, &t, FI_REMOTE_CQ_DATA | FI_COMPLETION)
			      : fi_sendmsg(n->ep, &m, FI_REMOTE_CQ_DATA | FI_COMPLETION);
	case S_SENDDATA:
		return tagged ? fi_tsenddata(n->ep, buf, len, NULL, number, dest, number, buf)
			      : fi_senddata(n->ep, buf, len, NULL, number, dest, buf);
	case S_INJECT:
		if (len == 8) /* constant for the direct build */
			return tagged ? fi_tinject(n->ep, buf, 8, dest, number) : fi_inject(n->ep, buf, 8, dest);
		return tagged ? fi_tinject(n->ep, buf, len, dest, number) : fi_inject(n->ep, buf, len, dest);
	case S_INJECTDATA:
		return tagged ? fi_tinjectdata(n->ep, buf, len, number, dest, number)
			      : fi_injectdata(n->ep, buf, len, number, dest);
	default:
		return tagged ? fi_tsendmsg(n->ep, &t, FI_INJECT | FI_COMPLETION)
			      : fi_sendmsg(n->ep, &m, FI_INJECT | FI_COMPLETION);
	}
}

static ssize_t recv_form(struct node *n, bool tagged, int call, void *buf, size_t len, fi_addr_t source,
			 uint64_t number, void *ctx)
{
	const size_t first = len / 4;
	struct iovec iov[3] = {{buf, first}, {(char *)buf + first, 0}, {(char *)buf + first, len - first}};
	struct fi_msg m = {.msg_iov = iov, .iov_count = 3, .addr = source, .context = ctx};
	struct fi_msg_tagged t = {.msg_iov = iov, .iov_count = 3, .addr = source, .tag = number, .context = ctx};
	switch (call) {
	case R_RECV:
		return tagged ? fi_trecv(n->ep, buf, len, NULL, source, number, 0, ctx)
			      : fi_recv(n->ep, buf, len, NULL, source, ctx);
	case R_RECVV:
		return tagged ? fi_trecvv(n->ep, iov, NULL, 3, source, number, 0, ctx)
			      : fi_recvv(n->ep, iov, NULL, 3, source, ctx);
	default:
		return tagged ? fi_trecvmsg(n->ep, &t, FI_COMPLETION) : fi_recvmsg(n->ep, &m, FI_COMPLETION);
	}
}

/* --- every form --------------------------------------------------------------------------------------------------- */

struct forms {
	bool tagged, expected, self;
	struct node_opts opts;
};

struct letter { /* one posted receive */
	int call, s;
	unsigned char *buf;
};

static void post_all(struct node *n, const struct forms *f, struct letter *l)
{
	int i = 0;
	for (int c = 0; c < S_CALLS; c++) {
		for (int s = 0; s < SIZES; s++) {
			if (!fits(c, sizes[s]))
				continue;
			l->call = c;
			l->s = s;
			l->buf = malloc(sizes[s] + 64);
			memset(l->buf, BLANK, sizes[s] + 64);
			CHECK_OK(recv_form(n, f->tagged, i++ % R_CALLS, l->buf, sizes[s] + 32, FI_ADDR_UNSPEC,
					   number_of(c, s), l));
			l++;
		}
	}
}

static void send_all(struct node *n, const struct forms *f, fi_addr_t dest)
{
	for (int c = 0; c < S_CALLS; c++) {
		for (int s = 0; s < SIZES; s++) {
			if (!fits(c, sizes[s]))
				continue;
			/* long messages stay with the sender until they are received: every message has its own
			 * buffer */
			unsigned char *buf = malloc(sizes[s] + 1);
			fill(buf, sizes[s], number_of(c, s));
			CHECK_OK(RETRY(n, send_form(n, f->tagged, c, buf, sizes[s], dest, number_of(c, s))));
			if (c == S_INJECT || c == S_INJECTDATA || c == S_MSGINJECT)
				memset(buf, 0x11, sizes[s]);
			if (c == S_INJECT || c == S_INJECTDATA)
				free(buf);
		}
	}
}

static int letters(bool sent_entries)
{
	int n = 0;
	for (int c = 0; c < S_CALLS; c++)
		for (int s = 0; s < SIZES; s++)
			n += fits(c, sizes[s]) && !(sent_entries && (c == S_INJECT || c == S_INJECTDATA));
	return n;
}

static void take_sent(struct node *n, const struct forms *f)
{
	for (int i = letters(true); i > 0; i--) {
		struct fi_cq_tagged_entry e;
		wait_cq(n, n->tx_cq, &e);
		CHECK_EQ(e.flags & ~(FI_REMOTE_CQ_DATA), FI_SEND | (f->tagged ? FI_TAGGED : FI_MSG));
		free(e.op_context);
	}
}

static void take_received(struct node *n, const struct forms *f, fi_addr_t source)
{
	for (int i = letters(false); i > 0; i--) {
		struct fi_cq_tagged_entry e = {0};
		fi_addr_t src = 99;
		ssize_t rc;
		const double end = hang_end();
		while ((rc = fi_cq_readfrom(n->rx_cq, &e, 1, &src)) == -FI_EAGAIN) {
			node_poll(n);
			CHECK(now_s() < end);
		}
		CHECK_EQ(rc, 1);
		const struct letter *l = e.op_context;
		const size_t len = sizes[l->s];
		CHECK_EQ(src, source);
		CHECK_EQ(e.len, len);
		CHECK_EQ(e.flags,
			 FI_RECV | (f->tagged ? FI_TAGGED : FI_MSG) | (has_data(l->call) ? FI_REMOTE_CQ_DATA : 0));
		if (has_data(l->call))
			CHECK_EQ(e.data, number_of(l->call, l->s));
		if (f->tagged)
			CHECK_EQ(e.tag, number_of(l->call, l->s));
		CHECK(filled(l->buf, len, number_of(l->call, l->s)));
		for (size_t k = len; k < len + 64; k++)
			CHECK_EQ(l->buf[k], BLANK);
		free(l->buf);
	}
	struct fi_cq_tagged_entry e;
	CHECK_EQ(fi_cq_read(n->rx_cq, &e, 1), -FI_EAGAIN);
}

static void every_form(int rank, void *arg)
{
	const struct forms *f = arg;
	struct letter *l = calloc((size_t)letters(false), sizeof *l);
	struct node n;
	node_open(&n, &f->opts);
	node_connect(&n);
	const int receiver = f->self ? 0 : 1;
	if (rank == receiver && f->expected)
		post_all(&n, f, l);
	team_barrier(&n);
	if (rank == 0)
		send_all(&n, f, n.peer[receiver]);
	if (!f->expected) {
		team_barrier(&n);
		if (rank == receiver)
			post_all(&n, f, l);
	}
	if (rank == receiver)
		take_received(&n, f, n.peer[0]);
	if (rank == 0)
		take_sent(&n, f);
	if (n.c_send && rank == 0)
		wait_cntr(&n, n.c_send, (uint64_t)letters(false));
	if (n.c_recv && rank == receiver)
		CHECK_EQ(fi_cntr_read(n.c_recv), letters(false));
	team_barrier(&n);
	free(l);
	node_close(&n);
}

static void run_forms(bool tagged, const char *const *env)
{
	for (int i = 0; i < 4; i++) {
		struct forms f = {tagged, i & 1, i & 2, {.two_cqs = true, .counters = FI_SEND | FI_RECV}};
		team_run_env(f.self ? 1 : 2, every_form, &f, env);
	}
}

static void test_msg_every_form_and_size_arrives(void **state)
{
	(void)state;
	run_forms(false, NULL);
	run_forms(true, NULL);
}

static void test_msg_every_form_without_cma_arrives(void **state)
{
	(void)state;
	run_forms(false, env_no_cma);
	run_forms(true, env_no_cma);
}

static void test_msg_every_form_through_tiny_ring_arrives(void **state)
{
	(void)state;
	run_forms(false, env_tiny);
	run_forms(true, env_tiny_no_cma);
}

static void test_msg_every_form_with_threads_and_auto_progress_arrives(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct forms f = {i & 1,
				  i & 2,
				  false,
				  {.two_cqs = true,
				   .threading = FI_THREAD_SAFE,
				   .progress = FI_PROGRESS_AUTO,
				   .counters = FI_SEND | FI_RECV}};
		team_run(2, every_form, &f);
	}
}

static void test_msg_every_form_delivery_complete_arrives(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct forms f = {i & 1,
				  i & 2,
				  false,
				  {.two_cqs = true, .tx_flags = FI_DELIVERY_COMPLETE, .counters = FI_SEND | FI_RECV}};
		team_run(2, every_form, &f);
		team_run_env(2, every_form, &f, env_no_cma);
	}
}

/* --- long messages ------------------------------------------------------------------------------------------------ */

static void long_messages(int rank, void *arg)
{
	const size_t most = *(size_t *)arg;
	const struct node_opts o = {.two_cqs = true};
	struct node n;
	unsigned char *buf = malloc(most);
	node_open(&n, &o);
	node_connect(&n);
	for (size_t len = 1; len <= most; len *= 4) {
		struct fi_cq_tagged_entry e;
		if (rank == 0) {
			fill(buf, len, len);
			CHECK_OK(RETRY(&n, fi_tsend(n.ep, buf, len, NULL, n.peer[1], len, buf)));
			wait_tx(&n, 1);
		} else {
			memset(buf, 0, len);
			CHECK_OK(fi_trecv(n.ep, buf, len, NULL, FI_ADDR_UNSPEC, len, 0, buf));
			wait_cq(&n, n.rx_cq, &e);
			CHECK_EQ(e.len, len);
			CHECK(filled(buf, len, len));
		}
		team_barrier(&n);
	}
	free(buf);
	node_close(&n);
}

static void test_msg_long_up_to_64_mib_arrives(void **state)
{
	size_t direct = TEST_SLOW ? 16 << 20 : 64 << 20, pieces = 16 << 20;
	(void)state;
	team_run(2, long_messages, &direct);
	team_run_env(2, long_messages, &pieces, env_no_cma);
}

/* --- completion levels -------------------------------------------------------------------------------------------- */

/* FI_DELIVERY_COMPLETE: no entry and no count before the message is in the receiver's buffer; others may complete
 * earlier. */
static void delivery(int rank, void *arg)
{
	const struct node_opts o = {.two_cqs = true, .counters = FI_SEND};
	static const size_t lens[] = {0, 8, 3000, 100000};
	unsigned char *buf = calloc(1, 100000);
	volatile uint32_t *received = team_shared();
	struct node n;
	(void)arg;
	node_open(&n, &o);
	node_connect(&n);
	for (size_t k = 0; k < ARRAY_SIZE(lens); k++) {
		if (rank == 0) {
			struct iovec iov = {buf, lens[k]};
			struct fi_msg m = {.msg_iov = &iov, .iov_count = 1, .addr = n.peer[1], .context = buf};
			struct fi_cq_tagged_entry e;
			fill(buf, lens[k], k);
			CHECK_OK(RETRY(&n, fi_sendmsg(n.ep, &m, FI_DELIVERY_COMPLETE | FI_COMPLETION)));
			team_barrier(&n); /* it has been sent, but the peer has posted no receive */
			for (int i = 0; i < 20; i++) {
				CHECK_EQ(fi_cq_read(n.tx_cq, &e, 1), -FI_EAGAIN);
				CHECK_EQ(fi_cntr_read(n.c_send), k);
				sleep_ms(1);
			}
			team_barrier(&n);
			wait_cq(&n, n.tx_cq, &e);
			CHECK_EQ(__atomic_load_n(received, __ATOMIC_SEQ_CST), k + 1);
			CHECK_EQ(fi_cntr_read(n.c_send), k + 1);
		} else {
			struct fi_cq_tagged_entry e;
			team_barrier(&n);
			team_barrier(&n); /* drains the ring meanwhile: taking a message out is not delivering it */
			__atomic_store_n(received, k + 1, __ATOMIC_SEQ_CST);
			CHECK_OK(fi_recv(n.ep, buf, 100000, NULL, FI_ADDR_UNSPEC, buf));
			wait_cq(&n, n.rx_cq, &e);
			CHECK_EQ(e.len, lens[k]);
			CHECK(filled(buf, lens[k], k));
		}
		team_barrier(&n);
	}
	free(buf);
	node_close(&n);
}

static void test_msg_delivery_complete_waits_for_the_receiver(void **state)
{
	(void)state;
	team_run(2, delivery, NULL);
	team_run_env(2, delivery, NULL, env_no_cma);
}

/* --- leaving with operations pending ------------------------------------------------------------------------------ */

/* Closing an endpoint with posted receives, unexpected messages and pulls in progress; the long sender gets an
 * error. */
static void close_pending(int rank, void *arg)
{
	const struct node_opts o = {.two_cqs = true, .rx_flags = FI_MULTI_RECV};
	const size_t len = 3 << 20;
	unsigned char *buf = malloc(len), *pool = malloc(len);
	struct node n;
	(void)arg;
	node_open(&n, &o);
	node_connect(&n);
	if (rank == 1) {
		uint64_t other;
		CHECK_OK(fi_recv(n.ep, pool, len, NULL, FI_ADDR_UNSPEC, pool));
		CHECK_OK(fi_trecv(n.ep, &other, 8, NULL, FI_ADDR_UNSPEC, 1234, 0, NULL));
		team_barrier(NULL);
		for (int i = 0; i < 20; i++)
			node_poll(&n); /* starts to receive; without CMA the long message takes many rounds */
		node_close(&n);
		team_barrier(NULL);
	} else {
		struct fi_cq_err_entry err = {0};
		struct fi_cq_tagged_entry e;
		uint64_t v = 5;
		for (int i = 0; i < 3; i++) /* plain: into the pool, in pieces; tagged: unexpected */
			CHECK_OK(RETRY(&n, i == 0 ? fi_send(n.ep, buf, len, NULL, n.peer[1], buf)
						  : fi_tsend(n.ep, buf, len, NULL, n.peer[1], 7, buf)));
		CHECK_OK(fi_tinject(n.ep, &v, 8, n.peer[1], 8));
		team_barrier(NULL);
		team_barrier(NULL); /* it has closed by now */
		int failed = 0;
		for (int i = 0; i < 3; i++) {
			const double end = now_s() + 5 * patience();
			ssize_t rc;
			while ((rc = fi_cq_read(n.tx_cq, &e, 1)) == -FI_EAGAIN)
				CHECK(now_s() < end);
			if (rc == -FI_EAVAIL) {
				CHECK_EQ(fi_cq_readerr(n.tx_cq, &err, 0), 1);
				CHECK_EQ(err.err, FI_ECONNRESET);
				CHECK(err.op_context == buf);
				failed++;
			}
		}
		CHECK(failed >= 2); /* the two that were not received */
		node_close(&n);
	}
	free(buf);
	free(pool);
}

static void test_msg_close_with_pending_ends_the_senders_too(void **state)
{
	(void)state;
	team_run(2, close_pending, NULL);
	team_run_env(2, close_pending, NULL, env_tiny_no_cma);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_msg_every_form_and_size_arrives),
		cmocka_unit_test(test_msg_every_form_without_cma_arrives),
		cmocka_unit_test(test_msg_every_form_through_tiny_ring_arrives),
		cmocka_unit_test(test_msg_every_form_with_threads_and_auto_progress_arrives),
		cmocka_unit_test(test_msg_every_form_delivery_complete_arrives),
		cmocka_unit_test(test_msg_long_up_to_64_mib_arrives),
		cmocka_unit_test(test_msg_delivery_complete_waits_for_the_receiver),
		cmocka_unit_test(test_msg_close_with_pending_ends_the_senders_too),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
