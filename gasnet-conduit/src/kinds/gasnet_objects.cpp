// SPDX-License-Identifier: BSD-3-Clause
//
// GASNet-EX's client, endpoint and segments: creating and querying them.
#include "gasnet_objects.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace gasnet {

gasneti_client g_client;
gasneti_endpoint g_endpoint;
gasneti_segment g_segment;
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

// [A-Z][A-Z0-9_]+ in either case, since programs use both, and short enough to print
bool name_ok(const char *name)
{
	const auto letter = [](char c) { return isalpha(static_cast<unsigned char>(c)) != 0; };
	const size_t len = name ? strlen(name) : 0;
	if (len < 2 || len >= sizeof g_client.name || !letter(name[0]))
		return false;
	return std::all_of(name + 1, name + len,
			   [&](char c) { return letter(c) || isdigit(static_cast<unsigned char>(c)) || c == '_'; });
}

int client_init(const char *name, gex_Flags_t flags, const char *config)
{
	if (!name_ok(name)) {
		fprintf(stderr, "gex_Client_Init: \"%s\" is not a client's name: letters, digits and _\n",
			name ? name : "(null)");
		return GASNET_ERR_BAD_ARG;
	}
	if (flags & ~(GEX_FLAG_USES_GASNET1 | GEX_FLAG_DEFER_THREADS))
		return GASNET_ERR_BAD_ARG;
	if (const int err = job_start(config))
		return err;
	strcpy(g_client.name, name);
	g_client.flags = flags;
	return job_open_messages();
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
	teams_setup();
	strcpy(g_client.name, "GASNET1");
	g_client.flags = GEX_FLAG_USES_GASNET1;
	g_endpoint.capabilities = GEX_EP_CAPABILITY_ALL;
}

void objects_segment_attached()
{
	const gasnet_seginfo_t &mine = g.segments[gasneti_front.mynode];
	if (!mine.size)
		return;
	g_segment.address = mine.addr;
	g_segment.bytes = mine.size;
	g_endpoint.segment = &g_segment;
}

} // namespace gasnet

using namespace gasnet;

// --- clients ---------------------------------------------------------------------------------------------------------

extern "C" int gasneti_client_init_mode(gex_Client_t *client, gex_EP_t *ep, gex_TM_t *tm, const char *name,
					gex_Flags_t flags, const char *config) noexcept
{
	if (!client || !ep || !tm)
		return GASNET_ERR_BAD_ARG;
	if (const int err = client_init(name, flags, config))
		return err;
	*client = &g_client;
	*ep = &g_endpoint;
	*tm = &g_world->face;
	return GASNET_OK;
}

extern "C" void gasnet_QueryGexObjects(gex_Client_t *client, gex_EP_t *endpoint, gex_TM_t *tm,
				       gex_Segment_t *segment) noexcept
{
	if (client)
		*client = &g_client;
	if (endpoint)
		*endpoint = &g_endpoint;
	if (tm)
		*tm = g_world ? &g_world->face : GEX_TM_INVALID;
	if (segment)
		*segment = g_endpoint.segment;
}

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

// No node may stop polling before all have arrived: the first barrier handles what they send until then.
extern "C" int gex_Segment_Attach(gex_Segment_t *segment_p, gex_TM_t tm, uintptr_t size) noexcept
{
	if (!segment_p || !is_world(tm) || !size || size % GASNET_PAGESIZE || size > memory_for_attach())
		return GASNET_ERR_BAD_ARG;
	if (g_endpoint.segment)
		return GASNET_ERR_RESOURCE;
	gasnet_barrier(0, GASNET_BARRIERFLAG_UNNAMED);
	if (const int err = job_attach_segment(size))
		return err;
	objects_segment_attached();
	*segment_p = &g_segment;
	gasnet_barrier(0, GASNET_BARRIERFLAG_UNNAMED);
	return GASNET_OK;
}

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

extern "C" int gex_Segment_QueryBound(gex_TM_t tm, gex_Rank_t rank, void **owneraddr_p, void **localaddr_p,
				      uintptr_t *size_p) noexcept
{
	if (rank >= tm->size)
		return pair_query_bound("gex_Segment_QueryBound", tm, rank, owneraddr_p, localaddr_p, size_p);
	const gasnet_node_t node = tm->jobranks[rank];
	const gasnet_seginfo_t &s = g.segments[node];
	if (!s.size)
		return 1;
	if (owneraddr_p)
		*owneraddr_p = s.addr;
	if (localaddr_p) {
		const uint64_t window = is_outside(node) ? 0 : g_windows[node];
		const bool here = node == gasneti_front.mynode;
		*localaddr_p = here ? s.addr : window ? static_cast<char *>(s.addr) + window : nullptr;
	}
	if (size_p)
		*size_p = s.size;
	return 0;
}

// Every node knows all first segments: nothing is sent.
extern "C" gex_Event_t gex_EP_QueryBoundSegmentNB(gex_TM_t tm, gex_Rank_t rank, void **owneraddr_p, void **localaddr_p,
						  uintptr_t *size_p, gex_Flags_t flags) noexcept
{
	if (flags & GEX_FLAG_IMMEDIATE && rank >= tm->size && pair_query_waits("gex_EP_QueryBoundSegmentNB", tm, rank))
		return GEX_EVENT_NO_OP;
	if (gex_Segment_QueryBound(tm, rank, owneraddr_p, localaddr_p, size_p) != 0 && size_p)
		*size_p = 0;
	return GEX_EVENT_INVALID;
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
