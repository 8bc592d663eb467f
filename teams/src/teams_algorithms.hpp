// SPDX-License-Identifier: BSD-3-Clause
//
// Shared by the files of the collectives: the choice of algorithm, and the algorithms across hosts.
#pragma once

#include <teams/teams_coll.hpp>

#include <algorithm>

namespace pgas::teams {

// --- small things ----------------------------------------------------------------------------------------------------

// i modulo n, for an i at most one turn outside a ring of n
inline int wrap(int i, int n)
{
	return i >= n ? i - n : i < 0 ? i + n : i;
}

inline void copy_own(void *dest, const void *source, size_t bytes)
{
	if (dest != source && bytes)
		memmove(dest, source, bytes);
}

struct range {
	size_t begin, end; // elements
};

// Part `index` of `parts` equal ones, in whole cache lines as far as the array's alignment allows, so that two members
// do not write into one line.
inline range part_of(range all, int index, int parts, size_t size)
{
	const size_t in_line = size < kLine ? kLine / size : 1, n = all.end - all.begin;
	size_t each = (n + static_cast<size_t>(parts) - 1) / static_cast<size_t>(parts);
	each = (each + in_line - 1) / in_line * in_line;
	const size_t begin = std::min(n, static_cast<size_t>(index) * each);
	return {all.begin + begin, all.begin + std::min(n, begin + each)};
}

// --- choice ----------------------------------------------------------------------------------------------------------

// does a team on this many hosts use algorithms that need staging memory?
bool wants_staging(int hosts);

// --- across hosts: teams_hosts.cpp, teams_reduce_hosts.cpp -----------------------------------------------------------

// Blocks of different lengths: member j's is at [offset[j], offset[j + 1]) of dest; mine is `source`.
void allgather_hosts(team &t, fcollect_algorithm how, char *dest, const char *source, const size_t *offset);
void reduce_hosts(team &t, reduce_algorithm how, const reduction &op, char *dest, const char *source, size_t elements);
void broadcast_hosts(team &t, bcast_algorithm how, char *dest, const char *source, size_t bytes, int root,
		     bool root_too);

// What alltoall sends to each member; the algorithm decides the order.
struct alltoall_moves {
	void (*send)(team &t, int dest, const void *arg);
	const void *arg;
};
void alltoall_hosts(team &t, alltoall_algorithm how, const alltoall_moves &moves);
// One message for each pair of hosts. Returns false, and does nothing, if the blocks are too long for that.
bool alltoall_short_hosts(team &t, char *dest, const char *source, size_t bytes);

} // namespace pgas::teams
