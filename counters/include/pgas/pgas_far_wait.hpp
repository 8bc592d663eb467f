// SPDX-License-Identifier: BSD-3-Clause
//
// How calls wait while peers are on other hosts. For our own libraries: C++, inline, not installed.
//
// Every look takes in what arrived, and what arrives ends a sleep; what peers of this host store does not, so sleeps
// are short. Where processes share cores they grow with the time that was waited: a hundred that wake up all the time
// would leave no core to the one they wait for.
#pragma once

#include <cstdint>

namespace pgas {

// Looks before the first sleep; a counter of looks goes on from there with the sleeps.
constexpr uint32_t far_looks(bool crowded)
{
	return crowded ? 20 : 500;
}

// One sleep of a loop that looked often enough. sleep(ns) is true when something arrived.
template <class Sleep>
void far_nap(uint32_t &polls, bool crowded, Sleep &&sleep)
{
	constexpr uint64_t kNapNs = 100'000;
	constexpr uint32_t kNapsPerStep = 4, kSteps = 5;
	const uint32_t looks = far_looks(crowded), naps = polls - looks;
	polls += naps < kNapsPerStep * kSteps;
	if (sleep(crowded ? kNapNs << naps / kNapsPerStep : kNapNs))
		polls = looks;
}

} // namespace pgas
