// SPDX-License-Identifier: BSD-3-Clause
//
// Detection of silent peers: a peer that owes us something is pinged now and then. If its process ended, sending fails;
// if the network lost it without notice, nothing arrives (TCP needs a quarter of an hour to notice), and it is given
// up.
//
// FI_PGAS_PEER_TIMEOUT is a promise: a shorter outage ends nothing. The kernel repeats what was lost in an outage at
// intervals that double, so the try that gets through may come as late as twice that time: the port reports it if it
// knows (port_life), otherwise it is assumed. The port also knows whether the peer's host still acknowledges what
// reaches it: then the process exists but does not run, because it is stopped or in a debugger, and the link waits
// however long that takes. That holds for a peer that proved itself: before its proof, any process may be at its
// address.
#include "net_link.hpp"
#include "support/pgas_util.hpp"

#include <pgas/pgas_counter.h>

#include <algorithm>
#include <cstdio>

namespace pgas {
namespace {

constexpr uint64_t kCheckNs = 20'000'000;
constexpr uint64_t kAskNs = 200'000'000, kAskMostNs = 5'000'000'000;
constexpr uint64_t kGraceNs = 2'000'000'000;
// If the port has no lines, nothing reports that a callee gave up waiting for our proof: call again.
constexpr uint64_t kCallAgainNs = 5'000'000'000;

void give_up(channel &c, uint64_t silent)
{
	char text[120];
	snprintf(text, sizeof text, "%s for %.1f s (FI_PGAS_PEER_TIMEOUT)",
		 c.open() ? "nothing came from it" : "it did not answer our greeting",
		 static_cast<double>(silent) / 1e9);
	channel_end(c, -FI_ECONNRESET, c.trouble.empty() ? text : text + ("; before that: " + c.trouble), false);
}

void ask(net_link &l, channel &c, uint64_t now)
{
	c.pinged_at = now;
	if (c.open() && c.backlog.empty())
		send_bare(c, kPacketPing);
	else if (!c.open() && c.greeted && c.called && !l.port->ops->keep && now - c.greeted_at > kCallAgainNs)
		call_again(c, -FI_ECONNRESET, "no answer");
	else if (!c.backlog.empty() && c.line && l.port->ops->gone(*l.port, c.line, c.address.data(), c.address.size()))
		channel_end(c, -FI_ECONNRESET, "its process ended", false);
}

// Nothing arrived for longer than allowed. Is there still hope?
bool may_return(const net_link &l, const channel &c, uint64_t silent)
{
	if (l.client.stopped(l.client.self, c))
		return true;
	const uint64_t patience = l.set.timeout_ns;
	if (!c.line) // between two calls, each of which takes three seconds if no host answers
		return silent < patience + 2 * kGraceNs;
	const port_life life = l.port->ops->life ? l.port->ops->life(*l.port, c.line, silent, patience)
						 : port_life::unknown;
	if (life == port_life::reachable && c.open())
		return true;
	return life != port_life::lost && silent < 2 * patience + kGraceNs;
}

// A peer that does not answer is pinged less and less often, because the pings stay in its memory until it does; but
// often enough that its host's last acknowledgement is never as old as our patience.
uint64_t ask_interval(const net_link &l, uint64_t silent)
{
	return std::clamp(silent / 4, kAskNs, std::max(kAskNs, std::min(kAskMostNs, l.set.timeout_ns / 4)));
}

void check_channel(net_link &l, channel &c, uint64_t now)
{
	if (c.state == channel_state::over) {
		channel_free(c);
		return;
	}
	const bool waits = c.state == channel_state::greeting || !c.clear() || c.bulk ||
			   l.client.expects(l.client.self, c);
	if (!waits) {
		c.asked_at = 0;
		return;
	}
	if (!c.asked_at)
		c.asked_at = now;
	const uint64_t since = std::max(c.asked_at, c.heard_at), silent = now > since ? now - since : 0;
	if (silent > l.set.timeout_ns && !may_return(l, c, silent))
		give_up(c, silent);
	else if (silent > kAskNs && now - c.pinged_at > ask_interval(l, silent))
		ask(l, c, now);
}

// While no thread of this process polled, because the process was stopped or the cores were busy, no peer counts as
// silent: what it sent may be here unread, and the peers that it waits for may be as late as we are.
void forgive(channel &c, uint64_t missed)
{
	if (c.asked_at)
		c.asked_at += missed;
	c.heard_at += missed;
	c.born_at += missed; // a stranger's proof may be here unread
}

} // namespace

void watch_silence(net_link &l, uint64_t now)
{
	const uint64_t since = now - l.checked_at;
	if (since < kCheckNs)
		return;
	const uint64_t missed = since > kAskNs ? since - kAskNs : 0;
	l.checked_at = now;
	for (size_t i = 1; i < l.channels.size(); i++) {
		if (l.channels[i] && missed)
			forgive(*l.channels[i], missed);
		if (l.channels[i])
			check_channel(l, *l.channels[i], now);
	}
}

} // namespace pgas
