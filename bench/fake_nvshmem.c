/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The NVSHMEM calls of nvshmem_rows, implemented with our OpenSHMEM, for tests without NVSHMEM and without a device: it
 * checks its arguments, and like NVSHMEM ends the process at a collective if FAKE_NVSHMEM_SHARED says that processes
 * share a device. Times measured with it are meaningless.
 */
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static int initialized;
static unsigned char secret[124];

static void no_collective(void)
{
	if (!getenv("FAKE_NVSHMEM_SHARED"))
		return;
	fprintf(stderr, "fake nvshmem: not supported by processes that share a device\n");
	exit(255);
}

EXPORT int nvshmemx_get_uniqueid(int *id)
{
	if (id[0] != (1 << 16) + 128)
		return 1;
	memset(id + 1, 0x5a, sizeof secret);
	return 0;
}

EXPORT int nvshmemx_set_attr_uniqueid_args(int rank, int ranks, const int *id, int *attributes)
{
	memset(secret, 0x5a, sizeof secret);
	if (attributes[0] != (1 << 16) + 144 || memcmp(id + 1, secret, sizeof secret) != 0)
		return 1;
	attributes[35] = rank == shmem_my_pe() && ranks == shmem_n_pes(); /* the last word of it */
	return 0;
}

EXPORT int nvshmemx_hostlib_init_attr(unsigned flags, const int *attributes)
{
	initialized = flags == 1 << 3 && attributes[35] == 1;
	return initialized ? 0 : 7;
}

EXPORT void nvshmemx_hostlib_finalize(void)
{
	initialized = 0;
}

EXPORT void *nvshmem_malloc(size_t bytes)
{
	return initialized ? shmem_malloc(bytes) : NULL;
}

EXPORT void nvshmem_putmem(void *dst, const void *src, size_t bytes, int pe)
{
	shmem_putmem(dst, src, bytes, pe);
}

EXPORT void nvshmem_getmem(void *dst, const void *src, size_t bytes, int pe)
{
	shmem_getmem(dst, src, bytes, pe);
}

EXPORT void nvshmem_quiet(void)
{
	shmem_quiet();
}

EXPORT int nvshmem_alltoallmem(int32_t team, void *dst, const void *src, size_t bytes)
{
	no_collective();
	return team ? 1 : shmem_alltoallmem(SHMEM_TEAM_WORLD, dst, src, bytes);
}

EXPORT int nvshmem_fcollectmem(int32_t team, void *dst, const void *src, size_t bytes)
{
	no_collective();
	return team ? 1 : shmem_fcollectmem(SHMEM_TEAM_WORLD, dst, src, bytes);
}

EXPORT int nvshmem_broadcastmem(int32_t team, void *dst, const void *src, size_t bytes, int root)
{
	no_collective();
	return team ? 1 : shmem_broadcastmem(SHMEM_TEAM_WORLD, dst, src, bytes, root);
}

EXPORT int nvshmem_double_sum_reduce(int32_t team, double *dst, const double *src, size_t count)
{
	no_collective();
	return team ? 1 : shmem_double_sum_reduce(SHMEM_TEAM_WORLD, dst, src, count);
}
