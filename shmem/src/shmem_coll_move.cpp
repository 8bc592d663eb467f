// SPDX-License-Identifier: BSD-3-Clause
//
// Collect, fcollect, alltoall and alltoalls on one host. The standard lets a PE call only when the others' dests are
// ready, so members store into them at once; up to 56 bytes travel beside the number that announces them.
#include "shmem_coll.hpp"

#include <cstdlib>

namespace shmem {
namespace {

template <class Body>
void for_others_from_me(const team &t, Body &&body)
{
	for (int j = t.my_pe + 1; j < t.n_pes; j++)
		body(j);
	for (int j = 0; j < t.my_pe; j++)
		body(j);
}

// send(j) for every member, me last; returns when all have sent. A member is told as soon as its data is there, while
// the next one's is on its way.
template <class Send>
void send_to_all(team &t, Send &&send)
{
	if (!t.block) {
		for_others_from_me(t, send);
		send(t.my_pe);
		return sync(t);
	}
	const line nothing{};
	const uint64_t number = exchange_begin(t);
	for_others_from_me(t, [&](int j) {
		send(j);
		exchange_post(t, number, j, nothing, 0);
	});
	send(t.my_pe);
	exchange_post(t, number, t.my_pe, nothing, 0);
	exchange_gather(t, number);
}

} // namespace

void fcollect(team &t, void *dest, const void *source, size_t bytes)
{
	if (!bytes)
		return;
	auto *to = static_cast<char *>(dest);
	const auto me = static_cast<size_t>(t.my_pe), n = static_cast<size_t>(t.n_pes);
	if (t.n_pes == 1)
		return copy_own(dest, source, bytes);
	const auto how = choose_fcollect(t, bytes);
	if (PGAS_UNLIKELY(how != fcollect_algorithm_kind::direct)) {
		auto *offset = static_cast<size_t *>(malloc((n + 1) * sizeof(size_t)));
		if (!offset)
			fail("fcollect", "out of memory");
		for (size_t j = 0; j <= n; j++)
			offset[j] = j * bytes;
		allgather_hosts(t, how, to, static_cast<const char *>(source), offset);
		free(offset);
		return;
	}
	if (t.block && bytes <= kInline) {
		exchange(t, source, bytes);
		for (int j = 0; j < t.n_pes; j++)
			memcpy(to + static_cast<size_t>(j) * bytes, exchanged(t, j), bytes);
		return;
	}
	const copying how_to = copying_of(streamer::fcollect, n * (n + 1) * bytes);
	send_to_all(t, [&](int j) { push(t, j, to + me * bytes, source, bytes, how_to); });
}

namespace {

// Lengths differ: where mine begins, for active sets, handed on along the set (in the last long of pSync, as 1 +
// offset).
size_t offset_along_set(team &t, size_t bytes)
{
	long *at = t.psync + SHMEM_COLLECT_SYNC_SIZE - 1;
	size_t mine = 0;
	if (t.my_pe > 0) {
		await([=] { return pgas_load_relaxed(at) != SHMEM_SYNC_VALUE; });
		mine = static_cast<size_t>(pgas_load_relaxed(at)) - 1;
		pgas_store_relaxed(at, SHMEM_SYNC_VALUE);
	}
	if (t.my_pe + 1 < t.n_pes) {
		pshmem_fence();
		p(&g_default, at, static_cast<long>(mine + bytes + 1), world_pe(t, t.my_pe + 1));
	}
	return mine;
}

struct announced {
	uint64_t bytes;
	char data[kInline - sizeof(uint64_t)]; // the whole block, when it fits
};

// One hop when all blocks are small; else lengths first, then data.
void collect_team(team &t, char *dest, const char *source, size_t bytes)
{
	announced mine{bytes, {}};
	const bool small = bytes <= sizeof mine.data;
	if (small && bytes)
		memcpy(mine.data, source, bytes);
	exchange(t, &mine, sizeof mine);
	const auto n = static_cast<size_t>(t.n_pes);
	auto *offset = static_cast<size_t *>(malloc((n + 1) * sizeof(size_t)));
	if (!offset)
		fail("collect", "out of memory");
	size_t largest = 0;
	offset[0] = 0;
	for (size_t j = 0; j < n; j++) {
		uint64_t theirs;
		memcpy(&theirs, exchanged(t, static_cast<int>(j)), sizeof theirs);
		offset[j + 1] = offset[j] + theirs;
		largest = theirs > largest ? theirs : largest;
	}
	check_symmetric("collect", "dest", dest, offset[n]);
	const auto how = choose_fcollect(t, largest);
	if (largest <= sizeof mine.data) {
		for (size_t j = 0; j < n; j++)
			memcpy(dest + offset[j], exchanged(t, static_cast<int>(j)) + sizeof(uint64_t),
			       offset[j + 1] - offset[j]);
	} else if (how != fcollect_algorithm_kind::direct) {
		allgather_hosts(t, how, dest, source, offset);
	} else {
		char *at = dest + offset[t.my_pe];
		const copying how_to = copying_of(streamer::collect, (n + 1) * offset[n]);
		send_to_all(t, [&](int j) { push(t, j, at, source, bytes, how_to); });
	}
	free(offset);
}

} // namespace

void collect(team &t, void *dest, const void *source, size_t bytes)
{
	if (t.n_pes == 1)
		return copy_own(dest, source, bytes);
	auto *to = static_cast<char *>(dest);
	if (t.block)
		return collect_team(t, to, static_cast<const char *>(source), bytes);
	char *at = to + offset_along_set(t, bytes);
	send_to_all(t, [&](int j) { push(t, j, at, source, bytes); });
}

// --- alltoall --------------------------------------------------------------------------------------------------------

namespace {

struct plain {
	char *dest;
	const char *source;
	size_t bytes;
	copying how;

	void send(team &t, int j) const
	{
		push(t, j, dest + static_cast<size_t>(t.my_pe) * bytes, source + static_cast<size_t>(j) * bytes, bytes,
		     how);
	}
};

struct strided {
	char *dest;
	const char *source;
	ptrdiff_t dst, sst;
	size_t count, size;

	void send(team &t, int j) const
	{
		char *to = dest + static_cast<ptrdiff_t>(t.my_pe) * static_cast<ptrdiff_t>(count * size) * dst;
		const char *from = source + static_cast<ptrdiff_t>(j) * static_cast<ptrdiff_t>(count * size) * sst;
		const ptrdiff_t to_step = dst * static_cast<ptrdiff_t>(size),
				from_step = sst * static_cast<ptrdiff_t>(size);
		for (size_t i = 0; i < count; i++, to += to_step, from += from_step)
			push(t, j, to, from, size);
	}
};

template <class Moves>
void alltoall_by(team &t, const Moves &moves, size_t bytes)
{
	const auto how = choose_alltoall(t, bytes);
	if (PGAS_UNLIKELY(how != alltoall_algorithm_kind::direct && t.n_pes > 1)) {
		const alltoall_moves m{
			[](team &to, int j, const void *arg) { static_cast<const Moves *>(arg)->send(to, j); }, &moves};
		return alltoall_hosts(t, how, m);
	}
	if (t.n_pes == 1)
		return moves.send(t, 0);
	send_to_all(t, [&](int j) { moves.send(t, j); });
}

} // namespace

void alltoall(team &t, void *dest, const void *source, size_t bytes)
{
	if (!bytes)
		return;
	const auto n = static_cast<size_t>(t.n_pes);
	const plain moves{static_cast<char *>(dest), static_cast<const char *>(source), bytes,
			  copying_of(streamer::alltoall, 2 * n * n * bytes)};
	if (bytes > kInline || !t.block || t.n_pes == 1 || choose_alltoall(t, bytes) != alltoall_algorithm_kind::direct)
		return alltoall_by(t, moves, bytes);
	const uint64_t number = exchange_begin(t);
	const auto post = [&](int j) {
		line mine{};
		memcpy(mine.payload, moves.source + static_cast<size_t>(j) * bytes, bytes);
		exchange_post(t, number, j, mine, bytes);
	};
	for_others_from_me(t, post);
	post(t.my_pe);
	exchange_gather(t, number);
	for (int j = 0; j < t.n_pes; j++)
		memcpy(moves.dest + static_cast<size_t>(j) * bytes, exchanged(t, j), bytes);
}

void alltoalls(team &t, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t count, size_t size)
{
	if (!count)
		return;
	alltoall_by(t, strided{static_cast<char *>(dest), static_cast<const char *>(source), dst, sst, count, size},
		    count * size);
}

} // namespace shmem
