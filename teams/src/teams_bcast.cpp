// SPDX-License-Identifier: BSD-3-Clause
//
// Broadcast on one host. Members are notified along a tree with four children each, so that no member writes more than
// four lines and all are notified within log4(n) hops; a stream of broadcasts then costs what one member's four lines
// cost.
//
//   up to 8 bytes     next to the number, in a note
//   up to 56 bytes    next to the number, in a line
//   more              a note says that the root's source may be read; all members read it concurrently, and the root
//                     waits for their progress
//
// flat: the root notifies all members itself. Used with more processes than cores, where a hop costs a time slice
// instead of a cache miss.
#include "teams_algorithms.hpp"

#include <algorithm>

namespace pgas::teams {
namespace {

// A position in the tree: members are numbered from the root on; my children are `first` up to `end`, my parent is
// `above`.
struct tree_position {
	int root, index, first, end, above;
};

tree_position tree_position_of(const team &t, int root, int fan)
{
	const int n = t.size;
	const int index = wrap(t.me - root, n);
	const int64_t first = int64_t{index} * fan + 1;
	return {root, index, static_cast<int>(std::min<int64_t>(first, n)),
		static_cast<int>(std::min<int64_t>(first + fan, n)), wrap((index - 1) / fan + root, n)};
}

// The line in which a member receives broadcast `number` from `source`.
line *broadcast_line(const team &t, uint64_t number, int source, bool fits_note)
{
	if (fits_note)
		return reinterpret_cast<line *>(&head_of(t.block)->notes[number % kNotes]);
	return in_line(t, t.block, number, source);
}

// Waits until my children have read what I am about to overwrite. Waits for half of the ring at once, so it waits
// rarely.
void await_children(team &t, const tree_position &p, uint64_t number, unsigned ring)
{
	if (t.below_root != p.root) {
		t.below_root = p.root;
		t.known_below = t.known;
	}
	if (PGAS_LIKELY(std::max(t.known, t.known_below) + ring >= number))
		return;
	uint64_t slowest = UINT64_MAX;
	for (int i = p.first; i < p.end; i++)
		slowest = std::min(slowest, await_progress_of(t, wrap(i + p.root, t.size), number - ring / 2));
	t.known_below = slowest;
}

void broadcast_direct(team &t, void *dest, const void *source, size_t bytes, int root, bool root_too, int fan)
{
	const tree_position p = tree_position_of(t, root, fan);
	const uint64_t number = ++t.exchanges;
	const bool beside = bytes <= kInline, fits_note = bytes <= sizeof(note::payload) || !beside;
	line mine{};
	const line *from_parent = &mine;
	if (p.index == 0) {
		memcpy(mine.payload, source, beside ? bytes : 0);
	} else {
		from_parent = broadcast_line(t, number, p.above, fits_note);
		await([=] { return pgas_load_relaxed(&from_parent->number) == number; }, on_my_host(t, p.above));
	}
	if (p.first < p.end) {
		await_children(t, p, number, fits_note ? kNotes : kRing);
		line *item = broadcast_line(t, number, t.me, fits_note);
		for (int i = p.first; i < p.end; i++)
			set_line(t, wrap(i + root, t.size), item, number, *from_parent,
				 fits_note ? sizeof(note::payload) : kInline);
	}
	if (p.index == 0) {
		if (root_too)
			copy_own(dest, source, bytes);
		if (!beside)
			await_progress(t, number); // until all have read my source
	} else if (beside) {
		memcpy(dest, from_parent->payload, bytes);
	} else if (is_near(t, root)) {
		memcpy(dest, address_at(t, root, source), bytes);
	} else {
		g_job.get(dest, source, bytes, world_rank(t, root));
	}
	report_completed(t);
}

} // namespace

void broadcast(team &t, void *dest, const void *source, size_t bytes, int root, bool root_too)
{
	if (!bytes)
		return;
	if (t.size == 1) {
		if (root_too)
			copy_own(dest, source, bytes);
		return;
	}
	if (!t.block) { // a set
		sync(t);
		if (t.me != root) {
			const void *src = view(t, root, source, bytes, dest);
			copy_own(dest, src, bytes);
		} else if (root_too) {
			copy_own(dest, source, bytes);
		}
		return sync(t);
	}
	const auto how = choose_bcast(t, bytes);
	if (how == bcast_algorithm::direct || how == bcast_algorithm::flat)
		return broadcast_direct(t, dest, source, bytes, root, root_too,
					how == bcast_algorithm::flat ? t.size : kFan);
	broadcast_hosts(t, how, static_cast<char *>(dest), static_cast<const char *>(source), bytes, root, root_too);
}

void broadcast_in_turn(team &t, void *dest, const void *source, size_t bytes, int root, bool root_too)
{
	if (bytes && t.size > 1 && t.block) {
		const auto how = choose_bcast(t, bytes);
		if (how != bcast_algorithm::direct && how != bcast_algorithm::flat)
			sync(t); // other members write into dest
	}
	broadcast(t, dest, source, bytes, root, root_too);
}

} // namespace pgas::teams
