/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wrong use, one kind per run, named by the argument. Each must end the job with one line that names the routine and
 * the error; run_wrong.sh compares it.
 */
#include <pthread.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

long *outside(void); /* static data of a shared library, four values */

static long g_cell;
static _Alignas(64) char g_bytes[128];

static void *put_cell(void *arg)
{
	shmem_long_p(&g_cell, 1, 0);
	return arg;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long stack = 0;
	if (!strcmp(what, "before"))
		shmem_long_p(&g_cell, 1, 0);
	shmem_init();
	const int me = shmem_my_pe();
	if (!strcmp(what, "pe-high"))
		shmem_long_p(&g_cell, 1, shmem_n_pes());
	else if (!strcmp(what, "pe-negative"))
		shmem_long_p(&g_cell, 1, -1);
	else if (!strncmp(what, "pe=", 3))
		shmem_long_p(&g_cell, 1, atoi(what + 3));
	else if (!strcmp(what, "pe-amo"))
		shmem_int_atomic_fetch_inc((int *)&g_cell, shmem_n_pes());
	else if (!strcmp(what, "pe-ctx"))
		shmem_ctx_double_get(SHMEM_CTX_DEFAULT, (double *)&stack, (double *)g_bytes, 1, shmem_n_pes());
	else if (!strcmp(what, "context"))
		shmem_ctx_long_p(SHMEM_CTX_INVALID, &g_cell, 1, 0);
	else if (!strcmp(what, "operator"))
		shmem_long_wait_until(&g_cell, 17, 0);
	else if (!strcmp(what, "unaligned-wait"))
		shmem_long_wait_until((long *)(void *)(g_bytes + 61), SHMEM_CMP_NE, 0);
	else if (!strcmp(what, "signal-op"))
		shmem_long_put_signal(&g_cell, &stack, 1, (uint64_t *)(void *)g_bytes, 1, 17, 0);
	else if (!strcmp(what, "blocks"))
		shmem_long_ibput(&g_cell, &stack, 1, 1, 2, 1, 0);
	else if (!strcmp(what, "thread-level"))
		shmem_init_thread(17, &(int){0});
	else if (!strcmp(what, "default-context"))
		shmem_ctx_destroy(SHMEM_CTX_DEFAULT);
	else if (!strcmp(what, "address"))
		shmem_long_p(malloc(8), 1, (me + 1) % shmem_n_pes());
	else if (!strcmp(what, "stack")) {
		/* connected now: the next call takes the fast path and faults */
		shmem_long_g(&g_cell, (me + 1) % shmem_n_pes());
		shmem_long_g(&stack, (me + 1) % shmem_n_pes());
	} else if (!strcmp(what, "guard")) {
		shmem_long_g(&g_cell, (me + 1) % shmem_n_pes());
		/* after the static data, on the fast path */
		shmem_long_g((long *)((uintptr_t)&g_cell + (1 << 24)), (me + 1) % shmem_n_pes());
	} else if (!strcmp(what, "crash"))
		*(volatile long *)(uintptr_t)(me - me) = 1; /* not a wrong use of the library */
	else if (!strcmp(what, "library"))
		shmem_long_p(outside() + 1, 1, (me + 1) % shmem_n_pes());
	else if (!strncmp(what, "library-", 8)) {
		shmem_long_g(&g_cell, (me + 1) % shmem_n_pes()); /* connected, as above */
		if (!strcmp(what, "library-p"))
			shmem_long_p(outside() + 1, 1, (me + 1) % shmem_n_pes());
		else if (!strcmp(what, "library-g"))
			shmem_long_g(outside() + 1, (me + 1) % shmem_n_pes());
		else if (!strcmp(what, "library-put"))
			shmem_putmem(outside(), g_bytes, 4 * sizeof(long), (me + 1) % shmem_n_pes());
		else if (!strcmp(what, "library-get"))
			shmem_getmem(g_bytes, outside(), 4 * sizeof(long), (me + 1) % shmem_n_pes());
		else if (!strcmp(what, "library-amo"))
			shmem_long_atomic_inc(outside() + 1, (me + 1) % shmem_n_pes());
	} else if (!strcmp(what, "hints")) {
		long *p = shmem_malloc_with_hints(8, SHMEM_MALLOC_SIGNAL_REMOTE | 1L << 40);
		shmem_global_exit(p ? 0 : 9);
	}
	static long lock;
	static long pair[2];
	shmem_team_t team = SHMEM_TEAM_INVALID;
	shmem_ctx_t ctx = SHMEM_CTX_INVALID;
	const int next = (me + 1) % shmem_n_pes();
	if (!strcmp(what, "null-source"))
		shmem_long_put(&g_cell, NULL, 1, next);
	else if (!strcmp(what, "null-dest"))
		shmem_long_get(NULL, &g_cell, 1, next);
	else if (!strcmp(what, "lock-twice")) {
		shmem_set_lock(&lock);
		shmem_set_lock(&lock);
	} else if (!strcmp(what, "lock-twice-queued")) {
		if (me == 0)
			shmem_set_lock(&lock);
		shmem_sync_all();
		if (me != 0)
			shmem_set_lock(&lock);
		usleep(200000); /* the other PE is in the queue by now */
		shmem_set_lock(&lock);
	} else if (!strcmp(what, "lock-free"))
		shmem_clear_lock(&lock);
	else if (!strcmp(what, "lock-not-mine")) {
		if (me == 0)
			shmem_set_lock(&lock);
		shmem_sync_all();
		if (me != 0)
			shmem_clear_lock(&lock);
	} else if (!strcmp(what, "reduce-overlap"))
		shmem_long_sum_reduce(SHMEM_TEAM_WORLD, (long *)(void *)(g_bytes + 8), (long *)(void *)g_bytes, 4);
	else if (!strcmp(what, "team-destroyed")) {
		shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, shmem_n_pes(), NULL, 0, &team);
		shmem_team_destroy(team);
		shmem_team_sync(team);
	} else if (!strcmp(what, "context-destroyed")) {
		shmem_ctx_create(0, &ctx);
		shmem_ctx_destroy(ctx);
		shmem_ctx_long_p(ctx, &g_cell, 1, next);
	} else if (!strcmp(what, "wait-stack"))
		shmem_long_wait_until(&stack, SHMEM_CMP_NE, 0);
	else if (!strcmp(what, "odd-address"))
		shmem_long_p((long *)(void *)(g_bytes + 1), 1, next);
	else if (!strcmp(what, "short-psync")) {
		long *psync = shmem_malloc(sizeof *psync);
		shmem_sync(me, 0, 1, psync);
	} else if (!strcmp(what, "static-psync")) {
		static long few[16];
		shmem_sync(me, 0, 1, few);
	} else if (!strncmp(what, "unset-psync", 11)) { /* one element, of a set or of all PEs */
		static long psync[SHMEM_BARRIER_SYNC_SIZE];
		psync[atoi(what + 12)] = -1;
		shmem_barrier(strstr(what, "all") ? 0 : me, 0, strstr(what, "all") ? shmem_n_pes() : 1, psync);
	} else if (!strcmp(what, "unset-reduce")) {
		static long psync[SHMEM_REDUCE_SYNC_SIZE];
		for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
			psync[i] = 1;
		static long work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
		shmem_long_sum_to_all(pair, pair, 2, 0, 0, shmem_n_pes(), work, psync);
	} else if (!strcmp(what, "second-thread")) {
		pthread_t other;
		pthread_create(&other, NULL, put_cell, NULL);
		pthread_join(other, NULL);
	} else if (!strcmp(what, "right")) {
		shmem_long_put(pair, &stack, 1, next);
		shmem_set_lock(&lock);
		if (shmem_test_lock(&lock) != 1)
			shmem_global_exit(9);
		shmem_clear_lock(&lock);
		shmem_long_sum_reduce(SHMEM_TEAM_WORLD, pair, pair, 2);
		shmem_finalize();
		return 0;
	}
	if (!strcmp(what, "overlap"))
		shmem_putmem(g_bytes, g_bytes + 4, 8, me);
	else if (!strcmp(what, "hole")) {
		long *p = shmem_malloc(64);
		shmem_long_p(p + 1000, 1, (me + 1) % shmem_n_pes());
	} else if (!strcmp(what, "sizes"))
		shmem_malloc(me == 0 ? 8 : 16);
	else if (!strcmp(what, "blocks-differ")) {
		long *a = shmem_malloc(8), *b = shmem_malloc(8);
		shmem_free(me == 0 ? a : b);
	} else if (!strcmp(what, "unaligned"))
		shmem_long_atomic_add((long *)(void *)(g_bytes + 1), 1, 0);
	else if (!strcmp(what, "stride"))
		shmem_long_iput(&g_cell, &stack, 0, 1, 1, 0);
	else if (!strcmp(what, "free-twice")) {
		long *p = shmem_malloc(8);
		shmem_free(p);
		shmem_free(p);
	} else if (!strcmp(what, "after")) {
		shmem_finalize();
		shmem_long_p(&g_cell, 1, 0);
	} else if (!strcmp(what, "global-exit")) {
		if (me == shmem_n_pes() - 1)
			shmem_global_exit(7);
		for (;;)
			pause();
	} else if (!strcmp(what, "fork")) {
		g_cell = 5;
		if (fork() == 0) {
			g_cell = 99; /* must not reach the parent */
			_exit(0);
		}
		sleep(1);
		if (g_cell != 5 || shmem_long_g(&g_cell, me) != 5)
			shmem_global_exit(9);
		shmem_finalize();
		return 0;
	}
	shmem_barrier_all();
	fprintf(stderr, "nothing happened\n");
	return 0;
}
