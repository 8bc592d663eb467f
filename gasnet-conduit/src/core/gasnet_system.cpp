// SPDX-License-Identifier: BSD-3-Clause
//
// Queries about the job: which nodes share memory and hosts with this node, and whether errors are printed.
#include "gasnet_objects.hpp"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <type_traits>

#include <gasnet_tools.h>

namespace gasnet {
namespace {

using rank_info = std::remove_const_t<gex_RankInfo_t>;

int g_verbose = 1;

// Nodes that have the same number as this one, in order; computed once.
struct group {
	std::vector<rank_info> members;
	gex_Rank_t mine = 0, group_index = 0; // this node's place among them; its group's among the groups
	gex_Rank_t groups = 0;

	explicit group(const std::vector<gasnet_node_t> &number)
	{
		const gasnet_node_t me = gasneti_front.mynode;
		group_index = number[me];
		for (gasnet_node_t i = 0; i < number.size(); i++) {
			if (number[i] + 1 > groups)
				groups = number[i] + 1;
			if (number[i] != group_index)
				continue;
			if (i == me)
				mine = static_cast<gex_Rank_t>(members.size());
			members.push_back({i});
		}
	}
	void fill_info(gex_RankInfo_t **info_p, gex_Rank_t *count_p, gex_Rank_t *index_p) const
	{
		if (info_p)
			*info_p = members.data();
		if (count_p)
			*count_p = static_cast<gex_Rank_t>(members.size());
		if (index_p)
			*index_p = mine;
	}
};

const group &neighbourhood()
{
	static const group it(g_gasnet.host_of);
	return it;
}

const group &host()
{
	static const group it(g_gasnet.machine_of);
	return it;
}

} // namespace

int refuse(int code, const char *format, ...)
{
	if (!g_verbose)
		return code;
	char text[400];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	fprintf(stderr, "node %u: %s\n", gasneti_front.mynode, text);
	return code;
}

} // namespace gasnet

using namespace gasnet;

extern "C" int gex_System_GetVerboseErrors(void) noexcept
{
	return g_verbose;
}
extern "C" void gex_System_SetVerboseErrors(int enable) noexcept
{
	g_verbose = enable != 0;
}

extern "C" void gex_System_QueryNbrhdInfo(gex_RankInfo_t **info_p, gex_Rank_t *info_count_p,
					  gex_Rank_t *my_info_index_p) noexcept
{
	neighbourhood().fill_info(info_p, info_count_p, my_info_index_p);
}

extern "C" void gex_System_QueryHostInfo(gex_RankInfo_t **info_p, gex_Rank_t *info_count_p,
					 gex_Rank_t *my_info_index_p) noexcept
{
	host().fill_info(info_p, info_count_p, my_info_index_p);
}

extern "C" void gex_System_QueryMyPosition(gex_Rank_t *nbrhd_set_size_p, gex_Rank_t *nbrhd_set_rank_p,
					   gex_Rank_t *host_set_size_p, gex_Rank_t *host_set_rank_p) noexcept
{
	if (nbrhd_set_size_p)
		*nbrhd_set_size_p = neighbourhood().groups;
	if (nbrhd_set_rank_p)
		*nbrhd_set_rank_p = neighbourhood().group_index;
	if (host_set_size_p)
		*host_set_size_p = host().groups;
	if (host_set_rank_p)
		*host_set_rank_p = host().group_index;
}

// There are no such threads: handlers run in the client's threads, and the link's own thread runs none and starts by
// itself.
extern "C" int gex_System_QueryProgressThreads(gex_Client_t client, unsigned int *count_p,
					       const gex_ProgressThreadInfo_t **info_p, gex_Flags_t flags) noexcept
{
	if (client != &g_client || !count_p || !info_p || flags)
		return GASNET_ERR_BAD_ARG;
	if (!(g_client.flags & GEX_FLAG_DEFER_THREADS))
		return GASNET_ERR_RESOURCE;
	*count_p = 0;
	*info_p = nullptr;
	return GASNET_OK;
}

extern "C" const char *gasnett_gethostname(void)
{
	static char name[256];
	if (!name[0])
		gethostname(name, sizeof name - 1);
	return name;
}
