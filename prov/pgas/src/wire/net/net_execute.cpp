// SPDX-License-Identifier: BSD-3-Clause
//
// Incoming frames. What a peer does to our memory is run at once, by whichever thread makes progress; what completes at
// one of our endpoints waits until that endpoint makes progress (may_touch).
#include "net_execute.hpp"
#include "support/pgas_iov.hpp"
#include "engine/pgas_request.hpp"
#include "engine/pgas_target.hpp"
#include "net_bulk.hpp"
#include "net_intro.hpp"
#include "net_keys.hpp"
#include "net_target.hpp"
#include "net_word.hpp"

#include <cstring>

namespace pgas {

namespace {

bool take_leave(net_domain &d, channel &c, const frame_head &h)
{
	net_side &side = side_of(c);
	if (h.src >= side.left.size())
		side.left.resize(h.src + 1u);
	side.left[h.src] = true;
	run_close(c); // as in key_gone()
	bulk_poll_again(d, c);
	d.put_aside = true; // operations that wait for the peer end
	return true;
}

// --- what peers do to our memory -------------------------------------------------------------------------------------

void queue_refusal(channel &c, uint32_t index, int status)
{
	const failed_frame f{c.executed + 1, index, status, 0};
	if (!frame_send(c, frame_kind::failed, 0, 0, f, true))
		return;
	c.urgent = true;
	side_of(c).failed_seq = f.seq;
	side_of(c).failed_frame = index;
}

// A thread that waits for a word sees all of it, and everything that was put before it.
void store(char *dst, const char *src, size_t len)
{
	const auto whole = [&](auto word) {
		memcpy(&word, src, sizeof word);
		pgas_store_release(reinterpret_cast<decltype(word) *>(dst), word);
	};
	if (len == 8 && reinterpret_cast<uintptr_t>(dst) % 8 == 0) {
		whole(uint64_t{});
	} else if (len == 4 && reinterpret_cast<uintptr_t>(dst) % 4 == 0) {
		whole(uint32_t{});
	} else {
		pgas_fence_store_store();
		memcpy(dst, src, len);
	}
}

int run_put(net_ep &ep, const frame_head &h, const char *bytes, size_t len)
{
	uint64_t addr, key = 0;
	memcpy(&addr, bytes, 8);
	const size_t head = h.flags & kFrameKey ? 16 : 8;
	if (h.flags & kFrameKey)
		memcpy(&key, bytes + 8, 8);
	if (char *plain = plain_memory(ep, key, addr, len - head, FI_REMOTE_WRITE)) {
		store(plain, bytes + head, len - head);
		return 0;
	}
	target_memory memory;
	if (const int err = target_find(ep.ep->dom, key, addr, len - head, FI_REMOTE_WRITE, memory))
		return err;
	if (memory.region->serve)
		return memory.region->serve(memory.region->serve_arg, bytes + head, len - head);
	pgas_fence_store_store(); // as in store()
	if (const int err = target_store(memory, bytes + head, len - head))
		return err;
	target_count(ep.ep, *memory.region, remote_effect::write, true, h.flags & kFrameLast);
	return 0;
}

int run_amo(net_ep &ep, const frame_head &h, const char *bytes, size_t len)
{
	amo_frame f;
	memcpy(&f, bytes, sizeof f);
	const target_amo a{static_cast<fi_datatype>(f.type),
			   static_cast<fi_op>(f.op),
			   kAmoPlain,
			   f.count,
			   bytes + sizeof f,
			   len - sizeof f};
	const size_t unit = a.op != FI_ATOMIC_READ && amo_valid(a.type, a.op, kAmoPlain) ? amo_type_bytes(a.type) : 0;
	char *plain = unit && unit == a.data_len && a.count == 1
			      ? plain_memory(ep, f.key, f.addr, unit, FI_REMOTE_WRITE)
			      : nullptr;
	if (plain && reinterpret_cast<uintptr_t>(plain) % amo_type_align(a.type) == 0) {
		amo_apply(a.type, a.op, plain, 1, a.data, nullptr, nullptr, ep.ep->dom->wide);
		return 0;
	}
	std::vector<char> none;
	target_memory memory;
	if (const int err = target_amo_run(ep.ep->dom, f.key, f.addr, a, none, memory))
		return err;
	target_count(ep.ep, *memory.region, amo_effect(a.form, a.op), true, h.flags & kFrameLast);
	return 0;
}

bool take_effect(net_domain &d, channel &c, const frame_head &h, const char *bytes, size_t len, uint32_t index)
{
	const bool put = h.kind == frame_kind::put;
	if (len < (put ? h.flags & kFrameKey ? 16 : 8 : sizeof(amo_frame)))
		return false;
	net_ep *ep = target_of(d, h);
	const int err = !ep ? -FI_ECONNRESET : put ? run_put(*ep, h, bytes, len) : run_amo(*ep, h, bytes, len);
	if (err)
		queue_refusal(c, index, err);
	d.executed = true;
	return true;
}

// --- frames that complete at one of our endpoints --------------------------------------------------------------------

void run_own(net_ep &ep, const frame_head &h, uint32_t src, const char *bytes, size_t len)
{
	message_frame m{};
	if (h.kind != frame_kind::response)
		memcpy(&m, bytes, sizeof m);
	if (h.kind == frame_kind::response)
		response_take(ep, bytes + 8, len - 8);
	else if (h.kind == frame_kind::cq_data)
		rx_deliver_data(ep, src, m.len, m.data);
	else
		rx_deliver({.ep = &ep,
			    .src = src,
			    .tagged = (h.flags & kFrameTagged) != 0,
			    .is_long = (h.flags & kFrameLong) != 0,
			    .has_data = (h.flags & kFrameData) != 0,
			    .len = m.len,
			    .tag = m.tag,
			    .data = m.data,
			    .bytes = bytes + sizeof m,
			    .bytes_len = len - sizeof m});
}

bool sound_message(const frame_head &h, const char *bytes, size_t len)
{
	message_frame m;
	if (h.kind == frame_kind::response)
		return len >= 8;
	if (len < sizeof m)
		return false;
	memcpy(&m, bytes, sizeof m);
	if (h.kind == frame_kind::cq_data)
		return len == sizeof m;
	return h.flags & kFrameLong ? len == sizeof m + sizeof(uint64_t) : m.len == len - sizeof m;
}

// The cq data of a write that could not be run is not delivered: it directly follows the frames of that write.
bool of_failed_write(const channel &c, const frame_head &h, const char *bytes, uint32_t index)
{
	message_frame m;
	if (h.kind != frame_kind::cq_data || side_of(c).failed_seq != c.executed + 1)
		return false;
	memcpy(&m, bytes, sizeof m);
	return m.tag <= kRmaIovLimit && side_of(c).failed_frame + m.tag >= index;
}

bool take_own(net_domain &d, channel &c, const frame_head &h, const char *bytes, size_t len, uint32_t index)
{
	const uint32_t src = source_of(c, h.src);
	if (src == kNoSource || h.dst >= d.eps.size() || !sound_message(h, bytes, len))
		return false;
	if (of_failed_write(c, h, bytes, index))
		return true;
	net_ep *ep = target_of(d, h);
	if (!ep)
		return true; // the endpoint closed
	if (may_complete(*ep)) {
		run_own(*ep, h, src, bytes, len);
		return true;
	}
	net_later l;
	l.head = h;
	l.src = src;
	l.bytes.assign(bytes, bytes + len);
	complete_later(*ep, std::move(l));
	return true;
}

bool take_request(net_domain &d, channel &c, const frame_head &h, const char *bytes, size_t len)
{
	const uint32_t src = source_of(c, h.src);
	if (src == kNoSource || len < 8 || h.dst >= d.eps.size())
		return false;
	uint64_t code;
	memcpy(&code, bytes, sizeof code);
	net_ep *ep = target_of(d, h);
	d.executed = true;
	return !ep || request_run(*ep, src, static_cast<uint16_t>(code), bytes + 8, len - 8);
}

bool take_failed(channel &c, const char *bytes, size_t len)
{
	failed_frame f;
	if (!frame_read(bytes, len, f))
		return false;
	if (f.status >= 0 || f.status < -4095)
		f.status = -FI_EIO;
	for (packet *p : c.unacked)
		if (p->seq == f.seq && f.frame < p->frames && p->failures.size() < p->frames)
			p->failures.push_back({f.frame, f.status});
	return true;
}

} // namespace

bool net_frame(void *self, channel &c, const frame_head &h, const char *bytes, size_t len, uint32_t index)
{
	auto &d = *static_cast<net_domain *>(self);
	switch (h.kind) {
	case frame_kind::put:
	case frame_kind::amo:
		return take_effect(d, c, h, bytes, len, index);
	case frame_kind::message:
	case frame_kind::response:
	case frame_kind::cq_data:
		return take_own(d, c, h, bytes, len, index);
	case frame_kind::request:
		return take_request(d, c, h, bytes, len);
	case frame_kind::key_ask:
		return key_asked(d, c, h, bytes, len);
	case frame_kind::key_answer:
		return key_answered(d, c, bytes, len);
	case frame_kind::key_gone:
		return key_gone(c, bytes, len);
	case frame_kind::count: {
		net_ep *ep = target_of(d, h);
		return ep ? bulk_counted(*ep, bytes, len) : h.dst < d.eps.size(); // the endpoint closed
	}
	case frame_kind::word_ask:
		return word_asked(d, c, h, bytes, len);
	case frame_kind::word_answer:
		return word_answered(d, c, bytes, len);
	case frame_kind::word_refusal:
		return word_refused(d, c, bytes, len);
	case frame_kind::intro:
		return take_intro(d, c, h, bytes, len);
	case frame_kind::leave:
		return take_leave(d, c, h);
	case frame_kind::failed:
		return take_failed(c, bytes, len);
	default:
		return false;
	}
}

// --- our own operations that the peer ran ----------------------------------------------------------------------------

namespace {

void finish_noticed(net_ep &own_ep, const notice &n, uint32_t good, uint32_t bad, int status)
{
	ep_core *ep = own_ep.ep;
	own_ep.outstanding -= good + bad;
	if (n.kind == kNoticeBulk)
		return bulk_arrived(own_ep, reinterpret_cast<uintptr_t>(n.context), status);
	for (uint32_t i = 0; i < good; i++)
		cntr_count(ep->c_write, false);
	for (uint32_t i = 0; i < bad; i++)
		cntr_count(ep->c_write, true);
	if (bad && !ep->failed.status)
		ep->failed = {status, n.target};
	completion c;
	c.context = n.context;
	c.flags = n.flags;
	for (uint32_t i = 0; n.kind == kNoticeEntry && i < good; i++)
		cq_push(ep->tx_cq, c);
	c.err = c.prov_errno = -status;
	for (uint32_t i = 0; ep->tx_cq && i < bad; i++)
		cq_push(ep->tx_cq, c);
}

} // namespace

void net_over(void *, const notice &n, uint32_t good, uint32_t bad, int status)
{
	net_ep &ep = *static_cast<net_ep *>(n.who);
	if (may_complete(ep)) {
		finish_noticed(ep, n, good, bad, status);
		return;
	}
	net_later l;
	l.ended = n;
	l.good = good;
	l.bad = bad;
	l.status = status;
	complete_later(ep, std::move(l));
}

bool net_execute_later(net_ep &ep)
{
	if (ep.later.empty() || !may_touch(ep))
		return false;
	std::deque<net_later> now;
	now.swap(ep.later);
	for (const net_later &l : now) {
		if (l.transfer_op)
			bulk_piece_over(ep, l.transfer_op, l.transfer_len, l.status);
		else if (l.src != kNoSource)
			run_own(ep, l.head, l.src, l.bytes.data(), l.bytes.size());
		else
			finish_noticed(ep, l.ended, l.good, l.bad, l.status);
	}
	return true;
}

} // namespace pgas
