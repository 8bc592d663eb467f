// SPDX-License-Identifier: BSD-3-Clause
//
// Windows: memory of peers that inline code stores to directly. Fronts show them (pgas_types.h); only this file opens,
// moves and closes them, and the rings that inline sends use.
#include "shm.hpp"

#include <algorithm>

namespace pgas {
namespace {

void close_on(pgas_ep *front, uint64_t rank, bool messages_too)
{
	pgas_store_relaxed(&front->window[rank], uint64_t{0});
	pgas_store_relaxed(&front->check[rank].bound8, uint64_t{0});
	if (messages_too)
		pgas_store_relaxed(&front->peer[rank].ring, static_cast<pgas_ring *>(nullptr));
}

// Readable and writable, addressed by offset, contiguous here and aligned for every atomic, and without counters at the
// target that every access must increment.
bool may_be_window(const xlate &x)
{
	constexpr uint32_t both = FI_REMOTE_READ | FI_REMOTE_WRITE;
	const bool whole = x.window && x.window_len >= 8 && reinterpret_cast<uintptr_t>(x.window) % 16 == 0;
	const bool counted = x.wr_cntr || x.rd_cntr;
	return whole && !counted && !(x.flags & (kKeyVirtual | kKeyWhole | kKeyDevice)) && (x.access & both) == both;
}

} // namespace

void open_to_inline_code(shm_ep *ep, shm_peer *p)
{
	const fi_addr_t rank = p->engine_peer->rank;
	if (rank == FI_ADDR_NOTAVAIL)
		return;
	watch_barrier lock;
	if (p->dead())
		return;
	ep->open_windows[rank] = p->rdom;
	open_peers_of(ep->ep)[rank] = p->engine_peer;
	for (pgas_ep *front : ep->ep->fronts) {
		pgas_peer_hot &hot = front->peer[rank];
		hot.door = p->rdom->door();
		hot.mask = static_cast<uint32_t>(p->mask);
		hot.owner = uint64_t{p->attach} << PGAS_SLOT_OWNER_SHIFT | PGAS_SLOT_BUSY;
		hot.meta = p->attach;
		pgas_store_release(&hot.ring, p->ring); // pairs with the load in pgas_hot_claim()
	}
}

void close_to_inline_code(shm_ep *ep, const peer *p)
{
	if (p->rank == FI_ADDR_NOTAVAIL)
		return;
	watch_barrier lock;
	ep->open_windows.erase(p->rank);
	for (pgas_ep *front : ep->ep->fronts)
		close_on(front, p->rank, true);
}

// Sets window[rank] if the peer's key 0 can be stored to directly.
void publish_window(shm_ep *ep, shm_peer *p)
{
	const fi_addr_t rank = p->engine_peer->rank;
	if (rank == FI_ADDR_NOTAVAIL || p->dead() || p->shared->rem_wr_cntr || p->shared->rem_rd_cntr)
		return;
	xlate *x;
	if (remote_translate(p->rdom, 0, &x) != 0 || !may_be_window(*x))
		return;
	watch_barrier lock;
	if (p->dead())
		return;
	x->shown = true;
	const auto base = reinterpret_cast<uint64_t>(x->window);
	for (pgas_ep *front : ep->ep->fronts) {
		if (x->laid_out && !front->bias)
			continue; // this front takes offsets, but the window is laid out by addresses
		pgas_window_check &c = front->check[rank];
		pgas_store_relaxed(&c.bound8, uint64_t{0}); // another thread may read it meanwhile: nothing fits then
		pgas_store_release(&c.live, &x->entry->live);
		pgas_store_relaxed(&c.live_value, x->live);
		pgas_store_relaxed(&c.base, base);
		pgas_store_release(&c.bound8, x->window_len - 7);
		// pairs with the load in pgas_hot_window(), which counts on the alignment for atomics
		if (front->hot_inject == PGAS_MAGIC_HOT)
			pgas_store_release(&front->window[rank], base - front->bias);
	}
}

// A window of an earlier registration stays closed on a front that threads share: they may be reading its check.
bool wants_window(const peer *p, const op &o, const xlate &x)
{
	if (p->rank == FI_ADDR_NOTAVAIL || o.rma[0].key != 0)
		return false;
	const pgas_window_check &c = o.front->check[p->rank];
	const bool current = c.live_value == x.live && pgas_load_relaxed(&o.front->window[p->rank]);
	return !pgas_load_relaxed(&c.bound8) || (!current && o.front->hot_inject == PGAS_MAGIC_HOT);
}

bool windows_given_out(const remote_domain *r)
{
	const auto symmetric = [](const ep_core *ep) {
		return std::ranges::any_of(ep->fronts, [](const pgas_ep *f) { return f->bias; });
	};
	return r->given_out || std::ranges::any_of(r->dom->eps, symmetric);
}

// FI_THREAD_DOMAIN: the application lets one thread at a time into the domain, including inline code, and that thread
// is in this call. A progress thread is a second one, and an alias with FI_PGAS_PRIVATE may have another.
bool windows_quiet(const remote_domain *r)
{
	if (windows_given_out(r) || r->dom->threading != FI_THREAD_DOMAIN || r->dom->thread_running)
		return false;
	for (const ep_core *ep : r->dom->eps)
		for (const pgas_ep *front : ep->fronts)
			if (front->op_flags & FI_PGAS_PRIVATE)
				return false;
	return true;
}

void windows_close_all(const remote_domain *r, bool messages_too)
{
	watch_barrier lock;
	for (const ep_core *ep : r->dom->eps) {
		const shm_ep *own_ep = shm_of(ep);
		if (!own_ep)
			continue;
		for (const auto &[rank, rdom] : own_ep->open_windows)
			for (pgas_ep *front : ep->fronts)
				if (rdom == r)
					close_on(front, rank, messages_too);
	}
}

void shm_windows_close(wire_ep &ep, pgas_ep *front)
{
	watch_barrier lock;
	for (const auto &[rank, rdom] : shm_of(ep).open_windows)
		pgas_store_relaxed(&front->window[rank], uint64_t{0});
}

void shm_windows_rebias(wire_ep &ep, pgas_ep *front, uint64_t bias)
{
	watch_barrier lock;
	const bool other_distances = ep.ep->dom->layout.given() && bias != front->bias;
	for (const auto &[rank, rdom] : shm_of(ep).open_windows) {
		// offsets and addresses need different windows: open again
		if (other_distances)
			close_on(front, rank, false);
		else if (front->window[rank])
			front->window[rank] += front->bias - bias;
	}
}

void shm_window(wire_ep &ep, peer &p)
{
	publish_window(&shm_of(ep), &shm_of(p));
	shm_of(p).rdom->given_out = true; // the application has addresses in it now
}

} // namespace pgas
