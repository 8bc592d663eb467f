// SPDX-License-Identifier: BSD-3-Clause
//
// Packets in: checked, run frame by frame, acknowledged. What makes no sense is dropped with a line in the log, and
// touches nothing; a peer that proved itself and then makes no sense is given up.
#include "net_link.hpp"
#include "../pgas_util.hpp"

#include <pgas/pgas_counter.h>

#include <cstring>
#include <utility>

namespace pgas {
namespace {

void drop(link &l, const char *why)
{
	// as many lines as somebody can read, however many packets there are
	l.stats.refused++;
	if ((l.stats.refused & (l.stats.refused - 1)) == 0)
		PGAS_WARN(FI_LOG_EP_DATA, "link: a packet was dropped: %s (%llu so far)\n", why,
			  static_cast<unsigned long long>(l.stats.refused));
}

// Runs the frames of a packet; false: they make no sense.
bool run_frames(channel &c, const char *at, const char *end)
{
	link &l = *c.of;
	for (uint32_t index = 0; at < end; index++) {
		frame_head h;
		if (static_cast<size_t>(end - at) < sizeof h)
			return false;
		memcpy(&h, at, sizeof h);
		at += sizeof h;
		const size_t bytes = size_t{h.words} * 8, tail = h.flags & kFrameTail;
		if (bytes > static_cast<size_t>(end - at) || tail > bytes)
			return false;
		l.stats.frames_in++;
		if (!l.client.frame(l.client.self, c, h, at, bytes - tail, index) || !c.open())
			return false;
		at += bytes;
	}
	return true;
}

void look_if_clear(channel &c)
{
	if (!c.clear())
		return;
	c.asked_at = 0;
	if (c.again && c.open())
		c.of->client.cleared(c.of->client.self, c);
}

void take_ack(channel &c, uint32_t ack)
{
	link &l = *c.of;
	while (!c.unacked.empty() && static_cast<int32_t>(ack - c.unacked.front()->seq) >= 0) {
		packet *p = c.unacked.front();
		c.unacked.pop_front();
		packet_over(l, p, 0);
	}
	c.acked = ack;
	look_if_clear(c);
}

bool plausible_ack(const channel &c, uint32_t ack)
{
	return static_cast<int32_t>(ack - c.acked) >= 0 && static_cast<int32_t>(c.sent - ack) >= 0;
}

void nonsense(channel &c, const char *what)
{
	PGAS_WARN(FI_LOG_EP_DATA, "link: channel %u: %s\n", c.number, what);
	channel_end(c, -FI_ECONNRESET, std::string("it sent nonsense: ") + what, false);
}

constexpr const char *kNeverSent = "an acknowledgement of what was never sent";

// Behind the frames: they may tell of a failure in what is acknowledged. Answers leave before the port gets its buffer
// back.
void acknowledged(channel &c, uint32_t ack)
{
	take_ack(c, ack);
	if (c.filling && c.filling->frames)
		frame_push(c);
}

void run_packet(channel &c, const packet_head &h, const char *bytes)
{
	if (!plausible_ack(c, h.ack))
		return nonsense(c, kNeverSent);
	if (h.flags & kPacketData) {
		if (h.seq != c.ran + 1)
			return nonsense(c, "a packet out of turn");
		if (!run_frames(c, bytes + sizeof h, bytes + h.bytes)) {
			if (c.open())
				nonsense(c, "a frame that cannot be");
			return;
		}
		if (std::exchange(c.urgent, false) && c.filling)
			packet_leave(c);
		c.ran = h.seq;
		channel_busy(c); // an acknowledgement is owed
	} else if (h.bytes != sizeof h) {
		return nonsense(c, "bytes behind a packet without frames");
	}
	acknowledged(c, h.ack);
	if (h.flags & kPacketWake)
		link_stay_awake(*c.of);
	if (h.flags & kPacketPing)
		send_bare(c, 0);
	else if (c.ran - c.told > c.of->set.window / 4)
		send_bare(c, 0);
	if (h.flags & kPacketBye)
		channel_end(c, -FI_ECONNRESET, "it ended", true);
}

} // namespace

void packet_receive(link &l, const char *bytes, size_t len)
{
	packet_head h;
	if (len < sizeof h)
		return drop(l, "shorter than a head");
	memcpy(&h, bytes, sizeof h);
	if (h.magic != kPacketMagic)
		return drop(l, "not one of ours");
	if (h.bytes != len)
		return drop(l, "its length is not what it says");
	l.stats.packets_in++;
	if (h.flags & kPacketHello) {
		if (!greeted_by(l, h, bytes + sizeof h, len - sizeof h))
			drop(l, "a greeting that cannot be");
		return;
	}
	if (h.protocol != kProtocol)
		return drop(l, "another version of the protocol");
	channel *c = h.channel < l.channels.size() ? l.channels[h.channel].get() : nullptr;
	if (!c || h.session != c->session_in)
		return drop(l, "for nobody");
	if (h.flags & kPacketRefuse)
		return refusal_take(l, h, bytes + sizeof h, len - sizeof h);
	if (c->state == channel_state::over)
		return; // it could not know yet
	c->heard_at = l.clock;
	if (h.flags & kPacketProof) {
		proof p;
		if (len != sizeof h + sizeof p)
			return drop(l, "a proof of the wrong length");
		memcpy(&p, bytes + sizeof h, sizeof p);
		return proof_take(*c, p);
	}
	if (!c->open())
		return drop(l, "from somebody who proved nothing");
	run_packet(*c, h, bytes);
}

// The word is our number of the channel and the low half of the acknowledgement. The port's address says who it is.
void put_receive(link &l, uint64_t to, uint32_t word)
{
	channel *c = word >> 16 < l.channels.size() ? l.channels[word >> 16].get() : nullptr;
	l.stats.packets_in++;
	if (!c || c->to != to || c->state == channel_state::greeting)
		return drop(l, "a put for nobody");
	if (!c->open())
		return; // it could not know yet
	c->heard_at = l.clock;
	const auto behind = static_cast<int16_t>(static_cast<uint16_t>(word) - static_cast<uint16_t>(c->acked));
	const uint32_t ack = c->acked + static_cast<uint32_t>(int32_t{behind});
	if (!plausible_ack(*c, ack))
		return nonsense(*c, kNeverSent);
	l.client.written(l.client.self);
	acknowledged(*c, ack);
}

// The adapters say so, not the peer: it may be stopped, so this is no sign of it.
void straight_done(link &l, uint64_t to, uint32_t number)
{
	channel *c = number < l.channels.size() ? l.channels[number].get() : nullptr;
	if (!c || c->to != to || !c->straight_out)
		return; // the channel ended before
	straight_over(*c, 0);
	look_if_clear(*c);
}

} // namespace pgas
