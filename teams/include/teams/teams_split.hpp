// SPDX-License-Identifier: BSD-3-Clause
//
// The ways to make teams out of a team, and their end. All are collective over the parent. Arguments have been checked
// by the client; 0 is success, and any other answer is the same on all members, none of which gets a team then. `out`
// is null on a member of the parent that is in no new team.
#pragma once

#include <teams/teams_team.hpp>

namespace pgas::teams {

// Members start, start + stride, ... of the parent, all of them within it.
int split_strided(team &parent, int start, int stride, int count, team **out);
// Members list[0..count), each at most once, in this order; the same list everywhere.
int split_list(team &parent, const int *list, int count, team **out);
// Members in rows of `wide`; everybody gets its row and its column, or nobody gets anything.
int split_grid(team &parent, int wide, team **row, team **column);
// One team for each color, members in the order of their keys. A color below 0 is none; kColorWrong makes it fail on
// all members: for those whose arguments are wrong, since the others count on their taking part.
constexpr int kColorNone = -1, kColorWrong = -2;
int split_color(team &parent, int color, int key, team **out);

// Collective over the team.
void destroy(team *t);

} // namespace pgas::teams
