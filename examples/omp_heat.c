/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * omp_heat: the heat equation on a periodic three-dimensional grid, which is cut into slabs. Each PE's slab is on its
 * device, with a plane of each neighbour next to it; planes go from device to device while the inner part is computed.
 *
 * 	oshcc --omp -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu omp_heat.c -o omp_heat	(OSHCC_CC=clang)
 * 	SHMEM_SYMMETRIC_PARTITION0=64M:KIND=libomp oshrun -n 4 ./omp_heat [STEPS]
 */
#include <shmem.h>
#include <shmemx.h>
#include <shmem_omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { X = 12, Y = 10, Z = 4, PLANE = X * Y, SLAB = PLANE * (Z + 2) }; /* plane 0 and plane Z + 1 are the neighbours' */

#pragma omp declare target
static double one_point(const double *src, int x, int y, int z)
{
	const double *plane = src + z * PLANE;
	const double sides = plane[y * X + (x + 1) % X] + plane[y * X + (x + X - 1) % X] + plane[(y + 1) % Y * X + x] +
			     plane[(y + Y - 1) % Y * X + x] + plane[y * X + x + PLANE] + plane[y * X + x - PLANE];
	return plane[y * X + x] + 0.1 * (sides - 6 * plane[y * X + x]);
}
#pragma omp end declare target

/* planes first to last - 1, on the device; the slabs are mapped */
static void compute(double *dst, double *src, int first, int last)
{
#pragma omp target teams distribute parallel for collapse(2) map(alloc : dst [0:SLAB], src [0:SLAB])
	for (int z = first; z < last; z++)
		for (int y = 0; y < Y; y++)
			for (int x = 0; x < X; x++)
				dst[z * PLANE + y * X + x] = one_point(src, x, y, z);
}

/* our outer planes into the neighbours' slabs; the device's addresses are symmetric */
static void send_planes(double *slab, int below, int above)
{
#pragma omp target data use_device_ptr(slab)
	{
		shmem_double_put_nbi(slab + (Z + 1) * PLANE, slab + PLANE, PLANE, below);
		shmem_double_put_nbi(slab, slab + Z * PLANE, PLANE, above);
	}
}

/* the same on the host, all slabs at once */
static double *expected(int n, long steps)
{
	const int planes = n * Z;
	double *a = malloc((size_t)(planes + 2) * PLANE * sizeof *a),
	       *b = malloc((size_t)(planes + 2) * PLANE * sizeof *b);
	if (!a || !b)
		shmem_global_exit(1);
	for (int i = 0; i < planes * PLANE; i++)
		a[PLANE + i] = (double)(i % 97);
	for (long step = 0; step < steps; step++) {
		for (int i = 0; i < PLANE; i++) {
			a[i] = a[planes * PLANE + i];
			a[(planes + 1) * PLANE + i] = a[PLANE + i];
		}
		for (int z = 1; z <= planes; z++)
			for (int y = 0; y < Y; y++)
				for (int x = 0; x < X; x++)
					b[z * PLANE + y * X + x] = one_point(a, x, y, z);
		double *last = a;
		a = b;
		b = last;
	}
	free(b);
	return a;
}

int main(int argc, char **argv)
{
	const long steps = argc > 1 ? atol(argv[1]) : 20;
	shmem_init();
	const int me = shmem_my_pe(), n = shmem_n_pes(), above = (me + 1) % n, below = (me + n - 1) % n;
	__tgt_set_shmem_allocator(shmem_partition_malloc, shmem_partition_free, 0);
	double *now = calloc(SLAB, sizeof *now), *then = calloc(SLAB, sizeof *then);
	if (!now || !then || steps <= 0)
		shmem_global_exit(2);
	for (int i = 0; i < Z * PLANE; i++)
		now[PLANE + i] = (double)((me * Z * PLANE + i) % 97);

	double *a = now, *b = then;
#pragma omp target data map(tofrom : a [0:SLAB], b [0:SLAB])
	{
		double *src = a, *dst = b;
		for (long step = 0; step < steps; step++) {
			shmem_barrier_all(); /* the planes that we overwrite have been read */
			send_planes(src, below, above);
			compute(dst, src, 2, Z);
			shmem_barrier_all(); /* the planes have arrived */
			compute(dst, src, 1, 2);
			compute(dst, src, Z, Z + 1);
			double *last = src;
			src = dst;
			dst = last;
		}
		shmem_barrier_all();
	}

	const double *got = steps % 2 ? then : now;
	double *want = expected(n, steps);
	int wrong = 0;
	for (int i = 0; i < Z * PLANE; i++) {
		const double error = got[PLANE + i] - want[PLANE + me * Z * PLANE + i];
		wrong += !(error < 1e-9 && error > -1e-9);
	}
	printf("PE %d: %d wrong\n", me, wrong);
	free(want);
	free(now);
	free(then);
	shmem_finalize();
	return wrong != 0;
}
