// SPDX-License-Identifier: BSD-3-Clause
//
// SHMEM_DEBUG: checks that are too expensive to run always. With it contexts have a front without windows, so that
// every put, get and atomic takes the cold path and is checked there (shmem_cold.cpp); the hot path needs no code for
// it. This file checks for heap memory that is in no block, for source and destination that overlap, and for collective
// heap calls whose arguments differ between PEs.
#include "shmem_debug.hpp"
#include "core/shmem_fail.hpp"
#include "device/shmem_partition.hpp"

#include <cstdio>
#include <cstring>

#include <pgas/pgas_base.hpp>

namespace shmem {

void debug_remote(const char *name, const char *argument, const void *ptr, size_t bytes)
{
	const pgas::mutex_holder lock(g_shmem.heap_mutex);
	if (const partition *p = partition_of(ptr);
	    p && !p->pool.covers(reinterpret_cast<uintptr_t>(ptr) - p->mine.addr, bytes))
		fail(name, "%s %p (%zu bytes) is in partition %d, but not within one allocated block", argument, ptr,
		     bytes, p->wish.id);
	if (g_shmem.heap_.contains(ptr) && !g_shmem.heap_.covers(ptr, bytes))
		fail(name, "%s %p (%zu bytes) is in the symmetric heap, but not within one allocated block", argument,
		     ptr, bytes);
}

void debug_overlap(const char *name, const void *dest, const void *source, size_t bytes, int pe)
{
	const auto end = reinterpret_cast<uintptr_t>(dest), begin = reinterpret_cast<uintptr_t>(source);
	if (pe == g_shmem.my_pe && end < begin + bytes && begin < end + bytes)
		fail(name, "source %p and dest %p overlap (%zu bytes, both at PE %d)", source, dest, bytes, pe);
}

void debug_same(const char *name, const char *argument, uint64_t value)
{
	const team &world = g_teams[0];
	teams::exchange(g_teams[0], &value, sizeof value); // not the launcher's exchange: far PEs may need us meanwhile
	for (int pe = 0; pe < g_shmem.n_pes; pe++) {
		unsigned long long there;
		memcpy(&there, teams::exchanged(world, pe), sizeof there);
		if (there != value)
			fail(name, "%s is %llu here and %llu on PE %d; all PEs must pass the same", argument,
			     static_cast<unsigned long long>(value), there, pe);
	}
}

void debug_print_memory()
{
	fprintf(stderr, "PE %d of %d: static data %p, %zu bytes; symmetric heap %p, %zu bytes; thread level %d\n",
		g_shmem.my_pe, g_shmem.n_pes, reinterpret_cast<void *>(g_shmem.data.addr), g_shmem.data.bytes,
		reinterpret_cast<void *>(g_shmem.heap_part.addr + kInternalBytes),
		g_shmem.heap_part.bytes - kInternalBytes, g_shmem.thread_level);
}

} // namespace shmem
