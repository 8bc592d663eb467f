// SPDX-License-Identifier: BSD-3-Clause
//
// Signals between two members, for algorithms across hosts: data is put, then the receiver is notified. Each ordered
// pair and kind has its own count, so a signal is never lost or mistaken for another, whichever algorithms follow one
// another; the counts are numbers like all others of a team and are never reset.
#pragma once

#include <teams/teams_team.hpp>

#include <cstdlib>

namespace pgas::teams {

enum signal_kind { signal_data = 0, signal_ready = 1 };

[[gnu::cold, gnu::noinline]] inline void signals_setup(team &t)
{
	const auto n = static_cast<size_t>(t.size);
	t.sent = static_cast<uint64_t *>(malloc(4 * n * sizeof(uint64_t)));
	if (!t.sent)
		fail("collective", "out of memory");
	t.received = t.sent + 2 * n;
	for (size_t i = 0; i < 4 * n; i++)
		t.sent[i] = t.first;
}

// When the member sees the signal, everything that I put to it before has arrived.
inline void notify_member(team &t, int dest, signal_kind kind = signal_data)
{
	if (PGAS_UNLIKELY(!t.sent))
		signals_setup(t);
	set_number(t, dest, signal_line(t, t.block, kind, t.me), ++t.sent[kind * t.size + dest]);
}

inline void await_member(team &t, int source, signal_kind kind = signal_data)
{
	if (PGAS_UNLIKELY(!t.sent))
		signals_setup(t);
	await_number(signal_line(t, t.block, kind, source), ++t.received[kind * t.size + source],
		     on_my_host(t, source));
}

inline void push_and_tell(team &t, int target, void *dest, const void *source, size_t bytes)
{
	push(t, target, dest, source, bytes);
	notify_member(t, target);
}

} // namespace pgas::teams
