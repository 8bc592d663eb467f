// SPDX-License-Identifier: BSD-3-Clause
//
// Greeting: how two links establish that they belong together.
//
//   A calls B:  A -> B  HELLO          who I am, where I can be reached, a nonce, the endpoint I look for
//               B -> A  HELLO + PROOF  the same about B; the callee's proof
//               A -> B  PROOF          the caller's proof, sent only after the callee's was right
//               B -> A  ACCEPT         a packet without frames: the callee accepts the caller
//               A -> B  any packet     of the channel, at least one without frames: the caller knows
//
// The caller's channel opens with ACCEPT, and the callee's with the packet after it. If the line is lost before,
// neither side has sent any operation, so none can be lost: the caller calls again, and so does a callee that wants to.
// A callee waits two seconds for a proof; a caller that was stopped or cut off meanwhile calls again.
//
// A proof is a keyed hash over a label, the protocol's version, the role of its sender, and both hellos as they were
// sent: both addresses, endpoints, ids, nonces, sessions and features. Its key is made from the job's secret and the
// address of the endpoint that the caller looks for; so even in a job without a secret, a process that has no address
// of the job cannot prove anything. Nothing of a channel is run before its proof. docs/architecture/link.md has the
// picture, and explains why relays, reflections, replays and downgrades fail.
#include "net_link.hpp"
#include "support/pgas_util.hpp"

#include <pgas/pgas_counter.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace pgas {
namespace {

std::string address_of(const hello &h)
{
	return {h.address, h.address_len};
}

hello hello_of(const channel &c, link_role role, uint16_t looks_for, uint16_t endpoint)
{
	const net_link &l = *c.link;
	hello h{};
	h.machine = l.machine;
	h.id = l.id;
	h.nonce = random_word();
	h.session = c.session_in;
	h.channel = c.number;
	h.packet = static_cast<uint32_t>(l.set.packet);
	h.looks_for = looks_for;
	h.endpoint = endpoint;
	h.kind = static_cast<uint8_t>(l.port->kind);
	h.role = role;
	h.features = l.signs ? kFeatureSigned : 0;
	h.address_len = static_cast<uint8_t>(l.address.size());
	memcpy(h.address, l.address.data(), l.address.size());
	return h;
}

// --- proofs ----------------------------------------------------------------------------------------------------------

// The hashed text, with a different label for each purpose.
struct transcript {
	char label[20];
	uint16_t protocol;
	uint16_t role; // link_role of the side it is about
	hello caller, callee;
};
static_assert(sizeof(transcript) == 184 && offsetof(transcript, caller) == 24, "no padding");

secret hash_greeting(const channel &c, const char *label, link_role role)
{
	const handshake &g = *c.greeting;
	transcript t{};
	memcpy(t.label, label, std::min(strlen(label), sizeof t.label));
	t.protocol = kProtocol;
	t.role = static_cast<uint16_t>(role);
	t.caller = g.role == link_role::caller ? g.ours : g.theirs;
	t.callee = g.role == link_role::caller ? g.theirs : g.ours;
	const secret key = mac_of(c.link->set.key, g.name.data(), g.name.size());
	return mac_of(key, &t, sizeof t);
}

link_role other(link_role r)
{
	return r == link_role::caller ? link_role::callee : link_role::caller;
}

proof own_proof(const channel &c)
{
	proof p;
	const secret mac = hash_greeting(c, "pgas link proof", c.greeting->role);
	memcpy(p.mac, mac.data(), sizeof p.mac);
	return p;
}

bool proves(const channel &c, const proof &p)
{
	const secret want = hash_greeting(c, "pgas link proof", other(c.greeting->role));
	return same_mac(want.data(), p.mac);
}

// --- packets of a greeting -------------------------------------------------------------------------------------------

void send_with(channel &c, uint8_t flags, const void *a, size_t a_len, const void *b = nullptr, size_t b_len = 0,
	       uint8_t protocol = kProtocol)
{
	packet *p = packet_take(*c.link);
	if (!p)
		return; // the silence is detected
	memcpy(p->bytes + p->used, a, a_len);
	if (b_len)
		memcpy(p->bytes + p->used + a_len, b, b_len);
	p->used += static_cast<uint32_t>(a_len + b_len);
	packet_head_write(c, p, flags);
	memcpy(p->bytes + offsetof(packet_head, protocol), &protocol, sizeof protocol);
	packet_post(c, p);
}

// protocol: the peer's version, so that it understands the reason.
void refuse(channel &c, const std::string &why, uint8_t protocol = kProtocol)
{
	net_link &l = *c.link;
	if (worth_a_line(l.refused_greetings))
		PGAS_WARN(FI_LOG_EP_CTRL, "link: %s was refused: %s (%llu so far)\n", link_show(l, c.address).c_str(),
			  why.c_str(), static_cast<unsigned long long>(l.refused_greetings));
	send_with(c, kPacketRefuse, why.data(), std::min(why.size(), kRefusalMost), nullptr, 0, protocol);
	channel_end(c, -FI_ECONNREFUSED, why, false);
}

// Returns why we cannot talk to the peer; empty: we can.
std::string objection(const net_link &l, const packet_head &p, const hello &h)
{
	char text[kRefusalMost];
	if (p.protocol != kProtocol)
		snprintf(text, sizeof text, "it speaks version %u of the link's protocol, we speak %u", p.protocol,
			 kProtocol);
	else if (h.machine != l.machine)
		snprintf(text, sizeof text,
			 "machines of different kinds: architecture %u, pages of %u KiB there; %u, %u KiB here",
			 h.machine.architecture, h.machine.page_kib, l.machine.architecture, l.machine.page_kib);
	else if ((h.features & kFeatureSigned) != (l.signs ? kFeatureSigned : 0))
		return "one side signs packets and the other does not: set FI_PGAS_NET_SIGN to the same on all hosts";
	else if (h.role == link_role::caller && !l.client.name_of(l.client.self, h.looks_for))
		return "no such endpoint (it may have closed)";
	else
		return "";
	return text;
}

void hello_take(channel &c, const hello &h)
{
	c.greeting->theirs = h;
	c.id = h.id;
	c.session_out = h.session;
	c.number_out = h.channel;
	c.longest = static_cast<uint32_t>(std::min<size_t>(h.packet, c.link->set.packet)) & ~7u;
	c.heard_at = pgas_now_ns();
}

// The peer's proof was right, and everything after ours is signed. The keys are as fresh as the nonces.
void sign_from_now(channel &c)
{
	const link_role mine = c.greeting->role;
	c.key_out = hash_greeting(c, "pgas link sign", mine);
	c.key_in = hash_greeting(c, "pgas link sign", other(mine));
	c.signs = c.link->signs;
}

void trust_line(const channel &c)
{
	port &p = *c.link->port;
	const secret key = hash_greeting(c, "pgas line", link_role::caller);
	if (p.ops->trust)
		p.ops->trust(p, c.line, key.data());
}

} // namespace

channel &open_channel(channel &proven)
{
	net_link &l = *proven.link;
	for (auto &old : l.channels) // another process had that address before
		if (old && old.get() != &proven && old->open() && old->address == proven.address)
			channel_end(*old, -FI_ECONNRESET, "another process has its address now", false);
	proven.state = channel_state::open;
	if (!proven.accepted)
		trust_line(proven);
	stranger_known(proven);
	channel &c = proven.called ? proven : take_place(proven);
	c.greeting.reset();
	c.asked_at = 0;
	call_settled(c);
	l.client.opened(l.client.self, c);
	return c;
}

namespace {

// --- hellos ----------------------------------------------------------------------------------------------------------

// Is it well-formed, and does it name the peer whose line it came by?
bool plausible(const net_link &l, uint64_t line, const hello &h, link_role role)
{
	if (!h.address_len || h.address_len > kLinkAddressMost || h.kind != l.port->kind || h.packet < kPacketLeast ||
	    !h.id || h.id == l.id || h.role != role || link_show(l, address_of(h)).empty())
		return false;
	return !l.port->ops->peer || l.port->ops->peer(*l.port, line) == address_of(h);
}

// Returns the channel that has this line, even one that is over but not freed yet; null: none, or the port has no
// lines.
channel *channel_by(const net_link &l, uint64_t line)
{
	const auto it =
		std::ranges::find_if(l.channels, [line](const auto &c) { return c && line && c->line == line; });
	return it == l.channels.end() ? nullptr : it->get();
}

// A peer calls us.
bool called(net_link &l, uint64_t line, const packet_head &p, const hello &h)
{
	const std::string address = address_of(h);
	if (channel_by(l, line))
		return false; // one call per line
	const channel *own = channel_to(l, address);
	if (own && own->open() && own->id == h.id)
		return false; // the peer has an open channel already
	channel *c = stranger_new(l, line, address);
	if (!c)
		return false;
	c->greeting->role = link_role::callee;
	hello_take(*c, h);
	if (const std::string why = objection(l, p, h); !why.empty()) {
		refuse(*c, why, p.protocol);
		return true;
	}
	c->greeting->name = l.client.name_of(l.client.self, h.looks_for);
	// both call at once: the call of the lower address stays
	c->held = own && own->greeted && own->state == channel_state::greeting && l.address < address;
	if (!c->held)
		answer(*c);
	return true;
}

// A peer answers our call.
bool answered(net_link &l, uint64_t line, const packet_head &p, const hello &h, const proof &its)
{
	channel *c = p.channel < l.channels.size() ? l.channels[p.channel].get() : nullptr;
	if (!c || c->state != channel_state::greeting || !c->greeted || c->session_in != p.session || c->id ||
	    (line && c->line != line) || c->address != address_of(h) || c->greeting->role != link_role::caller)
		return false;
	hello_take(*c, h);
	if (const std::string why = objection(l, p, h); !why.empty()) {
		refuse(*c, why);
		return true;
	}
	if (!proves(*c, its)) {
		refuse(*c, "it does not know this job's secret, or not the address that was called");
		return true;
	}
	const proof mine = own_proof(*c);
	send_with(*c, kPacketProof, &mine, sizeof mine);
	if (c->state == channel_state::greeting && c->greeted) { // the line was not lost meanwhile
		sign_from_now(*c);
		c->greeting->proven = true;
	}
	return true;
}

// The first fields of a hello are the same in every version. A peer that answers our call in another version is
// refused.
bool refuse_version(net_link &l, uint64_t line, const packet_head &p, const char *bytes, size_t len)
{
	hello h{};
	if (len < offsetof(hello, packet))
		return false;
	memcpy(&h, bytes, offsetof(hello, packet));
	const std::string address = line && l.port->ops->peer ? l.port->ops->peer(*l.port, line) : "";
	channel *c = channel_by(l, line);
	if (!c && !address.empty())
		c = stranger_new(l, line, address);
	if (!c || c->state != channel_state::greeting || c->id)
		return false;
	c->session_out = h.session;
	c->number_out = h.channel;
	refuse(*c, objection(l, p, h), p.protocol);
	return true;
}

} // namespace

void hello_forget(channel &c)
{
	c.id = c.session_out = 0;
	c.number_out = 0;
	c.longest = kPacketLeast;
}

void greet(channel &c)
{
	handshake &g = *c.greeting;
	c.greeted = true;
	g.ours = hello_of(c, link_role::caller, g.ours.looks_for, g.ours.endpoint);
	c.greeted_at = pgas_now_ns();
	send_with(c, kPacketHello, &g.ours, sizeof g.ours);
}

void answer(channel &c)
{
	handshake &g = *c.greeting;
	c.held = false;
	c.greeted = true;
	g.ours = hello_of(c, link_role::callee, kNoEndpoint, g.theirs.looks_for);
	const proof p = own_proof(c);
	send_with(c, kPacketHello | kPacketProof, &g.ours, sizeof g.ours, &p, sizeof p);
}

bool greeted_by(net_link &l, uint64_t line, const packet_head &p, const char *bytes, size_t len)
{
	if (p.protocol != kProtocol)
		return refuse_version(l, line, p, bytes, len);
	hello h;
	proof its{};
	const bool answers = p.channel != 0;
	if (len != sizeof h + (answers ? sizeof its : 0) || answers != ((p.flags & kPacketProof) != 0))
		return false;
	memcpy(&h, bytes, sizeof h);
	if (answers)
		memcpy(&its, bytes + sizeof h, sizeof its);
	if (!plausible(l, line, h, answers ? link_role::callee : link_role::caller))
		return false;
	return answers ? answered(l, line, p, h, its) : called(l, line, p, h);
}

// The proof of a caller whose hello was answered.
void proof_take(channel &c, const proof &p)
{
	if (c.state != channel_state::greeting || !c.id || !c.greeted || !c.stranger)
		return;
	if (!proves(c, p)) {
		refuse(c, "it does not know this job's secret, or not the address that it calls");
		return;
	}
	if (stranger_yields(c))
		return;
	sign_from_now(c);
	c.greeting->proven = true;
	stranger_accept(c);
	trust_line(c);
	send_bare(c, 0);
}

void refusal_take(net_link &l, const packet_head &h, const char *bytes, size_t len)
{
	channel &c = *l.channels[h.channel];
	if (c.state != channel_state::greeting)
		return;
	std::string why(bytes, std::min(len, kRefusalMost));
	for (char &ch : why) // untrusted text: keep terminals safe
		if (ch < ' ' || ch > '~')
			ch = '?';
	channel_end(c, -FI_ECONNREFUSED, "it refused us: " + why, false);
}

} // namespace pgas
