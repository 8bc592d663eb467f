// SPDX-License-Identifier: BSD-3-Clause
//
// A team's life inside the library: see teams_life.cpp.
#pragma once

#include <teams/teams_team.hpp>

namespace pgas::teams {

// A team with arrays for so many members, on the list of those made. Null: out of memory.
team *team_make(int count);
// Off the list, to be used again; team_release() has been called, or the team never had memory.
void team_unmake(team *t);
// Gives everything of it back; nobody may use it any more.
void team_release(team &t);
// members[] is set: what follows from it.
void derive(team &t);
void set_numbers(team &t, uint64_t first);

} // namespace pgas::teams
