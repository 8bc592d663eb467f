/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives: their memory, and whom they bring together. */
#include "races.h"

/* PE 0 is back from the reduction, PE 1 may still be writing its result. */
static void reduce_dest(const struct race_job *job)
{
	shmem_long_sum_reduce(SHMEM_TEAM_WORLD, result, data, 8); /* reduce_dest: one */
	if (job->fixed)
		shmem_sync_all();
	if (job->me == 0)
		shmem_long_p(result + 3, 1, 1); /* reduce_dest: two */
}

/* A put into what the next reduction reads. */
static void reduce_source(const struct race_job *job)
{
	if (job->me == 0)
		shmem_long_p(data + 7, 1, 1); /* reduce_source: one */
	if (job->fixed)
		shmem_barrier_all();
	shmem_long_max_reduce(SHMEM_TEAM_WORLD, result, data, 8); /* reduce_source: two */
}

/* The root may still be reading when others are back. */
static void broadcast_source(const struct race_job *job)
{
	shmem_long_broadcast(SHMEM_TEAM_WORLD, result, data, 4, 0); /* broadcast_source: one */
	if (job->fixed)
		shmem_team_sync(SHMEM_TEAM_WORLD);
	if (job->me == 1)
		shmem_long_p(data, 1, 0); /* broadcast_source: two */
}

/* A broadcast waits for its root only. */
static void broadcast_as_barrier(const struct race_job *job)
{
	if (job->me == 1)
		shmem_long_p(data, 1, 2); /* broadcast_as_barrier: one */
	shmem_quiet();
	if (job->fixed)
		shmem_sync_all();
	shmem_long_broadcast(SHMEM_TEAM_WORLD, result, result + 8, 1, 0);
	if (job->me == 2)
		(void)shmem_long_g(data, 2); /* broadcast_as_barrier: two */
}

static void fcollect_dest(const struct race_job *job)
{
	if (job->me == 0)
		shmem_long_p(result + 2 * 1 + 1, 1, 1); /* fcollect_dest: one */
	if (job->fixed)
		shmem_barrier_all();
	shmem_long_fcollect(SHMEM_TEAM_WORLD, result, data, 2); /* fcollect_dest: two */
}

/* How far dest goes depends on what all bring: 1 + 2 + 3 longs. */
static void collect_dest(const struct race_job *job)
{
	shmem_long_collect(SHMEM_TEAM_WORLD, result, data, (size_t)job->me + 1); /* collect_dest: one */
	if (job->me == 0)
		shmem_long_p(result + (job->fixed ? 6 : 5), 1, 1); /* collect_dest: two */
}

static void alltoalls_dest(const struct race_job *job)
{
	if (job->me == 0)
		shmem_long_p(result + (job->fixed ? 3 : 4), 1, 1);     /* alltoalls_dest: one */
	shmem_long_alltoalls(SHMEM_TEAM_WORLD, result, data, 2, 1, 1); /* alltoalls_dest: two */
}

/* PEs of even numbers meet; the writer is none of them. */
static void wrong_team(const struct race_job *job)
{
	shmem_team_t even = SHMEM_TEAM_INVALID;
	shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (job->n + 1) / 2, NULL, 0, &even);
	if (job->me == 1)
		shmem_long_p(data, 1, 2); /* wrong_team: one */
	shmem_quiet();
	if (job->fixed)
		shmem_team_sync(SHMEM_TEAM_WORLD);
	else if (even != SHMEM_TEAM_INVALID)
		shmem_team_sync(even);
	if (job->me == 0)
		(void)shmem_long_g(data, 2); /* wrong_team: two */
	if (even != SHMEM_TEAM_INVALID)
		shmem_team_destroy(even);
}

/* The same with an active set: PEs 0 and 1, then 0 to 2. */
static void wrong_set(const struct race_job *job)
{
	static long sync[2][SHMEM_BARRIER_SYNC_SIZE];
	for (int i = 0; i < SHMEM_BARRIER_SYNC_SIZE; i++)
		sync[0][i] = sync[1][i] = SHMEM_SYNC_VALUE;
	shmem_barrier_all();
	const int size = job->fixed ? 3 : 2;
	if (job->me == 2)
		shmem_long_p(data, 1, 1); /* wrong_set: one */
	if (job->me < size)
		shmem_barrier(0, 0, size, sync[job->fixed]);
	if (job->me == 0)
		(void)shmem_long_g(data, 1); /* wrong_set: two */
}

/* An exclusive sum of a PE depends on those below it; PE 0 knows nothing of PE 2. */
static void scan_as_barrier(const struct race_job *job)
{
	if (job->me == (job->fixed ? 0 : 2))
		shmem_long_p(data, 1, 1); /* scan_as_barrier: one */
	shmem_quiet();
	shmem_long_sum_inscan(SHMEM_TEAM_WORLD, result, result + 8, 1);
	if (job->me == (job->fixed ? 2 : 0))
		(void)shmem_long_g(data, 1); /* scan_as_barrier: two */
}

const struct race_case cases_coll[] = {
	{"reduce_dest", reduce_dest},
	{"reduce_source", reduce_source},
	{"broadcast_source", broadcast_source},
	{"broadcast_as_barrier", broadcast_as_barrier},
	{"fcollect_dest", fcollect_dest},
	{"collect_dest", collect_dest},
	{"alltoalls_dest", alltoalls_dest},
	{"wrong_team", wrong_team},
	{"wrong_set", wrong_set},
	{"scan_as_barrier", scan_as_barrier},
	{0},
};
