// SPDX-License-Identifier: BSD-3-Clause
//
// One partition is the device heap (shmem_partition_text.cpp chooses it). This file has the calls that two drafts of
// the standard define for it: shmemg_*, of the specification for GPUs, and shmem_space_*, of the proposal for memory
// spaces, where the device heap is the GPU space and the symmetric heap the CPU space. Unlike shmem_partition_malloc()
// they are collective.
#include "shmem_space.hpp"
#include "core/shmem_export.hpp"
#include "core/shmem_fail.hpp"
#include "device/shmem_partition.hpp"

namespace shmem {
// --- spaces ----------------------------------------------------------------------------------------------------------

namespace {

enum class space : uintptr_t { none, cpu, gpu }; // the values of handles

shmem_space_t to_handle(space s)
{
	return reinterpret_cast<shmem_space_t>(s);
}

bool is_available(space s)
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
	return is_available(s) ? s : space::none;
}

space find_space(const char *routine, int which)
{
	check_running(routine);
	if (which < SHMEMX_SPACE_DEFAULT || which > SHMEMX_SPACE_GPU)
		fail(routine, "%d is not one of SHMEMX_SPACE_DEFAULT, SHMEMX_SPACE_CPU and SHMEMX_SPACE_GPU", which);
	if (which == SHMEMX_SPACE_DEFAULT)
		return device_heap_is_default() ? space::gpu : space::cpu;
	const space s = which == SHMEMX_SPACE_CPU ? space::cpu : space::gpu;
	return is_available(s) ? s : space::none;
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
	require_device_heap("shmemg_align");
	return is_alignment(alignment) ? device_heap_allocate("shmemg_align", size, alignment) : nullptr;
}
SHMEM_NAME(void, shmemg_free, (void *ptr))
{
	device_heap_release("shmemg_free", ptr);
}

// --- C names: memory spaces ------------------------------------------------------------------------------------------

SHMEM_NAME(shmem_space_t, shmemx_space, (int which))
{
	return to_handle(find_space("shmemx_space", which));
}
SHMEM_NAME(shmem_team_t, shmemx_space_team, (int which))
{
	return find_space("shmemx_space_team", which) == space::none ? SHMEM_TEAM_INVALID : SHMEM_TEAM_WORLD;
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
