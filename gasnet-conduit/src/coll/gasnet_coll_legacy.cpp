// SPDX-License-Identifier: BSD-3-Clause
//
// The collectives of GASNet-1's draft: if nodes are the images, by the same operations as GASNet-EX's; if threads are,
// by meetings of images (gasnet_images.hpp).
#include "gasnet_images.hpp"

#include <climits>

#include <teams/teams_split.hpp>

using namespace gasnet;
namespace teams = pgas::teams;

namespace {

using call_t = image_call;

gex_TM_t team_or_all(gasnet_team_handle_t team)
{
	return team ? team : &g_world->face;
}

// Every thread that is an image takes part.
bool by_images(gasnet_team_handle_t team, int flags)
{
	return images_several() && is_world(team_or_all(team)) && !(flags & GASNET_COLL_NO_IMAGES);
}

call_t call_of(call_t::kind_t kind, gasnet_image_t root, size_t nbytes, int flags)
{
	call_t c{};
	c.kind = kind;
	c.root = root;
	c.bytes = nbytes;
	c.within = {(flags & GASNET_COLL_IN_ALLSYNC) != 0, (flags & GASNET_COLL_OUT_ALLSYNC) != 0};
	return c;
}

// The caller's address in a list that has one for every image, or for those of its node.
void *own_of(const char *call, gasnet_team_handle_t team, void *const list[], int flags)
{
	check_attached(call);
	const bool images = by_images(team, flags);
	if (flags & GASNET_COLL_SINGLE)
		return list[images ? image_number(call) : team_or_all(team)->rank];
	return list[images ? image_here(call) : 0];
}

teams::operation *start(teams::team &t, const call_t &c, int root, void *dst, const void *src)
{
	if (!c.bytes || (c.kind == call_t::reduce && !c.elements)) // but somebody may rely on all having arrived
		return c.within.all_in || c.within.all_out ? teams::start_barrier(t) : nullptr;
	switch (c.kind) {
	case call_t::broadcast:
		return teams::start_broadcast(t, dst, src, c.bytes, root, c.within);
	case call_t::scatter:
		return teams::start_scatter(t, dst, src, c.bytes, root, c.within);
	case call_t::gather:
		return teams::start_gather(t, dst, src, c.bytes, root, c.within);
	case call_t::gather_all:
		return teams::start_gather_all(t, dst, src, c.bytes, c.within);
	case call_t::exchange:
		return teams::start_exchange(t, dst, src, c.bytes, c.within);
	case call_t::reduce:
		return teams::start_reduce(t, c.fold, dst, src, c.elements, root, c.within);
	}
	return nullptr;
}

gasnet_coll_handle_t begin(const char *call, gasnet_team_handle_t team, const call_t &c, int flags, void *dst,
			   const void *src)
{
	check_attached(call);
	if (by_images(team, flags))
		return image_start(call, c, dst, src);
	teams::team &t = core_of(call, team_or_all(team));
	const int root = coll_root(call, team_or_all(team), c.root);
	return coll_event_of(start(t, c, root, dst, src));
}

gasnet_coll_handle_t reduce(const char *call, gasnet_team_handle_t team, gasnet_image_t root, void *dst,
			    const void *src, size_t src_blksz, size_t src_offset, size_t elem_size, size_t elem_count,
			    gasnet_coll_fn_handle_t func, int func_arg, int flags)
{
	if (src_blksz || src_offset)
		fail("%s: src_blksz %zu and src_offset %zu must be 0: elements are reduced one by one, each over all "
		     "images",
		     call, src_blksz, src_offset);
	call_t c = call_of(call_t::reduce, root, elem_size, flags);
	c.elements = elem_count;
	c.fold = image_fold(call, elem_size, func, func_arg);
	return begin(call, team, c, flags, dst, src);
}

} // namespace

// --- one address -----------------------------------------------------------------------------------------------------

extern "C" gasnet_coll_handle_t gasnet_coll_broadcast_nb(gasnet_team_handle_t team, void *dst, gasnet_image_t root,
							 void *src, size_t nbytes, int flags) noexcept
{
	return begin("gasnet_coll_broadcast", team, call_of(call_t::broadcast, root, nbytes, flags), flags, dst, src);
}
extern "C" gasnet_coll_handle_t gasnet_coll_scatter_nb(gasnet_team_handle_t team, void *dst, gasnet_image_t root,
						       void *src, size_t nbytes, int flags) noexcept
{
	return begin("gasnet_coll_scatter", team, call_of(call_t::scatter, root, nbytes, flags), flags, dst, src);
}
extern "C" gasnet_coll_handle_t gasnet_coll_gather_nb(gasnet_team_handle_t team, gasnet_image_t root, void *dst,
						      void *src, size_t nbytes, int flags) noexcept
{
	return begin("gasnet_coll_gather", team, call_of(call_t::gather, root, nbytes, flags), flags, dst, src);
}
extern "C" gasnet_coll_handle_t gasnet_coll_gather_all_nb(gasnet_team_handle_t team, void *dst, void *src,
							  size_t nbytes, int flags) noexcept
{
	return begin("gasnet_coll_gather_all", team, call_of(call_t::gather_all, 0, nbytes, flags), flags, dst, src);
}
extern "C" gasnet_coll_handle_t gasnet_coll_exchange_nb(gasnet_team_handle_t team, void *dst, void *src, size_t nbytes,
							int flags) noexcept
{
	return begin("gasnet_coll_exchange", team, call_of(call_t::exchange, 0, nbytes, flags), flags, dst, src);
}
extern "C" gasnet_coll_handle_t gasnet_coll_reduce_nb(gasnet_team_handle_t team, gasnet_image_t root, void *dst,
						      void *src, size_t src_blksz, size_t src_offset, size_t elem_size,
						      size_t elem_count, gasnet_coll_fn_handle_t func, int func_arg,
						      int flags) noexcept
{
	return reduce("gasnet_coll_reduce", team, root, dst, src, src_blksz, src_offset, elem_size, elem_count, func,
		      func_arg, flags);
}

// --- lists of addresses ----------------------------------------------------------------------------------------------

extern "C" gasnet_coll_handle_t gasnet_coll_broadcastM_nb(gasnet_team_handle_t team, void *const dstlist[],
							  gasnet_image_t root, void *src, size_t nbytes,
							  int flags) noexcept
{
	void *dst = own_of("gasnet_coll_broadcastM", team, dstlist, flags);
	return begin("gasnet_coll_broadcastM", team, call_of(call_t::broadcast, root, nbytes, flags), flags, dst, src);
}
extern "C" gasnet_coll_handle_t gasnet_coll_scatterM_nb(gasnet_team_handle_t team, void *const dstlist[],
							gasnet_image_t root, void *src, size_t nbytes,
							int flags) noexcept
{
	void *dst = own_of("gasnet_coll_scatterM", team, dstlist, flags);
	return begin("gasnet_coll_scatterM", team, call_of(call_t::scatter, root, nbytes, flags), flags, dst, src);
}
extern "C" gasnet_coll_handle_t gasnet_coll_gatherM_nb(gasnet_team_handle_t team, gasnet_image_t root, void *dst,
						       void *const srclist[], size_t nbytes, int flags) noexcept
{
	const void *src = own_of("gasnet_coll_gatherM", team, srclist, flags);
	return begin("gasnet_coll_gatherM", team, call_of(call_t::gather, root, nbytes, flags), flags, dst, src);
}
extern "C" gasnet_coll_handle_t gasnet_coll_gather_allM_nb(gasnet_team_handle_t team, void *const dstlist[],
							   void *const srclist[], size_t nbytes, int flags) noexcept
{
	constexpr char call[] = "gasnet_coll_gather_allM";
	void *dst = own_of(call, team, dstlist, flags);
	const void *src = own_of(call, team, srclist, flags);
	return begin(call, team, call_of(call_t::gather_all, 0, nbytes, flags), flags, dst, src);
}
extern "C" gasnet_coll_handle_t gasnet_coll_exchangeM_nb(gasnet_team_handle_t team, void *const dstlist[],
							 void *const srclist[], size_t nbytes, int flags) noexcept
{
	constexpr char call[] = "gasnet_coll_exchangeM";
	void *dst = own_of(call, team, dstlist, flags);
	const void *src = own_of(call, team, srclist, flags);
	return begin(call, team, call_of(call_t::exchange, 0, nbytes, flags), flags, dst, src);
}
extern "C" gasnet_coll_handle_t gasnet_coll_reduceM_nb(gasnet_team_handle_t team, gasnet_image_t root, void *dst,
						       void *const srclist[], size_t src_blksz, size_t src_offset,
						       size_t elem_size, size_t elem_count,
						       gasnet_coll_fn_handle_t func, int func_arg, int flags) noexcept
{
	const void *src = own_of("gasnet_coll_reduceM", team, srclist, flags);
	return reduce("gasnet_coll_reduceM", team, root, dst, src, src_blksz, src_offset, elem_size, elem_count, func,
		      func_arg, flags);
}

// --- teams -----------------------------------------------------------------------------------------------------------

extern "C" gasnet_team_handle_t gasnet_coll_team_split(gasnet_team_handle_t parent, gasnet_node_t color,
						       gasnet_node_t relrank, void *) noexcept
{
	if (color > INT_MAX || relrank > INT_MAX)
		fail("gasnet_coll_team_split: color %u or rank %u is too large", color, relrank);
	gex_TM_t made = GEX_TM_INVALID;
	gex_TM_Split(&made, team_or_all(parent), static_cast<int>(color), static_cast<int>(relrank), nullptr, 0,
		     GEX_FLAG_TM_NO_SCRATCH);
	return made;
}
extern "C" gasnet_node_t gasnet_coll_team_size(gasnet_team_handle_t team) noexcept
{
	return team_or_all(team)->size;
}
extern "C" gasnet_node_t gasnet_coll_team_rank2node(gasnet_team_handle_t team, int rank) noexcept
{
	return team_jobrank("gasnet_coll_team_rank2node", team_or_all(team), static_cast<gex_Rank_t>(rank));
}
extern "C" gasnet_node_t gasnet_coll_team_node2rank(gasnet_team_handle_t team, gasnet_node_t node) noexcept
{
	return gex_TM_TranslateJobrankToRank(team_or_all(team), node);
}
