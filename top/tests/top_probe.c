/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that does what its arguments say, for tests of oshtop, and then waits until a file exists:
 *
 *	top_probe WHERE FILE HEAP-BYTES BARRIERS MESSAGES
 *
 * Each PE allocates the bytes and writes to all of them, takes part in so many barriers, and puts so many words to the
 * next PE. Then all PEs but the last go to WHERE, a barrier, a reduction or a lock, and the last one comes when the
 * file exists. WHERE may also be: alone, where each PE waits for the file by itself; pause, where it sleeps until a
 * signal ends it; or steady, where the PEs meet in barriers and sums until the file exists.
 */
#include <shmem.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long g_words[2], g_sum, g_stop, g_lock, g_held;

static void await(const char *file)
{
	while (access(file, F_OK) != 0)
		usleep(10000);
}

static void work(long bytes, long barriers, long messages)
{
	const int next = (shmem_my_pe() + 1) % shmem_n_pes();
	char *heap = bytes ? shmem_malloc((size_t)bytes) : NULL;
	if (heap)
		memset(heap, 1, (size_t)bytes);
	for (long i = 0; i < barriers; i++)
		shmem_barrier_all();
	for (long i = 0; i < messages; i++)
		shmem_long_p(&g_words[0], i, next);
	shmem_quiet();
}

/* PE 0 takes the lock at once; the others want it when it has. */
static void hold(const char *file)
{
	if (shmem_my_pe() == 0) {
		shmem_set_lock(&g_lock);
		for (int pe = 0; pe < shmem_n_pes(); pe++)
			shmem_long_p(&g_held, 1, pe);
		await(file);
	} else {
		shmem_long_wait_until(&g_held, SHMEM_CMP_EQ, 1);
		shmem_set_lock(&g_lock);
	}
	shmem_clear_lock(&g_lock);
}

static void meet_steadily(const char *file)
{
	while (!g_stop) {
		g_words[1] = shmem_my_pe() == 0 && access(file, F_OK) == 0;
		shmem_long_max_reduce(SHMEM_TEAM_WORLD, &g_stop, &g_words[1], 1);
		shmem_barrier_all();
		usleep(2000);
	}
}

int main(int argc, char **argv)
{
	if (argc != 6)
		return 2;
	const char *where = argv[1], *file = argv[2];
	shmem_init();
	work(atol(argv[3]), atol(argv[4]), atol(argv[5]));
	if (strcmp(where, "alone") == 0)
		await(file);
	else if (strcmp(where, "pause") == 0)
		pause();
	else if (strcmp(where, "lock") == 0)
		hold(file);
	else if (strcmp(where, "steady") == 0)
		meet_steadily(file);
	else {
		if (shmem_my_pe() == shmem_n_pes() - 1)
			await(file);
		if (strcmp(where, "reduction") == 0)
			shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &g_sum, &g_words[0], 1);
		else
			shmem_barrier_all();
	}
	shmem_barrier_all();
	if (shmem_my_pe() == 0)
		puts("top_probe: done");
	shmem_finalize();
	return 0;
}
