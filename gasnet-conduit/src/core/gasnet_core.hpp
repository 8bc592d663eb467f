// SPDX-License-Identifier: BSD-3-Clause
//
// What the room core does for all others: failing, waiting, memory of the region, debugging.
#pragma once

#include "gasnet_state.hpp"

namespace gasnet {

// --- failing (gasnet_fail.cpp) ---------------------------------------------------------------------------------------

// Prints one line "node n: text" and ends the job.
[[noreturn, gnu::cold, gnu::format(printf, 1, 2)]] void fail(const char *format, ...) noexcept;
// The same if rc is an error of libfabric, negative or positive: gasnet_init failed.
void require(const char *what, int rc) noexcept;
// Fails a call that requires gasnet_attach.
[[gnu::cold]] void check_attached(const char *call) noexcept;
// Ends the job because that node cannot be reached; err is negative.
[[noreturn, gnu::cold]] void lost(const char *call, gasnet_node_t node, int err) noexcept;
// gasnet_system.cpp. Prints what is wrong, if the client wants messages; returns the code.
[[gnu::format(printf, 2, 3)]] int refuse(int code, const char *format, ...);

// --- debugging (gasnet_debug.cpp) ------------------------------------------------------------------------------------

// Freezes and catches fatal signals as the environment requests.
void debug_setup() noexcept;
// The process is about to end with an error: prints a backtrace and freezes, once, as the environment requests.
void debug_fatal() noexcept;
bool debug_reported() noexcept; // debug_fatal has run

// --- the region (gasnet_memory.cpp) ----------------------------------------------------------------------------------

// memory of this host that one node may take, or the value of GASNET_MAX_SEGSIZE
size_t memory_default_segment(int nodes_here);
uintptr_t memory_propose(size_t span); // reserves address space where the system chooses; 0 on failure
void memory_release(uintptr_t addr, size_t span);
int memory_map(uintptr_t addr, size_t span); // maps the region's file over what was reserved there; -errno
uintptr_t memory_fixed_place(unsigned i);    // places that are free in most processes; 0 past the last
// Bytes of a node's region that gex_Segment_Attach may still take.
size_t memory_for_attach() noexcept;
// Allocates part of the region, which other nodes reach through their windows. `bytes` is a multiple of the page size.
// Returns null if there is no room.
void *memory_carve(size_t bytes) noexcept;
void memory_uncarve(void *addr, size_t bytes) noexcept;

// --- waiting (gasnet_wait.cpp) ---------------------------------------------------------------------------------------

// cores: all cores that the nodes of this host may run on
void wait_setup(bool crowded) noexcept;
void wait_pause(pgas_backoff *wait) noexcept;
void answer_launcher() noexcept; // tells oshrun in which call this thread waits, if the user asks for it
bool wait_crowded() noexcept;    // nodes share cores

} // namespace gasnet
