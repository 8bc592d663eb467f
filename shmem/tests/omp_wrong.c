/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wrong use of libshmem-omp, one kind per run, named by the argument. Each must end the job with one line that names
 * the error; run_omp.sh compares it. Partition 1 is memory of OpenMP's device, 2 is of an emulated one.
 */
#include <omp.h>
#include <shmem.h>
#include <shmemx.h>
#include <shmem_omp.h>
#include <stdlib.h>
#include <string.h>

static void *device_address(float *x)
{
	void *addr = NULL;
#pragma omp target data use_device_ptr(x)
	addr = x;
	return addr;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	if (!strcmp(what, "before"))
		__tgt_set_shmem_allocator(shmem_partition_malloc, shmem_partition_free, 1);
	if (!strcmp(what, "scope-before"))
		shmemx_omp_push(1);
	shmem_init();
	size_t n = 1000;
	float *x = calloc(n, sizeof *x);
	if (!strcmp(what, "no-such"))
		__tgt_set_shmem_allocator(shmem_partition_malloc, shmem_partition_free, 7);
	else if (!strcmp(what, "emulated"))
		__tgt_set_shmem_allocator(shmem_partition_malloc, shmem_partition_free, 2);
	else if (!strcmp(what, "scope-no-such"))
		shmemx_omp_push(7);
	else if (!strcmp(what, "null"))
		__tgt_set_shmem_allocator(shmem_partition_malloc, NULL, 1);
	else if (!strcmp(what, "device"))
		__tgt_set_device_allocator(4711, (void *)shmem_partition_malloc, (void *)shmem_partition_free);
	else if (!strcmp(what, "pop"))
		shmemx_omp_pop();
	else
		__tgt_set_shmem_allocator(shmem_partition_malloc, shmem_partition_free, 1);
	if (!strcmp(what, "exhausted")) {
		n = shmemx_partition_size(1);
		x = realloc(x, n * sizeof *x);
	}
#pragma omp target enter data map(to : x [0:n])
	if (!strcmp(what, "freed"))
		shmem_partition_free(device_address(x));
	else if (!strcmp(what, "freed-block"))
		shmem_partition_free(omp_alloc(100, omp_shmem_mem_alloc));
	else if (!strcmp(what, "finalized"))
		shmem_finalize();
#pragma omp target exit data map(from : x [0:n])
	free(x);
	return 3; /* no error was reported */
}
