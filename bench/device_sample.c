/* SPDX-License-Identifier: BSD-3-Clause */
#include "device_sample.h"

#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SAMPLES = 15 };
static double sample_time, times[SAMPLES]; /* the first is read by PE 0 */

static double now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double one_sample(const struct row *r, size_t bytes, int count)
{
	const int me = shmem_my_pe(), mine = r->who == ALL || me == 0 || (r->who == BOTH && me == 1);
	shmem_barrier_all();
	const double begin = now_us();
	for (int i = 0; mine && i < count; i++)
		r->run(bytes);
	sample_time = mine ? (now_us() - begin) / count : 0;
	shmem_barrier_all();
	if (me != 0)
		return 0;
	double slowest = sample_time;
	for (int pe = 1; pe < shmem_n_pes(); pe++) {
		const double theirs = shmem_double_g(&sample_time, pe);
		slowest = theirs > slowest ? theirs : slowest;
	}
	return slowest;
}

static void measure(const struct row *r, size_t bytes)
{
	static int count;
	const int n = shmem_n_pes();
	const double once = one_sample(r, bytes, 1); /* also opens whatever has to be opened */
	const double again = one_sample(r, bytes, 1);
	if (shmem_my_pe() == 0) {
		const double t = again < once ? again : once;
		const double fit = 10000 / (t > 1 ? t : 1);
		const int many = fit < 1 ? 1 : fit > 200 ? 200 : (int)fit;
		for (int pe = 0; pe < n; pe++)
			shmem_int_p(&count, many, pe);
	}
	shmem_barrier_all();
	for (int s = 0; s < SAMPLES; s++)
		times[s] = one_sample(r, bytes, count);
	if (shmem_my_pe() != 0)
		return;
	qsort(times, SAMPLES, sizeof *times, by_size);
	printf("%s %d %zu %.3f %.3f\n", r->name, n, bytes, times[0], times[SAMPLES / 2]);
	fflush(stdout);
}

void sample_row(const struct row *r, size_t most)
{
	const size_t long_from = (size_t)32 << 20;
	if (r->unit == BYTES)
		measure(r, 1);
	for (size_t bytes = 8; bytes <= most; bytes *= bytes >= long_from ? 8 : bytes >= 1024 ? 32 : 128) {
		measure(r, bytes);
		if (r->unit == ONE_WORD)
			break;
	}
}
