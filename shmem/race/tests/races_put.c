/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts, gets and atomics that meet at one place. */
#include "races.h"

/* PE 2 reads what PE 0 puts to PE 1; nobody says when. */
static void missing_barrier(const struct race_job *job)
{
	const long value = 1;
	if (job->me == 0)
		shmem_long_put(data, &value, 1, 1); /* missing_barrier: one */
	if (job->fixed)
		shmem_barrier_all();
	if (job->me == 2)
		(void)shmem_long_g(data, 1); /* missing_barrier: two */
}

/* PE 1 has its copy before it says so, but PE 0 does not wait for that. */
static void get_vs_put(const struct race_job *job)
{
	long copy[4];
	if (job->me == 1)
		shmem_long_get(copy, data, 4, 2); /* get_vs_put: one */
	if (job->fixed)
		shmem_sync_all();
	if (job->me == 0)
		shmem_long_p(data + 3, 1, 2); /* get_vs_put: two */
}

static void two_puts(const struct race_job *job)
{
	if (job->me < 2)
		shmem_long_p(data + (job->fixed ? job->me : 0), job->me, 2); /* two_puts: one, two_puts: two */
}

/* Longs 0, 2, 4, ... and 0, 3, 6, ...: 0 and 6 are in both. */
static void strided_overlap(const struct race_job *job)
{
	const long values[4] = {1, 2, 3, 4};
	if (job->me == 0)
		shmem_long_iput(data, values, 2, 1, 4, 2); /* strided_overlap: one */
	if (job->me == 1 && job->fixed)
		shmem_long_iput(data + 1, values, 2, 1, 4, 2);
	else if (job->me == 1)
		shmem_long_iput(data, values, 3, 1, 4, 2); /* strided_overlap: two */
}

/* Blocks of two longs at 0, 4, 8 and at 3, 7, 11. */
static void blocks_overlap(const struct race_job *job)
{
	const long values[6] = {1, 2, 3, 4, 5, 6};
	if (job->me == 0)
		shmem_long_ibput(data, values, 4, 2, 2, 3, 2); /* blocks_overlap: one */
	if (job->me == 1 && job->fixed)
		shmem_long_ibput(data + 2, values, 4, 2, 2, 3, 2);
	else if (job->me == 1)
		shmem_long_ibput(data + 3, values, 4, 2, 2, 3, 2); /* blocks_overlap: two */
}

/* Neighbours in one word are no race; the same byte is. */
static void same_byte(const struct race_job *job)
{
	const char letter = 'x';
	char *pos = (char *)data + (job->fixed ? job->me : 0);
	if (job->me < 2)
		shmem_char_put(pos, &letter, 1, 2); /* same_byte: one, same_byte: two */
}

/* Large transfers that share their last long. */
static void long_overlap(const struct race_job *job)
{
	enum { kCount = 4096 };
	static long src[kCount], dst[2 * kCount];
	if (job->me == 0)
		shmem_long_put(dst, src, kCount, 2); /* long_overlap: one */
	if (job->me == 1)
		shmem_long_put(dst + kCount - !job->fixed, src, kCount, 2); /* long_overlap: two */
}

/* Atomics are atomic among themselves only. */
static void atomic_vs_put(const struct race_job *job)
{
	if (job->me == 0)
		shmem_long_atomic_inc(counters, 2); /* atomic_vs_put: one */
	if (job->me == 1 && job->fixed)
		shmem_long_atomic_set(counters, 5, 2);
	else if (job->me == 1)
		shmem_long_p(counters, 5, 2); /* atomic_vs_put: two */
}

static void atomic_vs_get(const struct race_job *job)
{
	if (job->me == 0)
		shmem_long_atomic_add(counters, 3, 2); /* atomic_vs_get: one */
	if (job->me == 1 && job->fixed)
		(void)shmem_long_atomic_fetch(counters, 2);
	else if (job->me == 1)
		(void)shmem_long_g(counters, 2); /* atomic_vs_get: two */
}

/* The source of a put that is under way is written anew. */
static void source_reuse(const struct race_job *job)
{
	if (job->me == 0) {
		shmem_long_put_nbi(data, result, 8, 1); /* source_reuse: one */
		if (job->fixed)
			shmem_quiet();
		shmem_long_get(result + 4, flags, 2, 1); /* source_reuse: two */
	}
}

/* What a get brings is passed on before it is there. */
static void unfinished_get(const struct race_job *job)
{
	static long private_copy[4];
	long *copy = private_copy;
	if (job->me == 0) {
		shmem_long_get_nbi(copy, data, 4, 1); /* unfinished_get: one */
		if (job->fixed)
			shmem_quiet();
		shmem_long_put(result, copy, 4, 1); /* unfinished_get: two */
	}
}

static void unfinished_fetch(const struct race_job *job)
{
	long old; /* not symmetric */
	if (job->me == 0) {
		shmem_long_atomic_fetch_inc_nbi(&old, counters, 1); /* unfinished_fetch: one */
		if (job->fixed)
			shmem_quiet();
		shmem_long_put(result, &old, 1, 1); /* unfinished_fetch: two */
		shmem_quiet();
	}
}

/* The get is under way while its source is overwritten: sync waits for nothing. */
static void get_under_way(const struct race_job *job)
{
	long copy;
	if (job->me == 0)
		shmem_long_get_nbi(&copy, data, 1, 1); /* get_under_way: one */
	if (job->fixed)
		shmem_quiet();
	shmem_sync_all();
	if (job->me == 1)
		shmem_long_p(data, 1, 1); /* get_under_way: two */
	shmem_quiet();
}

const struct race_case cases_put[] = {
	{"missing_barrier", missing_barrier},
	{"get_vs_put", get_vs_put},
	{"two_puts", two_puts},
	{"strided_overlap", strided_overlap},
	{"blocks_overlap", blocks_overlap},
	{"same_byte", same_byte},
	{"long_overlap", long_overlap},
	{"atomic_vs_put", atomic_vs_put},
	{"atomic_vs_get", atomic_vs_get},
	{"source_reuse", source_reuse},
	{"unfinished_get", unfinished_get},
	{"unfinished_fetch", unfinished_fetch},
	{"get_under_way", get_under_way},
	{0},
};
