/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * omp_buffers: two kinds of device memory that other PEs can access. A is a host array that a map clause brings to the
 * device; B is a block of the partition itself, which is never on the host.
 *
 * 	oshcc --omp -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu omp_buffers.c -o omp_buffers	(OSHCC_CC=clang)
 * 	SHMEM_SYMMETRIC_PARTITION0=64M:KIND=libomp oshrun -n 4 ./omp_buffers
 */
#include <shmem.h>
#include <shmemx.h>
#include <shmem_omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1000 };

static float *device_copy(float *a)
{
	float *on_device = NULL;
#pragma omp target data use_device_ptr(a)
	on_device = a;
	return on_device;
}

int main(void)
{
	shmem_init();
	const int me = shmem_my_pe(), n = shmem_n_pes(), right = (me + 1) % n, left = (me + n - 1) % n;
	__tgt_set_shmem_allocator(shmem_partition_malloc, shmem_partition_free, 0);

	float *a = malloc(N * sizeof *a);
	float *b = shmem_partition_malloc(N * sizeof *b, 0);
	if (!a || !b)
		shmem_global_exit(1);
	for (int i = 0; i < N; i++)
		a[i] = (float)i;

	int wrong = 0;
#pragma omp target data map(tofrom : a [0:N])
	{
		/* the partition's blocks are already device pointers */
#pragma omp target is_device_ptr(b)
		for (int i = 0; i < N; i++)
			b[i] = (float)(me + 1);

		const float *on_device = device_copy(a);
		wrong += on_device == a || shmemx_partition_of(on_device) != 0 || shmemx_partition_of(b) != 0;

		/* from the right PE's B into our A, both on the device */
		shmem_barrier_all();
		shmem_float_get((float *)on_device + N / 2, b, N / 2, right);
		shmem_barrier_all();

#pragma omp target teams distribute parallel for is_device_ptr(b)
		for (int i = 0; i < N; i++)
			a[i] += b[i];
	}
	for (int i = 0; i < N; i++)
		wrong += a[i] != (i < N / 2 ? (float)i : (float)(right + 1)) + (float)(me + 1);
	printf("PE %d: %d wrong; PE %d has read from here\n", me, wrong, left);
	shmem_partition_free(b);
	free(a);
	shmem_finalize();
	return wrong != 0;
}
