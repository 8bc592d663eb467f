// SPDX-License-Identifier: BSD-3-Clause
//
// All state of a PE in one struct, and the calls between the files of the library.
//
// A PE's symmetric memory is one region, key 0, of two parts: the program's writable static data and the symmetric
// heap. They lie at the same offsets of the region on all PEs (symmetric_offset), at addresses of each PE's own. Before
// shmem_init and after shmem_finalize contexts point at an endpoint front whose windows are all zero, so that every
// call takes its cold exit, which says what is wrong: the hot path needs no test of its own.
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

// One line: what p, g, put, get and atomics of this context touch besides the endpoint's own.
struct alignas(64) context {
	pgas_ep *front; // what the hot path reads: that of ep, or one without windows; never null
	fid_ep *ep;     // what the cold path calls; never null
	// How many operations were handed to a wire since the last quiet. 0 while all went to mapped memory, where they
	// are complete when the call returns; quiet and fence, also those compiled into programs, look at it.
	uint64_t pending;
	team *owner;
	context *next, *prev; // contexts of the same team
	// A put or get of one word that finds no window may go to the wire as it is: the context is one that can be
	// used, and no address is a device's.
	bool plain;
};

// A team of SHMEM. Padded to the stride that shmem.h promises for predefined handles.
struct alignas(SHMEM_IMPL_TEAM_STRIDE) team : teams::team {
	shmem_team_config_t config{};
	context *contexts = nullptr;
	fid_ep *ep = nullptr; // whose ranks are this team's, where they differ from the world's; for contexts
	fid_av *av = nullptr;
};
static_assert(sizeof(team) == SHMEM_IMPL_TEAM_STRIDE);

struct part { // one of the two parts of the symmetric region: static data or heap
	uintptr_t addr = 0;
	size_t bytes = 0;
	int fd = -1;
};

// Address space for the library itself at the start of the heap. Only what teams use of it becomes memory.
constexpr size_t kInternalBytes = size_t{4} << 30;
constexpr size_t kToolBytes = size_t{256} << 20; // of it, at its end: the room of a tool (shmem_profile.h)
constexpr size_t kAddressBytes = 160;            // most of an endpoint's address
constexpr size_t kHostNameBytes = 32;            // of a host's name in messages

extern const fi_pgas_ops g_no_short_ways; // put_word and get_word only

struct state {
	int my_pe = -1;
	int n_pes = 0;
	int thread_level = SHMEM_THREAD_SINGLE;
	bool initialized = false;
	// The provider's own calls, while they may see arguments as they are: after init, and without SHMEM_DEBUG. It
	// refuses wrong addresses and PEs. Else a table that refuses everything.
	const fi_pgas_ops *short_ways = &g_no_short_ways;
	bool finalized = false;
	unsigned inits = 0; // calls of init whose finalize has not come yet
	int pid = 0;        // the process that joined: a child of fork() is no PE
	env_values env;
	heap heap_;
	// For SHMEM_THREAD_MULTIPLE: of the heap, where the order of the collective calls is still up to the program,
	// and of the lists of contexts and the endpoints of teams.
	pthread_mutex_t heap_mutex = PTHREAD_MUTEX_INITIALIZER, contexts_mutex = PTHREAD_MUTEX_INITIALIZER;
	part data, heap_part;
	// the lowest address of both parts, and how far they reach on this PE; other PEs have other distances
	uintptr_t base = 0;
	size_t span = 0;
	// our own symmetric memory, at the start of the heap: for leaving (shmem_leave.cpp) and for teams
	char *internal = nullptr;
	uint64_t *hosts = nullptr; // host of each PE
	// name of each PE's host, for messages; null: there is one host only
	char (*host_names)[kHostNameBytes] = nullptr;
	pgas_opened net{};     // fabric and domain; contexts of teams open endpoints in it too
	size_t copy_limit = 0; // bytes that the provider copies when it takes an operation
	// There are partitions of device memory: addresses decide (shmem_partition.hpp).
	bool devices = false;
	size_t behind_heap = 0; // address space of host partitions, behind heap_part
	// Some PE is on another host, or its memory is not mapped here, or it asked us to act for it: waits look after
	// what arrives from the start. It is each PE's own opinion, which it may form late (is_far()); so it decides
	// how a wait waits, and nothing else: see wait_pause().
	bool far = false;
	pthread_mutex_t quiet_mutex = PTHREAD_MUTEX_INITIALIZER; // of cold_quiet(), for SHMEM_THREAD_MULTIPLE
	fid_av *av = nullptr;
	fid_cntr *cntr = nullptr;
	fid_mr *mr = nullptr;
	int local_count = 0; // PEs on this host
	bool oversubscribed = false;
	cpu_set_t cpus{}; // that the PEs of this host may run on, together
	teams::stream_limits stream;
	const shmem_impl_tool *tool = nullptr;
	bool *with_tool = nullptr; // which PEs have one; null: none has
};

#define SHMEM_HIDDEN                                                                                                   \
	__attribute__((visibility("hidden"))) // an extern declaration needs it said, or goes through the GOT
extern SHMEM_HIDDEN state g;
extern SHMEM_HIDDEN context g_contexts[2];           // what handles 0 and SHMEM_IMPL_CTX_DEFAULT stand for
inline constexpr context &g_default = g_contexts[1]; // SHMEM_CTX_DEFAULT; the one before it has no window, ever
extern SHMEM_HIDDEN context g_own; // for the library's own operations, which no quiet of the program waits for
static_assert(sizeof(context) == SHMEM_IMPL_CTX_DEFAULT);
extern SHMEM_HIDDEN team g_teams[2]; // SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED

// A handle is a distance from the default object (see shmem.h): one addition, no test.
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
// shmem_state.cpp. For a context that is made: with SHMEM_DEBUG, and where there are device partitions, every call
// shall come to the cold path.
pgas_ep *front_for(fid_ep *ep);
void set_default(fid_ep *ep); // from now on the default context's endpoint
fid_ep *closed_endpoint();    // an endpoint without windows

// --- errors ----------------------------------------------------------------------------------------------------------

// Prints one line "PE n: routine: text" and ends the job (shmem_fail.cpp).
[[noreturn, gnu::cold, gnu::format(printf, 2, 3)]] void fail(const char *routine, const char *format, ...);
// The same when rc is an error of libfabric, negative or positive.
void require(const char *routine, const char *what, int rc);
void backtrace_print();
// The checks of every cold path. They return only when the arguments are right.
void check_running(const char *routine);
void check_pe(const char *routine, int pe);
void check_symmetric(const char *routine, const char *argument, const void *ptr, size_t bytes);
// the same of what the library itself must be able to touch
void check_host(const char *routine, const char *argument, const void *ptr, size_t bytes);
// SHMEM_DEBUG only
void debug_remote(const char *name, const char *argument, const void *ptr, size_t bytes);
void debug_overlap(const char *name, const void *dest, const void *source, size_t bytes, int pe);
void debug_same(const char *name, const char *argument, uint64_t value); // collective
void debug_hello();
void fault_handler_install();
void fault_handler_remove();

// --- SHMEM_PROTO_INFO: shmem_choices.cpp -----------------------------------------------------------------------------

void proto_print();                   // by PE 0, when it has joined
void proto_print_team(const team &t); // by its first member, when it is made

// --- the statistics tool: shmem_profile.cpp --------------------------------------------------------------------------

void tool_joined();
void tool_leaving();
void tool_all_left();
void tool_ending(const char *why);

// --- memory ----------------------------------------------------------------------------------------------------------

uint64_t heap_offset();                     // of the heap in the symmetric region, on all PEs
uint64_t symmetric_offset(const void *ptr); // what a symmetric address is called on all PEs
bool is_symmetric(const void *ptr, size_t bytes);
void *peer_pointer(const void *ptr, int pe); // where pe's copy is mapped here, or null
bool on_other_host(int pe);
void device_read(void *dst, const void *src, size_t bytes); // our own memory of any kind, now (shmem_device.cpp)

// --- cold exits of the data path; name: the routine, for messages ----------------------------------------------------

// When an operation whose target is not mapped lets its caller go on.
enum class until {
	reusable, // the caller's memory may be used again; what is got is there
	taken,    // _nbi: at once, quiet waits for it
};
[[gnu::cold, gnu::noinline]] void cold_put(context *c, void *dest, const void *source, size_t bytes, int pe,
					   const char *name, until when = until::reusable);
// The next operation goes to the same PE, at once: on a wire the two leave together.
[[gnu::cold, gnu::noinline]] void cold_put_before(context *c, void *dest, const void *source, size_t bytes, int pe,
						  const char *name, until when);
[[gnu::cold, gnu::noinline]] void cold_get(context *c, void *dest, const void *source, size_t bytes, int pe,
					   const char *name, until when = until::reusable);
// the same for one value of up to 8 bytes in a register, so that the hot path spills nothing; noexcept: the calls,
// which are, can then end by a jump to it, and need no frame
[[gnu::noinline]] void cold_p(context *c, void *dest, uint64_t value, size_t bytes, int pe, const char *name) noexcept;
[[gnu::cold, gnu::noinline]] uint64_t cold_g(context *c, const void *source, size_t bytes, int pe, const char *name);
// value and compare come in registers; returns the old value
[[gnu::cold, gnu::noinline]] uint64_t cold_amo(context *c, void *target, int pe, fi_datatype type, fi_op op,
					       uint64_t value, uint64_t compare, bool fetch, const char *name);
// a word that is set or added to behind everything of this context to that PE
[[gnu::cold, gnu::noinline]] void cold_amo_behind(context *c, uint64_t *target, int pe, fi_op op, uint64_t value,
						  const char *name);
// context, PE and the remote side of a strided transfer
void check_strided(context *c, const char *name, const void *remote, size_t bytes, int pe);
[[gnu::cold, gnu::noinline]] void cold_quiet(context *c);
[[gnu::cold, gnu::noinline]] void cold_fence(context *c);
// Ends the job when an operation of the context failed after its call.
void check_lost(const context *c, const char *name);

// --- synchronisation inside the library ------------------------------------------------------------------------------

void barrier_all(); // of the world, without quiet
// One failed poll of a wait loop. Every wait of the library is one of these two, or a call of the provider that waits
// (drain, fence, FI_PGAS_WAIT): both make progress on all that this PE has under way, and on all that others ask of it.
// docs/architecture/provider.md, "Who must make progress", says why.
void wait_pause(unsigned &polls);
// The same without a pause: peers that cannot map our memory ask us to act for them. Only they know that they cannot,
// so whoever waits looks, whatever it believes; and knows it from then on, when somebody asked.
void act_for_peers();

// Threads may form the opinion while others wait by it.
inline bool is_far()
{
	return pgas_load_relaxed(&g.far);
}
inline void note_far()
{
	if (!is_far())
		pgas_store_relaxed(&g.far, true);
}
// Something of this context was handed to a wire, and may still be under way. Unlike is_far() it never errs.
inline bool may_be_under_way(const context &c)
{
	return pgas_load_relaxed(&c.pending) != 0;
}

} // namespace shmem

// One line per C name: pshmem_ is the function, shmem_ its weak alias, so that profiling tools can take the name over.
#define SHMEM_EXPORT __attribute__((visibility("default")))
#define SHMEM_NAME(ret_arg, name_arg, params_arg)                                                                      \
	extern "C" SHMEM_EXPORT ret_arg p##name_arg params_arg noexcept;                                               \
	extern "C" SHMEM_EXPORT ret_arg name_arg params_arg noexcept __attribute__((weak, alias("p" #name_arg)));      \
	extern "C" SHMEM_EXPORT ret_arg p##name_arg params_arg noexcept
