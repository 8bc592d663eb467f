// SPDX-License-Identifier: BSD-3-Clause
//
// Start and end of the race check in a job.
#include "race_state.hpp"

#include <unistd.h>

#include <algorithm>

namespace pgas_tools::race {
namespace {

size_t aligned(size_t bytes)
{
	return (bytes + 63) & ~size_t{63};
}

layout plan(size_t room_bytes)
{
	const auto n = static_cast<size_t>(c.n_pes);
	layout l{};
	l.snapshot_bytes = aligned(sizeof(snapshot) + n * kLanes * sizeof(uint32_t));
	l.word_bytes = (1 + n) * sizeof(uint64_t);
	l.snapshots_count = static_cast<uint32_t>(std::max<size_t>(kSnapshotBytes / l.snapshot_bytes, 16));
	l.words_count = static_cast<uint32_t>(std::max<size_t>(kWordTableBytes / l.word_bytes, kWordTries));
	size_t pos = kRaceAt;
	auto take = [&pos](size_t bytes) {
		const size_t mine = pos;
		pos = aligned(pos + bytes);
		return mine;
	};
	l.head = take(sizeof(room_head));
	l.forgotten = take(n * sizeof(uint64_t));
	l.modules = take(size_t{kModules} * kModuleBytes);
	l.sites = take(kSites * sizeof(site));
	l.races = take(kRaces * sizeof(race_entry));
	l.snapshots = take(l.snapshots_count * l.snapshot_bytes);
	l.words = take(l.words_count * l.word_bytes);
	l.pages = take(kPages * sizeof(page));
	const size_t left = room_bytes > pos ? room_bytes - pos : 0;
	l.blocks_count = static_cast<uint32_t>(left / (kBlockBytes + 2 * sizeof(uint32_t) + 1));
	l.owners = take(l.blocks_count * sizeof(uint32_t));
	l.free_blocks = take(l.blocks_count * sizeof(uint32_t));
	l.blocks = take(0);
	l.end = l.blocks + l.blocks_count * kBlockBytes;
	return l;
}

// Why the program cannot be checked; null if it can. All PEs get the same result.
const char *obstacle(bool inlined_somewhere, size_t room_bytes)
{
	if (c.n_pes > UINT16_MAX)
		return "there are more than 65535 PEs";
	for (int pe = 0; pe < c.n_pes; pe++) {
		const pe_place where = where_is(pe);
		if (!where.with_tool)
			return "some PEs do not have SHMEM_CHECK=race";
	}
	if (inlined_somewhere)
		return "the program has calls inlined by oshcc --inline, which cannot be seen; compile it without";
	return c.place.end > room_bytes || c.place.blocks_count == 0 ? "there is no room for so many PEs" : nullptr;
}

int first_with_tool()
{
	int pe = 0;
	while (!where_is(pe).with_tool)
		pe++;
	return pe;
}

// Each PE notifies all others, through a number in their rooms.
bool any_inlined()
{
	room_head *h = head_of_mine();
	const uint32_t mine = program_has_inlined_calls() ? 0x10001u : 1u;
	for (int pe = 0; pe < c.n_pes; pe++)
		pshmem_ctx_uint32_atomic_add(c.ctx, &h->found, mine, pe);
	pshmem_ctx_quiet(c.ctx);
	pshmem_uint32_wait_until(&h->found, SHMEM_CMP_NE, 0);
	while ((pgas_load_relaxed(&h->found) & 0xffff) < static_cast<uint32_t>(c.n_pes))
		pshmem_uint32_test(&h->found, SHMEM_CMP_EQ, 0);
	return pgas_load_relaxed(&h->found) > 0xffff;
}

} // namespace

void joined()
{
	if (strcmp(g.wish.check, "race") != 0 && (strncmp(g.wish.check, "race:", 5) != 0 || !g.wish.check[5])) {
		fprintf(stderr, "PE %d: SHMEM_CHECK: \"%s\" is neither race nor race:FILE\n", g.my_pe, g.wish.check);
		pshmem_global_exit(1);
	}
	size_t room_bytes;
	c.mine = static_cast<char *>(shmem_impl_tool_room(&room_bytes));
	c.me = g.my_pe;
	c.n_pes = g.n_pes;
	c.threads = g.threads;
	c.place = plan(room_bytes);
	c.near.assign(static_cast<size_t>(c.n_pes), nullptr);
	for (int pe = 0; pe < c.n_pes; pe++)
		c.near[static_cast<size_t>(pe)] = static_cast<char *>(pshmem_ptr(c.mine, pe));
	c.base.assign(static_cast<size_t>(c.n_pes) * kLanes, 0);
	c.seen.assign(static_cast<size_t>(c.n_pes), 0);
	c.intervals.clear();
	c.signals.clear();
	c.locals.clear();
	c.fetches.clear();
	std::fill(std::begin(c.issued), std::end(c.issued), 0u);
	std::fill(std::begin(c.fenced), std::end(c.fenced), 0u);
	c.version = c.published = 0;
	c.changed = true;
	c.checked = 0;
	forget_places();
	forget_meetings();
	forget_lanes();
	if (pshmem_ctx_create(0, &c.ctx) != 0)
		c.ctx = SHMEM_CTX_DEFAULT;
	const char *why = obstacle(false, room_bytes);
	why = why ? why : obstacle(any_inlined(), room_bytes);
	if (why) {
		if (c.me == first_with_tool()) {
			fprintf(stderr, "PE %d: races cannot be looked for: %s\n", c.me, why);
			pshmem_global_exit(SHMEM_TOOL_CANNOT_CHECK);
		}
		return; // it ends all
	}
	head_of_mine()->pid = static_cast<uint32_t>(getpid());
	publish();
	pgas_store_relaxed(&head_of_mine()->magic, kRaceMagic); // read when all have left, or when the job ends early
	pshmem_sync_all();                                      // from now on others read our room
	g_on = true;
}

void all_left()
{
	if (!g_on)
		return;
	g_on = false;
	fflush(nullptr); // the launcher may end a job that found a race
	if (c.me == g.collector)
		report(false);
	if (c.ctx != SHMEM_CTX_DEFAULT)
		pshmem_ctx_destroy(c.ctx);
}

void ending()
{
	if (g_on)
		report(true);
}

} // namespace pgas_tools::race
