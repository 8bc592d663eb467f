// SPDX-License-Identifier: BSD-3-Clause
//
// Incoming packets: checked, run frame by frame, acknowledged. A malformed packet is dropped with a line in the log,
// without side effects; a peer that proved itself and then sends one is given up.
#include "net_link.hpp"
#include "support/pgas_util.hpp"

#include <pgas/pgas_counter.h>

#include <cstddef>
#include <cstring>
#include <utility>

namespace pgas {
namespace {

// Packets arrive whole and in order, so a line that delivered an impossible packet is useless: its sender would wait
// forever for the acknowledgement of the dropped packet.
void drop(net_link &l, uint64_t line, const char *why)
{
	if (worth_a_line(l.stats.refused))
		PGAS_WARN(FI_LOG_EP_DATA, "link: a packet was dropped: %s (%llu so far)\n", why,
			  static_cast<unsigned long long>(l.stats.refused));
	if (line && l.port->ops->drop)
		l.port->ops->drop(*l.port, line, why);
}

// Runs the frames of a packet; false: they are malformed.
bool run_frames(channel &c, const char *pos, const char *end)
{
	net_link &l = *c.link;
	for (uint32_t index = 0; pos < end; index++) {
		frame_head h;
		if (static_cast<size_t>(end - pos) < sizeof h)
			return false;
		memcpy(&h, pos, sizeof h);
		pos += sizeof h;
		const size_t bytes = size_t{h.words} * 8, tail = h.flags & kFrameTail;
		if (bytes > static_cast<size_t>(end - pos) || tail > bytes)
			return false;
		l.stats.frames_in++;
		if (!l.client.frame(l.client.self, c, h, pos, bytes - tail, index) || !c.open())
			return false;
		pos += bytes;
	}
	return true;
}

void report_clear(channel &c)
{
	if (!c.clear())
		return;
	c.asked_at = 0;
	if (c.again && c.open())
		c.link->client.cleared(c.link->client.self, c);
}

void take_ack(channel &c, uint32_t ack)
{
	net_link &l = *c.link;
	while (!c.unacked.empty() && static_cast<int32_t>(ack - c.unacked.front()->seq) >= 0) {
		packet *p = c.unacked.front();
		c.unacked.pop_front();
		packet_over(l, p, 0);
	}
	c.acked = ack;
	report_clear(c);
}

bool plausible_ack(const channel &c, uint32_t ack)
{
	return static_cast<int32_t>(ack - c.acked) >= 0 && static_cast<int32_t>(c.sent - ack) >= 0;
}

void reject_frame(channel &c, const char *what)
{
	PGAS_WARN(FI_LOG_EP_DATA, "link: channel %u: %s\n", c.number, what);
	channel_end(c, -FI_ECONNRESET, std::string("it sent nonsense: ") + what, false);
}

constexpr const char *kNeverSent = "an acknowledgement of what was never sent";

// To be called after the frames, because they may report a failure in what is acknowledged. Answers leave before the
// port gets its buffer back.
void acknowledged(channel &c, uint32_t ack)
{
	take_ack(c, ack);
	if (c.filling && c.filling->frames)
		frame_push(c);
}

void run_packet(channel &c, const packet_head &h, const char *bytes)
{
	if (!plausible_ack(c, h.ack))
		return reject_frame(c, kNeverSent);
	if ((h.flags & kPacketBye) && (h.flags & kPacketData))
		return reject_frame(c, "a malformed end of a packet");
	if (h.flags & kPacketData) {
		if (h.seq != c.executed + 1)
			return reject_frame(c, "a packet out of turn");
		if (!run_frames(c, bytes + sizeof h, bytes + h.bytes)) {
			if (c.open())
				reject_frame(c, "a malformed frame");
			return;
		}
		if (std::exchange(c.urgent, false) && c.filling)
			packet_leave(c);
		c.executed = h.seq;
		channel_busy(c); // an acknowledgement is owed
	} else if (h.bytes != sizeof h) {
		return reject_frame(c, "bytes after a packet without frames");
	} else if (h.seq != c.executed) {
		return reject_frame(c, "a packet is missing");
	}
	acknowledged(c, h.ack);
	if (h.flags & kPacketWake)
		link_stay_awake(*c.link);
	if (h.flags & kPacketPing)
		send_bare(c, 0);
	else if (c.executed - c.ack_sent > c.link->set.window / 4)
		send_bare(c, 0);
	if (h.flags & kPacketBye) {
		c.said_bye = true;
		channel_end(c, -FI_ECONNRESET, "it ended", true);
	}
}

} // namespace

// Returns the channel that a packet is for; null: that line has none.
static channel *channel_of(const net_link &l, uint64_t line, const packet_head &h)
{
	channel *c = h.channel < l.channels.size() ? l.channels[h.channel].get() : nullptr;
	return c && (!line || c->line == line) && (c->signs || h.session == c->session_in) ? c : nullptr;
}

[[gnu::cold]] static bool signature_fits(channel &c, const packet_head &h, const char *bytes)
{
	const uint64_t want =
		sign_packet(c.key_in, c.signed_in, bytes, h.bytes, offsetof(packet_head, session), c.session_in);
	if (want == h.session) {
		c.signed_in++;
		return true;
	}
	constexpr const char *kWhat = "a packet whose signature is wrong: it was changed, or is not of this peer";
	if (c.link->port->ops->keep) {
		reject_frame(c, kWhat);
	} else { // without lines anybody may have sent it, so it must not end the channel
		drop(*c.link, 0, kWhat);
		c.trouble = kWhat;
	}
	return false;
}

static void greeting_receive(net_link &l, uint64_t line, const packet_head &h, const char *bytes)
{
	const char *const body = bytes + sizeof h;
	const size_t len = h.bytes - sizeof h;
	if (h.flags & kPacketHello) {
		if (!greeted_by(l, line, h, body, len))
			drop(l, line, "a greeting that cannot be");
		return;
	}
	channel *c = channel_of(l, line, h);
	if (!c || h.session != c->session_in) // these are never signed
		return drop(l, line, "for nobody");
	if (c->state == channel_state::over)
		return; // the peer could not know yet
	if (c->state != channel_state::greeting)
		return drop(l, line, "a greeting after the greeting");
	if (h.flags & kPacketRefuse)
		return refusal_take(l, h, body, len);
	proof p;
	if (h.protocol != kProtocol || len != sizeof p)
		return drop(l, line, "a proof that cannot be");
	c->heard_at = l.clock;
	memcpy(&p, body, sizeof p);
	proof_take(*c, p);
}

void packet_receive(net_link &l, uint64_t line, const char *bytes, size_t len)
{
	packet_head h;
	if (len < sizeof h)
		return drop(l, line, "shorter than a head");
	memcpy(&h, bytes, sizeof h);
	if (h.magic != kPacketMagic)
		return drop(l, line, "not a packet of the link");
	if (h.bytes != len)
		return drop(l, line, "its length is not what it says");
	l.stats.packets_in++;
	if (h.flags & (kPacketHello | kPacketRefuse | kPacketProof)) [[unlikely]]
		return greeting_receive(l, line, h, bytes);
	if (h.protocol != kProtocol)
		return drop(l, line, "another version of the protocol");
	channel *c = channel_of(l, line, h);
	if (!c)
		return drop(l, line, "for nobody");
	if (c->state == channel_state::over) {
		if (c->said_bye || c->lost.load(std::memory_order_relaxed))
			drop(l, line, "more, though it is over"); // the peer may wait for an acknowledgement
		return;                                           // otherwise it could not know yet
	}
	const bool confirms = !c->open();
	if (confirms && !c->greeting->proven) [[unlikely]]
		return drop(l, line, "from a peer that has not proved itself");
	if (c->signs && !signature_fits(*c, h, bytes)) [[unlikely]]
		return;
	c->heard_at = l.clock;
	if (confirms) [[unlikely]] {
		const bool was_callee = c->accepted;
		c = &open_channel(*c);
		if (!was_callee && c->open())
			send_bare(*c, 0); // the callee waits for it
		if (!c->open())
			return;
	}
	run_packet(*c, h, bytes);
}

// The word is our number of the channel and the low half of the acknowledgement. The port's line identifies the peer.
void put_receive(net_link &l, uint64_t line, uint32_t word)
{
	channel *c = word >> 16 < l.channels.size() ? l.channels[word >> 16].get() : nullptr;
	l.stats.packets_in++;
	if (!c || c->line != line || c->state == channel_state::greeting)
		return drop(l, line, "a put for nobody");
	if (!c->open())
		return; // the peer could not know yet
	if (c->signs)
		return reject_frame(*c, "a put without a signature");
	c->heard_at = l.clock;
	const auto behind = static_cast<int16_t>(static_cast<uint16_t>(word) - static_cast<uint16_t>(c->acked));
	const uint32_t ack = c->acked + static_cast<uint32_t>(int32_t{behind});
	if (!plausible_ack(*c, ack))
		return reject_frame(*c, kNeverSent);
	l.client.written(l.client.self);
	acknowledged(*c, ack);
}

// Reported by the adapters, not by the peer, which may be stopped: no sign of life.
void straight_done(net_link &l, uint64_t line, uint32_t number)
{
	channel *c = number < l.channels.size() ? l.channels[number].get() : nullptr;
	if (!c || c->line != line || !c->straight_out)
		return; // the channel ended before
	straight_over(*c, 0);
	report_clear(*c);
}

} // namespace pgas
