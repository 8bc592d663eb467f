/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wrong use of the device heap and of memory spaces, one kind per run, named by the argument. Each must end the job
 * with one line that names the error; run_device_heap.sh compares it.
 */
#include <shmem.h>
#include <shmemg.h>
#include <stdint.h>
#include <string.h>

static shmem_space_t made_up(uintptr_t value)
{
	return (shmem_space_t)value;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long here = 0;
	int provided;
	if (!strcmp(what, "before"))
		shmemg_malloc(8);
	if (!strcmp(what, "space-before"))
		return SHMEM_SPACE_GPU == SHMEM_SPACE_INVALID;
	if (!strcmp(what, "level"))
		shmem_init_thread(SHMEM_DEVICE_HOST_INIT | 7, &provided);
	if (!strcmp(what, "levels-differ"))
		shmem_init_thread(argc > 2 && !strcmp(argv[2], "0") ? SHMEM_DEVICE_HOST_INIT : 0, &provided);
	else
		shmem_init();
	const int right = (shmem_my_pe() + 1) % shmem_n_pes();
	if (!strcmp(what, "no-heap"))
		shmemg_malloc(8);
	else if (!strcmp(what, "no-heap-calloc"))
		shmemg_calloc(8, 8);
	else if (!strcmp(what, "no-heap-align"))
		shmemg_align(3, 8);
	else if (!strcmp(what, "no-heap-free"))
		shmemg_free(NULL);
	else if (!strcmp(what, "free-twice")) {
		void *x = shmemg_malloc(64);
		shmemg_free(x);
		shmemg_free(x);
	} else if (!strcmp(what, "free-inside"))
		shmemg_free((char *)shmemg_malloc(640) + 64);
	else if (!strcmp(what, "free-host"))
		shmemg_free(shmem_malloc(64));
	else if (!strcmp(what, "heap-free"))
		shmem_free(shmemg_malloc(64));
	else if (!strcmp(what, "free-other")) /* partition 0 is another one, of host memory */
		shmemg_free(shmem_partition_malloc(64, 0));
	else if (!strcmp(what, "space-free-other"))
		shmem_space_free(SHMEM_SPACE_CPU, shmem_space_malloc(SHMEM_SPACE_GPU, 64));
	else if (!strcmp(what, "space-free-host"))
		shmem_space_free(SHMEM_SPACE_GPU, shmem_space_malloc(SHMEM_SPACE_CPU, 64));
	else if (!strcmp(what, "space-malloc"))
		shmem_space_malloc(made_up(77), 64);
	else if (!strcmp(what, "space-calloc"))
		shmem_space_calloc(made_up(77), 1, 64);
	else if (!strcmp(what, "space-align"))
		shmem_space_align(made_up(77), 64, 64);
	else if (!strcmp(what, "space-free"))
		shmem_space_free(made_up(77), &here);
	else if (!strcmp(what, "space-available"))
		shmem_space_is_available(made_up(77));
	else if (!strcmp(what, "which"))
		shmemx_space(3);
	else if (!strcmp(what, "which-team"))
		shmemx_space_team(-1);
	else if (!strcmp(what, "ctx"))
		shmem_ctx_long_p(SHMEM_DEVICE_CTX_DEFAULT, shmemg_malloc(64), 1, right);
	else if (!strcmp(what, "realloc"))
		shmem_realloc(&here, 64);
	else if (!strcmp(what, "sizes-differ")) /* SHMEM_DEBUG */
		shmemg_malloc(shmem_my_pe() == 0 ? 64 : 128);
	else if (!strcmp(what, "blocks-differ")) { /* SHMEM_DEBUG */
		void *x = shmemg_malloc(64), *y = shmemg_malloc(64);
		shmemg_free(shmem_my_pe() == 0 ? x : y);
	} else if (!strcmp(what, "after")) {
		shmem_finalize();
		shmemg_malloc(8);
	} else
		return 3;
	shmem_barrier_all();
	shmem_finalize();
	return 0;
}
