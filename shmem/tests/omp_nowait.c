/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls that clang (LLVM 15 and later) generates for target constructs with nowait, written by hand, with a runtime
 * that does not wait unless it must: a variable in a partition is copied back when its region has run. The CPU as a
 * device runs regions at once, which hides the difference.
 */
#include <stdlib.h>

#include <shmem.h>
#include <shmem_omp.h>
#include <shmemx.h>

#include "fake_target.h"
#include "shmem_test.h"

enum { N = 100 };
static int x[N];

static void fill(void)
{
	for (int i = 0; i < N; i++)
		x[i] = i + 1;
}

static int is_times(int factor)
{
	for (int i = 0; i < N; i++)
		if (x[i] != factor * (i + 1))
			return 0;
	return 1;
}

/* #pragma omp target map(tofrom : x) nowait */
static void region(uint32_t version, uint64_t flags)
{
	void *bases[] = {x}, *begins[] = {x};
	int64_t sizes[] = {sizeof x}, types[] = {FAKE_TO | FAKE_FROM | FAKE_PARAMETER};
	struct fake_arguments a = {.version = version,
				   .count = 1,
				   .bases = bases,
				   .begins = begins,
				   .sizes = sizes,
				   .types = types,
				   .flags = flags};
	CHECK(__tgt_target_kernel(NULL, -1, 0, 0, NULL, &a) == 0);
	CHECK(a.version == version && a.flags == flags);
}

int main(void)
{
	setenv("SHMEM_SYMMETRIC_PARTITION0", "1M", 1);
	shmem_init();
	const size_t room = shmemx_partition_free_bytes(0);

	/* no memory is ours: the flag stays */
	fill();
	region(2, FAKE_NOWAIT);
	CHECK(fake_regions_waited_for == 0 && is_times(1));
	fake_taskwait();
	CHECK(is_times(2));

	CHECK(__tgt_set_shmem_allocator(shmem_partition_malloc, shmem_partition_free, 0) == 0);
	fill();
	region(2, FAKE_NOWAIT);
	CHECK(fake_regions_waited_for == 1 && is_times(2));
	fill();
	region(3, 0);
	CHECK(fake_regions_waited_for == 2 && is_times(2));
	/* LLVM 15 has other bytes there */
	fill();
	region(1, FAKE_NOWAIT);
	CHECK(fake_regions_waited_for == 3 && is_times(2));
	CHECK(shmemx_partition_free_bytes(0) == room);
	CHECK(__tgt_reset_device_allocator(0) == 0);
	test_done("regions with nowait");
	return 0;
}
