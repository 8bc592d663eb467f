/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * overlap: every round ends with a sum over all PEs, and one PE, another one each round, has twice the work. With the
 * blocking sum all wait for that PE in every round. With the non-blocking one a PE starts the sum, does the next
 * round's work, and only then waits; so it waits only if it is a whole round ahead. Both are timed, and must agree.
 *
 * 	oshrun -n 4 ./overlap [ROUNDS] [STEPS OF WORK]
 */
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>

static volatile double sink;

/* Some work; its result depends on the round and on the PE, not on the amount. */
static double work(long steps, long round, int me)
{
	double x = 1;
	for (long i = 0; i < steps; i++)
		x = x * 0.999999 + 1e-9;
	sink = x;
	return (double)(round * (me + 1));
}

static long steps_of(long steps, long round, int me, int n)
{
	return round % n == me ? 2 * steps : steps;
}

/* Each returns the sum of all rounds' sums. */
static double blocking(long rounds, long steps, double *part, double *sum)
{
	const int me = shmem_my_pe(), n = shmem_n_pes();
	double total = 0;
	for (long round = 0; round < rounds; round++) {
		part[0] = work(steps_of(steps, round, me, n), round, me);
		shmem_double_sum_reduce(SHMEM_TEAM_WORLD, &sum[round % 2], part, 1);
		total += sum[round % 2];
	}
	return total;
}

/* Two places in turn: who starts the sum of round r + 2 has ended that of r + 1, so all have read that of round r. */
static double overlapped(long rounds, long steps, double *part, double *sum)
{
	const int me = shmem_my_pe(), n = shmem_n_pes();
	shmemx_req_h request = SHMEMX_REQ_INVALID;
	double total = 0;
	for (long round = 0; round < rounds; round++) {
		part[round % 2] = work(steps_of(steps, round, me, n), round, me);
		if (round > 0) {
			shmemx_req_wait(&request); /* the sum of the round before */
			total += sum[(round - 1) % 2];
		}
		shmemx_double_sum_reduce_nb(SHMEM_TEAM_WORLD, &sum[round % 2], &part[round % 2], 1, &request);
	}
	if (rounds > 0) {
		shmemx_req_wait(&request);
		total += sum[(rounds - 1) % 2];
	}
	return total;
}

int main(int argc, char **argv)
{
	const long rounds = argc > 1 ? atol(argv[1]) : 200, steps = argc > 2 ? atol(argv[2]) : 20000;
	shmem_init();
	const int me = shmem_my_pe(), n = shmem_n_pes();
	double *part = shmem_calloc(2, sizeof *part), *sum = shmem_calloc(2, sizeof *sum);
	if (!part || !sum)
		shmem_global_exit(1);

	shmem_barrier_all();
	const double start = shmemx_wtime();
	const double first = blocking(rounds, steps, part, sum);
	shmem_barrier_all();
	const double middle = shmemx_wtime();
	const double second = overlapped(rounds, steps, part, sum);
	shmem_barrier_all();
	const double end = shmemx_wtime();

	/* 0 + 1 + ... + (rounds - 1), for every PE times its number + 1 */
	const double expected = (double)rounds * (double)(rounds - 1) / 2 * n * (n + 1) / 2;
	const int wrong = first != expected || second != expected;
	if (wrong)
		fprintf(stderr, "PE %d: the sums are %g and %g, and should be %g\n", me, first, second, expected);
	else if (me == 0)
		printf("%ld rounds on %d PEs: %.2f ms blocking, %.2f ms overlapped\n", rounds, n,
		       (middle - start) * 1e3, (end - middle) * 1e3);
	shmem_barrier_all();
	shmem_free(sum);
	shmem_free(part);
	shmem_finalize();
	return wrong;
}
