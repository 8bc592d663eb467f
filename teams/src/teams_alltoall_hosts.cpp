// SPDX-License-Identifier: BSD-3-Clause
//
// Alltoall of short blocks across hosts: one message for each pair of hosts. The members of a host write their blocks
// for other hosts into the leader's staging memory (`out`), the leader sends to each other leader what is for its host,
// and the members copy their blocks from what arrived at their leader (`in`). Blocks within a host are stored directly.
//
//   out, at the leader of host h:  for each host g, a row for each member of h, with a block for each member of g
//   in, at the leader of host g:   the same rows, from each host h
//
// `in` alternates between two halves: a leader sends alltoall k + 2 after the message k + 1 of its peer, which left
// after all members of that host had completed k. `out` is free when the leader notifies its members.
#include "teams_host_plan.hpp"
#include "teams_reduce_hosts.hpp"

namespace pgas::teams {
namespace {

struct short_blocks {
	team &t;
	const host_plan &plan;
	char *dest;
	const char *source;
	size_t bytes;
	int leader;
	size_t in_half;

	// Where the rows of one host begin that go from members of `host` to members of `other`, in the rows of `host`.
	size_t rows_off(int host, int other) const
	{
		return static_cast<size_t>(plan.count_of(host)) * static_cast<size_t>(plan.first_of[other]) * bytes;
	}
	char *out(int member, size_t off) const { return staging(t, member, kOutOff + off); }
	char *in(int member, size_t off) const { return staging(t, member, kInOff + in_half * kBlocksBytes + off); }
	template <class Body>
	void each_other_host(Body &&body) const
	{
		for (int d = 1; d < plan.groups; d++)
			body(wrap(plan.group + d, plan.groups));
	}

	void hand_in() const
	{
		push(t, t.me, dest + static_cast<size_t>(t.me) * bytes, source + static_cast<size_t>(t.me) * bytes,
		     bytes);
		plan.each_other_local(t.me, [&](int j) {
			push(t, j, dest + static_cast<size_t>(t.me) * bytes, source + static_cast<size_t>(j) * bytes,
			     bytes);
		});
		each_other_host([&](int g) {
			const auto count = static_cast<size_t>(plan.count_of(g));
			const size_t row = rows_off(plan.group, g) + static_cast<size_t>(plan.index) * count * bytes;
			for (size_t k = 0; k < count; k++) {
				const auto j = static_cast<size_t>(plan.member(g, static_cast<int>(k)));
				push(t, leader, out(leader, row + k * bytes), source + j * bytes, bytes);
			}
		});
		plan.each_other_local(t.me, [&](int j) { notify_member(t, j); });
		plan.each_other_local(t.me, [&](int j) { await_member(t, j); });
	}

	void exchange_rows() const
	{
		each_other_host([&](int g) {
			const size_t len = static_cast<size_t>(plan.locals) * static_cast<size_t>(plan.count_of(g)) *
					   bytes;
			const int target = plan.member(g, 0);
			push_and_tell(t, target, in(target, rows_off(g, plan.group)),
				      out(t.me, rows_off(plan.group, g)), len);
		});
		each_other_host([&](int g) { await_member(t, plan.member(g, 0)); });
		plan.each_other_local(t.me, [&](int j) { notify_member(t, j); });
	}

	void take_out() const
	{
		const auto locals = static_cast<size_t>(plan.locals), index = static_cast<size_t>(plan.index);
		each_other_host([&](int g) {
			for (size_t i = 0; i < static_cast<size_t>(plan.count_of(g)); i++) {
				const auto j = static_cast<size_t>(plan.member(g, static_cast<int>(i)));
				const char *block = in(leader, rows_off(plan.group, g) + (i * locals + index) * bytes);
				copy_own(dest + j * bytes, view(t, leader, block, bytes, dest + j * bytes), bytes);
			}
		});
	}
};

} // namespace

bool alltoall_short_hosts(team &t, char *dest, const char *source, size_t bytes)
{
	const host_plan &plan = host_plan_of(t);
	if (static_cast<size_t>(plan.most) * static_cast<size_t>(t.size) > kBlocksBytes / bytes)
		return false;
	const short_blocks work{t, plan, dest, source, bytes, plan.local[0], t.alltoalls++ & 1};
	work.hand_in();
	if (t.me == work.leader)
		work.exchange_rows();
	else
		await_member(t, work.leader);
	work.take_out();
	return true;
}

} // namespace pgas::teams
