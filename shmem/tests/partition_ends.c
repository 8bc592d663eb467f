/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * partition_ends ID WHAT: abnormal ends with memory of partition ID; run_partition_ends.sh checks how the job ends.
 *
 *	get, put, coll	PE 1 is killed while the others copy from its memory or into it, or are in a collective with it
 *	exhausted	allocates blocks until there is no room: NULL, without other effects; all is free afterwards
 */
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shmem_test.h"

enum { BYTES = 1 << 20, BLOCK = 100000, MOST = 10000, LONGEST = 100 };

static void exhausted(int id)
{
	static char *blocks[MOST];
	const size_t before = shmemx_partition_free_bytes(id);
	const int right = (shmem_my_pe() + 1) % shmem_n_pes();
	int count = 0;
	while (count < MOST && (blocks[count] = shmem_partition_malloc(BLOCK, id)))
		count++;
	CHECK(count > 0 && count < MOST && shmemx_partition_free_bytes(id) < BLOCK + 64);
	CHECK(shmem_partition_malloc(BLOCK, id) == NULL && shmem_partition_calloc(BLOCK, 1, id) == NULL);
	shmem_barrier_all();
	const long value = 4711 + shmem_my_pe();
	shmem_putmem(blocks[count - 1] + BLOCK - sizeof value, &value, sizeof value, right);
	shmem_barrier_all();
	long got;
	shmem_getmem(&got, blocks[count - 1] + BLOCK - sizeof got, sizeof got, right);
	CHECK(got == value);
	shmem_partition_free(blocks[count / 2]);
	CHECK((blocks[count / 2] = shmem_partition_malloc(BLOCK, id)) != NULL);
	shmem_barrier_all();
	while (count > 0)
		shmem_partition_free(blocks[--count]);
	CHECK(shmemx_partition_free_bytes(id) == before);
	test_done("exhausted");
}

int main(int argc, char **argv)
{
	static long begun; /* on PE 1: how many have begun */
	const char *what = argc > 2 ? argv[2] : "";
	if (argc < 3)
		return 2;
	shmem_init();
	const int id = atoi(argv[1]), me = shmem_my_pe(), n = shmem_n_pes();
	if (strcmp(what, "exhausted") == 0) {
		exhausted(id);
		return 0;
	}
	char *x = shmem_partition_malloc(BYTES, id), *y = shmem_partition_malloc(BYTES, id), *host = calloc(BYTES, 1);
	CHECK(x && y && host && n > 1);
	shmem_barrier_all();
	if (strcmp(what, "coll") == 0 && me == 1)
		for (int i = 0; i < 5; i++)
			shmem_broadcastmem(SHMEM_TEAM_WORLD, y, x, BYTES, 1);
	if (me == 1) {
		if (strcmp(what, "coll") != 0)
			shmem_long_wait_until(&begun, SHMEM_CMP_GE, n - 1);
		raise(SIGKILL);
	}
	const time_t end = time(NULL) + LONGEST;
	for (int i = 0; time(NULL) < end; i++) {
		if (strcmp(what, "get") == 0)
			shmem_getmem(i % 2 ? host : y, x, BYTES, 1);
		else if (strcmp(what, "put") == 0)
			shmem_putmem(x, i % 2 ? host : y, BYTES, 1);
		else
			shmem_broadcastmem(SHMEM_TEAM_WORLD, y, x, BYTES, 1);
		if (i == 2 && strcmp(what, "coll") != 0)
			shmem_long_atomic_inc(&begun, 1);
	}
	printf("PE %d is still there\n", me);
	return 7;
}
