/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * omp_mapped: variables of map clauses are in a partition, so that OpenSHMEM works on the device's copies. Host arrays
 * are plain memory. Nothing is staged: compare omp_staged.c.
 *
 * 	oshcc --omp -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu omp_mapped.c -o omp_mapped	(OSHCC_CC=clang)
 * 	SHMEM_SYMMETRIC_PARTITION0=64M:KIND=libomp oshrun -n 4 ./omp_mapped
 */
#include <shmem.h>
#include <shmemx.h>
#include <shmem_omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { M = 1000, N = 500 };

/* x, y, u and v are mapped; in a region with use_device_ptr the names denote the device's copies */
static void put_to_right(float *x, float *y, uint64_t *arrived, int right)
{
#pragma omp target data use_device_ptr(x, y)
	shmem_float_put_signal(y, x, M, arrived, 1, SHMEM_SIGNAL_ADD, right);
}

static void add_up(float *u, float *v)
{
#pragma omp target data use_device_ptr(u, v)
	shmem_float_sum_reduce(SHMEM_TEAM_WORLD, u, v, N);
}

int main(void)
{
	shmem_init();
	const int me = shmem_my_pe(), n = shmem_n_pes(), right = (me + 1) % n, left = (me + n - 1) % n;
	__tgt_set_shmem_allocator(shmem_partition_malloc, shmem_partition_free, 0);

	float *x = malloc(M * sizeof *x), *y = malloc(M * sizeof *y);
	float *u = malloc(N * sizeof *u), *v = malloc(N * sizeof *v);
	uint64_t *arrived = shmem_calloc(1, sizeof *arrived);
	if (!x || !y || !u || !v || !arrived)
		shmem_global_exit(1);
	for (int i = 0; i < M; i++)
		x[i] = (float)(me * M + i);

		/* all PEs map the same variables in the same order, and so get the same symmetric objects */
#pragma omp target data map(to : x [0:M]) map(from : y [0:M], u [0:N], v [0:N])
	{
		shmem_barrier_all(); /* all PEs have them */
#pragma omp target
		for (int i = 0; i < M; i++)
			x[i] += 0.5f;

		put_to_right(x, y, arrived, right);
		shmem_signal_wait_until(arrived, SHMEM_CMP_EQ, 1);

#pragma omp target teams distribute parallel for
		for (int i = 0; i < N; i++)
			v[i] = (float)(me + i);
		add_up(u, v);
#pragma omp target teams distribute parallel for
		for (int i = 0; i < N; i++)
			u[i] *= 2;
		shmem_barrier_all(); /* no PE puts into them any more */
	}

	int wrong = 0;
	for (int i = 0; i < M; i++)
		wrong += y[i] != (float)(left * M + i) + 0.5f;
	for (int i = 0; i < N; i++)
		wrong += u[i] != (float)(n * (n - 1) + 2 * n * i);
	printf("PE %d: %d wrong\n", me, wrong);
	free(x);
	free(y);
	free(u);
	free(v);
	shmem_finalize();
	return wrong != 0;
}
