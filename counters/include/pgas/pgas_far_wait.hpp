// SPDX-License-Identifier: BSD-3-Clause
//
// How calls wait while peers are on other hosts. For our own libraries: C++, inline, not installed.
//
// Every poll processes arrivals, and arrivals end a sleep; stores by peers on this host do not, so sleeps are short.
// Where processes share cores, sleeps grow with the time waited: a hundred processes that keep waking up would leave no
// core to the one they wait for.
#pragma once

#include <algorithm>
#include <cstdint>

namespace pgas {

// Polls before the loop yields its core between two polls.
constexpr uint32_t kFarSpins = 500;

// Polls before the first sleep; beyond it, the counter of polls counts sleeps. A sleep that is too early costs more
// than it saves: if a peer of this host stores the word meanwhile, the sleep goes on to its end.
constexpr uint32_t far_polls(bool crowded)
{
	return crowded ? 20 : 4000;
}

// One sleep of a loop that has done all its polls. sleep(ns) returns true when something arrived. A wait may have begun
// before there were far peers, so its counter may be far beyond the last sleep.
template <class Sleep>
void far_nap(uint32_t &polls, bool crowded, Sleep &&sleep)
{
	constexpr uint64_t kNapNs = 100'000;
	constexpr uint32_t kNapsPerStep = 4, kSteps = 5;
	const uint32_t busy_polls = far_polls(crowded), naps = std::min(polls - busy_polls, kNapsPerStep * kSteps);
	polls = busy_polls + std::min(naps + 1, kNapsPerStep * kSteps);
	if (sleep(crowded ? kNapNs << naps / kNapsPerStep : kNapNs))
		polls = busy_polls;
}

} // namespace pgas
