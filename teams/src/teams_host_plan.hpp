// SPDX-License-Identifier: BSD-3-Clause
//
// Who is where: the members of a team by host, for collectives in which all members of a host take part. A team makes
// its plan at the first use.
#pragma once

#include <teams/teams_team.hpp>

namespace pgas::teams {

// The arrays follow the struct in its allocation.
struct host_plan {
	int group = 0, groups = 0;     // my host, and how many there are
	int index = 0;                 // my place on my host
	int least = 0, most = 0;       // members on the host with the fewest, and on that with the most
	int locals = 0;                // members of my host
	const int *local = nullptr;    // the same, in ascending order
	const int *by_host = nullptr;  // all members: those of host 0 first
	const int *first_of = nullptr; // where a host begins in by_host; one more entry for the end

	int count_of(int host) const { return first_of[host + 1] - first_of[host]; }
	int member(int host, int i) const { return by_host[first_of[host] + i]; }
	template <class Body>
	void each_other_local(int me, Body &&body) const
	{
		for (int i = 0; i < locals; i++)
			if (local[i] != me)
				body(local[i]);
	}
};

const host_plan &host_plan_of(team &t);

} // namespace pgas::teams
