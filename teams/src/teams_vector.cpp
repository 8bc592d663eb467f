// SPDX-License-Identifier: BSD-3-Clause
//
// Gather, scatter and alltoallv. Senders know where their bytes go, so they put them there at once and notify the
// receiver. In alltoallv only the receiver knows: it first sends each member the place of that member's block and the
// length it expects, next to the number of an exchange.
#include "teams_algorithms.hpp"
#include "teams_signal.hpp"

#include <cstdio>

namespace pgas::teams {

void gather(team &t, void *dest, const void *source, size_t bytes, int root)
{
	if (!bytes)
		return;
	char *mine = static_cast<char *>(dest) + static_cast<size_t>(t.me) * bytes;
	if (t.me != root)
		return push_and_tell(t, root, mine, source, bytes);
	copy_own(mine, source, bytes);
	for (int i = 1; i < t.size; i++)
		await_member(t, wrap(root + i, t.size));
}

void scatter(team &t, void *dest, const void *source, size_t bytes, int root)
{
	if (!bytes)
		return;
	if (t.me != root)
		return await_member(t, root);
	const char *src = static_cast<const char *>(source);
	for (int i = 1; i < t.size; i++) {
		const int j = wrap(root + i, t.size);
		push_and_tell(t, j, dest, src + static_cast<size_t>(j) * bytes, bytes);
	}
	copy_own(dest, src + static_cast<size_t>(root) * bytes, bytes);
}

void check_expected(const team &t, const char *routine, int source, size_t sent, int dest, size_t expected)
{
	if (PGAS_LIKELY(sent == expected))
		return;
	char text[128];
	snprintf(text, sizeof text, "PE %d sends %zu elements to PE %d, which expects %zu", world_rank(t, source), sent,
		 world_rank(t, dest), expected);
	fail(routine, text);
}

void alltoallv(team &t, const char *routine, void *dest, const block_list &dst, const void *source,
	       const block_list &src, size_t size)
{
	struct block_place {
		uint64_t first, count; // in elements, of the receiver's dest
	};
	static_assert(sizeof(block_place) <= kInline);
	const auto send = [&](int j, size_t pos) {
		const auto i = static_cast<size_t>(j);
		push(t, j, static_cast<char *>(dest) + pos * size,
		     static_cast<const char *>(source) + src.displs[i] * size, src.counts[i] * size);
	};
	if (t.size == 1) {
		check_expected(t, routine, 0, src.counts[0], 0, dst.counts[0]);
		return send(0, dst.displs[0]);
	}
	uint64_t number = exchange_begin(t);
	for (int i = 1; i <= t.size; i++) {
		const int j = wrap(t.me + i, t.size);
		const block_place mine{dst.displs[j], dst.counts[j]};
		line one{};
		memcpy(one.payload, &mine, sizeof mine);
		exchange_post(t, number, j, one, sizeof mine);
	}
	exchange_gather(t, number);
	const uint64_t places = number;
	const line nothing{};
	number = exchange_begin(t);
	for (int i = 1; i <= t.size; i++) {
		const int j = wrap(t.me + i, t.size);
		block_place theirs;
		memcpy(&theirs, in_line(t, t.block, places, j)->payload, sizeof theirs);
		check_expected(t, routine, t.me, src.counts[j], j, theirs.count);
		send(j, theirs.first);
		exchange_post(t, number, j, nothing, 0);
	}
	exchange_gather(t, number);
}

} // namespace pgas::teams
