// SPDX-License-Identifier: BSD-3-Clause
//
// Symmetric heap calls. All PEs make the same calls and the allocator is deterministic, so all get the same offset, or
// all get NULL. The barriers are those that the standard requires: after allocation, before release.
// SHMEM_DEFAULT_SPACE=GPU directs the calls to the device heap.
#include "shmem_space.hpp"
#include "core/shmem_export.hpp"
#include "core/shmem_fail.hpp"
#include "path/shmem_address.hpp"
#include "path/shmem_debug.hpp"

#include <cstdio>

#include <pgas/pgas_base.hpp>

namespace shmem {
namespace {

void *grant(void *ptr)
{
	if (ptr)
		pshmem_barrier_all();
	return ptr;
}

// A wild store of the program may have hit our records.
void debug_heap(const char *routine)
{
	if (const char *broken = g_shmem.env.debug ? g_shmem.heap_.check() : nullptr)
		fail(routine, "the records of the symmetric heap are damaged: %s", broken);
}

} // namespace

void *heap_allocate(const char *routine, size_t size, size_t align)
{
	check_running(routine);
	if (g_shmem.env.debug) {
		debug_same(routine, "size", size);
		debug_same(routine, "alignment", align);
	}
	if (!size)
		return nullptr;
	void *ptr;
	{
		const pgas::mutex_holder lock(g_shmem.heap_mutex);
		ptr = g_shmem.heap_.alloc(size, align);
	}
	return grant(ptr);
}

void *heap_allocate_zeros(const char *routine, size_t count, size_t size)
{
	check_running(routine);
	if (g_shmem.env.debug) {
		debug_same(routine, "count", count);
		debug_same(routine, "size", size);
	}
	if (!count || !size)
		return nullptr;
	void *ptr;
	{
		const pgas::mutex_holder lock(g_shmem.heap_mutex);
		ptr = g_shmem.heap_.alloc_zeroed(count, size);
	}
	return grant(ptr);
}

void heap_release(const char *routine, void *ptr)
{
	check_running(routine);
	if (g_shmem.env.debug)
		debug_same(routine, "the block", ptr ? symmetric_offset(ptr) : 0);
	if (!ptr)
		return;
	pshmem_barrier_all();
	const pgas::mutex_holder lock(g_shmem.heap_mutex);
	debug_heap(routine);
	if (!g_shmem.heap_.release(ptr))
		fail(routine,
		     "%p is not a block of the symmetric heap (never allocated, inside a block, or freed before)", ptr);
}

void *heap_resize(const char *routine, void *ptr, size_t size)
{
	check_running(routine);
	if (g_shmem.env.debug) {
		debug_same(routine, "the block", ptr ? symmetric_offset(ptr) : 0);
		debug_same(routine, "size", size);
	}
	if (!ptr)
		return heap_allocate(routine, size, 0);
	if (!size) {
		heap_release(routine, ptr);
		return nullptr;
	}
	pshmem_barrier_all();
	void *moved;
	{
		const pgas::mutex_holder lock(g_shmem.heap_mutex);
		if (!g_shmem.heap_.is_block(ptr))
			fail(routine, "%p is not a block of the symmetric heap", ptr);
		moved = g_shmem.heap_.resize(ptr, size);
	}
	pshmem_barrier_all();
	return moved;
}

namespace {

// Allocates in the default space.
void *allocate(const char *routine, size_t size, size_t align)
{
	return device_heap_is_default() ? device_heap_allocate(routine, size, align)
					: heap_allocate(routine, size, align);
}

} // namespace
} // namespace shmem

using namespace shmem;

SHMEM_NAME(void *, shmem_malloc, (size_t size))
{
	return allocate("shmem_malloc", size, 0);
}
SHMEM_NAME(void *, shmem_malloc_with_hints, (size_t size, long hints))
{
	// an unknown hint is no reason to fail: the program may be written for a later standard
	const long unknown = hints & ~(SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE |
				       SHMEM_DEVICE_MALLOC_HOST_INIT | SHMEM_DEVICE_MALLOC_KERNEL_INIT);
	if (g_shmem.env.debug && unknown)
		fprintf(stderr, "PE %d: shmem_malloc_with_hints: unknown hints %#lx are ignored\n", g_shmem.my_pe,
			unknown);
	return allocate("shmem_malloc_with_hints", size, 0);
}
SHMEM_NAME(void *, shmem_align, (size_t alignment, size_t size))
{
	if (alignment == 0 || (alignment & (alignment - 1)))
		return nullptr;
	return allocate("shmem_align", size, alignment);
}
SHMEM_NAME(void *, shmem_calloc, (size_t count, size_t size))
{
	return device_heap_is_default() ? device_heap_allocate_zeros("shmem_calloc", count, size)
					: heap_allocate_zeros("shmem_calloc", count, size);
}
SHMEM_NAME(void, shmem_free, (void *ptr))
{
	if (device_heap_is_default())
		device_heap_release("shmem_free", ptr);
	else
		heap_release("shmem_free", ptr);
}
SHMEM_NAME(void *, shmem_realloc, (void *ptr, size_t size))
{
	return device_heap_is_default() ? device_heap_resize("shmem_realloc", ptr, size)
					: heap_resize("shmem_realloc", ptr, size);
}
SHMEM_NAME(void *, shmalloc, (size_t size))
{
	return pshmem_malloc(size);
}
SHMEM_NAME(void, shfree, (void *ptr))
{
	pshmem_free(ptr);
}
SHMEM_NAME(void *, shrealloc, (void *ptr, size_t size))
{
	return pshmem_realloc(ptr, size);
}
SHMEM_NAME(void *, shmemalign, (size_t alignment, size_t size))
{
	return pshmem_align(alignment, size);
}
