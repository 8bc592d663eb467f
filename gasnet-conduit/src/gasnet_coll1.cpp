// SPDX-License-Identifier: BSD-3-Clause
//
// The collectives of GASNet-1's draft, over the same operations.
#include "gasnet_coll.hpp"

using namespace gasnet;
namespace teams = pgas::teams;

namespace {

teams::team &core(const char *call, gasnet_team_handle_t team)
{
	check_attached(call);
	return core_of(call, team ? team : &g_world);
}

int root_of(const char *call, gasnet_team_handle_t team, gasnet_image_t root)
{
	return coll_root(call, team ? team : &g_world, root);
}

teams::bounds bounds_of(int flags)
{
	return {(flags & GASNET_COLL_IN_ALLSYNC) != 0, (flags & GASNET_COLL_OUT_ALLSYNC) != 0};
}

// Nothing to move, but somebody may count on all having come.
bool only_bounds(size_t nbytes, int flags)
{
	return !nbytes && flags & (GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC);
}

void check_all(const char *call, gasnet_team_handle_t team)
{
	if (team && team != &g_world)
		fail("%s: a barrier with names is one of all nodes: give GASNET_TEAM_ALL", call);
}

} // namespace

extern "C" void gasnet_coll_init(const gasnet_image_t *, gasnet_image_t, gasnet_coll_fn_entry_t *, size_t, int) noexcept
{
	check_attached("gasnet_coll_init");
}

extern "C" gasnet_coll_handle_t gasnet_coll_broadcast_nb(gasnet_team_handle_t team, void *dst, gasnet_image_t root,
							 void *src, size_t nbytes, int flags) noexcept
{
	teams::team &t = core("gasnet_coll_broadcast", team);
	const int from = root_of("gasnet_coll_broadcast", team, root);
	return coll_event_of(only_bounds(nbytes, flags)
				     ? teams::start_barrier(t)
				     : teams::start_broadcast(t, dst, src, nbytes, from, bounds_of(flags)));
}

extern "C" gasnet_coll_handle_t gasnet_coll_scatter_nb(gasnet_team_handle_t team, void *dst, gasnet_image_t root,
						       void *src, size_t nbytes, int flags) noexcept
{
	teams::team &t = core("gasnet_coll_scatter", team);
	const int from = root_of("gasnet_coll_scatter", team, root);
	return coll_event_of(only_bounds(nbytes, flags)
				     ? teams::start_barrier(t)
				     : teams::start_scatter(t, dst, src, nbytes, from, bounds_of(flags)));
}

extern "C" gasnet_coll_handle_t gasnet_coll_gather_nb(gasnet_team_handle_t team, gasnet_image_t root, void *dst,
						      void *src, size_t nbytes, int flags) noexcept
{
	teams::team &t = core("gasnet_coll_gather", team);
	const int to = root_of("gasnet_coll_gather", team, root);
	return coll_event_of(only_bounds(nbytes, flags)
				     ? teams::start_barrier(t)
				     : teams::start_gather(t, dst, src, nbytes, to, bounds_of(flags)));
}

extern "C" gasnet_coll_handle_t gasnet_coll_gather_all_nb(gasnet_team_handle_t team, void *dst, void *src,
							  size_t nbytes, int flags) noexcept
{
	teams::team &t = core("gasnet_coll_gather_all", team);
	return coll_event_of(only_bounds(nbytes, flags)
				     ? teams::start_barrier(t)
				     : teams::start_gather_all(t, dst, src, nbytes, bounds_of(flags)));
}

extern "C" gasnet_coll_handle_t gasnet_coll_exchange_nb(gasnet_team_handle_t team, void *dst, void *src, size_t nbytes,
							int flags) noexcept
{
	teams::team &t = core("gasnet_coll_exchange", team);
	return coll_event_of(only_bounds(nbytes, flags) ? teams::start_barrier(t)
							: teams::start_exchange(t, dst, src, nbytes, bounds_of(flags)));
}

// --- barriers --------------------------------------------------------------------------------------------------------

extern "C" void gasnet_coll_barrier_notify(gasnet_team_handle_t team, int id, int flags) noexcept
{
	check_all("gasnet_coll_barrier_notify", team);
	gasnet_barrier_notify(id, flags);
}
extern "C" int gasnet_coll_barrier_try(gasnet_team_handle_t team, int id, int flags) noexcept
{
	check_all("gasnet_coll_barrier_try", team);
	return gasnet_barrier_try(id, flags);
}
extern "C" int gasnet_coll_barrier_wait(gasnet_team_handle_t team, int id, int flags) noexcept
{
	check_all("gasnet_coll_barrier_wait", team);
	return gasnet_barrier_wait(id, flags);
}
extern "C" int gasnet_coll_barrier(gasnet_team_handle_t team, int id, int flags) noexcept
{
	check_all("gasnet_coll_barrier", team);
	return gasnet_barrier(id, flags);
}
extern "C" int gasnet_coll_barrier_result(gasnet_team_handle_t team, int *id) noexcept
{
	check_all("gasnet_coll_barrier_result", team);
	return gasnet_barrier_result(id);
}
