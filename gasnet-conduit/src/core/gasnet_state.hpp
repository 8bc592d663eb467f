// SPDX-License-Identifier: BSD-3-Clause
//
// All state of a node in one struct, and the calls between the files of the library. What inline code of clients reads
// is in struct gasneti_front (gasnet.h).
//
// Two endpoints: `rma` with the segments of all nodes as key 0, `am` for messages. A node's region is
//
//   base                      + kKindsAt            + kTeamsAt          + kStagingAt        + kToolAt  + kInternalBytes
//   | struct internal_memory  | published segments  | memory of teams   | of device copies  | a tool's | the client's |
//
// at one address in all nodes, so that one addition of window[node] turns an address of a node's segment into ours.
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

// multiples of every page size; memory where they are touched
constexpr size_t kTeamsAt = size_t{2} << 20;
#ifdef __SANITIZE_THREAD__
constexpr size_t kInternalBytes = size_t{128} << 20; // it leaves a program a few GiB of addresses
#else
constexpr size_t kInternalBytes = size_t{1} << 30;
#endif
constexpr size_t kKindsBytes = 16384, kKindsAt = kTeamsAt - kKindsBytes; // see gasnet_kinds.hpp
constexpr size_t kStagingAt = kInternalBytes / 4 * 3;
constexpr size_t kToolAt = kInternalBytes - kInternalBytes / 8; // gasnet_profile.h
constexpr bool kThreads = GASNETI_THREADS;

// Handlers 1 to 127 belong to the library.
enum library_handler : uint8_t { kExitHandler = 1, kFirstClient = 128 };

constexpr uint64_t kExiting = uint64_t{1} << 32; // beside an exit code, which may be 0

// What a node tells the others: it alone writes this, and they read it through their windows. One cache line each.
struct internal_memory {
	alignas(64) uint64_t barrier[2]; // see gasnet_barrier.cpp; written by the owner
	alignas(64) uint64_t exiting; // 0, or kExiting | exit code: this node is in gasnet_exit; written by the owner
	// Between hosts. A host is represented by its first node, the leader.
	alignas(64) uint64_t result[2]; // the barrier's outcome; written by a leader for the nodes of its host
	alignas(64) uint64_t left;      // nodes without a window that are in gasnet_exit; they add
	alignas(64) uint64_t host_word[GASNET_MAXNODES][2]; // barrier words of other hosts; their leaders write
};
static_assert(sizeof(internal_memory) <= kKindsAt);

// A handler, and what a message must be to get to it: all that dispatch looks at. What clients ask of it is in
// gasnet_objects.hpp.
struct handler_way {
	gasneti_handler_fn fn; // null: none is registered
	uint16_t args;         // how many, where a word has them
	uint16_t args_mask;    // 0: any number will do
	uint8_t kinds;         // a bit for each kind of message
};

struct state {
	bool initialized = false;
	bool attached = false; // messages may come and go; segments have their sizes
	int wait_mode = GASNET_WAIT_SPINBLOCK;
	pgas_opened net{};                          // fabric and domain of both endpoints
	fid_av *rma_av = nullptr, *am_av = nullptr; // one each, so that a node's rank is its address in both
	fid_cq *cq = nullptr;
	fid_cntr *cntr = nullptr;
	fid_ep *rma = nullptr;
	// its alias that threads may read windows of; rma itself where threads do not share it
	fid_ep *rma_front = nullptr;
	fid_ep *am = nullptr;
	fid_mr *mr = nullptr;
	uintptr_t base = 0;
	size_t max_segment = 0;
	size_t carved = 0; // of it, at its end, for segments of gex_Segment_Create
	size_t eager_bytes = 0;
	std::vector<gasnet_seginfo_t> segments;
	// Some node has no window here. Then "hosts" are sets of nodes that all have windows on each other.
	bool far = false;
	// Others need the progress of this node: it is far from some, or a segment is memory of the client.
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

// By node: what gasneti_windows has for inline code, and what the library itself goes by. Where a tool looks on,
// that has nothing, so that every call enters the library. It stays when a node dies, while the provider's window of
// it becomes
// 0: what the node wrote last still counts.
extern uint64_t g_windows[GASNET_MAXNODES] __attribute__((visibility("hidden")));
inline internal_memory *internal_of(gasnet_node_t node)
{
	return reinterpret_cast<internal_memory *>(g.base + g_windows[node]);
}
// gasnet_outside.cpp. By node: its first segment is memory of the client, outside of the region, by another key.
extern uint8_t g_outside[GASNET_MAXNODES] __attribute__((visibility("hidden")));
constexpr uint64_t kOutsideKey = 2 + GASNET_MAXEPS; // behind those of gasnet_kinds.hpp
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
// The same when rc is an error of libfabric, negative or positive: gasnet_init failed.
void require(const char *what, int rc) noexcept;
// Fails in a call that must not happen before gasnet_attach.
[[gnu::cold]] void check_attached(const char *call) noexcept;

// --- start and errors ------------------------------------------------------------------------------------------------

// gasnet_start.cpp: where no launcher started us and GASNET_PSHM_NODES asks for nodes, becomes their launcher
void start_nodes();
// gasnet_debug.cpp: freezes and catches fatal signals as the environment says
void debug_setup() noexcept;
// The process is about to end with an error: backtrace and freezing, once, as the environment says.
void debug_fatal() noexcept;
bool debug_reported() noexcept; // that was

// gasnet_init.cpp: joins the job, all of it but messages and the client's segment. GASNET_OK or why not.
int job_start(const char *config);
// the same: opens messages; collective
int job_open_messages();
// What of a node's region gex_Segment_Attach may still take.
size_t memory_for_attach() noexcept;
// A part of the region, which other nodes reach by their windows; null: there is no room. A multiple of the page size.
void *memory_carve(size_t bytes) noexcept;
void memory_uncarve(void *addr, size_t bytes) noexcept;
// the same: gives every node's segment its size; collective. A wrong size is an error of this node alone.
int job_attach_segment(uintptr_t bytes);

// --- memory (gasnet_memory.cpp) --------------------------------------------------------------------------------------

// what one node may take of this host's memory, or what GASNET_MAX_SEGSIZE says
size_t memory_default_segment(int nodes_here);
uintptr_t memory_propose(size_t span); // reserves address space where the system likes; 0: there is none
void memory_release(uintptr_t addr, size_t span);
int memory_map(uintptr_t addr, size_t span); // the region's file, mapped over what was reserved there; -errno
uintptr_t memory_fixed_place(unsigned i);    // places that are free in most processes; 0 behind the last

// --- messages --------------------------------------------------------------------------------------------------------

// gasnet_receive.cpp: runs handlers of what arrived; true when there was something
bool receive_some() noexcept;
// the same: runs the handler of a message of this node to itself, in the call that sends it. It gets the message as it
// lies
void run_here(const void *message, size_t bytes) noexcept;
// the same: while something waits for the polls of this node, every one enters the library
void polls_update() noexcept;
// gasnet_outbox.cpp: sends replies that found no room; true when none is left
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

// gasnet_receive.cpp: room for a message's copy, aligned as the payload of one that arrived
char *allocate(size_t bytes) noexcept;
// Runs the handler of one message (gasnet_dispatch.cpp). False: the message makes no sense. head: word and arguments,
// which may lie elsewhere than in front of the payload.
bool dispatch(const char *head, const char *message, size_t bytes) noexcept;
// The same of a medium one of this node to itself, in pieces, whose payload is the handler's from now on, or to be
// copied.
void run_medium_own(uint64_t word, void *payload, size_t nbytes, const gasnet_handlerarg_t *args) noexcept;
void run_medium_here(uint64_t word, const void *src, size_t nbytes, const gasnet_handlerarg_t *args) noexcept;

// --- nodes without a window (gasnet_far.cpp) -------------------------------------------------------------------------

// A word of internal memory, set or added to at that node, behind all that was put there before.
void far_word(gasnet_node_t node, uint64_t *mine, fi_op op, uint64_t value) noexcept;
// Adds one to it without a complaint: the node may be gone.
void far_word_try(gasnet_node_t node, uint64_t *mine) noexcept;
// An atomic operation of a client; old: where the value goes that was there before, or null. It is there, then, when
// the call returns; without one the operation is under way.
gasnet_handle_t far_atomic(gasnet_node_t node, void *target, fi_datatype type, fi_op op, uint64_t value,
			   uint64_t compare, uint64_t *old, int implicit) noexcept;
// The same, and what was there before.
uint64_t far_fetch(gasnet_node_t node, uint64_t *mine, fi_op op, uint64_t value) noexcept;
// All that was put is there.
void far_settle() noexcept;
// Transfers to and from the region of another key, at that offset.
gasnet_handle_t far_put_key(gasnet_node_t node, uint64_t key, uint64_t offset, const void *src, size_t nbytes,
			    gasneti_until until, int implicit) noexcept;
gasnet_handle_t far_get_key(void *dest, gasnet_node_t node, uint64_t key, uint64_t offset, size_t nbytes,
			    gasneti_until until, int implicit) noexcept;
// A short put to a gate; it is over when all transfers are.
void far_order(gasnet_node_t node, uint64_t key, const void *bytes, size_t nbytes) noexcept;
void far_fence() noexcept; // what is started from now on runs at its target behind all before
// The handle of what was started, or counts it as implicit.
gasnet_handle_t far_taken(int implicit) noexcept;
// gasnet_kinds.cpp: all copies of devices are over
void kinds_finish(const char *call) noexcept;
bool kinds_are_idle(const char *call) noexcept; // the same, without waiting
// Ends the job when a transfer failed after its call.
void check_lost(const char *call) noexcept;
// gasnet_barrier.cpp: a leader that is not in a barrier call does its part
void barrier_pass_on() noexcept;
bool barrier_wants_polls() noexcept;
// gasnet_coll.cpp: collectives under way go on; true when something moved
bool coll_progress() noexcept;

// --- the statistics tool (gasnet_profile.cpp) ------------------------------------------------------------------------

bool tool_here() noexcept; // one is loaded
// The same by node, when all have told. Then the job begins, and ends: this node leaves; all have left or, without
// `all`, some did not come.
void tool_told(std::vector<uint8_t> with_tool);
void tool_joined() noexcept;
void tool_leaving() noexcept;
void tool_all_left(bool all, int code) noexcept;

// --- exit (gasnet_exit.cpp) ------------------------------------------------------------------------------------------

void exit_setup();
// Nodes end when all of them are leaving, so one that is gone while this one leaves is no failure: a thread that still
// wanted to send to it stays in here, until the thread that leaves ends the process. Else it returns.
void lost_while_leaving() noexcept;

// gasnet_wait.cpp; cores: what the nodes of this host may run on, all together
void wait_setup(const cpu_set_t &cores, int nodes_here) noexcept;
void wait_pause(pgas_backoff *wait) noexcept;
bool wait_crowded() noexcept; // nodes share cores

} // namespace gasnet

// An event that is not over.
struct gasneti_op {
	uint32_t magic; // kEvent, or the client gives us something else
	// Does what can be done without waiting, and runs no handler. True: it is over, and no longer there.
	bool (*finish)(gasneti_op *op, const char *call);
};
namespace gasnet {
constexpr uint32_t kEvent = 0x45764e74;
}

struct gasneti_token {
	gasnet_node_t source;
	// together, because one store begins them, and a fourth byte that makes them a word
	bool replied;
	uint8_t sender, receiver; // indexes of the endpoints that sent, and got it
	uint8_t zero;
	uint32_t word; // the lower half of the message's: its fields are taken out when somebody asks

	bool request() const noexcept { return !(word >> GASNETI_WORD_KIND & GASNETI_REPLY); }
	bool is_long() const noexcept { return (word >> GASNETI_WORD_KIND & GASNETI_CATEGORY) == GASNETI_LONG; }
	uint8_t handler() const noexcept { return static_cast<uint8_t>(word); }
};
