// SPDX-License-Identifier: BSD-3-Clause
//
// The life cycle of a team: its arrays and what follows from the list of members; predefined teams, and sets; ending
// teams, which takes a sync, after which no member accesses another member's block.
#include "teams_channel.hpp"
#include "teams_life.hpp"
#include "teams_memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

#include <teams/teams_coll.hpp>
#include <teams/teams_split.hpp>

namespace pgas::teams {

constinit job g_job;

namespace {

pthread_mutex_t g_lists = PTHREAD_MUTEX_INITIALIZER; // g_job.made, g_job.spare

// Minimizes the number of rounds first, then the peers per round.
int fan_for(int n)
{
	int rounds = 1;
	for (int64_t reach = kFan; reach < n; reach *= kFan)
		rounds++;
	for (int fan = 2; fan < kFan; fan++) {
		int64_t reach = 1;
		for (int i = 0; i < rounds; i++)
			reach *= fan;
		if (reach >= n)
			return fan;
	}
	return kFan;
}

// All arrays of a team of n, in one allocation. False: out of memory.
bool team_arrays(team &t, int n)
{
	const auto count = static_cast<size_t>(n);
	// peer, reach, block_at, staging_at, rows; members, host, leaders
	const size_t words = 5 * count, ints = 3 * count;
	if (t.room < n) {
		void *addr = realloc(t.peer, words * sizeof(uint64_t) + ints * sizeof(int));
		if (!addr)
			return false;
		t.peer = static_cast<char **>(addr);
		t.room = n;
	}
	t.size = n;
	t.reach = reinterpret_cast<uintptr_t *>(t.peer + count);
	t.block_at = reinterpret_cast<uint64_t *>(t.reach + count);
	t.staging_at = t.block_at + count;
	t.rows = reinterpret_cast<const void **>(t.staging_at + count);
	t.members = reinterpret_cast<int *>(t.rows + count);
	t.host = t.members + count;
	t.leaders = t.host + count;
	for (size_t j = 0; j < count; j++) {
		t.reach[j] = kReachAsk;
		t.peer[j] = nullptr;
	}
	return true;
}

// The highest number in any of my lines: everything sent to me has been awaited.
uint64_t highest_number(const team &t)
{
	uint64_t high = std::max({t.first, t.round, t.exchanges});
	if (t.received)
		for (int i = 0; i < 2 * t.size; i++)
			high = std::max(high, t.received[i]);
	return std::max(high, channels_highest(t));
}

void free_arrays(team &t)
{
	free(t.peer);
	t.peer = nullptr;
	t.room = 0;
}

// Numbers the hosts of a team, by identity. Small teams are searched linearly; large ones have a hash table of numbers
// + 1, unless there is no memory for it.
class host_numbers {
public:
	explicit host_numbers(team &t) : t_(t)
	{
		constexpr int few = 64;
		size_t places = 2 * few;
		while (places < 2 * static_cast<size_t>(t.size))
			places *= 2;
		if (t.size > few)
			places_ = static_cast<int *>(calloc(places, sizeof(int)));
		mask_ = places - 1;
	}
	~host_numbers() { free(places_); }
	host_numbers(const host_numbers &) = delete;
	host_numbers &operator=(const host_numbers &) = delete;

	// The number of member j's host; a new host gets the next number, and j as its leader.
	int of(int j)
	{
		const uint64_t host = host_of(j);
		if (j && host == host_of(j - 1)) // neighbours are mostly on one host
			return t_.host[j - 1];
		int *place = nullptr;
		int h = 0;
		if (places_) {
			size_t pos = hash_bytes(&host, sizeof host) & mask_; // never full: twice as many as members
			while (places_[pos] && host_of(t_.leaders[places_[pos] - 1]) != host)
				pos = (pos + 1) & mask_;
			place = &places_[pos];
			h = *place ? *place - 1 : t_.hosts;
		} else {
			while (h < t_.hosts && host_of(t_.leaders[h]) != host)
				h++;
		}
		if (h == t_.hosts)
			t_.leaders[t_.hosts++] = j;
		if (place)
			*place = h + 1;
		return h;
	}

private:
	uint64_t host_of(int j) const { return g_job.hosts[t_.members[j]]; }
	team &t_;
	int *places_ = nullptr;
	size_t mask_ = 0;
};

} // namespace

void fail(const char *routine, const char *text)
{
	g_job.fail(routine, text);
	abort();
}

void set_numbers(team &t, uint64_t first)
{
	t.first = t.round = t.exchanges = t.known = first;
	t.below_root = -1;
}

void derive(team &t)
{
	const int n = t.size;
	t.fan = fan_for(n);
	t.hosts = 0;
	host_numbers numbers(t);
	for (int j = 0; j < n; j++) {
		t.host[j] = numbers.of(j);
		t.reach[j] = kReachAsk; // most are known from other teams; the rest are resolved at the first use
		t.peer[j] = nullptr;
		if (pgas_load_relaxed(&g_job.reach_of_rank[t.members[j]]) != kReachAsk)
			resolve(t, j);
	}
	t.start = t.members[0];
	t.stride = n > 1 ? t.members[1] - t.members[0] : 1;
	for (int j = 1; j < n; j++)
		if (t.members[j] - t.members[j - 1] != t.stride)
			t.stride = 0;
}

// Reuses a spare team that is large enough, or makes a new one.
team *team_make(int count)
{
	const locked lock(g_lists);
	team *t = g_job.spare;
	if (t && t->room >= count) {
		g_job.spare = t->next;
		char **const arrays = t->peer;
		const int room = t->room;
		*t = team{}; // the client's part of the struct stays
		t->peer = arrays;
		t->room = room;
	} else {
		t = g_job.team_new();
	}
	if (!t || !team_arrays(*t, count))
		return nullptr;
	t->next = g_job.made;
	if (g_job.made)
		g_job.made->prev = t;
	g_job.made = t;
	return t;
}

void team_unmake(team *t)
{
	const locked lock(g_lists);
	(t->prev ? t->prev->next : g_job.made) = t->next;
	if (t->next)
		t->next->prev = t->prev;
	t->next = g_job.spare;
	g_job.spare = t;
}

void team_release(team &t)
{
	g_job.team_ended(t);
	if (t.block) {
		const auto pos = static_cast<uint32_t>((t.block - g_job.memory) / static_cast<ptrdiff_t>(kLine));
		if (t.pool_place >= 0)
			pool_give(t.pool_place, highest_number(t));
		else
			arena_give({pos, highest_number(t)}, t.block_lines);
	}
	if (t.staging_lines)
		staging_give(
			static_cast<uint32_t>((t.staging_at[t.me] - reinterpret_cast<uintptr_t>(g_job.memory)) / kLine),
			t.staging_lines);
	channels_close(t);
	free(t.sent);
	t.sent = t.received = nullptr;
	free(t.plan);
	t.plan = nullptr;
	t.block = nullptr;
	t.staging_lines = 0;
	t.magic = 0;
}

void destroy(team *t)
{
	if (t->channel)
		settle(); // my last messages, which no member waits for
	sync_push(*t);    // all members have completed all collectives, and no member accesses my block any more
	team_release(*t);
	team_unmake(t);
}

// --- sets ------------------------------------------------------------------------------------------------------------

bool make_set(team &t, int start, int stride, int count)
{
	if (!team_arrays(t, count))
		return false;
	t.start = start;
	t.stride = stride;
	t.me = (g_job.me - start) / stride;
	for (int j = 0; j < count; j++) {
		t.members[j] = start + j * stride;
		// it only matters whether there is more than one
		t.hosts += g_job.hosts[t.members[j]] != g_job.hosts[start];
	}
	return true;
}

void release_set(team &t)
{
	free_arrays(t);
}

// --- start and end ---------------------------------------------------------------------------------------------------

outcome predefine(team &t, const int *ranks, int count)
{
	static_assert(kFan == 4 && kRounds == 10 && kMostRanks == 1 << 2 * kRounds);
	t = team{};
	if (!team_arrays(t, count))
		return outcome::out_of_memory;
	t.block_lines = block_lines(g_job.size); // the same on every process, whatever the team
	t.staging_lines = staging_lines(g_job.size, true);
	t.pieces_at = kStagingBytes;
	const arena_range s = arena_take(t.block_lines), staging = staging_take(t.staging_lines);
	if (!s.line || !staging.line)
		return outcome::no_room;
	for (int i = 0; i < count; i++) {
		t.members[i] = ranks[i];
		t.block_at[i] = reinterpret_cast<uintptr_t>(arena_address(s.line));
		t.staging_at[i] = reinterpret_cast<uintptr_t>(arena_address(staging.line));
		if (ranks[i] == g_job.me)
			t.me = i;
	}
	t.block = arena_address(s.line); // before derive(), which computes members' blocks from it
	derive(t);
	if (g_job.nonblocking == nonblocking_kind::any_memory)
		channels_open(t);
	t.magic = kTeamLive;
	t.next = g_job.predefined;
	g_job.predefined = &t;
	return outcome::done;
}

outcome open(const client &c, team &world)
{
	static_cast<client &>(g_job) = c;
	const auto size = static_cast<size_t>(c.size);
	auto *ranks = static_cast<int *>(malloc(size * sizeof(int)));
	g_job.reach_of_rank = new (std::nothrow) uintptr_t[size];
	if (!ranks || !g_job.reach_of_rank || !arena_setup()) {
		free(ranks);
		return outcome::out_of_memory;
	}
	for (size_t rank = 0; rank < size; rank++) {
		ranks[rank] = static_cast<int>(rank);
		g_job.reach_of_rank[rank] = kReachAsk;
	}
	const bool one_host = std::all_of(c.hosts, c.hosts + size, [&](uint64_t host) { return host == *c.hosts; });
	const bool any_memory = c.nonblocking == nonblocking_kind::any_memory;
	g_job.lanes = c.nonblocking == nonblocking_kind::none ? 0 : any_memory && !one_host ? 2 : 1;
	g_job.has_pieces = any_memory || !one_host;
	g_job.has_landings = c.nonblocking == nonblocking_kind::symmetric;
	const outcome got = predefine(world, ranks, c.size);
	free(ranks);
	g_job.world_hosts = world.hosts;
	if (c.agree == agreement::bitmask)
		pool_setup(block_lines(c.size));
	return got;
}

void close()
{
	while (team *t = g_job.made) {
		team_release(*t);
		team_unmake(t);
	}
	while (team *t = g_job.spare) {
		g_job.spare = t->next;
		free(t->peer);
		g_job.team_free(t);
	}
	while (team *t = g_job.predefined) {
		g_job.predefined = t->next;
		team_release(*t);
		free_arrays(*t);
	}
	arena_close();
	delete[] g_job.reach_of_rank;
	g_job.reach_of_rank = nullptr;
}

namespace {

bool has_later_number(const line *lines, size_t count, uint64_t mine)
{
	for (size_t i = 0; i < count; i++)
		if (pgas_load_relaxed(&lines[i].number) > mine)
			return true;
	return false;
}

// Has a member notified this block in a sync that I have not entered? It needs me, too.
bool has_sync_begun(const team &t, char *block)
{
	const block_head *h = head_of(block);
	return has_later_number(h->hop, sizeof h->hop / sizeof *h->hop, t.round) ||
	       has_later_number(h->up, kFan, t.round) ||
	       has_later_number(local_up_line(t, block, 0), static_cast<size_t>(t.size), t.round);
}

// Numbers only grow: one beyond mine belongs to a collective that I have not entered.
bool is_awaited_in(team &t)
{
	if (!t.block || t.size == 1)
		return false;
	const auto n = static_cast<size_t>(t.size);
	if (has_sync_begun(t, t.block) || has_later_number(in_line(t, t.block, 0, 0), kRing * n, t.exchanges))
		return true;
	// on several hosts only my leader is notified by other hosts
	const int leader = t.hosts > 1 ? t.leaders[t.host[t.me]] : t.me;
	if (leader != t.me && is_near(t, leader) && t.peer[leader] && has_sync_begun(t, t.peer[leader]))
		return true;
	for (const note &one : head_of(t.block)->notes)
		if (pgas_load_relaxed(&one.number) > t.exchanges)
			return true;
	// the central counter returns to 0 before a sync that I took part in ends
	return is_near(t, 0) && t.peer[0] && pgas_load_relaxed(&head_of(t.peer[0])->arrived.number) != 0;
}

} // namespace

bool is_awaited()
{
	for (team *list : {g_job.predefined, g_job.made})
		for (team *t = list; t; t = t->next)
			if (is_awaited_in(*t))
				return true;
	return false;
}

} // namespace pgas::teams
