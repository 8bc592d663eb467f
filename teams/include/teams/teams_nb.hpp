// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives that do not wait: a call starts one and returns an operation, which advances whenever a thread calls
// finished() or progress(). Several may be in progress, on one team or many. Members start the operations of a team in
// the same order. dest and source may be any memory of the caller and must stay until the operation is over: nothing
// here accesses another member's dest or source. The calls at the end are for symmetric memory: they do access it, copy
// less, and need less of the teams' memory.
//
// For clients that set client.nonblocking; each uses the calls of its kind of memory. Barriers belong to both kinds.
#pragma once

#include <teams/teams_coll.hpp>

namespace pgas::teams {

struct operation; // in progress; null stands for a completed one

// out[i] = left[i] op right[i]. out may be left. May write to right.
struct folding {
	void (*into)(const folding &f, void *out, const void *left, void *right, size_t elements) = nullptr;
	size_t size = 0;      // of an element, of any length
	bool ordered = false; // operands are combined in the order of members
	void (*function)() = nullptr;
	const void *data = nullptr; // function and data are for into()
};
folding folding_of(const reduction &op); // op must outlive the folding

// all_in: no source is read before all members have started; all_out: it is over only when it is over on all members.
struct bounds {
	bool all_in = false, all_out = false;
};

operation *start_barrier(team &t);
// writes the root's dest too, unless it is source
operation *start_broadcast(team &t, void *dest, const void *source, size_t bytes, int root, bounds b = {});
// The result is at `root` alone, or at all members: kEverywhere. dest may be source.
constexpr int kEverywhere = -1;
operation *start_reduce(team &t, const folding &f, void *dest, const void *source, size_t elements, int root,
			bounds b = {});
// One block of so many bytes for each member: on one side all blocks are at the root, or at all members.
operation *start_scatter(team &t, void *dest, const void *source, size_t bytes, int root, bounds b = {});
operation *start_gather(team &t, void *dest, const void *source, size_t bytes, int root, bounds b = {});
operation *start_gather_all(team &t, void *dest, const void *source, size_t bytes, bounds b = {});
operation *start_exchange(team &t, void *dest, const void *source, size_t bytes, bounds b = {});

// --- symmetric memory ------------------------------------------------------------------------------------------------

// As the blocking calls of teams_coll.hpp; a source must not change, and no dest be read, until it is over. The
// reduction must outlive the operation. routine: for client.check_dest.
operation *start_symmetric_broadcast(team &t, void *dest, const void *source, size_t bytes, int root);
operation *start_symmetric_fcollect(team &t, void *dest, const void *source, size_t bytes);
operation *start_symmetric_collect(team &t, const char *routine, void *dest, const void *source, size_t bytes);
operation *start_symmetric_alltoalls(team &t, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
				     size_t count, size_t size); // strides of 1: alltoall
operation *start_symmetric_reduce(team &t, const reduction &op, void *dest, const void *source, size_t elements);
// Has this team operations in progress? Then it cannot end.
bool has_operations(const team &t);

// --- progress --------------------------------------------------------------------------------------------------------

// Advances it as far as possible without waiting. Returns true when it is over, which also frees it.
bool finished(operation *op);
// Advances some of the operations in progress, different ones each time. Returns true if anything moved.
bool progress();
// Forgets operations in progress and gives all memory back. For a client that closes, before close().
void discard_operations();
// Number of operations in progress in this process.
extern unsigned g_in_flight; // written under a lock
inline unsigned operations_in_flight()
{
	return pgas_load_relaxed(&g_in_flight);
}

} // namespace pgas::teams
