// SPDX-License-Identifier: BSD-3-Clause
//
// Non-blocking scatter, gather, gather to all, and exchange. Blocks are kept in the order of their distance, in places,
// from the root or from me.
//
//   scatter, gather   along a binomial tree: a member has the blocks of its subtree
//   gather to all     Bruck's: in round l each member has the blocks of 2^l members, and sends them to the one 2^l back
//   exchange          Bruck's: in round l all blocks whose distance has bit l go 2^l onward
//
// The last two send and receive in one round: they need two fibers, or all members would wait for a slot at the next.
#include "teams_nb.hpp"

#include <algorithm>

namespace pgas::teams {
namespace {

struct part {
	int r, top;    // distance from the root, level of the channel to the parent
	size_t blocks; // of my subtree
};

part part_of(const team &t, int root)
{
	const lane &l = t.channel->lanes[0];
	const int r = (place_of(l, t.me) - place_of(l, root) + t.size) % t.size;
	const int top = r ? __builtin_ctz(static_cast<unsigned>(r)) : t.channel->levels;
	return {r, top, static_cast<size_t>(std::min(t.size - r, 1 << top))};
}

// The number of blocks of the child at this level; 0 if there is no child.
size_t child_blocks(const part &p, int level)
{
	const size_t first = size_t{1} << level;
	return p.blocks > first ? std::min(first, p.blocks - first) : 0;
}

bool copy_if_alone(const team &t, void *dest, const void *source, size_t bytes)
{
	if (t.size > 1 && bytes)
		return false;
	if (dest != source && bytes)
		memmove(dest, source, bytes);
	return true;
}

operation *new_move_operation(team &t, void *dest, const void *source)
{
	return new_operation(t, dest, source, 0, kPieceBytes, 1); // runs once, whatever the length
}

} // namespace

operation *start_scatter(team &t, void *dest, const void *source, size_t bytes, int root, bounds b)
{
	if (copy_if_alone(t, dest, source, bytes))
		return nullptr;
	const engine_lock lock;
	const bounded within(t, b);
	operation *op = new_move_operation(t, dest, source);
	const part p = part_of(t, root);
	if (p.r && p.blocks == 1) {
		add_receive(*op, 0, onward, p.top, buffer::dest, 0, bytes);
		return within.launch(op);
	}
	reserve_temp(*op, p.blocks * bytes);
	if (p.r)
		add_receive(*op, 0, onward, p.top, buffer::temp, 0, p.blocks * bytes);
	else
		add_here(*op, act::pick, buffer::temp, buffer::source, place_of(t.channel->lanes[0], root), bytes);
	for (int level = p.top - 1; level >= 0; level--)
		if (const size_t blocks = child_blocks(p, level))
			add_send(*op, 0, onward, level, buffer::temp, bytes << level, blocks * bytes);
	add_here(*op, act::copy, buffer::dest, buffer::temp, 0, bytes);
	return within.launch(op);
}

operation *start_gather(team &t, void *dest, const void *source, size_t bytes, int root, bounds b)
{
	if (copy_if_alone(t, dest, source, bytes))
		return nullptr;
	const engine_lock lock;
	const bounded within(t, b);
	operation *op = new_move_operation(t, dest, source);
	const part p = part_of(t, root);
	if (p.r && p.blocks == 1) {
		add_send(*op, 0, back, p.top, buffer::source, 0, bytes);
		return within.launch(op);
	}
	reserve_temp(*op, p.blocks * bytes);
	add_here(*op, act::copy, buffer::temp, buffer::source, 0, bytes);
	for (int level = 0; level < p.top; level++)
		if (const size_t blocks = child_blocks(p, level))
			add_receive(*op, 0, back, level, buffer::temp, bytes << level, blocks * bytes);
	if (p.r)
		add_send(*op, 0, back, p.top, buffer::temp, 0, p.blocks * bytes);
	else
		add_here(*op, act::place, buffer::dest, buffer::temp, place_of(t.channel->lanes[0], root), bytes);
	return within.launch(op);
}

// Step 0 has put my own block at the start of temp; the others arrive behind it, and end in the order of members.
void add_gather_all(operation &op, buffer dst, size_t dst_offset, size_t bytes)
{
	const team &t = *op.t;
	const auto n = static_cast<size_t>(t.size);
	const int levels = t.channel->levels;
	const auto blocks = [&](int level) { return std::min(size_t{1} << level, n - (size_t{1} << level)) * bytes; };
	// steps 0 to levels: the data for round l is there when I have received in the rounds before
	for (int level = 0; level < levels; level++) {
		add_send(op, 0, back, level, buffer::temp, 0, blocks(level));
		op.steps[op.step_count - 1].needs = static_cast<uint8_t>(levels + 1 + level);
	}
	begin_second_fiber(op); // step levels + 1 + l receives in round l
	for (int level = 0; level < levels; level++)
		add_receive(op, 0, back, level, buffer::temp, bytes << level, blocks(level));
	add_here(op, act::place, dst, buffer::temp, place_of(t.channel->lanes[0], t.me), bytes);
	step &last = op.steps[op.step_count - 1];
	last.offset = dst_offset;
	last.needs = 1; // until my own block is there
}

operation *start_gather_all(team &t, void *dest, const void *source, size_t bytes, bounds b)
{
	if (copy_if_alone(t, dest, source, bytes))
		return nullptr;
	const engine_lock lock;
	const bounded within(t, b);
	operation *op = new_move_operation(t, dest, source);
	reserve_temp(*op, static_cast<size_t>(t.size) * bytes);
	add_here(*op, act::copy, buffer::temp, buffer::source, 0, bytes);
	add_gather_all(*op, buffer::dest, 0, bytes);
	return within.launch(op);
}

operation *start_exchange(team &t, void *dest, const void *source, size_t bytes, bounds b)
{
	if (copy_if_alone(t, dest, source, bytes))
		return nullptr;
	const engine_lock lock;
	const bounded within(t, b);
	operation *op = new_move_operation(t, dest, source);
	const auto n = static_cast<size_t>(t.size);
	const int levels = t.channel->levels, me = place_of(t.channel->lanes[0], t.me);
	const auto needs = [&](int steps) { op->steps[op->step_count - 1].needs = static_cast<uint8_t>(steps); };
	// [all blocks][those that leave][those that arrive]
	const size_t most = (n + 1) / 2 * bytes, leave = n * bytes, arrive = leave + most;
	reserve_temp(*op, arrive + most);
	const auto with_bit = [&](int level) {
		size_t count = 0;
		for (size_t i = 0; i < n; i++)
			count += i >> level & 1;
		return count * bytes;
	};
	add_here(*op, act::pick, buffer::temp, buffer::source, me, bytes);
	const int second = 2 * levels + 1;
	for (int level = 0; level < levels; level++) { // steps 1 + 2l and 2 + 2l
		add_here(*op, act::pack, buffer::temp, buffer::temp, 1 << level, bytes);
		op->steps[op->step_count - 1].offset = leave;
		needs(second + 2 * level); // until blocks that arrived in earlier rounds are in place
		add_send(*op, 0, onward, level, buffer::temp, leave, with_bit(level));
	}
	begin_second_fiber(*op);
	for (int level = 0; level < levels; level++) { // steps second + 2l and the next
		add_receive(*op, 0, onward, level, buffer::temp, arrive, with_bit(level));
		add_here(*op, act::unpack, buffer::temp, buffer::temp, 1 << level, bytes);
		op->steps[op->step_count - 1].from_offset = arrive;
		needs(2 + 2 * level); // until the leaving blocks are packed
	}
	add_here(*op, act::place_back, buffer::dest, buffer::temp, me, bytes);
	return within.launch(op);
}

} // namespace pgas::teams
