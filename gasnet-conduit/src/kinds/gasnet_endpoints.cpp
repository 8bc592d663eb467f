// SPDX-License-Identifier: BSD-3-Clause
//
// Additional endpoints (all but the first): creating them; binding segments, publishing and querying those; and pairs.
#include "core/gasnet_progress.hpp"
#include "gasnet_kinds.hpp"
#include "rma/gasnet_rma.hpp"

#include <cstring>
#include <unordered_map>

namespace gasnet {

namespace {

uint32_t g_endpoint_count = 1;
std::unordered_map<uint64_t, peer_end> g_ends; // by node and index; under kinds_mutex

published *own_place(gex_EP_Index_t index)
{
	return reinterpret_cast<published *>(g_gasnet.base + kKindsAt) + index;
}

team *new_pair(gasneti_endpoint *local, gex_EP_Index_t remote)
{
	team *t = team_of_all_alloc();
	t->face.jobranks = g_world->face.jobranks;
	t->pair = true;
	t->local = local;
	t->remote = remote;
	return t;
}

void publish(const gasneti_endpoint &ep)
{
	const made_segment *s = made(ep.segment);
	published *p = own_place(ep.index);
	if (!s || p->state == kPublished)
		return;
	p->memory_class = s->kind ? s->kind->memory_class : GEX_MK_CLASS_HOST;
	p->address = reinterpret_cast<uintptr_t>(s->address);
	p->bytes = s->bytes;
	p->offset = s->kind ? p->address - s->region.addr : 0;
	p->handle = s->handle;
	p->outside = !s->carved;
	pgas_store_release(&p->state, kPublished); // pairs with load_acquire in read_place()
}

// Reads what that node has published. False if it has not published anything yet.
bool read_place(gasnet_node_t node, gex_EP_Index_t index, published &out)
{
	published *const p = own_place(index);
	if (const uint64_t window = g_windows[node]) {
		const auto *there = reinterpret_cast<const published *>(reinterpret_cast<uintptr_t>(p) + window);
		if (pgas_load_acquire(&there->state) != kPublished) // pairs with store_release in publish()
			return false;
		memcpy(&out, there, sizeof out);
		return true;
	}
	uint64_t state = 0;
	gasneti_get_far(&state, node, &p->state, sizeof state, GASNETI_DONE, 0);
	if (state != kPublished)
		return false;
	gasneti_get_far(&out, node, p, sizeof out, GASNETI_DONE, 0);
	return true;
}

// Learns the segments that members bound to their first endpoints and published.
void learn_first_segments(const gasneti_team &tm)
{
	const pgas::mutex_holder alone(kinds_mutex, kThreads);
	for (gex_Rank_t rank = 0; rank < tm.size; rank++) {
		gasnet_seginfo_t &known = g_gasnet.segments[tm.jobranks[rank]];
		published what;
		if (known.size || !read_place(tm.jobranks[rank], 0, what))
			continue;
		known = {reinterpret_cast<void *>(what.address), what.bytes};
		if (what.outside)
			node_is_outside(tm.jobranks[rank]);
	}
}

// True if a query about it needs no communication.
bool is_known(gasnet_node_t node, gex_EP_Index_t index)
{
	return g_windows[node] || g_ends.count(uint64_t{node} * GASNET_MAXEPS + index);
}

struct bounds {
	void *address = nullptr;
	uintptr_t bytes = 0; // 0: there is no segment
};

bounds find_bounds(gasnet_node_t node, gex_EP_Index_t index)
{
	if (!index)
		return {g_gasnet.segments[node].addr, g_gasnet.segments[node].size};
	if (node == gasneti_front.mynode) {
		const gasneti_endpoint *ep = g_endpoints[index];
		return ep && ep->segment ? bounds{ep->segment->address, ep->segment->bytes} : bounds{};
	}
	const pgas::mutex_holder alone(kinds_mutex, kThreads);
	const peer_end *end = find_end(node, index);
	return end ? bounds{reinterpret_cast<void *>(end->what.address), end->what.bytes} : bounds{};
}

// If the system does not allow processes to access each other's memory, others reach memory that they cannot map only
// with this node's help.
void serve_others()
{
	pgas_store_relaxed(&g_gasnet.serves, true);
	progress_update();
}

// Memory outside the region has a key of its own, and no window.
int bind_first(const made_segment &s)
{
	const gasnet_node_t me = gasneti_front.mynode;
	if (!s.carved) {
		const int rc = fi_mr_reg(g_gasnet.net.domain, s.address, s.bytes, FI_REMOTE_READ | FI_REMOTE_WRITE, 0,
					 kOutsideKey, 0, &g_endpoint.mr, nullptr);
		if (rc != 0)
			return rc;
	}
	g_gasnet.segments[me] = {s.address, s.bytes};
	if (!s.carved)
		node_is_outside(me);
	return 0;
}

} // namespace

peer_end *find_end(gasnet_node_t node, gex_EP_Index_t index)
{
	const uint64_t key = uint64_t{node} * GASNET_MAXEPS + index;
	if (const auto it = g_ends.find(key); it != g_ends.end())
		return &it->second;
	published what;
	return read_place(node, index, what) ? &(g_ends[key] = {what, {}}) : nullptr;
}

namespace {

int pair_query_bound(const char *call, gex_TM_t tm, gex_Rank_t rank, void **owneraddr_p, void **localaddr_p,
		     uintptr_t *size_p)
{
	const bounds found = find_bounds(rank, pair_of(call, tm, rank)->remote);
	if (!found.bytes)
		return 1;
	if (owneraddr_p)
		*owneraddr_p = found.address;
	if (localaddr_p)
		*localaddr_p = nullptr;
	if (size_p)
		*size_p = found.bytes;
	return 0;
}

bool pair_query_waits(const char *call, gex_TM_t tm, gex_Rank_t rank)
{
	const team *p = pair_of(call, tm, rank);
	const pgas::mutex_holder alone(kinds_mutex, kThreads);
	return p->remote && rank != gasneti_front.mynode && !is_known(rank, p->remote);
}

} // namespace
} // namespace gasnet

using namespace gasnet;

extern "C" int gex_EP_Create(gex_EP_t *ep_p, gex_Client_t client, gex_EP_Capabilities_t capabilities,
			     gex_Flags_t flags) noexcept
{
	if (!ep_p || client != &g_client || flags & ~GEX_FLAG_HINT_ACCEL_ALL)
		return refuse(GASNET_ERR_BAD_ARG, "gex_EP_Create: an argument is wrong");
	constexpr gex_EP_Capabilities_t kPossible = GEX_EP_CAPABILITY_RMA | GEX_EP_CAPABILITY_AM |
						    GEX_EP_CAPABILITY_VIS;
	if (!capabilities || capabilities & ~kPossible)
		return refuse(GASNET_ERR_BAD_ARG,
			      "gex_EP_Create: capabilities 0x%x; endpoints other than the first may have "
			      "GEX_EP_CAPABILITY_RMA, _AM and _VIS",
			      capabilities);
	const pgas::mutex_holder alone(kinds_mutex, kThreads);
	if (g_endpoint_count == GASNET_MAXEPS)
		return refuse(GASNET_ERR_RESOURCE, "gex_EP_Create: a process has at most %d endpoints (GASNET_MAXEPS)",
			      GASNET_MAXEPS);
	auto *ep = new gasneti_endpoint{};
	ep->flags = flags;
	ep->capabilities = capabilities;
	ep->index = static_cast<gex_EP_Index_t>(g_endpoint_count);
	pgas_store_release(&g_endpoints[g_endpoint_count++], ep); // pairs with load_acquire in is_sound()
	*ep_p = ep;
	return GASNET_OK;
}

extern "C" int gex_EP_BindSegment(gex_EP_t ep, gex_Segment_t segment, gex_Flags_t flags) noexcept
{
	if (ep == GEX_EP_INVALID || segment == GEX_SEGMENT_INVALID || flags)
		return refuse(GASNET_ERR_BAD_ARG, "gex_EP_BindSegment: %s",
			      flags                  ? "flags must be 0"
			      : ep == GEX_EP_INVALID ? "GEX_EP_INVALID is no endpoint"
						     : "GEX_SEGMENT_INVALID is no segment");
	if (segment == &g_segment)
		return refuse(GASNET_ERR_BAD_ARG,
			      "gex_EP_BindSegment: the segment of gex_Segment_Attach is the first endpoint's");
	const pgas::mutex_holder alone(kinds_mutex, kThreads);
	if (ep->segment)
		return refuse(GASNET_ERR_BAD_ARG, "gex_EP_BindSegment: endpoint %u has a segment, which stays",
			      ep->index);
	auto *s = static_cast<made_segment *>(segment);
	int rc = 0;
	if (ep == &g_endpoint) {
		if (s->kind)
			return refuse(GASNET_ERR_BAD_ARG,
				      "gex_EP_BindSegment: the first endpoint's segment is host memory; "
				      "gex_EP_Create makes an endpoint for memory of a device");
		rc = bind_first(*s);
	} else if (!s->kind) {
		rc = fi_mr_reg(g_gasnet.net.domain, s->address, s->bytes, FI_REMOTE_READ | FI_REMOTE_WRITE, 0,
			       segment_key(ep->index), 0, &ep->mr, nullptr);
	} else if (others_on_other_machines()) {
		rc = kinds_far_open();
	}
	if (rc != 0)
		return refuse(GASNET_ERR_RESOURCE, "gex_EP_BindSegment: %zu bytes: %s", s->bytes, pgas_strerror(-rc));
	if (!s->kind && !s->ours)
		serve_others();
	s->bound++;
	pgas_store_release(&ep->segment, segment); // pairs with load_acquire in is_sound()
	return GASNET_OK;
}

// Endpoints without a segment have nothing to publish. All have published when the barrier is complete.
extern "C" int gex_EP_PublishBoundSegment(gex_TM_t tm, gex_EP_t *eps, size_t num_eps, gex_Flags_t flags) noexcept
{
	core_of("gex_EP_PublishBoundSegment", tm);
	if (flags || (num_eps && !eps))
		return refuse(GASNET_ERR_BAD_ARG, "gex_EP_PublishBoundSegment: %s",
			      flags ? "flags must be 0" : "there are no endpoints");
	for (size_t i = 0; i < num_eps; i++)
		if (eps[i] == GEX_EP_INVALID)
			return refuse(GASNET_ERR_BAD_ARG, "gex_EP_PublishBoundSegment: GEX_EP_INVALID is no endpoint");
	{
		const pgas::mutex_holder alone(kinds_mutex, kThreads);
		for (size_t i = 0; i < num_eps; i++)
			publish(*eps[i]);
	}
	gex_Coll_BarrierBlocking(tm, 0);
	learn_first_segments(*tm);
	return GASNET_OK;
}

extern "C" gex_TM_t gex_TM_Pair(gex_EP_t local_ep, gex_EP_Index_t remote_ep_index) noexcept
{
	if (local_ep == &g_endpoint && !remote_ep_index)
		return &g_pair->face;
	if (local_ep == GEX_EP_INVALID || remote_ep_index >= GASNET_MAXEPS)
		fail("gex_TM_Pair: endpoint %u of another process does not exist; a process has at most %d",
		     remote_ep_index, GASNET_MAXEPS);
	team **const place = &local_ep->pairs[remote_ep_index];
	team *pair = pgas_load_acquire(place); // pairs with store_release in gex_TM_Pair()
	if (PGAS_LIKELY(pair))
		return &pair->face;
	const pgas::mutex_holder alone(kinds_mutex, kThreads);
	if (!*place)
		pgas_store_release(place,
				   new_pair(local_ep, remote_ep_index)); // pairs with load_acquire in gex_TM_Pair()
	return &(*place)->face;
}

// --- bounds of segments ----------------------------------------------------------------------------------------------

extern "C" int gex_Segment_QueryBound(gex_TM_t tm, gex_Rank_t rank, void **owneraddr_p, void **localaddr_p,
				      uintptr_t *size_p) noexcept
{
	if (rank >= tm->size)
		return pair_query_bound("gex_Segment_QueryBound", tm, rank, owneraddr_p, localaddr_p, size_p);
	const gasnet_node_t node = tm->jobranks[rank];
	const gasnet_seginfo_t &s = g_gasnet.segments[node];
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
