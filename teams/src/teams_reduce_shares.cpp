// SPDX-License-Identifier: BSD-3-Clause
//
// Large reductions across hosts: every member of a host does a share of the work. The members with the same place on
// their hosts form a *lane*; there are as many lanes as the host with the fewest members has members, and lane i
// reduces share i of the elements:
//
//   1. The members of a host notify each other: their sources are complete.
//   2. A member of a lane folds its share out of the sources of its host, and the lane combines the results of the
//      hosts: by recursive doubling a short share, by a ring a long one.
//   3. It stores the result into the dests of its host, and notifies its host.
//
// The ring cuts the share into a chunk for each host and a chunk into segments. In the first half of its steps a
// chunk goes around and every host adds its own part (reduce-scatter), in the second half the results go around
// (allgather). So each member sends and receives 2 (hosts - 1) / hosts of its share. Segments of a step are in flight
// while those before them are folded:
//
//   message m = step * segments + segment;  m leaves when m - segments has arrived and been folded,
//   and at most kRingSlots messages ahead of the arrivals
//
// Messages of the first half go through kRingSlots pieces of the right neighbour's staging memory. A slot is free again
// when the neighbour says so (signal_ready). Nobody waits in a circle: whoever sends message m waits for the neighbour
// to fold message m - kRingSlots, and the neighbour folds that one before it sends its own message m. Results go
// straight into the neighbour's dest. All slots are free again when the reduction ends.
//
// reduce_algorithm::ring makes each member a host of its own: one ring of all members.
#include "teams_host_plan.hpp"
#include "teams_reduce_hosts.hpp"

#include <algorithm>

namespace pgas::teams {

namespace {

constexpr size_t kFoldBytes = 8 * 1024; // stays in the first-level cache

// One member's work on one reduction.
class share_work {
public:
	share_work(team &t, const host_plan &plan, const reduction &op, char *dest, const char *source, size_t elements)
		: t_(t), plan_(plan), op_(op), dest_(dest), source_(source), elements_(elements)
	{
	}

	void run()
	{
		each_local([&](int j) { notify_member(t_, j); });
		each_local([&](int j) { await_member(t_, j); });
		if (plan_.index < plan_.least) {
			share_ = part_of({0, elements_}, plan_.index, plan_.least, op_.size);
			combine_lane();
			each_local([&](int j) { notify_member(t_, j); });
		}
		for (int i = 0; i < plan_.least; i++)
			if (plan_.local[i] != t_.me)
				await_member(t_, plan_.local[i]);
	}

private:
	struct segment {
		size_t off, bytes; // in the arrays
	};

	int lane_member(int group) const { return plan_.by_host ? plan_.member(group, plan_.index) : group; }
	template <class Body>
	void each_local(Body &&body) const
	{
		plan_.each_other_local(t_.me, body);
	}

	void combine_lane()
	{
		const size_t bytes = (share_.end - share_.begin) * op_.size, piece = doubling_piece_bytes(plan_.groups);
		const size_t most = piece * static_cast<size_t>(std::max(1, plan_.groups / 4));
		if (plan_.groups == 1 || (plan_.by_host && bytes <= most))
			combine_by_doubling(piece);
		else
			combine_by_ring();
	}

	// dst = arrived (if there is any), then the sources of my host, from left to right.
	void fold(char *dst, const char *arrived, segment s) const
	{
		alignas(64) char room[kFoldBytes];
		const size_t step = std::max<size_t>(kFoldBytes / op_.size, 1) * op_.size;
		for (size_t pos = 0; pos < s.bytes; pos += step) {
			const size_t bytes = std::min(step, s.bytes - pos);
			fold_piece(dst + pos, arrived ? arrived + pos : nullptr, {s.off + pos, bytes}, room);
		}
	}

	void fold_piece(char *dst, const char *arrived, segment s, char *room) const
	{
		size_t rows = 0;
		if (arrived)
			t_.rows[rows++] = arrived;
		bool in_place = true;
		for (int i = 0; i < plan_.locals && in_place; i++)
			in_place = is_near(t_, plan_.local[i]);
		if (in_place) {
			for (int i = 0; i < plan_.locals; i++)
				t_.rows[rows++] = address_at(t_, plan_.local[i], source_ + s.off);
			return op_.fold(dst, t_.rows, rows, s.bytes / op_.size);
		}
		// dst may be my source, so mine comes first
		const void *two[] = {source_ + s.off, arrived};
		op_.fold(dst, two, arrived ? 2 : 1, s.bytes / op_.size);
		each_local([&](int j) {
			const void *next[] = {dst, view(t_, j, source_ + s.off, s.bytes, room)};
			op_.fold(dst, next, 2, s.bytes / op_.size);
		});
	}

	void share_result(segment s, const char *result) const
	{
		each_local([&](int j) { push(t_, j, dest_ + s.off, result, s.bytes); });
	}

	void combine_by_doubling(size_t piece) const
	{
		alignas(64) char acc[kPieceMost];
		const size_t most = piece / op_.size;
		for (size_t pos = share_.begin; pos < share_.end; pos += most) {
			const size_t count = std::min(most, share_.end - pos);
			const segment s{pos * op_.size, count * op_.size};
			fold(acc, nullptr, s);
			doubling(t_, op_, acc, count, plan_.group, plan_.groups, [&](int g) { return lane_member(g); });
			memcpy(dest_ + s.off, acc, s.bytes);
			share_result(s, acc);
		}
	}

	// the ring

	void combine_by_ring()
	{
		if (share_.begin == share_.end)
			return;
		const int n = plan_.groups;
		right_ = lane_member(wrap(plan_.group + 1, n));
		left_ = lane_member(wrap(plan_.group - 1, n));
		const range first = part_of(share_, 0, n, op_.size);
		segments_ = std::max<size_t>(1, ((first.end - first.begin) * op_.size + kRingPiece - 1) / kRingPiece);
		const auto steps = static_cast<size_t>(n - 1);
		gathered_from_ = steps * segments_;
		const size_t messages = 2 * gathered_from_;
		size_t sent = 0;
		for (size_t arrived = 0; arrived < messages; arrived++) {
			while (sent < messages && sent < arrived + std::min(kRingSlots, segments_))
				send(sent++);
			receive(arrived);
		}
		for (size_t m = gathered_from_ - std::min(gathered_from_, kRingSlots); m < gathered_from_; m++)
			await_member(t_, right_, signal_ready);
	}

	segment segment_of(int chunk, size_t number) const
	{
		const range c =
			part_of(share_, (chunk % plan_.groups + plan_.groups) % plan_.groups, plan_.groups, op_.size);
		const size_t most = kRingPiece / op_.size;
		const size_t begin = std::min(c.end, c.begin + number * most), end = std::min(c.end, begin + most);
		return {begin * op_.size, (end - begin) * op_.size};
	}

	char *slot_of(int member, size_t message) const
	{
		return staging(t_, member, kRingOff + message % kRingSlots * kRingPiece);
	}

	void send(size_t message) const
	{
		const auto step = static_cast<int>(message / segments_);
		const size_t number = message % segments_;
		if (message >= gathered_from_) {
			const int turn = step - (plan_.groups - 1);
			const segment s = segment_of(plan_.group + 1 - turn, number);
			return push_and_tell(t_, right_, dest_ + s.off, dest_ + s.off, s.bytes);
		}
		const segment s = segment_of(plan_.group - step, number);
		const char *data = dest_ + s.off;
		if (step == 0 && plan_.locals == 1)
			data = source_ + s.off; // nothing to fold
		else if (step == 0)
			fold(dest_ + s.off, nullptr, s);
		if (message >= kRingSlots)
			await_member(t_, right_, signal_ready);
		push_and_tell(t_, right_, slot_of(right_, message), data, s.bytes);
	}

	void receive(size_t message) const
	{
		const auto step = static_cast<int>(message / segments_);
		const size_t number = message % segments_;
		await_member(t_, left_);
		if (message >= gathered_from_) {
			const segment s = segment_of(plan_.group - (step - (plan_.groups - 1)), number);
			return share_result(s, dest_ + s.off);
		}
		const segment s = segment_of(plan_.group - step - 1, number);
		fold(dest_ + s.off, slot_of(t_.me, message), s);
		notify_member(t_, left_, signal_ready);
		if (step == plan_.groups - 2)
			share_result(s, dest_ + s.off);
	}

	team &t_;
	const host_plan &plan_;
	const reduction &op_;
	char *dest_;
	const char *source_;
	size_t elements_;
	range share_{};
	int left_ = 0, right_ = 0;
	size_t segments_ = 0;
	size_t gathered_from_ = 0; // the first message of the second half
};

} // namespace

void reduce_shares_hosts(team &t, const reduction &op, char *dest, const char *source, size_t elements)
{
	share_work(t, host_plan_of(t), op, dest, source, elements).run();
}

void reduce_ring(team &t, const reduction &op, char *dest, const char *source, size_t elements)
{
	host_plan alone; // every member is a host
	alone.group = t.me;
	alone.groups = t.size;
	alone.least = alone.locals = 1;
	alone.local = &t.me;
	share_work(t, alone, op, dest, source, elements).run();
}

} // namespace pgas::teams
