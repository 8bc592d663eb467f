/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device_rows ID [MOST]: puts, gets, atomics and collectives on memory of partition ID, next to the same staged by hand
 * through host memory, as a program does without partitions. bench/device_compare runs it.
 *
 * The output is described in device_sample.h. copy is a copy within this PE's own partition: no operation between
 * processes can be faster than that. The target PE of a put waits on the CPU, in a barrier.
 */
#include "device_sample.h"

#include <shmem.h>
#include <shmemx.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int id, me, n;
static char *src, *dst;           /* in the partition */
static char *host_from, *host_to; /* in the heap */
static uint64_t sent, taken;      /* signals of the staged put */

/* --- what is measured; each is called `count` times by the PEs that take part ------------------------------------- */

static void do_copy(size_t bytes)
{
	shmemx_partition_copy(dst, src, bytes);
}
static void do_put(size_t bytes)
{
	shmem_putmem(dst, src, bytes, 1);
}
static void do_get(size_t bytes)
{
	shmem_getmem(dst, src, bytes, 1);
}
static void do_put_host(size_t bytes) /* the source is in host memory */
{
	shmem_putmem(dst, host_from, bytes, 1);
}
static void do_fetch_add(size_t bytes)
{
	(void)bytes;
	shmem_long_atomic_fetch_add((long *)dst, 1, 1);
}
static void do_put_signal(size_t bytes)
{
	shmem_putmem_signal(dst, src, bytes, &sent, 1, SHMEM_SIGNAL_ADD, 1);
}

/* Staged by hand: device to host, host to host, a signal, host to device there, a signal back. Both PEs take part. */
static void do_staged(size_t bytes)
{
	static uint64_t round;
	round++;
	if (me == 0) {
		shmemx_partition_copy(host_from, src, bytes);
		shmem_putmem_signal(host_to, host_from, bytes, &sent, round, SHMEM_SIGNAL_SET, 1);
		shmem_signal_wait_until(&taken, SHMEM_CMP_GE, round);
	} else if (me == 1) {
		shmem_signal_wait_until(&sent, SHMEM_CMP_GE, round);
		shmemx_partition_copy(dst, host_to, bytes);
		shmem_uint64_atomic_set(&taken, round, 0);
	}
}

static size_t block(size_t bytes) /* of each member, so that each PE moves `bytes` */
{
	return bytes / (size_t)n ? bytes / (size_t)n : 1;
}
static void do_alltoall(size_t bytes)
{
	shmem_alltoallmem(SHMEM_TEAM_WORLD, dst, src, block(bytes));
}
static void do_alltoall_staged(size_t bytes)
{
	const size_t all = block(bytes) * (size_t)n;
	shmemx_partition_copy(host_from, src, all);
	shmem_alltoallmem(SHMEM_TEAM_WORLD, host_to, host_from, block(bytes));
	shmemx_partition_copy(dst, host_to, all);
	shmem_sync_all();
}
static void do_broadcast(size_t bytes)
{
	shmem_broadcastmem(SHMEM_TEAM_WORLD, dst, src, bytes, 0);
}
static void do_broadcast_staged(size_t bytes)
{
	if (me == 0)
		shmemx_partition_copy(host_from, src, bytes);
	shmem_broadcastmem(SHMEM_TEAM_WORLD, host_to, host_from, bytes, 0);
	shmemx_partition_copy(dst, host_to, bytes);
	shmem_sync_all();
}
static void do_fcollect(size_t bytes)
{
	shmem_fcollectmem(SHMEM_TEAM_WORLD, dst, src, block(bytes));
}
static void do_fcollect_staged(size_t bytes)
{
	const size_t all = block(bytes) * (size_t)n;
	shmemx_partition_copy(host_from, src, block(bytes));
	shmem_fcollectmem(SHMEM_TEAM_WORLD, host_to, host_from, block(bytes));
	shmemx_partition_copy(dst, host_to, all);
	shmem_sync_all();
}
static void do_gather(size_t bytes)
{
	shmemx_gathermem(SHMEM_TEAM_WORLD, dst, src, block(bytes), 0);
}
static void do_gather_staged(size_t bytes)
{
	shmemx_partition_copy(host_from, src, block(bytes));
	shmemx_gathermem(SHMEM_TEAM_WORLD, host_to, host_from, block(bytes), 0);
	if (me == 0)
		shmemx_partition_copy(dst, host_to, block(bytes) * (size_t)n);
	shmem_sync_all();
}
static void do_scatter(size_t bytes)
{
	shmemx_scattermem(SHMEM_TEAM_WORLD, dst, src, block(bytes), 0);
}
static void do_scatter_staged(size_t bytes)
{
	if (me == 0)
		shmemx_partition_copy(host_from, src, block(bytes) * (size_t)n);
	shmemx_scattermem(SHMEM_TEAM_WORLD, host_to, host_from, block(bytes), 0);
	shmemx_partition_copy(dst, host_to, block(bytes));
	shmem_sync_all();
}
/* blocks of one length: measures the time to find out where they go */
static void vector(void *dest, const void *source, size_t bytes)
{
	static size_t counts[256], displs[256];
	for (int j = 0; j < n; j++) {
		counts[j] = block(bytes);
		displs[j] = (size_t)j * block(bytes);
	}
	shmemx_alltoallvmem(SHMEM_TEAM_WORLD, dest, counts, displs, source, counts, displs);
}
static void do_alltoallv(size_t bytes)
{
	vector(dst, src, bytes);
}
static void do_alltoallv_staged(size_t bytes)
{
	const size_t all = block(bytes) * (size_t)n;
	shmemx_partition_copy(host_from, src, all);
	vector(host_to, host_from, bytes);
	shmemx_partition_copy(dst, host_to, all);
	shmem_sync_all();
}
static size_t floats(size_t bytes)
{
	return bytes / sizeof(float) ? bytes / sizeof(float) : 1;
}
static void do_sum(size_t bytes)
{
	shmem_float_sum_reduce(SHMEM_TEAM_WORLD, (float *)dst, (float *)src, floats(bytes));
}
static void do_sum_staged(size_t bytes)
{
	shmemx_partition_copy(host_from, src, floats(bytes) * sizeof(float));
	shmem_float_sum_reduce(SHMEM_TEAM_WORLD, (float *)host_to, (float *)host_from, floats(bytes));
	shmemx_partition_copy(dst, host_to, floats(bytes) * sizeof(float));
	shmem_sync_all();
}

static void do_scan(size_t bytes)
{
	shmem_float_sum_inscan(SHMEM_TEAM_WORLD, (float *)dst, (float *)src, floats(bytes));
}
static void do_scan_staged(size_t bytes)
{
	shmemx_partition_copy(host_from, src, floats(bytes) * sizeof(float));
	shmem_float_sum_inscan(SHMEM_TEAM_WORLD, (float *)host_to, (float *)host_from, floats(bytes));
	shmemx_partition_copy(dst, host_to, floats(bytes) * sizeof(float));
	shmem_sync_all();
}

/* --- measuring ---------------------------------------------------------------------------------------------------- */

static const struct row rows[] = {
	{"copy", do_copy, FIRST, BYTES},
	{"put", do_put, FIRST, BYTES},
	{"get", do_get, FIRST, BYTES},
	{"put-host", do_put_host, FIRST, BYTES},
	{"put-staged", do_staged, BOTH, BYTES},
	{"put-signal", do_put_signal, FIRST, BYTES},
	{"fetch-add", do_fetch_add, FIRST, ONE_WORD},
	{"alltoall", do_alltoall, ALL, WORDS},
	{"alltoall-staged", do_alltoall_staged, ALL, WORDS},
	{"broadcast", do_broadcast, ALL, BYTES},
	{"broadcast-staged", do_broadcast_staged, ALL, BYTES},
	{"fcollect", do_fcollect, ALL, WORDS},
	{"fcollect-staged", do_fcollect_staged, ALL, WORDS},
	{"alltoallv", do_alltoallv, ALL, WORDS},
	{"alltoallv-staged", do_alltoallv_staged, ALL, WORDS},
	{"gather", do_gather, ALL, WORDS},
	{"gather-staged", do_gather_staged, ALL, WORDS},
	{"scatter", do_scatter, ALL, WORDS},
	{"scatter-staged", do_scatter_staged, ALL, WORDS},
	{"sum", do_sum, ALL, WORDS},
	{"sum-staged", do_sum_staged, ALL, WORDS},
	{"scan", do_scan, ALL, WORDS},
	{"scan-staged", do_scan_staged, ALL, WORDS},
};

int main(int argc, char **argv)
{
	const size_t most = argc > 2 ? strtoull(argv[2], NULL, 10) : (size_t)32 << 20;
	shmem_init();
	me = shmem_my_pe();
	n = shmem_n_pes();
	id = argc > 1 ? atoi(argv[1]) : 1;
	if (n > SAMPLE_MOST_PES || !shmemx_partition_kind(id)) {
		if (me == 0)
			fprintf(stderr, "device_rows: no partition %d, or too many PEs\n", id);
		shmem_global_exit(2);
	}
	src = shmem_partition_calloc(most + 4096, 1, id);
	dst = shmem_partition_calloc(most + 4096, 1, id);
	host_from = shmem_calloc(most + 4096, 1);
	host_to = shmem_calloc(most + 4096, 1);
	if (!src || !dst || !host_from || !host_to) {
		if (me == 0)
			fprintf(stderr, "device_rows: no room for two buffers of %zu bytes\n", most);
		shmem_global_exit(2);
	}
	if (me == 0)
		printf("kind %s\n", shmemx_partition_kind(id));
	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
		if (n >= 2 || rows[r].run == do_copy)
			sample_row(&rows[r], most);
	shmem_finalize();
	return 0;
}
