// SPDX-License-Identifier: BSD-3-Clause
//
// The cold part of the counters: waiting without occupying a core that another process needs, and the clock for
// timeouts.
#include "pgas/pgas_counter.h"
#include "pgas/pgas_turn.hpp"

#include <sched.h>
#include <time.h>

namespace {

// Spinning is worthwhile while the peer runs on another core; with more processes than cores a yield hands the core
// over at once.
constexpr pgas_backoff_rule kProviderRule{0, PGAS_BACKOFF_SPINS, PGAS_BACKOFF_YIELDS, 50'000, nullptr, 1};

// Beside a process that computes, each yield lasts a slice of that process, while a short sleep ends early.
constexpr uint32_t kForeignTurns = 8;          // so many of those are all yields of a rule
constexpr uint64_t kForeignTurnNs = 1'000'000; // processes that wait give the core back much sooner

} // namespace

extern "C" int pgas_core_yield(void) noexcept
{
	static thread_local bool has_asked;
	const uint64_t begin = pgas_now_ns();
	sched_yield();
	if (pgas_now_ns() - begin < kForeignTurnNs)
		return 0;
	if (!has_asked)
		pgas::ask_for_short_slices();
	has_asked = true;
	return 1;
}

extern "C" uint64_t pgas_backoff_yield(struct pgas_backoff *b, const struct pgas_backoff_rule *rule) noexcept
{
	const uint32_t yielded = b->polls - rule->spins;
	const bool tired = yielded >= rule->yields;
	if (rule->help && (tired || yielded % rule->help_every == 0))
		rule->help();
	if (!tired)
		b->polls++;
	else
		b->polls = rule->spins + rule->yields; // it stays in the last phase, whatever value the caller set
	if (!tired || rule->nap_ns == 0) {
		if (pgas_core_yield())
			b->polls += rule->yields / kForeignTurns;
		return 0;
	}
	const timespec nap{0, static_cast<long>(rule->nap_ns)};
	nanosleep(&nap, nullptr);
	return rule->nap_ns;
}

extern "C" uint64_t pgas_backoff_pause(struct pgas_backoff *b) noexcept
{
	return pgas_backoff_turn(b, &kProviderRule);
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
