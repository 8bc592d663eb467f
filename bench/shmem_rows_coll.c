/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rows of shmem_bench that are collectives: every PE runs the same function. A library of OpenSHMEM 1.5 and later
 * is called through SHMEM_TEAM_WORLD, an older one through the active set of all PEs. A sample ends with a barrier, so
 * that PE 0 does not stop its clock while others still work; it is one of many calls of the sample.
 */
#include "shmem_rows.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION >= 5
#define HAVE_TEAMS 1
#endif

enum { MIB = 1 << 20, BATCH = 64 };

static char *g_source, *g_dest;
static size_t g_room; /* bytes of each */

#ifndef HAVE_TEAMS
#define LONGER(a, b) ((a) > (b) ? (a) : (b))
enum {
	SYNC_LONGS = LONGER(LONGER(SHMEM_REDUCE_SYNC_SIZE, SHMEM_COLLECT_SYNC_SIZE),
			    LONGER(SHMEM_BCAST_SYNC_SIZE, SHMEM_ALLTOALL_SYNC_SIZE))
};
static long g_psync[2][SYNC_LONGS]; /* SHMEM_SYNC_VALUE: it is zero, or is set below */
static double *g_work;
static long *turn(void)
{
	static unsigned number;
	return g_psync[number++ % 2];
}
#endif

/* Memory for a row that moves `bytes`. All PEs call this together, in every sample; mostly there is enough already. */
static void setup(size_t bytes)
{
	const size_t least = (size_t)MIB * sizeof(double); /* most rows need no more, so reallocation is rare */
	const size_t room = bytes > least ? bytes : least;
	if (room <= g_room)
		return;
#ifndef HAVE_TEAMS
	if (!g_work)
		g_work = shmem_malloc((MIB / 2 + 1 + SHMEM_REDUCE_MIN_WRKDATA_SIZE) * sizeof(double));
	for (int i = 0; i < 2 * SYNC_LONGS && !g_room; i++)
		g_psync[i / SYNC_LONGS][i % SYNC_LONGS] = SHMEM_SYNC_VALUE;
#endif
	shmem_free(g_dest);
	shmem_free(g_source);
	g_source = shmem_malloc(room);
	g_dest = shmem_malloc(room);
	if (!g_source || !g_dest) {
		fprintf(stderr, "shmem_bench: no symmetric memory for 2 x %zu bytes; raise SHMEM_SYMMETRIC_SIZE\n",
			room);
		shmem_global_exit(2);
	}
	memset(g_source, 1, room);
	memset(g_dest, 0, room);
	g_room = room;
	shmem_barrier_all();
}

#ifdef HAVE_TEAMS
#define BROADCAST(bytes) shmem_broadcastmem(SHMEM_TEAM_WORLD, g_dest, g_source, bytes, 0)
#define FCOLLECT(bytes) shmem_fcollectmem(SHMEM_TEAM_WORLD, g_dest, g_source, bytes)
#define COLLECT(bytes) shmem_collectmem(SHMEM_TEAM_WORLD, g_dest, g_source, bytes)
#define ALLTOALL(bytes) shmem_alltoallmem(SHMEM_TEAM_WORLD, g_dest, g_source, bytes)
#define SUM(n) shmem_double_sum_reduce(SHMEM_TEAM_WORLD, (double *)(void *)g_dest, (double *)(void *)g_source, n)
#else
#define BROADCAST(bytes) shmem_broadcast64(g_dest, g_source, (bytes) / 8, 0, 0, 0, shmem_n_pes(), turn())
#define COLLECT(bytes) shmem_collect64(g_dest, g_source, (bytes) / 8, 0, 0, shmem_n_pes(), turn())
#define FCOLLECT(bytes) shmem_fcollect64(g_dest, g_source, (bytes) / 8, 0, 0, shmem_n_pes(), turn())
#define ALLTOALL(bytes) shmem_alltoall64(g_dest, g_source, (bytes) / 8, 0, 0, shmem_n_pes(), turn())
#define SUM(n)                                                                                                         \
	shmem_double_sum_to_all((double *)(void *)g_dest, (double *)(void *)g_source, (int)(n), 0, 0, shmem_n_pes(),   \
				g_work, turn())
#endif

/* BLOCKS: number of blocks of row->bytes that source and dest must hold */
#define LOOP(NAME, BLOCKS, CALL)                                                                                       \
	static void NAME(struct bench_memory *m, const struct bench_row *row, uint64_t count)                          \
	{                                                                                                              \
		(void)m;                                                                                               \
		setup(row->bytes *(size_t)(BLOCKS));                                                                   \
		for (uint64_t i = 0; i < count; i++)                                                                   \
			CALL;                                                                                          \
		shmem_barrier_all();                                                                                   \
	}
/* The least that an alltoall must do: every PE copies that many bytes at the same time. */
static void copy_blocks(size_t bytes)
{
	const size_t n = (size_t)shmem_n_pes();
	for (size_t j = 0; j < n; j++)
		memcpy(g_dest + j * bytes, g_source + j * bytes, bytes);
	__asm__ volatile("" ::: "memory");
}

LOOP(yield_loop, 0, sched_yield())
LOOP(copy_loop, shmem_n_pes(), copy_blocks(row->bytes))
LOOP(sync_loop, 0, shmem_sync_all())
LOOP(barrier_loop, 0, shmem_barrier_all())
LOOP(broadcast_loop, 1, BROADCAST(row->bytes))
LOOP(fcollect_loop, shmem_n_pes(), FCOLLECT(row->bytes))
LOOP(collect_loop, shmem_n_pes(), COLLECT(row->bytes))
LOOP(alltoall_loop, shmem_n_pes(), ALLTOALL(row->bytes))
LOOP(sum_loop, 1, SUM(row->bytes / sizeof(double)))

#ifdef HAVE_TEAMS
/* Makes `count` teams of the first `size` PEs, BATCH at a time; only making them is timed. */
static void make_teams(struct bench_memory *m, uint64_t count, int size)
{
	shmem_team_t teams[BATCH];
	struct timespec begin, end;
	for (uint64_t made = 0; made < count;) {
		const int batch = count - made < BATCH ? (int)(count - made) : BATCH;
		for (int i = 0; i < batch; i++)
			shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, size, NULL, 0, &teams[i]);
		made += (uint64_t)batch;
		clock_gettime(CLOCK_MONOTONIC, &begin);
		for (int i = 0; i < batch; i++)
			shmem_team_destroy(teams[i]);
		shmem_sync_all();
		clock_gettime(CLOCK_MONOTONIC, &end);
		m->untimed_ns += (uint64_t)(end.tv_sec - begin.tv_sec) * 1000000000u + (uint64_t)end.tv_nsec -
				 (uint64_t)begin.tv_nsec;
	}
}

static void duplicate(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	(void)row;
	make_teams(m, count, shmem_n_pes());
}

static void half(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	(void)row;
	make_teams(m, count, (shmem_n_pes() + 1) / 2);
}
#endif

#define BOTH(CALL) CALL, CALL
#define SIZES(NAME, CALL, GROUP)                                                                                       \
	{NAME "_8", GROUP, NAME " 8 B", BENCH_NS, 8, 1, BOTH(CALL)},                                                   \
		{NAME "_1k", GROUP, NAME " 1 KiB", BENCH_NS, 1024, 1, BOTH(CALL)},                                     \
		{NAME "_8k", GROUP, NAME " 8 KiB", BENCH_NS, 8192, 1, BOTH(CALL)},                                     \
		{NAME "_64k", GROUP, NAME " 64 KiB", BENCH_NS, 65536, 1, BOTH(CALL)},                                  \
		{NAME "_256k", GROUP, NAME " 256 KiB", BENCH_NS, 262144, 1, BOTH(CALL)},                               \
		{NAME "_1m", GROUP, NAME " 1 MiB", BENCH_NS, MIB, 1, BOTH(CALL)},                                      \
		{NAME "_4m", GROUP, NAME " 4 MiB", BENCH_NS, 4 * MIB, 1, BOTH(CALL)},                                  \
	{                                                                                                              \
		NAME "_16m", GROUP, NAME " 16 MiB", BENCH_NS, 16 * MIB, 1, BOTH(CALL)                                  \
	}

static const struct bench_row rows[] = {
	{"barrier_loop", "coll", "barrier_all, back to back", BENCH_NS, 0, 1, BOTH(barrier_loop)},
	{"sync_loop", "coll", "sync_all, back to back", BENCH_NS, 0, 1, BOTH(sync_loop)},
	{"yield", "coll", "floor of a barrier: all yield", BENCH_NS, 0, 1, BOTH(yield_loop)},
	{"sum_1", "coll-sum", "sum of 1 double", BENCH_NS, 8, 1, BOTH(sum_loop)},
	{"sum_64", "coll-sum", "sum of 64 doubles", BENCH_NS, 512, 1, BOTH(sum_loop)},
	{"sum_1024", "coll-sum", "sum of 1,024 doubles", BENCH_NS, 8192, 1, BOTH(sum_loop)},
	{"sum_1m", "coll-sum", "sum of 1,048,576 doubles", BENCH_NS, (size_t)MIB * 8, 1, BOTH(sum_loop)},
	SIZES("broadcast", broadcast_loop, "coll-broadcast"),
	SIZES("fcollect", fcollect_loop, "coll-fcollect"),
	SIZES("collect", collect_loop, "coll-collect"),
	SIZES("alltoall", alltoall_loop, "coll-alltoall"),
	{"copy_8k", "coll-alltoall", "floor of 8 KiB: memcpy", BENCH_NS, 8192, 1, BOTH(copy_loop)},
	{"copy_64k", "coll-alltoall", "floor of 64 KiB: memcpy", BENCH_NS, 65536, 1, BOTH(copy_loop)},
	{"copy_1m", "coll-alltoall", "floor of 1 MiB: memcpy", BENCH_NS, MIB, 1, BOTH(copy_loop)},
#ifdef HAVE_TEAMS
	{"team_dup", "teams", "make a team of all", BENCH_NS, 0, 1, BOTH(duplicate)},
	{"team_half", "teams", "make a team of the first half", BENCH_NS, 0, 1, BOTH(half)},
#endif
};
const struct bench_table bench_collectives = {rows, sizeof rows / sizeof rows[0], .any_pes = 1, .is_here = 1};

/* Between hosts: from one word to blocks that take milliseconds. alltoall ends earlier: it has a block for each PE. */
#define COLLECTIVE(NAME_AND_SIZE, GROUP, LABEL, BYTES, ...)                                                            \
	{                                                                                                              \
		"hosts_" NAME_AND_SIZE, "hosts-" GROUP, LABEL, BENCH_NS, BYTES, 1, __VA_ARGS__                         \
	}
#define COLLECTIVE_SIZES(NAME, ...)                                                                                    \
	COLLECTIVE(NAME "_8", NAME, NAME " 8 B", 8, __VA_ARGS__),                                                      \
		COLLECTIVE(NAME "_256", NAME, NAME " 256 B", 256, __VA_ARGS__),                                        \
		COLLECTIVE(NAME "_4k", NAME, NAME " 4 KiB", 4096, __VA_ARGS__),                                        \
		COLLECTIVE(NAME "_32k", NAME, NAME " 32 KiB", 32768, __VA_ARGS__),                                     \
		COLLECTIVE(NAME "_256k", NAME, NAME " 256 KiB", 262144, __VA_ARGS__)
#define BROADCASTS BOTH(broadcast_loop), .streams = 1
static const struct bench_row hosts_rows[] = {
	COLLECTIVE("barrier", "barrier", "barrier_all", 0, BOTH(barrier_loop)),
	COLLECTIVE_SIZES("sum", BOTH(sum_loop)),
	COLLECTIVE("sum_1m", "sum", "sum 1 MiB", MIB, BOTH(sum_loop)),
	COLLECTIVE("sum_8m", "sum", "sum 8 MiB", 8 * MIB, BOTH(sum_loop)),
	COLLECTIVE_SIZES("broadcast", BROADCASTS),
	COLLECTIVE("broadcast_1m", "broadcast", "broadcast 1 MiB", MIB, BROADCASTS),
	COLLECTIVE("broadcast_8m", "broadcast", "broadcast 8 MiB", 8 * MIB, BROADCASTS),
	COLLECTIVE_SIZES("alltoall", BOTH(alltoall_loop)),
};
const struct bench_table bench_hosts_collectives = {hosts_rows, sizeof hosts_rows / sizeof hosts_rows[0], .any_pes = 1,
						    .is_between = 1};
