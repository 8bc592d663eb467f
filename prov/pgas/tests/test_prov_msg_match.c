/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which receive a message matches: a message that is too long, several in one buffer, from one sender only, from an
 * unknown sender. Built twice: table and FABRIC_DIRECT.
 */
#include "common.h"

enum { BLANK = 0xEE };

static const char *const env_no_cma[] = {"FI_PGAS_CMA=0", NULL};
static const char *const env_tiny_no_cma[] = {"FI_PGAS_RX_SLOTS=16", "FI_PGAS_EAGER_COUNT=2", "FI_PGAS_CMA=0", NULL};

/* --- truncation --------------------------------------------------------------------------------------------------- */

static void truncated(int rank, void *arg)
{
	const bool late = *(bool *)arg;
	const struct node_opts o = {.two_cqs = true, .counters = FI_RECV};
	static const size_t lens[] = {20, 2000, 100000};
	struct node n;
	unsigned char *buf = calloc(1, 200000);
	node_open(&n, &o);
	node_connect(&n);
	for (size_t k = 0; k < ARRAY_SIZE(lens); k++) {
		const size_t room = lens[k] / 2;
		if (rank == 1) {
			struct fi_cq_err_entry err;
			struct fi_cq_tagged_entry e;
			if (late)
				team_barrier(&n);
			memset(buf, BLANK, lens[k]);
			CHECK_OK(fi_recv(n.ep, buf, room, NULL, FI_ADDR_UNSPEC, buf));
			if (!late)
				team_barrier(&n);
			wait_cq_error(&n, n.rx_cq, &err);
			CHECK_EQ(err.err, FI_ETRUNC);
			CHECK(err.op_context == buf);
			CHECK_EQ(err.len, room);
			CHECK_EQ(err.olen, lens[k] - room);
			CHECK_EQ(err.flags & (FI_RECV | FI_MSG), FI_RECV | FI_MSG);
			CHECK_EQ(err.data, 42);
			CHECK(filled(buf, room, 7));
			CHECK_EQ(buf[room], BLANK); /* nothing is written past the buffer's end */
			CHECK(strstr(fi_cq_strerror(n.rx_cq, err.prov_errno, err.err_data, NULL, 0), "runca") != NULL);
			CHECK_EQ(fi_cntr_readerr(n.c_recv), k + 1);
			/* the next message is whole */
			CHECK_OK(fi_recv(n.ep, buf, 8, NULL, FI_ADDR_UNSPEC, buf));
			wait_cq(&n, n.rx_cq, &e);
			CHECK_EQ(e.len, 8);
			CHECK(filled(buf, 8, 8));
		} else {
			char small[8];
			if (!late)
				team_barrier(&n);
			fill(buf, lens[k], 7);
			fill(small, 8, 8);
			CHECK_OK(RETRY(&n, fi_senddata(n.ep, buf, lens[k], NULL, 42, n.peer[1], NULL)));
			CHECK_OK(RETRY(&n, fi_inject(n.ep, small, 8, n.peer[1])));
			if (late)
				team_barrier(&n);
			wait_tx(&n, 1);
		}
		team_barrier(&n);
	}
	free(buf);
	node_close(&n);
}

static void test_msg_too_long_for_its_buffer_is_truncated_with_error(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		bool late = i;
		team_run(2, truncated, &late);
		team_run_env(2, truncated, &late, env_no_cma);
	}
}

/* --- multi-receive ------------------------------------------------------------------------------------------------ */

enum { POOL = 16384, POOLS = 3 };

static void post_pool(struct node *n, unsigned char *pool)
{
	struct iovec iov = {pool, POOL};
	struct fi_msg m = {.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = pool};
	CHECK_OK(fi_recvmsg(n->ep, &m, FI_MULTI_RECV | FI_COMPLETION));
}

/* Takes `count` messages, which arrive in order whichever buffer holds them; reposts each buffer that is released. */
static void take_from_pools(struct node *n, unsigned char **pool, uint64_t count)
{
	size_t live[POOLS] = {0};
	int released = 0;
	for (uint64_t got = 0; got < count;) {
		struct fi_cq_tagged_entry e;
		wait_cq(n, n->rx_cq, &e);
		int which = -1;
		for (int i = 0; i < POOLS; i++)
			if (e.op_context == pool[i])
				which = i;
		CHECK(which >= 0);
		if (e.flags & FI_RECV) {
			CHECK(e.buf >= (void *)pool[which] && (char *)e.buf + e.len <= (char *)pool[which] + POOL);
			CHECK_EQ(e.len, 16 + got * 7 % 900);
			CHECK(filled(e.buf, e.len, got));
			live[which] += e.len;
			got++;
		}
		if (e.flags & FI_MULTI_RECV) {
			CHECK(live[which] <= POOL && live[which] > POOL - 2 * (1024 + 916));
			released++;
			live[which] = 0;
			memset(pool[which], 0, POOL);
			post_pool(n, pool[which]);
		}
	}
	CHECK(released >= 8);
}

static void multi_receive(int rank, void *arg)
{
	const bool late = *(bool *)arg;
	const struct node_opts o = {.two_cqs = true};
	const uint64_t count = 400;
	struct node n;
	size_t min = 1024;
	node_open(&n, &o);
	node_connect(&n);
	CHECK_OK(fi_setopt(&n.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &min, sizeof min));
	if (rank == 1) {
		unsigned char *pool[POOLS];
		if (late)
			team_barrier(&n);
		for (int i = 0; i < POOLS; i++) {
			pool[i] = malloc(POOL);
			post_pool(&n, pool[i]);
		}
		if (!late)
			team_barrier(&n);
		take_from_pools(&n, pool, count);
		for (int i = 0; i < POOLS; i++) {
			struct fi_cq_err_entry err;
			CHECK_OK(fi_cancel(&n.ep->fid, pool[i]));
			wait_cq_error(&n, n.rx_cq, &err);
			CHECK_EQ(err.err, FI_ECANCELED);
			free(pool[i]);
		}
	} else {
		unsigned char buf[1024];
		if (!late)
			team_barrier(&n);
		for (uint64_t i = 0; i < count; i++) {
			fill(buf, 16 + i * 7 % 900, i);
			CHECK_OK(RETRY(&n, fi_inject(n.ep, buf, 16 + i * 7 % 900, n.peer[1])));
		}
		if (late)
			team_barrier(&n);
	}
	team_barrier(&n);
	node_close(&n);
}

static void test_msg_multi_receive_fills_and_releases_buffers(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		bool late = i;
		team_run(2, multi_receive, &late);
		team_run_env(2, multi_receive, &late, env_tiny_no_cma);
	}
}

/* A multi-receive buffer also takes long messages; the entry that releases it is its last one. */
static void multi_receive_long(int rank, void *arg)
{
	const struct node_opts o = {.two_cqs = true, .rx_flags = FI_MULTI_RECV};
	struct node n;
	const size_t len = 40000;
	unsigned char *buf = malloc(4 * len);
	(void)arg;
	node_open(&n, &o);
	node_connect(&n);
	if (rank == 1) {
		struct fi_cq_tagged_entry e;
		uint64_t tag_buf = 0;
		/* by the endpoint's default flags */
		CHECK_OK(fi_recv(n.ep, buf, 2 * len + 32, NULL, FI_ADDR_UNSPEC, buf));
		/* those apply to fi_recv: a tagged receive has no such form and must still work */
		CHECK_OK(fi_trecv(n.ep, &tag_buf, 8, NULL, FI_ADDR_UNSPEC, 5, 0, &tag_buf));
		team_barrier(&n);
		for (int i = 0; i < 3; i++) {
			wait_cq(&n, n.rx_cq, &e);
			if (e.op_context == &tag_buf) {
				CHECK_EQ(tag_buf, 77);
				continue;
			}
			CHECK_EQ(e.len, len);
			CHECK(filled(e.buf, len, e.buf == buf ? 1 : 2));
			CHECK_EQ(!!(e.flags & FI_MULTI_RECV), e.buf != buf);
		}
	} else {
		const uint64_t v = 77;
		team_barrier(&n);
		for (uint64_t i = 1; i <= 2; i++) {
			fill(buf + (i - 1) * len, len, i);
			CHECK_OK(RETRY(&n, fi_send(n.ep, buf + (i - 1) * len, len, NULL, n.peer[1], NULL)));
		}
		CHECK_OK(RETRY(&n, fi_tinject(n.ep, &v, 8, n.peer[1], 5)));
		wait_tx(&n, 2);
	}
	team_barrier(&n);
	free(buf);
	node_close(&n);
}

static void test_msg_multi_receive_takes_long_messages(void **state)
{
	(void)state;
	team_run(2, multi_receive_long, NULL);
	team_run_env(2, multi_receive_long, NULL, env_no_cma);
}

/* --- sources ------------------------------------------------------------------------------------------------------ */

static void directed(int rank, void *arg)
{
	const bool late = *(bool *)arg;
	const struct node_opts o = {.two_cqs = true};
	struct node n;
	node_open(&n, &o);
	node_connect(&n);
	if (rank == 0) {
		uint64_t buf[4] = {0};
		if (late)
			team_barrier(&n);
		/* received in another order than they arrive */
		for (int source = 3; source >= 1; source--)
			CHECK_OK(fi_recv(n.ep, &buf[source], 8, NULL, n.peer[source], &buf[source]));
		if (!late)
			team_barrier(&n);
		for (int i = 0; i < 3; i++) {
			struct fi_cq_tagged_entry e = {0};
			fi_addr_t src;
			const double end = hang_end();
			while (fi_cq_readfrom(n.rx_cq, &e, 1, &src) == -FI_EAGAIN)
				CHECK(now_s() < end);
			const uint64_t sender = *(uint64_t *)e.op_context - 1000;
			CHECK(e.op_context == &buf[sender]);
			CHECK_EQ(src, n.peer[sender]);
		}
	} else {
		const uint64_t v = 1000 + (uint64_t)rank;
		if (!late)
			team_barrier(&n);
		CHECK_OK(RETRY(&n, fi_inject(n.ep, &v, 8, n.peer[0])));
		if (late)
			team_barrier(&n);
	}
	team_barrier(&n);
	node_close(&n);
}

static void test_msg_directed_receive_takes_its_sender_only(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		bool late = i;
		team_run(4, directed, &late);
	}
}

/* A sender that is not in the receiver's vector has no address; once it is inserted, it has one. */
static void unknown_source(int rank, void *arg)
{
	const struct node_opts o = {.two_cqs = true};
	struct node n;
	char(*names)[ADDR_BYTES] = team_shared();
	(void)arg;
	node_open(&n, &o);
	memcpy(names[rank], n.name, ADDR_BYTES);
	team_barrier(&n);
	if (rank == 0) {
		struct fi_cq_tagged_entry e;
		fi_addr_t src, dest;
		uint64_t v;
		for (int i = 0; i < 2; i++) {
			CHECK_OK(fi_recv(n.ep, &v, 8, NULL, FI_ADDR_UNSPEC, NULL));
			const double end = hang_end();
			while (fi_cq_readfrom(n.rx_cq, &e, 1, &src) == -FI_EAGAIN)
				CHECK(now_s() < end);
			CHECK_EQ(src, i ? 0 : FI_ADDR_NOTAVAIL);
			CHECK_EQ(v, i);
			if (i == 0)
				CHECK_EQ(fi_av_insert(n.av, names[1], 1, &dest, 0, NULL), 1);
			team_barrier(&n);
		}
	} else {
		fi_addr_t dest;
		CHECK_EQ(fi_av_insert(n.av, names[0], 1, &dest, 0, NULL), 1);
		for (uint64_t i = 0; i < 2; i++) {
			CHECK_OK(RETRY(&n, fi_inject(n.ep, &i, 8, dest)));
			team_barrier(&n);
		}
	}
	team_barrier(&n);
	node_close(&n);
}

/* Rank 1 sends and closes; its messages wait while rank 2 starts and may get the number that was rank 1's. */
static void outlived(int rank, void *arg)
{
	const struct node_opts o = {.two_cqs = true};
	struct node n;
	uint64_t word = (uint64_t)rank;
	(void)arg;
	node_open(&n, &o);
	node_connect(&n);
	if (rank == 1)
		CHECK_OK(RETRY(&n, fi_inject(n.ep, &word, 8, n.peer[0])));
	team_barrier(&n);
	if (rank == 1) {
		node_close(&n);
		team_barrier(NULL);
		team_barrier(NULL);
		return;
	}
	for (int i = 0; i < 50; i++) { /* rank 0 learns that it closed */
		node_poll(&n);
		sleep_ms(1);
	}
	team_barrier(&n);
	if (rank == 2)
		CHECK_OK(RETRY(&n, fi_inject(n.ep, &word, 8, n.peer[0])));
	team_barrier(&n);
	for (int source = 1; rank == 0 && source <= 2; source++) {
		struct fi_cq_tagged_entry e;
		fi_addr_t src = FI_ADDR_NOTAVAIL;
		const double end = hang_end();
		CHECK_OK(fi_recv(n.ep, &word, 8, NULL, n.peer[source], NULL));
		while (fi_cq_readfrom(n.rx_cq, &e, 1, &src) == -FI_EAGAIN)
			CHECK(now_s() < end);
		CHECK_EQ(word, (uint64_t)source);
		CHECK_EQ(src, n.peer[source]);
	}
	node_close(&n);
}

static void test_msg_keeps_its_sender_when_that_is_gone(void **state)
{
	(void)state;
	team_run(3, outlived, NULL);
}

static void test_msg_source_is_unknown_until_inserted(void **state)
{
	(void)state;
	team_run(2, unknown_source, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_msg_too_long_for_its_buffer_is_truncated_with_error),
		cmocka_unit_test(test_msg_multi_receive_fills_and_releases_buffers),
		cmocka_unit_test(test_msg_multi_receive_takes_long_messages),
		cmocka_unit_test(test_msg_directed_receive_takes_its_sender_only),
		cmocka_unit_test(test_msg_source_is_unknown_until_inserted),
		cmocka_unit_test(test_msg_keeps_its_sender_when_that_is_gone),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
