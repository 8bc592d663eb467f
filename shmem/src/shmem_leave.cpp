// SPDX-License-Identifier: BSD-3-Clause
//
// The last meeting of all PEs, at shmem_finalize or at the end of a program that does not call it: nobody takes its
// memory away while another PE may need it. It has lines of its own in front of the blocks of teams, so that a PE that
// leaves never passes for one that has come to a barrier; and whoever waits here looks now and then whether others wait
// for it somewhere else.
#include "shmem_amo.hpp"
#include "shmem_leave.hpp"
#include "shmem_team.hpp"

#include <cstdio>

#include <pgas/pgas_counter.h>

namespace shmem {
namespace {

constexpr uint64_t kMet = 1; // the heap is new at every init, so all lines begin at 0
constexpr uint64_t kLookNs = 20'000'000;
constexpr uint64_t kPatienceNs = 10'000'000'000;
constexpr unsigned kPollsPerLook = 64;
static_assert(1 + kRounds * (kFan - 1) <= kLeaveLines);

line *hop_line(int index)
{
	return reinterpret_cast<line *>(g.internal) + 1 + index; // the first is nobody's: place 0 means none
}

void tell(team &t, int member, line *mine)
{
	if (is_near(t, member)) {
		// pairs with the acquire in await_or_complain()
		pgas_store_release(&there(t, member, mine)->number, kMet);
		return;
	}
	pshmem_fence();
	amo<PGAS_OP_WRITE>(&g_default, &mine->number, kMet, world_pe(t, member));
}

bool beyond(const line *lines, size_t count, uint64_t mine)
{
	for (size_t i = 0; i < count; i++)
		if (pgas_load_relaxed(&lines[i].number) > mine)
			return true;
	return false;
}

// Has a member told me of a collective that I have not entered? Numbers only grow, and I shall enter none: it waits in
// vain.
bool awaited_in(team &t)
{
	if (!t.block || t.n_pes == 1)
		return false;
	const block_head *h = head_of(t.block);
	const auto n = static_cast<size_t>(t.n_pes);
	if (beyond(h->hop, sizeof h->hop / sizeof *h->hop, t.round) || beyond(h->up, kFan, t.round) ||
	    beyond(local_up_line(t, t.block, 0), n, t.round) ||
	    beyond(in_line(t, t.block, 0, 0), kRing * n, t.exchanges))
		return true;
	for (const note &one : h->notes)
		if (pgas_load_relaxed(&one.number) > t.exchanges)
			return true;
	// the central counter is back at 0 before a sync that I took part in ends
	return is_near(t, 0) && t.peer[0] && pgas_load_relaxed(&head_of(t.peer[0])->arrived.number) != 0;
}

bool awaited()
{
	for (team &t : g_teams)
		if (awaited_in(t))
			return true;
	for (team *t = teams_made(); t; t = t->next)
		if (awaited_in(*t))
			return true;
	return false;
}

struct leaving {
	const char *how;
	bool implied; // main has been left
	uint64_t since = pgas_now_ns();
	bool said = false;
};

// Others may wait for a value that will never come. Nobody can tell that from work that takes long; so it is no more
// than a hint.
void say_who_left(leaving &me)
{
	if (me.said || !me.implied || pgas_now_ns() - me.since < kPatienceNs)
		return;
	me.said = true;
	fprintf(stderr,
		"PE %d: %s: left main without shmem_finalize, and waits for the other PEs to come to their ends\n",
		g.my_pe, me.how);
}

void await_or_complain(const line *l, leaving &me)
{
	unsigned polls = 0, looks = 0;
	uint64_t next = pgas_now_ns() + kLookNs;
	while (pgas_load_acquire(&l->number) < kMet) {
		wait_pause(polls);
		if (++looks % kPollsPerLook || pgas_now_ns() < next)
			continue;
		next = pgas_now_ns() + kLookNs;
		if (awaited())
			fail(me.how, "this PE leaves while another one waits for it in a barrier, sync or other "
				     "collective call");
		say_who_left(me);
	}
}

} // namespace

void leave_together(const char *how, bool implied)
{
	team &t = g_teams[0];
	leaving me{how, implied};
	int index = 0;
	for (int64_t distance = 1; distance < t.n_pes; distance *= t.fan, index += kFan - 1) {
		for (int64_t j = 1; j < t.fan && j * distance < t.n_pes; j++)
			tell(t, static_cast<int>((t.my_pe + j * distance) % t.n_pes),
			     hop_line(index + static_cast<int>(j) - 1));
		for (int64_t j = 1; j < t.fan && j * distance < t.n_pes; j++)
			await_or_complain(hop_line(index + static_cast<int>(j) - 1), me);
	}
}

} // namespace shmem
