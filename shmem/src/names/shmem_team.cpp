// SPDX-License-Identifier: BSD-3-Clause
//
// Teams as programs see them. Their creation and internals are in teams/; this file provides what those need from SHMEM
// (memory, reachability, waiting, the user's choices), the world and the shared team, and the C names except those that
// split.
#include "shmem_team.hpp"
#include "core/shmem_export.hpp"
#include "core/shmem_fail.hpp"
#include "core/shmem_wait.hpp"
#include "path/shmem_address.hpp"
#include "path/shmem_amo.hpp"
#include "path/shmem_debug.hpp"

#include <cstdlib>
#include <new>

#include <teams/teams_nb.hpp>
#include <teams/teams_split.hpp>

namespace shmem {
namespace {

// --- functions for teams/: they access other PEs' memory like the program's own calls --------------------------------

void far_put(void *dest, const void *source, size_t bytes, int pe)
{
	put(&g_own, dest, source, bytes, pe);
}

void far_settle()
{
	if (has_pending(g_own))
		g_shmem.net.ops->drain(g_own.ep);
}

void far_get(void *dest, const void *source, size_t bytes, int pe)
{
	get(&g_own, dest, source, bytes, pe);
}

void far_set(uint64_t *dest, uint64_t value, int pe)
{
	signal_op(&g_own, dest, value, SHMEM_SIGNAL_SET, pe, kAmo);
}

uint64_t far_add(uint64_t *dest, uint64_t value, int pe)
{
	pgas_fence_stores();
	if (has_pending(g_own))
		g_shmem.net.ops->fence(g_own.ep);
	return amo_fetch<PGAS_OP_SUM>(&g_own, dest, value, pe);
}

uint64_t far_read(const uint64_t *source, int pe)
{
	return amo_fetch<PGAS_OP_READ>(&g_own, const_cast<uint64_t *>(source), uint64_t{0}, pe);
}

teams::team *team_new()
{
	return new (std::nothrow) team{};
}

void team_ended(teams::team &t)
{
	team_contexts_close(static_cast<team &>(t));
}

void team_free(teams::team *t)
{
	if (!g_shmem.env.debug) // which keeps it, to notice that it is used
		delete static_cast<team *>(t);
}

void fail_routine(const char *routine, const char *text)
{
	fail(routine, "%s", text);
}

void check_dest(const char *routine, const void *dest, size_t bytes)
{
	check_symmetric(routine, "dest", dest, bytes);
}

// --- settings of teams/ ----------------------------------------------------------------------------------------------

// Maps a choice in the environment to its enumerator in teams.
template <class Word>
struct meant {
	using type = Word; // no mapping
};
template <>
struct meant<barrier_algorithm_kind> {
	using type = teams::barrier_algorithm;
};
template <>
struct meant<reduce_algorithm_kind> {
	using type = teams::reduce_algorithm;
};
template <>
struct meant<bcast_algorithm_kind> {
	using type = teams::bcast_algorithm;
};
template <>
struct meant<fcollect_algorithm_kind> {
	using type = teams::fcollect_algorithm;
};
template <>
struct meant<alltoall_algorithm_kind> {
	using type = teams::alltoall_algorithm;
};
template <>
struct meant<team_agree_kind> {
	using type = teams::agreement;
};
template <class Word>
constexpr auto map_choice(Word word)
{
	return static_cast<typename meant<Word>::type>(word);
}

// They have the same names in the same order.
#define ENV_CHOICE(member, NAME, def, text, list)                                                                      \
	namespace same_##member                                                                                        \
	{                                                                                                              \
		using word = member##_kind;                                                                            \
		list                                                                                                   \
	}
#define C(enumerator, text) static_assert(map_choice(word::enumerator) == meant<word>::type::enumerator);
#include "core/shmem_env.def"

teams::client self_client()
{
	teams::client c;
	c.me = g_shmem.my_pe;
	c.size = g_shmem.n_pes;
	c.hosts = g_shmem.hosts;
	c.crowded = g_shmem.oversubscribed;
	c.threads = g_shmem.thread_level == SHMEM_THREAD_MULTIPLE;
	c.nonblocking = teams::nonblocking_kind::symmetric;
	c.forced = {map_choice(g_shmem.env.barrier_algorithm), map_choice(g_shmem.env.reduce_algorithm),
		    map_choice(g_shmem.env.bcast_algorithm), map_choice(g_shmem.env.fcollect_algorithm),
		    map_choice(g_shmem.env.alltoall_algorithm)};
	c.agree = map_choice(g_shmem.env.team_agree);
	c.stream = g_shmem.stream;
	c.memory = g_shmem.internal;
	c.memory_bytes = kInternalBytes - kToolBytes;
	c.client_lines = kLeaveLines;
	c.eager_polls = g_shmem.oversubscribed ? 1 : 64;
	c.pause = wait_pause;
	c.pause_near = wait_pause_near;
	c.mapped = peer_pointer;
	c.put = far_put;
	c.settle = far_settle;
	c.get = far_get;
	c.set = far_set;
	c.add = far_add;
	c.read = far_read;
	c.team_new = team_new;
	c.team_ended = team_ended;
	c.team_free = team_free;
	c.fail = fail_routine;
	c.check_dest = check_dest;
	return c;
}

void require_outcome(teams::outcome got)
{
	if (got == teams::outcome::out_of_memory)
		fail("shmem_init", "out of memory");
	if (got == teams::outcome::no_room)
		fail("shmem_init", "too many PEs: no room for the memory of teams");
}

} // namespace

// --- world and shared ------------------------------------------------------------------------------------------------

void teams_setup()
{
	if (g_shmem.n_pes > teams::kMostRanks)
		fail("shmem_init", "%d PEs are more than teams are made for", g_shmem.n_pes);
	require_outcome(teams::open(self_client(), g_teams[0]));
	auto *list = static_cast<int *>(malloc(static_cast<size_t>(g_shmem.n_pes) * sizeof(int)));
	if (!list)
		fail("shmem_init", "out of memory");
	int local = 0;
	for (int pe = 0; pe < g_shmem.n_pes; pe++)
		if (g_shmem.hosts[pe] == g_shmem.hosts[g_shmem.my_pe])
			list[local++] = pe;
	require_outcome(teams::predefine(g_teams[1], list, local));
	free(list);
}

team *team_to_use(const char *routine, shmem_team_t handle)
{
	team *t = live_team(handle);
	if (PGAS_UNLIKELY(g_shmem.env.debug)) {
		debug_call(routine);
		if (!t && handle != SHMEM_TEAM_INVALID)
			fail(routine, "the team was destroyed");
	}
	return t;
}

void teams_close()
{
	sets_close();
	teams::discard_operations(); // requests that the program has not ended
	teams::close();
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
	if (PGAS_UNLIKELY(teams::operations_in_flight()) && teams::has_operations(*t))
		fail("shmem_team_destroy", "a request of this team is in progress; end it by shmemx_req_wait first");
	teams::destroy(t);
}
SHMEM_NAME(int, shmem_team_sync, (shmem_team_t team))
{
	check_running("shmem_team_sync");
	struct team *t = team_to_use("shmem_team_sync", team);
	if (!t)
		return -1;
	teams::sync(*t);
	return 0;
}
SHMEM_NAME(int, shmem_team_my_pe, (shmem_team_t team))
{
	check_running("shmem_team_my_pe");
	const struct team *t = live_team(team);
	return t ? t->me : -1;
}
SHMEM_NAME(int, shmem_team_n_pes, (shmem_team_t team))
{
	check_running("shmem_team_n_pes");
	const struct team *t = live_team(team);
	return t ? t->size : -1;
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
	const struct team *src = live_team(src_team), *dst = live_team(dest_team);
	if (!src || !dst || src_pe < 0 || src_pe >= src->size)
		return -1;
	return teams::member_of(*dst, teams::world_rank(*src, src_pe));
}
SHMEM_NAME(void *, shmem_team_ptr, (shmem_team_t team, const void *dest, int pe))
{
	check_running("shmem_team_ptr");
	const struct team *t = live_team(team);
	if (!t || pe < 0 || pe >= t->size)
		return nullptr;
	return pshmem_ptr(dest, teams::world_rank(*t, pe));
}
