// SPDX-License-Identifier: BSD-3-Clause
//
// Split-phase barrier. Every node writes one word into its own memory when it notifies, and reads the words of all
// others when it waits: one cache line travels per pair, nobody has to act for the barrier to complete, and each node
// finds the same mismatch because all read the same words.
//
// word = barrier's number << 34 | kind << 32 | name. Two words in turn: a node writes number k + 2 only after it
// completed k + 1, for which all others had to have completed k, so nobody still reads the word it overwrites.
#include "gasnet_state.hpp"

namespace gasnet {
namespace {

enum kind : uint64_t { kAnonymous = 0, kNamed = 1, kMismatch = 2 };

constexpr int kNumberAt = 34, kKindAt = 32; // positions in the word
constexpr uint64_t kNumberMask = 0x3fffffff, kKindMask = 3;

struct barrier_state {
	uint64_t number = 0;   // barriers notified so far; the first is 1
	bool open = false;     // notified and not waited for
	gasnet_node_t arrived; // nodes below it have notified
	bool named, mismatch;  // what those said
	int name;
	bool result_named = false;
	int result = 0;
};
barrier_state g_barrier; // one thread at a time, by the specification

kind kind_of(int flags)
{
	if (flags & GASNET_BARRIERFLAG_MISMATCH)
		return kMismatch;
	return flags & (GASNET_BARRIERFLAG_ANONYMOUS | GASNET_BARRIERFLAG_UNNAMED) ? kAnonymous : kNamed;
}

// Looks at nodes from the first that was missing; true when all are there.
bool all_there()
{
	while (g_barrier.arrived < gasneti_front.nodes) {
		// pairs with store_release in gasnet_barrier_notify(): what the node wrote before is visible after
		const uint64_t word = pgas_load_acquire(&internal_of(g_barrier.arrived)->barrier[g_barrier.number & 1]);
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
		g_barrier.arrived++;
	}
	return true;
}

int finish(int id, int flags)
{
	g_barrier.open = false;
	g_barrier.result_named = g_barrier.named;
	g_barrier.result = g_barrier.name;
	// A node that notified without a name may still wait for one, and the other way round. A name must be the one
	// that the nodes gave.
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
} // namespace gasnet

using namespace gasnet;

extern "C" void gasnet_barrier_notify(int id, int flags) noexcept
{
	if (PGAS_UNLIKELY(!g.attached || g_barrier.open)) {
		check_attached("gasnet_barrier_notify");
		fail("gasnet_barrier_notify: called twice without gasnet_barrier_wait between");
	}
	g_barrier.open = true;
	g_barrier.number++;
	g_barrier.arrived = 0;
	g_barrier.named = g_barrier.mismatch = false;
	g_barrier.name = 0;
	const uint64_t word = (g_barrier.number & kNumberMask) << kNumberAt | uint64_t{kind_of(flags)} << kKindAt |
			      static_cast<uint32_t>(id);
	// pairs with load_acquire in all_there()
	pgas_store_release(&reinterpret_cast<internal_memory *>(g.base)->barrier[g_barrier.number & 1], word);
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
