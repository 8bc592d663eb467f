/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives and threads (PAR): each thread of a node has a team with the threads of the same number on the others,
 * and all work at the same time, while one more only polls. An argument gives the number of rounds.
 */
#include "gasnet_test.h"
#include <gasnet_coll.h>
#include <pthread.h>
#include <sched.h>

#define SEGMENT (1u << 20)
#define THREADS 3
enum { H_PING = 128 };

static gex_TM_t all, teams[THREADS];
static gex_Rank_t me, size;
static int rounds = 60;
static unsigned long pings, stop;

static void ping(gasnet_token_t t, gasnet_handlerarg_t value)
{
	(void)t;
	__atomic_fetch_add(&pings, (unsigned long)value, __ATOMIC_RELAXED);
}

static void *poll_only(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		gasnet_AMPoll();
		sched_yield();
	}
	return NULL;
}

/* 64-bit words of this node in a round, and their sum over all nodes */
static uint64_t word_of(gex_Rank_t node, int thread, int round, size_t i)
{
	return (uint64_t)node * 1000 + (uint64_t)thread * 10 + (uint64_t)round + i;
}

static void *work(void *arg)
{
	const int thread = (int)(intptr_t)arg;
	gex_TM_t tm = teams[thread];
	enum { COUNT = 3000 };
	uint64_t *src = malloc(COUNT * sizeof *src), *sum = malloc(COUNT * sizeof *sum),
		 *got = malloc(COUNT * sizeof *got);
	CHECK(src && sum && got);
	for (int round = 0; round < rounds; round++) {
		const gex_Rank_t root = (gex_Rank_t)round % size;
		const size_t count = round % 2 ? COUNT : 3;
		for (size_t i = 0; i < count; i++)
			src[i] = word_of(me, thread, round, i);
		gex_Event_t events[3];
		events[0] = gex_Coll_ReduceToAllNB(tm, sum, src, GEX_DT_U64, 8, count, GEX_OP_ADD, NULL, NULL, 0);
		events[1] = gex_Coll_BroadcastNB(tm, root, got, src, count * 8, 0);
		events[2] = gex_Coll_BarrierNB(tm, 0);
		CHECK_OK(gasnet_AMRequestShort1((me + 1) % size, H_PING, 1));
		if (round % 3 == thread)
			while (gex_Event_TestAll(events, 3, 0) != GASNET_OK)
				sched_yield();
		else
			gex_Event_WaitAll(events, 3, 0);
		for (size_t i = 0; i < count; i++) {
			uint64_t want = 0;
			for (gex_Rank_t j = 0; j < size; j++)
				want += word_of(j, thread, round, i);
			CHECK_EQ(sum[i], want);
			CHECK_EQ(got[i], word_of(root, thread, round, i));
		}
		if (round % 10 == 9) { /* makes teams while others use theirs */
			gex_TM_t inner = GEX_TM_INVALID;
			gex_TM_Split(&inner, tm, (int)me % 2, 0, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
			gex_Coll_BarrierBlocking(inner, 0);
			gex_TM_Destroy(inner, NULL, 0);
		}
	}
	free(src);
	free(sum);
	free(got);
	return NULL;
}

int main(int argc, char **argv)
{
	gasnet_handlerentry_t table[] = {{H_PING, (void (*)())ping}};
	pthread_t threads[THREADS], poller;
	test_start(&argc, &argv, table, 1, SEGMENT);
	gasnet_QueryGexObjects(NULL, NULL, &all, NULL);
	me = gex_System_QueryJobRank();
	size = gex_System_QueryJobSize();
	if (argc > 1)
		rounds = atoi(argv[1]);
	for (int i = 0; i < THREADS; i++)
		gex_TM_Split(&teams[i], all, 0, 0, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
	CHECK_OK(pthread_create(&poller, NULL, poll_only, NULL));
	for (int i = 0; i < THREADS; i++)
		CHECK_OK(pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i));
	for (int i = 0; i < THREADS; i++)
		CHECK_OK(pthread_join(threads[i], NULL));
	GASNET_BLOCKUNTIL(__atomic_load_n(&pings, __ATOMIC_RELAXED) == (unsigned long)rounds * THREADS);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	CHECK_OK(pthread_join(poller, NULL));
	for (int i = 0; i < THREADS; i++)
		gex_TM_Destroy(teams[i], NULL, 0);
	test_barrier();
	if (!me)
		printf("collectives of %d threads: %u nodes: ok\n", THREADS, size);
	test_end();
}
