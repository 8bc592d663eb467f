/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What SHMEM_CTX_SESSION_BATCH changes: PE 0 puts bursts of words to the other PEs, each followed by a quiet, with and
 * without a session around each burst, in turn. Prints the best and the median time of a burst.
 *
 * 	FI_PGAS_NET=socket:lo oshrun -n 2 sh -c 'FI_PGAS_TEST_HOSTS=$((2 + OSHRUN_RANK)) exec session_bench [SAMPLES]'
 *
 * runs it with each PE as a host of its own on one machine.
 */
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 4096, REPEATS = 20, SAMPLES_MOST = 1000 };

static long words[MOST];

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double burst_us(int count, int session, long value)
{
	const int n = shmem_n_pes();
	const double start = shmemx_wtime();
	for (int r = 0; r < REPEATS; r++) {
		if (session)
			shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, NULL, 0);
		for (int i = 0; i < count; i++)
			shmem_long_p(&words[i], value + i, 1 + i % (n - 1));
		if (session)
			shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
		shmem_quiet();
	}
	return (shmemx_wtime() - start) / REPEATS * 1e6;
}

int main(int argc, char **argv)
{
	static double us[2][SAMPLES_MOST];
	shmem_init();
	const int me = shmem_my_pe(), n = shmem_n_pes(), samples = argc > 1 ? atoi(argv[1]) : 200;
	if (n < 2 || samples < 1 || samples > SAMPLES_MOST) {
		if (me == 0)
			fprintf(stderr, "session_bench: at least 2 PEs, and 1 to %d samples\n", SAMPLES_MOST);
		shmem_global_exit(2);
	}
	if (me == 0)
		printf("%d PEs, %d samples; microseconds of a burst and its quiet\n%8s%24s%24s\n%8s%12s%12s%12s%12s\n",
		       n, samples, "", "without a session", "with one", "puts", "best", "median", "best", "median");
	int wrong = 0;
	for (int count = 1; count <= MOST; count *= 4) {
		for (int k = 0; k < 2 * samples; k++) {
			const long value = (long)count * 100000 + k;
			shmem_barrier_all();
			if (me == 0)
				us[k % 2][k / 2] = burst_us(count, k % 2, value);
			shmem_barrier_all();
			for (int i = 0; i < count; i++)
				wrong += me && 1 + i % (n - 1) == me && words[i] != value + i;
		}
		for (int session = 0; session < 2; session++)
			qsort(us[session], (size_t)samples, sizeof(double), compare);
		if (me == 0)
			printf("%8d%12.2f%12.2f%12.2f%12.2f\n", count, us[0][0], us[0][samples / 2], us[1][0],
			       us[1][samples / 2]);
	}
	if (wrong)
		fprintf(stderr, "PE %d: %d words are wrong\n", me, wrong);
	shmem_finalize();
	return wrong != 0;
}
