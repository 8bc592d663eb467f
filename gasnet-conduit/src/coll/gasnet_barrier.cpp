// SPDX-License-Identifier: BSD-3-Clause
//
// Split-phase barrier. Every node writes one word into its own memory when it notifies, and reads the words of all
// others when it waits: one cache line travels per pair, no node has to act for the barrier to complete, and each node
// finds the same mismatch because all read the same words.
//
// word = barrier's number << 34 | kind << 32 | name. Two words in turn: a node writes number k + 2 only after it
// completed k + 1, for which all others had to have completed k, so nobody still reads the word it overwrites.
//
// Nodes without windows on each other, usually on several hosts: the leader of each host joins the words of its nodes
// into one, puts that to the leaders of the other hosts, joins theirs, and publishes the outcome to its nodes. Two
// words in turn are enough there too: a leader sends number k + 2 only when all of its nodes have completed k + 1, so
// every leader has completed k.
#include "gasnet_coll.hpp"
#include "rma/gasnet_rma.hpp"

#include <pgas/pgas_base.hpp>

namespace gasnet {
namespace {

enum kind : uint64_t { kAnonymous = 0, kNamed = 1, kMismatch = 2 };

constexpr int kNumberAt = 34, kKindAt = 32; // positions in the word
constexpr uint64_t kNumberMask = 0x3fffffff, kKindMask = 3;

struct barrier_state {
	uint64_t number = 0;   // barriers notified so far; the first is 1
	bool open = false;     // notified but not waited for
	gasnet_node_t arrived; // nodes below it have notified; after `notified`, hosts
	bool notified;         // a leader: the other leaders have this host's word
	bool complete;         // a leader: the outcome is known
	bool named, mismatch;  // of the nodes that arrived
	int name;
	bool result_named = false;
	int result = 0;
};
barrier_state g_barrier; // used by one thread at a time, says the specification

kind kind_of(int flags)
{
	if (flags & GASNET_BARRIERFLAG_MISMATCH)
		return kMismatch;
	return flags & (GASNET_BARRIERFLAG_ANONYMOUS | GASNET_BARRIERFLAG_UNNAMED) ? kAnonymous : kNamed;
}

internal_memory *own()
{
	return reinterpret_cast<internal_memory *>(g_gasnet.base);
}

// Joins the next word into the result so far. False if it has not arrived yet.
bool take(const uint64_t *src)
{
	// pairs with store_release in gasnet_barrier_notify() and pass_on(), and with the atomics of other leaders:
	// what the node wrote earlier is visible afterwards
	const uint64_t word = pgas_load_acquire(&src[g_barrier.number & 1]);
	if (word >> kNumberAt != (g_barrier.number & kNumberMask))
		return false;
	const uint64_t k = word >> kKindAt & kKindMask;
	const int name = static_cast<int>(static_cast<uint32_t>(word));
	if (k == kMismatch || (k == kNamed && g_barrier.named && name != g_barrier.name))
		g_barrier.mismatch = true;
	if (k == kNamed) {
		g_barrier.named = true;
		g_barrier.name = name;
	}
	return true;
}

uint64_t word_of(kind k, int name)
{
	return (g_barrier.number & kNumberMask) << kNumberAt | uint64_t{k} << kKindAt | static_cast<uint32_t>(name);
}

uint64_t joined()
{
	return word_of(g_barrier.mismatch ? kMismatch : g_barrier.named ? kNamed : kAnonymous, g_barrier.name);
}

// --- between hosts ---------------------------------------------------------------------------------------------------

pthread_mutex_t g_pass_mutex = PTHREAD_MUTEX_INITIALIZER; // any thread that polls may do the leader's part

bool is_leader()
{
	return g_gasnet.leaders[g_gasnet.host_of[gasneti_front.mynode]] == gasneti_front.mynode;
}

// While a barrier waits for a leader, every poll of that leader does its part, whether or not messages arrived.
bool g_waits_for_me;
void polls_pass_on(bool enabled)
{
	pgas_store_relaxed(&g_waits_for_me, enabled);
	progress_update();
}

// Does a leader's part as far as possible. The mutex is held.
void pass_on()
{
	const gasnet_node_t mine = g_gasnet.host_of[gasneti_front.mynode];
	const uint64_t turn = g_barrier.number & 1;
	for (; !g_barrier.notified && g_barrier.arrived < gasneti_front.nodes; g_barrier.arrived++)
		if (g_gasnet.host_of[g_barrier.arrived] == mine && !take(internal_of(g_barrier.arrived)->barrier))
			return;
	if (!g_barrier.notified) {
		for (const gasnet_node_t leader : g_gasnet.leaders)
			if (leader != gasneti_front.mynode)
				far_update(leader, &own()->host_word[mine][turn], FI_ATOMIC_WRITE, joined());
		g_barrier.notified = true;
		g_barrier.arrived = 0;
	}
	for (; g_barrier.arrived < g_gasnet.leaders.size(); g_barrier.arrived++)
		if (g_barrier.arrived != mine && !take(own()->host_word[g_barrier.arrived]))
			return;
	pgas_store_release(&own()->result[turn], joined()); // pairs with load_acquire in take()
	g_barrier.complete = true;
	polls_pass_on(false);
}

bool all_there_far()
{
	const pgas::mutex_holder lock(g_pass_mutex, kThreads);
	if (!is_leader())
		return take(internal_of(g_gasnet.leaders[g_gasnet.host_of[gasneti_front.mynode]])->result);
	if (!g_barrier.complete)
		pass_on();
	return g_barrier.complete;
}

// Checks nodes from the first one that was missing; true if all have notified.
bool all_there()
{
	if (PGAS_UNLIKELY(g_gasnet.far))
		return all_there_far();
	for (; g_barrier.arrived < gasneti_front.nodes; g_barrier.arrived++)
		if (!take(internal_of(g_barrier.arrived)->barrier))
			return false;
	return true;
}

int finish(int id, int flags)
{
	pgas_store_relaxed(&g_barrier.open, false);
	g_barrier.result_named = g_barrier.named;
	g_barrier.result = g_barrier.name;
	// A node that notified without a name may still wait with one, and vice versa. A name must be the one that the
	// nodes gave.
	const bool differs = (kind_of(flags) == kNamed && g_barrier.named && id != g_barrier.name) ||
			     kind_of(flags) == kMismatch;
	return g_barrier.mismatch || differs ? GASNET_ERR_BARRIER_MISMATCH : GASNET_OK;
}

void check_open(const char *call)
{
	check_attached(call);
	if (!g_barrier.open)
		fail("%s: called without gasnet_barrier_notify before it", call);
}

} // namespace

bool barrier_wants_polls() noexcept
{
	return pgas_load_relaxed(&g_waits_for_me);
}

// Always false: what a leader passes on lets other nodes go on, and this one only later.
bool barrier_pass_on() noexcept
{
	if (!pgas_load_relaxed(&g_barrier.open) || !is_leader())
		return false;
	const pgas::mutex_holder lock(g_pass_mutex, kThreads);
	if (g_barrier.open && !g_barrier.complete)
		pass_on();
	return false;
}

} // namespace gasnet

using namespace gasnet;

extern "C" void gasnet_barrier_notify(int id, int flags) noexcept
{
	if (PGAS_UNLIKELY(!g_gasnet.attached || g_barrier.open)) {
		check_attached("gasnet_barrier_notify");
		fail("gasnet_barrier_notify: called twice without gasnet_barrier_wait between");
	}
	{
		const pgas::mutex_holder lock(g_pass_mutex, kThreads && g_gasnet.far);
		g_barrier.number++;
		g_barrier.arrived = 0;
		g_barrier.notified = g_barrier.complete = false;
		g_barrier.named = g_barrier.mismatch = false;
		g_barrier.name = 0;
		// pairs with load_acquire in take()
		pgas_store_release(&own()->barrier[g_barrier.number & 1], word_of(kind_of(flags), id));
		pgas_store_relaxed(&g_barrier.open, true);
		if (g_gasnet.far && is_leader())
			polls_pass_on(true);
	}
	if (PGAS_UNLIKELY(g_gasnet.far))
		barrier_pass_on();
}

extern "C" int gasnet_barrier_try(int id, int flags) noexcept
{
	check_open("gasnet_barrier_try");
	gasnet_AMPoll();
	return all_there() ? finish(id, flags) : GASNET_ERR_NOT_READY;
}

extern "C" int gasnet_barrier_wait(int id, int flags) noexcept
{
	check_open("gasnet_barrier_wait");
	gasnet_AMPoll();
	pgas_backoff wait{};
	while (!all_there())
		gasneti_wait_turn(&wait);
	return finish(id, flags);
}

extern "C" int gasnet_barrier(int id, int flags) noexcept
{
	gasnet_barrier_notify(id, flags);
	return gasnet_barrier_wait(id, flags);
}

extern "C" int gasnet_barrier_result(int *id) noexcept
{
	if (g_barrier.result_named && id)
		*id = g_barrier.result;
	return !g_barrier.result_named;
}
