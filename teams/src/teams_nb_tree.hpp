// SPDX-License-Identifier: BSD-3-Clause
//
// The binomial trees of teams_nb_trees.cpp, which describes them: where a member stands in one.
#pragma once

#include "teams_nb.hpp"

namespace pgas::teams {

inline int low_level(int r) // the level of the channel to the parent; r is not 0
{
	return __builtin_ctz(static_cast<unsigned>(r));
}
inline int high_level(int r)
{
	return 31 - __builtin_clz(static_cast<unsigned>(r));
}

struct tree {
	int lane, n, r;
	int top; // children are at levels below

	tree(const team &t, int which_lane, int base)
		: lane(which_lane), n(t.size), r((place_of(t.channel->lanes[which_lane], t.me) - base + n) % n),
		  top(r ? low_level(r) : t.channel->levels)
	{
	}
	bool has_child(int level) const { return r + (1 << level) < n; }
	bool is_leaf() const { return top == 0 || !has_child(0); }
	// is q in my subtree, me included?
	bool holds(int q) const { return r == 0 || (q >= r && q < r + (1 << top)); }
};

inline int base_for(const team &t, int root)
{
	const lane &l = t.channel->lanes[0];
	return place_of(l, t.hosts > 1 ? t.leaders[t.host[root]] : root);
}

// Sends member q's data to all members' dests; on q itself the data is in `src`.
void add_broadcast(operation &op, const tree &node, int q, buffer src);

} // namespace pgas::teams
