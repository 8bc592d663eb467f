// SPDX-License-Identifier: BSD-3-Clause
//
// GASNet-EX's teams: creating, ending and querying them, and pairs. Teams keep what they need in memory of this
// library: scratch space from a client is kept for it, and not used.
#include "gasnet_coll.hpp"

#include <algorithm>

#include <teams/teams_split.hpp>

using namespace gasnet;
namespace teams = pgas::teams;

namespace gasnet {

namespace {

// The reply to queries: programs want to pass on a size that is not 0.
constexpr size_t kScratchBytes = 64;
constexpr gex_Flags_t kQueries = GEX_FLAG_TM_SCRATCH_SIZE_MIN | GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED;

// Creates one team for each color; with a color below 0 a member gets no team.
teams::team *split(const char *call, gex_TM_t parent, int color, int key)
{
	teams::team &source = core_of(call, parent);
	check_attached(call);
	teams::team *made = nullptr;
	if (teams::split_color(source, color, key, &made) != 0)
		fail("%s: no room for another team: there are too many that were not destroyed", call);
	return made;
}

void keep_scratch(gex_TM_t tm, void *address, size_t bytes, gex_Flags_t flags)
{
	team *t = team_of(tm);
	t->flags = flags;
	if (flags & GEX_FLAG_TM_NO_SCRATCH)
		return;
	t->scratch.gex_addr = address;
	t->scratch.gex_len = bytes;
}

// The jobrank of an argument of gex_TM_Create.
gex_Rank_t location_rank(gex_TM_t parent, const gex_EP_Location_t &location, gex_Flags_t flags)
{
	if (location.gex_ep_index)
		fail("gex_TM_Create: endpoint %u of a process: teams are of first endpoints", location.gex_ep_index);
	if (!(flags & GEX_FLAG_RANK_IS_JOBRANK))
		return team_jobrank("gex_TM_Create", parent, location.gex_rank);
	if (location.gex_rank >= gasneti_front.nodes)
		fail("gex_TM_Create: jobrank %u of %u", location.gex_rank, gasneti_front.nodes);
	return location.gex_rank;
}

void *scratch_of(const gex_Addr_t *addresses, size_t rank, gex_Flags_t flags)
{
	if (flags & GEX_FLAG_TM_NO_SCRATCH || !addresses)
		return nullptr;
	gex_Addr_t place = addresses[flags & GEX_FLAG_TM_GLOBAL_SCRATCH ? rank : 0];
	if (!(flags & GEX_FLAG_SCRATCH_SEG_OFFSET))
		return place;
	if (!g_endpoint.segment)
		fail("gex_TM_Create: GEX_FLAG_SCRATCH_SEG_OFFSET, and the first endpoint has no segment");
	return static_cast<char *>(g_endpoint.segment->address) + reinterpret_cast<uintptr_t>(place);
}

} // namespace
} // namespace gasnet

// --- making and ending -----------------------------------------------------------------------------------------------

extern "C" size_t gex_TM_Split(gex_TM_t *new_tm_p, gex_TM_t parent_tm, int color, int key, void *scratch_addr,
			       size_t scratch_size, gex_Flags_t flags) noexcept
{
	if (flags & kQueries) {
		core_of("gex_TM_Split", parent_tm);
		return new_tm_p ? kScratchBytes : 0;
	}
	if (new_tm_p && color < 0)
		fail("gex_TM_Split: color %d is below 0", color);
	teams::team *made = split("gex_TM_Split", parent_tm, new_tm_p ? color : teams::kColorNone, key);
	if (!new_tm_p)
		return 0;
	*new_tm_p = team_face(made);
	keep_scratch(*new_tm_p, scratch_addr, scratch_size, flags);
	return 0;
}

// The color is the first member's rank in the job: two lists are the same or have no member in common.
extern "C" size_t gex_TM_Create(gex_TM_t *new_tms, size_t num_new_tms, gex_TM_t parent_tm, gex_EP_Location_t *args,
				size_t numargs, gex_Addr_t *scratch_addrs, size_t scratch_size,
				gex_Flags_t flags) noexcept
{
	if (flags & kQueries) {
		core_of("gex_TM_Create", parent_tm);
		return numargs ? kScratchBytes : 0;
	}
	size_t mine = numargs;
	for (size_t i = 0; i < numargs && mine == numargs; i++)
		if (location_rank(parent_tm, args[i], flags) == gasneti_front.mynode)
			mine = i;
	const bool input = mine < numargs;
	if (numargs && num_new_tms != input)
		fail("gex_TM_Create: num_new_tms is %zu, and %d endpoint of this process is in the list", num_new_tms,
		     static_cast<int>(input));
	const int color = input ? static_cast<int>(location_rank(parent_tm, args[0], flags)) : teams::kColorNone;
	teams::team *made = split("gex_TM_Create", parent_tm, color, static_cast<int>(mine));
	if (!input)
		return 0;
	bool same = static_cast<size_t>(made->size) == numargs;
	for (size_t i = 0; same && i < numargs; i++)
		same = static_cast<gex_Rank_t>(made->members[i]) == location_rank(parent_tm, args[i], flags);
	if (!same)
		fail("gex_TM_Create: members of one team gave different lists");
	*new_tms = team_face(made);
	keep_scratch(*new_tms, scratch_of(scratch_addrs, mine, flags), scratch_size, flags);
	return 0;
}

extern "C" int gex_TM_Destroy(gex_TM_t tm, gex_Memvec_t *scratch_p, gex_Flags_t) noexcept
{
	teams::team &core = core_of("gex_TM_Destroy", tm);
	if (is_world(tm))
		fail("gex_TM_Destroy: the team of all cannot be destroyed");
	const gex_Memvec_t scratch = team_of(tm)->scratch;
	const bool given = !(team_of(tm)->flags & GEX_FLAG_TM_NO_SCRATCH);
	teams::destroy(&core);
	if (!given || !scratch_p)
		return 0;
	*scratch_p = scratch;
	return 1;
}

// --- questions -------------------------------------------------------------------------------------------------------

extern "C" gex_Rank_t gex_TM_TranslateJobrankToRank(gex_TM_t tm, gex_Rank_t jobrank) noexcept
{
	const team *t = team_of(tm);
	if (!t->core)
		return jobrank < tm->size ? jobrank : GEX_RANK_INVALID;
	if (!t->by_jobrank) {
		const int rank = jobrank < gasneti_front.nodes ? teams::member_of(*t->core, static_cast<int>(jobrank))
							       : -1;
		return rank < 0 ? GEX_RANK_INVALID : static_cast<gex_Rank_t>(rank);
	}
	const gex_Rank_t *const first = t->by_jobrank, *const end = first + tm->size;
	const gex_Rank_t *item = std::lower_bound(
		first, end, jobrank, [&](gex_Rank_t rank, gex_Rank_t wanted) { return tm->jobranks[rank] < wanted; });
	return item != end && tm->jobranks[*item] == jobrank ? *item : GEX_RANK_INVALID;
}

extern "C" gex_EP_Location_t gex_TM_TranslateRankToEP(gex_TM_t tm, gex_Rank_t rank, gex_Flags_t) noexcept
{
	return {team_jobrank("gex_TM_TranslateRankToEP", tm, rank), 0};
}

extern "C" gex_Client_t gex_TM_QueryClient(gex_TM_t) noexcept
{
	return &g_client;
}
extern "C" gex_EP_t gex_TM_QueryEP(gex_TM_t) noexcept
{
	return &g_endpoint;
}
extern "C" gex_Flags_t gex_TM_QueryFlags(gex_TM_t tm) noexcept
{
	return team_of(tm)->flags;
}
extern "C" void gex_TM_SetCData(gex_TM_t tm, const void *val) noexcept
{
	team_of(tm)->cdata = const_cast<void *>(val);
}
extern "C" void *gex_TM_QueryCData(gex_TM_t tm) noexcept
{
	return team_of(tm)->cdata;
}
