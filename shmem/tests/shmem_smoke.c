/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A first program on any number of PEs: static and heap objects, put, get, atomics, signals, locks, waits, contexts.
 * Exits non-zero, with a line that describes the error, if a value is not what the standard promises.
 */
#include "shmem_test.h"

#include <shmemx.h>
#include <unistd.h>

static long g_ring = -1;
static int g_static[64];
static uint64_t g_signal;
static long g_lock;
static long g_guarded;
static double g_real = 1.5;
static long g_psync[SHMEM_BARRIER_SYNC_SIZE];

/* PEs of a host have one clock. */
static void clocks(int me, int n)
{
	static double now;
	const int next = (me + 1) % n;
	const double before = shmemx_wtime();
	usleep(20000);
	shmem_barrier_all();
	now = shmemx_wtime();
	shmem_barrier_all();
	const double after = shmemx_wtime(), there = shmem_double_g(&now, next);
	CHECK(after - before >= 0.02);
	CHECK(!test_near(next) || (before < there && there < after));
}

static void ring(int me, int n)
{
	shmem_long_p(&g_ring, me, (me + 1) % n);
	shmem_barrier_all();
	CHECK(g_ring == (me + n - 1) % n);
	CHECK(shmem_long_g(&g_ring, (me + 1) % n) == me);
	shmem_barrier_all();
}

static void bulk(int me, int n)
{
	const size_t count = 100000;
	int *heap = shmem_malloc(count * sizeof *heap);
	int *mine = malloc(count * sizeof *mine);
	CHECK(heap && mine);
	for (size_t i = 0; i < count; i++)
		mine[i] = (int)i * 7 + me;
	shmem_int_put(heap, mine, count, (me + 1) % n);
	shmem_int_put(g_static, mine, 64, (me + 1) % n);
	shmem_barrier_all();
	const int source = (me + n - 1) % n;
	for (size_t i = 0; i < count; i++)
		CHECK(heap[i] == (int)i * 7 + source);
	for (int i = 0; i < 64; i++)
		CHECK(g_static[i] == i * 7 + source);
	memset(mine, 0, count * sizeof *mine);
	shmem_int_get(mine, heap, count, (me + 1) % n);
	for (size_t i = 0; i < count; i++)
		CHECK(mine[i] == (int)i * 7 + me);
	shmem_barrier_all();
	shmem_int_iput(heap, mine, 3, 1, 10, (me + 1) % n);
	shmem_barrier_all();
	for (int i = 0; i < 10; i++)
		CHECK(heap[3 * i] == i * 7 + source);
	free(mine);
	shmem_free(heap);
}

static void atomics(int me, int n)
{
	long *sum = shmem_calloc(1, sizeof *sum);
	CHECK(sum);
	for (int i = 0; i < 1000; i++)
		for (int pe = 0; pe < n; pe++)
			shmem_long_atomic_add(sum, 1, pe);
	shmem_barrier_all();
	CHECK(*sum == 1000L * n);
	CHECK(shmem_long_atomic_fetch(sum, 0) == 1000L * n);
	shmem_barrier_all();
	if (me == 0) {
		CHECK(shmem_double_atomic_swap(&g_real, 2.5, n - 1) == 1.5);
		CHECK(shmem_double_atomic_fetch(&g_real, n - 1) == 2.5);
		CHECK(shmem_long_atomic_compare_swap(sum, 1000L * n, 7, n - 1) == 1000L * n);
		CHECK(shmem_long_g(sum, n - 1) == 7);
	}
	shmem_barrier_all();
	shmem_free(sum);
}

static void signals(int me, int n)
{
	long *data = shmem_malloc(8 * sizeof *data);
	long mine[8];
	for (int i = 0; i < 8; i++)
		mine[i] = me * 100 + i;
	shmem_long_put_signal(data, mine, 8, &g_signal, 1, SHMEM_SIGNAL_ADD, (me + 1) % n);
	CHECK(shmem_signal_wait_until(&g_signal, SHMEM_CMP_GE, 1) == 1);
	for (int i = 0; i < 8; i++)
		CHECK(data[i] == (me + n - 1) % n * 100 + i);
	shmem_free(data);
}

static void locks(int n)
{
	for (int i = 0; i < 50; i++) {
		shmem_set_lock(&g_lock);
		const long seen = shmem_long_g(&g_guarded, 0);
		shmem_long_p(&g_guarded, seen + 1, 0);
		shmem_clear_lock(&g_lock);
	}
	shmem_barrier_all();
	CHECK(shmem_long_g(&g_guarded, 0) == 50L * n);
}

static void contexts(int me, int n)
{
	shmem_ctx_t ctx;
	long *cell = shmem_calloc(1, sizeof *cell);
	CHECK(shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) == 0);
	shmem_ctx_long_p(ctx, cell, 42 + me, (me + 1) % n);
	shmem_ctx_quiet(ctx);
	shmem_ctx_destroy(ctx);
	shmem_barrier_all();
	CHECK(*cell == 42 + (me + n - 1) % n);
	shmem_barrier(0, 0, n, g_psync);
	shmem_barrier(0, 0, n, g_psync);
	for (int i = 0; i < SHMEM_BARRIER_SYNC_SIZE; i++)
		CHECK(g_psync[i] == SHMEM_SYNC_VALUE);
	shmem_free(cell);
}

int main(void)
{
	shmem_init();
	const int me = shmem_my_pe(), n = shmem_n_pes();
	CHECK(me >= 0 && me < n);
	ring(me, n);
	bulk(me, n);
	atomics(me, n);
	signals(me, n);
	locks(n);
	contexts(me, n);
	clocks(me, n);
	CHECK(shmem_ptr(&g_ring, (me + 1) % n) != NULL || !test_near((me + 1) % n));
	CHECK(shmem_malloc((size_t)1 << 60) == NULL);
	shmem_barrier_all();
	if (me == 0)
		printf("%d PEs: all as it should be\n", n);
	shmem_finalize();
	return 0;
}
