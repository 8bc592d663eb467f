// SPDX-License-Identifier: BSD-3-Clause
//
// The cold side of the counters: waiting without burning a core that somebody else needs, and the clock for timeouts.
#include "pgas/pgas_counter.h"

#include <sched.h>
#include <time.h>

namespace {

// Spinning pays while the peer runs on another core; with more processes than cores a yield hands the core over at
// once.
constexpr uint32_t kSpins = 200;
constexpr uint32_t kYields = 2000;
constexpr long kSleepNs = 50'000;

} // namespace

extern "C" uint64_t pgas_backoff_pause(struct pgas_backoff *b) noexcept
{
	const uint32_t polls = b->polls++;
	if (polls < kSpins) {
		pgas_cpu_relax();
		return 0;
	}
	if (polls < kSpins + kYields) {
		sched_yield();
		return 0;
	}
	b->polls = kSpins + kYields; // stays in the sleeping phase without wrapping around
	const timespec nap{0, kSleepNs};
	nanosleep(&nap, nullptr);
	return kSleepNs;
}

extern "C" uint64_t pgas_now_ns(void) noexcept
{
	timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return static_cast<uint64_t>(ts.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(ts.tv_nsec);
}

extern "C" uint64_t pgas_deadline_ns(int timeout_ms) noexcept
{
	if (timeout_ms < 0)
		return UINT64_MAX;
	return pgas_now_ns() + static_cast<uint64_t>(timeout_ms) * 1'000'000u;
}
