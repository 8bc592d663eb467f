// SPDX-License-Identifier: BSD-3-Clause
//
// Calls: which of two stays, when a call is repeated, and what strangers may cost.
//
// A channel that the client's operations use begins with a call of our own, on its own line. A channel that a peer
// begins is a *stranger* until its proof, and no operation uses it before: a process that merely claims to be at some
// address cannot keep us from calling there. When a stranger proves itself while we call the same address, it takes
// that call's place (take_place). To leave exactly one channel between two links that call each other at once:
//
//   each has called           the lower address holds the other's hello back unanswered; the other one answers, and
//                             the channel takes the place of its own call. The held stranger ends when the call
//                             is open, and is answered when the call fails
//   a stranger was answered   a call to its address waits until the stranger is open or gone, two seconds at most
//   a stranger was accepted   our own call to its address rests meanwhile, and goes on if the stranger's line is lost
//   both proved themselves    by two calls at once, because one of them waited so long: the lower address's call stays
//
// A stranger may keep its place for two seconds, and at most kStrangersMost have one; then the oldest is ended. A call
// that loses its line before it is open is repeated until FI_PGAS_PEER_TIMEOUT is over (net_watch.cpp), unless no
// process listens there any more.
#include "net_link.hpp"
#include "support/pgas_util.hpp"

#include <pgas/pgas_counter.h>

#include <algorithm>
#include <cerrno>

namespace pgas {
namespace {

constexpr size_t kStrangersMost = 256;
constexpr uint64_t kStrangerNs = 2'000'000'000;
constexpr uint64_t kRestLeastNs = 1'000'000, kRestMostNs = 128'000'000; // between two calls; doubled each time

channel *channel_new(net_link &l, const std::string &address)
{
	auto c = std::make_unique<channel>();
	c->link = &l;
	c->address = address;
	c->session_in = random_word();
	c->heard_at = c->born_at = pgas_now_ns();
	c->greeting = std::make_unique<handshake>();
	if (l.holes.empty()) {
		c->number = static_cast<uint32_t>(l.channels.size());
		l.channels.emplace_back();
	} else {
		c->number = l.holes.back();
		l.holes.pop_back();
	}
	channel *made = c.get();
	l.channels[made->number] = std::move(c);
	l.by_address.emplace(address, made);
	return made;
}

channel *channel_discard(channel &c)
{
	channel_drop(c);
	return nullptr;
}

bool insert_line(channel &c)
{
	const port &p = *c.link->port;
	return p.ops->insert(*c.link->port, c.address.data(), c.address.size(), &c.line) == 0;
}

bool call(channel &c)
{
	if (!insert_line(c))
		return false;
	greet(c);
	return true;
}

void call_later(channel &c, uint64_t when)
{
	c.call_at = when;
	c.link->callers.push_back(&c);
}

void end_stranger(channel &c, const char *why)
{
	channel_end(c, -FI_ECONNREFUSED, why, true);
	channel_free(c);
}

// The peer dropped the call (it has too many at once), or the network did. With other errors, no process listens there,
// or not one of our kind.
bool may_help(int status)
{
	switch (-status) {
	case ECONNRESET:
	case ECONNABORTED:
	case EPIPE:
	case EHOSTUNREACH:
	case EHOSTDOWN:
	case ENETUNREACH:
	case ENETDOWN:
	case ETIMEDOUT:
	case EADDRNOTAVAIL: // an interface that is down has no IPv6 addresses
	case EPERM:         // reported by a firewall
	case ENOBUFS:
	case ENOMEM:
		return true;
	default:
		return false;
	}
}

bool is_answered(const net_link &l, const std::string &address)
{
	const auto is_it = [&](const channel *s) { return s->greeted && s->address == address; };
	return std::ranges::any_of(l.strangers, is_it) || std::ranges::any_of(l.accepted, is_it);
}

// The next call begins anew: nothing of this one is left.
void call_rest(channel &c, uint64_t until)
{
	net_link &l = *c.link;
	packets_forget(c);
	l.port->ops->remove(*l.port, std::exchange(c.line, 0));
	c.greeted = c.greeting->proven = c.signs = false;
	c.signed_out = c.signed_in = 0;
	hello_forget(c);              // otherwise our next hello would look like an answer
	c.session_in = random_word(); // packets meant for the lost call are not for this one
	call_later(c, until);
}

} // namespace

channel *channel_to(net_link &l, const std::string &address)
{
	channel *found = nullptr; // the one with the least number
	const auto [begin, end] = l.by_address.equal_range(address);
	for (auto it = begin; it != end; ++it) {
		channel *c = it->second;
		if (c->state != channel_state::over && (c->called || c->open()) &&
		    (!found || c->number < found->number))
			found = c;
	}
	return found;
}

channel *link_call(net_link &l, const std::string &address, uint16_t endpoint, const std::string &name, uint16_t caller)
{
	if (channel *c = channel_to(l, address))
		return c;
	channel *c = channel_new(l, address);
	handshake &g = *c->greeting;
	g.role = link_role::caller;
	g.name = name;
	g.ours.looks_for = endpoint;
	g.ours.endpoint = caller;
	c->called = true;
	c->asked_at = c->born_at;
	if (is_answered(l, address))
		call_later(*c, c->born_at + kStrangerNs);
	else if (!call(*c))
		return channel_discard(*c);
	return c;
}

bool call_again(channel &c, int status, const std::string &why)
{
	if (!c.called || c.state != channel_state::greeting || !may_help(status))
		return false;
	c.trouble = why;
	const uint64_t rest = std::min(kRestLeastNs << std::min(c.calls++, 10u), kRestMostNs);
	call_rest(c, pgas_now_ns() + rest / 2 + random_word() % rest); // spreads calls dropped at the same moment
	return true;
}

void check_calls(net_link &l, uint64_t now)
{
	for (size_t i = l.callers.size(); i-- > 0;) {
		channel &c = *l.callers[i];
		if (now < c.call_at)
			continue;
		l.callers.erase(l.callers.begin() + static_cast<std::ptrdiff_t>(i));
		c.call_at = 0;
		if (!call(c))
			channel_end(c, -FI_EHOSTUNREACH, "it cannot be called", false);
	}
	while (!l.strangers.empty() && now > l.strangers.front()->born_at + kStrangerNs)
		end_stranger(*l.strangers.front(), "it did not prove itself");
}

// --- strangers -------------------------------------------------------------------------------------------------------

channel *stranger_new(net_link &l, uint64_t line, const std::string &address)
{
	if (l.strangers.size() >= kStrangersMost)
		end_stranger(*l.strangers.front(), "others want its place");
	channel *c = channel_new(l, address);
	if (l.port->ops->keep ? !l.port->ops->keep(*l.port, line) : !insert_line(*c))
		return channel_discard(*c);
	if (l.port->ops->keep)
		c->line = line;
	c->stranger = true;
	c->asked_at = c->born_at;
	l.strangers.push_back(c);
	return c;
}

// A line that is lost now is no harm: we send nothing before the peer's first packet, and call again if it does not.
void stranger_accept(channel &c)
{
	net_link &l = *c.link;
	const std::vector<channel *> others = l.accepted;
	for (channel *other : others)
		if (other->address == c.address)
			end_stranger(*other, "its peer has called again");
	std::erase(l.strangers, &c);
	c.stranger = false;
	c.accepted = true;
	l.accepted.push_back(&c);
	channel *own = channel_to(l, c.address);
	if (own && own->state == channel_state::greeting && own->greeted)
		call_rest(*own, pgas_now_ns() + kStrangerNs);
}

void stranger_known(channel &c)
{
	net_link &l = *c.link;
	const bool accepted = std::exchange(c.accepted, false);
	if (!std::exchange(c.stranger, false) && !accepted)
		return;
	std::erase(accepted ? l.accepted : l.strangers, &c);
	if (c.state == channel_state::over && !is_answered(l, c.address))
		for (channel *waiting : l.callers)
			if (waiting->address == c.address && (accepted || !waiting->calls))
				waiting->call_at = 0;
}

// Both sides must choose the same one: the call of the lower address.
bool stranger_yields(channel &c)
{
	const channel *own = channel_to(*c.link, c.address);
	if (!own || own->state != channel_state::greeting || !own->greeting->proven || !(c.link->address < c.address))
		return false;
	end_stranger(c, "our own call stays");
	return true;
}

void call_settled(channel &c)
{
	for (const std::vector<channel *> &those : {c.link->strangers, c.link->accepted})
		for (channel *s : those)
			if (s->address == c.address)
				end_stranger(*s, "it is here already");
}

void call_failed(channel &c)
{
	net_link &l = *c.link;
	if (c.call_at || !c.greeted)
		std::erase(l.callers, &c);
	const std::vector<channel *> strangers = l.strangers;
	for (channel *s : strangers)
		if (s->held && s->address == c.address && s->state == channel_state::greeting)
			answer(*s);
}

// Swaps what a greeting produces: numbers, lines, sessions and keys. Neither channel has sent anything else.
channel &take_place(channel &opened)
{
	net_link &l = *opened.link;
	const auto it = std::ranges::find_if(l.channels, [&](const auto &c) {
		return c && c->called && c->state == channel_state::greeting && c->address == opened.address;
	});
	if (it == l.channels.end())
		return opened;
	channel &own = **it;
	std::swap(l.channels[own.number], l.channels[opened.number]);
	std::swap(own.number, opened.number);
	std::swap(own.line, opened.line);
	std::swap(own.id, opened.id);
	std::swap(own.session_in, opened.session_in);
	std::swap(own.session_out, opened.session_out);
	std::swap(own.number_out, opened.number_out);
	std::swap(own.longest, opened.longest);
	std::swap(own.signs, opened.signs);
	std::swap(own.signed_out, opened.signed_out);
	std::swap(own.signed_in, opened.signed_in);
	std::swap(own.key_out, opened.key_out);
	std::swap(own.key_in, opened.key_in);
	std::swap(own.greeting, opened.greeting);
	std::swap(own.backlog, opened.backlog);
	for (const auto &p : l.packets)
		if (p->dest == &own || p->dest == &opened)
			p->dest = p->dest == &own ? &opened : &own;
	std::erase(l.callers, &own);
	own.call_at = 0;
	own.heard_at = opened.heard_at;
	own.state = channel_state::open;
	opened.state = channel_state::greeting;
	channel_end(opened, -FI_ECONNRESET, "the peer's call took its place", true);
	channel_busy(own);
	channel_busy(opened); // frees it
	return own;
}

} // namespace pgas
