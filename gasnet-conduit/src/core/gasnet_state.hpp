// SPDX-License-Identifier: BSD-3-Clause
//
// All state of a node in one struct, and the calls between the files of the library. What inline code of clients reads
// is in struct gasneti_front (gasnet.h).
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
#include <pgas/pgas_open.h>

#include <gasnet.h>

namespace gasnet {

// Multiples of every page size. Pages become memory when they are touched.
constexpr size_t kTeamsAt = size_t{2} << 20;
#ifdef __SANITIZE_THREAD__
constexpr size_t kInternalBytes = size_t{128} << 20; // leaves a program a few GiB of addresses
#else
constexpr size_t kInternalBytes = size_t{1} << 30;
#endif
constexpr size_t kKindsBytes = 16384, kKindsAt = kTeamsAt - kKindsBytes; // see gasnet_kinds.hpp
constexpr size_t kStagingAt = kInternalBytes / 4 * 3;
constexpr size_t kToolAt = kInternalBytes - kInternalBytes / 8; // gasnet_profile.h
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
	// Other nodes depend on this node's progress: it is far from some, or a segment is client memory.
	bool serves = false;
	std::vector<gasnet_node_t> host_of; // by node, numbered in the order of first nodes
	std::vector<gasnet_node_t> leaders; // by host
	// by node: the machine, numbered the same way, whether or not its nodes have windows on each other
	std::vector<gasnet_node_t> machine_of;
	struct host_name {
		char text[32];
	};
	std::vector<host_name> host_names;        // by node, when there are several hosts
	handler_way handlers[256] = {};           // of the first endpoint
	void (*told_to_exit)(int code) = nullptr; // another node ends the job; does not return (gasnet_exit.cpp)
};
extern state g;
extern const pgas_cq g_nothing; // polls of it take their cold exit

// By node: the windows that the library itself uses. gasneti_windows, which inline code uses, has the same values
// except for nodes that are outside (below), where it is 0; if a tool is loaded it is all 0, so that every call enters
// the library. An entry stays when its node dies, although the provider's window of that node becomes 0: what the node
// wrote last remains valid.
extern uint64_t g_windows[GASNET_MAXNODES] __attribute__((visibility("hidden")));
inline internal_memory *internal_of(gasnet_node_t node)
{
	return reinterpret_cast<internal_memory *>(g.base + g_windows[node]);
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
	return pgas_load_relaxed(&reinterpret_cast<const pgas_ep *>(g.rma_front)->window[node]);
}

// gasnet_fail.cpp. Prints one line "node n: text" and ends the job.
[[noreturn, gnu::cold, gnu::format(printf, 1, 2)]] void fail(const char *format, ...) noexcept;
// The same if rc is an error of libfabric, negative or positive: gasnet_init failed.
void require(const char *what, int rc) noexcept;
// Fails a call that requires gasnet_attach.
[[gnu::cold]] void check_attached(const char *call) noexcept;

// --- start and errors ------------------------------------------------------------------------------------------------

// gasnet_start.cpp: if no launcher started us and GASNET_PSHM_NODES asks for nodes, becomes their launcher
void start_nodes();
// gasnet_debug.cpp: freezes and catches fatal signals as the environment requests
void debug_setup() noexcept;
// The process is about to end with an error: prints a backtrace and freezes, once, as the environment requests.
void debug_fatal() noexcept;
bool debug_reported() noexcept; // debug_fatal has run

// gasnet_init.cpp: joins the job, except for messages and the client's segment. Returns GASNET_OK or an error.
int job_start(const char *config);
// gasnet_init.cpp: opens messages; collective
int job_open_messages();
// Bytes of a node's region that gex_Segment_Attach may still take.
size_t memory_for_attach() noexcept;
// Allocates part of the region, which other nodes reach through their windows. `bytes` is a multiple of the page size.
// Returns null if there is no room.
void *memory_carve(size_t bytes) noexcept;
void memory_uncarve(void *addr, size_t bytes) noexcept;
// gasnet_init.cpp: gives every node's segment its size; collective. A wrong size is an error on this node alone.
int job_attach_segment(uintptr_t bytes);

// --- memory (gasnet_memory.cpp) --------------------------------------------------------------------------------------

// memory of this host that one node may take, or the value of GASNET_MAX_SEGSIZE
size_t memory_default_segment(int nodes_here);
uintptr_t memory_propose(size_t span); // reserves address space where the system chooses; 0 on failure
void memory_release(uintptr_t addr, size_t span);
int memory_map(uintptr_t addr, size_t span); // maps the region's file over what was reserved there; -errno
uintptr_t memory_fixed_place(unsigned i);    // places that are free in most processes; 0 past the last

// --- messages --------------------------------------------------------------------------------------------------------

// gasnet_receive.cpp: runs the handlers of received messages; true if there were any
bool receive_some() noexcept;
// gasnet_receive.cpp: runs the handler of a message from this node to itself, inside the call that sends it. The
// handler gets the message in place.
void run_here(const void *message, size_t bytes) noexcept;
// gasnet_receive.cpp: makes every poll enter the library while something depends on the polls of this node
void polls_update() noexcept;
// gasnet_outbox.cpp: sends replies that found no room before; true if none is left
bool outbox_push_some() noexcept;
extern size_t g_outbox_count; // written under a lock
inline bool outbox_push() noexcept
{
	return PGAS_LIKELY(pgas_load_relaxed(&g_outbox_count) == 0) || outbox_push_some();
}
extern __thread bool t_in_handler __attribute__((tls_model("initial-exec"))); // this thread runs a handler
inline bool in_handler() noexcept
{
	return t_in_handler;
}

// gasnet_receive.cpp: room for a copy of a message, aligned as a received payload is
char *allocate(size_t bytes) noexcept;
// Runs the handler of one message (gasnet_dispatch.cpp). False if the message is malformed. head: word and arguments,
// which need not lie in front of the payload.
bool dispatch(const char *head, const char *message, size_t bytes) noexcept;
// The same for a medium message from this node to itself, in pieces. run_medium_own gives the handler the payload
// itself, run_medium_here a copy.
void run_medium_own(uint64_t word, void *payload, size_t nbytes, const gasnet_handlerarg_t *args) noexcept;
void run_medium_here(uint64_t word, const void *src, size_t nbytes, const gasnet_handlerarg_t *args) noexcept;

// --- nodes without a window (gasnet_far.cpp) -------------------------------------------------------------------------

// Sets or adds to a word of internal memory at that node, after everything put there before.
void far_word(gasnet_node_t node, uint64_t *mine, fi_op op, uint64_t value) noexcept;
// Adds one to it without reporting errors: the node may be gone.
void far_word_try(gasnet_node_t node, uint64_t *mine) noexcept;
// A client's atomic operation. old: where to store the previous value, or null. If not null, the value is there when
// the call returns; otherwise the operation may still be in progress.
gasnet_handle_t far_atomic(gasnet_node_t node, void *target, fi_datatype type, fi_op op, uint64_t value,
			   uint64_t compare, uint64_t *old, int implicit) noexcept;
// The same; returns the previous value.
uint64_t far_fetch(gasnet_node_t node, uint64_t *mine, fi_op op, uint64_t value) noexcept;
// Waits until all puts have arrived.
void far_settle() noexcept;
// Transfers to and from the region with another key, at the given offset.
gasnet_handle_t far_put_key(gasnet_node_t node, uint64_t key, uint64_t offset, const void *src, size_t nbytes,
			    gasneti_until until, int implicit) noexcept;
gasnet_handle_t far_get_key(void *dest, gasnet_node_t node, uint64_t key, uint64_t offset, size_t nbytes,
			    gasneti_until until, int implicit) noexcept;
// A short put to a gate. It completes together with all transfers.
void far_order(gasnet_node_t node, uint64_t key, const void *bytes, size_t nbytes) noexcept;
void far_fence() noexcept; // operations started later execute at their target after all earlier ones
// Returns the handle of the operation just started, or counts it as implicit.
gasnet_handle_t far_taken(int implicit) noexcept;
// gasnet_kinds.cpp: waits until all device copies are complete
void kinds_finish(const char *call) noexcept;
bool kinds_are_idle(const char *call) noexcept; // the same, without waiting
// Ends the job if a transfer failed after its call had returned.
void check_lost(const char *call) noexcept;
// gasnet_barrier.cpp: does a leader's part outside of barrier calls
void barrier_pass_on() noexcept;
bool barrier_wants_polls() noexcept;
// gasnet_coll.cpp: advances collectives in progress; true if anything moved
bool coll_progress() noexcept;

// --- the statistics tool (gasnet_profile.cpp) ------------------------------------------------------------------------

bool tool_here() noexcept; // a tool is loaded
// By node, whether it has a tool, once all have reported it. Then the job begins, and later ends: this node leaves; all
// have left or, without `all`, some did not.
void tool_told(std::vector<uint8_t> with_tool);
void tool_joined() noexcept;
void tool_leaving() noexcept;
void tool_all_left(bool all, int code) noexcept;

// --- exit (gasnet_exit.cpp) ------------------------------------------------------------------------------------------

void exit_setup();
// Nodes end when all of them are leaving, so a node that disappears while this one leaves is not a failure: a thread
// that still wants to send to it stays in this call until the leaving thread ends the process. Otherwise returns.
void lost_while_leaving() noexcept;

// gasnet_wait.cpp; cores: all cores that the nodes of this host may run on
void wait_setup(const cpu_set_t &cores, int nodes_here) noexcept;
void wait_pause(pgas_backoff *wait) noexcept;
bool wait_crowded() noexcept; // nodes share cores

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

struct gasneti_token {
	gasnet_node_t source;
	// Kept together, with a fourth byte to make a word, because a single store initialises them.
	bool replied;
	uint8_t sender, receiver; // indexes of the sending and receiving endpoints
	uint8_t zero;
	uint32_t word; // the lower half of the message's word; its fields are extracted on demand

	bool request() const noexcept { return !(word >> GASNETI_WORD_KIND & GASNETI_REPLY); }
	bool is_long() const noexcept { return (word >> GASNETI_WORD_KIND & GASNETI_CATEGORY) == GASNETI_LONG; }
	uint8_t handler() const noexcept { return static_cast<uint8_t>(word); }
};
