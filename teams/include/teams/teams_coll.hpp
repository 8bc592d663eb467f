// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives: untyped, in bytes, on a team or a set. Clients give them names and types, and check arguments first.
// dest and source are symmetric; dest must be ready on all members before any of them calls. The tables in
// teams_choose.cpp decide which algorithm runs.
#pragma once

#include <teams/teams_team.hpp>

namespace pgas::teams {

// --- sets ------------------------------------------------------------------------------------------------------------

// A set is a team without memory of its own: ranks start, start + stride, ..., and kSetFlags symmetric words that the
// caller passes for each call. They are zero on all members before the call, and zero again afterwards. Only a few are
// used: one for each round of a sync, and the last one.
constexpr size_t kSetFlags = 128;
bool make_set(team &t, int start, int stride, int count); // false: out of memory
void release_set(team &t);

// --- choice: which algorithm runs ------------------------------------------------------------------------------------

barrier_algorithm choose_sync(const team &t);
reduce_algorithm choose_reduce(const team &t, size_t bytes);
bcast_algorithm choose_bcast(const team &t, size_t bytes);
fcollect_algorithm choose_fcollect(const team &t, size_t bytes); // bytes of one member
alltoall_algorithm choose_alltoall(const team &t, size_t bytes); // from one member to another

// The choices for all sizes, with the reasons: calls each(), with arg, for one range of sizes after another.
enum class collective { sync, reduce, bcast, fcollect, alltoall };
struct choice {
	size_t begin, end; // bytes
	int algorithm;
	const char *why; // "" when the user forced it
};
void choices(collective which, const team &t, void (*each)(const choice &c, void *arg), void *arg);

// --- reductions ------------------------------------------------------------------------------------------------------

// out[i] = rows[0][i] op rows[1][i] op ..., from left to right; out may be one of the rows.
struct reduction {
	void (*fold)(void *out, const void *const *rows, size_t row_count, size_t elements);
	size_t size; // of an element
};

void reduce(team &t, const reduction &op, void *dest, const void *source, size_t elements);
void scan(team &t, const reduction &op, void *dest, const void *source, size_t elements, bool exclusive);

// --- data movement ---------------------------------------------------------------------------------------------------

// root_too: the root's dest gets the data too
void broadcast(team &t, void *dest, const void *source, size_t bytes, int root, bool root_too);
// For members that may still read dest while another one calls: no member's dest is written before that member calls.
void broadcast_in_turn(team &t, void *dest, const void *source, size_t bytes, int root, bool root_too);
void fcollect(team &t, void *dest, const void *source, size_t bytes); // the same length on all members
void collect(team &t, void *dest, const void *source, size_t bytes);
void alltoall(team &t, void *dest, const void *source, size_t bytes);
// strides and count in elements of `size` bytes
void alltoalls(team &t, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t count, size_t size);

// Teams only, not sets: gather collects `bytes` of each member at the root, scatter distributes them from there.
void gather(team &t, void *dest, const void *source, size_t bytes, int root);
void scatter(team &t, void *dest, const void *source, size_t bytes, int root);

// One block of an array for each member: its number of elements, and its offset in elements. The blocks of dest say
// where each member's data is put.
struct block_list {
	const size_t *counts, *displs;
};
void alltoallv(team &t, const char *routine, void *dest, const block_list &dst, const void *source,
	       const block_list &src, size_t size);
// Ends the job when sender and receiver disagree about a block's length.
void check_expected(const team &t, const char *routine, int source, size_t sent, int dest, size_t expected);

} // namespace pgas::teams
