// SPDX-License-Identifier: BSD-3-Clause
//
// Outgoing operations. A short write or plain atomic is a frame and needs no answer: it is complete when its packet is
// acknowledged, which means that it was run. Operations that need an answer are sent as requests (pgas_request.cpp).
#include "net_submit.hpp"
#include "support/pgas_iov.hpp"
#include "engine/pgas_request.hpp"
#include "net_bulk.hpp"
#include "net_intro.hpp"
#include "net_straight.hpp"
#include "net_thread.hpp"

#include <cstring>

namespace pgas {
namespace {

constexpr size_t kFrameCost = sizeof(frame_head) + 16 + 8; // head, address and key, padding

size_t frame_room(const channel &c)
{
	return c.longest - sizeof(packet_head) - 2 * kFrameCost - sizeof(message_frame);
}

// Registers an operation to be completed when the packet that carries its last `frames` frames was run.
int submitted_frames(net_ep &ep, peer &p, const op &o, uint32_t frames)
{
	channel &c = *net_of(p).c;
	ep.outstanding++;
	notice n;
	n.who = &ep;
	n.context = o.quiet ? nullptr : o.context;
	n.flags = o.cq_flags;
	n.frames = frames;
	n.operations = 1;
	n.kind = op_wants_entry(ep.ep, o) ? kNoticeEntry : kNoticeQuiet;
	n.target = p.rank;
	packet_notice(c, n);
	if (!(o.flags & FI_MORE))
		frame_push(c);
	if (o.waiter)
		o.waiter->over = true; // its bytes are copied
	return kKept;
}

void put_frame(net_ep &ep, channel &c, uint16_t dst, const op &o, size_t i, size_t skip)
{
	const fi_rma_iov &dest = o.rma[i];
	const size_t head = dest.key ? 16 : 8;
	char *pos = frame_begin(c, head + dest.len);
	memcpy(pos, &dest.addr, 8);
	if (dest.key)
		memcpy(pos + 8, &dest.key, 8);
	iov_gather(o.iov, o.iov_count, skip, pos + head, dest.len);
	const uint8_t flags =
		static_cast<uint8_t>((dest.key ? kFrameKey : 0) | (i + 1 == o.rma_count ? kFrameLast : 0));
	frame_end(c, frame_kind::put, flags, ep.number, dst, head + dest.len);
}

void data_frame(net_ep &ep, channel &c, uint16_t dst, const op &o)
{
	const message_frame m{o.len, o.rma_count, o.data}; // tag: the number of frames that it belongs to
	char *pos = frame_begin(c, sizeof m);
	memcpy(pos, &m, sizeof m);
	frame_end(c, frame_kind::cq_data, 0, ep.number, dst, sizeof m);
}

int write_short(net_ep &ep, peer &p, op &o)
{
	channel &c = *net_of(p).c;
	if (o.carries_data && !introduce(ep, c))
		return -FI_EAGAIN;
	// all of its frames in one packet: one notice covers them
	if (!frame_begin(c, o.len + kFrameCost * o.rma_count + kFrameCost + sizeof(message_frame)))
		return c.open() ? -FI_EAGAIN : -FI_ECONNRESET;
	size_t skip = 0;
	for (size_t i = 0; i < o.rma_count; i++) {
		put_frame(ep, c, net_of(p).dst, o, i, skip);
		skip += o.rma[i].len;
	}
	if (o.carries_data)
		data_frame(ep, c, net_of(p).dst, o);
	return submitted_frames(ep, p, o, static_cast<uint32_t>(o.rma_count + o.carries_data));
}

} // namespace

[[gnu::noinline]] static void count_first(net_ep &ep, packet &input, const peer &p, uint64_t flags)
{
	input.notices.push_back({&ep, nullptr, flags, input.frames - 1, 1, 1, 0, p.rank});
}

// Adds an operation of one frame without a completion entry; it joins the earlier ones in the packet.
[[gnu::always_inline]] static inline void count_quietly(net_ep &ep, channel &c, const peer &p, uint64_t flags)
{
	packet &input = *c.filling;
	ep.outstanding++;
	if (!input.notices.empty()) [[likely]] {
		notice &n = input.notices.back();
		if (n.who == &ep && !n.kind && !n.context && n.flags == flags && n.target == p.rank &&
		    n.first + n.frames + 1 == input.frames && n.operations == n.frames) [[likely]] {
			n.frames++;
			n.operations++;
			return;
		}
	}
	count_first(ep, input, p, flags);
}

// Inlined where length and key are constants.
[[gnu::always_inline]] static inline int append_put(net_ep &ep, peer &p, const void *buf, size_t len, uint64_t addr,
						    uint64_t key)
{
	const net_peer &state = net_of(p);
	channel &c = *state.c;
	if (p.unsent || state.bulk || !c.open()) [[unlikely]]
		return kNoShortWay;
	net_unwatch(*ep.dom);
	const size_t head = key ? 16 : 8;
	char *pos = frame_begin(c, head + len);
	if (!pos) [[unlikely]]
		return head + len > frame_room(c) ? kNoShortWay : -FI_EAGAIN;
	memcpy(pos, &addr, 8);
	if (key)
		memcpy(pos + 8, &key, 8);
	memcpy(pos + head, buf, len);
	frame_end(c, frame_kind::put, key ? kFrameKey | kFrameLast : kFrameLast, ep.number, state.dst, head + len);
	count_quietly(ep, c, p, FI_RMA | FI_WRITE);
	frame_push(c);
	return kKept;
}

// The first put of a packet; callers append the following ones directly.
int net_put(wire_ep &base_ep, peer &p, const void *buf, size_t len, uint64_t addr, uint64_t key)
{
	net_ep &ep = net_of(base_ep);
	if (!key)
		if (const int rc = straight_first(ep, p, buf, len, addr); rc != kNoShortWay)
			return rc;
	if (len != 8 || key)
		return append_put(ep, p, buf, len, addr, key);
	const int rc = append_put(ep, p, buf, 8, addr, 0);
	net_peer &state = net_of(p);
	if (rc == kKept && state.c->filling) {
		static_assert(offsetof(frame_head, flags) == 1 && kFrameTail == 7, "as run_append() has it");
		const frame_head h{frame_kind::put, kFrameLast, ep.number, state.dst, 2};
		memcpy(&state.run.head, &h, sizeof h);
		run_open(*state.c, state.run, ep.outstanding);
	}
	return rc;
}

int net_add(wire_ep &base_ep, peer &p, const void *value, fi_datatype type, fi_op op, uint64_t addr, uint64_t key)
{
	net_ep &ep = net_of(base_ep);
	const net_peer &state = net_of(p);
	channel &c = *state.c;
	if (p.unsent || state.bulk || !c.open()) [[unlikely]]
		return kNoShortWay;
	net_unwatch(*ep.dom);
	const size_t bytes = amo_type_bytes(type);
	char *pos = frame_begin(c, sizeof(amo_frame) + bytes);
	if (!pos) [[unlikely]]
		return -FI_EAGAIN;
	const amo_frame f{addr, key, 1, static_cast<uint8_t>(type), static_cast<uint8_t>(op), {}};
	memcpy(pos, &f, sizeof f);
	memcpy(pos + sizeof f, value, bytes);
	frame_end(c, frame_kind::amo, kFrameLast, ep.number, state.dst, sizeof f + bytes);
	count_quietly(ep, c, p, FI_ATOMIC | FI_WRITE);
	frame_push(c);
	return kKept;
}

int net_rma(wire_ep &base_ep, peer &p, op &o)
{
	net_ep &ep = net_of(base_ep);
	channel &c = *net_of(p).c;
	if (!c.open())
		return -FI_ECONNRESET;
	run_close(c); // a kept operation may have to precede the puts after it
	net_unwatch(*ep.dom);
	if (o.len >= parameters().net_bulk && ep.dom->l->port->limits.bulk_from)
		return net_bulk(ep, p, o);
	const bool fits = o.len + (kRmaIovLimit + 1) * kFrameCost + sizeof(message_frame) <= frame_room(c);
	if (o.kind != op_kind::write || !fits || (o.waiter && !o.waiter->reusable))
		return request_submit(ep, p, std::move(o));
	if (p.unsent)
		return -FI_EAGAIN; // earlier requests are still to be sent
	return write_short(ep, p, o);
}

int net_amo(wire_ep &base_ep, peer &p, op &o)
{
	net_ep &ep = net_of(base_ep);
	channel &c = *net_of(p).c;
	if (!c.open())
		return -FI_ECONNRESET;
	run_close(c);
	net_unwatch(*ep.dom);
	const size_t bytes = sizeof(amo_frame) + o.len;
	if (o.form != kAmoPlain || o.rma_count != 1 || bytes > frame_room(c) || o.waiter)
		return request_submit(ep, p, std::move(o));
	if (p.unsent)
		return -FI_EAGAIN;
	char *pos = frame_begin(c, bytes);
	if (!pos)
		return c.open() ? -FI_EAGAIN : -FI_ECONNRESET;
	amo_frame f{};
	f.addr = o.rma[0].addr;
	f.key = o.rma[0].key;
	f.count = static_cast<uint32_t>(o.len / amo_type_bytes(o.type));
	f.type = static_cast<uint8_t>(o.type);
	f.op = static_cast<uint8_t>(o.amo);
	memcpy(pos, &f, sizeof f);
	iov_gather(o.iov, o.iov_count, 0, pos + sizeof f, o.len);
	frame_end(c, frame_kind::amo, kFrameLast, ep.number, net_of(p).dst, bytes);
	return submitted_frames(ep, p, o, 1);
}

// --- messages --------------------------------------------------------------------------------------------------------

namespace {

int message_out(net_ep &ep, peer &p, uint8_t flags, const message_frame &m, const void *head, size_t head_len,
		const iovec *iov, size_t count, size_t len)
{
	channel &c = *net_of(p).c;
	if (!c.open())
		return -FI_ECONNRESET;
	net_unwatch(*ep.dom);
	if (sizeof m + head_len + len > frame_room(c))
		return -FI_EMSGSIZE;
	char *pos = introduce(ep, c) ? frame_begin(c, sizeof m + head_len + len) : nullptr;
	if (!pos)
		return c.open() ? -FI_EAGAIN : -FI_ECONNRESET;
	memcpy(pos, &m, sizeof m);
	if (head_len)
		memcpy(pos + sizeof m, head, head_len);
	iov_gather(iov, count, 0, pos + sizeof m + head_len, len);
	frame_end(c, frame_kind::message, flags, ep.number, net_of(p).dst, sizeof m + head_len + len);
	frame_push(c);
	return 0;
}

} // namespace

int net_send(wire_ep &base_ep, peer &p, op &o)
{
	net_ep &ep = net_of(base_ep);
	const message_frame m{o.len, o.tag, o.data};
	const uint8_t flags = static_cast<uint8_t>((o.tagged ? kFrameTagged : 0) | (o.carries_data ? kFrameData : 0));
	const size_t eager = std::min(parameters().eager_bytes, frame_room(*net_of(p).c) - sizeof m);
	if (o.len <= eager && !(o.flags & FI_DELIVERY_COMPLETE))
		return message_out(ep, p, flags, m, nullptr, 0, o.iov, o.iov_count, o.len);
	op *kept = op_keep(ep, std::move(o), &p);
	if (!kept)
		return -FI_EIO;
	const uint64_t id = kept->id;
	if (const int err = message_out(ep, p, flags | kFrameLong, m, &id, sizeof id, nullptr, 0, 0)) {
		op_take_back(ep, kept, o);
		return err;
	}
	return kKept;
}

int net_send_pieces(peer &p, const void *head, size_t head_len, const void *data, size_t len)
{
	const iovec iov{const_cast<void *>(data), len};
	return message_out(net_of(*p.owner), p, 0, {head_len + len, 0, 0}, head, head_len, &iov, 1, len);
}

// --- control messages ------------------------------------------------------------------------------------------------

int net_control(peer &p, const control &m)
{
	net_ep &ep = net_of(*p.owner);
	channel &c = *net_of(p).c;
	if (!c.open())
		return -FI_ECONNRESET;
	const bool data = m.kind == control_kind::cq_data;
	const size_t head = data ? sizeof(message_frame) : 8, bytes = head + m.head_len + m.iov_len;
	char *pos = introduce(ep, c) ? frame_begin(c, bytes) : nullptr;
	if (!pos)
		return c.open() ? -FI_EAGAIN : -FI_ECONNRESET;
	const message_frame f{m.len, 0, m.data};
	const uint64_t code = m.code;
	memcpy(pos, data ? static_cast<const void *>(&f) : &code, head);
	if (m.head_len)
		memcpy(pos + head, m.head, m.head_len);
	iov_gather(m.iov, m.iov_count, m.skip, pos + head + m.head_len, m.iov_len);
	const frame_kind kind = data                              ? frame_kind::cq_data
				: m.kind == control_kind::request ? frame_kind::request
								  : frame_kind::response;
	frame_end(c, kind, 0, ep.number, net_of(p).dst, bytes);
	frame_push(c);
	return 0;
}

// For a peer that could not be connected, any size fits: peer_control() refuses it.
size_t net_control_room(const peer &p)
{
	return p.wire_state ? frame_room(*net_of(p).c) : kPacketLeast / 2;
}

} // namespace pgas
