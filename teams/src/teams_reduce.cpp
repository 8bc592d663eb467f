// SPDX-License-Identifier: BSD-3-Clause
//
// Reductions and scans on one host, through mapped memory.
//
//   up to 56 bytes    every member sends its elements, next to a number, to every other and folds what came: one hop
//   more              every member folds its share of the elements straight out of all members' sources and stores the
//                     result into all members' dests; sync before and after. Nothing is staged. A member is the only
//                     one to touch its share, and reads before it writes, so source and dest may be the same array.
//
// Operands are always combined in the order of the members: results of floating-point sums are the same in every run
// and on every member.
#include "teams_algorithms.hpp"

#include <algorithm>

namespace pgas::teams {
namespace {

constexpr size_t kPiece = 8 * 1024; // part of a share that passes through the first-level cache at a time

// Folds the lines of an exchange from members [0, count).
void fold_lines(team &t, const reduction &op, void *dest, size_t elements, int count)
{
	for (int j = 0; j < count; j++)
		t.rows[j] = exchanged(t, j);
	op.fold(dest, t.rows, static_cast<size_t>(count), elements);
}

template <class Body>
void for_pieces(const team &t, const reduction &op, size_t elements, Body &&body)
{
	const range mine = part_of({0, elements}, t.me, t.size, op.size);
	const size_t step = kPiece / op.size;
	for (size_t pos = mine.begin; pos < mine.end; pos += step)
		body(pos * op.size, std::min(step, mine.end - pos));
}

void push_to_all(team &t, char *dest, const char *result, size_t bytes, copying how)
{
	for (int j = t.me; j < t.size; j++)
		push(t, j, dest, result, bytes, how);
	for (int j = 0; j < t.me; j++)
		push(t, j, dest, result, bytes, how);
}

void reduce_shares(team &t, const reduction &op, char *dest, const char *source, size_t elements)
{
	alignas(64) char result[kPiece], room[kPiece];
	const copying how = copying_of(streamer::reduce, 2 * elements * op.size * static_cast<size_t>(t.size));
	bool in_place = t.hosts == 1 && t.block; // threads may share a set's working space
	for (int j = 0; in_place && j < t.size; j++)
		in_place = is_near(t, j);
	sync(t); // all sources are complete
	for_pieces(t, op, elements, [&](size_t pos, size_t count) {
		const size_t bytes = count * op.size;
		if (in_place) {
			for (int j = 0; j < t.size; j++)
				t.rows[j] = view(t, j, source + pos, bytes, nullptr);
			op.fold(result, t.rows, static_cast<size_t>(t.size), count);
		} else {
			memcpy(result, view(t, 0, source + pos, bytes, room), bytes);
			for (int j = 1; j < t.size; j++) {
				const void *rows[] = {result, view(t, j, source + pos, bytes, room)};
				op.fold(result, rows, 2, count);
			}
		}
		push_to_all(t, dest + pos, result, bytes, how);
	});
	settle();
	sync(t);
}

} // namespace

void reduce(team &t, const reduction &op, void *dest, const void *source, size_t elements)
{
	const size_t bytes = elements * op.size;
	if (t.size == 1) {
		if (dest != source && bytes)
			memmove(dest, source, bytes);
		return;
	}
	if (!elements) // nothing to do, although all members call; no ordering is promised
		return;
	const auto how = choose_reduce(t, bytes);
	if (PGAS_UNLIKELY(how != reduce_algorithm::direct))
		return reduce_hosts(t, how, op, static_cast<char *>(dest), static_cast<const char *>(source), elements);
	if (t.block && bytes <= kInline) {
		exchange(t, source, bytes);
		return fold_lines(t, op, dest, elements, t.size);
	}
	reduce_shares(t, op, static_cast<char *>(dest), static_cast<const char *>(source), elements);
}

namespace {

// Every member computes its share of the elements for all members, carrying the sum along the members.
void scan_shares(team &t, const reduction &op, char *dest, const char *source, size_t elements, bool exclusive)
{
	alignas(64) char sums[2][kPiece], room[kPiece];
	sync(t);
	for_pieces(t, op, elements, [&](size_t pos, size_t count) {
		const size_t bytes = count * op.size;
		char *sum = sums[0], *next = sums[1];
		memset(sum, 0, bytes);
		for (int j = 0; j < t.size; j++) {
			const void *row = view(t, j, source + pos, bytes, room);
			if (j == 0) {
				memcpy(next, row, bytes);
			} else {
				const void *rows[] = {sum, row};
				op.fold(next, rows, 2, count);
			}
			// after reading the row: it may be the same memory
			push(t, j, dest + pos, exclusive ? sum : next, bytes);
			std::swap(sum, next);
		}
	});
	settle();
	sync(t);
}

} // namespace

void scan(team &t, const reduction &op, void *dest, const void *source, size_t elements, bool exclusive)
{
	const size_t all = elements * op.size;
	if (!elements)
		return;
	if (t.size == 1) {
		if (exclusive)
			memset(dest, 0, all);
		else if (dest != source)
			memmove(dest, source, all);
		return;
	}
	if (t.block && all <= kInline) {
		exchange(t, source, all);
		const int count = t.me + (exclusive ? 0 : 1);
		if (count)
			return fold_lines(t, op, dest, elements, count);
		memset(dest, 0, all); // zero is all bits zero for every type of number
		return;
	}
	scan_shares(t, op, static_cast<char *>(dest), static_cast<const char *>(source), elements, exclusive);
}

} // namespace pgas::teams
