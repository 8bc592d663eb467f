/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rows of python_compare.py in C: a put of 8 bytes to the next PE, and sums of doubles over all PEs. Prints one
 * sample per line: name, nanoseconds per call.
 */
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>

enum { kSamples = 200, kLongest = 1 << 17 };

static double *source, *dest;
static long word;

static void report(const char *name, double begin, long calls)
{
	double end = shmemx_wtime();
	if (shmem_my_pe() == 0)
		printf("%s %.2f\n", name, (end - begin) * 1e9 / (double)calls);
}

static void time_single(void)
{
	int right = (shmem_my_pe() + 1) % shmem_n_pes();
	for (int sample = 0; sample < kSamples && shmem_my_pe() == 0; sample++) {
		double begin = shmemx_wtime();
		for (long i = 0; i < 1000; i++)
			shmem_long_p(&word, i, right);
		report("p", begin, 1000);
		begin = shmemx_wtime();
		for (long i = 0; i < 1000; i++)
			shmem_long_g(&word, right);
		report("g", begin, 1000);
		begin = shmemx_wtime();
		for (long i = 0; i < 1000; i++)
			shmem_long_atomic_fetch_add(&word, i, right);
		report("fetch_add", begin, 1000);
	}
	shmem_barrier_all();
}

static void time_sum(const char *name, size_t count, long calls)
{
	for (int sample = 0; sample < kSamples; sample++) {
		shmem_barrier_all();
		double begin = shmemx_wtime();
		for (long i = 0; i < calls; i++)
			shmem_double_sum_reduce(SHMEM_TEAM_WORLD, dest, source, count);
		report(name, begin, calls);
	}
}

int main(void)
{
	shmem_init();
	source = shmem_calloc(kLongest, sizeof(double));
	dest = shmem_calloc(kLongest, sizeof(double));
	if (!source || !dest)
		return 1;
	time_single();
	time_sum("sum8", 1, 100);
	time_sum("sum64K", 1 << 13, 10);
	time_sum("sum1M", kLongest, 2);
	shmem_finalize();
	return 0;
}
