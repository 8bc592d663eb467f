// SPDX-License-Identifier: BSD-3-Clause
//
// Non-blocking broadcast and reductions: binomial trees over the members' places, counted from a base. Member r
// (counted from the base) has the children r + 2^l for all 2^l below its lowest set bit, and the subtree of such a
// child is the 2^l members from there on: data from children in rising order is in the order of members.
//
// On one host the base is the root. On several it is the first member on the root's host, so that the tree crosses to
// each other host once, if all hosts have the same number of members. The root's data goes up the tree to the base on
// its way, and a result comes down to it. A reduction to all goes up to the base and down again, separately for each
// segment.
#include "teams_nb_tree.hpp"

#include <algorithm>

namespace pgas::teams {

// Sends member q's data to all members' dests; on q itself the data is in `src`.
void add_broadcast(operation &op, const tree &node, int q, buffer src)
{
	const bool on_way = node.holds(q), is_root = node.r == q;
	const int toward = on_way && !is_root ? high_level(q - node.r) : -1; // the child toward the root
	const buffer mine = is_root ? src : buffer::dest;
	if (toward >= 0)
		add_receive(op, node.lane, back, toward, buffer::dest, 0, kSegment);
	else if (!is_root)
		add_receive(op, node.lane, onward, node.top, buffer::dest, 0, kSegment);
	if (on_way && node.r)
		add_send(op, node.lane, back, node.top, mine, 0, kSegment);
	for (int level = node.top - 1; level >= 0; level--)
		if (node.has_child(level) && level != toward)
			add_send(op, node.lane, onward, level, mine, 0, kSegment);
}

namespace {

// Reduces my subtree into acc and sends it to my parent. acc is not used when I have no children.
void add_reduce(operation &op, const tree &node, buffer acc)
{
	if (node.is_leaf()) {
		if (node.r)
			add_send(op, node.lane, back, node.top, buffer::source, 0, kSegment);
		return;
	}
	const bool whole = op.f.size <= op.unit; // messages consist of whole elements
	buffer left = buffer::source; // then acc: the first child's data is combined with our own operands on arrival
	for (int level = 0; level < node.top; level++) {
		if (!node.has_child(level))
			continue;
		if (whole) {
			add_fold(op, node.lane, back, level, acc, left);
		} else {
			add_receive(op, node.lane, back, level, buffer::temp, op.segment, kSegment);
			add_here(op, act::combine, acc, left, 0, kSegment);
		}
		left = acc;
	}
	if (node.r)
		add_send(op, node.lane, back, node.top, acc, 0, kSegment);
}

// Sends the base's result down to q alone.
void add_hand_down(operation &op, const tree &node, int q, buffer acc)
{
	if (!q || !node.holds(q))
		return;
	const buffer mine = node.r == q ? buffer::dest : acc;
	if (node.r)
		add_receive(op, node.lane, onward, node.top, mine, 0, kSegment);
	if (node.r != q)
		add_send(op, node.lane, onward, high_level(q - node.r), mine, 0, kSegment);
}

// Can this member do its part of a reduction to the base without waiting? Only for one message each; an inner node has
// room for one line only.
bool may_reduce_at_once(const team &t, const tree &node, size_t bytes)
{
	const channels &c = *t.channel;
	if (bytes > (node.r && !node.is_leaf() ? kInline : kPieceBytes))
		return false;
	const int up = channel_of(t, node.lane, back, node.top);
	if (node.r && !may_send(t, up, c.sent[up] + 1))
		return false;
	for (int level = 0; level < node.top; level++) {
		const int source = channel_of(t, node.lane, back, level);
		if (node.has_child(level) && !message_here(t, source, c.received[source] + 1, bytes))
			return false;
	}
	return true;
}

// Consecutive calls mostly find the data there; then no program is made. dest: used at the base only.
void reduce_at_once(team &t, const tree &node, const folding &f, char *dest, const char *source, size_t bytes)
{
	constexpr uint64_t kAhead = 2; // messages: their lines are prefetched while this one is folded
	channels &c = *t.channel;
	alignas(kLine) char own[kLine];
	char *const acc = node.r ? own : dest;
	const char *left = source;
	for (int level = 0; level < node.top; level++) {
		if (!node.has_child(level))
			continue;
		const int sender = channel_of(t, node.lane, back, level);
		const uint64_t number = ++c.received[sender];
		fold_message(f, acc, left, message_here(t, sender, number, bytes), bytes);
		message_taken(t, other_end(t, node.lane, back, level, false), sender, number);
		__builtin_prefetch(message_line(t, sender, number + kAhead));
		left = acc;
	}
	if (!node.r)
		return;
	const int up = channel_of(t, node.lane, back, node.top);
	send_message(t, other_end(t, node.lane, back, node.top, true), up, ++c.sent[up], left, bytes);
}

void fold_rows(const folding &f, void *out, const void *left, void *right, size_t elements)
{
	const void *rows[] = {left, right};
	static_cast<const reduction *>(f.data)->fold(out, rows, 2, elements);
}

} // namespace

folding folding_of(const reduction &op)
{
	return {fold_rows, op.size, false, nullptr, &op};
}

operation *start_broadcast(team &t, void *dest, const void *source, size_t bytes, int root, bounds b)
{
	if (t.size == 1 || !bytes) {
		if (t.me == root && dest != source && bytes)
			memmove(dest, source, bytes);
		return nullptr;
	}
	const engine_lock lock;
	const bounded within(t, b);
	operation *op = new_operation(t, dest, source, bytes, kPieceBytes, kPieces * kPieceBytes);
	const int base = base_for(t, root), q = (place_of(t.channel->lanes[0], root) - base + t.size) % t.size;
	add_broadcast(*op, tree(t, 0, base), q, buffer::source);
	if (t.me == root)
		add_here(*op, act::copy, buffer::dest, buffer::source, 0, kSegment);
	return within.launch(op);
}

operation *start_reduce(team &t, const folding &f, void *dest, const void *source, size_t elements, int root, bounds b)
{
	const size_t bytes = elements * f.size;
	const bool everywhere = root == kEverywhere, here = everywhere || t.me == root;
	if (t.size == 1 || !bytes) {
		if (here && dest != source && bytes)
			memmove(dest, source, bytes);
		return nullptr;
	}
	const engine_lock lock;
	require_channels(t);
	// unless hosts are out of order, both lanes are in the order of members
	const int lane = f.ordered && t.channel->lanes[0].member_at ? 1 : 0;
	const int base = everywhere || f.ordered ? 0 : base_for(t, root);
	const tree node(t, lane, base);
	const int q = everywhere ? 0 : (place_of(t.channel->lanes[lane], root) - base + t.size) % t.size;
	if (!everywhere && !q && !b.all_in && !b.all_out && may_reduce_at_once(t, node, bytes)) {
		reduce_at_once(t, node, f, static_cast<char *>(dest), static_cast<const char *>(source), bytes);
		return nullptr;
	}
	const bounded within(t, b);
	const size_t unit = f.size <= kPieceBytes ? kPieceBytes / f.size * f.size : kPieceBytes;
	const size_t segment = f.size <= kPieceBytes ? kPieces * unit : f.size;
	operation *op = new_operation(t, dest, source, bytes, unit, segment);
	op->f = f;
	const buffer acc = here ? buffer::dest : buffer::temp;
	const size_t needed = std::min(segment, bytes);
	if (f.size > unit)
		reserve_temp(*op, segment + needed);
	else if (acc == buffer::temp && !node.is_leaf())
		reserve_temp(*op, needed);
	add_reduce(*op, node, acc);
	if (!everywhere) {
		add_hand_down(*op, node, q, acc);
		return within.launch(op);
	}
	begin_second_fiber(*op);
	op->lag = true;
	add_broadcast(*op, node, 0, buffer::dest);
	return within.launch(op);
}

} // namespace pgas::teams
