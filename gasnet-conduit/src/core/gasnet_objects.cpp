// SPDX-License-Identifier: BSD-3-Clause
//
// GASNet-EX's client, first endpoint and its segment, the teams of all nodes, and queries of these objects.
#include "gasnet_objects.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

namespace gasnet {

gasneti_client g_client;
gasneti_endpoint g_endpoint;
gasneti_endpoint *g_endpoints[GASNET_MAXEPS] = {&g_endpoint};
gasneti_segment g_segment;
const pair_calls *g_pair_calls;
const copy_calls *g_copy_calls;
team *g_world, *g_pair;

namespace {

gasnet_node_t g_jobranks[GASNET_MAXNODES]; // of the team of all: each node's own rank; only used pages are touched

team *new_world(bool pair)
{
	team *t = team_of_all_alloc();
	t->face.jobranks = g_jobranks;
	t->face.rank = gasneti_front.mynode;
	t->face.size = gasneti_front.nodes;
	memcpy(t->face.windows, gasneti_windows, sizeof(uint64_t) * t->face.size);
	t->pair = pair;
	windows_made(t->face.windows, g_jobranks, t->face.size);
	return t;
}

} // namespace

team *team_alloc(size_t windows, size_t behind)
{
	auto *t = static_cast<team *>(calloc(1, sizeof(team) + windows * sizeof(uint64_t) + behind));
	if (!t)
		fail("gex_TM_t: out of memory for a team of %zu", windows);
	return t;
}

team *team_of_all_alloc()
{
	constexpr size_t kBytes = sizeof(team) + GASNET_MAXNODES * sizeof(uint64_t);
	void *addr = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (addr == MAP_FAILED)
		fail("gex_TM_t: no addresses for the windows of %d nodes", GASNET_MAXNODES);
	return static_cast<team *>(addr);
}

void objects_setup()
{
	for (gasnet_node_t i = 0; i < gasneti_front.nodes; i++)
		g_jobranks[i] = i;
	g_world = new_world(false);
	g_pair = new_world(true);
	strcpy(g_client.name, "GASNET1");
	g_client.flags = GEX_FLAG_USES_GASNET1;
	g_endpoint.capabilities = GEX_EP_CAPABILITY_ALL;
}

void objects_segment_attached()
{
	const gasnet_seginfo_t &mine = g_gasnet.segments[gasneti_front.mynode];
	if (!mine.size)
		return;
	g_segment.address = mine.addr;
	g_segment.bytes = mine.size;
	g_endpoint.segment = &g_segment;
}

const team *pair_of(const char *call, gex_TM_t tm, gex_Rank_t rank)
{
	const team *t = team_of(tm);
	if (!t->pair || tm->size)
		fail("%s: rank %u of a team of %u", call, rank, tm->size);
	if (rank >= gasneti_front.nodes)
		fail("%s: rank %u of %u, through a pair of endpoints", call, rank, gasneti_front.nodes);
	return t;
}

void no_member(const char *call, gex_TM_t tm, gex_Rank_t rank)
{
	const team *p = pair_of(call, tm, rank);
	fail("%s: endpoint %u of this node, or %u of node %u, is not the first; others have no atomics, collectives "
	     "and teams",
	     call, p->local->index, p->remote, rank);
}

const team *able_pair_of(const char *call, gex_TM_t tm, gex_Rank_t rank, gex_EP_Capabilities_t what)
{
	const team *p = pair_of(call, tm, rank);
	if (!(p->local->capabilities & what))
		fail("%s: endpoint %u of this node was made without GEX_EP_CAPABILITY_%s", call, p->local->index,
		     what == GEX_EP_CAPABILITY_RMA  ? "RMA"
		     : what == GEX_EP_CAPABILITY_AM ? "AM"
						    : "VIS");
	return p;
}

} // namespace gasnet

using namespace gasnet;

// --- clients ---------------------------------------------------------------------------------------------------------

extern "C" gex_Flags_t gex_Client_QueryFlags(gex_Client_t client) noexcept
{
	return client->flags;
}
extern "C" const char *gex_Client_QueryName(gex_Client_t client) noexcept
{
	return client->name;
}
extern "C" void gex_Client_SetCData(gex_Client_t client, const void *val) noexcept
{
	client->cdata = const_cast<void *>(val);
}
extern "C" void *gex_Client_QueryCData(gex_Client_t client) noexcept
{
	return client->cdata;
}

// --- segments --------------------------------------------------------------------------------------------------------

extern "C" gex_Client_t gex_Segment_QueryClient(gex_Segment_t) noexcept
{
	return &g_client;
}
extern "C" gex_Flags_t gex_Segment_QueryFlags(gex_Segment_t seg) noexcept
{
	return seg->flags;
}
extern "C" void *gex_Segment_QueryAddr(gex_Segment_t seg) noexcept
{
	return seg->address;
}
extern "C" uintptr_t gex_Segment_QuerySize(gex_Segment_t seg) noexcept
{
	return seg->bytes;
}
extern "C" void gex_Segment_SetCData(gex_Segment_t seg, const void *val) noexcept
{
	seg->cdata = const_cast<void *>(val);
}
extern "C" void *gex_Segment_QueryCData(gex_Segment_t seg) noexcept
{
	return seg->cdata;
}

// --- endpoints -------------------------------------------------------------------------------------------------------

extern "C" gex_Client_t gex_EP_QueryClient(gex_EP_t) noexcept
{
	return &g_client;
}
extern "C" gex_Flags_t gex_EP_QueryFlags(gex_EP_t ep) noexcept
{
	return ep->flags;
}
extern "C" gex_Segment_t gex_EP_QuerySegment(gex_EP_t ep) noexcept
{
	return ep->segment;
}
extern "C" gex_EP_Index_t gex_EP_QueryIndex(gex_EP_t ep) noexcept
{
	return ep->index;
}
extern "C" void gex_EP_SetCData(gex_EP_t ep, const void *val) noexcept
{
	ep->cdata = const_cast<void *>(val);
}
extern "C" void *gex_EP_QueryCData(gex_EP_t ep) noexcept
{
	return ep->cdata;
}
