// SPDX-License-Identifier: BSD-3-Clause
//
// The link: life and progress.
#include "net_link.hpp"
#include "support/pgas_util.hpp"

#include <pgas/pgas_counter.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace pgas {
namespace {

constexpr uint64_t kFarewellNs = 200'000'000; // how long closing waits for what is still in flight

machine_kind this_machine()
{
	machine_kind m{};
	m.byte_order = 0x01020304;
	m.page_kib = static_cast<uint16_t>(page_bytes() / 1024);
	m.word_bytes = sizeof(void *);
#if defined(__x86_64__)
	m.architecture = 1;
#elif defined(__aarch64__)
	m.architecture = 2;
#endif
	return m;
}

} // namespace

std::unique_ptr<net_link> link_open(port *p, const link_client &client, const link_settings &set)
{
	auto l = std::make_unique<net_link>();
	l->port = {p, p->ops->close};
	l->client = client;
	l->set = set;
	l->set.packet = std::clamp(set.packet, kPacketLeast, std::min(p->limits.packet, kFrameMost)) & ~size_t{7};
	l->machine = this_machine();
	l->id = random_word();
	l->signs = set.sign || !p->ops->keep; // otherwise anybody who sees a packet could send another from anywhere
	char address[kLinkAddressMost];
	l->address.assign(address, p->ops->address(*p, address));
	l->channels.push_back(nullptr);
	l->clock = l->checked_at = pgas_now_ns();
	return l;
}

// --- progress --------------------------------------------------------------------------------------------------------

void link_flush(net_link &l)
{
	// sending a packet may end its channel, but the list only changes at its end
	for (size_t i = 0; i < l.busy.size(); i++) {
		channel &c = *l.busy[i];
		backlog_push(c);
		if (c.filling && c.filling->frames && c.backlog.empty() && c.unacked.size() < l.set.window)
			packet_leave(c);
	}
}

// Removes the channels that have nothing to send any more.
static void busy_sweep(net_link &l)
{
	for (size_t i = 0; i < l.busy.size();) {
		channel &c = *l.busy[i];
		if (c.filling && !c.filling->frames) // room was requested but not used
			packet_spare(l, std::exchange(c.filling, nullptr));
		if (c.state != channel_state::over && (c.filling || c.owes() || !c.backlog.empty())) {
			i++;
			continue;
		}
		c.listed = false;
		l.busy[i] = l.busy.back();
		l.busy.pop_back();
		channel_free(c);
	}
}

constexpr const char *kConnectionLost = "connection lost: ";

static void work_failed(net_link &l, const port_event &e)
{
	if (!e.work->of_link) {
		l.client.transfer(l.client.self, e.work, e.status);
		return;
	}
	auto *p = static_cast<packet *>(e.work);
	channel *c = p->dest;
	p->in_flight = false;
	packet_spare(l, p);
	if (c)
		line_gone(*c, e.status, kConnectionLost);
}

static bool take_in(net_link &l)
{
	constexpr int kAtOnce = 16, kRounds = 16; // then others get their turn
	bool moved = false;
	alignas(port_event)
		std::byte room[kAtOnce * sizeof(port_event)]; // uninitialized: poll() writes what it returns
	auto *const e = reinterpret_cast<port_event *>(room);
	for (int round = 0, n = kAtOnce; round < kRounds && n == kAtOnce; round++) {
		n = l.port->ops->poll(*l.port, e, kAtOnce);
		for (int i = 0; i < n; i++) {
			auto *p = static_cast<packet *>(e[i].work);
			switch (e[i].kind) {
			case port_event_kind::received:
				packet_receive(l, e[i].line, e[i].bytes, e[i].len);
				l.port->ops->give_back(*l.port, e[i].buffer);
				break;
			case port_event_kind::sent:
				p->in_flight = false;
				packet_spare(l, p);
				break;
			case port_event_kind::done:
				l.client.transfer(l.client.self, e[i].work, 0);
				break;
			case port_event_kind::failed:
				work_failed(l, e[i]);
				break;
			case port_event_kind::put_received:
				put_receive(l, e[i].line, e[i].word);
				break;
			case port_event_kind::put_done:
				straight_done(l, e[i].line, e[i].word);
				break;
			case port_event_kind::lost:
				for (size_t k = 1; k < l.channels.size(); k++)
					if (l.channels[k] && l.channels[k]->line == e[i].line)
						line_gone(*l.channels[k], e[i].status, kConnectionLost);
				break;
			}
		}
		moved = moved || n > 0;
	}
	if (std::exchange(l.port->bulk_moved, false))
		link_stay_awake(l);
	return moved;
}

bool link_progress(net_link &l)
{
	if (!l.busy.empty())
		link_flush(l); // before polling, which takes longer
	const bool moved = take_in(l);
	if (!l.busy.empty()) {
		link_flush(l);
		if (!moved) // nothing new to run: peers that wait for an acknowledgement get it now
			for (size_t i = 0; i < l.busy.size(); i++)
				if (l.busy[i]->open() && l.busy[i]->owes() && l.busy[i]->backlog.empty())
					send_bare(*l.busy[i], 0);
		busy_sweep(l);
	}
	if (++l.polls >= kPollsPerClock) {
		l.polls = 0;
		l.clock = pgas_now_ns();
		watch_silence(l, l.clock);
		if (!l.callers.empty() || !l.strangers.empty()) [[unlikely]]
			check_calls(l, l.clock);
	}
	return moved;
}

void link_close(net_link &l)
{
	const uint64_t until = pgas_now_ns() + kFarewellNs;
	const auto unfinished = [&l] {
		for (const auto &c : l.channels)
			if (c && c->open() && (!channel_idle(*c) || c->owes()))
				return true;
		return false;
	};
	while (unfinished() && pgas_now_ns() < until)
		link_progress(l);
	for (size_t i = 1; i < l.channels.size(); i++)
		if (l.channels[i] && l.channels[i]->open() && l.channels[i]->backlog.empty())
			send_bare(*l.channels[i], kPacketBye);
	const auto sending = [&l] {
		return std::any_of(l.packets.begin(), l.packets.end(), [](const auto &p) { return p->in_flight; });
	};
	while (sending() && pgas_now_ns() < until)
		link_progress(l);
	for (size_t i = 1; i < l.channels.size(); i++)
		if (l.channels[i])
			channel_end(*l.channels[i], -FI_ECONNRESET, "this side closed", true);
	for (auto &slab : l.slabs)
		l.port->ops->conceal(*l.port, slab.second);
}

} // namespace pgas
