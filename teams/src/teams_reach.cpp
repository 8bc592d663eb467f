// SPDX-License-Identifier: BSD-3-Clause
//
// Reaching members' memory: through a mapping where there is one, otherwise by the client's calls.
#include <teams/teams_team.hpp>

namespace pgas::teams {

uintptr_t resolve(team &t, int member)
{
	const int rank = world_rank(t, member);
	uintptr_t reach = pgas_load_relaxed(&g_job.reach_of_rank[rank]);
	if (reach == kReachAsk) { // threads may resolve concurrently; all get the same result
		reach = kReachNone;
		const bool same_host = g_job.hosts[rank] == g_job.hosts[g_job.me];
		if (rank == g_job.me)
			reach = 0;
		else if (void *addr = same_host ? g_job.mapped(g_job.memory, rank) : nullptr)
			reach = reinterpret_cast<uintptr_t>(addr) - reinterpret_cast<uintptr_t>(g_job.memory);
		pgas_store_relaxed(&g_job.reach_of_rank[rank], reach);
	}
	if (reach != kReachNone && t.block)
		t.peer[member] = reinterpret_cast<char *>(t.block_at[member] + reach);
	t.reach[member] = reach;
	return reach;
}

void set_far(team &t, int member, line *mine, uint64_t number, const void *payload, size_t bytes)
{
	line *item = own_address(t, member, mine);
	const int rank = world_rank(t, member);
	if (bytes)
		g_job.put(item->payload, payload, bytes, rank);
	g_job.set(&item->number, number, rank);
}

void set_word(team &t, int member, uint64_t *mine, uint64_t value)
{
	if (is_near(t, member))
		pgas_store_release(address_at(t, member, mine), value); // pairs with await() in the member
	else
		g_job.set(mine, value, world_rank(t, member));
}

copying copying_of(streamer who, size_t bytes)
{
	return PGAS_UNLIKELY(bytes >= g_job.stream.bytes[static_cast<unsigned>(who)]) ? copying::streamed
										      : copying::cached;
}

void push(team &t, int member, void *dest, const void *source, size_t bytes, copying how)
{
	if (!bytes)
		return;
	if (!is_near(t, member)) {
		g_job.put(dest, source, bytes, world_rank(t, member));
		return;
	}
	void *addr = address_at(t, member, dest);
	if (addr == source)
		return;
	if (PGAS_UNLIKELY(how == copying::streamed))
		return copy_streamed(addr, source, bytes);
	memmove(addr, source, bytes);
}

const void *view(team &t, int member, const void *source, size_t bytes, void *room)
{
	if (is_near(t, member))
		return address_at(t, member, source);
	g_job.get(room, source, bytes, world_rank(t, member));
	return room;
}

} // namespace pgas::teams
