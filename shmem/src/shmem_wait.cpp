// SPDX-License-Identifier: BSD-3-Clause
//
// How every wait of the library waits, those inside collectives included.
#include "shmem_state.hpp"

#include <sched.h>

#include <algorithm>

namespace shmem {
namespace {

// Cores to spare: spin, since the peer answers within a cache miss or two. None: hand the core over at once. What the
// others wait for may be what we wait for, so whoever waits acts for them.
constexpr pgas_backoff_rule kSpare{0, 2000, 10000, 100'000, act_for_peers, 4};
constexpr pgas_backoff_rule kCrowded{0, 0, 10000, 100'000, act_for_peers, 4};

// With far PEs every look takes in what arrived, and what arrives ends the sleep; what near PEs store does not, so it
// is short. Where PEs share cores it grows with the time that was waited: a hundred that wake up all the time would
// leave no core to the one they wait for.
constexpr unsigned kFarLooks = 500, kFarLooksCrowded = 20;
constexpr uint64_t kFarNapNs = 100'000;
constexpr unsigned kNapsPerStep = 4, kNapSteps = 5;

uint64_t far_nap(unsigned naps)
{
	return g.oversubscribed ? kFarNapNs << std::min(naps / kNapsPerStep, kNapSteps) : kFarNapNs;
}

void pause_far(unsigned &polls)
{
	const unsigned looks = g.oversubscribed ? kFarLooksCrowded : kFarLooks;
	if (polls < looks) {
		polls = g.net.ops->progress(g.net.domain) == 1 ? 0 : polls + 1;
		if (g.oversubscribed)
			sched_yield();
		return;
	}
	const unsigned naps = polls - looks;
	polls += naps < kNapsPerStep * kNapSteps;
	if (g.net.ops->wait(g.net.domain, far_nap(naps)) == 1)
		polls = looks;
	check_lost(&g_default, "waiting");
}

} // namespace

void wait_pause(unsigned &polls)
{
	if (PGAS_UNLIKELY(g.far))
		return pause_far(polls);
	pgas_backoff wait{polls};
	pgas_backoff_turn(&wait, g.oversubscribed ? &kCrowded : &kSpare);
	polls = wait.polls;
}

} // namespace shmem
