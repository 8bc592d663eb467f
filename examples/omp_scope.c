/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * omp_scope: only the variables that are communicated are in the partition. The copies of the others are where OpenMP
 * puts them, and may differ in number and size from PE to PE.
 *
 * 	oshcc --omp -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu omp_scope.c -o omp_scope	(OSHCC_CC=clang)
 * 	SHMEM_SYMMETRIC_PARTITION0=64M:KIND=libomp oshrun -n 4 ./omp_scope
 */
#include <shmem.h>
#include <shmemx.h>
#include <shmem_omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 512 };

static int partition_of(double *x)
{
	int id = -1;
#pragma omp target data use_device_ptr(x)
	id = shmemx_partition_of(x);
	return id;
}

static void put(double *halo, double value, int pe)
{
#pragma omp target data use_device_ptr(halo)
	shmem_double_p(halo, value, pe);
}

int main(void)
{
	shmem_init();
	const int me = shmem_my_pe(), n = shmem_n_pes(), right = (me + 1) % n, left = (me + n - 1) % n;
	const int mine = N + 100 * me; /* differs between PEs */
	double *work = calloc((size_t)mine, sizeof *work), halo[2] = {0, 0}, last = 0;
	if (!work)
		shmem_global_exit(1);

	SHMEMX_OMP_PUSH_VARS(0, halo);
#pragma omp target enter data map(to : work [0:mine], halo)
	shmemx_omp_pop();

	int wrong = (partition_of(halo) != 0) + (partition_of(work) != -1);
	shmem_barrier_all();
#pragma omp target map(from : last)
	{
		for (int i = 0; i < mine; i++)
			work[i] = me + i * 0.25;
		last = work[mine - 1];
	}
	put(halo, last, right);
	shmem_barrier_all();
#pragma omp target
	work[0] += halo[0];
#pragma omp target exit data map(from : work [0:mine]) map(release : halo)

	wrong += work[0] != me + left + (N + 100 * left - 1) * 0.25;
	for (int i = 1; i < mine; i++)
		wrong += work[i] != me + i * 0.25;
	printf("PE %d: %d wrong\n", me, wrong);
	free(work);
	shmem_finalize();
	return wrong != 0;
}
