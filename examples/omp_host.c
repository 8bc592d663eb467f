/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * omp_host: for compilers whose runtime does not let the program choose where the copies of variables are, for example
 * gcc. The array itself is in the partition; target regions run where its memory is. clang compiles it as well.
 *
 * 	oshcc -fopenmp omp_host.c -o omp_host
 * 	SHMEM_SYMMETRIC_PARTITION0=64M:KIND=libomp oshrun -n 4 ./omp_host
 */
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>

enum { N = 1000 };

int main(void)
{
	shmem_init();
	const int me = shmem_my_pe(), n = shmem_n_pes(), right = (me + 1) % n, left = (me + n - 1) % n;
	float *x = shmem_partition_malloc(N * sizeof *x, 0), *box = shmem_partition_malloc(N * sizeof *box, 0);
	if (!x || !box)
		shmem_global_exit(1);

		/* device pointers, whatever the device is */
#pragma omp target is_device_ptr(x)
	for (int i = 0; i < N; i++)
		x[i] = (float)(me * N + i);
	shmem_float_put(box, x, N, right);
	shmem_barrier_all();
	int wrong = 0;
#pragma omp target is_device_ptr(box) map(tofrom : wrong)
	for (int i = 0; i < N; i++)
		wrong += box[i] != (float)(left * N + i);
	printf("PE %d: %d wrong\n", me, wrong);
	shmem_partition_free(box);
	shmem_partition_free(x);
	shmem_finalize();
	return wrong != 0;
}
