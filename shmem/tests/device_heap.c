/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device_heap WHAT: the names from the drafts for devices, in a job set up by the environment. WHAT:
 *   shmemg    there is a device heap: levels, allocation, teams and contexts of the specification for GPUs
 *   spaces    there are a CPU and a GPU space, and the CPU's is the default
 *   gpu       shmem_malloc returns device memory, and there is a CPU space; gpu-only: there is none
 *   none      no device: the provided and available features show it, and host memory works
 *   asked     as shmemg, but only the program's request has created the heap
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <shmem.h>
#include <shmemg.h>

#include "shmem_test.h"

enum { N = 300 };
static int me, n, right, left;

static void check_kind(const void *p)
{
	const int id = shmemx_partition_of(p);
	CHECK(id >= 0 && strcmp(shmemx_partition_kind(id), "host") != 0);
}

/* A block of device memory that another PE writes, by put and by an atomic. */
static void use_device(long *x)
{
	long mine[N], got[N];
	check_kind(x);
	for (int i = 0; i < N; i++)
		mine[i] = me * 1000L + i;
	shmem_barrier_all();
	shmem_long_put(x, mine, N, right);
	shmem_barrier_all();
	shmemx_partition_copy(got, x, sizeof got);
	for (int i = 0; i < N; i++)
		CHECK(got[i] == left * 1000L + i);
	shmem_barrier_all();
	shmem_long_atomic_add(x, 5, right);
	shmem_barrier_all();
	CHECK(shmem_long_g(x, me) == left * 1000L + 5);
	shmem_barrier_all();
}

static void use_host(long *x)
{
	CHECK(x != NULL && shmemx_partition_of(x) == -1);
	x[0] = me; /* the CPU may access it */
	shmem_barrier_all();
	CHECK(shmem_long_g(x, right) == right);
	shmem_barrier_all();
}

/* returns what an init that requests all levels provides; device levels are not thread levels */
static int start(int level)
{
	int provided = -1, threads = -1;
	CHECK(shmem_init_thread(level | SHMEM_DEVICE_HOST_INIT | SHMEM_DEVICE_KERNEL_INIT, &provided) == 0);
	CHECK((provided & ~(SHMEM_DEVICE_HOST_INIT | SHMEM_DEVICE_KERNEL_INIT)) == level);
	CHECK(!(provided & SHMEM_DEVICE_KERNEL_INIT)); /* never: no kernel can call the library */
	shmem_query_thread(&threads);
	CHECK(threads == level);
	return provided;
}

static void zeros(const void *addr, size_t bytes)
{
	char got[64];
	CHECK(bytes <= sizeof got);
	memset(got, 1, sizeof got);
	shmemx_partition_copy(got, addr, bytes);
	for (size_t i = 0; i < bytes; i++)
		CHECK(got[i] == 0);
}

static void shmemg(void)
{
	const int id = shmemx_partition_of(shmemg_malloc(1));
	const size_t free_before = shmemx_partition_free_bytes(id);
	long *x = shmemg_malloc(N * sizeof *x);
	use_device(x);
	CHECK(shmemg_malloc(0) == NULL && shmemg_calloc(0, 8) == NULL && shmemg_calloc(8, 0) == NULL);
	CHECK(shmemg_malloc(SIZE_MAX / 2) == NULL && shmemg_calloc(SIZE_MAX / 2, 4) == NULL);
	CHECK(shmemg_align(24, 8) == NULL && shmemg_align(0, 8) == NULL && shmemg_align(64, 0) == NULL);
	CHECK(shmemg_align((size_t)1 << 60, 8) == NULL); /* the same on all PEs, whatever their addresses */
	for (size_t align = 8; align <= 256; align *= 2) {
		char *a = shmemg_align(align, 10);
		CHECK(a != NULL && (uintptr_t)a % align == 0);
		check_kind(a);
		shmemg_free(a);
	}
	shmemg_free(x); /* another PE wrote to it */
	char *z = shmemg_calloc(16, 4);
	zeros(z, 64);
	shmemg_free(z);
	shmemg_free(NULL);
	CHECK(shmemx_partition_free_bytes(id) == free_before);
	/* one object under all its names */
	x = shmemg_malloc(N * sizeof *x);
	shmem_partition_free(x);
	long *y = shmem_partition_malloc(N * sizeof *y, id);
	CHECK(x == y);
	shmem_barrier_all();
	shmemg_free(y);
}

static void teams_and_contexts(void)
{
	CHECK(SHMEM_DEVICE_TEAM_WORLD == SHMEM_TEAM_WORLD && SHMEM_DEVICE_TEAM_SHARED == SHMEM_TEAM_SHARED);
	CHECK(shmem_team_n_pes(SHMEM_DEVICE_TEAM_WORLD) == n);
	/* PEs in the shared team can be reached by the device's own addresses */
	long *x = shmemg_calloc(1, sizeof *x);
	for (int i = 0; i < shmem_team_n_pes(SHMEM_DEVICE_TEAM_SHARED); i++)
		CHECK(shmem_team_ptr(SHMEM_DEVICE_TEAM_SHARED, x, i) != NULL);
	shmem_team_t half = SHMEM_TEAM_INVALID;
	CHECK(shmem_team_split_strided(SHMEM_DEVICE_TEAM_WORLD, 0, 1, (n + 1) / 2, NULL, 0, &half) == 0);
	CHECK((half != SHMEM_TEAM_INVALID) == (me < (n + 1) / 2));
	if (half != SHMEM_TEAM_INVALID) {
		CHECK(shmem_long_sum_reduce(half, x, x, 1) == 0);
		shmem_team_destroy(half);
	}
	/* there is no context for kernels, and the call says so */
	shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
	CHECK(shmem_ctx_create(SHMEM_DEVICE_CTX, &ctx) != 0 && ctx == SHMEM_CTX_INVALID);
	ctx = SHMEM_CTX_DEFAULT;
	CHECK(shmem_team_create_ctx(SHMEM_DEVICE_TEAM_WORLD, SHMEM_DEVICE_CTX | SHMEM_CTX_PRIVATE, &ctx) != 0);
	CHECK(ctx == SHMEM_CTX_INVALID && SHMEM_DEVICE_CTX_DEFAULT == SHMEM_CTX_INVALID);
	shmem_team_t owner = SHMEM_TEAM_WORLD;
	CHECK(shmem_ctx_get_team(SHMEM_DEVICE_CTX_DEFAULT, &owner) != 0 && owner == SHMEM_TEAM_INVALID);
	/* hints need not be followed */
	long *h = shmem_malloc_with_hints(64, SHMEM_DEVICE_MALLOC_HOST_INIT | SHMEM_DEVICE_MALLOC_KERNEL_INIT);
	use_host(h);
	shmem_free(h);
	shmemg_free(x);
}

static void spaces(int cpu, int gpu, int gpu_default)
{
	const shmem_space_t c = SHMEM_SPACE_CPU, g = SHMEM_SPACE_GPU, d = SHMEM_SPACE_DEFAULT;
	CHECK((c != SHMEM_SPACE_INVALID) == cpu && (g != SHMEM_SPACE_INVALID) == gpu);
	CHECK(d == (gpu_default ? g : c) && (c != g || !cpu));
	CHECK((shmem_space_is_available(c) == 0) == cpu && (shmem_space_is_available(g) == 0) == gpu);
	CHECK(shmem_space_is_available(d) == 0 && shmem_space_is_available(SHMEM_SPACE_INVALID) != 0);
	CHECK(SHMEM_TEAM_CPU == (cpu ? SHMEM_TEAM_WORLD : SHMEM_TEAM_INVALID));
	CHECK(SHMEM_TEAM_GPU == (gpu ? SHMEM_TEAM_WORLD : SHMEM_TEAM_INVALID));
	CHECK(shmem_space_malloc(SHMEM_SPACE_INVALID, 8) == NULL &&
	      shmem_space_calloc(SHMEM_SPACE_INVALID, 1, 8) == NULL);
	CHECK(shmem_space_align(SHMEM_SPACE_INVALID, 64, 8) == NULL);
	shmem_space_free(SHMEM_SPACE_INVALID, (void *)&me);
	const shmem_space_t all[] = {c, g};
	for (int i = 0; i < 2; i++) {
		if (all[i] == SHMEM_SPACE_INVALID)
			continue;
		long *x = shmem_space_malloc(all[i], N * sizeof *x);
		char *z = shmem_space_calloc(all[i], 16, 4), *a = shmem_space_align(all[i], 128, 100);
		CHECK(a != NULL && (uintptr_t)a % 128 == 0);
		zeros(z, 64);
		if (i == 0)
			use_host(x);
		else
			use_device(x);
		CHECK((shmemx_partition_of(z) == -1) == (i == 0) && (shmemx_partition_of(a) == -1) == (i == 0));
		CHECK(shmem_space_malloc(all[i], 0) == NULL && shmem_space_calloc(all[i], 0, 1) == NULL);
		CHECK(shmem_space_calloc(all[i], SIZE_MAX / 2, 4) == NULL);
		CHECK(shmem_space_align(all[i], 3, 8) == NULL && shmem_space_malloc(all[i], SIZE_MAX / 2) == NULL);
		shmem_space_free(all[i], x);
		shmem_space_free(all[i], z);
		shmem_space_free(all[i], a);
		shmem_space_free(all[i], NULL);
	}
	/* shmem_malloc uses the default space */
	long *x = shmem_malloc(N * sizeof *x);
	if (gpu_default)
		use_device(x);
	else
		use_host(x);
	shmem_space_free(d, x);
}

/* All allocations in the default space, which is the device's. */
static void gpu_default(void)
{
	long mine[N], got[N];
	char *z = shmem_calloc(8, 8), *a = shmem_align(64, 100), *h = shmem_malloc_with_hints(8, 0);
	zeros(z, 64);
	check_kind(a);
	check_kind(h);
	CHECK((uintptr_t)a % 64 == 0);
	long *x = shmem_realloc(NULL, N / 2 * sizeof *x);
	check_kind(x);
	for (int i = 0; i < N; i++)
		mine[i] = me * 7L + i;
	shmemx_partition_copy(x, mine, N / 2 * sizeof *x);
	long *y = shmem_realloc(x, N * sizeof *y); /* longer */
	check_kind(y);
	shmemx_partition_copy(got, y, N / 2 * sizeof *y);
	CHECK(memcmp(got, mine, N / 2 * sizeof *y) == 0);
	y = shmem_realloc(y, 10 * sizeof *y); /* shorter */
	shmemx_partition_copy(got, y, 10 * sizeof *y);
	CHECK(memcmp(got, mine, 10 * sizeof *y) == 0);
	CHECK(shmem_realloc(y, 0) == NULL);
	CHECK(shmem_malloc(0) == NULL && shmem_align(48, 8) == NULL);
	shmem_free(z);
	shmem_free(a);
	shmem_free(h);
	shmem_free(NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	const int host = !strcmp(what, "shmemg") || !strcmp(what, "none") || !strcmp(what, "asked");
	int provided = 0;
	if (host)
		provided = start(SHMEM_THREAD_MULTIPLE);
	else
		shmem_init();
	me = shmem_my_pe();
	n = shmem_n_pes();
	right = (me + 1) % n;
	left = (me + n - 1) % n;
	if (!strcmp(what, "shmemg") || !strcmp(what, "asked")) {
		CHECK(provided & SHMEM_DEVICE_HOST_INIT);
		if (!strcmp(what, "asked"))
			CHECK(shmemx_partition_count() == 1 && shmemx_partition_size(0) == (size_t)512 << 20);
		shmemg();
		teams_and_contexts();
		/* a later init without the level does not report it */
		CHECK(shmem_init_thread(SHMEM_THREAD_SINGLE, &provided) == 0 && provided == SHMEM_THREAD_MULTIPLE);
		shmem_finalize();
	} else if (!strcmp(what, "none")) {
		CHECK(!(provided & SHMEM_DEVICE_HOST_INIT) && shmemx_partition_count() == 0);
		spaces(1, 0, 0);
	} else if (!strcmp(what, "spaces")) {
		spaces(1, 1, 0);
	} else if (!strcmp(what, "no-gpu")) {
		spaces(1, 0, 0);
	} else if (!strcmp(what, "gpu") || !strcmp(what, "gpu-only")) {
		gpu_default();
		spaces(!strcmp(what, "gpu"), 1, 1);
	} else {
		return 3;
	}
	shmem_finalize();
	if (me == 0)
		printf("%s: ok\n", what);
	return 0;
}
