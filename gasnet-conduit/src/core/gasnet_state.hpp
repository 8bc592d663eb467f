// SPDX-License-Identifier: BSD-3-Clause
//
// All state of a node in one struct. What inline code of clients reads is in struct gasneti_front (gasnet.h). Each room
// has headers for its own functions; docs/architecture/gasnet.md says which room may call which.
//
// There are two endpoints: `rma`, with the segments of all nodes as key 0, and `am` for messages. A node's region is
//
//   base                      + kKindsAt            + kTeamsAt          + kStagingAt        + kToolAt  + kInternalBytes
//   | struct internal_memory  | published segments  | memory of teams   | of device copies  | a tool's | the client's |
//
// at one address in all nodes, so that adding window[node] turns an address in a node's segment into a local one.
#pragma once

#ifndef FABRIC_DIRECT
#define FABRIC_DIRECT 1
#endif

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>

#include <sched.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <pgas/pgas_counter.h>
#include <pgas/pgas_library_memory.hpp>
#include <pgas/pgas_open.h>

#include <gasnet.h>

namespace gasnet {

// Multiples of every page size. Pages become memory when they are touched.
constexpr size_t kTeamsAt = pgas::kGasnetMemory.teams_off;
constexpr size_t kInternalBytes = pgas::kGasnetMemory.internal_bytes;
constexpr size_t kKindsBytes = 16384, kKindsAt = kTeamsAt - kKindsBytes; // see gasnet_kinds.hpp
constexpr size_t kStagingAt = kInternalBytes / 4 * 3;
constexpr size_t kToolAt = pgas::kGasnetMemory.tool_off; // gasnet_profile.h
constexpr size_t kHeadRoom = 128;                        // of an eager buffer, for word and arguments
constexpr bool kThreads = GASNETI_THREADS;

// Handlers 1 to 127 belong to the library.
enum library_handler : uint8_t { kExitHandler = 1, kFirstClient = 128 };

constexpr uint64_t kExiting = uint64_t{1} << 32; // ORed with the exit code, which may be 0

// What a node publishes to the others: only the node writes it, unless a comment says otherwise, and the others read it
// through their windows. One cache line each.
struct internal_memory {
	alignas(64) uint64_t barrier[2]; // see gasnet_barrier.cpp; written by the owner
	alignas(64) uint64_t exiting; // 0, or kExiting | exit code: this node is in gasnet_exit; written by the owner
	// Between hosts. The first node of a host, the leader, represents it.
	alignas(64) uint64_t result[2]; // the barrier's outcome; written by a leader for the nodes of its host
	alignas(64) uint64_t left;      // number of nodes without a window that are in gasnet_exit; they add to it
	alignas(64) uint64_t host_word[GASNET_MAXNODES][2]; // barrier words of other hosts; written by their leaders
};
static_assert(sizeof(internal_memory) <= kKindsAt);

// A handler, and what a message must be to reach it: all that dispatch reads. What clients query about it is in
// gasnet_objects.hpp.
struct handler_way {
	gasneti_handler_fn fn; // null: not registered
	uint16_t args;         // their number, placed where a message word has it
	uint16_t args_mask;    // 0: any number is allowed
	uint8_t kinds;         // one bit per kind of message
};

struct state {
	bool initialized = false;
	bool attached = false; // messages may be sent and received; segments have their sizes
	int wait_mode = GASNET_WAIT_SPINBLOCK;
	pgas_opened net{};                          // fabric and domain of both endpoints
	fid_av *rma_av = nullptr, *am_av = nullptr; // one each, so that a node's rank is its address in both
	fid_cq *cq = nullptr;
	fid_cntr *cntr = nullptr;
	fid_ep *rma = nullptr;
	// an alias whose windows threads may read; rma itself unless threads share it
	fid_ep *rma_front = nullptr;
	fid_ep *am = nullptr;
	fid_mr *mr = nullptr;
	uintptr_t base = 0;
	size_t max_segment = 0;
	size_t carved = 0; // of the segment, at its end, for gex_Segment_Create
	size_t eager_bytes = 0;
	std::vector<gasnet_seginfo_t> segments;
	// Some node has no window here. "Hosts" are then sets of nodes that all have windows on each other.
	bool far = false;
	bool tool_reports = false; // of hangs: the library itself does not answer the launcher's user
	// Other nodes depend on this node's progress: it is far from some, or a segment is client memory.
	bool serves = false;
	std::vector<gasnet_node_t> host_of; // by node, numbered in the order of first nodes
	std::vector<gasnet_node_t> leaders; // by host
	// by node: the machine, numbered the same way, whether or not its nodes have windows on each other
	std::vector<gasnet_node_t> machine_of;
	struct host_name {
		char text[32];
	};
	std::vector<host_name> host_names; // by node, when there are several hosts
	handler_way handlers[256] = {};    // of the first endpoint
	bool has_tool = false;             // a tool is loaded: every call enters the library
	// gasnet_exit.cpp sets both. Another node ends the job; does not return.
	void (*told_to_exit)(int code) = nullptr;
	// Nodes end when all of them are leaving, so a node that disappears while this one leaves is not a failure: a
	// thread that still wants to send to it stays in this call until the leaving thread ends the process. Returns
	// at once if no thread is leaving.
	void (*stay_if_leaving)() = nullptr;
};
extern state g_gasnet;
extern const pgas_cq g_nothing; // polls of it take their cold exit

// By node: the windows that the library itself uses. gasneti_windows, which inline code uses, has the same values
// except for nodes that are outside (below), where it is 0; if a tool is loaded it is all 0, so that every call enters
// the library. An entry stays when its node dies, although the provider's window of that node becomes 0: what the node
// wrote last remains valid.
extern uint64_t g_windows[GASNET_MAXNODES] __attribute__((visibility("hidden")));
inline internal_memory *internal_of(gasnet_node_t node)
{
	return reinterpret_cast<internal_memory *>(g_gasnet.base + g_windows[node]);
}
// gasnet_outside.cpp. By node: its first segment is client memory outside the region, registered with another key.
extern uint8_t g_outside[GASNET_MAXNODES] __attribute__((visibility("hidden")));
constexpr uint64_t kOutsideKey = 2 + GASNET_MAXEPS; // follows the keys of gasnet_kinds.hpp
inline bool is_outside(gasnet_node_t node)
{
	return PGAS_UNLIKELY(pgas_load_relaxed(&g_outside[node]));
}
inline uint64_t provider_window(gasnet_node_t node)
{
	return pgas_load_relaxed(&reinterpret_cast<const pgas_ep *>(g_gasnet.rma_front)->window[node]);
}

} // namespace gasnet

// An event that is not complete.
struct gasneti_op {
	uint32_t magic; // kEvent; anything else means the client passed something else
	// Does what it can without waiting, and runs no handler. True: the event is complete, and freed.
	bool (*finish)(gasneti_op *op, const char *call);
};
namespace gasnet {
constexpr uint32_t kEvent = 0x45764e74;
}
