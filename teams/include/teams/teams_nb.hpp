// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives that do not wait: a call starts one and answers an operation, which goes on whenever somebody lets it.
// Several may be under way, on one team or many. Members start those of a team in the same order. dest and source are
// any memory of the caller and stay until the operation is over: nothing here reads or writes another member's.
//
// For clients that set client.nonblocking.
#pragma once

#include <teams/teams_coll.hpp>

namespace pgas::teams {

struct operation; // under way; null is one that is over

// out[i] = left[i] op right[i]. out may be left. May write to right.
struct folding {
	void (*into)(const folding &f, void *out, const void *left, void *right, size_t elements) = nullptr;
	size_t size = 0;      // of an element, of any length
	bool ordered = false; // operands are taken in the order of members
	void (*function)() = nullptr;
	const void *data = nullptr; // these two are for into()
};
folding folding_of(const reduction &op); // which stays

// Nobody's source is read before all members have started it; it is over when it is over on all members.
struct bounds {
	bool all_in = false, all_out = false;
};

operation *start_barrier(team &t);
// dest of the root too, unless it is source
operation *start_broadcast(team &t, void *dest, const void *source, size_t bytes, int root, bounds b = {});
// The result is at `root` alone, or everywhere: kEverywhere. dest may be source.
constexpr int kEverywhere = -1;
operation *start_reduce(team &t, const folding &f, void *dest, const void *source, size_t elements, int root,
			bounds b = {});
// One block of so many bytes for each member: all at the root on one side, or everywhere.
operation *start_scatter(team &t, void *dest, const void *source, size_t bytes, int root, bounds b = {});
operation *start_gather(team &t, void *dest, const void *source, size_t bytes, int root, bounds b = {});
operation *start_gather_all(team &t, void *dest, const void *source, size_t bytes, bounds b = {});
operation *start_exchange(team &t, void *dest, const void *source, size_t bytes, bounds b = {});

// Does what can be done for it without waiting. True: it is over, and no longer there.
bool finished(operation *op);
// The same for some of those under way, others each time. True: something moved.
bool progress();
// How many are under way in this process.
extern unsigned g_under_way; // written under a lock
inline unsigned under_way()
{
	return pgas_load_relaxed(&g_under_way);
}

} // namespace pgas::teams
