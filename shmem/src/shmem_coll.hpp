// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives inside the library: untyped, in bytes, on a team or an active set. The C names are made from these in
// shmem_coll_names.cpp and shmem_coll_set.cpp; which algorithm runs is decided by the table in shmem_coll_choose.cpp.
#pragma once

#include "shmem_team.hpp"

namespace shmem {

// --- small things ----------------------------------------------------------------------------------------------------

// i of a ring of n; one turn too far at most
inline int wrap(int i, int n)
{
	return i >= n ? i - n : i < 0 ? i + n : i;
}

inline void copy_own(void *dest, const void *source, size_t bytes)
{
	if (dest != source && bytes)
		memmove(dest, source, bytes);
}

// --- choice ----------------------------------------------------------------------------------------------------------

barrier_algorithm_kind choose_sync(const team &t);
reduce_algorithm_kind choose_reduce(const team &t, size_t bytes);
bcast_algorithm_kind choose_bcast(const team &t, size_t bytes);
fcollect_algorithm_kind choose_fcollect(const team &t, size_t bytes); // of one member
alltoall_algorithm_kind choose_alltoall(const team &t, size_t bytes); // from one member to another
// does a team on so many hosts use algorithms that need staging memory?
bool wants_staging(int hosts);

// --- reductions ------------------------------------------------------------------------------------------------------

// out[i] = rows[0][i] op rows[1][i] op ..., from left to right; out may be one of the rows.
struct reduction {
	void (*fold)(void *out, const void *const *rows, size_t row_count, size_t elements);
	size_t size; // of an element
};

void reduce(team &t, const reduction &op, void *dest, const void *source, size_t elements);
void scan(team &t, const reduction &op, void *dest, const void *source, size_t elements, bool exclusive);

// --- data movement ---------------------------------------------------------------------------------------------------

void broadcast(team &t, void *dest, const void *source, size_t bytes, int root, bool root_too);
void fcollect(team &t, void *dest, const void *source, size_t bytes);
void collect(team &t, void *dest, const void *source, size_t bytes);
void alltoall(team &t, void *dest, const void *source, size_t bytes);
// strides and count in elements of `size` bytes
void alltoalls(team &t, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t count, size_t size);

// Blocks of different lengths: member j's lies at offset[j] of dest, up to offset[j + 1]; mine is `source`.
void allgather_hosts(team &t, fcollect_algorithm_kind how, char *dest, const char *source, const size_t *offset);
void reduce_hosts(team &t, reduce_algorithm_kind how, const reduction &op, char *dest, const char *source,
		  size_t elements);
void broadcast_hosts(team &t, bcast_algorithm_kind how, char *dest, const char *source, size_t bytes, int root,
		     bool root_too);

// In which order a member talks to the others in alltoall: calls send(j) for each, then wait(j).
struct alltoall_moves {
	void (*send)(team &t, int to, const void *arg);
	const void *arg;
};
void alltoall_hosts(team &t, alltoall_algorithm_kind how, const alltoall_moves &moves);

// --- checks ----------------------------------------------------------------------------------------------------------

// With SHMEM_DEBUG: members compare what they were called with; the job ends with a line when they differ.
void check_alike(team &t, const char *routine, uint64_t elements, int root, const void *dest, const void *source);

} // namespace shmem
