/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads: with SHMEM_THREAD_MULTIPLE all threads of all PEs call at once, on the default context, on shared contexts
 * and on private ones; sums are exact and every value is in its place. The other levels: what is provided, and contexts
 * that one thread at a time uses.
 */
#include "shmem_test.h"

#include <pthread.h>

enum { THREADS = 4, TIMES = 200, WORDS = 32 };

static int me, n, right;
static long counter, guarded;
static long *block; /* symmetric, THREADS x WORDS */
static long flags[THREADS];
static shmem_ctx_t shared, serialized;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static int level;

static void *work(void *argument)
{
	const int self = (int)(intptr_t)argument;
	shmem_ctx_t mine;
	CHECK(shmem_ctx_create(SHMEM_CTX_PRIVATE, &mine) == 0);
	long value[WORDS], back[WORDS];
	long *dst = block + self * WORDS;
	for (int i = 0; i < TIMES; i++) {
		for (int k = 0; k < WORDS; k++)
			value[k] = me * 1000000L + self * 10000 + i;
		shmem_long_atomic_inc(&counter, i % n);
		shmem_ctx_long_atomic_add(mine, &counter, 2, i % n);
		shmem_ctx_long_atomic_fetch_add(shared, &counter, 3, i % n);
		pthread_mutex_lock(&turn);
		shmem_ctx_long_atomic_fetch_add(serialized, &counter, 4, i % n);
		pthread_mutex_unlock(&turn);
		shmem_long_put(dst, value, WORDS, right);
		shmem_quiet();
		shmem_ctx_long_get(mine, back, dst, WORDS, right);
		for (int k = 0; k < WORDS; k++)
			CHECK(back[k] == value[k]);
		/* thread to thread: my counterpart on the right waits for this */
		shmem_ctx_long_p(mine, &flags[self], i + 1, right);
		shmem_ctx_quiet(mine);
		shmem_long_wait_until(&flags[self], SHMEM_CMP_GE, i + 1);
	}
	shmem_ctx_destroy(mine);
	return NULL;
}

static void multiple(void)
{
	pthread_t thread[THREADS];
	CHECK(shmem_ctx_create(0, &shared) == 0 && shmem_ctx_create(SHMEM_CTX_SERIALIZED, &serialized) == 0);
	block = shmem_malloc(THREADS * WORDS * sizeof *block);
	CHECK(block);
	for (int t = 0; t < THREADS; t++)
		CHECK(pthread_create(&thread[t], NULL, work, (void *)(intptr_t)t) == 0);
	for (int t = 0; t < THREADS; t++)
		CHECK(pthread_join(thread[t], NULL) == 0);
	shmem_ctx_quiet(shared);
	shmem_ctx_quiet(serialized);
	shmem_barrier_all();
	CHECK(shmem_long_atomic_fetch(&counter, me) == (1L + 2 + 3 + 4) * THREADS * n * (TIMES / n + (me < TIMES % n)));
	shmem_ctx_destroy(shared);
	shmem_ctx_destroy(serialized);
	shmem_free(block);
}

/* One thread at a time calls, in turn. */
static void *one_at_a_time(void *argument)
{
	(void)argument;
	for (int i = 0; i < 50; i++) {
		pthread_mutex_lock(&turn);
		shmem_long_atomic_add(&guarded, 1, right);
		shmem_long_p(&flags[0], i, right);
		shmem_quiet();
		pthread_mutex_unlock(&turn);
	}
	return NULL;
}

static void taking_turns(void)
{
	pthread_t thread[THREADS];
	const int count = level == SHMEM_THREAD_SERIALIZED ? THREADS : 0;
	for (int t = 0; t < count; t++)
		CHECK(pthread_create(&thread[t], NULL, one_at_a_time, NULL) == 0);
	if (!count)
		one_at_a_time(NULL);
	for (int t = 0; t < count; t++)
		CHECK(pthread_join(thread[t], NULL) == 0);
	shmem_barrier_all();
	CHECK(guarded == 50L * (count ? count : 1));
}

int main(int argc, char **argv)
{
	const int wanted = argc > 1 ? atoi(argv[1]) : SHMEM_THREAD_MULTIPLE;
	int provided = -1, asked = -1;
	CHECK(shmem_init_thread(wanted, &provided) == 0);
	me = shmem_my_pe();
	n = shmem_n_pes();
	right = (me + 1) % n;
	shmem_query_thread(&asked);
	CHECK(provided >= wanted && asked == provided);
	level = provided;
	if (wanted == SHMEM_THREAD_MULTIPLE)
		multiple();
	else
		taking_turns();
	test_done("threads");
	return 0;
}
