// SPDX-License-Identifier: BSD-3-Clause
//
// The last meeting of all PEs, at shmem_finalize or at the end of a program that does not call it: no PE removes its
// memory while another one may need it. It has its own lines before the blocks of teams, so that a leaving PE is never
// mistaken for one that has reached a barrier. A PE that waits here checks now and then whether others wait for it
// somewhere else.
#include "shmem_leave.hpp"
#include "core/shmem_fail.hpp"
#include "core/shmem_wait.hpp"
#include "path/shmem_rma.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include <pgas/pgas_counter.h>

namespace shmem {
namespace {

using teams::kFan, teams::kRounds, teams::line;

constexpr uint64_t kMet = 1; // the heap is new at every init, so all lines start at 0
constexpr uint64_t kLookNs = 20'000'000;
constexpr uint64_t kPatienceNs = 10'000'000'000;
constexpr unsigned kPollsPerLook = 64;
constexpr int kLinesPerMeeting = kRounds * (kFan - 1);
static_assert(1 + 2 * kLinesPerMeeting + 1 <= kLeaveLines); // PEs of a host, hosts, and a final word

line *hop_line(int index)
{
	return reinterpret_cast<line *>(g_shmem.internal) + 1 + index; // the first line is unused: place 0 means none
}

void notify_member(team &t, int member, line *mine)
{
	if (teams::is_near(t, member)) {
		// pairs with the acquire in await_or_complain()
		pgas_store_release(&teams::address_at(t, member, mine)->number, kMet);
		return;
	}
	signal_op(&g_own, &mine->number, kMet, SHMEM_SIGNAL_SET, teams::world_rank(t, member), "shmem_finalize");
}

struct leaving {
	const char *how;
	bool implied; // the program has left main
	uint64_t since = pgas_now_ns();
	bool said = false;
};

// Others may wait for a value that will never come. That cannot be told from work that takes long, so this is only a
// hint.
void print_awaited(leaving &me)
{
	if (me.said || !me.implied || pgas_now_ns() - me.since < kPatienceNs)
		return;
	me.said = true;
	fprintf(stderr,
		"PE %d: %s: left main without shmem_finalize, and waits for the other PEs to come to their ends\n",
		g_shmem.my_pe, me.how);
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
		if (teams::is_awaited())
			fail(me.how, "this PE leaves while another one waits for it in a barrier, sync or other "
				     "collective call");
		print_awaited(me);
	}
}

// A dissemination: on return all PEs are known to have arrived.
template <class Who>
void meet(team &t, leaving &me, int index, int64_t mine, int64_t count, Who &&who)
{
	for (int64_t distance = 1; distance < count; distance *= t.fan, index += kFan - 1) {
		for (int64_t j = 1; j < t.fan && j * distance < count; j++)
			notify_member(t, who((mine + j * distance) % count), hop_line(index + static_cast<int>(j) - 1));
		for (int64_t j = 1; j < t.fan && j * distance < count; j++)
			await_or_complain(hop_line(index + static_cast<int>(j) - 1), me);
	}
}

} // namespace

void leave_together(const char *how, bool implied)
{
	team &t = g_teams[0];
	leaving me{how, implied};
	if (t.hosts == 1 || t.hosts == t.size)
		return meet(t, me, 0, t.me, t.size, [](int64_t i) { return static_cast<int>(i); });
	// only leaders meet PEs of other hosts: a connection may cost more than everything else that a PE did
	std::vector<int> here;
	for (int j = 0; j < t.size; j++)
		if (t.host[j] == t.host[t.me])
			here.push_back(j);
	const auto mine = std::find(here.begin(), here.end(), t.me) - here.begin();
	meet(t, me, 0, mine, static_cast<int64_t>(here.size()),
	     [&](int64_t i) { return here[static_cast<size_t>(i)]; });
	line *const all_came = hop_line(2 * kLinesPerMeeting);
	if (t.me != here[0])
		return await_or_complain(all_came, me);
	meet(t, me, kLinesPerMeeting, t.host[t.me], t.hosts, [&](int64_t h) { return t.leaders[h]; });
	for (size_t i = 1; i < here.size(); i++)
		notify_member(t, here[i], all_came);
}

} // namespace shmem
