/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fetches [COUNT]: non-blocking fetching atomics and short non-blocking gets, COUNT of them in flight, to PEs that are
 * not mapped: every result is right and complete at quiet, whatever else is in flight; fence orders them after puts.
 */
#include "shmem_test.h"

#include <pthread.h>
#include <unistd.h>

enum { MOST = 100000, THREADS = 4, CELLS = 64 };
static int count, me, n, right;

static long ticket, taken[MOST];
static long old[MOST];

/* All PEs draw numbers from PE 0: each number is drawn once. */
static void draw_tickets(void)
{
	const int mine = count / n;
	ticket = 0;
	memset(taken, 0, sizeof taken);
	shmem_barrier_all();
	for (int i = 0; i < mine; i++)
		shmem_long_atomic_fetch_inc_nbi(&old[i], &ticket, 0);
	shmem_quiet();
	for (int i = 0; i < mine; i++) {
		CHECK(old[i] >= 0 && old[i] < (long)mine * n);
		CHECK(i == 0 || old[i] > old[i - 1]);
		shmem_long_atomic_inc(&taken[old[i]], 0);
	}
	shmem_barrier_all();
	for (int i = 0; me == 0 && i < mine * n; i++)
		CHECK(taken[i] == 1);
	shmem_barrier_all();
}

static long cell[CELLS];
static float fraction[CELLS];
static int narrow[CELLS];
static char bytes[256];

/* What was put before a fence is there; a blocking call between them does not disturb. */
static void fetch_behind_puts(void)
{
	shmem_barrier_all();
	for (int i = 0; i < count; i++) {
		shmem_long_p(&cell[i % CELLS], 3L * i, right);
		shmem_fence();
		if (i % 2)
			shmem_long_atomic_fetch_add_nbi(&old[i], &cell[i % CELLS], 1, right);
		else
			shmem_long_atomic_compare_swap_nbi(&old[i], &cell[i % CELLS], 3L * i, -1L, right);
		if (i % 100 == 0)
			CHECK(shmem_long_g(&cell[i % CELLS], right) == (i % 2 ? 3L * i + 1 : -1));
		if (i % 333 == 0)
			CHECK(shmem_long_atomic_fetch(&cell[i % CELLS], right) == (i % 2 ? 3L * i + 1 : -1));
	}
	shmem_quiet();
	for (int i = 0; i < count; i++)
		CHECK(old[i] == 3L * i);
	shmem_barrier_all();
}

/* Results of 1 to 100 bytes and of atomics of 4 bytes, with guards around each. */
static void mix_sizes(void)
{
	enum { ROOM = 128, GUARD = 'g', SIZES = 2000 };
	static char got[SIZES][ROOM];
	static float floats[SIZES];
	static int ints[SIZES];
	const int all = count < SIZES ? count : SIZES;
	for (int i = 0; i < (int)sizeof bytes; i++)
		bytes[i] = (char)(i + me);
	memset(got, GUARD, sizeof got);
	memset(narrow, 0, sizeof narrow);
	memset(fraction, 0, sizeof fraction);
	shmem_barrier_all();
	for (int i = 0; i < all; i++) {
		shmem_getmem_nbi(got[i] + 8, bytes + i % 150, (size_t)(1 + i % 100), right);
		shmem_float_atomic_swap_nbi(&floats[i], &fraction[i % CELLS], (float)i, right);
		shmem_int_atomic_fetch_add_nbi(&ints[i], &narrow[i % CELLS], i, right);
	}
	shmem_quiet();
	int sum[CELLS] = {0};
	for (int i = 0; i < all; i++) {
		const int len = 1 + i % 100;
		for (int k = 0; k < ROOM; k++)
			CHECK(got[i][k] == (k < 8 || k >= 8 + len ? GUARD : (char)(i % 150 + k - 8 + right)));
		CHECK(floats[i] == (float)(i < CELLS ? 0 : i - CELLS));
		CHECK(ints[i] == sum[i % CELLS]);
		sum[i % CELLS] += i;
	}
	shmem_barrier_all();
}

/* Each thread waits for its own context only, and nobody calls at the target meanwhile. */
static long word_of_thread[THREADS];
static void *work(void *arg)
{
	const int k = (int)(long)arg, mine = count / THREADS;
	long *values = old + (long)k * mine;
	shmem_ctx_t ctx;
	CHECK(shmem_ctx_create(0, &ctx) == 0);
	for (int i = 0; i < mine; i++) {
		values[i] = -1;
		shmem_ctx_long_atomic_fetch_add_nbi(ctx, &values[i], &word_of_thread[k], 2, right);
		if (i % 1000 == 999)
			shmem_ctx_quiet(ctx);
		if (i % 1000 == 999)
			CHECK(values[i] == 2L * i);
	}
	shmem_ctx_quiet(ctx);
	for (int i = 0; i < mine; i++)
		CHECK(values[i] == 2L * i);
	shmem_ctx_destroy(ctx);
	return NULL;
}

static void fetch_in_threads(void)
{
	pthread_t t[THREADS];
	memset(word_of_thread, 0, sizeof word_of_thread);
	shmem_barrier_all();
	for (long k = 0; k < THREADS; k++)
		CHECK(pthread_create(&t[k], NULL, work, (void *)k) == 0);
	for (long k = 0; k < THREADS; k++)
		pthread_join(t[k], NULL);
	shmem_barrier_all();
}

int main(int argc, char **argv)
{
	int provided;
	count = argc > 1 ? atoi(argv[1]) : 10000;
	shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
	me = shmem_my_pe();
	n = shmem_n_pes();
	right = (me + 1) % n;
	CHECK(count <= MOST && provided == SHMEM_THREAD_MULTIPLE);
	draw_tickets();
	fetch_behind_puts();
	mix_sizes();
	fetch_in_threads();
	test_done("fetches");
	return 0;
}
