// SPDX-License-Identifier: BSD-3-Clause
//
// How long a waiting loop spins before it gives up the core: the rules for pgas_backoff_turn().
#include "gasnet_core.hpp"

#include "pgas_boot.h"
#include "tool_place.hpp"

#include <pgas/pgas_far_wait.hpp>

namespace gasnet {
namespace {

constexpr uint32_t kEager = 4;
constexpr uint32_t kSpins = 20000;     // when every node has a core
constexpr uint32_t kSpinsCrowded = 50; // when nodes share cores
constexpr uint32_t kYields = 2000;
constexpr uint32_t kNapNs = 50'000;

// Written only in gasnet_init: threads read them while another thread changes the mode.
pgas_backoff_rule g_spin, g_block, g_spin_block;
bool g_crowded; // nodes share cores

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

void answer_launcher() noexcept
{
	if (pgas_boot_is_asked() && !g_gasnet.tool_reports)
		pgas_boot_answer(pgas_tools::waiting_place(reinterpret_cast<const void *>(&answer_launcher)).c_str());
}

// SPIN never sleeps, BLOCK gives up the core at once, SPINBLOCK (the default) spins, then yields, then sleeps.
void wait_setup(bool crowded) noexcept
{
	g_crowded = crowded;
	const uint32_t spins = g_crowded ? kSpinsCrowded : kSpins;
	g_spin = {kEager, spins, kYields, 0, answer_launcher, 16};
	g_block = {0, 0, spins + kYields, kNapNs, answer_launcher, 16};
	g_spin_block = {kEager, spins, kYields, kNapNs, answer_launcher, 16};
}

bool wait_crowded() noexcept
{
	return g_crowded;
}

// With far nodes it sleeps until something arrives, and sooner if nodes share cores.
void wait_pause(pgas_backoff *wait) noexcept
{
	if (g_gasnet.far && pgas_load_relaxed(&g_gasnet.wait_mode) != GASNET_WAIT_SPIN) {
		if (wait->polls >= pgas::far_polls(g_crowded)) {
			pgas::far_nap(wait->polls, g_crowded,
				      [](uint64_t ns) { return g_gasnet.net.ops->wait(g_gasnet.net.domain, ns) == 1; });
			answer_launcher();
		} else {
			wait->polls++;
			if ((g_crowded || wait->polls > pgas::kFarSpins) && pgas_core_yield())
				wait->polls = pgas::far_polls(g_crowded);
		}
		return;
	}
	pgas_backoff_turn(wait, rule_of(pgas_load_relaxed(&g_gasnet.wait_mode)));
}

} // namespace gasnet

extern "C" int gasnet_set_waitmode(int wait_mode) noexcept
{
	if (wait_mode != GASNET_WAIT_SPIN && wait_mode != GASNET_WAIT_BLOCK && wait_mode != GASNET_WAIT_SPINBLOCK)
		return GASNET_ERR_BAD_ARG;
	pgas_store_relaxed(&gasnet::g_gasnet.wait_mode, wait_mode);
	return GASNET_OK;
}
