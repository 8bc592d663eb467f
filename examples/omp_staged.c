/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * omp_staged: OpenSHMEM and OpenMP's target regions without partitions: arrays are in the symmetric heap, have copies
 * on the device, and are copied there and back around every call. omp_mapped.c does the same without that.
 *
 * 	oshcc -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu omp_staged.c -o omp_staged		(OSHCC_CC=clang)
 * 	oshrun -n 4 ./omp_staged
 */
#include <shmem.h>
#include <stdio.h>

enum { M = 1000, N = 500 };

int main(void)
{
	shmem_init();
	const int me = shmem_my_pe(), n = shmem_n_pes(), right = (me + 1) % n, left = (me + n - 1) % n;
	float *x = shmem_malloc(M * sizeof *x), *u = shmem_malloc(N * sizeof *u), *v = shmem_malloc(N * sizeof *v);
	uint64_t *arrived = shmem_calloc(1, sizeof *arrived);
	if (!x || !u || !v || !arrived)
		shmem_global_exit(1);
	float *box = shmem_malloc(M * sizeof *box); /* the left PE's put must not overwrite what we still send */
	if (!box)
		shmem_global_exit(1);
	for (int i = 0; i < M; i++)
		x[i] = (float)(me * M + i);

#pragma omp target data map(tofrom : x [0:M]) map(from : u [0:N], v [0:N])
	{
#pragma omp target
		for (int i = 0; i < M; i++)
			x[i] += 0.5f;

			/* a put: to the host, to the other PE, to its device */
#pragma omp target update from(x [0:M])
		shmem_float_put_signal(box, x, M, arrived, 1, SHMEM_SIGNAL_ADD, right);
		shmem_signal_wait_until(arrived, SHMEM_CMP_EQ, 1);
		for (int i = 0; i < M; i++)
			x[i] = box[i];
#pragma omp target update to(x [0:M])

			/* a sum over all PEs of values that the devices have computed */
#pragma omp target teams distribute parallel for
		for (int i = 0; i < N; i++)
			v[i] = (float)(me + i);
#pragma omp target update from(v [0:N])
		shmem_float_sum_reduce(SHMEM_TEAM_WORLD, u, v, N);
#pragma omp target update to(u [0:N])
#pragma omp target teams distribute parallel for
		for (int i = 0; i < N; i++)
			u[i] *= 2;
	}

	int wrong = 0;
	for (int i = 0; i < M; i++)
		wrong += x[i] != (float)(left * M + i) + 0.5f;
	for (int i = 0; i < N; i++)
		wrong += u[i] != (float)(n * (n - 1) + 2 * n * i);
	printf("PE %d: %d wrong\n", me, wrong);
	shmem_finalize();
	return wrong != 0;
}
