// SPDX-License-Identifier: BSD-3-Clause
//
// Peers: an address becomes a connected peer at its first use, through the wire that reaches it; and the other way
// round, a sender's entry in our attach table becomes a source address or somebody to answer to.
#include "pgas.hpp"
#include "pgas_host.hpp"

#include <cstring>

namespace pgas {
namespace {

constexpr const wire_ops *kWires[] = {&g_shm_wire};
constexpr uint64_t kRetryNs = 50'000'000; // a peer that was not there yet is looked for again after this

void open_to_inline_code(ep_core *ep, peer *p)
{
	if (p->rank == FI_ADDR_NOTAVAIL || !p->ring)
		return;
	watch_barrier lock;
	if (p->dead())
		return;
	ep->open_windows[p->rank] = p->rdom;
	for (pgas_ep *front : ep->fronts) {
		pgas_peer_hot &hot = front->peer[p->rank];
		hot.door = p->rdom->door();
		hot.mask = static_cast<uint32_t>(p->mask);
		hot.owner = uint64_t{p->attach} << PGAS_SLOT_OWNER_SHIFT | PGAS_SLOT_BUSY;
		hot.meta = p->attach;
		pgas_store_release(&hot.ring, p->ring); // pairs with the load in pgas_hot_send()
	}
}

void close_to_inline_code(ep_core *ep, peer *p)
{
	if (p->rank == FI_ADDR_NOTAVAIL)
		return;
	watch_barrier lock;
	ep->open_windows.erase(p->rank);
	for (pgas_ep *front : ep->fronts) {
		pgas_store_relaxed(&front->window[p->rank], uint64_t{0});
		pgas_store_relaxed(&front->peer[p->rank].ring, static_cast<pgas_ring *>(nullptr));
		pgas_store_relaxed(&front->check[p->rank].bound8, uint64_t{0});
	}
}

} // namespace

const wire_ops *wire_for(const ep_address &a)
{
	for (const wire_ops *w : kWires)
		if (w->reaches(a))
			return w;
	return nullptr;
}

int peer_connect(peer *p)
{
	ep_address a;
	if (!address_parse(p->name.text, a))
		return -FI_EINVAL;
	if (a.named)
		if (const int err = service_lookup(a.service, a))
			return err;
	p->wire = wire_for(a);
	if (!p->wire) {
		PGAS_WARN(FI_LOG_AV, "address %s is on another host\n", p->name.text);
		return -FI_EHOSTUNREACH;
	}
	if (const int err = p->wire->connect(p->ep, p, a))
		return err;
	p->state = peer_state::connected;
	if (strncmp(p->name.text, p->real_name.text, kNameBytes) != 0)
		p->ep->vector->changes++; // a service name has a real one now: sources may be recognised
	open_to_inline_code(p->ep, p);
	return 0;
}

void peer_disconnect(peer *p)
{
	close_to_inline_code(p->ep, p);
	if (p->wire && p->state == peer_state::connected)
		p->wire->disconnect(p);
	p->state = peer_state::fresh;
}

int peer_get(ep_core *ep, fi_addr_t addr, peer **out)
{
	if (!ep->enabled)
		return -FI_EOPBADSTATE;
	if (addr >= ep->vector->entries.size() || !ep->vector->entries[addr].used) {
		PGAS_WARN(FI_LOG_EP_DATA, "address %llu is not in the address vector\n",
			  static_cast<unsigned long long>(addr));
		return -FI_EINVAL;
	}
	if (addr >= ep->peers.size())
		ep->peers.resize(addr + 1);
	if (!ep->peers[addr]) {
		auto fresh = std::make_unique<peer>();
		fresh->ep = ep;
		fresh->rank = addr;
		fresh->name = ep->vector->entries[addr].name;
		ep->peers[addr] = std::move(fresh);
	}
	peer *p = ep->peers[addr].get();
	if (p->state == peer_state::connected) {
		if (p->dead())
			return -FI_ECONNRESET;
		*out = p;
		return 0;
	}
	if (p->state == peer_state::gone)
		return -FI_ECONNRESET;
	if (p->state == peer_state::failed && pgas_now_ns() - p->failed_at < kRetryNs)
		return p->error;
	const int err = peer_connect(p);
	if (err) {
		if (p->state != peer_state::failed)
			PGAS_WARN(FI_LOG_EP_DATA, "cannot reach %s: %s\n", p->name.text, fi_strerror(-err));
		p->state = peer_state::failed;
		p->error = err;
		p->failed_at = pgas_now_ns();
		return err;
	}
	*out = p;
	return 0;
}

// Sets window[rank] when the peer's key 0 can be stored to directly: contiguous here, readable and writable, addressed
// by offset, and without counters at the target that every access must move.
void publish_window(ep_core *ep, peer *p)
{
	if (p->rank == FI_ADDR_NOTAVAIL || p->dead() || p->shared->rem_wr_cntr || p->shared->rem_rd_cntr)
		return;
	xlate *x;
	if (remote_translate(p->rdom, 0, &x) != 0 || !x->window || x->window_len < 8 ||
	    reinterpret_cast<uintptr_t>(x->window) % 16 || x->flags & (kKeyVirtual | kKeyWhole) || x->wr_cntr ||
	    x->rd_cntr || (x->access & (FI_REMOTE_READ | FI_REMOTE_WRITE)) != (FI_REMOTE_READ | FI_REMOTE_WRITE))
		return;
	watch_barrier lock;
	if (p->dead())
		return;
	x->shown = true;
	const auto base = reinterpret_cast<uint64_t>(x->window);
	for (pgas_ep *front : ep->fronts) {
		if (x->laid_out && !front->bias)
			continue; // takes offsets, and this window has the distances of addresses
		pgas_window_check &c = front->check[p->rank];
		pgas_store_relaxed(&c.bound8, uint64_t{0}); // another thread may look meanwhile: nothing fits then
		pgas_store_release(&c.live, &x->entry->live);
		pgas_store_relaxed(&c.live_value, x->live);
		pgas_store_relaxed(&c.base, base);
		pgas_store_release(&c.bound8, x->window_len - 7);
		// pairs with the load in pgas_hot_window(), which counts on the alignment for atomics
		if (front->hot_inject == PGAS_MAGIC_HOT)
			pgas_store_release(&front->window[p->rank], base - front->bias);
	}
}

fi_addr_t sender_address(ep_core *ep, uint32_t src)
{
	if (src >= kAttachMax)
		return FI_ADDR_NOTAVAIL;
	if (src >= ep->senders.size())
		ep->senders.resize(src + 1);
	auto &cached = ep->senders[src];
	const uint64_t serial = pgas_load_relaxed(&ep->attaches()[src].serial);
	if (cached.changes == ep->vector->changes && cached.serial == serial)
		return cached.addr;
	char name[kNameBytes];
	memcpy(name, ep->attaches()[src].name, sizeof name);
	name[kNameBytes - 1] = 0;
	fi_addr_t found = FI_ADDR_NOTAVAIL; // inserted several times: the first entry that is still there
	const auto [first, last] = ep->vector->by_name.equal_range(name);
	for (auto it = first; it != last; ++it)
		found = it->second < found ? it->second : found;
	if (found == FI_ADDR_NOTAVAIL) {
		// the peer may stand in the vector under a service name; that is resolved once it is connected
		for (const auto &p : ep->peers)
			if (p && p->state == peer_state::connected && strncmp(p->real_name.text, name, kNameBytes) == 0)
				found = p->rank;
	}
	cached = {found, ep->vector->changes, serial};
	return found;
}

fi_addr_t source_shown(const ep_core *ep, fi_addr_t addr)
{
	return addr == FI_ADDR_NOTAVAIL ? addr : ep->vector->entries[addr].user_id;
}

// --- letting go ------------------------------------------------------------------------------------------------------
//
// Who may still touch what is mapped of a peer: the general path, under the domain's lock, which asks the peer's state
// first; inline code and the tables' short ways, which have no lock and need the fronts' words alone; and the
// application with an address that fi_pgas_ops::window answered. A stranger has no rank, so that the general path is
// all it has. A peer with a rank is unmapped when windows_quiet() says that nobody can be inside any more; else its
// memory is given back and its addresses stay, with private memory behind them, until fi_av_remove (then nobody may use
// the address) or the end.

namespace {

using stranger_at = std::unordered_map<uint32_t, std::unique_ptr<peer>>::iterator;

stranger_at stranger_end(ep_core *ep, stranger_at at, int status)
{
	fail_peer(ep, at->second.get(), status);
	peer_disconnect(at->second.get());
	return ep->strangers.erase(at);
}

// Something waits for its answer, or is to be answered to it.
bool in_use(const ep_core *ep, const peer *p)
{
	for (const auto &[id, o] : ep->pending)
		if (o->to == p)
			return true;
	for (const reply &r : ep->replies)
		if (r.to == p)
			return true;
	return false;
}

// The dead, those who closed their endpoint, and those whose address was inserted meanwhile.
void strangers_release(ep_core *ep)
{
	for (auto it = ep->strangers.begin(); it != ep->strangers.end();) {
		peer *p = it->second.get();
		// pairs with store_release in core_destroy()
		const bool over = p->dead() || pgas_load_acquire(&p->shared->closed) ||
				  sender_address(ep, it->first) != FI_ADDR_NOTAVAIL;
		if (p->dead() || (over && !in_use(ep, p)))
			it = stranger_end(ep, it, -FI_ECONNRESET);
		else
			++it;
	}
	ep->strangers_sweep = 2 * ep->strangers.size() + 8;
}

} // namespace

void peers_release(ep_core *ep)
{
	strangers_release(ep);
	for (auto &p : ep->peers) {
		if (!p || p->state != peer_state::connected || !p->dead() || windows_given_out(p->rdom))
			continue;
		if (windows_quiet(p->rdom)) {
			peer_disconnect(p.get());
			p->state = peer_state::gone;
		} else if (!p->hollow) {
			remote_domain_hollow(p->rdom);
			p->seg.map.hollow();
			p->hollow = true;
		}
	}
}

void peer_forget(ep_core *ep, fi_addr_t addr)
{
	peer *p = addr < ep->peers.size() ? ep->peers[addr].get() : nullptr;
	const bool led = p && p->real_name.text[0]; // strangers have real names, addresses may be those of services
	const ep_name &name = led ? p->real_name : ep->vector->entries[addr].name;
	for (auto it = ep->strangers.begin(); it != ep->strangers.end();) {
		if (strncmp(it->second->name.text, name.text, kNameBytes) == 0)
			it = stranger_end(ep, it, -FI_ECANCELED);
		else
			++it;
	}
	if (!p)
		return;
	fail_peer(ep, p, -FI_ECANCELED);
	peer_disconnect(p);
	ep->peers[addr].reset();
}

int peer_of_sender(ep_core *ep, uint32_t src, peer **out)
{
	const fi_addr_t addr = sender_address(ep, src);
	if (addr != FI_ADDR_NOTAVAIL)
		return peer_get(ep, addr, out);
	ep_name name; // a copy: the entry is the sender's to write
	memcpy(name.text, ep->attaches()[src].name, kNameBytes);
	name.text[kNameBytes - 1] = 0;
	const auto known = ep->strangers.find(src);
	if (known != ep->strangers.end() && strncmp(known->second->name.text, name.text, kNameBytes) == 0) {
		*out = known->second.get();
		return known->second->dead() ? -FI_ECONNRESET : 0;
	}
	if (known != ep->strangers.end())
		stranger_end(ep, known, -FI_ECONNRESET); // the entry went to another sender
	if (ep->strangers.size() >= ep->strangers_sweep)
		strangers_release(ep);
	auto fresh = std::make_unique<peer>();
	fresh->ep = ep;
	fresh->name = name;
	if (const int err = peer_connect(fresh.get()))
		return err;
	*out = (ep->strangers[src] = std::move(fresh)).get();
	return (*out)->dead() ? -FI_ECONNRESET : 0;
}

} // namespace pgas
