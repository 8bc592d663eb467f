/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Features of tagged messages only: matching with ignored bits, in the order of posting and of sending; peeking at,
 * claiming and discarding a message before it is received. Built twice: table and FABRIC_DIRECT.
 */
#include "common.h"

static const char *const env_no_cma[] = {"FI_PGAS_CMA=0", NULL};
static const size_t lens[] = {8, 2000, 100000};

/* --- matching ----------------------------------------------------------------------------------------------------- */

static void matching(int rank, void *arg)
{
	const bool late = *(bool *)arg;
	const struct node_opts o = {.two_cqs = true};
	struct node n;
	node_open(&n, &o);
	node_connect(&n);
	static const uint64_t tags[] = {0x100, 0x201, 0x102, 0x203, 0x104, UINT64_MAX};
	if (rank == 0) {
		if (!late)
			team_barrier(&n);
		for (size_t i = 0; i < ARRAY_SIZE(tags); i++)
			CHECK_OK(RETRY(&n, fi_tinject(n.ep, &tags[i], 8, n.peer[1], tags[i])));
		if (late)
			team_barrier(&n);
		team_barrier(&n);
		node_close(&n);
		return;
	}
	/* posted: exact 0x203; any 0x1xx; any 0x1xx; any at all; exact 0x104; any at all */
	static const struct {
		uint64_t tag, ignore, gets;
	} want[] = {
		{0x203, 0, 0x203},      {0x100, 0xff, 0x100}, {0x1ff, 0xff, 0x102},
		{0, UINT64_MAX, 0x201}, {0x104, 0, 0x104},    {7, UINT64_MAX, UINT64_MAX},
	};
	uint64_t buf[ARRAY_SIZE(want)] = {0};
	if (late)
		team_barrier(&n);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		CHECK_OK(fi_trecv(n.ep, &buf[i], 8, NULL, FI_ADDR_UNSPEC, want[i].tag, want[i].ignore, &buf[i]));
	if (!late)
		team_barrier(&n);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		struct fi_cq_tagged_entry e;
		wait_cq(&n, n.rx_cq, &e);
		CHECK_EQ(*(uint64_t *)e.op_context, e.tag); /* the entry has the message's tag, not the posted one */
	}
	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		CHECK_EQ(buf[i], want[i].gets);
	team_barrier(&n);
	node_close(&n);
}

static void test_tagged_matches_oldest_buffer_and_oldest_message(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		bool late = i;
		team_run(2, matching, &late);
	}
}

/* Messages of one tag keep their order although others are received in between; plain messages are matched
 * separately. */
static void order_of_one_tag(int rank, void *arg)
{
	const struct node_opts o = {.two_cqs = true};
	enum { EACH = 300 };
	struct node n;
	(void)arg;
	node_open(&n, &o);
	node_connect(&n);
	if (rank == 0) {
		for (uint64_t i = 0; i < EACH; i++) {
			for (uint64_t tag = 0; tag < 3; tag++) {
				const uint64_t v = tag * 1000 + i;
				CHECK_OK(RETRY(&n, fi_tinject(n.ep, &v, 8, n.peer[1], tag)));
			}
			CHECK_OK(RETRY(&n, fi_inject(n.ep, &i, 8, n.peer[1])));
		}
	} else {
		for (uint64_t tag = 3; tag-- > 0;) {
			for (uint64_t i = 0; i < EACH; i++) {
				struct fi_cq_tagged_entry e;
				uint64_t v = 0;
				CHECK_OK(fi_trecv(n.ep, &v, 8, NULL, n.peer[0], tag, 0, NULL));
				wait_cq(&n, n.rx_cq, &e);
				CHECK_EQ(v, tag * 1000 + i);
				CHECK_EQ(e.tag, tag);
			}
		}
		for (uint64_t i = 0; i < EACH; i++) {
			struct fi_cq_tagged_entry e;
			uint64_t v = 0;
			CHECK_OK(fi_recv(n.ep, &v, 8, NULL, FI_ADDR_UNSPEC, NULL));
			wait_cq(&n, n.rx_cq, &e);
			CHECK_EQ(v, i);
			CHECK_EQ(e.flags & (FI_MSG | FI_TAGGED), FI_MSG);
		}
	}
	team_barrier(&n);
	node_close(&n);
}

static void test_tagged_messages_of_one_tag_keep_order(void **state)
{
	(void)state;
	team_run(2, order_of_one_tag, NULL);
}

/* --- peek, claim, discard ----------------------------------------------------------------------------------------- */

static ssize_t peek(struct node *n, uint64_t tag, uint64_t ignore, fi_addr_t source, void *context, uint64_t flags)
{
	struct fi_msg_tagged m = {.addr = source, .tag = tag, .ignore = ignore, .context = context};
	return fi_trecvmsg(n->ep, &m, flags | FI_COMPLETION);
}

static void peek_until_there(struct node *n, uint64_t tag, void *context, uint64_t flags, struct fi_cq_tagged_entry *e)
{
	const double end = hang_end();
	for (;;) {
		CHECK_OK(peek(n, tag, 0, FI_ADDR_UNSPEC, context, flags));
		const ssize_t rc = fi_cq_read(n->rx_cq, e, 1);
		if (rc == 1)
			return;
		struct fi_cq_err_entry err = {0};
		CHECK_EQ(rc, -FI_EAVAIL);
		CHECK_EQ(fi_cq_readerr(n->rx_cq, &err, 0), 1);
		CHECK_EQ(err.err, FI_ENOMSG);
		CHECK(err.op_context == context);
		CHECK_EQ(err.tag, tag);
		CHECK(now_s() < end);
	}
}

static void receive(struct node *n, uint64_t tag, void *buf, size_t room, void *context, uint64_t flags)
{
	struct iovec iov = {buf, room};
	struct fi_msg_tagged m = {
		.msg_iov = &iov, .iov_count = buf ? 1 : 0, .addr = FI_ADDR_UNSPEC, .tag = tag, .context = context};
	CHECK_OK(fi_trecvmsg(n->ep, &m, flags | FI_COMPLETION));
}

/* tag 1 twice, tag 2, tag 3, tag 4, tag 9 */
static void send_for_peeks(struct node *n, size_t len)
{
	static const uint64_t tags[] = {1, 1, 2, 3, 4, 9};
	unsigned char *out[ARRAY_SIZE(tags)];
	for (size_t i = 0; i < ARRAY_SIZE(tags); i++) {
		out[i] = malloc(len);
		fill(out[i], len, i + 10);
		CHECK_OK(RETRY(n, fi_tsenddata(n->ep, out[i], len, NULL, i, n->peer[1], tags[i], out[i])));
	}
	wait_tx(n, ARRAY_SIZE(tags)); /* discarded ones complete too */
	for (size_t i = 0; i < ARRAY_SIZE(tags); i++)
		free(out[i]);
}

/* A peek that finds nothing leaves an error entry. */
static void peek_finds_nothing(struct node *n, uint64_t tag, fi_addr_t source, struct fi_context *ctx)
{
	struct fi_cq_err_entry err;
	CHECK_OK(peek(n, tag, 0, source, ctx, FI_PEEK));
	wait_cq_error(n, n->rx_cq, &err);
	CHECK_EQ(err.err, FI_ENOMSG);
	CHECK(err.op_context == ctx);
}

/* A peek removes nothing. */
static void look_only(struct node *n, size_t len)
{
	struct fi_context ctx[2];
	struct fi_cq_tagged_entry e = {0};
	peek_until_there(n, 9, &ctx[0], FI_PEEK, &e); /* the last one: all have arrived */
	for (int again = 0; again < 2; again++) {
		peek_until_there(n, 1, &ctx[0], FI_PEEK, &e);
		CHECK_EQ(e.len, len);
		CHECK_EQ(e.tag, 1);
		CHECK_EQ(e.data, 0);
		CHECK(e.op_context == &ctx[0]);
		CHECK_EQ(e.flags & (FI_RECV | FI_TAGGED | FI_REMOTE_CQ_DATA), FI_RECV | FI_TAGGED | FI_REMOTE_CQ_DATA);
	}
	peek_finds_nothing(n, 77, FI_ADDR_UNSPEC, &ctx[1]);
}

/* Claims the first message of tag 1: the second becomes the next one, and the claimed one waits for its receive. */
static void claim(struct node *n, size_t len, unsigned char *buf)
{
	struct fi_context ctx[2];
	struct fi_cq_tagged_entry e = {0};
	peek_until_there(n, 1, &ctx[0], FI_PEEK | FI_CLAIM, &e);
	CHECK_EQ(e.data, 0);
	receive(n, 1, buf, 100000, &ctx[1], 0);
	wait_cq(n, n->rx_cq, &e);
	CHECK_EQ(e.data, 1);
	CHECK(filled(buf, len, 11));
	receive(n, 1, buf, 100000, &ctx[0], FI_CLAIM);
	wait_cq(n, n->rx_cq, &e);
	CHECK(e.op_context == &ctx[0]);
	CHECK_EQ(e.len, len);
	CHECK_EQ(e.data, 0);
	CHECK(filled(buf, len, 10));
}

/* Peek and discard; claim and discard. */
static void discard(struct node *n)
{
	struct fi_context ctx[2];
	struct fi_cq_tagged_entry e = {0};
	peek_until_there(n, 2, &ctx[0], FI_PEEK | FI_DISCARD, &e);
	CHECK_EQ(e.data, 2);
	peek_finds_nothing(n, 2, FI_ADDR_UNSPEC, &ctx[0]);
	peek_until_there(n, 3, &ctx[1], FI_PEEK | FI_CLAIM, &e);
	receive(n, 3, NULL, 0, &ctx[1], FI_CLAIM | FI_DISCARD);
	wait_cq(n, n->rx_cq, &e);
	CHECK(e.op_context == &ctx[1]);
}

/* With a source; then the remaining messages are received, and there is nothing to claim. */
static void peek_with_source(struct node *n, unsigned char *buf)
{
	struct fi_context ctx[2];
	struct fi_cq_tagged_entry e = {0};
	peek_finds_nothing(n, 4, n->self, &ctx[0]); /* not from ourselves */
	CHECK_OK(peek(n, 0, UINT64_MAX, n->peer[0], &ctx[0], FI_PEEK));
	wait_cq(n, n->rx_cq, &e);
	CHECK_EQ(e.tag, 4);
	for (uint64_t tag = 4; tag <= 9; tag += 5) {
		receive(n, tag, buf, 100000, &ctx[0], 0);
		wait_cq(n, n->rx_cq, &e);
		CHECK_EQ(e.tag, tag);
	}
	struct iovec iov = {buf, 8};
	struct fi_msg_tagged m = {
		.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .tag = 1, .context = &ctx[1]};
	CHECK_EQ(fi_trecvmsg(n->ep, &m, FI_CLAIM), -FI_EINVAL);
}

static void peeking(int rank, void *arg)
{
	const struct node_opts o = {.two_cqs = true};
	struct node n;
	unsigned char *buf = malloc(100000);
	(void)arg;
	node_open(&n, &o);
	node_connect(&n);
	for (size_t k = 0; k < ARRAY_SIZE(lens); k++) {
		if (rank == 0) {
			send_for_peeks(&n, lens[k]);
		} else {
			look_only(&n, lens[k]);
			claim(&n, lens[k], buf);
			discard(&n);
			peek_with_source(&n, buf);
		}
		team_barrier(&n);
	}
	free(buf);
	node_close(&n);
}

static void test_tagged_peek_claim_discard_act_on_the_message_meant(void **state)
{
	(void)state;
	team_run(2, peeking, NULL);
	team_run_env(2, peeking, NULL, env_no_cma);
}

/* A claimed message is truncated like any other. */
static void claim_truncated(int rank, void *arg)
{
	const struct node_opts o = {.two_cqs = true};
	struct node n;
	struct fi_context ctx;
	unsigned char *buf = malloc(100000);
	(void)arg;
	node_open(&n, &o);
	node_connect(&n);
	for (size_t k = 0; k < ARRAY_SIZE(lens); k++) {
		if (rank == 0) {
			fill(buf, lens[k], 1);
			CHECK_OK(RETRY(&n, fi_tsend(n.ep, buf, lens[k], NULL, n.peer[1], 6, buf)));
			wait_tx(&n, 1);
		} else {
			struct fi_cq_tagged_entry e;
			struct fi_cq_err_entry err;
			peek_until_there(&n, 6, &ctx, FI_PEEK | FI_CLAIM, &e);
			memset(buf, 0xEE, 100000);
			receive(&n, 6, buf, lens[k] / 2, &ctx, FI_CLAIM);
			wait_cq_error(&n, n.rx_cq, &err);
			CHECK_EQ(err.err, FI_ETRUNC);
			CHECK_EQ(err.olen, lens[k] - lens[k] / 2);
			CHECK(filled(buf, lens[k] / 2, 1));
			CHECK_EQ(buf[lens[k] / 2], 0xEE);
		}
		team_barrier(&n);
	}
	free(buf);
	node_close(&n);
}

static void test_tagged_claim_into_small_buffer_is_truncated(void **state)
{
	(void)state;
	team_run(2, claim_truncated, NULL);
}

/* --- cancel ------------------------------------------------------------------------------------------------------- */

static void cancelled(int rank, void *arg)
{
	const struct node_opts o = {.two_cqs = true};
	struct node n;
	struct fi_cq_err_entry err;
	struct fi_cq_tagged_entry e;
	uint64_t a = 0, b = 0, v = 5;
	(void)rank;
	(void)arg;
	node_open(&n, &o);
	node_connect(&n);
	CHECK_OK(fi_trecv(n.ep, &a, 8, NULL, FI_ADDR_UNSPEC, 1, 0, &a));
	CHECK_OK(fi_trecv(n.ep, &b, 8, NULL, FI_ADDR_UNSPEC, 1, 0, &b));
	CHECK_OK(fi_cancel(&n.ep->fid, &a));
	wait_cq_error(&n, n.rx_cq, &err);
	CHECK_EQ(err.err, FI_ECANCELED);
	CHECK(err.op_context == &a);
	CHECK_EQ(err.flags & (FI_RECV | FI_TAGGED), FI_RECV | FI_TAGGED);
	CHECK_OK(fi_cancel(&n.ep->fid, &a)); /* there is none, and nothing is reported */
	CHECK_EQ(fi_cq_read(n.rx_cq, &e, 1), -FI_EAGAIN);
	CHECK_OK(RETRY(&n, fi_tinject(n.ep, &v, 8, n.self, 1)));
	wait_cq(&n, n.rx_cq, &e);
	CHECK(e.op_context == &b && b == 5 && a == 0);
	CHECK_OK(fi_cancel(&n.ep->fid, &b)); /* it has completed */
	CHECK_EQ(fi_cq_read(n.rx_cq, &e, 1), -FI_EAGAIN);
	node_close(&n);
}

static void test_tagged_cancel_ends_the_posted_receive(void **state)
{
	(void)state;
	team_run(1, cancelled, NULL);
}

/* A thousand posted receives are found and cancelled by context, in any order. */
static void cancel_many(int rank, void *arg)
{
	enum { MANY = 1000 };
	const struct node_opts o = {.two_cqs = true, .cq_size = 2 * MANY};
	struct node n;
	static uint64_t buf[MANY];
	(void)rank;
	(void)arg;
	node_open(&n, &o);
	node_connect(&n);
	for (uint64_t i = 0; i < MANY; i++)
		CHECK_OK(fi_trecv(n.ep, &buf[i], 8, NULL, FI_ADDR_UNSPEC, i, 0, &buf[i]));
	for (uint64_t i = 0; i < MANY; i += 2)
		CHECK_OK(fi_cancel(&n.ep->fid, &buf[(i * 7) % MANY]));
	for (int i = 0; i < MANY / 2; i++) {
		struct fi_cq_err_entry err;
		wait_cq_error(&n, n.rx_cq, &err);
		CHECK_EQ(err.err, FI_ECANCELED);
		CHECK_EQ(((uint64_t *)err.op_context - buf) % 2, 0);
	}
	for (uint64_t i = MANY - 1; i < MANY; i -= 2) {
		struct fi_cq_tagged_entry e;
		CHECK_OK(RETRY(&n, fi_tinject(n.ep, &i, 8, n.self, i)));
		wait_cq(&n, n.rx_cq, &e);
		CHECK(e.op_context == &buf[i]);
		CHECK_EQ(buf[i], i);
	}
	node_close(&n);
}

static void test_tagged_cancel_among_many_finds_its_context(void **state)
{
	(void)state;
	team_run(1, cancel_many, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tagged_matches_oldest_buffer_and_oldest_message),
		cmocka_unit_test(test_tagged_messages_of_one_tag_keep_order),
		cmocka_unit_test(test_tagged_peek_claim_discard_act_on_the_message_meant),
		cmocka_unit_test(test_tagged_claim_into_small_buffer_is_truncated),
		cmocka_unit_test(test_tagged_cancel_ends_the_posted_receive),
		cmocka_unit_test(test_tagged_cancel_among_many_finds_its_context),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
