// SPDX-License-Identifier: BSD-3-Clause
//
// All state of a PE in one struct, contexts and teams, and handles of both.
//
// A PE's symmetric memory is one region, key 0, of two parts: the program's writable static data and the symmetric
// heap. They lie at the same offsets of the region on all PEs (symmetric_offset), at addresses that each PE chooses.
// Before shmem_init and after shmem_finalize contexts point at an endpoint front whose windows are all zero, so every
// call takes its cold exit, which reports the error: the hot path needs no test of its own.
#pragma once

#define SHMEM_IMPL_BUILD 1
#ifndef FABRIC_DIRECT
#define FABRIC_DIRECT 1
#endif

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <pgas/pgas_counter.h>
#include <pgas/pgas_library_memory.hpp>
#include <pgas/pgas_open.h>

#include <pthread.h>
#include <sched.h>

#include <cstddef>
#include <cstdint>

#include "shmem_env.hpp"
#include "heap/shmem_heap.hpp"
#include <shmem.h>
#include <pshmem.h>
#include <shmemx.h>
#include <shmem_face.h>
#include <teams/teams_team.hpp>

#include "shmem_profile.h"

namespace shmem {

namespace teams = pgas::teams;

struct team;

// One cache line: what p, g, put, get and atomics of this context access besides the endpoint itself.
struct alignas(64) context {
	pgas_ep *front; // read by the hot path: the front of ep, or one without windows; never null
	fid_ep *ep;     // called by the cold path; never null
	// Number of operations handed to a wire since the last quiet. 0 while all of them went to mapped memory, where
	// they are complete when the call returns. quiet and fence check it, including the versions inlined into
	// programs.
	uint64_t pending;
	team *owner;
	context *next, *prev; // contexts of the same team
	// A put or get of one word that finds no window may go to the wire directly: the context is usable, and no
	// address can be device memory.
	bool plain;
	bool batch = false; // a session with SHMEM_CTX_SESSION_BATCH is open
};

// A SHMEM team, padded to the stride that shmem.h promises for predefined handles.
struct alignas(SHMEM_IMPL_TEAM_STRIDE) team : teams::team {
	shmem_team_config_t config{};
	context *contexts = nullptr;
	fid_ep *ep = nullptr; // for contexts: has this team's ranks, where they differ from the world's
	fid_av *av = nullptr;
};
static_assert(sizeof(team) == SHMEM_IMPL_TEAM_STRIDE);

struct part { // one of the two parts of the symmetric region: static data or heap
	uintptr_t addr = 0;
	size_t bytes = 0;
	int fd = -1;
};

// Address space for the library itself at the start of the heap. Only what teams use of it takes memory.
constexpr size_t kInternalBytes = pgas::kShmemMemory.internal_bytes;
// of these, at the end: the memory of a tool (shmem_profile.h)
constexpr size_t kToolBytes = kInternalBytes - pgas::kShmemMemory.tool_off;
// of teams' lines, at the start: for leaving (shmem_leave.cpp); the first is unused
constexpr int kLeaveLines = pgas::kShmemMemory.client_lines;
constexpr size_t kAddressBytes = 160; // maximum length of an endpoint's address
constexpr size_t kHostNameBytes = 32; // maximum length of a host's name in messages

extern const fi_pgas_ops g_no_short_ways; // put_word, get_word, start_get, start_fetch only

struct state {
	int my_pe = -1;
	int n_pes = 0;
	int thread_level = SHMEM_THREAD_SINGLE;
	bool initialized = false;
	// The provider's own functions, while arguments may reach them unchecked: after init and without SHMEM_DEBUG.
	// The provider refuses wrong addresses and PEs. Otherwise a table that refuses everything.
	const fi_pgas_ops *short_ways = &g_no_short_ways;
	bool finalized = false;
	unsigned inits = 0; // calls of init without a matching finalize yet
	int pid = 0;        // the process that joined: a child of fork() is no PE
	env_values env;
	heap heap_;
	// For SHMEM_THREAD_MULTIPLE: heap_mutex protects the heap (the program must still order its collective calls),
	// contexts_mutex the lists of contexts and the endpoints of teams.
	pthread_mutex_t heap_mutex = PTHREAD_MUTEX_INITIALIZER, contexts_mutex = PTHREAD_MUTEX_INITIALIZER;
	part data, heap_part;
	// lowest address of both parts, and their extent on this PE; other PEs have other distances between them
	uintptr_t base = 0;
	size_t span = 0;
	// the library's own symmetric memory, at the start of the heap: for leaving (shmem_leave.cpp) and for teams
	char *internal = nullptr;
	uint64_t *hosts = nullptr; // host of each PE
	// name of each PE's host, for messages; null when there is only one host
	char (*host_names)[kHostNameBytes] = nullptr;
	pgas_opened net{};     // fabric and domain; contexts of teams also open endpoints in it
	size_t copy_limit = 0; // bytes that the provider copies when it accepts an operation
	// There are partitions of device memory: the address decides (shmem_partition.hpp).
	bool devices = false;
	size_t behind_heap = 0; // address space of host partitions, after heap_part
	// Some PE is on another host, or its memory is not mapped here, or it asked us to act for it: waits poll the
	// wire from the start. Each PE decides this for itself and may do so late (is_far()), so it determines how a
	// wait waits and nothing else: see wait_pause().
	bool far = false;
	pthread_mutex_t quiet_mutex = PTHREAD_MUTEX_INITIALIZER; // for cold_quiet(), with SHMEM_THREAD_MULTIPLE
	fid_av *av = nullptr;
	fid_cntr *cntr = nullptr;
	fid_mr *mr = nullptr;
	int local_count = 0; // PEs on this host
	bool oversubscribed = false;
	cpu_set_t cpus{}; // CPUs that the PEs of this host together may run on
	teams::stream_limits stream;
	const shmem_impl_tool *tool = nullptr;
	bool *with_tool = nullptr; // which PEs have one; null when none has
};

#define SHMEM_HIDDEN                                                                                                   \
	__attribute__((visibility("hidden"))) // extern declarations need this explicitly, or accesses use the GOT
extern SHMEM_HIDDEN state g_shmem;
extern SHMEM_HIDDEN context g_contexts[2];           // handles 0 and SHMEM_IMPL_CTX_DEFAULT
inline constexpr context &g_default = g_contexts[1]; // SHMEM_CTX_DEFAULT; the one before it never has a window
extern SHMEM_HIDDEN context g_own; // for the library's own operations; no quiet of the program waits for them
static_assert(sizeof(context) == SHMEM_IMPL_CTX_DEFAULT);
extern SHMEM_HIDDEN team g_teams[2]; // SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED

// A handle is an offset from the default object (see shmem.h): one addition, no test.
inline context *from_handle(shmem_ctx_t h)
{
	return reinterpret_cast<context *>(reinterpret_cast<uintptr_t>(&g_default) - SHMEM_IMPL_CTX_DEFAULT +
					   reinterpret_cast<uintptr_t>(h));
}
inline shmem_ctx_t to_handle(const context *c)
{
	return reinterpret_cast<shmem_ctx_t>(reinterpret_cast<uintptr_t>(c) - reinterpret_cast<uintptr_t>(&g_default) +
					     SHMEM_IMPL_CTX_DEFAULT);
}
inline team *from_handle(shmem_team_t h)
{
	return reinterpret_cast<team *>(reinterpret_cast<uintptr_t>(&g_teams[0]) - SHMEM_IMPL_TEAM_WORLD +
					reinterpret_cast<uintptr_t>(h));
}

inline shmem_team_t to_handle(const team *t)
{
	return reinterpret_cast<shmem_team_t>(reinterpret_cast<uintptr_t>(t) -
					      reinterpret_cast<uintptr_t>(&g_teams[0]) + SHMEM_IMPL_TEAM_WORLD);
}

inline pgas_ep *front_of(const context *c)
{
	return c->front;
}
// shmem_state.cpp. For a new context: with SHMEM_DEBUG, and where there are device partitions, every call must reach
// the cold path.
pgas_ep *front_for(fid_ep *ep);
void set_default(fid_ep *ep); // becomes the default context's endpoint
fid_ep *closed_endpoint();    // an endpoint without windows

// The team of a handle, or null when it is not a usable team.
inline team *live_team(shmem_team_t handle)
{
	if (PGAS_UNLIKELY(handle == SHMEM_TEAM_INVALID))
		return nullptr;
	team *t = from_handle(handle);
	return PGAS_LIKELY(t->magic == teams::kTeamLive) ? t : nullptr;
}

// One thread may set it while others wait according to it.
inline bool is_far()
{
	return pgas_load_relaxed(&g_shmem.far);
}
inline void note_far()
{
	if (!is_far())
		pgas_store_relaxed(&g_shmem.far, true);
}
// An operation of this context was handed to a wire and may still be in flight. Unlike is_far() this is never wrong.
inline bool has_pending(const context &c)
{
	return pgas_load_relaxed(&c.pending) != 0;
}

} // namespace shmem
