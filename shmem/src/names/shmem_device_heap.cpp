// SPDX-License-Identifier: BSD-3-Clause
//
// The device heap: one partition, which shmem_partition_text.cpp chooses. Unlike shmem_partition_malloc() its calls are
// collective.
#include "shmem_space.hpp"
#include "core/shmem_fail.hpp"
#include "device/shmem_device.hpp"
#include "path/shmem_debug.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include <pgas/pgas_base.hpp>

namespace shmem {

partition &require_device_heap(const char *routine)
{
	check_running(routine);
	if (!g_partitions.device_heap)
		fail(routine, "this job has no device heap; set SHMEM_DEVICE_SYMMETRIC_SIZE to its size on each PE");
	return *g_partitions.device_heap;
}

namespace {

// All PEs get the same result, so either all of them or none meet in the barrier.
void *grant(void *ptr)
{
	if (ptr)
		pshmem_barrier_all();
	return ptr;
}

// The alignment that addresses of equal offsets share on all PEs: that of the start of the heap. Computed once, from
// all PEs.
size_t common_alignment(const partition &p)
{
	if (g_partitions.device_heap_align)
		return g_partitions.device_heap_align;
	const uint64_t mine = p.mine.addr;
	teams::exchange(g_teams[0], &mine, sizeof mine);
	uint64_t bits = 0;
	for (int pe = 0; pe < g_shmem.n_pes; pe++) {
		uint64_t there;
		memcpy(&there, teams::exchanged(g_teams[0], pe), sizeof there);
		bits |= there;
	}
	g_partitions.device_heap_align = size_t{1} << std::countr_zero(bits);
	return g_partitions.device_heap_align;
}

} // namespace

bool has_device_heap()
{
	return g_partitions.device_heap != nullptr;
}

bool device_heap_is_default()
{
	return g_partitions.spaces.gpu_default;
}

void *device_heap_allocate(const char *routine, size_t size, size_t align)
{
	partition &p = require_device_heap(routine);
	if (g_shmem.env.debug) {
		debug_same(routine, "size", size);
		debug_same(routine, "alignment", align);
	}
	if (!size || (align && common_alignment(p) < align))
		return nullptr;
	return grant(partition_allocate(p, size, align));
}

void *device_heap_allocate_zeros(const char *routine, size_t count, size_t size)
{
	partition &p = require_device_heap(routine);
	if (g_shmem.env.debug) {
		debug_same(routine, "count", count);
		debug_same(routine, "size", size);
	}
	return grant(partition_allocate_zeros(routine, p, count, size));
}

void device_heap_release(const char *routine, void *ptr)
{
	partition &p = require_device_heap(routine);
	const uintptr_t offset = reinterpret_cast<uintptr_t>(ptr) - p.mine.addr;
	if (g_shmem.env.debug)
		debug_same(routine, "the block", ptr ? offset : UINT64_MAX);
	if (!ptr)
		return;
	pshmem_barrier_all();
	if (!partition_release(p, ptr))
		fail(routine, "%p is not a block of the device heap (never allocated, inside a block, or freed before)",
		     ptr);
}

void *device_heap_resize(const char *routine, void *ptr, size_t size)
{
	partition &p = require_device_heap(routine);
	if (!ptr)
		return device_heap_allocate(routine, size, 0);
	if (!size) {
		device_heap_release(routine, ptr);
		return nullptr;
	}
	const uintptr_t offset = reinterpret_cast<uintptr_t>(ptr) - p.mine.addr;
	size_t before;
	{
		const pgas::mutex_holder lock(g_shmem.heap_mutex);
		before = offset < p.mine.bytes ? p.pool.block_bytes(offset) : 0;
	}
	if (!before)
		fail(routine, "%p is not a block of the device heap", ptr);
	void *moved = device_heap_allocate(routine, size, 0);
	if (!moved)
		return nullptr;
	device_copy(moved, ptr, std::min(before, size), routine);
	device_heap_release(routine, ptr);
	return moved;
}

} // namespace shmem
