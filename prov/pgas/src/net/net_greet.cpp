// SPDX-License-Identifier: BSD-3-Clause
//
// Greeting: how two links find out that they belong together.
//
//   A calls B:  A -> B  HELLO          who I am, where I can be reached, a nonce, the endpoint I look for
//               B -> A  HELLO + PROOF  likewise; the proof is a keyed hash over both nonces
//               A -> B  PROOF
//   both call:  each answers the other's HELLO with a PROOF
//
// The key is the job's secret and the address of the endpoint that the caller looks for; so in a job without a secret,
// whoever has no address of the job cannot prove anything either. Nothing of a channel is run before its proof.
#include "net_link.hpp"
#include "../pgas_util.hpp"

#include <pgas/pgas_counter.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace pgas {
namespace {

constexpr uint32_t kStrangersMost = 256; // unproven at a time

std::string address_of(const hello &h)
{
	return {h.address, h.address_len};
}

hello hello_of(const channel &c)
{
	const link &l = *c.of;
	hello h{};
	h.machine = l.machine;
	h.id = l.id;
	h.nonce = c.my_nonce;
	h.session = c.session_in;
	h.channel = c.number;
	h.packet = static_cast<uint32_t>(l.set.packet);
	h.looks_for = c.called ? c.looks_for : kNoEndpoint;
	h.kind = static_cast<uint8_t>(l.at->kind);
	h.address_len = static_cast<uint8_t>(l.address.size());
	memcpy(h.address, l.address.data(), l.address.size());
	return h;
}

// from_us: the proof that we send; else the one that we expect.
secret proof_of(const channel &c, const std::string &name, bool from_us)
{
	const link &l = *c.of;
	const secret key = mac_of(l.set.key, name.data(), name.size());
	const uint64_t ours[] = {c.my_nonce, l.id}, its[] = {c.its_nonce, c.id};
	const uint64_t *by = from_us ? ours : its, *to = from_us ? its : ours;
	const uint64_t text[] = {by[0], to[0], by[1], to[1]};
	return mac_of(key, text, sizeof text);
}

std::string own_name(const link &l, uint16_t endpoint)
{
	const char *name = l.client.name_of(l.client.self, endpoint);
	return name ? name : "";
}

proof own_proof(const channel &c)
{
	proof p{};
	p.mine = !c.called;
	p.of = c.called ? c.looks_for : c.asked_for;
	const secret mac = proof_of(c, c.called ? c.called_name : own_name(*c.of, c.asked_for), true);
	memcpy(p.mac, mac.data(), sizeof p.mac);
	return p;
}

void send_with(channel &c, uint8_t flags, const void *a, size_t a_len, const void *b = nullptr, size_t b_len = 0)
{
	packet *p = packet_take(*c.of);
	if (!p)
		return; // the silence is noticed
	memcpy(p->bytes + p->used, a, a_len);
	if (b_len)
		memcpy(p->bytes + p->used + a_len, b, b_len);
	p->used += static_cast<uint32_t>(a_len + b_len);
	packet_head_write(c, p, flags);
	packet_post(c, p);
}

void answer(channel &c)
{
	const proof p = own_proof(c);
	if (c.greeted) {
		send_with(c, kPacketProof, &p, sizeof p);
		return;
	}
	c.greeted = true;
	const hello h = hello_of(c);
	send_with(c, kPacketHello | kPacketProof, &h, sizeof h, &p, sizeof p);
}

void refuse(link &l, const hello &h, const std::string &why)
{
	PGAS_WARN(FI_LOG_EP_CTRL, "link: %s was refused: %s\n", link_show(l, address_of(h)).c_str(), why.c_str());
	channel *c = channel_new(l, address_of(h));
	if (!c)
		return;
	c->number_out = h.channel;
	c->session_out = h.session;
	l.strangers++;
	send_with(*c, kPacketRefuse, why.data(), std::min(why.size(), kRefusalMost));
	channel_end(*c, -FI_ECONNREFUSED, why, true);
}

// Why we cannot talk to it; empty: we can.
std::string objection(const link &l, const packet_head &p, const hello &h)
{
	char text[kRefusalMost];
	if (p.protocol != kProtocol)
		snprintf(text, sizeof text, "it speaks version %u of the link's protocol, we speak %u", p.protocol,
			 kProtocol);
	else if (h.machine != l.machine)
		snprintf(text, sizeof text,
			 "machines of different kinds: architecture %u, pages of %u KiB there; %u, %u KiB here",
			 h.machine.architecture, h.machine.page_kib, l.machine.architecture, l.machine.page_kib);
	else if (h.looks_for != kNoEndpoint && !l.client.name_of(l.client.self, h.looks_for))
		return "no such endpoint (it may have closed)";
	else
		return "";
	return text;
}

channel *channel_of(link &l, const packet_head &p, const hello &h)
{
	const std::string address = address_of(h);
	if (p.channel) { // an answer to our own greeting
		channel *c = p.channel < l.channels.size() ? l.channels[p.channel].get() : nullptr;
		return c && c->session_in == p.session && c->address == address && !c->id ? c : nullptr;
	}
	for (auto &c : l.channels) // we called it at the same time
		if (c && c->state == channel_state::greeting && c->called && !c->id && c->address == address)
			return c.get();
	if (l.strangers >= kStrangersMost || h.looks_for == kNoEndpoint)
		return nullptr;
	channel *c = channel_new(l, address);
	if (c) {
		l.strangers++;
		c->asked_at = pgas_now_ns();
	}
	return c;
}

} // namespace

void greet(channel &c)
{
	c.greeted = true;
	const hello h = hello_of(c);
	send_with(c, kPacketHello, &h, sizeof h);
}

bool greeted_by(link &l, const packet_head &p, const char *bytes, size_t len)
{
	hello h;
	const bool with_proof = p.flags & kPacketProof;
	if (len != sizeof h + (with_proof ? sizeof(proof) : 0))
		return false;
	memcpy(&h, bytes, sizeof h);
	if (!h.address_len || h.address_len > kLinkAddressMost || h.kind != l.at->kind || h.packet < kPacketLeast ||
	    !h.id || h.id == l.id || link_show(l, address_of(h)).empty())
		return false;
	const std::string why = objection(l, p, h);
	if (!why.empty()) {
		if (l.strangers < kStrangersMost)
			refuse(l, h, why);
		return true;
	}
	channel *c = channel_of(l, p, h);
	if (!c || c->state == channel_state::over)
		return false;
	c->id = h.id;
	c->its_nonce = h.nonce;
	c->session_out = h.session;
	c->number_out = h.channel;
	c->longest = static_cast<uint32_t>(std::min<size_t>(h.packet, l.set.packet)) & ~7u;
	c->asked_for = h.looks_for;
	c->heard_at = pgas_now_ns();
	answer(*c);
	if (with_proof && c->state == channel_state::greeting) {
		proof its;
		memcpy(&its, bytes + sizeof h, sizeof its);
		proof_take(*c, its);
	}
	return true;
}

void proof_take(channel &c, const proof &p)
{
	link &l = *c.of;
	if (c.state != channel_state::greeting || !c.id)
		return;
	std::string name;
	if (!p.mine)
		name = own_name(l, p.of);
	else if (c.called && p.of == c.looks_for)
		name = c.called_name;
	const secret want = proof_of(c, name, false);
	if (name.empty() || !same_mac(want.data(), p.mac)) {
		const char *why = "it does not know this job's secret, or not the address it calls";
		PGAS_WARN(FI_LOG_EP_CTRL, "link: %s was refused: %s\n", link_show(l, c.address).c_str(), why);
		send_with(c, kPacketRefuse, why, strlen(why));
		channel_end(c, -FI_ECONNREFUSED, why, false);
		return;
	}
	for (auto &old : l.channels) // another process had that address before
		if (old && old.get() != &c && old->open() && old->address == c.address)
			channel_end(*old, -FI_ECONNRESET, "another process has its address now", false);
	if (!c.called)
		l.strangers--;
	c.state = channel_state::open;
	c.asked_at = 0;
	l.client.opened(l.client.self, c);
}

void refusal_take(link &l, const packet_head &h, const char *bytes, size_t len)
{
	channel &c = *l.channels[h.channel];
	if (c.state != channel_state::greeting)
		return;
	std::string why(bytes, std::min(len, kRefusalMost));
	for (char &ch : why) // it may be anything: keep terminals safe
		if (ch < ' ' || ch > '~')
			ch = '?';
	channel_end(c, -FI_ECONNREFUSED, "it refused us: " + why, false);
}

} // namespace pgas
