// SPDX-License-Identifier: BSD-3-Clause
//
// Reductions across hosts. Data from another member passes through the team's staging memory, piece by piece:
//
//   recursive   members exchange partial results with partners at distance 1, 2, 4, ...; log2(n) hops per piece
//   two-level   the leader of a host folds its members' sources, leaders run recursive, the leader stores the result:
//               fewest messages
//   shares      every member of a host does a share: fewest bytes per member (teams_reduce_shares.cpp)
//   ring        the same without hosts
//
// Which members are combined depends only on the team, so results are the same in every run and on every member.
// Source and dest may be the same array: all members that need a piece of source have used it before that piece of
// dest is written.
#include "teams_reduce_hosts.hpp"

namespace pgas::teams {
namespace {

struct work {
	team &t;
	const reduction &op;
	char *dest;
	const char *source;
	size_t elements;

	void recursive() const
	{
		alignas(64) char acc[kPieceMost];
		const size_t most = doubling_piece_bytes(t.size) / op.size;
		for (size_t pos = 0; pos < elements; pos += most) {
			const size_t count = std::min(most, elements - pos);
			memcpy(acc, source + pos * op.size, count * op.size);
			doubling(t, op, acc, count, t.me, t.size, [](int i) { return i; });
			memcpy(dest + pos * op.size, acc, count * op.size);
		}
	}

	void two_level() const
	{
		const int n = t.size, me = t.me, host = t.host[me], leader = t.leaders[host];
		if (me != leader) {
			notify_member(t, leader);
			return await_member(t, leader);
		}
		for (int j = 0; j < n; j++)
			if (j != me && t.host[j] == host)
				await_member(t, j);
		alignas(64) char acc[kPieceMost], room[kPieceMost];
		const size_t most = doubling_piece_bytes(t.hosts) / op.size;
		for (size_t pos = 0; pos < elements; pos += most) {
			const size_t count = std::min(most, elements - pos), off = pos * op.size,
				     bytes = count * op.size;
			memcpy(acc, source + off, bytes);
			for (int j = me + 1; j < n; j++)
				if (t.host[j] == host)
					fold_two(op, acc, acc, view(t, j, source + off, bytes, room), count);
			doubling(t, op, acc, count, host, t.hosts, [&](int h) { return t.leaders[h]; });
			for (int j = me; j < n; j++)
				if (t.host[j] == host)
					push(t, j, dest + off, acc, bytes);
		}
		for (int j = me + 1; j < n; j++)
			if (t.host[j] == host)
				notify_member(t, j);
	}
};

} // namespace

void reduce_hosts(team &t, reduce_algorithm how, const reduction &op, char *dest, const char *source, size_t elements)
{
	const work w{t, op, dest, source, elements};
	switch (how) {
	case reduce_algorithm::recursive:
		return w.recursive();
	case reduce_algorithm::two_level:
		return w.two_level();
	case reduce_algorithm::ring:
		return reduce_ring(t, op, dest, source, elements);
	default:
		return reduce_shares_hosts(t, op, dest, source, elements);
	}
}

} // namespace pgas::teams
