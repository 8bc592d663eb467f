// SPDX-License-Identifier: BSD-3-Clause
//
// Fronts: the part of an endpoint that applications hold and inline code reads (pgas_types.h), and the policy that sets
// its words.
#include "pgas_ep.hpp"
#include "hmem/pgas_hmem.hpp"
#include "pgas_order.hpp"
#include "pgas_op.hpp"
#include "pgas_wire.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace pgas {

static_assert(sizeof(fid_ep) <= PGAS_FRONT_EP_OFF && sizeof(fid_cq) <= PGAS_FRONT_OFF &&
	      sizeof(fid_cntr) <= PGAS_FRONT_OFF);
static_assert(PGAS_LAYOUT_VERSION % 8 != 0, "a magic word must not look like the low half of a pointer");
static_assert(offsetof(pgas_ep, hot_inject) == PGAS_FRONT_EP_OFF && offsetof(pgas_cq, hot_read) == PGAS_FRONT_OFF &&
	      offsetof(pgas_cntr, hot_read) == PGAS_FRONT_OFF);
static_assert(offsetof(pgas_ep, window) == offsetof(pgas_ep, window_guard_) + sizeof(uint64_t));
static_assert(offsetof(pgas_ep, rd_cntr) + 8 <= 128, "what a put or get touches of the endpoint is one cache line");

namespace {

// One mapping: front and windows, then peers and checks. It is address space only; pages are allocated when ranks are
// used.
struct front_layout {
	size_t peer_off, check_off, bytes;
	static front_layout of(size_t ranks)
	{
		front_layout l;
		l.peer_off = round_up(sizeof(pgas_ep) + ranks * sizeof(uint64_t), 65536) + 65536; // guard page between
		l.check_off = l.peer_off + round_up(ranks * sizeof(pgas_peer_hot), 65536);
		l.bytes = l.check_off + round_up(ranks * sizeof(pgas_window_check), 65536);
		return l;
	}
};

} // namespace

namespace {

// Reserves address space without committing memory. Returns null, after logging how to fix it, when there is none.
void *reserve(size_t bytes)
{
	void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p != MAP_FAILED)
		return p;
	const int err = errno;
	PGAS_WARN(FI_LOG_EP_CTRL, "cannot reserve %zu bytes of address space for an endpoint: %s (FI_PGAS_MAX_PEERS)\n",
		  bytes, strerror(err));
	errno = err;
	return nullptr;
}

} // namespace

int front_create(ep_core *core, void *context, uint64_t op_flags, pgas_ep **out)
{
	const size_t ranks = parameters().max_peers;
	const front_layout l = front_layout::of(ranks);
	if (!core->open_peers) {
		void *room = reserve(ranks * sizeof(peer *));
		if (!room)
			return -errno;
		core->open_peers = mapping(room, ranks * sizeof(peer *));
	}
	void *p = reserve(l.bytes);
	if (!p)
		return -errno;
	mprotect(static_cast<char *>(p) + l.peer_off - 65536, 65536, PROT_NONE);
	auto *front = static_cast<pgas_ep *>(p);
	auto *fid = reinterpret_cast<fid_ep *>(front);
	fid->fid = {FI_CLASS_EP, context, nullptr};
	const bool hmem = core->caps & FI_HMEM;
	fid->msg = hmem ? &g_msg_ops_hmem : &g_msg_ops;
	fid->rma = hmem ? &g_rma_ops_hmem : &g_rma_ops;
	fid->tagged = hmem ? &g_tagged_ops_hmem : &g_tagged_ops;
	fid->atomic = hmem ? &g_amo_ops_hmem : &g_amo_ops;
	front->hot_inject = front->hot_rma = front->hot_send = PGAS_MAGIC_OWN;
	front->wr_cntr = front->rd_cntr = front->tx_cntr = &front->unbound_;
	front->peer = reinterpret_cast<pgas_peer_hot *>(static_cast<char *>(p) + l.peer_off);
	front->check = reinterpret_cast<pgas_window_check *>(static_cast<char *>(p) + l.check_off);
	front->rank_limit = ranks;
	front->op_flags = op_flags;
	front->core = reinterpret_cast<pgas_ep_core *>(core);
	core->fronts.push_back(front);
	*out = front;
	return 0;
}

void front_destroy(pgas_ep *front)
{
	munmap(front, front_layout::of(parameters().max_peers).bytes);
}

namespace {

// Other threads may read these fields while an alias of the endpoint is created, so unchanged fields are not written.
template <class T>
void set_field(T &field, std::type_identity_t<T> value)
{
	if (field != value)
		field = value;
}

} // namespace

// Opens or closes the fast paths of every front, depending on what is bound and what the threading model allows.
void ep_update_hot(ep_core *ep)
{
	// the fast paths have no fences, and would overtake operations in flight to a target
	const bool behind = ep->one_sided && (ep->order & kStrictOneSided);
	const bool ordered = (ep->order & kNeedsFence) || behind;
	const bool hmem = ep->caps & FI_HMEM; // the fast paths check no descriptors
	for (pgas_ep *front : ep->fronts) {
		const bool entry = ep->tx_cq && (!ep->tx_selective || (front->op_flags & FI_COMPLETION));
		const bool delivery = front->op_flags & FI_DELIVERY_COMPLETE;
		const bool alone = ep->dom->hot_allowed() || (front->op_flags & FI_PGAS_PRIVATE);
		const bool rma = ep->enabled && !hmem && !ordered && !delivery && (ep->caps & (FI_RMA | FI_ATOMIC));
		const auto word = [&](bool open) {
			return !open ? PGAS_MAGIC_OWN : alone ? PGAS_MAGIC_HOT : PGAS_MAGIC_SHARED;
		};
		set_field(front->hot_inject, word(rma));
		set_field(front->hot_rma, word(rma && !entry));
		set_field(front->hot_send, word(ep->enabled && !hmem && !behind && (ep->caps & (FI_MSG | FI_TAGGED))));
		auto *fid = reinterpret_cast<fid_ep *>(front);
		if (!hmem) {
			set_field(fid->rma, front->hot_inject == PGAS_MAGIC_HOT ? &g_rma_ops_hot : &g_rma_ops);
			set_field(fid->atomic, front->hot_inject == PGAS_MAGIC_HOT ? &g_amo_ops_hot : &g_amo_ops);
		}
		// the invariant of pgas_types.h: windows only on fronts that may take the fast path
		if (front->hot_inject != PGAS_MAGIC_HOT && ep->host())
			g_host.windows_close(*ep->host(), front);
		const bool own = front->op_flags & FI_PGAS_PRIVATE;
		const auto counter = [&](cntr_core *c) { return c && !own ? &c->front->count : &front->unbound_; };
		set_field(front->wr_cntr, counter(ep->c_write));
		set_field(front->rd_cntr, counter(ep->c_read));
		set_field(front->tx_cntr, counter(ep->c_send));
	}
	for (cntr_core *c : {ep->c_send, ep->c_recv, ep->c_read, ep->c_write, ep->c_rem_read, ep->c_rem_write})
		if (c)
			cntr_update_hot(c);
}

bool ep_keeps(const ep_core *ep)
{
	return std::ranges::any_of(ep->wires_on(), [](const wire_ep *base_ep) { return base_ep->keeps(); });
}

void ep_update_heads(ep_core *ep)
{
	if (ep->tx_cq)
		cq_update_poll(ep->tx_cq);
	if (ep->rx_cq && ep->rx_cq != ep->tx_cq)
		cq_update_poll(ep->rx_cq);
}

void ep_update_polls(ep_core *ep)
{
	ep_update_heads(ep);
	for (cntr_core *c : {ep->c_read, ep->c_write})
		if (c)
			cntr_update_hot(c);
}

} // namespace pgas
