/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Eight processes, possibly more than this machine has cores, all talking to all at the same time: puts, gets, atomics
 * and messages by every path (slot, eager buffer, long), with the smallest rings so that all of them find full ones. At
 * the end every sum is exact, and every message arrived once and in its sender's order. Built twice: table and
 * FABRIC_DIRECT.
 */
#include "common.h"

#include <sched.h>

enum { RANKS = 8, BUFFERS = 16, MOST = 40000 };
static const char *const env_small[] = {"FI_PGAS_RX_SLOTS=16", "FI_PGAS_EAGER_COUNT=2", "FI_PGAS_EAGER_SIZE=4096",
					NULL};
static const char *const env_small_no_cma[] = {"FI_PGAS_RX_SLOTS=16", "FI_PGAS_EAGER_COUNT=2",
					       "FI_PGAS_EAGER_SIZE=4096", "FI_PGAS_CMA=0", NULL};

struct shape {
	enum mem_kind kind;
	uint64_t key;
	int rounds;
};

/* Each rank's region: one word that all add to, a word per rank that only this rank adds to, and a lane per rank for
 * puts. */
#define LANE 512
#define OFF_ALL 0
#define OFF_OWN(rank_arg) (8 + 8 * (size_t)(rank_arg))
#define OFF_LANE(rank_arg) (4096 + LANE * (size_t)(rank_arg))
#define REGION OFF_LANE(RANKS)

static uint32_t next_random(uint32_t *s)
{
	*s = *s * 1664525u + 1013904223u;
	return *s >> 8;
}

static size_t message_len(int source, int dest, uint64_t i)
{
	static const size_t lens[] = {8, 64, 96, 700, 4000, 9000, MOST};
	return lens[(i * 5 + (uint64_t)source * 3 + (uint64_t)dest) % ARRAY_SIZE(lens)];
}

struct talk {
	struct node n;
	struct mem m;
	struct remote_mem r[RANKS];
	unsigned char *landing[BUFFERS]; /* posted receives */
	unsigned char *out[RANKS];       /* one message to each peer at a time */
	bool busy[RANKS];
	uint64_t sent[RANKS], received[RANKS], expected;
	uint64_t got;
};

static uint64_t seed_of(int source, int dest, uint64_t i)
{
	return (uint64_t)source << 40 | (uint64_t)dest << 32 | i;
}

static void post(struct talk *t, int b)
{
	struct iovec iov = {t->landing[b], MOST};
	struct fi_msg m = {.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = t->landing[b]};
	CHECK_OK(fi_recvmsg(t->n.ep, &m, FI_COMPLETION));
}

/* A message starts with its sender and number; the rest must match the sender's pattern. */
static void take(struct talk *t, int rank, const struct fi_cq_tagged_entry *e)
{
	unsigned char *buf = e->op_context;
	uint32_t source;
	memcpy(&source, buf, sizeof source);
	CHECK(source < RANKS);
	const uint64_t i = t->received[source]++;
	CHECK_EQ(e->len, message_len((int)source, rank, i));
	CHECK(filled(buf + 4, e->len - 4, seed_of((int)source, rank, i)));
	t->got++;
	for (int b = 0; b < BUFFERS; b++)
		if (t->landing[b] == buf && t->got + BUFFERS <= t->expected)
			post(t, b);
}

static void look(struct talk *t, int rank)
{
	struct fi_cq_tagged_entry e;
	ssize_t rc;
	while ((rc = fi_cq_read(t->n.rx_cq, &e, 1)) == 1)
		take(t, rank, &e);
	CHECK_EQ(rc, -FI_EAGAIN);
	while ((rc = fi_cq_read(t->n.tx_cq, &e, 1)) == 1)
		if (e.op_context)
			*(bool *)e.op_context = false;
	CHECK_EQ(rc, -FI_EAGAIN);
}

static void all_to_all(int rank, void *arg)
{
	const struct shape *s = arg;
	const struct node_opts o = {.two_cqs = true, .selective = true, .counters = FI_READ | FI_WRITE};
	static _Thread_local struct talk t; /* ranks may be threads: team.h */
	uint32_t dice = 12345u + (uint32_t)rank;
	const int rounds = TEST_SLOW ? s->rounds / 4 : s->rounds;
	uint64_t reads = 0, writes = 0, word = 0;
	node_open(&t.n, &o);
	mem_open(&t.n, &t.m, s->kind, REGION, s->key);
	node_connect(&t.n);
	mem_exchange(&t.n, &t.m, t.r);
	t.expected = (uint64_t)(RANKS - 1) * (uint64_t)rounds;
	for (int b = 0; b < BUFFERS; b++) {
		t.landing[b] = malloc(MOST);
		post(&t, b);
	}
	team_barrier(&t.n);
	for (int p = 0; p < RANKS; p++)
		t.out[p] = malloc(MOST);
	const double end = hang_end();
	for (int left = RANKS - 1; left;) {
		const int p = (int)(next_random(&dice) % RANKS);
		if (p == rank || t.busy[p] || t.sent[p] == (uint64_t)rounds) {
			look(&t, rank);
			sched_yield();
			CHECK(now_s() < end);
			continue;
		}
		const uint64_t i = t.sent[p], one = 1;
		const uint64_t dest = t.r[p].start, key = s->key;
		const size_t len = message_len(rank, p, i);
		const uint32_t me = (uint32_t)rank;
		memcpy(t.out[p], &me, 4);
		fill(t.out[p] + 4, len - 4, seed_of(rank, p, i));
		struct iovec iov = {t.out[p], len};
		struct fi_msg m = {.msg_iov = &iov, .iov_count = 1, .addr = t.n.peer[p], .context = &t.busy[p]};
		t.busy[p] = true;
		const ssize_t rc = fi_sendmsg(t.n.ep, &m, FI_COMPLETION);
		if (rc == -FI_EAGAIN) {
			t.busy[p] = false;
			look(&t, rank);
			sched_yield();
			CHECK(now_s() < end);
			continue;
		}
		CHECK_OK(rc);
		if (++t.sent[p] == (uint64_t)rounds)
			left--;
		const uint64_t value = seed_of(rank, p, i);
		CHECK_OK(RETRY(&t.n, fi_inject_write(t.n.ep, &value, 8, t.n.peer[p],
						     dest + OFF_LANE(rank) + 8 * (i % (LANE / 8)), key)));
		CHECK_OK(RETRY(&t.n,
			       fi_inject_atomic(t.n.ep, &one, 1, t.n.peer[p], dest + OFF_ALL, key, FI_UINT64, FI_SUM)));
		CHECK_OK(RETRY(&t.n, fi_inject_atomic(t.n.ep, &one, 1, t.n.peer[p], dest + OFF_OWN(rank), key,
						      FI_UINT64, FI_SUM)));
		writes += 3;
		if (i % 8 == 0) { /* only this rank adds to that word, so it reads back its own sum */
			wait_cntr(&t.n, t.n.c_write, writes);
			CHECK_OK(RETRY(&t.n,
				       fi_read(t.n.ep, &word, 8, NULL, t.n.peer[p], dest + OFF_OWN(rank), key, NULL)));
			wait_cntr(&t.n, t.n.c_read, ++reads);
			CHECK_EQ(word, i + 1);
		}
		look(&t, rank);
	}
	for (;;) {
		bool busy = t.got < t.expected;
		for (int p = 0; p < RANKS; p++)
			busy = busy || __atomic_load_n(&t.busy[p], __ATOMIC_RELAXED);
		if (!busy)
			break;
		look(&t, rank);
		sched_yield();
		CHECK(now_s() < end);
	}
	wait_cntr(&t.n, t.n.c_write, writes);
	CHECK_EQ(fi_cntr_read(t.n.c_write), writes);
	team_barrier(&t.n);
	CHECK_EQ(*(uint64_t *)(t.m.base + OFF_ALL), t.expected);
	for (int p = 0; p < RANKS; p++) {
		if (p == rank)
			continue;
		CHECK_EQ(*(uint64_t *)(t.m.base + OFF_OWN(p)), rounds);
		for (int i = rounds > LANE / 8 ? rounds - LANE / 8 : 0; i < rounds; i++)
			CHECK_EQ(*(uint64_t *)(t.m.base + OFF_LANE(p) + 8 * ((size_t)i % (LANE / 8))),
				 seed_of(p, rank, (uint64_t)i));
	}
	team_barrier(&t.n);
	for (int p = 0; p < RANKS; p++)
		free(t.out[p]);
	mem_close(&t.m);
	node_close(&t.n);
	for (int b = 0; b < BUFFERS; b++)
		free(t.landing[b]);
}

static void test_stress_mapped_memory_is_exact(void **state)
{
	struct shape s = {MEM_MEMFD, 0, 200};
	(void)state;
	team_run(RANKS, all_to_all, &s);
	s.key = 5;
	team_run_env(RANKS, all_to_all, &s, env_small);
}

static void test_stress_private_memory_is_exact(void **state)
{
	struct shape s = {MEM_PRIVATE, 0, 60};
	(void)state;
	team_run_env(RANKS, all_to_all, &s, env_small);
	s.rounds = 30;
	team_run_env(RANKS, all_to_all, &s, env_small_no_cma);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stress_mapped_memory_is_exact),
		cmocka_unit_test(test_stress_private_memory_is_exact),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
