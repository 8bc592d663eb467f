// SPDX-License-Identifier: BSD-3-Clause
//
// This library as a client of teams/: what teams and collectives learn about the job, how they reach other nodes, and
// the team of all.
#include "gasnet_coll.hpp"
#include "rma/gasnet_rma.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <numeric>
#include <utility>

#include <teams/teams_split.hpp>

namespace gasnet {
namespace {

namespace teams = pgas::teams;

teams::team g_world_core;
std::vector<uint64_t> g_hosts;

// A team that the client created, and the object that gex_TM_t points to.
struct made_team : teams::team {
	gasnet::team *shown = nullptr;
};

void pause(unsigned &polls)
{
	pgas_backoff wait{polls};
	gasneti_wait_turn(&wait);
	polls = wait.polls;
}

void *mapped(const void *mine, int rank)
{
	const uint64_t window = g_windows[rank];
	return window ? reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(mine) + window) : nullptr;
}

// The handle covers all transfers: settle() waits for it.
void put(void *dest, const void *source, size_t bytes, int rank)
{
	gasneti_put_far(static_cast<gasnet_node_t>(rank), dest, source, bytes, GASNETI_REUSABLE, 0);
}
void get(void *dest, const void *source, size_t bytes, int rank)
{
	gasneti_get_far(dest, static_cast<gasnet_node_t>(rank), source, bytes, GASNETI_DONE, 0);
}
void set(uint64_t *dest, uint64_t value, int rank)
{
	far_update(static_cast<gasnet_node_t>(rank), dest, FI_ATOMIC_WRITE, value);
}
uint64_t add(uint64_t *dest, uint64_t value, int rank)
{
	return far_fetch(static_cast<gasnet_node_t>(rank), dest, FI_SUM, value);
}
uint64_t read(const uint64_t *source, int rank)
{
	return far_fetch(static_cast<gasnet_node_t>(rank), const_cast<uint64_t *>(source), FI_ATOMIC_READ, 0);
}

teams::team *team_new()
{
	return new (std::nothrow) made_team;
}
void team_ended(teams::team &t)
{
	if (&t == &g_world_core)
		return;
	gasnet::team *const shown = std::exchange(static_cast<made_team &>(t).shown, nullptr);
	if (shown)
		windows_gone(shown->face.windows);
	free(shown);
}
void team_free(teams::team *t)
{
	delete static_cast<made_team *>(t);
}

void fail_in(const char *routine, const char *text)
{
	fail("%s: %s", routine, text);
}

teams::client self_client()
{
	teams::client c;
	c.me = static_cast<int>(gasneti_front.mynode);
	c.size = static_cast<int>(gasneti_front.nodes);
	c.hosts = g_hosts.data();
	c.crowded = wait_crowded();
	c.threads = kThreads;
	c.nonblocking = teams::nonblocking_kind::any_memory;
	c.memory = reinterpret_cast<char *>(g_gasnet.base + kTeamsAt);
	c.memory_bytes = kStagingAt - kTeamsAt;
	c.eager_polls = c.crowded ? 1 : 64;
	c.pause = c.pause_near = pause;
	c.mapped = mapped;
	c.put = put;
	c.settle = far_settle;
	c.get = get;
	c.set = set;
	c.add = add;
	c.read = read;
	c.team_new = team_new;
	c.team_ended = team_ended;
	c.team_free = team_free;
	c.fail = fail_in;
	return c;
}

// Fills ranks[0..n) with 0 to n - 1, in the order of jobranks.
gex_Rank_t *sort_ranks(gex_Rank_t *ranks, const gasnet_node_t *jobranks, size_t n)
{
	std::iota(ranks, ranks + n, gex_Rank_t{0});
	std::sort(ranks, ranks + n, [&](gex_Rank_t a, gex_Rank_t b) { return jobranks[a] < jobranks[b]; });
	return ranks;
}

} // namespace

void teams_setup()
{
	g_hosts.assign(g_gasnet.host_of.begin(), g_gasnet.host_of.end());
	if (teams::open(self_client(), g_world_core) != teams::outcome::done)
		fail("gasnet_init: no room for the memory of teams");
	g_world->core = &g_world_core;
}

gex_TM_t team_face(teams::team *core)
{
	const auto n = static_cast<size_t>(core->size);
	// windows, then jobranks, then ranks in the order of jobranks, unless the jobranks are in order
	gasnet::team *t = team_alloc(n, 2 * n * sizeof(gasnet_node_t));
	auto *jobranks = reinterpret_cast<gasnet_node_t *>(t->face.windows + n);
	for (size_t i = 0; i < n; i++) {
		jobranks[i] = static_cast<gasnet_node_t>(core->members[i]);
		t->face.windows[i] = gasneti_windows[jobranks[i]];
	}
	t->face.jobranks = jobranks;
	t->face.rank = static_cast<gex_Rank_t>(core->me);
	t->face.size = static_cast<gex_Rank_t>(n);
	t->core = core;
	if (!core->stride)
		t->by_jobrank = sort_ranks(jobranks + n, jobranks, n);
	windows_made(t->face.windows, jobranks, n);
	static_cast<made_team *>(core)->shown = t;
	return &t->face;
}

} // namespace gasnet
