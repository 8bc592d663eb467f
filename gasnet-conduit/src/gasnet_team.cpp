// SPDX-License-Identifier: BSD-3-Clause
//
// GASNet-EX's teams: questions about them, and pairs.
#include "gasnet_objects.hpp"

using namespace gasnet;

extern "C" gex_Rank_t gex_TM_TranslateJobrankToRank(gex_TM_t tm, gex_Rank_t jobrank) noexcept
{
	if (tm == &g_world)
		return jobrank < tm->size ? jobrank : GEX_RANK_INVALID;
	for (gex_Rank_t i = 0; i < tm->size; i++)
		if (tm->jobranks[i] == jobrank)
			return i;
	return GEX_RANK_INVALID;
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

// There is one endpoint in each process, so there is one pair.
extern "C" gex_TM_t gex_TM_Pair(gex_EP_t local_ep, gex_EP_Index_t remote_ep_index) noexcept
{
	if (local_ep != &g_endpoint || remote_ep_index)
		fail("gex_TM_Pair: endpoint %u of another process does not exist", remote_ep_index);
	return &g_pair;
}
