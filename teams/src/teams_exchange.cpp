// SPDX-License-Identifier: BSD-3-Clause
//
// The exchange, and the members' progress. Why a line may be written again is in teams_team.hpp.
#include <teams/teams_team.hpp>

#include <algorithm>

namespace pgas::teams {

// budget: 5 instructions per member, besides waiting
void exchange_gather(team &t, uint64_t number)
{
	const line *input = in_line(t, t.block, number, 0);
	const int n = t.size;
	for (int j = 0; j < n; j++) // relaxed: loads of lines that have arrived overlap
		if (PGAS_UNLIKELY(pgas_load_relaxed(&input[j].number) != number))
			await([=] { return pgas_load_relaxed(&input[j].number) == number; }, on_my_host(t, j));
	pgas_fence_acquire(); // pairs with store_release in set_line()
	t.known = number - 1;
}

void exchange(team &t, const void *payload, size_t bytes)
{
	line mine{};
	if (bytes)
		memcpy(mine.payload, payload, bytes);
	const uint64_t number = exchange_begin(t);
	for (int j = t.me; j < t.size; j++) // from me on: members do not all begin with the same one
		exchange_post(t, number, j, mine, bytes);
	for (int j = 0; j < t.me; j++)
		exchange_post(t, number, j, mine, bytes);
	exchange_gather(t, number);
}

uint64_t await_progress_of(team &t, int member, uint64_t number)
{
	uint64_t seen = 0;
	if (is_near(t, member)) {
		const line *item = &head_of(t.peer[member])->progress;
		await([&] { return (seen = pgas_load_relaxed(&item->number)) >= number; }, true);
	} else {
		const uint64_t *addr = &own_address(t, member, &head_of(t.block)->progress)->number;
		unsigned polls = 0;
		while ((seen = g_job.read(addr, world_rank(t, member))) < number)
			g_job.pause(polls);
	}
	return seen;
}

// The slowest member decides what is known, which may be more than the caller requires.
void await_progress(team &t, uint64_t number)
{
	uint64_t slowest = UINT64_MAX;
	for (int i = 1; i < t.size; i++)
		slowest = std::min(slowest, await_progress_of(t, (t.me + i) % t.size, number));
	t.known = std::max(slowest, t.known);
}

void report_completed(team &t)
{
	// pairs with await() in await_progress_of(), with which the root of a broadcast waits
	pgas_store_release(&head_of(t.block)->progress.number, t.exchanges);
}

} // namespace pgas::teams
