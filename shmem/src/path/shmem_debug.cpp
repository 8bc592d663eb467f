// SPDX-License-Identifier: BSD-3-Clause
//
// SHMEM_DEBUG: checks that are too expensive to run always. With it contexts have a front without windows, so that
// every put, get and atomic takes the cold path and is checked there (shmem_cold.cpp); the hot path needs no code for
// it. This file checks for heap memory that is in no block, for source and destination that overlap or are no memory of
// this process, for collective heap calls whose arguments differ between PEs, for pSync arrays that are too short or
// were not set, for locks that this PE holds or does not hold, and for threads that may not call. Contexts and teams
// that were destroyed are kept, so that their use is noticed.
#include "shmem_debug.hpp"
#include "core/shmem_fail.hpp"
#include "device/shmem_partition.hpp"
#include "tool_place.hpp"
#include "tool_symbols.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include <pgas/pgas_base.hpp>
#include <teams/teams_coll.hpp>

namespace shmem {
namespace {

pthread_t g_first; // the thread that called shmem_init
uint64_t g_calls;
pthread_mutex_t g_locks_mutex = PTHREAD_MUTEX_INITIALIZER;
std::vector<const long *> g_locks; // that this PE holds
pthread_mutex_t g_psyncs_mutex = PTHREAD_MUTEX_INITIALIZER;
std::vector<const long *> g_psyncs; // static ones whose size was looked up

// Whether the page of this byte is mapped.
bool is_mapped(uintptr_t byte)
{
	static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
	unsigned char resident;
	return mincore(reinterpret_cast<void *>(byte & ~(page - 1)), 1, &resident) == 0 || errno != ENOMEM;
}

} // namespace

void debug_call(const char *name)
{
	pgas_add_relaxed(&g_calls, uint64_t{1});
	if (g_shmem.thread_level <= SHMEM_THREAD_FUNNELED && !pthread_equal(pthread_self(), g_first))
		fail(name,
		     "called by a second thread; the thread level is %s, which allows only the one that called "
		     "shmem_init_thread",
		     g_shmem.thread_level == SHMEM_THREAD_SINGLE ? "SHMEM_THREAD_SINGLE" : "SHMEM_THREAD_FUNNELED");
}

void debug_local(const char *name, const char *argument, const void *ptr, size_t bytes)
{
	const auto begin = reinterpret_cast<uintptr_t>(ptr);
	if (!g_shmem.devices && bytes && (!is_mapped(begin) || !is_mapped(begin + bytes - 1)))
		fail(name, "%s %p (%zu bytes) is not memory of this process", argument, ptr, bytes);
}

void debug_aligned(const char *name, const char *argument, const void *ptr, size_t bytes)
{
	if (reinterpret_cast<uintptr_t>(ptr) % bytes)
		fail(name, "%s %p is not aligned to its %zu bytes", argument, ptr, bytes);
}

void debug_apart(const char *name, const void *dest, size_t dest_bytes, const void *source, size_t source_bytes)
{
	const auto written = reinterpret_cast<uintptr_t>(dest), read = reinterpret_cast<uintptr_t>(source);
	if (written != read && written < read + source_bytes && read < written + dest_bytes)
		fail(name, "dest %p (%zu bytes) and source %p (%zu bytes) overlap", dest, dest_bytes, source,
		     source_bytes);
}

void debug_lock(const char *name, const long *lock, bool is_held)
{
	const pgas::mutex_holder guard(g_locks_mutex);
	const bool held = std::ranges::find(g_locks, lock) != g_locks.end();
	if (held && !is_held)
		fail(name, "this PE holds the lock %p already, and would wait for itself",
		     static_cast<const void *>(lock));
	if (!held && is_held)
		fail(name, "this PE does not hold the lock %p", static_cast<const void *>(lock));
}

void debug_note_lock(const long *lock, bool is_held)
{
	const pgas::mutex_holder guard(g_locks_mutex);
	if (is_held)
		g_locks.push_back(lock);
	else
		std::erase(g_locks, lock);
}

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

namespace {

// The size of a static array stands in the program's file, unless that was stripped.
void check_psync_bytes(const char *name, const long *psync, size_t bytes)
{
	const pgas::mutex_holder guard(g_psyncs_mutex);
	if (g_shmem.heap_.contains(psync) || std::ranges::find(g_psyncs, psync) != g_psyncs.end())
		return;
	const pgas_tools::file_place where = pgas_tools::find_file(psync);
	const uint64_t left = where.path.empty() ? 0 : pgas_tools::bytes_left_at(where.path.c_str(), where.address);
	if (left && left < bytes)
		fail(name, "pSync %p has %llu bytes, and must have %zu: declare it as an array of %zu longs",
		     static_cast<const void *>(psync), static_cast<unsigned long long>(left), bytes,
		     bytes / sizeof(long));
	g_psyncs.push_back(psync);
}

} // namespace

// Members that are here before this PE have written into its array: a count of arrivals in the first elements, one for
// each round of a sync, and an offset in the last that the library uses. All others must be as the program set them.
void debug_psync(const char *name, const long *psync, size_t longs, int count)
{
	debug_remote(name, "pSync", psync, longs * sizeof(long));
	check_psync_bytes(name, psync, longs * sizeof(long));
	const auto rounds = static_cast<size_t>(std::bit_width(static_cast<unsigned>(count - 1)));
	for (size_t i = 0; i < longs; i++) {
		const long value = pgas_load_relaxed(psync + i);
		const bool may_be_arrival = (i < rounds && value > 0 && value <= count) ||
					    i == pgas::teams::kSetFlags - 1;
		if (value != SHMEM_SYNC_VALUE && !may_be_arrival)
			fail(name,
			     "pSync[%zu] is %ld and not SHMEM_SYNC_VALUE (%ld): before the first call, assign that to "
			     "all %zu elements of pSync (%p) on all PEs of the set, and synchronise",
			     i, value, SHMEM_SYNC_VALUE, longs, static_cast<const void *>(psync));
	}
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

void debug_begin()
{
	g_first = pthread_self();
	g_calls = 0;
	g_locks.clear();
	g_psyncs.clear();
	fprintf(stderr, "PE %d of %d: static data %p, %zu bytes; symmetric heap %p, %zu bytes; thread level %d\n",
		g_shmem.my_pe, g_shmem.n_pes, reinterpret_cast<void *>(g_shmem.data.addr), g_shmem.data.bytes,
		reinterpret_cast<void *>(g_shmem.heap_part.addr + kInternalBytes),
		g_shmem.heap_part.bytes - kInternalBytes, g_shmem.thread_level);
}

void debug_end()
{
	uint64_t calls = pgas_load_relaxed(&g_calls), all = 0;
	teams::exchange(g_teams[0], &calls, sizeof calls);
	for (int pe = 0; pe < g_shmem.n_pes; pe++) {
		memcpy(&calls, teams::exchanged(g_teams[0], pe), sizeof calls);
		all += calls;
	}
	if (g_shmem.my_pe == 0)
		fprintf(stderr, "SHMEM_DEBUG: %llu calls of %d PEs were checked, and no mistake was found\n",
			static_cast<unsigned long long>(all), g_shmem.n_pes);
}

} // namespace shmem
