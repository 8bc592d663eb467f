// SPDX-License-Identifier: BSD-3-Clause
//
// Broadcast, collect and alltoall across hosts: puts into the members' dests, each followed by a signal. Dests are the
// only buffers, since they are ready before any member calls; nothing is staged. On one host the same code runs through
// mapped memory, which is how it is tested: with simulated hosts, and with forced algorithms.
#include "teams_algorithms.hpp"
#include "teams_host_plan.hpp"
#include "teams_signal.hpp"

#include <algorithm>

namespace pgas::teams {
namespace {

// --- collect: member j's block is dest[offset[j], offset[j + 1]) -----------------------------------------------------

struct blocks {
	team &t;
	char *dest;
	const size_t *offset;

	// Pushes `count` blocks of my dest, from `first` on and wrapping around the end, to the member's dest.
	void push_run(int target, int first, int count) const
	{
		const int until_end = std::min(count, t.size - first);
		push(t, target, dest + offset[first], dest + offset[first], offset[first + until_end] - offset[first]);
		if (count > until_end)
			push(t, target, dest, dest, offset[count - until_end]);
	}

	// Every round moves twice as many blocks, from mine on, to the member that lacks them. Works for any number of
	// members.
	void recursive() const
	{
		const int n = t.size, me = t.me;
		for (int step = 1; step < n; step *= 2) {
			const int dest = wrap(me - step, n), source = wrap(me + step, n);
			push_run(dest, me, std::min(step, n - step));
			notify_member(t, dest);
			await_member(t, source);
		}
	}

	void ring() const
	{
		const int n = t.size, right = wrap(t.me + 1, n), left = wrap(t.me - 1, n);
		for (int k = 0; k + 1 < n; k++) {
			push_run(right, wrap(t.me - k, n), 1);
			notify_member(t, right);
			await_member(t, left);
		}
	}

	void two_level() const
	{
		const int n = t.size, me = t.me, host = t.host[me], leader = t.leaders[host];
		if (me != leader) {
			push_run(leader, me, 1);
			notify_member(t, leader);
			return await_member(t, leader);
		}
		for (int j = 0; j < n; j++)
			if (j != me && t.host[j] == host)
				await_member(t, j);
		for (int d = 1; d < t.hosts; d++) {
			const int target = t.leaders[wrap(host + d, t.hosts)];
			for (int j = 0; j < n; j++)
				if (t.host[j] == host)
					push_run(target, j, 1);
			notify_member(t, target);
		}
		for (int d = 1; d < t.hosts; d++)
			await_member(t, t.leaders[wrap(host + d, t.hosts)]);
		for (int j = 0; j < n; j++)
			if (j != me && t.host[j] == host)
				push_and_tell(t, j, dest, dest, offset[n]);
	}
};

// --- broadcast -------------------------------------------------------------------------------------------------------

constexpr size_t kBcastPiece = 128 * 1024;

// A binomial tree over `count` takers; who(0) is the root. Waits for the parent's signal, then passes `src` on.
template <class Who>
void pass_down(team &t, char *dest, const char *src, size_t bytes, int index, int count, Who &&who)
{
	int above = 1; // lowest set bit of my index: the parent has it cleared
	while (above < count && !(index & above))
		above *= 2;
	if (index)
		await_member(t, who(index - above));
	for (int step = above / 2; step; step /= 2)
		if (index + step < count)
			push_and_tell(t, who(index + step), dest, src, bytes);
}

struct spread {
	team &t;
	char *dest;
	const char *source;
	size_t bytes;
	int root;

	const char *have() const { return t.me == root ? source : dest; }

	void tree() const
	{
		const int n = t.size;
		pass_down(t, dest, have(), bytes, wrap(t.me - root, n), n, [&](int i) { return wrap(i + root, n); });
	}

	void push_piece(int target, int piece) const
	{
		const auto n = static_cast<size_t>(t.size);
		const size_t each = (bytes + n - 1) / n;
		const size_t begin = std::min(bytes, static_cast<size_t>(piece) * each),
			     until = std::min(bytes, begin + each);
		push_and_tell(t, target, dest + begin, have() + begin, until - begin);
	}

	// The root distributes the pieces, then they travel around the ring; nothing is sent to the root.
	void scatter() const
	{
		const int n = t.size, v = wrap(t.me - root, n), right = wrap(t.me + 1, n), left = wrap(t.me - 1, n);
		if (v == 0) {
			for (int i = 1; i < n; i++)
				push_piece(wrap(root + i, n), i);
		} else {
			await_member(t, root);
		}
		for (int k = 0; k + 1 < n; k++) {
			if (v + 1 < n)
				push_piece(right, wrap(v - k, n));
			if (v != 0)
				await_member(t, left);
		}
	}

	// Long data goes in pieces: a leader passes one on while the next one arrives, and the members of a host copy
	// from their leader meanwhile. who(i): the leader of the i-th host from the root's.
	template <class Who>
	void pass_pieces(int leader, Who &&who) const
	{
		const int hosts = t.hosts, index = wrap(t.host[t.me] - t.host[root], hosts);
		const size_t pieces = (bytes + kBcastPiece - 1) / kBcastPiece;
		const host_plan &plan = host_plan_of(t);
		// along a chain each leader sends everything once; in a tree the first piece takes fewer hops
		const bool chain = static_cast<size_t>(hosts) <= 4 || pieces >= 4 * static_cast<size_t>(hosts);
		int bit = 1; // the lowest set bit of my index: in a tree, the parent has it cleared
		while (bit < hosts && !(index & bit))
			bit *= 2;
		const int to_parent = chain ? 1 : bit, to_farthest_child = chain ? 1 : bit / 2;
		for (size_t i = 0; i < pieces; i++) {
			const size_t off = i * kBcastPiece, len = std::min(kBcastPiece, bytes - off);
			if (t.me != leader) {
				copy_from_leader(leader, off, len);
				continue;
			}
			if (index)
				await_member(t, who(index - to_parent));
			for (int step = to_farthest_child; step; step /= 2)
				if (index + step < hosts)
					push_and_tell(t, who(index + step), dest + off, have() + off, len);
			plan.each_other_local(t.me, [&](int j) { notify_member(t, j); });
		}
		if (t.me != leader)
			notify_member(t, leader); // it may change what I copied from
		else
			plan.each_other_local(t.me, [&](int j) { await_member(t, j); });
	}

	void copy_from_leader(int leader, size_t off, size_t len) const
	{
		await_member(t, leader);
		const char *src = leader == root ? source : dest;
		copy_own(dest + off, view(t, leader, src + off, len, dest + off), len);
	}

	void two_level() const
	{
		const int n = t.size, me = t.me, host = t.host[me], root_host = t.host[root];
		const auto leader_of = [&](int h) { return h == root_host ? root : t.leaders[h]; };
		if (bytes > kBcastPiece)
			return pass_pieces(leader_of(host),
					   [&](int i) { return leader_of(wrap(i + root_host, t.hosts)); });
		if (me != leader_of(host))
			return await_member(t, leader_of(host));
		pass_down(t, dest, have(), bytes, wrap(host - root_host, t.hosts), t.hosts,
			  [&](int i) { return leader_of(wrap(i + root_host, t.hosts)); });
		for (int j = 0; j < n; j++)
			if (j != me && t.host[j] == host)
				push_and_tell(t, j, dest, have(), bytes);
	}
};

} // namespace

void allgather_hosts(team &t, fcollect_algorithm how, char *dest, const char *source, const size_t *offset)
{
	copy_own(dest + offset[t.me], source, offset[t.me + 1] - offset[t.me]);
	const blocks b{t, dest, offset};
	if (how == fcollect_algorithm::recursive)
		b.recursive();
	else if (how == fcollect_algorithm::ring)
		b.ring();
	else
		b.two_level();
}

void broadcast_hosts(team &t, bcast_algorithm how, char *dest, const char *source, size_t bytes, int root,
		     bool root_too)
{
	const spread s{t, dest, source, bytes, root};
	if (how == bcast_algorithm::tree)
		s.tree();
	else if (how == bcast_algorithm::scatter)
		s.scatter();
	else
		s.two_level();
	if (root_too && t.me == root)
		copy_own(dest, source, bytes);
}

// pairwise: one partner after another, in step. two-level: host after host, so that one pair of hosts is busy at a
// time.
void alltoall_hosts(team &t, alltoall_algorithm how, const alltoall_moves &moves)
{
	const int n = t.size, me = t.me;
	moves.send(t, me, moves.arg);
	if (how == alltoall_algorithm::pairwise) {
		for (int k = 1; k < n; k++) {
			const int dest = wrap(me + k, n);
			moves.send(t, dest, moves.arg);
			notify_member(t, dest);
			await_member(t, wrap(me - k, n));
		}
		return;
	}
	for (int d = 0; d < t.hosts; d++) {
		const int to_host = wrap(t.host[me] + d, t.hosts), from_host = wrap(t.host[me] - d, t.hosts);
		for (int k = 1; k < n; k++) {
			const int dest = wrap(me + k, n);
			if (t.host[dest] != to_host)
				continue;
			moves.send(t, dest, moves.arg);
			notify_member(t, dest);
		}
		for (int j = 0; j < n; j++)
			if (j != me && t.host[j] == from_host)
				await_member(t, j);
	}
}

} // namespace pgas::teams
