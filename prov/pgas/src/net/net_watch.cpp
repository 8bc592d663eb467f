// SPDX-License-Identifier: BSD-3-Clause
//
// Who is silent: a peer that owes us something is asked now and then. Where its process ended, sending fails; where the
// network lost it without a word nothing comes (TCP needs a quarter of an hour to notice), and it is given up.
#include "net_link.hpp"
#include "../pgas_util.hpp"

#include <pgas/pgas_counter.h>

#include <algorithm>
#include <cstdio>

namespace pgas {
namespace {

constexpr uint64_t kLookNs = 20'000'000;
constexpr uint64_t kAskNs = 200'000'000;

void give_up(channel &c, const char *what)
{
	char text[120];
	snprintf(text, sizeof text, "%s for %.1f s (FI_PGAS_PEER_TIMEOUT)", what,
		 static_cast<double>(c.of->set.timeout_ns) / 1e9);
	channel_end(c, -FI_ECONNRESET, text, false);
}

void ask(link &l, channel &c, uint64_t now)
{
	c.pinged_at = now;
	if (c.open() && c.backlog.empty())
		send_bare(c, kPacketPing);
	else if (!c.backlog.empty() && l.at->ops->gone(*l.at, c.address.data(), c.address.size()))
		channel_end(c, -FI_ECONNRESET, "its process ended", false);
}

void look_at(link &l, channel &c, uint64_t now)
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
	if (silent > l.set.timeout_ns)
		give_up(c, c.open() ? "nothing came from it" : "it did not answer our greeting");
	else if (silent > kAskNs && now - c.pinged_at > kAskNs)
		ask(l, c, now);
}

// While nobody of this process looked, because it was stopped, or the cores were busy, no peer was silent: what it sent
// may be there, and those that it waits for may be as late as we are.
void forgive(channel &c, uint64_t missed)
{
	if (c.asked_at)
		c.asked_at += missed;
	c.heard_at += missed;
}

} // namespace

void watch_silence(link &l, uint64_t now)
{
	const uint64_t since = now - l.looked_at;
	if (since < kLookNs)
		return;
	const uint64_t missed = since > kAskNs ? since - kAskNs : 0;
	l.looked_at = now;
	for (size_t i = 1; i < l.channels.size(); i++) {
		if (l.channels[i] && missed)
			forgive(*l.channels[i], missed);
		if (l.channels[i])
			look_at(l, *l.channels[i], now);
	}
}

} // namespace pgas
