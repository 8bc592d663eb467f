// SPDX-License-Identifier: BSD-3-Clause
//
// One partition is the device heap (shmem_partition_text.cpp chooses it). This file has the calls that two drafts of
// the standard define for it: shmemg_*, of the specification for GPUs, and shmem_space_*, of the proposal for memory
// spaces, where the device heap is the GPU space and the symmetric heap the CPU space. Unlike shmem_partition_malloc()
// they are collective.
#include "shmem_space.hpp"
#include "device/shmem_partition.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include <pgas/pgas_base.hpp>

namespace shmem {
namespace {

partition &must_have(const char *routine)
{
	check_running(routine);
	if (!g_partitions.device_heap)
		fail(routine, "this job has no device heap; set SHMEM_DEVICE_SYMMETRIC_SIZE to its size on each PE");
	return *g_partitions.device_heap;
}

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
	for (int pe = 0; pe < g.n_pes; pe++) {
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
	partition &p = must_have(routine);
	if (g.env.debug) {
		debug_same(routine, "size", size);
		debug_same(routine, "alignment", align);
	}
	if (!size || (align && common_alignment(p) < align))
		return nullptr;
	return grant(partition_allocate(p, size, align));
}

void *device_heap_allocate_zeros(const char *routine, size_t count, size_t size)
{
	partition &p = must_have(routine);
	if (g.env.debug) {
		debug_same(routine, "count", count);
		debug_same(routine, "size", size);
	}
	return grant(partition_allocate_zeros(routine, p, count, size));
}

void device_heap_release(const char *routine, void *ptr)
{
	partition &p = must_have(routine);
	const uintptr_t offset = reinterpret_cast<uintptr_t>(ptr) - p.mine.addr;
	if (g.env.debug)
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
	partition &p = must_have(routine);
	if (!ptr)
		return device_heap_allocate(routine, size, 0);
	if (!size) {
		device_heap_release(routine, ptr);
		return nullptr;
	}
	const uintptr_t offset = reinterpret_cast<uintptr_t>(ptr) - p.mine.addr;
	size_t before;
	{
		const pgas::mutex_holder lock(g.heap_mutex);
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

// --- spaces ----------------------------------------------------------------------------------------------------------

namespace {

enum class space : uintptr_t { none, cpu, gpu }; // the values of handles

shmem_space_t to_handle(space s)
{
	return reinterpret_cast<shmem_space_t>(s);
}

bool available(space s)
{
	const space_wish &wish = g_partitions.spaces;
	return s == space::cpu ? wish.cpu : s == space::gpu && wish.gpu && has_device_heap();
}

// The space of a handle. `none`: SHMEM_SPACE_INVALID, or a space that this job does not have.
space from_handle(const char *routine, shmem_space_t handle)
{
	check_running(routine);
	const auto s = static_cast<space>(reinterpret_cast<uintptr_t>(handle));
	if (s > space::gpu)
		fail(routine, "%p is no memory space; use SHMEM_SPACE_DEFAULT, SHMEM_SPACE_CPU or SHMEM_SPACE_GPU",
		     static_cast<void *>(handle));
	return available(s) ? s : space::none;
}

space named(const char *routine, int which)
{
	check_running(routine);
	if (which < SHMEMX_SPACE_DEFAULT || which > SHMEMX_SPACE_GPU)
		fail(routine, "%d is not one of SHMEMX_SPACE_DEFAULT, SHMEMX_SPACE_CPU and SHMEMX_SPACE_GPU", which);
	if (which == SHMEMX_SPACE_DEFAULT)
		return device_heap_is_default() ? space::gpu : space::cpu;
	const space s = which == SHMEMX_SPACE_CPU ? space::cpu : space::gpu;
	return available(s) ? s : space::none;
}

bool is_alignment(size_t align)
{
	return align && !(align & (align - 1));
}

} // namespace
} // namespace shmem

using namespace shmem;

// --- C names: the specification for GPUs -----------------------------------------------------------------------------

SHMEM_NAME(void *, shmemg_malloc, (size_t size))
{
	return device_heap_allocate("shmemg_malloc", size, 0);
}
SHMEM_NAME(void *, shmemg_calloc, (size_t count, size_t size))
{
	return device_heap_allocate_zeros("shmemg_calloc", count, size);
}
SHMEM_NAME(void *, shmemg_align, (size_t alignment, size_t size))
{
	must_have("shmemg_align");
	return is_alignment(alignment) ? device_heap_allocate("shmemg_align", size, alignment) : nullptr;
}
SHMEM_NAME(void, shmemg_free, (void *ptr))
{
	device_heap_release("shmemg_free", ptr);
}

// --- C names: memory spaces ------------------------------------------------------------------------------------------

SHMEM_NAME(shmem_space_t, shmemx_space, (int which))
{
	return to_handle(named("shmemx_space", which));
}
SHMEM_NAME(shmem_team_t, shmemx_space_team, (int which))
{
	return named("shmemx_space_team", which) == space::none ? SHMEM_TEAM_INVALID : SHMEM_TEAM_WORLD;
}
SHMEM_NAME(int, shmem_space_is_available, (shmem_space_t where))
{
	return from_handle("shmem_space_is_available", where) == space::none;
}
SHMEM_NAME(void *, shmem_space_malloc, (shmem_space_t where, size_t size))
{
	switch (from_handle("shmem_space_malloc", where)) {
	case space::cpu:
		return heap_allocate("shmem_space_malloc", size, 0);
	case space::gpu:
		return device_heap_allocate("shmem_space_malloc", size, 0);
	default:
		return nullptr;
	}
}
SHMEM_NAME(void *, shmem_space_calloc, (shmem_space_t where, size_t count, size_t size))
{
	switch (from_handle("shmem_space_calloc", where)) {
	case space::cpu:
		return heap_allocate_zeros("shmem_space_calloc", count, size);
	case space::gpu:
		return device_heap_allocate_zeros("shmem_space_calloc", count, size);
	default:
		return nullptr;
	}
}
SHMEM_NAME(void *, shmem_space_align, (shmem_space_t where, size_t alignment, size_t size))
{
	const auto s = from_handle("shmem_space_align", where);
	if (s == space::none || !is_alignment(alignment))
		return nullptr;
	return s == space::cpu ? heap_allocate("shmem_space_align", size, alignment)
			       : device_heap_allocate("shmem_space_align", size, alignment);
}
SHMEM_NAME(void, shmem_space_free, (shmem_space_t where, void *ptr))
{
	switch (from_handle("shmem_space_free", where)) {
	case space::cpu:
		return heap_release("shmem_space_free", ptr);
	case space::gpu:
		return device_heap_release("shmem_space_free", ptr);
	default:
		return;
	}
}
