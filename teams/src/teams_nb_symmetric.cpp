// SPDX-License-Identifier: BSD-3-Clause
//
// Non-blocking collectives in symmetric memory: data goes straight from source to dest, without staging. The channels
// carry numbers only, except for words and for reductions between hosts.
//
//   broadcast   along the tree of teams_nb_trees.cpp
//   fcollect, alltoall(s)   a member pushes its blocks into all dests when it starts, and tells each member so in a
//               line that it alone writes there (landing_line): it is over when all lines have come, whoever polls
//   collect     the lengths are gathered to all (through channels, in messages that fit beside their numbers); then as
//               fcollect
//   reduction   up to 56 bytes along a tree. More, on one host: a barrier, then every member folds its share of all
//               sources into all dests, then a barrier. Between hosts along a tree, through staging memory
//
// Pushes are numbered when operations start, and done in that order: collects wait for lengths, and a line holds the
// highest number only.
#include "teams_algorithms.hpp"
#include "teams_nb_tree.hpp"

#include <algorithm>

namespace pgas::teams {
namespace {

constexpr size_t kFoldPiece = 8 * 1024;     // part of a share that passes through the first-level cache at a time
constexpr size_t kStoredBytes = 128 * 1024; // a message's: the next member passes it on while another one arrives
constexpr size_t kShortBlock = 4 * 1024; // between hosts, alltoall of blocks up to this long goes along Bruck's rounds

void push_block(const operation &op, int j)
{
	team &t = *op.t;
	const push_plan &p = op.plan;
	const auto size = static_cast<ptrdiff_t>(p.size);
	char *dest = op.dest + p.dest_offset;
	const char *src = op.source + (p.same ? 0 : j * static_cast<ptrdiff_t>(p.count) * size * p.sst);
	if (p.dst == 1 && p.sst == 1)
		return push(t, j, dest, src, p.count * p.size, p.how);
	for (size_t i = 0; i < p.count; i++, dest += p.dst * size, src += p.sst * size)
		push(t, j, dest, src, p.size);
}

bool push_to_all(const operation &op)
{
	team &t = *op.t;
	if (t.channel->pushed + 1 != op.plan.number)
		return false;
	for (int i = 1; i < t.size; i++) {
		const int j = wrap(t.me + i, t.size);
		push_block(op, j);
		set_number(t, j, landing_line(t, t.me), op.plan.number);
	}
	push_block(op, t.me);
	t.channel->pushed = op.plan.number;
	return true;
}

// fib.done: the members seen so far
bool has_all_pushes(const operation &op, fiber &fib)
{
	const team &t = *op.t;
	for (; fib.done < static_cast<size_t>(t.size); fib.done++) {
		const auto j = static_cast<int>(fib.done);
		// pairs with store_release in set_number(), or with the atomics of far members
		if (j != t.me && pgas_load_acquire(&landing_line(t, j)->number) < op.plan.number)
			return false;
	}
	return true;
}

// The block of each member begins where those of the members before it end.
void place_push(operation &op, const char *lengths)
{
	size_t total = 0;
	for (int j = 0; j < op.t->size; j++, lengths += sizeof(uint64_t)) {
		uint64_t bytes;
		memcpy(&bytes, lengths, sizeof bytes);
		if (j == op.t->me)
			op.plan.dest_offset = total;
		total += bytes;
	}
	if (g_job.check_dest)
		g_job.check_dest(op.plan.routine, op.dest, total);
}

// Operands are combined in the order of members.
void fold_rows_of_all(team &t, const reduction &red, char *result, const char *source, const void **rows, size_t count)
{
	alignas(kLine) char room[kFoldPiece];
	const size_t bytes = count * red.size;
	bool in_place = true;
	for (int j = 0; in_place && j < t.size; j++)
		in_place = is_near(t, j);
	if (in_place) {
		for (int j = 0; j < t.size; j++)
			rows[j] = view(t, j, source, bytes, nullptr);
		return red.fold(result, rows, static_cast<size_t>(t.size), count);
	}
	memcpy(result, view(t, 0, source, bytes, room), bytes);
	for (int j = 1; j < t.size; j++) {
		const void *two[] = {result, view(t, j, source, bytes, room)};
		red.fold(result, two, 2, count);
	}
}

void fold_share(const operation &op)
{
	alignas(kLine) char result[kFoldPiece];
	team &t = *op.t;
	const auto &red = *static_cast<const reduction *>(op.f.data);
	const range mine = part_of({0, op.plan.count}, t.me, t.size, red.size);
	const size_t step = kFoldPiece / red.size;
	for (size_t pos = mine.begin; pos < mine.end; pos += step) {
		const size_t count = std::min(step, mine.end - pos), offset = pos * red.size;
		fold_rows_of_all(t, red, result, op.source + offset, reinterpret_cast<const void **>(op.temp), count);
		for (int i = 0; i < t.size; i++)
			push(t, wrap(t.me + i, t.size), op.dest + offset, result, count * red.size, op.plan.how);
	}
	settle();
}

bool run_symmetric(operation &op, fiber &fib, step &s, char *where, char *src, size_t bytes)
{
	team &t = *op.t;
	switch (s.what) {
	case act::store:
		if (!may_send(t, s.channel, s.number))
			return false;
		push(t, s.peer, op.dest + fib.segment * op.segment, where, bytes);
		send_message(t, s.peer, s.channel, s.number++, nullptr, 0);
		return true;
	case act::stored:
		if (!message_here(t, s.channel, s.number, 0))
			return false;
		message_taken(t, s.peer, s.channel, s.number++);
		return true;
	case act::pull:
		copy_own(where, view(t, s.peer, src, bytes, where), bytes);
		return true;
	case act::push:
		return push_to_all(op);
	case act::pushed:
		return has_all_pushes(op, fib);
	case act::fold_share:
		fold_share(op);
		return true;
	case act::length: {
		const uint64_t length = op.plan.count;
		memcpy(where, &length, sizeof length);
		return true;
	}
	case act::place_push:
		place_push(op, src);
		return true;
	default:
		fail("collective", "unknown step");
	}
}

operation *new_symmetric_operation(team &t, void *dest, const void *source)
{
	operation *op = new_operation(t, dest, source, 0, 1, 1);
	op->run_more = run_symmetric;
	return op;
}

void add_push(operation &op)
{
	add_here(op, act::push, buffer::dest, buffer::source, 0, 0);
	add_here(op, act::pushed, buffer::dest, buffer::source, 0, 0);
	op.plan.number = ++op.t->channel->pushes;
}

} // namespace

// Along the tree of start_broadcast, but straight from dest to dest. On one host members are told that the root has
// started, copy its source themselves, and tell the root along the tree that they have.
operation *start_symmetric_broadcast(team &t, void *dest, const void *source, size_t bytes, int root)
{
	if (bytes <= kInline || t.size == 1)
		return start_broadcast(t, dest, source, bytes, root);
	const engine_lock lock;
	require_channels(t);
	const int base = base_for(t, root);
	const tree node(t, 0, base);
	if (t.hosts > 1) {
		operation *op = new_operation(t, dest, source, bytes, kStoredBytes, kStoredBytes);
		op->run_more = run_symmetric;
		const int q = (place_of(t.channel->lanes[0], root) - base + t.size) % t.size;
		add_broadcast(*op, node, q, buffer::source);
		for (int i = 0; i < op->step_count; i++)
			op->steps[i].what = op->steps[i].what == act::send ? act::store : act::stored;
		if (t.me == root)
			add_here(*op, act::copy, buffer::dest, buffer::source, 0, kSegment);
		return launch(op);
	}
	operation *op = new_symmetric_operation(t, dest, source);
	if (node.r)
		add_receive(*op, 0, onward, node.top, buffer::temp, 0, 0);
	for (int level = node.top - 1; level >= 0; level--)
		if (node.has_child(level))
			add_send(*op, 0, onward, level, buffer::temp, 0, 0);
	add_here(*op, act::pull, buffer::dest, buffer::source, root, bytes);
	for (int level = 0; level < node.top; level++)
		if (node.has_child(level))
			add_receive(*op, 0, back, level, buffer::temp, 0, 0);
	if (node.r)
		add_send(*op, 0, back, node.top, buffer::temp, 0, 0);
	return launch(op);
}

operation *start_symmetric_fcollect(team &t, void *dest, const void *source, size_t bytes)
{
	if (t.hosts > 1 || t.size == 1 || !bytes)
		return start_gather_all(t, dest, source, bytes);
	const engine_lock lock;
	operation *op = new_symmetric_operation(t, dest, source);
	const auto n = static_cast<size_t>(t.size);
	op->plan.count = bytes;
	op->plan.size = 1;
	op->plan.dest_offset = static_cast<size_t>(t.me) * bytes;
	op->plan.same = true;
	op->plan.how = copying_of(streamer::fcollect, n * (n + 1) * bytes);
	add_push(*op);
	return launch(op);
}

operation *start_symmetric_collect(team &t, const char *routine, void *dest, const void *source, size_t bytes)
{
	if (t.size == 1) {
		copy_own(dest, source, bytes);
		return nullptr;
	}
	const engine_lock lock;
	operation *op = new_symmetric_operation(t, dest, source);
	op->unit = kInline;
	const size_t lengths = static_cast<size_t>(t.size) * sizeof(uint64_t);
	op->plan.count = bytes;
	op->plan.size = 1;
	op->plan.same = true;
	op->plan.routine = routine;
	reserve_temp(*op, 2 * lengths);
	add_here(*op, act::length, buffer::temp, buffer::temp, 0, 0);
	add_gather_all(*op, buffer::temp, lengths, sizeof(uint64_t));
	add_here(*op, act::place_push, buffer::temp, buffer::temp, 0, 0);
	op->steps[op->step_count - 1].from_offset = lengths;
	add_push(*op);
	return launch(op);
}

operation *start_symmetric_alltoalls(team &t, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
				     size_t count, size_t size)
{
	const size_t bytes = count * size;
	if (!bytes)
		return nullptr;
	if (t.hosts > 1 && dst == 1 && sst == 1 && bytes <= kShortBlock)
		return start_exchange(t, dest, source, bytes);
	const engine_lock lock;
	const auto n = static_cast<size_t>(t.size);
	operation *op = new_symmetric_operation(t, dest, source);
	op->plan.count = count;
	op->plan.size = size;
	op->plan.dst = dst;
	op->plan.sst = sst;
	op->plan.dest_offset = static_cast<size_t>(t.me) * bytes * static_cast<size_t>(dst);
	op->plan.how = copying_of(streamer::alltoall, 2 * n * n * bytes);
	add_push(*op);
	return launch(op);
}

operation *start_symmetric_reduce(team &t, const reduction &red, void *dest, const void *source, size_t elements)
{
	const size_t bytes = elements * red.size;
	if (t.hosts > 1 || t.size == 1 || bytes <= kInline)
		return start_reduce(t, folding_of(red), dest, source, elements, kEverywhere);
	const engine_lock lock;
	operation *op = new_symmetric_operation(t, dest, source);
	op->f = folding_of(red);
	op->plan.count = elements;
	op->plan.how = copying_of(streamer::reduce, 2 * bytes * static_cast<size_t>(t.size));
	reserve_temp(*op, static_cast<size_t>(t.size) * sizeof(void *));
	add_barrier(*op);
	add_here(*op, act::fold_share, buffer::dest, buffer::source, 0, 0);
	add_barrier(*op);
	return launch(op);
}

} // namespace pgas::teams
