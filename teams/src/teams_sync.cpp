// SPDX-License-Identifier: BSD-3-Clause
//
// Sync. Every algorithm only raises numbers, in lines that one peer writes (the central counter excepted), so
// back-to-back syncs need nothing between them.
//
//   dissemination  each round notifies up to three members at growing distance and waits for as many: log4(n) hops,
//                  no hot line
//   central        a counter and a release line at member 0: most work per hop, but every member runs only once per
//                  sync, which is what counts when there are more processes than cores
//   tree           four children each: 2 log4(n) hops, fewest messages
//   two-level      leaders of the hosts disseminate; the other members notify their leader and wait for its release
#include "teams_algorithms.hpp"

namespace pgas::teams {
namespace {

// The caller is number `me` of the `count` members that take part; who(i) is the member number of the i-th.
template <class Who>
PGAS_HOT void disseminate(team &t, uint64_t number, int me, int count, int fan, Who &&who)
{
	line *hop = head_of(t.block)->hop;
	for (int64_t distance = 1; distance < count; distance *= fan, hop += (kFan - 1) * kApart) {
		for (int64_t j = 1; j < fan && j * distance < count; j++) {
			int64_t dest = me + j * distance;
			dest -= dest >= count ? count : 0;
			set_number(t, who(static_cast<int>(dest)), &hop[(j - 1) * kApart], number);
		}
		for (int64_t j = 1; j < fan && j * distance < count; j++)
			await_number(&hop[(j - 1) * kApart], number, t.hosts == 1);
	}
}

void sync_dissemination(team &t, uint64_t number)
{
	disseminate(t, number, t.me, t.size, t.fan, [](int i) { return i; });
}

// The last to arrive resets the counter before it releases the others, so no member arrives for the next sync before
// the reset.
void sync_central(team &t, uint64_t number)
{
	const auto count = static_cast<uint64_t>(t.size);
	block_head *mine = head_of(t.block);
	if (PGAS_LIKELY(is_near(t, 0))) {
		block_head *item = head_of(t.peer[0]);
		// acq_rel: the last to arrive has acquired all arrivals, and passes them on with the release below
		if (__atomic_fetch_add(&item->arrived.number, 1, __ATOMIC_ACQ_REL) + 1 == count) {
			pgas_store_relaxed(&item->arrived.number, uint64_t{0});
			// pairs with await() in the others, and with the atomic read of far members
			pgas_store_release(&item->released.number, number);
		} else {
			await_number(&item->released, number, true);
		}
		return;
	}
	const int root = world_rank(t, 0);
	uint64_t *arrived = &own_address(t, 0, &mine->arrived)->number,
		 *released = &own_address(t, 0, &mine->released)->number;
	if (g_job.add(arrived, 1, root) + 1 == count) {
		g_job.set(arrived, 0, root);
		g_job.set(released, number, root);
		return;
	}
	unsigned polls = 0;
	while (g_job.read(released, root) < number)
		g_job.pause(polls);
}

void sync_tree(team &t, uint64_t number)
{
	block_head *mine = head_of(t.block);
	const int64_t first = int64_t{t.me} * kFan + 1;
	const int64_t end = first + kFan < t.size ? first + kFan : t.size;
	for (int64_t c = first; c < end; c++)
		await_number(&mine->up[c - first], number, on_my_host(t, static_cast<int>(c)));
	if (t.me != 0) {
		set_number(t, (t.me - 1) / kFan, &mine->up[(t.me - 1) % kFan], number);
		await_number(&mine->down, number, on_my_host(t, (t.me - 1) / kFan));
	}
	for (int64_t c = first; c < end; c++)
		set_number(t, static_cast<int>(c), &mine->down, number);
}

void sync_two_level(team &t, uint64_t number)
{
	block_head *mine = head_of(t.block);
	const int host = t.host[t.me], leader = t.leaders[host];
	if (t.me != leader) {
		set_number(t, leader, local_up_line(t, t.block, t.me), number);
		await_number(&mine->host_down, number, true);
		return;
	}
	for (int j = leader + 1; j < t.size; j++)
		if (t.host[j] == host)
			await_number(local_up_line(t, t.block, j), number, true);
	disseminate(t, number, host, t.hosts, kFan, [&](int h) { return t.leaders[h]; });
	for (int j = leader + 1; j < t.size; j++)
		if (t.host[j] == host)
			set_number(t, j, &mine->host_down, number);
}

// A member that acquires the new value sees everything written before.
void add_to_flag(team &t, int member, uint64_t *mine, uint64_t value)
{
	if (PGAS_LIKELY(is_near(t, member)))
		pgas_add_release(address_at(t, member, mine), value); // pairs with await() in sync_set()
	else
		g_job.add(mine, value, world_rank(t, member));
}

// Sets bring their own flags. The flag of a round is incremented by the sender and decremented by its owner, so all are
// zero again when every member has left, and may be reused at once.
void sync_set(team &t)
{
	uint64_t *addr = t.flags;
	for (int64_t step = 1; step < t.size; step *= 2, addr++) {
		add_to_flag(t, static_cast<int>((t.me + step) % t.size), addr, 1);
		await([=] { return pgas_load_relaxed(addr) != 0; }, t.hosts == 1);
		add_to_flag(t, t.me, addr, ~uint64_t{0}); // minus one
	}
}

} // namespace

// budget: 30 instructions of our own for two members, besides waiting
void sync(team &t)
{
	if (t.size == 1)
		return;
	if (PGAS_UNLIKELY(!t.block))
		return sync_set(t);
	const uint64_t number = ++t.round;
	t.known = t.exchanges; // every member that syncs here has completed all before
	switch (choose_sync(t)) {
	case barrier_algorithm::central:
		return sync_central(t, number);
	case barrier_algorithm::tree:
		return sync_tree(t, number);
	case barrier_algorithm::two_level:
		return sync_two_level(t, number);
	default:
		return sync_dissemination(t, number);
	}
}

void sync_push(team &t)
{
	if (t.size > 1 && t.hosts > 1 && t.hosts < t.size)
		sync_two_level(t, ++t.round); // only leaders sync with members of other hosts
	else if (t.size > 1)
		sync_dissemination(t, ++t.round);
}

} // namespace pgas::teams
