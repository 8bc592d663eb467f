/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams of messages: each sender's messages arrive once and in order, through full rings too, from seven senders to
 * one and from all to all. Built twice: table and FABRIC_DIRECT.
 */
#include "common.h"

#include <unistd.h>

static const char *const env_no_cma[] = {"FI_PGAS_CMA=0", NULL};
static const char *const env_tiny[] = {"FI_PGAS_RX_SLOTS=16", "FI_PGAS_EAGER_COUNT=2", NULL};
static const char *const env_tiny_no_cma[] = {"FI_PGAS_RX_SLOTS=16", "FI_PGAS_EAGER_COUNT=2", "FI_PGAS_CMA=0", NULL};

/* --- order and numbers -------------------------------------------------------------------------------------------- */

static size_t mixed_size(uint64_t i)
{
	static const size_t mix[] = {8, 16, 88, 100, 8, 4000, 8, 20000, 64};
	return mix[i % ARRAY_SIZE(mix)];
}

/* Every rank but 0 sends `count` numbered messages of mixed sizes to rank 0, which must see each sender's in order. */
struct stream {
	int count;
	bool inject, late; /* late: rank 0 makes no progress until all met -FI_EAGAIN */
};

static void stream_send(struct node *n, const struct stream *st, int rank)
{
	unsigned char *buf[64];
	int in_flight = 0;
	bool full = false;
	for (int i = 0; i < 64; i++)
		buf[i] = malloc(20000);
	volatile uint32_t *met = team_shared();
	for (uint64_t i = 0; i < (uint64_t)st->count; i++) {
		const size_t len = st->inject ? 16 : mixed_size(i);
		uint64_t *p = (uint64_t *)buf[i % 64];
		if (!st->inject && in_flight == 64) {
			wait_tx(n, 64); /* the oldest buffers are free again */
			in_flight = 0;
		}
		fill(p, len, i);
		p[0] = (uint64_t)rank << 32 | i;
		for (;;) {
			const ssize_t rc = st->inject ? fi_inject(n->ep, p, 16, n->peer[0])
						      : fi_send(n->ep, p, len, NULL, n->peer[0], NULL);
			if (rc == 0)
				break;
			CHECK_EQ(rc, -FI_EAGAIN);
			if (!full)
				__atomic_fetch_add(met, 1, __ATOMIC_SEQ_CST);
			full = true;
			node_poll(n);
		}
		in_flight++;
	}
	if (!full)
		__atomic_fetch_add(met, 1, __ATOMIC_SEQ_CST);
	if (!st->inject)
		wait_tx(n, in_flight);
	for (int i = 0; i < 64; i++)
		free(buf[i]);
}

/* Completions may arrive in a different order than messages match (a long one takes a while), so the check is which of
 * the posted buffers each message went to: a sender's next message goes to a buffer that was posted later. */
struct posted {
	uint64_t number;
	unsigned char bytes[20000];
};

static void stream_take(struct node *n, const struct stream *st)
{
	const uint64_t senders = (uint64_t)team_size() - 1, all = senders * (uint64_t)st->count;
	uint64_t *addr = calloc((senders + 1) * (uint64_t)st->count, sizeof *addr), posts = 0;
	struct posted *buf[32];
	for (int i = 0; i < 32; i++) {
		buf[i] = malloc(sizeof *buf[i]);
		buf[i]->number = ++posts;
		CHECK_OK(fi_recv(n->ep, buf[i]->bytes, sizeof buf[i]->bytes, NULL, FI_ADDR_UNSPEC, buf[i]));
	}
	for (uint64_t got = 0; got < all; got++) {
		struct fi_cq_tagged_entry e;
		wait_cq(n, n->rx_cq, &e);
		struct posted *p = e.op_context;
		uint64_t head;
		memcpy(&head, p->bytes, sizeof head);
		const uint64_t sender = head >> 32, i = head & 0xffffffff;
		CHECK(sender >= 1 && sender <= senders && i < (uint64_t)st->count);
		CHECK_EQ(addr[sender * (uint64_t)st->count + i], 0); /* not twice */
		addr[sender * (uint64_t)st->count + i] = p->number;
		CHECK_EQ(e.len, st->inject ? 16 : mixed_size(i));
		unsigned char want[20000];
		fill(want, e.len, i);
		CHECK_MEM(p->bytes + 8, want + 8, e.len - 8);
		p->number = ++posts;
		CHECK_OK(fi_recv(n->ep, p->bytes, sizeof p->bytes, NULL, FI_ADDR_UNSPEC, p));
	}
	for (uint64_t sender = 1; sender <= senders; sender++)
		for (uint64_t i = 1; i < (uint64_t)st->count; i++)
			CHECK(addr[sender * (uint64_t)st->count + i] > addr[sender * (uint64_t)st->count + i - 1]);
	free(addr);
	for (int i = 0; i < 32; i++) {
		struct fi_cq_err_entry err;
		CHECK_OK(fi_cancel(&n->ep->fid, buf[i]));
		wait_cq_error(n, n->rx_cq, &err);
		CHECK_EQ(err.err, FI_ECANCELED);
		free(buf[i]);
	}
}

static void many_to_one(int rank, void *arg)
{
	const struct stream *st = arg;
	const struct node_opts o = {.two_cqs = true};
	struct node n;
	node_open(&n, &o);
	node_connect(&n);
	if (rank) {
		stream_send(&n, st, rank);
	} else {
		if (st->late) /* not a single call into libfabric until all senders have a full ring */
			while (__atomic_load_n((uint32_t *)team_shared(), __ATOMIC_SEQ_CST) < (uint32_t)team_size() - 1)
				sleep_ms(1);
		stream_take(&n, st);
	}
	team_barrier(&n);
	node_close(&n);
}

static void test_msg_stream_of_mixed_sizes_keeps_order(void **state)
{
	struct stream st = {TEST_SLOW ? 1000 : 4000, false, false};
	(void)state;
	team_run(2, many_to_one, &st);
	st.count /= 4;
	team_run_env(2, many_to_one, &st, env_no_cma);
}

static void test_msg_seven_senders_tiny_ring_lose_nothing(void **state)
{
	struct stream mixed = {TEST_SLOW ? 100 : 400, false, false}, inject = {TEST_SLOW ? 500 : 3000, true, false};
	(void)state;
	team_run_env(8, many_to_one, &mixed, env_tiny);
	team_run_env(8, many_to_one, &inject, env_tiny);
	mixed.count /= 4;
	team_run_env(8, many_to_one, &mixed, env_tiny_no_cma);
}

static void test_msg_flood_of_idle_receiver_is_eagain_then_arrives(void **state)
{
	struct stream inject = {3000, true, true}, mixed = {400, false, true};
	(void)state;
	team_run(4, many_to_one, &inject);
	team_run_env(4, many_to_one, &inject, env_tiny);
	team_run_env(4, many_to_one, &mixed, env_tiny);
}

/* All ranks flood all others and check only the return value of the send. */
static void all_to_all(int rank, void *arg)
{
	const int size = team_size(), count = TEST_SLOW ? 300 : 1000;
	const struct node_opts o = {.two_cqs = true, .cq_size = 8};
	struct node n;
	int sent[TEAM_MAX] = {0}, left = size * count;
	(void)arg;
	node_open(&n, &o);
	node_connect(&n);
	while (left > 0) {
		bool moved = false;
		for (int dest = 0; dest < size; dest++) {
			const uint64_t v[2] = {(uint64_t)rank, (uint64_t)sent[dest]};
			if (sent[dest] == count)
				continue;
			const ssize_t rc = fi_inject(n.ep, v, sizeof v, n.peer[dest]);
			if (rc == 0) {
				sent[dest]++;
				left--;
				moved = true;
			} else {
				CHECK_EQ(rc, -FI_EAGAIN);
			}
		}
		if (!moved)
			usleep(10);
	}
	uint64_t next[TEAM_MAX] = {0}, buf[2];
	for (int got = 0; got < size * count; got++) {
		struct fi_cq_tagged_entry e;
		CHECK_OK(fi_recv(n.ep, buf, sizeof buf, NULL, FI_ADDR_UNSPEC, NULL));
		wait_cq(&n, n.rx_cq, &e);
		CHECK_EQ(buf[1], next[buf[0]]);
		next[buf[0]]++;
	}
	struct fi_cq_tagged_entry e;
	CHECK_EQ(fi_cq_read(n.rx_cq, &e, 1), -FI_EAGAIN);
	team_barrier(&n);
	node_close(&n);
}

static void test_msg_all_to_all_flood_arrives_once_and_in_order(void **state)
{
	(void)state;
	team_run(4, all_to_all, NULL);
	team_run_env(4, all_to_all, NULL, env_tiny);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_msg_stream_of_mixed_sizes_keeps_order),
		cmocka_unit_test(test_msg_seven_senders_tiny_ring_lose_nothing),
		cmocka_unit_test(test_msg_flood_of_idle_receiver_is_eagain_then_arrives),
		cmocka_unit_test(test_msg_all_to_all_flood_arrives_once_and_in_order),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
