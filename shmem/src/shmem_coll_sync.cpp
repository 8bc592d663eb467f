// SPDX-License-Identifier: BSD-3-Clause
//
// Sync and barrier. Every algorithm only raises numbers, in lines that one peer writes (the central counter excepted),
// so that back-to-back syncs need nothing between them.
//
// dissemination in each round tell up to three members at growing distance, wait for as many: log4(n) hops, no hot line
// central a counter and a release line at member 0: most work per hop, but every member runs only once per sync,
//                  which is what counts when there are more PEs than cores
//   tree           four children each: 2 log4(n) hops, fewest messages
//   two-level      leaders of the hosts disseminate, the others tell their leader and are told
#include "shmem_amo.hpp"
#include "shmem_coll.hpp"
#include "shmem_team.hpp"

#include <algorithm>

namespace shmem {

void wait_pause(unsigned &polls)
{
	pgas_backoff wait{polls};
	pgas_backoff_turn(&wait, &g.waiting);
	polls = wait.polls;
}

namespace {

// Member `from` of `count` that take part: who(i) is the member number of the i-th.
template <class Who>
PGAS_HOT void disseminate(team &t, uint64_t number, int me, int count, int fan, Who &&who)
{
	line *hop = head_of(t.block)->hop;
	for (int64_t distance = 1; distance < count; distance *= fan, hop += (kFan - 1) * kApart) {
		for (int64_t j = 1; j < fan && j * distance < count; j++) {
			int64_t to = me + j * distance;
			to -= to >= count ? count : 0;
			set_number(t, who(static_cast<int>(to)), &hop[(j - 1) * kApart], number);
		}
		for (int64_t j = 1; j < fan && j * distance < count; j++)
			await_number(&hop[(j - 1) * kApart], number);
	}
}

void sync_dissemination(team &t, uint64_t number)
{
	disseminate(t, number, t.my_pe, t.n_pes, t.fan, [](int i) { return i; });
}

// The last to arrive puts the counter back before it releases the others: nobody arrives for the next sync before that.
void sync_central(team &t, uint64_t number)
{
	const auto count = static_cast<uint64_t>(t.n_pes);
	block_head *mine = head_of(t.block);
	if (PGAS_LIKELY(is_near(t, 0))) {
		block_head *at = head_of(t.peer[0]);
		// acq_rel: the last one has seen all, and hands it on with the release below
		if (__atomic_fetch_add(&at->arrived.number, 1, __ATOMIC_ACQ_REL) + 1 == count) {
			pgas_store_relaxed(&at->arrived.number, uint64_t{0});
			// pairs with await() in the others, and with the atomic get of far members
			pgas_store_release(&at->released.number, number);
		} else {
			await_number(&at->released, number);
		}
		return;
	}
	const int root = world_pe(t, 0);
	uint64_t *arrived = &as_mine(t, 0, &mine->arrived)->number, *released = &as_mine(t, 0, &mine->released)->number;
	pshmem_fence();
	if (amo_fetch<PGAS_OP_SUM>(&g_default, arrived, uint64_t{1}, root) + 1 == count) {
		amo<PGAS_OP_WRITE>(&g_default, arrived, uint64_t{0}, root);
		pshmem_fence();
		amo<PGAS_OP_WRITE>(&g_default, released, number, root);
		return;
	}
	unsigned polls = 0;
	while (amo_fetch<PGAS_OP_READ>(&g_default, released, uint64_t{0}, root) < number)
		wait_pause(polls);
}

void sync_tree(team &t, uint64_t number)
{
	block_head *mine = head_of(t.block);
	const int64_t first = int64_t{t.my_pe} * kFan + 1;
	const int64_t end = first + kFan < t.n_pes ? first + kFan : t.n_pes;
	for (int64_t c = first; c < end; c++)
		await_number(&mine->up[c - first], number);
	if (t.my_pe != 0) {
		set_number(t, (t.my_pe - 1) / kFan, &mine->up[(t.my_pe - 1) % kFan], number);
		await_number(&mine->down, number);
	}
	for (int64_t c = first; c < end; c++)
		set_number(t, static_cast<int>(c), &mine->down, number);
}

void sync_two_level(team &t, uint64_t number)
{
	block_head *mine = head_of(t.block);
	const int host = t.host[t.my_pe], leader = t.leaders[host];
	if (t.my_pe != leader) {
		set_number(t, leader, local_up_line(t, t.block, t.my_pe), number);
		await_number(&mine->host_down, number);
		return;
	}
	for (int j = leader + 1; j < t.n_pes; j++)
		if (t.host[j] == host)
			await_number(local_up_line(t, t.block, j), number);
	disseminate(t, number, host, t.hosts, kFan, [&](int h) { return t.leaders[h]; });
	for (int j = leader + 1; j < t.n_pes; j++)
		if (t.host[j] == host)
			set_number(t, j, &mine->host_down, number);
}

// Active sets bring their own flags. One count per round goes up when told and down when taken, so the array is back at
// SHMEM_SYNC_VALUE when everybody has left, and may be used again at once.
void sync_set(team &t)
{
	pshmem_fence();
	long *at = t.psync;
	for (int64_t step = 1; step < t.n_pes; step *= 2, at++) {
		amo<PGAS_OP_SUM>(&g_default, at, 1L, world_pe(t, static_cast<int>((t.my_pe + step) % t.n_pes)));
		await([=] { return pgas_load_relaxed(at) > SHMEM_SYNC_VALUE; });
		amo<PGAS_OP_SUM>(&g_default, at, -1L, g.my_pe);
	}
}

} // namespace

// budget: 30 instructions of our own for two members, besides waiting
void sync(team &t)
{
	if (t.n_pes == 1)
		return;
	if (PGAS_UNLIKELY(!t.block))
		return sync_set(t);
	const uint64_t number = ++t.round;
	t.known = t.exchanges; // whoever meets me here has completed all before
	switch (choose_sync(t)) {
	case barrier_algorithm_kind::central:
		return sync_central(t, number);
	case barrier_algorithm_kind::tree:
		return sync_tree(t, number);
	case barrier_algorithm_kind::two_level:
		return sync_two_level(t, number);
	default:
		return sync_dissemination(t, number);
	}
}

void sync_push(team &t)
{
	if (t.n_pes > 1)
		sync_dissemination(t, ++t.round);
}

void barrier_all()
{
	sync(g_teams[0]);
}

// --- exchange --------------------------------------------------------------------------------------------------------

// budget: 5 instructions per member, besides waiting
void exchange_gather(team &t, uint64_t number)
{
	const line *in = in_line(t, t.block, number, 0);
	const int n = t.n_pes;
	for (int j = 0; j < n; j++) // relaxed loads: those of lines that are there already overlap
		if (PGAS_UNLIKELY(pgas_load_relaxed(&in[j].number) != number))
			await([=] { return pgas_load_relaxed(&in[j].number) == number; });
	pgas_fence_acquire(); // pairs with store_release in set_line()
	t.known = number - 1;
}

void exchange(team &t, const void *payload, size_t bytes)
{
	line mine{};
	if (bytes)
		memcpy(mine.payload, payload, bytes);
	const uint64_t number = exchange_begin(t);
	for (int j = t.my_pe; j < t.n_pes; j++) // from me on: members do not all begin with the same
		exchange_post(t, number, j, mine, bytes);
	for (int j = 0; j < t.my_pe; j++)
		exchange_post(t, number, j, mine, bytes);
	exchange_gather(t, number);
}

uint64_t await_progress_of(team &t, int member, uint64_t number)
{
	uint64_t seen = 0;
	if (is_near(t, member)) {
		const line *at = &head_of(t.peer[member])->progress;
		await([&] { return (seen = pgas_load_relaxed(&at->number)) >= number; });
	} else {
		const uint64_t *at = &as_mine(t, member, &head_of(t.block)->progress)->number;
		unsigned polls = 0;
		while ((seen = g_value(&g_default, at, world_pe(t, member))) < number)
			wait_pause(polls);
	}
	return seen;
}

// The slowest member decides what is known, which may be more than was asked for.
void await_progress(team &t, uint64_t number)
{
	uint64_t slowest = UINT64_MAX;
	for (int i = 1; i < t.n_pes; i++)
		slowest = std::min(slowest, await_progress_of(t, (t.my_pe + i) % t.n_pes, number));
	t.known = std::max(slowest, t.known);
}

void completed(team &t)
{
	// pairs with await() in await_progress_of(), by which the root of a broadcast waits
	pgas_store_release(&head_of(t.block)->progress.number, t.exchanges);
}

// --- reaching members ------------------------------------------------------------------------------------------------

uintptr_t resolve(team &t, int member)
{
	const int pe = world_pe(t, member);
	uintptr_t reach = pgas_load_relaxed(&g.reach[pe]);
	if (reach == kReachAsk) { // threads may ask at a time; all get the same answer
		reach = kReachNone;
		void *const base = reinterpret_cast<void *>(g.base);
		if (pe == g.my_pe)
			reach = 0;
		else if (void *at = g.hosts[pe] == g.hosts[g.my_pe] ? peer_pointer(base, pe) : nullptr)
			reach = reinterpret_cast<uintptr_t>(at) - g.base;
		pgas_store_relaxed(&g.reach[pe], reach);
	}
	if (reach != kReachNone && t.block)
		t.peer[member] = reinterpret_cast<char *>(t.block_at[member] + reach);
	t.reach[member] = reach;
	return reach;
}

void set_far(team &t, int member, line *mine, uint64_t number, const void *payload, size_t bytes)
{
	line *at = as_mine(t, member, mine);
	const int pe = world_pe(t, member);
	if (bytes)
		put(&g_default, at->payload, payload, bytes, pe);
	pshmem_fence();
	amo<PGAS_OP_WRITE>(&g_default, &at->number, number, pe);
}

copying copying_of(streamer who, size_t bytes)
{
	return PGAS_UNLIKELY(bytes >= g.stream.of[static_cast<unsigned>(who)]) ? copying::streamed : copying::cached;
}

void push(team &t, int member, void *dest, const void *source, size_t bytes, copying how)
{
	if (!bytes)
		return;
	if (!is_near(t, member)) {
		put(&g_default, dest, source, bytes, world_pe(t, member));
		return;
	}
	void *at = there(t, member, dest);
	if (at == source)
		return;
	if (PGAS_UNLIKELY(how == copying::streamed))
		return copy_streamed(at, source, bytes);
	memmove(at, source, bytes);
}

const void *view(team &t, int member, const void *source, size_t bytes, void *room)
{
	if (is_near(t, member))
		return there(t, member, source);
	get(&g_default, room, source, bytes, world_pe(t, member));
	return room;
}

} // namespace shmem

using namespace shmem;

SHMEM_NAME(int, shmem_team_sync, (shmem_team_t team))
{
	check_running("shmem_team_sync");
	struct team *t = live_team(team);
	if (!t)
		return -1;
	sync(*t);
	return 0;
}
