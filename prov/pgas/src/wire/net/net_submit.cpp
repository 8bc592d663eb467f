// SPDX-License-Identifier: BSD-3-Clause
//
// Operations out. A short write or plain atomic is a frame and needs no answer: it is complete when its packet is
// acknowledged, which means that it was run. Everything that wants an answer goes as a request (pgas_request.cpp).
#include "net.hpp"
#include "support/pgas_iov.hpp"
#include "engine/pgas_request.hpp"

#include <cstring>

namespace pgas {
namespace {

constexpr size_t kFrameCost = sizeof(frame_head) + 16 + 8; // head, address and key, padding

size_t frame_room(const channel &c)
{
	return c.longest - sizeof(packet_head) - 2 * kFrameCost - sizeof(message_frame);
}

// An operation that will be told of when the packet that carries its last `frames` frames was run.
int submitted_frames(net_ep &on, peer &p, const op &o, uint32_t frames)
{
	channel &c = *net_of(p).c;
	on.outstanding++;
	notice n;
	n.who = &on;
	n.context = o.quiet ? nullptr : o.context;
	n.flags = o.cq_flags;
	n.frames = frames;
	n.operations = 1;
	n.kind = op_wants_entry(on.ep, o) ? kNoticeEntry : kNoticeQuiet;
	n.to = p.rank;
	packet_notice(c, n);
	if (!(o.flags & FI_MORE))
		frame_push(c);
	if (o.waiter)
		o.waiter->over = true; // its bytes are copied
	return kKept;
}

void put_frame(net_ep &on, channel &c, uint16_t dst, const op &o, size_t i, size_t skip)
{
	const fi_rma_iov &to = o.rma[i];
	const size_t head = to.key ? 16 : 8;
	char *at = frame_begin(c, head + to.len);
	memcpy(at, &to.addr, 8);
	if (to.key)
		memcpy(at + 8, &to.key, 8);
	iov_gather(o.iov, o.iov_count, skip, at + head, to.len);
	const uint8_t flags = static_cast<uint8_t>((to.key ? kFrameKey : 0) | (i + 1 == o.rma_count ? kFrameLast : 0));
	frame_end(c, frame_kind::put, flags, on.number, dst, head + to.len);
}

void data_frame(net_ep &on, channel &c, uint16_t dst, const op &o)
{
	const message_frame m{o.len, o.rma_count, o.data}; // tag: how many frames it belongs to
	char *at = frame_begin(c, sizeof m);
	memcpy(at, &m, sizeof m);
	frame_end(c, frame_kind::cq_data, 0, on.number, dst, sizeof m);
}

int write_short(net_ep &on, peer &p, op &o)
{
	channel &c = *net_of(p).c;
	if (o.carries_data && !introduce(on, c))
		return -FI_EAGAIN;
	// all of its frames in one packet: it is told of as one
	if (!frame_begin(c, o.len + kFrameCost * o.rma_count + kFrameCost + sizeof(message_frame)))
		return c.open() ? -FI_EAGAIN : -FI_ECONNRESET;
	size_t skip = 0;
	for (size_t i = 0; i < o.rma_count; i++) {
		put_frame(on, c, net_of(p).dst, o, i, skip);
		skip += o.rma[i].len;
	}
	if (o.carries_data)
		data_frame(on, c, net_of(p).dst, o);
	return submitted_frames(on, p, o, static_cast<uint32_t>(o.rma_count + o.carries_data));
}

} // namespace

bool introduce(net_ep &on, channel &c)
{
	if (!c.open())
		return false;
	auto &known = side_of(c).introduced;
	if (on.number < known.size() && known[on.number])
		return true;
	const size_t len = strlen(on.ep->name.text);
	char *at = frame_begin(c, len);
	if (!at)
		return false;
	memcpy(at, on.ep->name.text, len);
	frame_end(c, frame_kind::intro, 0, on.number, 0, len);
	if (on.number >= known.size())
		known.resize(on.number + 1u);
	known[on.number] = true;
	return true;
}

[[gnu::noinline]] static void count_first(net_ep &on, packet &in, const peer &p, uint64_t flags)
{
	in.notices.push_back({&on, nullptr, flags, in.frames - 1, 1, 1, 0, p.rank});
}

// One more operation of one frame that nobody wants an entry of; those before it in the packet join it.
[[gnu::always_inline]] static inline void count_quietly(net_ep &on, channel &c, const peer &p, uint64_t flags)
{
	packet &in = *c.filling;
	on.outstanding++;
	if (!in.notices.empty()) [[likely]] {
		notice &n = in.notices.back();
		if (n.who == &on && !n.kind && !n.context && n.flags == flags && n.to == p.rank &&
		    n.first + n.frames + 1 == in.frames && n.operations == n.frames) [[likely]] {
			n.frames++;
			n.operations++;
			return;
		}
	}
	count_first(on, in, p, flags);
}

// Inlined where length and key are constants.
[[gnu::always_inline]] static inline int append_put(net_ep &on, peer &p, const void *buf, size_t len, uint64_t addr,
						    uint64_t key)
{
	const net_peer &line = net_of(p);
	channel &c = *line.c;
	if (p.unsent || p.bulk || !c.open()) [[unlikely]]
		return kNoShortWay;
	net_unwatch(*on.of);
	const size_t head = key ? 16 : 8;
	char *at = frame_begin(c, head + len);
	if (!at) [[unlikely]]
		return head + len > frame_room(c) ? kNoShortWay : -FI_EAGAIN;
	memcpy(at, &addr, 8);
	if (key)
		memcpy(at + 8, &key, 8);
	memcpy(at + head, buf, len);
	frame_end(c, frame_kind::put, key ? kFrameKey | kFrameLast : kFrameLast, on.number, line.dst, head + len);
	count_quietly(on, c, p, FI_RMA | FI_WRITE);
	frame_push(c);
	return kKept;
}

// The first of a packet; those that follow append themselves.
int net_put(wire_ep &of, peer &p, const void *buf, size_t len, uint64_t addr, uint64_t key)
{
	net_ep &on = net_of(of);
	if (!key)
		if (const int rc = straight_first(on, p, buf, len, addr); rc != kNoShortWay)
			return rc;
	if (len != 8 || key)
		return append_put(on, p, buf, len, addr, key);
	const int rc = append_put(on, p, buf, 8, addr, 0);
	channel &c = *net_of(p).c;
	if (rc == kKept && c.filling) {
		static_assert(offsetof(frame_head, flags) == 1 && kFrameTail == 7, "as run_append() has it");
		const frame_head h{frame_kind::put, kFrameLast, on.number, net_of(p).dst, 2};
		memcpy(&p.run.head, &h, sizeof h);
		run_open(c, p.run, on.outstanding);
	}
	return rc;
}

int net_add(wire_ep &of, peer &p, const void *value, fi_datatype type, fi_op op, uint64_t addr, uint64_t key)
{
	net_ep &on = net_of(of);
	const net_peer &line = net_of(p);
	channel &c = *line.c;
	if (p.unsent || p.bulk || !c.open()) [[unlikely]]
		return kNoShortWay;
	net_unwatch(*on.of);
	const size_t bytes = amo_type_bytes(type);
	char *at = frame_begin(c, sizeof(amo_frame) + bytes);
	if (!at) [[unlikely]]
		return -FI_EAGAIN;
	const amo_frame f{addr, key, 1, static_cast<uint8_t>(type), static_cast<uint8_t>(op), {}};
	memcpy(at, &f, sizeof f);
	memcpy(at + sizeof f, value, bytes);
	frame_end(c, frame_kind::amo, kFrameLast, on.number, line.dst, sizeof f + bytes);
	count_quietly(on, c, p, FI_ATOMIC | FI_WRITE);
	frame_push(c);
	return kKept;
}

int net_rma(wire_ep &of, peer &p, op &o)
{
	net_ep &on = net_of(of);
	channel &c = *net_of(p).c;
	if (!c.open())
		return -FI_ECONNRESET;
	run_close(c); // what is kept may have to come before the puts behind it
	net_unwatch(*on.of);
	if (o.len >= parameters().net_bulk && on.of->l->at->limits.bulk_from)
		return net_bulk(on, p, o);
	const bool fits = o.len + (kRmaIovLimit + 1) * kFrameCost + sizeof(message_frame) <= frame_room(c);
	if (o.kind != op_kind::write || !fits || (o.waiter && !o.waiter->reusable))
		return request_submit(on, p, std::move(o));
	if (p.unsent)
		return -FI_EAGAIN; // requests before it are still to be sent
	return write_short(on, p, o);
}

int net_amo(wire_ep &of, peer &p, op &o)
{
	net_ep &on = net_of(of);
	channel &c = *net_of(p).c;
	if (!c.open())
		return -FI_ECONNRESET;
	run_close(c);
	net_unwatch(*on.of);
	const size_t bytes = sizeof(amo_frame) + o.len;
	if (o.form != kAmoPlain || o.rma_count != 1 || bytes > frame_room(c) || o.waiter)
		return request_submit(on, p, std::move(o));
	if (p.unsent)
		return -FI_EAGAIN;
	char *at = frame_begin(c, bytes);
	if (!at)
		return c.open() ? -FI_EAGAIN : -FI_ECONNRESET;
	amo_frame f{};
	f.addr = o.rma[0].addr;
	f.key = o.rma[0].key;
	f.count = static_cast<uint32_t>(o.len / amo_type_bytes(o.type));
	f.type = static_cast<uint8_t>(o.type);
	f.op = static_cast<uint8_t>(o.amo);
	memcpy(at, &f, sizeof f);
	iov_gather(o.iov, o.iov_count, 0, at + sizeof f, o.len);
	frame_end(c, frame_kind::amo, kFrameLast, on.number, net_of(p).dst, bytes);
	return submitted_frames(on, p, o, 1);
}

// --- messages --------------------------------------------------------------------------------------------------------

namespace {

int message_out(net_ep &on, peer &p, uint8_t flags, const message_frame &m, const void *head, size_t head_len,
		const iovec *iov, size_t count, size_t len)
{
	channel &c = *net_of(p).c;
	if (!c.open())
		return -FI_ECONNRESET;
	net_unwatch(*on.of);
	if (sizeof m + head_len + len > frame_room(c))
		return -FI_EMSGSIZE;
	char *at = introduce(on, c) ? frame_begin(c, sizeof m + head_len + len) : nullptr;
	if (!at)
		return c.open() ? -FI_EAGAIN : -FI_ECONNRESET;
	memcpy(at, &m, sizeof m);
	if (head_len)
		memcpy(at + sizeof m, head, head_len);
	iov_gather(iov, count, 0, at + sizeof m + head_len, len);
	frame_end(c, frame_kind::message, flags, on.number, net_of(p).dst, sizeof m + head_len + len);
	frame_push(c);
	return 0;
}

} // namespace

int net_send(wire_ep &of, peer &p, op &o)
{
	net_ep &on = net_of(of);
	const message_frame m{o.len, o.tag, o.data};
	const uint8_t flags = static_cast<uint8_t>((o.tagged ? kFrameTagged : 0) | (o.carries_data ? kFrameData : 0));
	const size_t eager = std::min(parameters().eager_bytes, frame_room(*net_of(p).c) - sizeof m);
	if (o.len <= eager && !(o.flags & FI_DELIVERY_COMPLETE))
		return message_out(on, p, flags, m, nullptr, 0, o.iov, o.iov_count, o.len);
	op *kept = op_keep(on, std::move(o), &p);
	if (!kept)
		return -FI_EIO;
	const uint64_t id = kept->id;
	if (const int err = message_out(on, p, flags | kFrameLong, m, &id, sizeof id, nullptr, 0, 0)) {
		op_take_back(on, kept, o);
		return err;
	}
	return kKept;
}

int net_send_pieces(peer &p, const void *head, size_t head_len, const void *data, size_t len)
{
	const iovec iov{const_cast<void *>(data), len};
	return message_out(net_of(*p.on), p, 0, {head_len + len, 0, 0}, head, head_len, &iov, 1, len);
}

// --- control messages ------------------------------------------------------------------------------------------------

int net_control(peer &p, const control &m)
{
	net_ep &on = net_of(*p.on);
	channel &c = *net_of(p).c;
	if (!c.open())
		return -FI_ECONNRESET;
	const bool data = m.kind == control_kind::cq_data;
	const size_t head = data ? sizeof(message_frame) : 8, bytes = head + m.head_len + m.iov_len;
	char *at = introduce(on, c) ? frame_begin(c, bytes) : nullptr;
	if (!at)
		return c.open() ? -FI_EAGAIN : -FI_ECONNRESET;
	const message_frame f{m.len, 0, m.data};
	const uint64_t code = m.code;
	memcpy(at, data ? static_cast<const void *>(&f) : &code, head);
	if (m.head_len)
		memcpy(at + head, m.head, m.head_len);
	iov_gather(m.iov, m.iov_count, m.skip, at + head + m.head_len, m.iov_len);
	const frame_kind kind = data                              ? frame_kind::cq_data
				: m.kind == control_kind::request ? frame_kind::request
								  : frame_kind::response;
	frame_end(c, kind, 0, on.number, net_of(p).dst, bytes);
	frame_push(c);
	return 0;
}

// Of a peer that could not be connected anything fits: peer_control() refuses it.
size_t net_control_room(const peer &p)
{
	return p.line ? frame_room(*net_of(p).c) : kPacketLeast / 2;
}

} // namespace pgas
