// SPDX-License-Identifier: BSD-3-Clause
//
// Collect, fcollect, alltoall and alltoalls on one host. A member calls only when the others' dests are ready, so
// members store into them at once; up to 56 bytes travel next to the number that announces them.
#include "teams_algorithms.hpp"

#include <cstdlib>

namespace pgas::teams {
namespace {

template <class Body>
void for_others_from_me(const team &t, Body &&body)
{
	for (int j = t.me + 1; j < t.size; j++)
		body(j);
	for (int j = 0; j < t.me; j++)
		body(j);
}

// Calls send(j) for every member, me last; returns when all have sent. Each member is notified as soon as its data is
// there, while the next member's data is in flight.
template <class Send>
void send_to_all(team &t, Send &&send)
{
	if (!t.block) {
		for_others_from_me(t, send);
		send(t.me);
		settle();
		return sync(t);
	}
	const line nothing{};
	const uint64_t number = exchange_begin(t);
	for_others_from_me(t, [&](int j) {
		send(j);
		exchange_post(t, number, j, nothing, 0);
	});
	send(t.me);
	exchange_post(t, number, t.me, nothing, 0);
	exchange_gather(t, number);
}

} // namespace

void fcollect(team &t, void *dest, const void *source, size_t bytes)
{
	if (!bytes)
		return;
	auto *dst = static_cast<char *>(dest);
	const auto me = static_cast<size_t>(t.me), n = static_cast<size_t>(t.size);
	if (t.size == 1)
		return copy_own(dest, source, bytes);
	const auto how = choose_fcollect(t, bytes);
	if (PGAS_UNLIKELY(how != fcollect_algorithm::direct)) {
		auto *offset = static_cast<size_t *>(malloc((n + 1) * sizeof(size_t)));
		if (!offset)
			fail("fcollect", "out of memory");
		for (size_t j = 0; j <= n; j++)
			offset[j] = j * bytes;
		allgather_hosts(t, how, dst, static_cast<const char *>(source), offset);
		free(offset);
		return;
	}
	if (t.block && bytes <= kInline) {
		exchange(t, source, bytes);
		for (int j = 0; j < t.size; j++)
			memcpy(dst + static_cast<size_t>(j) * bytes, exchanged(t, j), bytes);
		return;
	}
	const copying how_to = copying_of(streamer::fcollect, n * (n + 1) * bytes);
	send_to_all(t, [&](int j) { push(t, j, dst + me * bytes, source, bytes, how_to); });
}

namespace {

// For blocks of different lengths: where mine begins. Only for sets; handed on along the set (in the last flag, as 1 +
// offset).
size_t offset_along_set(team &t, size_t bytes)
{
	uint64_t *addr = t.flags + kSetFlags - 1;
	size_t mine = 0;
	if (t.me > 0) {
		await([=] { return pgas_load_relaxed(addr) != 0; }, t.hosts == 1);
		mine = static_cast<size_t>(pgas_load_relaxed(addr)) - 1;
		pgas_store_relaxed(addr, uint64_t{0});
	}
	if (t.me + 1 < t.size)
		set_word(t, t.me + 1, addr, mine + bytes + 1);
	return mine;
}

struct announced {
	uint64_t bytes;
	char data[kInline - sizeof(uint64_t)]; // the whole block, when it fits
};

// One hop when all blocks are small; otherwise lengths first, then data.
void collect_team(team &t, char *dest, const char *source, size_t bytes)
{
	announced mine{bytes, {}};
	const bool small = bytes <= sizeof mine.data;
	if (small && bytes)
		memcpy(mine.data, source, bytes);
	exchange(t, &mine, sizeof mine);
	const auto n = static_cast<size_t>(t.size);
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
	if (g_job.check_dest)
		g_job.check_dest("collect", dest, offset[n]);
	const auto how = choose_fcollect(t, largest);
	if (largest <= sizeof mine.data) {
		for (size_t j = 0; j < n; j++)
			memcpy(dest + offset[j], exchanged(t, static_cast<int>(j)) + sizeof(uint64_t),
			       offset[j + 1] - offset[j]);
	} else if (how != fcollect_algorithm::direct) {
		allgather_hosts(t, how, dest, source, offset);
	} else {
		char *pos = dest + offset[t.me];
		const copying how_to = copying_of(streamer::collect, (n + 1) * offset[n]);
		send_to_all(t, [&](int j) { push(t, j, pos, source, bytes, how_to); });
	}
	free(offset);
}

} // namespace

void collect(team &t, void *dest, const void *source, size_t bytes)
{
	if (t.size == 1)
		return copy_own(dest, source, bytes);
	auto *dst = static_cast<char *>(dest);
	if (t.block)
		return collect_team(t, dst, static_cast<const char *>(source), bytes);
	char *pos = dst + offset_along_set(t, bytes);
	send_to_all(t, [&](int j) { push(t, j, pos, source, bytes); });
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
		push(t, j, dest + static_cast<size_t>(t.me) * bytes, source + static_cast<size_t>(j) * bytes, bytes,
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
		char *target = dest + static_cast<ptrdiff_t>(t.me) * static_cast<ptrdiff_t>(count * size) * dst;
		const char *src = source + static_cast<ptrdiff_t>(j) * static_cast<ptrdiff_t>(count * size) * sst;
		const ptrdiff_t to_step = dst * static_cast<ptrdiff_t>(size),
				from_step = sst * static_cast<ptrdiff_t>(size);
		for (size_t i = 0; i < count; i++, target += to_step, src += from_step)
			push(t, j, target, src, size);
	}
};

template <class Moves>
void alltoall_by(team &t, const Moves &moves, size_t bytes)
{
	const auto how = choose_alltoall(t, bytes);
	if (PGAS_UNLIKELY(how != alltoall_algorithm::direct && t.size > 1)) {
		const alltoall_moves m{
			[](team &dest, int j, const void *arg) { static_cast<const Moves *>(arg)->send(dest, j); },
			&moves};
		return alltoall_hosts(t, how, m);
	}
	if (t.size == 1)
		return moves.send(t, 0);
	send_to_all(t, [&](int j) { moves.send(t, j); });
}

} // namespace

void alltoall(team &t, void *dest, const void *source, size_t bytes)
{
	if (!bytes)
		return;
	const auto n = static_cast<size_t>(t.size);
	const plain moves{static_cast<char *>(dest), static_cast<const char *>(source), bytes,
			  copying_of(streamer::alltoall, 2 * n * n * bytes)};
	const auto how = choose_alltoall(t, bytes);
	if (PGAS_UNLIKELY(how == alltoall_algorithm::two_level) && t.block && t.hosts > 1 &&
	    alltoall_short_hosts(t, moves.dest, moves.source, bytes))
		return;
	if (bytes > kInline || !t.block || t.size == 1 || how != alltoall_algorithm::direct)
		return alltoall_by(t, moves, bytes);
	const uint64_t number = exchange_begin(t);
	const auto post = [&](int j) {
		line mine{};
		memcpy(mine.payload, moves.source + static_cast<size_t>(j) * bytes, bytes);
		exchange_post(t, number, j, mine, bytes);
	};
	for_others_from_me(t, post);
	post(t.me);
	exchange_gather(t, number);
	for (int j = 0; j < t.size; j++)
		memcpy(moves.dest + static_cast<size_t>(j) * bytes, exchanged(t, j), bytes);
}

void alltoalls(team &t, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t count, size_t size)
{
	if (!count)
		return;
	alltoall_by(t, strided{static_cast<char *>(dest), static_cast<const char *>(source), dst, sst, count, size},
		    count * size);
}

} // namespace pgas::teams
