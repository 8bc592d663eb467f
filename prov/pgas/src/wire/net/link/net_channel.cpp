// SPDX-License-Identifier: BSD-3-Clause
//
// Channels: their end, the packets that leave by them, and the frames that fill packets. How channels begin is in
// net_call.cpp and net_greet.cpp.
#include "net_link.hpp"
#include "support/pgas_util.hpp"

#include <pgas/pgas_counter.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace pgas {
namespace {

constexpr size_t kSlabPackets = 8;
constexpr uint64_t kRouseNs = 100'000; // how often a peer is told to expect transfers
constexpr uint64_t kAwakeNs = 300'000; // longer than the interval between two such messages

// Packets come in slabs, because some ports want their memory registered.
bool slab_add(net_link &l)
{
	const size_t each = round_up(l.set.packet, 64);
	auto memory = std::make_unique<char[]>(each * kSlabPackets);
	port_memory exposed;
	if (l.port->ops->expose(*l.port, memory.get(), each * kSlabPackets, kPortLocal, &exposed) != 0)
		return false;
	for (size_t i = 0; i < kSlabPackets; i++) {
		auto p = std::make_unique<packet>();
		p->of_link = true;
		p->bytes = memory.get() + i * each;
		p->handle = exposed.handle;
		p->next = l.spare;
		l.spare = p.get();
		l.packets.push_back(std::move(p));
	}
	l.slabs.emplace_back(std::move(memory), exposed);
	return true;
}

} // namespace

std::string link_show(const net_link &l, const std::string &address)
{
	return l.port->ops->show(*l.port, address.data(), address.size());
}

// --- channels --------------------------------------------------------------------------------------------------------

void channel_drop(channel &c)
{
	net_link &l = *c.link;
	const auto [begin, end] = l.by_address.equal_range(c.address);
	l.by_address.erase(std::find_if(begin, end, [&c](const auto &entry) { return entry.second == &c; }));
	l.holes.push_back(c.number);
	l.channels[c.number].reset();
}

// Frees a channel that is over and has no references, unless the port still has packets of it.
void channel_free(channel &c)
{
	net_link &l = *c.link;
	if (c.users || c.state != channel_state::over || c.bulk || c.listed)
		return;
	for (const auto &p : l.packets)
		if (p->dest == &c && p->in_flight)
			return;
	if (c.line)
		l.port->ops->remove(*l.port, c.line);
	channel_drop(c);
}

void channel_release(channel &c)
{
	c.users--;
	channel_free(c);
}

void channel_end(channel &c, int why, const std::string &reason, bool orderly)
{
	if (c.state == channel_state::over)
		return;
	net_link &l = *c.link;
	const bool called = c.called && c.state == channel_state::greeting, stranger = c.stranger || c.accepted;
	c.state = channel_state::over;
	c.why = why;
	c.reason = reason;
	if (!orderly)
		c.lost.store(true, std::memory_order_release);
	run_close(c);
	if (packet *p = std::exchange(c.filling, nullptr))
		packet_over(l, p, why);
	for (packet *p : std::exchange(c.backlog, {})) {
		p->in_flight = false;
		packet_spare(l, p); // packets that wait for an acknowledgement are in the other list, too
	}
	if (c.straight_out)
		straight_over(c, why);
	while (!c.unacked.empty()) {
		packet *p = c.unacked.front();
		c.unacked.pop_front();
		packet_over(l, p, why);
	}
	c.asked_at = 0;
	if (called)
		call_failed(c);
	if (stranger)
		stranger_known(c);
	else
		l.client.ended(l.client.self, c);
}

// For a greeting channel: drops its waiting packets and detaches those in the port, whose completions are then ignored.
void packets_forget(channel &c)
{
	net_link &l = *c.link;
	for (packet *p : std::exchange(c.backlog, {})) {
		p->in_flight = false;
		packet_spare(l, p);
	}
	for (const auto &p : l.packets)
		if (p->dest == &c)
			p->dest = nullptr;
}

bool channel_idle(const channel &c)
{
	return c.clear() && !c.filling && !c.bulk;
}

void channel_rouse(channel &c)
{
	if (!c.link->port->limits.unseen)
		return;
	const uint64_t now = pgas_now_ns();
	if (now - c.roused_at < kRouseNs || !c.open() || !c.backlog.empty())
		return;
	c.roused_at = now;
	send_bare(c, kPacketWake);
}

void link_stay_awake(net_link &l)
{
	l.awake_until = pgas_now_ns() + kAwakeNs;
}

void channel_busy(channel &c)
{
	if (c.listed)
		return;
	c.listed = true;
	c.link->busy.push_back(&c);
}

// --- packets ---------------------------------------------------------------------------------------------------------

packet *packet_take(net_link &l)
{
	if (!l.spare && !slab_add(l))
		return nullptr;
	packet *p = l.spare;
	l.spare = p->next;
	p->next = nullptr;
	p->used = sizeof(packet_head);
	p->frames = p->seq = 0;
	return p;
}

void packet_spare(net_link &l, packet *p)
{
	if (p->in_flight || p->waits)
		return; // the other of the two events is still to come
	p->dest = nullptr;
	p->notices.clear();
	p->failures.clear();
	p->next = l.spare;
	l.spare = p;
}

// Delivers the notices of a packet that was run (0) or lost.
void packet_over(net_link &l, packet *p, int status)
{
	for (const notice &n : p->notices) {
		uint32_t bad = 0;
		int why = status;
		for (const failure &f : p->failures) {
			if (status || f.frame < n.first || f.frame - n.first >= n.frames)
				continue;
			why = why ? why : f.status;
			bad++;
		}
		bad = status ? n.operations : std::min(bad, n.operations);
		l.client.over(l.client.self, n, n.operations - bad, bad, why);
	}
	p->notices.clear();
	p->waits = false;
	packet_spare(l, p);
}

[[gnu::cold]] static void packet_sign(channel &c, packet *p)
{
	const uint64_t signature = sign_packet(c.key_out, c.signed_out++, p->bytes, p->used,
					       offsetof(packet_head, session), c.session_out);
	memcpy(p->bytes + offsetof(packet_head, session), &signature, sizeof signature);
}

void packet_head_write(channel &c, packet *p, uint8_t flags)
{
	packet_head h{};
	h.magic = kPacketMagic;
	h.protocol = kProtocol;
	h.flags = flags;
	h.bytes = p->used;
	h.channel = c.number_out;
	h.seq = flags & kPacketData ? p->seq : c.sent; // reveals a lost packet before it
	h.ack = c.executed;
	h.session = c.session_out;
	memcpy(p->bytes, &h, sizeof h);
	if (c.signs) [[unlikely]]
		packet_sign(c, p);
	if (c.owes())
		c.link->stats.acks_out++;
	c.ack_sent = c.executed;
}

// Returns why the port has no way to the peer any more, for log messages.
static std::string trouble_with(const channel &c, int status)
{
	const port &p = *c.link->port;
	const std::string why = p.ops->trouble ? p.ops->trouble(p, c.line) : "";
	return why.empty() ? pgas_strerror(-status) : why;
}

void line_gone(channel &c, int status, const char *what)
{
	const std::string why = trouble_with(c, status);
	if (c.state != channel_state::over && !call_again(c, status, why))
		channel_end(c, -FI_ECONNRESET, what + why, false);
}

[[gnu::cold]] static void send_failed(channel &c, packet *p, int status)
{
	p->in_flight = false;
	packet_spare(*c.link, p);
	line_gone(c, status, "cannot send to it: ");
}

// Hands a packet to the port: the first one of the backlog, if there is one. Returns false if the port has no room now.
static bool port_takes(channel &c, packet *p)
{
	net_link &l = *c.link;
	if (!c.line) [[unlikely]]
		return false; // it calls later
	const port_sent s = l.port->ops->send(*l.port, c.line, p->bytes, p->used, p->handle, p);
	if (s.status == -FI_EAGAIN)
		return false;
	if (!c.backlog.empty())
		c.backlog.pop_front();
	if (s.status) [[unlikely]] {
		send_failed(c, p, s.status);
		return true;
	}
	l.stats.packets_out++;
	p->in_flight = s.packet == port_send::queued;
	if (!p->in_flight)
		packet_spare(l, p);
	return true;
}

void backlog_push(channel &c)
{
	while (!c.backlog.empty() && port_takes(c, c.backlog.front()))
		;
}

void packet_post(channel &c, packet *p)
{
	p->dest = &c;
	p->in_flight = true; // until the port reports otherwise: nobody may take it meanwhile
	const bool first = c.backlog.empty();
	if (first && port_takes(c, p)) [[likely]]
		return;
	c.backlog.push_back(p);
	if (!first)
		backlog_push(c);
	if (!c.backlog.empty())
		channel_busy(c);
}

void packet_leave(channel &c)
{
	run_close(c);
	packet *p = std::exchange(c.filling, nullptr);
	p->seq = ++c.sent;
	p->waits = true;
	if (c.clear() && !c.asked_at)
		c.asked_at = c.link->clock; // possibly too early: watch_silence() forgives time in which nobody polled
	c.unacked.push_back(p);
	packet_head_write(c, p, kPacketData);
	c.link->stats.frames_out += p->frames;
	packet_post(c, p);
}

bool send_bare(channel &c, uint8_t flags)
{
	packet *p = packet_take(*c.link);
	if (!p)
		return false;
	packet_head_write(c, p, flags);
	packet_post(c, p);
	return true;
}

// --- frames ----------------------------------------------------------------------------------------------------------

void run_open(channel &c, word_run &run, uint32_t &count)
{
	packet *p = c.filling;
	const uint32_t end = c.link->holds && c.clear() ? std::max(kHeldBytes, p->used) : c.longest;
	const size_t places = (end - p->used) / kRunStep;
	c.run = &run;
	c.run_count = &count;
	c.run_from = run.pos = p->bytes + p->used;
	run.end = run.pos + places * kRunStep;
}

void run_open_straight(channel &c, word_run &run, uint64_t span, const notice &about)
{
	c.run = &run;
	c.straight = about;
	c.straight_word = c.number_out << 16;
	run.span = span;
}

void straight_over(channel &c, int status)
{
	c.straight_out = false;
	if (c.straight.who)
		c.link->client.over(c.link->client.self, c.straight, status ? 0 : 1, status ? 1 : 0, status);
}

void run_close_slow(channel &c)
{
	word_run &run = *std::exchange(c.run, nullptr);
	if (std::exchange(run.span, 0))
		return; // nothing was appended
	packet *p = c.filling;
	const auto bytes = static_cast<uint32_t>(run.pos - c.run_from), frames = bytes / uint32_t{kRunStep};
	p->used += bytes;
	p->frames += frames;
	p->notices.back().frames += frames;
	p->notices.back().operations += frames;
	*c.run_count += frames;
	run.pos = run.end = nullptr;
}

char *frame_begin_slow(channel &c, size_t bytes, bool must)
{
	net_link &l = *c.link;
	if (sizeof(packet_head) + sizeof(frame_head) + bytes + 7 > c.longest || !c.open())
		return nullptr;
	if (c.filling) {
		if (!must && (c.unacked.size() >= l.set.window || !c.backlog.empty()))
			return nullptr;
		packet_leave(c);
		if (!c.open()) // sending failed
			return nullptr;
	}
	c.filling = packet_take(l);
	if (!c.filling)
		return nullptr;
	c.filling->dest = &c;
	channel_busy(c);
	return c.filling->bytes + c.filling->used + sizeof(frame_head);
}

void packet_notice(channel &c, const notice &about)
{
	packet *p = c.filling;
	const uint32_t first = p->frames - about.frames;
	if (!about.context && about.frames == 1 && !p->notices.empty()) {
		notice &n = p->notices.back();
		if (n.who == about.who && n.kind == about.kind && !n.context && n.flags == about.flags &&
		    n.target == about.target && n.first + n.frames == first && n.operations == n.frames) {
			n.frames++;
			n.operations++;
			return;
		}
	}
	p->notices.push_back(about);
	p->notices.back().first = first;
}

} // namespace pgas
