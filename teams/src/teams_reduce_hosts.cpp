// SPDX-License-Identifier: BSD-3-Clause
//
// Reductions across hosts. Data from another member passes through the team's staging memory, piece by piece:
//
//   recursive   members exchange partial results with partners at distance 1, 2, 4, ...; log2(n) hops per piece
//   ring        each member reduces one segment, which travels around; then the results travel around: fewest bytes per
//               member
//   two-level   the leader of a host folds its members' sources, leaders run recursive, the leader stores the result
//
// Which members are combined depends only on the team, and the lower member is always the left operand, so results are
// the same in every run and on every member. Source and dest may be the same array: all members that need a piece of
// source have used it before that piece of dest is written.
//
// Staging: [2][kSteps] pieces for recursive doubling, by parity of the piece: a partner that writes piece p + 2 has
// received my p + 1, which I sent after using p. After them, two pieces for the ring, each free once the right
// neighbour has signalled so.
#include "teams_algorithms.hpp"
#include "teams_signal.hpp"

#include <algorithm>

namespace pgas::teams {
namespace {

constexpr size_t kPiece = 4096;
constexpr size_t kSteps = 26; // one to fold in, one to hand back, 24 doublings
constexpr size_t kRingOff = 2 * kSteps * kPiece;
static_assert(kRingOff + 2 * kPiece <= kStagingBytes);

char *staging(const team &t, int member, size_t off)
{
	return reinterpret_cast<char *>(t.staging_at[member] + off);
}

// Pushes to the member's staging memory, whose place differs from mine.
void stage(team &t, int dest, size_t off, const char *data, size_t bytes)
{
	push_and_tell(t, dest, staging(t, dest, off), data, bytes);
}

struct work {
	team &t;
	const reduction &op;
	char *dest;
	const char *source;
	size_t elements;

	void combine(char *acc, const void *left, const void *right, size_t count) const
	{
		const void *rows[] = {left, right};
		op.fold(acc, rows, 2, count);
	}

	// Computes the result over `count` takers in acc; who(i) is the member number of the i-th, ascending with i.
	template <class Who>
	void doubling(char *acc, size_t n_elements, int index, int count, Who &&who) const
	{
		const size_t bytes = n_elements * op.size;
		const size_t base = (t.pieces++ & 1) * kSteps * kPiece;
		const auto mine = [&](size_t step) { return staging(t, t.me, base + step * kPiece); };
		const auto send = [&](int i, size_t step) { stage(t, who(i), base + step * kPiece, acc, bytes); };
		int half = 1;
		while (half * 2 <= count)
			half *= 2;
		if (index >= half) { // beyond the power of two: another member does my part
			send(index - half, 0);
			hear_member(t, who(index - half));
			memcpy(acc, mine(1), bytes);
			return;
		}
		if (index + half < count) {
			hear_member(t, who(index + half));
			combine(acc, acc, mine(0), n_elements);
		}
		size_t step = 2;
		for (int bit = 1; bit < half; bit *= 2, step++) {
			const int partner = index ^ bit;
			send(partner, step);
			hear_member(t, who(partner));
			if (partner < index)
				combine(acc, mine(step), acc, n_elements);
			else
				combine(acc, acc, mine(step), n_elements);
		}
		if (index + half < count)
			send(index + half, 1);
	}

	void recursive() const
	{
		alignas(64) char acc[kPiece];
		const size_t most = kPiece / op.size;
		for (size_t pos = 0; pos < elements; pos += most) {
			const size_t count = std::min(most, elements - pos);
			memcpy(acc, source + pos * op.size, count * op.size);
			doubling(acc, count, t.me, t.size, [](int i) { return i; });
			memcpy(dest + pos * op.size, acc, count * op.size);
		}
	}

	void two_level() const
	{
		const int n = t.size, me = t.me, host = t.host[me], leader = t.leaders[host];
		if (me != leader) {
			tell_member(t, leader);
			return hear_member(t, leader);
		}
		for (int j = 0; j < n; j++)
			if (j != me && t.host[j] == host)
				hear_member(t, j);
		alignas(64) char acc[kPiece], room[kPiece];
		const size_t most = kPiece / op.size;
		for (size_t pos = 0; pos < elements; pos += most) {
			const size_t count = std::min(most, elements - pos), off = pos * op.size,
				     bytes = count * op.size;
			memcpy(acc, source + off, bytes);
			for (int j = me + 1; j < n; j++)
				if (t.host[j] == host)
					combine(acc, acc, view(t, j, source + off, bytes, room), count);
			doubling(acc, count, host, t.hosts, [&](int h) { return t.leaders[h]; });
			for (int j = me; j < n; j++)
				if (t.host[j] == host)
					push(t, j, dest + off, acc, bytes);
		}
		for (int j = me + 1; j < n; j++)
			if (t.host[j] == host)
				tell_member(t, j);
	}

	void ring() const
	{
		const auto n = static_cast<size_t>(t.size);
		const size_t most = kPiece / op.size * n;
		for (size_t pos = 0; pos < elements; pos += most)
			ring_round(pos, std::min(most, elements - pos));
	}

	// Elements [pos, pos + count), at most one piece for each member.
	void ring_round(size_t pos, size_t count) const
	{
		const int n = t.size, me = t.me, right = (me + 1) % n, left = (me + n - 1) % n;
		const size_t each = (count + static_cast<size_t>(n) - 1) / static_cast<size_t>(n);
		struct segment {
			size_t off, elements, bytes;
		};
		const auto segment_of = [&](int s) {
			const size_t begin = std::min(count, static_cast<size_t>((s % n + n) % n) * each);
			const size_t many = std::min(count, begin + each) - begin;
			return segment{(pos + begin) * op.size, many, many * op.size};
		};
		alignas(64) char acc[kPiece];
		const segment first = segment_of(me);
		memcpy(acc, source + first.off, first.bytes);
		for (int k = 0; k + 1 < n; k++) {
			const uint64_t message = t.ring_messages++;
			const size_t off = kRingOff + (message & 1) * kPiece;
			if (message >= 2)
				hear_member(t, right, signal_ready);
			stage(t, right, off, acc, segment_of(me - k).bytes);
			hear_member(t, left);
			const segment s = segment_of(me - k - 1);
			combine(acc, staging(t, me, off), source + s.off, s.elements);
			tell_member(t, left, signal_ready);
		}
		const segment done = segment_of(me + 1);
		memcpy(dest + done.off, acc, done.bytes);
		for (int k = 0; k + 1 < n; k++) {
			const segment s = segment_of(me + 1 - k);
			push_and_tell(t, right, dest + s.off, dest + s.off, s.bytes);
			hear_member(t, left);
		}
	}
};

} // namespace

void reduce_hosts(team &t, reduce_algorithm how, const reduction &op, char *dest, const char *source, size_t elements)
{
	const work w{t, op, dest, source, elements};
	if (how == reduce_algorithm::recursive)
		w.recursive();
	else if (how == reduce_algorithm::ring)
		w.ring();
	else
		w.two_level();
}

} // namespace pgas::teams
