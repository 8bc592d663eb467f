// SPDX-License-Identifier: BSD-3-Clause
//
// The ways to make teams out of a team, and to end them. All are collective over the parent. The client has checked the
// arguments. 0 is success; any other return value is the same on all members, and then no member gets a team. `out` is
// null on a member of the parent that is in no new team.
#pragma once

#include <teams/teams_team.hpp>

namespace pgas::teams {

// Members start, start + stride, ... of the parent, all of them within it.
int split_strided(team &parent, int start, int stride, int count, team **out);
// Members list[0..count), each at most once, in this order; the same list everywhere.
int split_list(team &parent, const int *list, int count, team **out);
// Members in rows of `wide`; either all members get a row and a column, or none does.
int split_grid(team &parent, int wide, team **row, team **column);
// One team for each color, members in the order of their keys. A color below 0 means no team; kColorWrong makes the
// split fail on all members: for a member with wrong arguments, which must still take part because the others wait for
// it.
constexpr int kColorNone = -1, kColorWrong = -2;
int split_color(team &parent, int color, int key, team **out);

// Collective over the team.
void destroy(team *t);

} // namespace pgas::teams
