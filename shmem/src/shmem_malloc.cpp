// SPDX-License-Identifier: BSD-3-Clause
//
// Symmetric heap calls. All PEs call them alike, the allocator is deterministic, so all get the same offset, or all get
// NULL. The barriers are those the standard asks for: after allocation, before release.
#include "shmem_state.hpp"

#include <cstdio>

#include <pgas/pgas_base.hpp>

using namespace shmem;

namespace {

// For SHMEM_THREAD_MULTIPLE. The order of the collective calls is still up to the program.
pthread_mutex_t g_heap_mutex = PTHREAD_MUTEX_INITIALIZER;

void *grant(void *ptr)
{
	if (ptr)
		pshmem_barrier_all();
	return ptr;
}

void *allocate(const char *routine, size_t size, size_t align)
{
	check_running(routine);
	if (g.env.debug) {
		debug_same(routine, "size", size);
		debug_same(routine, "alignment", align);
	}
	if (!size)
		return nullptr;
	void *ptr;
	{
		const pgas::mutex_holder lock(g_heap_mutex);
		ptr = g.heap_.alloc(size, align);
	}
	return grant(ptr);
}

// A wild store of the program's own may have hit our records.
void debug_heap(const char *routine)
{
	if (const char *broken = g.env.debug ? g.heap_.check() : nullptr)
		fail(routine, "the records of the symmetric heap are damaged: %s", broken);
}

} // namespace

void shmem::debug_remote(const char *name, const char *argument, const void *ptr, size_t bytes)
{
	const pgas::mutex_holder lock(g_heap_mutex);
	if (g.heap_.contains(ptr) && !g.heap_.covers(ptr, bytes))
		fail(name, "%s %p (%zu bytes) is in the symmetric heap, but not within one allocated block", argument,
		     ptr, bytes);
}

SHMEM_NAME(void *, shmem_malloc, (size_t size))
{
	return allocate("shmem_malloc", size, 0);
}
SHMEM_NAME(void *, shmem_malloc_with_hints, (size_t size, long hints))
{
	// one that is not known is no reason to fail: a program may know a later standard
	const long unknown = hints & ~(SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE);
	if (g.env.debug && unknown)
		fprintf(stderr, "PE %d: shmem_malloc_with_hints: unknown hints %#lx are ignored\n", g.my_pe, unknown);
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
	check_running("shmem_calloc");
	if (g.env.debug) {
		debug_same("shmem_calloc", "count", count);
		debug_same("shmem_calloc", "size", size);
	}
	if (!count || !size)
		return nullptr;
	void *ptr;
	{
		const pgas::mutex_holder lock(g_heap_mutex);
		ptr = g.heap_.alloc_zeroed(count, size);
	}
	return grant(ptr);
}
SHMEM_NAME(void, shmem_free, (void *ptr))
{
	check_running("shmem_free");
	if (g.env.debug)
		debug_same("shmem_free", "the block", ptr ? symmetric_offset(ptr) : 0);
	if (!ptr)
		return;
	pshmem_barrier_all();
	const pgas::mutex_holder lock(g_heap_mutex);
	debug_heap("shmem_free");
	if (!g.heap_.release(ptr))
		fail("shmem_free",
		     "%p is not a block of the symmetric heap (never allocated, inside a block, or freed before)", ptr);
}
SHMEM_NAME(void *, shmem_realloc, (void *ptr, size_t size))
{
	check_running("shmem_realloc");
	if (g.env.debug) {
		debug_same("shmem_realloc", "the block", ptr ? symmetric_offset(ptr) : 0);
		debug_same("shmem_realloc", "size", size);
	}
	if (!ptr)
		return pshmem_malloc(size);
	if (!size) {
		pshmem_free(ptr);
		return nullptr;
	}
	pshmem_barrier_all();
	void *moved;
	{
		const pgas::mutex_holder lock(g_heap_mutex);
		if (!g.heap_.is_block(ptr))
			fail("shmem_realloc", "%p is not a block of the symmetric heap", ptr);
		moved = g.heap_.resize(ptr, size);
	}
	pshmem_barrier_all();
	return moved;
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
