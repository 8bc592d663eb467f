/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wrong use of partitions, one kind per run, named by the argument. Each must end the job with one line that names the
 * error; run_partition.sh compares it. Partition 1 is device memory.
 */
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	shmem_init();
	const int me = shmem_my_pe(), right = (me + 1) % shmem_n_pes();
	long *x = shmem_partition_malloc(1000 * sizeof *x, 1), here[4] = {0};
	if (!x)
		return 2;
	if (!strcmp(what, "no-such"))
		shmem_partition_malloc(8, 7);
	else if (!strcmp(what, "free-twice")) {
		shmem_partition_free(x);
		shmem_partition_free(x);
	} else if (!strcmp(what, "free-inside"))
		shmem_partition_free(x + 1);
	else if (!strcmp(what, "free-other"))
		shmem_partition_free(here);
	else if (!strcmp(what, "heap-free"))
		shmem_free(x);
	else if (!strcmp(what, "pe"))
		shmem_long_p(x, 1, shmem_n_pes());
	else if (!strcmp(what, "beyond"))
		shmem_long_put(x, here, shmemx_partition_size(1), right);
	else if (!strcmp(what, "unaligned"))
		shmem_long_atomic_inc((long *)(void *)((char *)x + 3), right);
	else if (!strcmp(what, "lock"))
		shmem_set_lock(x);
	else if (!strcmp(what, "psync"))
		shmem_barrier(0, 0, 1 + (me == 0 ? 0 : me), x);
	else if (!strcmp(what, "touch"))
		*(volatile long *)x = 1;
	else if (!strcmp(what, "hole")) /* SHMEM_DEBUG */
		shmem_long_p(x + 1100, 1, right);
	else if (!strcmp(what, "order")) { /* SHMEM_DEBUG */
		shmem_partition_malloc(me == 0 ? 64 : 640, 1);
		shmem_barrier_all();
		shmem_long_p(x, 1, right);
	} else if (!strcmp(what, "after")) {
		shmem_finalize();
		shmem_partition_malloc(8, 1);
	} else
		return 3;
	shmem_barrier_all();
	shmem_finalize();
	return 0;
}
