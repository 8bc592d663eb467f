// SPDX-License-Identifier: BSD-3-Clause
//
// How long a waiting loop spins before it gives the core away: the rules for pgas_backoff_turn().
#include "gasnet_state.hpp"

#include <algorithm>

#include <pgas/pgas_machine.hpp>

namespace gasnet {
namespace {

constexpr uint32_t kEager = 4;
constexpr uint32_t kSpins = 20000;     // when every node has a core
constexpr uint32_t kSpinsCrowded = 50; // when nodes share cores
constexpr uint32_t kYields = 2000;
constexpr uint32_t kNapNs = 50'000;
constexpr uint32_t kFarLooks = 500, kFarLooksCrowded = 20; // then it sleeps
constexpr uint64_t kFarNapNs = 100'000;                    // what near nodes store does not end it
// Where nodes share cores it grows with the time that was waited: many that wake up all the time leave no core to the
// one they wait for.
constexpr uint32_t kNapsPerStep = 4, kNapSteps = 5;

// Written at gasnet_init only: threads read them while another one changes the mode.
pgas_backoff_rule g_spin, g_block, g_spin_block;
uint32_t g_far_looks;

const pgas_backoff_rule *rule_of(int wait_mode)
{
	switch (wait_mode) {
	case GASNET_WAIT_SPIN:
		return &g_spin;
	case GASNET_WAIT_BLOCK:
		return &g_block;
	default:
		return &g_spin_block;
	}
}

} // namespace

// SPIN never sleeps, BLOCK gives the core away at once, SPINBLOCK (the default) spins, then yields, then sleeps.
void wait_setup(const cpu_set_t &cores, int nodes_here) noexcept
{
	const uint32_t spins = pgas::cores_suffice(cores, nodes_here) ? kSpins : kSpinsCrowded;
	g_far_looks = spins == kSpins ? kFarLooks : kFarLooksCrowded;
	g_spin = {kEager, spins, kYields, 0, nullptr, 1};
	g_block = {0, 0, spins + kYields, kNapNs, nullptr, 1};
	g_spin_block = {kEager, spins, kYields, kNapNs, nullptr, 1};
}

// With far nodes it sleeps on what arrives, and soon where nodes share cores.
void wait_pause(pgas_backoff *wait) noexcept
{
	if (g.far && pgas_load_relaxed(&g.wait_mode) != GASNET_WAIT_SPIN) {
		if (++wait->polls > g_far_looks) {
			const uint32_t naps = std::min(wait->polls - g_far_looks, kNapsPerStep * kNapSteps);
			const uint64_t nap = kFarNapNs << (g_far_looks == kFarLooks ? 0 : naps / kNapsPerStep);
			const bool moved = g.net.ops->wait(g.net.domain, nap) == 1;
			wait->polls = g_far_looks + (moved ? 0 : naps);
		} else if (g_far_looks == kFarLooksCrowded) {
			sched_yield();
		}
		return;
	}
	pgas_backoff_turn(wait, rule_of(pgas_load_relaxed(&g.wait_mode)));
}

} // namespace gasnet

extern "C" int gasnet_set_waitmode(int wait_mode) noexcept
{
	if (wait_mode != GASNET_WAIT_SPIN && wait_mode != GASNET_WAIT_BLOCK && wait_mode != GASNET_WAIT_SPINBLOCK)
		return GASNET_ERR_BAD_ARG;
	pgas_store_relaxed(&gasnet::g.wait_mode, wait_mode);
	return GASNET_OK;
}
