// SPDX-License-Identifier: BSD-3-Clause
//
// How every wait of the library waits, including those inside collectives.
#include "shmem_wait.hpp"
#include "shmem_fail.hpp"

#include "pgas_boot.h"
#include "tool_place.hpp"

#include <pgas/pgas_far_wait.hpp>
#include <teams/teams_nb.hpp>

namespace shmem {
namespace {

void act_meanwhile()
{
	act_for_peers();
	answer_launcher();
}

// With cores to spare: spin, since the peer responds within a cache miss or two. Oversubscribed: yield the core at
// once. The peers that we wait for may be waiting for us, so every wait acts for them.
constexpr pgas_backoff_rule kSpare{0, 2000, 10000, 100'000, act_meanwhile, 4};
constexpr pgas_backoff_rule kCrowded{0, 0, 10000, 100'000, act_meanwhile, 4};

// Sleeps until something arrives from another host, or briefly.
void nap_far(unsigned &polls)
{
	pgas::far_nap(polls, g_shmem.oversubscribed,
		      [](uint64_t ns) { return g_shmem.net.ops->wait(g_shmem.net.domain, ns) == 1; });
	check_lost(&g_default, "waiting");
	answer_launcher();
}

// The word may come from anywhere: each poll is also one of the link.
void pause_far(unsigned &polls)
{
	if (polls >= pgas::far_polls(g_shmem.oversubscribed))
		return nap_far(polls);
	polls = g_shmem.net.ops->progress(g_shmem.net.domain) == 1 ? 0 : polls + 1;
	if ((g_shmem.oversubscribed || polls > pgas::kFarSpins) && pgas_core_yield())
		polls = pgas::far_polls(g_shmem.oversubscribed);
}

// Polls of a word that a PE of this host stores, for one poll of the link: a poll of the link is a system call.
constexpr unsigned kNearPolls = 32;

// A collective's puts may wait as everything else does: those waits must not enter it again.
thread_local bool g_in_collective = false;

// Others may be waiting for this PE's part of a non-blocking collective.
PGAS_COLD void advance_collectives(unsigned &polls)
{
	const collective_guard guard;
	if (guard.is_outermost && teams::progress())
		polls = 0;
}

} // namespace

collective_guard::collective_guard() : is_outermost(!g_in_collective)
{
	g_in_collective = true;
}
collective_guard::~collective_guard()
{
	if (is_outermost)
		g_in_collective = false;
}

void answer_launcher()
{
	const bool tool_reports = g_shmem.tool && g_shmem.env.hang_after;
	if (PGAS_UNLIKELY(pgas_boot_is_asked()) && !tool_reports)
		pgas_boot_answer(pgas_tools::waiting_place(reinterpret_cast<const void *>(&answer_launcher)).c_str());
}

void act_for_peers()
{
	if (g_shmem.net.ops->progress(g_shmem.net.domain) == 1)
		note_far();
	unsigned polls = 0;
	if (PGAS_UNLIKELY(teams::operations_in_flight()))
		advance_collectives(polls);
}

void wait_pause(unsigned &polls)
{
	if (PGAS_UNLIKELY(teams::operations_in_flight()))
		advance_collectives(polls);
	if (PGAS_UNLIKELY(is_far()))
		return pause_far(polls);
	pgas_backoff wait{polls};
	pgas_backoff_turn(&wait, g_shmem.oversubscribed ? &kCrowded : &kSpare);
	polls = wait.polls;
}

void wait_pause_near(unsigned &polls)
{
	const pgas_backoff_rule &rule = g_shmem.oversubscribed ? kCrowded : kSpare;
	if (PGAS_UNLIKELY(teams::operations_in_flight()))
		advance_collectives(polls);
	if (PGAS_UNLIKELY(is_far())) {
		if (polls >= rule.spins + rule.yields) { // arrivals need us now
			unsigned naps = pgas::far_polls(g_shmem.oversubscribed);
			return nap_far(naps);
		}
		if (polls < rule.spins && polls % kNearPolls == kNearPolls - 1)
			act_for_peers();
	}
	pgas_backoff wait{polls};
	pgas_backoff_turn(&wait, &rule);
	polls = wait.polls;
}

} // namespace shmem
