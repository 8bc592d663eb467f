// SPDX-License-Identifier: BSD-3-Clause
//
// A team's life cycle inside the library: see teams_life.cpp.
#pragma once

#include <teams/teams_team.hpp>

namespace pgas::teams {

// A team with arrays for `count` members, added to the list of made teams. Null: out of memory.
team *team_make(int count);
// Takes it off the list for reuse; team_release() has been called, or the team never had memory.
void team_unmake(team *t);
// Gives back everything it holds; no member may use it any more.
void team_release(team &t);
// Fills in what follows from members[], which must be set.
void derive(team &t);
void set_numbers(team &t, uint64_t first);

} // namespace pgas::teams
