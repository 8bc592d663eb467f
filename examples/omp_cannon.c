/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * omp_cannon: a matrix product on devices. Each PE has rows of A, B and C; the rows of B travel around the ring of PEs,
 * from device to device. The next rows are fetched into a spare block while the present ones are used.
 *
 * 	oshcc --omp -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu omp_cannon.c -o omp_cannon	(OSHCC_CC=clang)
 * 	SHMEM_SYMMETRIC_PARTITION0=64M:KIND=libomp oshrun -n 4 ./omp_cannon
 */
#include <shmem.h>
#include <shmemx.h>
#include <shmem_omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 24 }; /* of each PE */

static double of_a(int row, int column)
{
	return (double)((row * 7 + column * 3) % 11);
}
static double of_b(int row, int column)
{
	return (double)((row * 5 + column) % 13);
}

/* c += the columns of a that match these rows of b, times those rows; all are mapped */
static void multiply(double *c, double *a, double *b, int size, int first)
{
#pragma omp target teams distribute parallel for collapse(2)                                                           \
	map(alloc                                                                                                      \
	    : a [0:ROWS * size], b [0:ROWS * size], c [0:ROWS * size])
	for (int i = 0; i < ROWS; i++)
		for (int j = 0; j < size; j++) {
			double sum = 0;
			for (int k = 0; k < ROWS; k++)
				sum += a[i * size + first + k] * b[k * size + j];
			c[i * size + j] += sum;
		}
}

static void fetch(double *dst, double *src, int size, int pe)
{
#pragma omp target data use_device_ptr(dst, src)
	shmem_double_get_nbi(dst, src, (size_t)(ROWS * size), pe);
}

int main(void)
{
	shmem_init();
	const int me = shmem_my_pe(), n = shmem_n_pes(), size = n * ROWS, block = ROWS * size;
	__tgt_set_shmem_allocator(shmem_partition_malloc, shmem_partition_free, 0);
	double *a = malloc((size_t)block * sizeof *a), *c = calloc((size_t)block, sizeof *c);
	double *b = malloc((size_t)block * sizeof *b), *spare = malloc((size_t)block * sizeof *spare);
	if (!a || !b || !c || !spare)
		shmem_global_exit(1);
	for (int i = 0; i < ROWS; i++)
		for (int j = 0; j < size; j++) {
			a[i * size + j] = of_a(me * ROWS + i, j);
			b[i * size + j] = of_b(me * ROWS + i, j);
		}

#pragma omp target data map(to : a [0:block], b [0:block]) map(alloc : spare [0:block]) map(tofrom : c [0:block])
	{
		double *present = b, *coming = spare;
		for (int step = 0; step < n; step++) {
			shmem_barrier_all(); /* all PEs have the rows of this step */
			if (step + 1 < n)
				fetch(coming, present, size, (me + 1) % n);
			multiply(c, a, present, size, (me + step) % n * ROWS);
			shmem_quiet();
			shmem_barrier_all(); /* no PE reads `present` any more */
			double *last = present;
			present = coming;
			coming = last;
		}
	}

	int wrong = 0;
	for (int i = 0; i < ROWS; i++)
		for (int j = 0; j < size; j++) {
			double sum = 0;
			for (int k = 0; k < size; k++)
				sum += of_a(me * ROWS + i, k) * of_b(k, j);
			wrong += c[i * size + j] != sum; /* small integers: exact */
		}
	printf("PE %d: %d wrong\n", me, wrong);
	free(a);
	free(b);
	free(c);
	free(spare);
	shmem_finalize();
	return wrong != 0;
}
