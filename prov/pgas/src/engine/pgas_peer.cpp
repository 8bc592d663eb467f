// SPDX-License-Identifier: BSD-3-Clause
//
// Peers: an address becomes a connected peer on its first use, through the wire that reaches it. Conversely, a wire's
// source becomes an address or a peer that can be replied to.
#include "pgas_peer.hpp"
#include "pgas_ep.hpp"

#include <cstdlib>

namespace pgas {

void peer_of_another_wire(const peer &p, const wire_ops &wire)
{
	PGAS_WARN(FI_LOG_EP_DATA, "wire \"%s\" was given %s, a peer of wire \"%s\": this is a defect of the provider\n",
		  wire.name, p.name.text, p.wire ? p.wire->name : "none");
	abort();
}

namespace {

constexpr uint64_t kRetryNs = 50'000'000; // after this time, try again to reach a peer that was not there

// Releases the wire's state for a peer, connected or connecting.
void drop_line(peer *p)
{
	if (p->wire_state && (p->wire->caps & kWireReasons))
		p->why = p->wire->reason(*p);
	if (p->wire_state)
		p->wire->disconnect(*p);
	p->wire_state.reset();
	p->dead_flag = &g_nobody_dead;
}

int peer_connect(peer *p)
{
	ep_address a;
	if (!address_parse(p->name.text, a))
		return -FI_EINVAL;
	if (a.named)
		if (const int err = service_lookup(a.service, a))
			return err;
	std::string_view part;
	int cost = 0;
	wire_ep *ep = wire_to(*p->ep, a.parts, part, &cost, p->only);
	if (p->owner != ep)
		drop_line(p); // another wire was connecting to it
	p->owner = ep;
	if (!ep) {
		p->why = wire_obstacle(*p->ep, a.parts);
		PGAS_WARN(FI_LOG_AV, "address %s is on another host%s%s\n", p->name.text, p->why.empty() ? "" : ": ",
			  p->why.c_str());
		return -FI_EHOSTUNREACH;
	}
	p->wire = ep->ops;
	p->address_part = part;
	p->real_name = address_format(a); // a wire may need it
	if (const int err = p->wire->connect(*ep, *p, part)) {
		if (err != -FI_EAGAIN)
			drop_line(p);
		return err;
	}
	p->state = peer_state::connected;
	p->ep->dom->connected++;
	if (p->name != p->real_name)
		p->ep->vector->changes++; // the service name has been resolved: sources may be recognised now
	return 0;
}

} // namespace

void peer_offer_run(peer &p, word_run *run)
{
	auto &runs = p.ep->runs;
	if (p.rank == FI_ADDR_NOTAVAIL)
		return; // a stranger: nothing is put there
	if (p.rank >= runs.size())
		runs.resize(p.rank + 1);
	runs[p.rank] = run;
}

void peer_disconnect(peer *p)
{
	drop_line(p);
	if (p->state == peer_state::connected)
		p->ep->dom->connected--;
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
	if (err == -FI_EAGAIN) {
		p->state = peer_state::connecting;
		return err;
	}
	if (err) {
		if (p->state != peer_state::failed)
			PGAS_WARN(FI_LOG_EP_DATA, "cannot reach %s: %s\n", p->name.text, pgas_strerror(-err));
		p->state = peer_state::failed;
		p->error = err;
		p->failed_at = pgas_now_ns();
		return err;
	}
	*out = p;
	return 0;
}

int peer_control(peer &p, const control &m)
{
	if (p.state == peer_state::connecting) {
		const int err = peer_connect(&p);
		if (err && err != -FI_EAGAIN) { // its wire has no state for it any more
			p.state = peer_state::failed;
			p.error = err;
			p.failed_at = pgas_now_ns();
		}
		if (err)
			return err;
	}
	return p.state == peer_state::connected ? p.wire->control(p, m) : -FI_ECONNRESET;
}

// --- identifying senders ---------------------------------------------------------------------------------------------

fi_addr_t name_address(const ep_core *ep, const ep_name &name)
{
	fi_addr_t found = FI_ADDR_NOTAVAIL; // inserted several times: the first entry still in use
	const auto [first, last] = ep->vector->by_name.equal_range(name.text);
	for (auto it = first; it != last; ++it)
		found = it->second < found ? it->second : found;
	if (found == FI_ADDR_NOTAVAIL) {
		// the vector may list the peer under a service name, which is resolved once the peer is connected
		for (const auto &p : ep->peers)
			if (p && p->state == peer_state::connected && p->real_name == name)
				found = p->rank;
	}
	return found;
}

fi_addr_t sender_address(wire_ep &base_ep, uint32_t src)
{
	ep_core *ep = base_ep.ep;
	if (src >= base_ep.ops->limits.sources)
		return FI_ADDR_NOTAVAIL;
	if (src >= base_ep.senders.size())
		base_ep.senders.resize(src + 1);
	auto &cached = base_ep.senders[src];
	const uint64_t serial = base_ep.ops->sender(base_ep, src, nullptr);
	if (cached.changes == ep->vector->changes && cached.serial == serial)
		return cached.addr;
	ep_name name;
	base_ep.ops->sender(base_ep, src, &name);
	cached = {name_address(ep, name), ep->vector->changes, serial};
	return cached.addr;
}

fi_addr_t source_shown(const ep_core *ep, fi_addr_t addr)
{
	return addr == FI_ADDR_NOTAVAIL ? addr : ep->vector->entries[addr].user_id;
}

// --- releasing peers -------------------------------------------------------------------------------------------------
//
// Three kinds of code may still access a peer's mapped memory: the general path, under the domain's lock, which checks
// the peer's state first; inline code and the tables' fast paths, which take no lock and depend on the fronts' words
// alone; and the application, with an address that fi_pgas_ops::window returned. A stranger has no rank, so only the
// general path reaches it. A peer with a rank is disconnected when its wire reports that no thread can be inside any
// more (bury). Otherwise its memory is given back and its addresses stay, backed by private memory, until fi_av_remove
// (after which the address must not be used) or until the end.

namespace {

using stranger_at = std::unordered_map<uint32_t, std::unique_ptr<peer>>::iterator;

stranger_at stranger_end(wire_ep &ep, stranger_at entry, int status)
{
	op_fail_peer(entry->second.get(), status);
	peer_disconnect(entry->second.get());
	return ep.strangers.erase(entry);
}

// An operation waits for this peer's response, or a reply to it is still to be sent.
bool in_use(const wire_ep &ep, const peer *p)
{
	for (const op &o : ep.pending)
		if (o.dest == p)
			return true;
	for (const reply &r : ep.replies)
		if (r.dest == p)
			return true;
	return false;
}

// The sender has an address by now, which uses this wire or was not used yet.
bool addressed(wire_ep &ep, uint32_t src)
{
	const fi_addr_t addr = sender_address(ep, src);
	const peer *p = peer_known(ep.ep, addr);
	return addr != FI_ADDR_NOTAVAIL && (!p || p->owner == &ep);
}

// Releases strangers that died, closed their endpoint, or whose address was inserted meanwhile.
void strangers_release(wire_ep &ep)
{
	for (auto it = ep.strangers.begin(); it != ep.strangers.end();) {
		peer *p = it->second.get();
		const bool over = p->dead() || p->state == peer_state::failed || peer_departed(*p) ||
				  addressed(ep, it->first);
		if (p->dead() || (over && !in_use(ep, p)))
			it = stranger_end(ep, it, -FI_ECONNRESET);
		else
			++it;
	}
	ep.strangers_sweep = 2 * ep.strangers.size() + 8;
}

} // namespace

void peers_fail_dead(ep_core *ep)
{
	for (auto &p : ep->peers)
		if (p && p->dead())
			op_fail_peer(p.get(), -FI_ECONNRESET);
	for (wire_ep *base_ep : ep->wires_on())
		for (auto &[src, p] : base_ep->strangers)
			if (p && p->dead())
				op_fail_peer(p.get(), -FI_ECONNRESET);
}

void peers_release(ep_core *ep)
{
	for (wire_ep *base_ep : ep->wires_on())
		strangers_release(*base_ep);
	for (auto &p : ep->peers) {
		if (!p || p->state != peer_state::connected || !p->dead() || !p->wire->bury(*p))
			continue;
		peer_disconnect(p.get());
		p->state = peer_state::gone;
	}
}

void peer_forget(ep_core *ep, fi_addr_t addr)
{
	peer *p = peer_known(ep, addr);
	const bool led = p && p->real_name.text[0]; // strangers have real names, addresses may be service names
	const ep_name name = led ? p->real_name : ep->vector->entries[addr].name;
	for (wire_ep *base_ep : ep->wires_on()) {
		for (auto it = base_ep->strangers.begin(); it != base_ep->strangers.end();) {
			if (it->second->name == name)
				it = stranger_end(*base_ep, it, -FI_ECANCELED);
			else
				++it;
		}
	}
	if (!p)
		return;
	op_fail_peer(p, -FI_ECANCELED);
	peer_disconnect(p);
	ep->peers[addr].reset();
}

// For a sender that has no address, or one that uses another wire.
static int stranger_of_sender(wire_ep &ep, uint32_t src, peer **out)
{
	ep_name name; // a copy: the sender may change its text
	ep.ops->sender(ep, src, &name);
	const auto known = ep.strangers.find(src);
	if (known != ep.strangers.end() && known->second->name == name) {
		*out = known->second.get();
		return known->second->dead() || known->second->state == peer_state::failed ? -FI_ECONNRESET : 0;
	}
	if (known != ep.strangers.end())
		stranger_end(ep, known, -FI_ECONNRESET); // the number was given to another sender
	if (ep.strangers.size() >= ep.strangers_sweep)
		strangers_release(ep);
	auto fresh = std::make_unique<peer>();
	fresh->ep = ep.ep;
	fresh->name = name;
	fresh->only = &ep;
	const int err = peer_connect(fresh.get());
	if (err && err != -FI_EAGAIN)
		return err;
	if (err)
		fresh->state = peer_state::connecting;
	*out = (ep.strangers[src] = std::move(fresh)).get();
	return (*out)->dead() ? -FI_ECONNRESET : 0;
}

int peer_of_sender(wire_ep &ep, uint32_t src, peer **out)
{
	const fi_addr_t addr = sender_address(ep, src);
	if (addr == FI_ADDR_NOTAVAIL)
		return stranger_of_sender(ep, src, out);
	const int err = peer_get(ep.ep, addr, out);
	peer *p = peer_known(ep.ep, addr);
	if (!p || p->owner != &ep)
		return stranger_of_sender(ep, src, out);
	*out = p;
	return err == -FI_EAGAIN ? 0 : err;
}

} // namespace pgas
