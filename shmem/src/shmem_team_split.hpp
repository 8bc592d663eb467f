// SPDX-License-Identifier: BSD-3-Clause
//
// What a PE offers when a team is made, and how offers travel: several of them in one line of an exchange on the
// parent, with what else members compare.
#pragma once

#include "shmem_team.hpp"

namespace shmem {

// What the others must know of an offer.
struct offer_wire {
	uint32_t block = 0; // place in the arena, in lines; 0: none, the team cannot be made
	uint32_t staging = 0;
	uint64_t last = 0;        // highest number in the block
	uint64_t free_places = 0; // SHMEM_TEAM_AGREE=bitmask
};

struct offer : offer_wire {
	uint32_t lines = 0;
};

struct split_line {
	offer_wire offers[2]; // two for split_2d
	uint64_t check_or_color;
};
static_assert(sizeof(split_line) <= kInline);

offer make_offer(int most_members);
void withdraw(const offer &o);
// The team of parent's members list[0..n), I am among them: prepared while the offers travel, finished when they are
// there.
team *prepare_team(const team &parent, const int *list, int n);
int finish_team(team *t, const team &parent, const int *list, const offer &mine, size_t which,
		const shmem_team_config_t &config, shmem_team_t *out);
void drop_team(team *t, const offer &mine); // instead of finishing

inline offer_wire offered(const team &parent, int member, size_t which)
{
	offer_wire o;
	memcpy(&o, exchanged(parent, member) + which * sizeof o, sizeof o);
	return o;
}

// Number of a world PE in a team, or -1.
inline int member_of(const team &t, int pe)
{
	if (t.stride) {
		const int away = pe - t.start;
		const int at = away / t.stride;
		return away % t.stride == 0 && at >= 0 && at < t.n_pes ? at : -1;
	}
	for (int j = 0; j < t.n_pes; j++)
		if (t.members[j] == pe)
			return j;
	return -1;
}

} // namespace shmem
