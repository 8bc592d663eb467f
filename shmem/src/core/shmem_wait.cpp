// SPDX-License-Identifier: BSD-3-Clause
//
// How every wait of the library waits, including those inside collectives.
#include "shmem_state.hpp"

#include <pgas/pgas_far_wait.hpp>

#include <sched.h>

namespace shmem {
namespace {

// With cores to spare: spin, since the peer responds within a cache miss or two. Oversubscribed: yield the core at
// once. The peers that we wait for may be waiting for us, so every wait acts for them.
constexpr pgas_backoff_rule kSpare{0, 2000, 10000, 100'000, act_for_peers, 4};
constexpr pgas_backoff_rule kCrowded{0, 0, 10000, 100'000, act_for_peers, 4};

void pause_far(unsigned &polls)
{
	if (polls < pgas::far_looks(g.oversubscribed)) {
		polls = g.net.ops->progress(g.net.domain) == 1 ? 0 : polls + 1;
		if (g.oversubscribed)
			sched_yield();
		return;
	}
	pgas::far_nap(polls, g.oversubscribed, [](uint64_t ns) { return g.net.ops->wait(g.net.domain, ns) == 1; });
	check_lost(&g_default, "waiting");
}

} // namespace

void act_for_peers()
{
	if (g.net.ops->progress(g.net.domain) == 1)
		note_far();
}

void wait_pause(unsigned &polls)
{
	if (PGAS_UNLIKELY(is_far()))
		return pause_far(polls);
	pgas_backoff wait{polls};
	pgas_backoff_turn(&wait, g.oversubscribed ? &kCrowded : &kSpare);
	polls = wait.polls;
}

} // namespace shmem
