// SPDX-License-Identifier: BSD-3-Clause
//
// What the files of collectives across hosts share: staging memory, and recursive doubling.
//
// Staging memory of a team: two halves for recursive doubling, by parity of the piece; a partner that writes piece
// p + 2 has received my p + 1, which I sent after using p. A half has a place for each step. After the halves, slots of
// the ring, and the blocks of short alltoalls.
#pragma once

#include "teams_algorithms.hpp"
#include "teams_signal.hpp"

#include <algorithm>

namespace pgas::teams {

constexpr size_t kHalfBytes = 104 * 1024;
constexpr size_t kPieceMost = 32 * 1024;
constexpr size_t kRingOff = 2 * kHalfBytes;
constexpr size_t kRingPiece = 128 * 1024, kRingSlots = 2;
constexpr size_t kOutOff = kRingOff + kRingSlots * kRingPiece, kBlocksBytes = 16 * 1024;
constexpr size_t kInOff = kOutOff + kBlocksBytes;
static_assert(kInOff + 2 * kBlocksBytes <= kStagingBytes);

// Bytes that one doubling of so many members combines: one place to fold in, one to hand back, one for each step.
inline size_t doubling_piece_bytes(int count)
{
	size_t places = 2;
	for (int64_t reach = 1; reach * 2 <= count; reach *= 2)
		places++;
	return std::min(kPieceMost, kHalfBytes / places / kLine * kLine);
}

inline char *staging(const team &t, int member, size_t off)
{
	return reinterpret_cast<char *>(t.staging_at[member] + off);
}

inline void fold_two(const reduction &op, char *acc, const void *left, const void *right, size_t count)
{
	const void *rows[] = {left, right};
	op.fold(acc, rows, 2, count);
}

// Computes the result over `count` takers in acc; who(i) is the member number of the i-th, ascending with i. The lower
// member is always the left operand.
template <class Who>
void doubling(team &t, const reduction &op, char *acc, size_t elements, int index, int count, Who &&who)
{
	const size_t bytes = elements * op.size, place = doubling_piece_bytes(count);
	const size_t base = (t.pieces++ & 1) * kHalfBytes;
	const auto mine = [&](size_t step) { return staging(t, t.me, base + step * place); };
	// the place of a partner's staging memory differs from mine
	const auto send = [&](int i, size_t step) {
		push_and_tell(t, who(i), staging(t, who(i), base + step * place), acc, bytes);
	};
	int half = 1;
	while (half * 2 <= count)
		half *= 2;
	if (index >= half) { // beyond the power of two: another member does my part
		send(index - half, 0);
		await_member(t, who(index - half));
		memcpy(acc, mine(1), bytes);
		return;
	}
	if (index + half < count) {
		await_member(t, who(index + half));
		fold_two(op, acc, acc, mine(0), elements);
	}
	size_t step = 2;
	for (int bit = 1; bit < half; bit *= 2, step++) {
		const int partner = index ^ bit;
		send(partner, step);
		await_member(t, who(partner));
		if (partner < index)
			fold_two(op, acc, mine(step), acc, elements);
		else
			fold_two(op, acc, acc, mine(step), elements);
	}
	if (index + half < count)
		send(index + half, 1);
}

// teams_reduce_shares.cpp
void reduce_shares_hosts(team &t, const reduction &op, char *dest, const char *source, size_t elements);
void reduce_ring(team &t, const reduction &op, char *dest, const char *source, size_t elements);

} // namespace pgas::teams
