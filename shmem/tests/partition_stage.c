/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * partition_stage ID [direct|staged]: collect, alltoalls and alltoallv with random lengths, strides and places, on
 * memory of partition ID and on host memory: dest must be equal on both, including the gaps between blocks and
 * elements. With a fake CUDA driver a word tells which path they must have taken: staged calls wait for the driver
 * twice.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <shmem.h>
#include <shmemx.h>

#include "shmem_test.h"

enum { ROOM = 60000, MOST_PES = 16 };
static int me, n;
/* in the partition and in host memory */
static char *dest, *source, *host_dest, *host_source, *got;
static int (*calls_of)(const char *name);
static int waits; /* required per call; 0: unknown */

/* The same sequence on all PEs. */
static uint64_t state = 1;
static size_t chance(size_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (size_t)(state >> 33) % below;
}

static void fill(void)
{
	for (size_t i = 0; i < ROOM; i++) {
		host_source[i] = (char)((size_t)me * 31 + i * 7 + i / 251);
		host_dest[i] = (char)(i * 3 + 1);
	}
	shmemx_partition_copy(source, host_source, ROOM);
	shmemx_partition_copy(dest, host_dest, ROOM);
	shmem_barrier_all();
}

static void compare(const char *what)
{
	shmemx_partition_copy(got, dest, ROOM);
	for (size_t i = 0; i < ROOM; i++)
		if (got[i] != host_dest[i]) {
			fprintf(stderr, "PE %d: %s: byte %zu of dest is %d, not %d\n", me, what, i, got[i],
				host_dest[i]);
			abort();
		}
	shmem_barrier_all();
}

/* Runs CALL, into the partition, and counts the waits for its driver. */
#define COUNTED(CALL)                                                                                                  \
	do {                                                                                                           \
		const int before = calls_of ? calls_of("cuStreamSynchronize") : 0;                                     \
		CHECK((CALL) == 0);                                                                                    \
		if (waits)                                                                                             \
			CHECK(calls_of("cuStreamSynchronize") - before == waits);                                      \
	} while (0)

/* src, dst: in either memory; at least one is in the partition */
static void collect_of(const char *src, char *dst)
{
	size_t counts[MOST_PES];
	for (int i = 0; i < n; i++)
		counts[i] = chance(4) ? chance(ROOM / MOST_PES) : 0;
	counts[chance((size_t)n)] += 1; /* an empty transfer waits for nothing */
	COUNTED(shmem_collectmem(SHMEM_TEAM_WORLD, dst, src, counts[me]));
}

static void collects(void)
{
	for (int k = 0; k < 6; k++) {
		const uint64_t again = state;
		fill();
		collect_of(source, dest);
		shmem_barrier_all();
		const int known = waits;
		state = again;
		waits = 0;
		collect_of(host_source, host_dest);
		waits = known;
		compare("collect");
	}
}

static void alltoalls(void)
{
	for (int k = 0; k < 8; k++) {
		const ptrdiff_t dst = (ptrdiff_t)chance(3) + 1, sst = (ptrdiff_t)chance(3) + 1;
		const size_t count = 1 + chance(ROOM / MOST_PES / 3 / sizeof(int));
		fill();
		COUNTED(shmem_int_alltoalls(SHMEM_TEAM_WORLD, (int *)dest, (int *)source, dst, sst, count));
		CHECK(shmem_int_alltoalls(SHMEM_TEAM_WORLD, (int *)host_dest, (int *)host_source, dst, sst, count) ==
		      0);
		compare("alltoalls");
		/* bytes, from host memory: only results are staged */
		fill();
		CHECK(shmem_alltoallsmem(SHMEM_TEAM_WORLD, dest, host_source, dst, sst, count) == 0);
		CHECK(shmem_alltoallsmem(SHMEM_TEAM_WORLD, host_dest, host_source, dst, sst, count) == 0);
		compare("alltoalls from host memory");
	}
}

/* Blocks in any order, some of them empty, with gaps or contiguous. */
struct blocks {
	size_t counts[MOST_PES], displs[MOST_PES];
};

static void place(struct blocks *b, int gaps)
{
	size_t pos = gaps ? chance(20) : 0;
	const int first = gaps ? (int)chance((size_t)n) : 0;
	for (int i = 0; i < n; i++) {
		const int j = (first + i) % n;
		b->displs[j] = pos;
		pos += b->counts[j] + (gaps ? chance(10) : 0);
	}
	CHECK(pos <= ROOM / sizeof(short));
}

static void vectors(void)
{
	for (int k = 0; k < 8; k++) {
		struct blocks target, sender;
		/* all PEs draw all values, and keep their own */
		for (int i = 0; i < n; i++)
			for (int j = 0; j < n; j++) {
				const size_t count = chance(3) ? chance(ROOM / MOST_PES / sizeof(short) - 10) : 0;
				const size_t some = count + (i == 0 && j == n - 1);
				if (i == me)
					sender.counts[j] = some;
				if (j == me)
					target.counts[i] = some;
			}
		const uint64_t all = state;
		state += (uint64_t)me; /* each PE chooses its own places */
		place(&target, k % 2);
		place(&sender, k % 2);
		state = all;
		fill();
		COUNTED(shmemx_short_alltoallv(SHMEM_TEAM_WORLD, (short *)dest, target.counts, target.displs,
					       (short *)source, sender.counts, sender.displs));
		CHECK(shmemx_short_alltoallv(SHMEM_TEAM_WORLD, (short *)host_dest, target.counts, target.displs,
					     (short *)host_source, sender.counts, sender.displs) == 0);
		compare("alltoallv");
		/* host memory on either side */
		fill();
		CHECK(shmemx_short_alltoallv(SHMEM_TEAM_WORLD, (short *)dest, target.counts, target.displs,
					     (short *)host_source, sender.counts, sender.displs) == 0);
		CHECK(shmemx_short_alltoallv(SHMEM_TEAM_WORLD, (short *)host_dest, target.counts, target.displs,
					     (short *)source, sender.counts, sender.displs) == 0);
		compare("alltoallv with host memory");
	}
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	shmem_init();
	me = shmem_my_pe();
	n = shmem_n_pes();
	CHECK(n <= MOST_PES);
	if (argc > 2) {
		void *fake = dlopen(getenv("PGAS_CUDA_DRIVER"), RTLD_NOW | RTLD_NOLOAD);
		CHECK(fake != NULL);
		calls_of = (int (*)(const char *))dlsym(fake, "fake_calls");
		CHECK(calls_of != NULL);
		waits = strcmp(argv[2], "staged") == 0 ? 2 : 1;
	}
	const int id = atoi(argv[1]);
	dest = shmem_partition_malloc(ROOM, id);
	source = shmem_partition_malloc(ROOM, id);
	host_dest = shmem_malloc(ROOM);
	host_source = shmem_malloc(ROOM);
	got = malloc(ROOM);
	CHECK(dest && source && host_dest && host_source && got);
	collects();
	alltoalls();
	vectors();
	shmem_barrier_all();
	shmem_partition_free(source);
	shmem_partition_free(dest);
	shmem_free(host_source);
	shmem_free(host_dest);
	free(got);
	test_done("collect, alltoalls, alltoallv");
	return 0;
}
