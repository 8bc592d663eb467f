// SPDX-License-Identifier: BSD-3-Clause
//
// The table of the wire to other hosts and its parts: life, addresses, connections, progress.
#include "engine/pgas_request.hpp"
#include "wire/net/port/port_address.hpp"
#include "net_address.hpp"
#include "net_bulk.hpp"
#include "net_device.hpp"
#include "net_execute.hpp"
#include "net_intro.hpp"
#include "net_keys.hpp"
#include "net_straight.hpp"
#include "net_submit.hpp"
#include "net_thread.hpp"
#include "net_word.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace pgas {
namespace {

net_domain &net_of(wire_domain &d)
{
	return static_cast<net_domain &>(d);
}

// --- callbacks of the link -------------------------------------------------------------------------------------------

void opened(void *self, channel &c)
{
	auto &d = *static_cast<net_domain *>(self);
	PGAS_INFO(FI_LOG_EP_CTRL, "link: channel %u to %s is open\n", c.number, link_show(*d.l, c.address).c_str());
	if (!c.client)
		c.client = {new net_side, [](void *side) { delete static_cast<net_side *>(side); }};
	d.put_aside = true; // poll words change: every endpoint polls once
}

void ended(void *self, channel &c)
{
	auto &d = *static_cast<net_domain *>(self);
	if (c.lost.load())
		PGAS_WARN(FI_LOG_EP_CTRL, "link: %s is lost: %s\n", link_show(*d.l, c.address).c_str(),
			  c.reason.c_str());
	d.put_aside = true;
	d.stops.erase(&c);
	bulk_poll_again(d, c);
	if (!c.client)
		return;
	words_end(d, c);
	for (const auto &[number, index] : side_of(c).sources)
		source_free(d, index);
	c.client.reset();
}

const char *name_of(void *self, uint16_t endpoint)
{
	const auto &d = *static_cast<net_domain *>(self);
	const net_ep *ep = endpoint < d.eps.size() ? d.eps[endpoint] : nullptr;
	return ep && ep->ep->enabled ? ep->ep->name.text : nullptr;
}

bool expects(void *self, const channel &c)
{
	const auto &d = *static_cast<net_domain *>(self);
	if (c.client && !side_of(c).questions.empty())
		return true;
	for (const net_ep *ep : d.eps)
		if (ep)
			for (const op &o : ep->pending)
				if (o.dest->wire_state && net_of(*o.dest).c == &c)
					return true;
	return false;
}

void written(void *self)
{
	static_cast<net_domain *>(self)->executed = true;
}

// --- peers that are stopped ------------------------------------------------------------------------------------------

constexpr uint64_t kStopAskNs = 100'000'000; // between two questions about a channel

// Asks about any known address of the peer: that of a sender that introduced itself, if we only answer it, or the one
// that we call.
bool client_knows_stopped(const net_domain &d, const channel &c)
{
	const auto says = [&d](fi_addr_t peer) {
		return peer != FI_ADDR_NOTAVAIL && d.dom->peer_stopped(d.dom->peer_stopped_context, peer);
	};
	for (net_ep *ep : d.eps) {
		if (!ep)
			continue;
		if (c.client)
			for (const auto &[number, index] : side_of(c).sources)
				if (says(sender_address(*ep, index)))
					return true;
		for (const auto &p : ep->ep->peers)
			if (p && p->wire_state && p->wire == &g_net_wire && net_of(*p).c == &c && says(p->rank))
				return true;
	}
	return false;
}

// A peer that continues after a stop has as much time to answer as any other: the news of that may be here before the
// answer.
bool stopped(void *self, const channel &c)
{
	auto &d = *static_cast<net_domain *>(self);
	if (!d.dom->peer_stopped || c.stranger || c.accepted)
		return false;
	const uint64_t silent = d.l->checked_at - std::max(c.asked_at, c.heard_at);
	net_stop &s = d.stops[&c];
	if (silent < s.asked_ns)
		s = {}; // it sent something meanwhile
	if (!s.asked_ns || silent - s.asked_ns >= kStopAskNs) {
		s.asked_ns = silent;
		if (client_knows_stopped(d, c))
			s.seen_ns = silent;
	}
	return s.seen_ns && silent - s.seen_ns < d.l->set.timeout_ns;
}

link_client client_of(net_domain &d)
{
	return {&d,      net_frame, net_over, bulk_transfer_over, opened, ended,
		name_of, expects,   written,  straight_again,     stopped};
}

// --- life ------------------------------------------------------------------------------------------------------------

// An address with the shortest form of shared memory's part, and the link's part.
constexpr bool name_fits_short(size_t link_bytes)
{
	constexpr size_t kShmChars = 30;
	return kSchemeBytes + kShmChars + sizeof "+n/" - 1 + 1 + ((link_bytes + 2) * 8 + 5) / 6 < kNameShort;
}
static_assert(name_fits_short(6) && !name_fits_short(18), "IP version 4 and 6");

bool has_secret(const domain &dom)
{
	return dom.secret_key != decltype(dom.secret_key){};
}

// Checks for random numbers, without which nothing can be proven; and for a secret if packets are signed or encrypted:
// without a secret the keys would be derived from public data.
int fit_for_secrets(const domain &dom, const params &par)
{
	char why[200];
	if (!random_available()) {
		open_reason_set("no link to other hosts: the kernel refuses random numbers (getrandom)");
		return -FI_ENOSYS;
	}
	if (par.net_sign == kWrongValue || par.net_tls == kWrongValue) {
		snprintf(why, sizeof why, "FI_PGAS_NET_%s is neither 0 nor 1",
			 par.net_tls == kWrongValue ? "TLS" : "SIGN");
	} else if ((par.net_sign || par.net_tls) && !has_secret(dom)) {
		snprintf(why, sizeof why,
			 "FI_PGAS_NET_%s=1 needs a secret of the job (domain_attr->auth_key; OpenSHMEM and GASNet make "
			 "one for jobs on several hosts)",
			 par.net_tls ? "TLS" : "SIGN");
	} else {
		return 0;
	}
	open_reason_set(why);
	return -FI_EINVAL;
}

// Opens no link if the domain's client only wants its own host, or if FI_PGAS_NET is off: -FI_ENODATA.
int net_domain_open(domain &dom, wire_domain **out)
{
	const char *wish = parameters_net();
	open_reason_set("");
	if (strcmp(wish, "off") == 0 || !(dom.caps & FI_REMOTE_COMM))
		return -FI_ENODATA;
	std::string why;
	const params &par = parameters();
	const size_t packet = std::max(par.net_packet, par.eager_bytes + 256);
	if (const int err = fit_for_secrets(dom, par))
		return err;
	const port_options options{packet, (dom.caps & FI_HMEM) && par.net_hmem, par.net_tls != 0, dom.secret_key,
				   par.peer_timeout * 1'000'000'000ull};
	port *p = port_open(wish, options, why);
	if (!p) {
		// a job that has a secret has members on other hosts
		const bool asked = strcmp(wish, "auto") != 0 || par.net_tls || has_secret(dom);
		if (asked)
			open_reason_set(why.c_str());
		else
			PGAS_INFO(FI_LOG_DOMAIN, "no link to other hosts: %s\n", why.c_str());
		return asked ? -FI_EINVAL : -FI_ENODATA;
	}
	auto d = std::make_unique<net_domain>();
	d->ops = &g_net_wire;
	d->dom = &dom;
	link_settings set;
	set.packet = packet;
	set.window = static_cast<uint32_t>(par.net_window);
	set.timeout_ns = par.peer_timeout * 1'000'000'000ull;
	set.key = dom.secret_key;
	set.sign = par.net_sign;
	if (set.sign)
		p->limits.bulk_from = 0; // transfers by an adapter or the port itself have no signature
	d->l = link_open(p, client_of(*d), set);
	if (d->l->address.empty()) {
		PGAS_WARN(FI_LOG_DOMAIN, "%s: its addresses are longer than %zu bytes\n", p->name.c_str(),
			  kLinkAddressMost);
		return -FI_EINVAL;
	}
	PGAS_INFO(FI_LOG_DOMAIN, "link to other hosts over %s, packets of %zu bytes%s\n", p->name.c_str(),
		  d->l->set.packet, p->limits.devices ? ", device memory too" : "");
	dom.mutex.enable(); // for the service thread
	dom.polls_are_slow = p->limits.by_cpu;
	dom.name_bytes = name_fits_short(d->l->address.size()) ? kNameShort : kNameBytes;
	if (par.net_thread)
		if (const int err = net_thread_start(*d))
			return err;
	*out = d.release();
	return 0;
}

void net_domain_close(wire_domain *base)
{
	const std::unique_ptr<net_domain> d(&net_of(*base));
	net_thread_stop(*d);
	link_close(*d->l);
}

int net_ep_open(wire_domain &base, ep_core &ep, wire_ep **out)
{
	net_domain &d = net_of(base);
	// numbers are reused as late as possible: a peer may still mean the previous endpoint with that number
	size_t number = d.eps.size();
	if (number == kNoEndpoint)
		number = static_cast<size_t>(std::find(d.eps.begin(), d.eps.end(), nullptr) - d.eps.begin());
	if (number == kNoEndpoint)
		return -FI_ENOSPC;
	auto opened = std::make_unique<net_ep>();
	opened->ops = &g_net_wire;
	opened->ep = &ep;
	opened->dom = &d;
	opened->served = d.thread_runs;
	opened->number = static_cast<uint16_t>(number);
	if (number == d.eps.size())
		d.eps.push_back(nullptr);
	d.eps[number] = opened.get();
	*out = opened.release();
	return 0;
}

// Tells the peers that know us that we leave; what was sent to them before is run first.
void net_ep_leave(wire_ep &base_ep)
{
	net_ep &ep = net_of(base_ep);
	net_domain &d = *ep.dom;
	d.executor = &ep;
	const uint64_t until = pgas_now_ns() + 1'000'000'000;
	while (ep.outstanding && pgas_now_ns() < until) {
		link_progress(*d.l);
		net_execute_later(ep);
	}
	for (auto &c : d.l->channels) {
		if (!c || !c->open() || ep.number >= side_of(*c).introduced.size() ||
		    !side_of(*c).introduced[ep.number])
			continue;
		if (frame_begin(*c, 0)) {
			frame_end(*c, frame_kind::leave, 0, ep.number, 0, 0);
			frame_push(*c);
		}
	}
	link_progress(*d.l);
	d.executor = nullptr;
}

void net_ep_close(wire_ep *base_ep)
{
	const std::unique_ptr<net_ep> owner(&net_of(*base_ep));
	net_ep *ep = owner.get();
	net_domain &d = *ep->dom;
	d.eps[ep->number] = nullptr;
	for (auto &c : d.l->channels) {
		if (!c || !c->client)
			continue;
		if (ep->number < side_of(*c).introduced.size())
			side_of(*c).introduced[ep->number] = false;
		words_forget(*c, *ep);
	}
	for (auto &p : d.l->packets)
		std::erase_if(p->notices, [ep](const notice &n) { return n.who == ep; });
	for (auto &c : d.l->channels)
		if (c && c->straight.who == ep)
			c->straight.who = nullptr;
	for (auto &t : d.transfers)
		if (t->ep == ep)
			t->ep = nullptr;
}

// --- connections -----------------------------------------------------------------------------------------------------

int net_connect(wire_ep &base_ep, peer &dest, std::string_view part)
{
	net_ep &own_ep = net_of(base_ep);
	net_domain &d = *own_ep.dom;
	if (!dest.wire_state) {
		net_address a;
		if (!net_address_read(part, a))
			return -FI_EINVAL;
		channel *c = link_call(*d.l, a.link, a.endpoint, dest.real_name.text, own_ep.number);
		if (!c)
			return -FI_EHOSTUNREACH;
		c->users++;
		net_unwatch(d);
		auto p = std::make_unique<net_peer>();
		p->c = c;
		p->dst = a.endpoint;
		word_run &run = p->run;
		dest.wire_state = own_wire_peer(std::move(p));
		peer_offer_run(dest, &run);
		for (ep_core *ep : d.dom->eps)
			if (ep->enabled)
				ep_update_polls(ep); // from now on the link may deliver something
	}
	const channel &c = *net_of(dest).c;
	if (c.state == channel_state::greeting)
		return -FI_EAGAIN;
	if (c.state == channel_state::over) {
		PGAS_WARN(FI_LOG_AV, "%s: %s\n", dest.name.text, c.reason.c_str());
		return c.why;
	}
	dest.dead_flag = &c.lost;
	return 0;
}

void net_disconnect(peer &p)
{
	net_peer *state = &net_of(p);
	if (state->c->run == &state->run)
		run_close(*state->c);
	peer_offer_run(p, nullptr);
	straight_forget(*state->c, state->straight.get());
	channel_release(*state->c);
}

bool net_silent(const wire_ep &ep, const peer &p)
{
	return net_departed(p) && net_of(ep).later.empty();
}

bool net_bury(peer &)
{
	return true; // nothing of the peer is mapped
}

const std::string &net_reason(const peer &p)
{
	return net_of(p).c->reason; // set when the channel is over
}

uint64_t net_sender(const wire_ep &ep, uint32_t src, ep_name *name)
{
	const net_source &s = net_of(ep).dom->sources[src];
	if (name)
		*name = s.name;
	return s.serial;
}

// --- progress --------------------------------------------------------------------------------------------------------

bool net_progress(wire_ep &base_ep)
{
	net_ep &ep = net_of(base_ep);
	net_domain &d = *ep.dom;
	net_ep *const before = std::exchange(d.executor, &ep);
	const bool came = link_progress(*d.l);
	bool moved = net_execute_later(ep) || came || link_awake(*d.l);
	if (ep.pending.size() > ep.bulk || !ep.replies.empty())
		moved |= request_push_all(ep);
	if (bulk_waits(ep))
		moved |= bulk_push_all(ep, may_touch(ep), !came);
	d.executor = before;
	if (std::exchange(d.put_aside, false))
		domain_ask_to_poll(d.dom);
	d.executed = false;
	net_polled(d, moved);
	return moved;
}

bool net_retries(const wire_ep &base_ep)
{
	const net_ep &ep = net_of(base_ep);
	return request_retries(ep) || !ep.later.empty();
}

bool net_settle(wire_ep &)
{
	return true; // received frames were run in order, and the others never will be
}

bool net_noticed(const wire_ep &ep)
{
	const net_domain &d = *net_of(ep).dom;
	return d.thread_runs && (d.l->channels.size() == 1 || d.watched);
}

int net_flush(wire_ep &base_ep)
{
	net_ep &ep = net_of(base_ep);
	if (!ep.outstanding && !ep.asked)
		return 0;
	link_flush(*ep.dom->l);
	return ep.outstanding || ep.asked ? -FI_EAGAIN : 0;
}

void net_hold(wire_domain &base, bool begin)
{
	net_link *l = static_cast<net_domain &>(base).l.get();
	if (!l)
		return;
	l->holds += begin ? 1u : -1u;
	if (!l->holds)
		link_flush(*l);
}

// Frames run in the order in which they were sent; bulk begins when all earlier frames were run (net_bulk.cpp).
bool net_in_order(const peer &p)
{
	return net_of(p).bulk == 0 && p.unsent == 0;
}

} // namespace

constinit const wire_ops g_net_wire = {
	.name = "n",
	.limits = {.sources = kSourcesMost},
	.caps = kWireFlushes | kWireReasons,
	.possible = link_possible,
	.nic = link_nic,
	.asks = link_asks,
	.domain_open = net_domain_open,
	.domain_close = net_domain_close,
	.ep_open = net_ep_open,
	.ep_leave = net_ep_leave,
	.ep_close = net_ep_close,
	.address = net_address_of,
	.canonical = net_canonical,
	.show = net_show,
	.cost = net_cost,
	.obstacle = net_obstacle,
	.mr_close = keys_mr_close,
	.mr_direct = net_mr_direct,
	.connect = net_connect,
	.disconnect = net_disconnect,
	.departed = net_departed,
	.silent = net_silent,
	.bury = net_bury,
	.reason = net_reason,
	.put = net_put,
	.add = net_add,
	.ask = net_ask,
	.rma = net_rma,
	.rma_direct = net_rma_direct,
	.amo = net_amo,
	.send = net_send,
	.send_pieces = net_send_pieces,
	.pull = request_pull_announced,
	.discard = request_discard_announced,
	.pull_over = request_long_done,
	.sender = net_sender,
	.control = net_control,
	.control_room = net_control_room,
	.settle = net_settle,
	.progress = net_progress,
	.retries = net_retries,
	.noticed = net_noticed,
	.flush = net_flush,
	.hold = net_hold,
	.asleep = net_asleep,
	.in_order = net_in_order,
};

} // namespace pgas
