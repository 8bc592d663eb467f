// SPDX-License-Identifier: BSD-3-Clause
//
// Making and ending teams. The members of a new team must learn where each other's blocks are: one exchange on the
// parent, in which each PE offers a block of its own (and, for a split by color, says its color). That is all the
// agreement there is; it costs what a reduction of one word costs. Destroying is a sync, after which nobody touches
// anybody's block.
#include "shmem_coll.hpp"
#include "shmem_leave.hpp"
#include "shmem_team_split.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace shmem {
namespace {

pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
team *g_made = nullptr;
team *g_spare = nullptr; // destroyed, with their arrays

// Fewest rounds first, then fewest peers per round.
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

// members[] is set; the rest that follows from it.
void derive(team &t)
{
	const int n = t.n_pes;
	t.fan = fan_for(n);
	t.hosts = 0;
	for (int j = 0; j < n; j++) {
		int h = 0;
		while (h < t.hosts && g.hosts[t.members[t.leaders[h]]] != g.hosts[t.members[j]])
			h++;
		if (h == t.hosts)
			t.leaders[t.hosts++] = j;
		t.host[j] = h;
		t.reach[j] = kReachAsk; // most are known from other teams; the rest is asked for at the first use
		t.peer[j] = nullptr;
		if (pgas_load_relaxed(&g.reach[t.members[j]]) != kReachAsk)
			resolve(t, j);
	}
	t.start = t.members[0];
	t.stride = n > 1 ? t.members[1] - t.members[0] : 1;
	for (int j = 1; j < n; j++)
		if (t.members[j] - t.members[j - 1] != t.stride)
			t.stride = 0;
}

char *arena_address(uint32_t at)
{
	return g.internal + size_t{at} * kLine;
}

struct locked { // costs nothing where there is one thread
	const bool needed = g.thread_level == SHMEM_THREAD_MULTIPLE;
	locked()
	{
		if (needed)
			pthread_mutex_lock(&g_mutex);
	}
	~locked()
	{
		if (needed)
			pthread_mutex_unlock(&g_mutex);
	}
};

// A team with arrays for n members, on the list; an old one that is large enough, or a new one. Null: no memory.
team *team_make(int n)
{
	locked lock;
	team *t = g_spare;
	if (t && t->room >= n) {
		g_spare = t->next;
		char **const arrays = t->peer;
		const int room = t->room;
		static_cast<team_fields &>(*t) = team_fields{}; // not the padding
		t->peer = arrays;
		t->room = room;
	} else {
		t = new (std::nothrow) team{};
	}
	if (!t || !team_arrays(*t, n))
		return nullptr;
	t->next = g_made;
	if (g_made)
		g_made->prev = t;
	g_made = t;
	return t;
}

// team_release has been called
void team_unmake(team *t)
{
	locked lock;
	(t->prev ? t->prev->next : g_made) = t->next;
	if (t->next)
		t->next->prev = t->prev;
	t->next = g_spare;
	g_spare = t;
}

// The highest number in any of my lines: all that was sent to me has been awaited.
uint64_t highest_number(const team &t)
{
	uint64_t high = std::max({t.first, t.round, t.exchanges});
	if (t.received)
		for (int i = 0; i < 2 * t.n_pes; i++)
			high = std::max(high, t.received[i] + 2); // a ring ends with two signals that nobody awaits
	return high;
}

void set_numbers(team &t, uint64_t first)
{
	t.first = t.round = t.exchanges = t.known = first;
	t.below_root = -1;
}

} // namespace

bool team_arrays(team &t, int n)
{
	const auto count = static_cast<size_t>(n);
	// peer, reach, block_at, staging_at, rows; members, host, leaders
	const size_t words = 5 * count, ints = 3 * count;
	if (t.room < n) {
		void *at = realloc(t.peer, words * sizeof(uint64_t) + ints * sizeof(int));
		if (!at)
			return false;
		t.peer = static_cast<char **>(at);
		t.room = n;
	}
	t.n_pes = n;
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

void team_release(team &t)
{
	team_contexts_close(t);
	if (t.block) {
		const auto at = static_cast<uint32_t>((t.block - g.internal) / static_cast<ptrdiff_t>(kLine));
		if (t.pool_slot >= 0)
			pool_give(t.pool_slot, highest_number(t));
		else
			arena_give({at, highest_number(t)}, t.block_lines);
	}
	if (t.has_staging)
		staging_give(static_cast<uint32_t>((t.staging_at[t.my_pe] - reinterpret_cast<uintptr_t>(g.internal)) /
						   kLine));
	free(t.sent);
	t.sent = t.received = nullptr;
	t.block = nullptr;
	t.has_staging = false;
	t.magic = 0;
}

// --- splitting -------------------------------------------------------------------------------------------------------

offer make_offer(int most_members)
{
	offer o;
	if (g.env.team_agree == team_agree_kind::bitmask) {
		o.free_places = pool_free();
		o.last = pool_last();
		o.block = o.free_places != 0;
	} else {
		o.lines = block_lines(most_members);
		const slot s = arena_take(o.lines);
		o.block = s.at;
		o.last = s.last;
	}
	if (o.block && wants_staging(g_teams[0].hosts)) {
		o.staging = staging_take().at;
		if (!o.staging) {
			withdraw(o);
			o.block = 0;
		}
	}
	return o;
}

void withdraw(const offer &o)
{
	if (g.env.team_agree != team_agree_kind::bitmask)
		arena_give({o.block, o.last}, o.lines);
	staging_give(o.staging);
}

// What follows from the list of members alone; done while the offers are on their way.
team *prepare_team(const team &parent, const int *list, int n)
{
	team *t = team_make(n);
	if (!t)
		fail("team split", "out of memory"); // the other members count on us already
	for (int i = 0; i < n; i++) {
		t->members[i] = world_pe(parent, list[i]);
		if (list[i] == parent.my_pe)
			t->my_pe = i;
	}
	derive(*t);
	return t;
}

void drop_team(team *t, const offer &mine)
{
	withdraw(mine);
	team_unmake(t);
}

// A failure is one for all members alike: they look at the same offers.
int finish_team(team *t, const team &parent, const int *list, const offer &mine, size_t which,
		const shmem_team_config_t &config, shmem_team_t *out)
{
	const int n = t->n_pes;
	uint64_t first = 0, places = UINT64_MAX;
	bool all = true;
	for (int i = 0; i < n; i++) {
		const offer_wire o = offered(parent, list[i], which);
		all = all && o.block;
		first = std::max(first, o.last);
		t->block_at[i] = reinterpret_cast<uintptr_t>(arena_address(o.block));
		t->staging_at[i] = reinterpret_cast<uintptr_t>(arena_address(o.staging));
	}
	const bool pooled = g.env.team_agree == team_agree_kind::bitmask;
	for (int j = 0; pooled && j < parent.n_pes; j++)
		places &= offered(parent, j, 0).free_places;
	if (!all || !places)
		return drop_team(t, mine), 1;
	if (pooled) {
		t->pool_slot = __builtin_ctzll(places);
		const slot s = pool_take(t->pool_slot);
		for (int i = 0; i < n; i++)
			t->block_at[i] = reinterpret_cast<uintptr_t>(arena_address(s.at));
	}
	for (int i = 0; i < n; i++)
		if (t->reach[i] != kReachAsk && t->reach[i] != kReachNone)
			t->peer[i] = reinterpret_cast<char *>(t->block_at[i] + t->reach[i]);
	t->block = reinterpret_cast<char *>(t->block_at[t->my_pe]);
	t->block_lines = mine.lines;
	t->has_staging = mine.staging != 0;
	set_numbers(*t, first);
	t->config = config;
	t->magic = kTeamLive;
	*out = to_handle(t);
	return 0;
}

// --- world and shared ------------------------------------------------------------------------------------------------

namespace {

// Same places on every PE, because every PE takes them in the same order; so nothing has to be told.
void predefine(team &t, const int *list, int n)
{
	t = team{};
	if (!team_arrays(t, n))
		fail("shmem_init", "out of memory");
	static_assert(kFan == 4 && kRounds == 10);
	if (g.n_pes > 1 << 20)
		fail("shmem_init", "%d PEs are more than teams are made for", g.n_pes);
	t.block_lines = block_lines(g.n_pes);
	const slot s = arena_take(t.block_lines), staging = staging_take();
	if (!s.at || !staging.at)
		fail("shmem_init", "too many PEs: no room for the memory of teams");
	t.has_staging = true;
	for (int i = 0; i < n; i++) {
		t.members[i] = list[i];
		t.block_at[i] = reinterpret_cast<uintptr_t>(arena_address(s.at));
		t.staging_at[i] = reinterpret_cast<uintptr_t>(arena_address(staging.at));
		if (list[i] == g.my_pe)
			t.my_pe = i;
	}
	t.block = arena_address(s.at); // before derive: members' blocks are found there
	derive(t);
	t.magic = kTeamLive;
}

} // namespace

void teams_setup()
{
	auto *list = static_cast<int *>(malloc(static_cast<size_t>(g.n_pes) * sizeof(int)));
	if (!list)
		fail("shmem_init", "out of memory");
	arena_setup();
	for (int pe = 0; pe < g.n_pes; pe++)
		list[pe] = pe;
	predefine(g_teams[0], list, g.n_pes);
	int local = 0;
	for (int pe = 0; pe < g.n_pes; pe++)
		if (g.hosts[pe] == g.hosts[g.my_pe])
			list[local++] = pe;
	predefine(g_teams[1], list, local);
	free(list);
	if (g.env.team_agree == team_agree_kind::bitmask)
		pool_setup(block_lines(g.n_pes));
}

team *teams_made()
{
	return g_made;
}

void sets_close(); // shmem_coll_set.cpp

void teams_close()
{
	while (team *t = g_made) {
		team_release(*t);
		team_unmake(t);
	}
	while (team *t = g_spare) {
		g_spare = t->next;
		free(t->peer);
		delete t;
	}
	sets_close();
	for (team &t : g_teams) {
		team_release(t);
		free(t.peer);
		t.peer = nullptr;
		t.room = 0;
	}
	arena_close();
}

} // namespace shmem

using namespace shmem;

// --- C names ---------------------------------------------------------------------------------------------------------

SHMEM_NAME(void, shmem_team_destroy, (shmem_team_t team))
{
	check_running("shmem_team_destroy");
	if (team == SHMEM_TEAM_INVALID)
		return;
	if (team == SHMEM_TEAM_WORLD || team == SHMEM_TEAM_SHARED)
		fail("shmem_team_destroy", "a predefined team cannot be destroyed");
	struct team *t = live_team(team);
	if (!t)
		fail("shmem_team_destroy", "not a team, or destroyed before");
	sync_push(*t); // all members are through with all collectives, and nobody looks at my block any more
	team_release(*t);
	team_unmake(t);
}
SHMEM_NAME(int, shmem_team_my_pe, (shmem_team_t team))
{
	check_running("shmem_team_my_pe");
	const struct team *t = live_team(team);
	return t ? t->my_pe : -1;
}
SHMEM_NAME(int, shmem_team_n_pes, (shmem_team_t team))
{
	check_running("shmem_team_n_pes");
	const struct team *t = live_team(team);
	return t ? t->n_pes : -1;
}
SHMEM_NAME(int, shmem_team_get_config, (shmem_team_t team, long config_mask, shmem_team_config_t *config))
{
	check_running("shmem_team_get_config");
	const struct team *t = live_team(team);
	if (!t || (config_mask & ~SHMEM_TEAM_NUM_CONTEXTS) || (config_mask && !config))
		return -1;
	if (config_mask & SHMEM_TEAM_NUM_CONTEXTS)
		config->num_contexts = t->config.num_contexts;
	return 0;
}
SHMEM_NAME(int, shmem_team_translate_pe, (shmem_team_t src_team, int src_pe, shmem_team_t dest_team))
{
	check_running("shmem_team_translate_pe");
	const struct team *from = live_team(src_team), *to = live_team(dest_team);
	if (!from || !to || src_pe < 0 || src_pe >= from->n_pes)
		return -1;
	return member_of(*to, world_pe(*from, src_pe));
}
SHMEM_NAME(void *, shmem_team_ptr, (shmem_team_t team, const void *dest, int pe))
{
	check_running("shmem_team_ptr");
	const struct team *t = live_team(team);
	if (!t || pe < 0 || pe >= t->n_pes)
		return nullptr;
	return pshmem_ptr(dest, world_pe(*t, pe));
}
