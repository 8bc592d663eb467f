// SPDX-License-Identifier: BSD-3-Clause
//
// Long puts and gets: the port writes and reads them directly between the two memories.
//
//   kept -> (the earlier frames were run) -> where is that memory? asked once per piece and remembered
//        -> pieces in flight -> all done: frames update counters and deliver cq data at the target -> finished
//
// On a port that is a stream nothing overtakes anything, so a write waits less:
//
//   kept -> (the earlier frames left) -> pieces in flight, frames after them -> buffers reusable: callers that wait
//   for that continue -> frames acknowledged: it arrived -> finished
//
// An operation is polled again (net_ep::bulk_todo) after every event that may advance it, and as long as it waits for
// room. An operation that only waits for its closing frames is in net_ep::bulk_unannounced until it is time for them: a
// caller that puts one piece after the other must not poll all earlier ones each time.
#include "net_bulk.hpp"
#include "hmem/pgas_hmem.hpp"
#include "support/pgas_iov.hpp"
#include "engine/pgas_request.hpp"
#include "engine/pgas_target.hpp"
#include "net_device.hpp"
#include "net_intro.hpp"
#include "net_keys.hpp"

#include <algorithm>
#include <cstring>

namespace pgas {
namespace {

constexpr size_t kPieceMost = 8 << 20; // of one transfer
constexpr uint32_t kTransfersMost = 4; // of one operation at a time
constexpr size_t kAnnounceMost = 32;   // operations whose arrival one packet asks for

// --- transfers -------------------------------------------------------------------------------------------------------

bulk_op &bulk_of(const op &o)
{
	return static_cast<bulk_op &>(*o.moved);
}

// The pending bulk operation with this number. Null: it was given up meanwhile.
op *bulk_find(net_ep &ep, uint64_t id)
{
	op *const o = ep.pending.find(id);
	return o && o->moved ? o : nullptr;
}

void bulk_over(op &o)
{
	bulk_op &b = bulk_of(o);
	if (o.dest->wire_state && !b.passed)
		net_of(*o.dest).bulk--;
	b.ep->bulk--;
	b.ep->bulk_spare.push_back(&b);
}

// Makes a kept operation a bulk operation.
void bulk_begin(net_ep &ep, op &o)
{
	if (ep.bulk_spare.empty()) {
		ep.bulk_ops.push_back(std::make_unique<bulk_op>());
		ep.bulk_spare.push_back(ep.bulk_ops.back().get());
	}
	bulk_op &b = *ep.bulk_spare.back();
	ep.bulk_spare.pop_back();
	b = {};
	b.over = bulk_over;
	b.ep = &ep;
	o.moved = &b;
	ep.bulk++;
	net_of(*o.dest).bulk++;
}

void schedule_poll(net_ep &ep, const op &o)
{
	if (!std::exchange(bulk_of(o).listed, true))
		ep.bulk_todo.push_back(o.id);
}

void schedule_notice(net_ep &ep, const op &o)
{
	if (!std::exchange(bulk_of(o).listed, true))
		ep.bulk_unannounced.push_back(o.id);
}

bool streams(const channel &c)
{
	return c.link->port->limits.stream;
}

bool write_on_stream(const op &o)
{
	return o.kind == op_kind::write && streams(*net_of(*o.dest).c);
}

bulk_transfer *transfer_take(net_domain &d)
{
	if (d.spare_transfers.empty()) {
		d.transfers.push_back(std::make_unique<bulk_transfer>());
		return d.transfers.back().get();
	}
	bulk_transfer *t = d.spare_transfers.back();
	d.spare_transfers.pop_back();
	return t;
}

void transfer_spare(net_domain &d, bulk_transfer *t)
{
	if (near_piece *input = std::exchange(t->piece, nullptr)) {
		if (--input->transfers == 0 && !input->region)
			near_sweep(d);
	}
	d.l->port->ops->conceal(*d.l->port, t->local);
	t->ep = nullptr;
	t->c = nullptr;
	d.spare_transfers.push_back(t);
}

int expose_local(net_domain &d, bulk_transfer &t, void *base, size_t len, void **handle)
{
	port &base_port = *d.l->port;
	t.piece = base_port.limits.pins ? piece_around(d, reinterpret_cast<uint64_t>(base), len) : nullptr;
	if (t.piece) {
		t.piece->transfers++;
		*handle = t.piece->memory.handle;
		return 0;
	}
	const int rc = base_port.ops->expose(base_port, base, len, kPortLocal, &t.local);
	*handle = t.local.handle;
	return rc;
}

// Hands one piece to the port. -FI_EAGAIN: not now.
int start_piece(net_ep &ep, op &o, const far_piece &p, uint64_t addr, size_t most)
{
	net_domain &d = *ep.dom;
	port &base_port = *d.l->port;
	channel &c = *net_of(*o.dest).c;
	iovec local[kIovLimit];
	size_t n = std::min({most, static_cast<size_t>(p.addr + p.len - addr), kPieceMost});
	iov_part(o.iov, o.iov_count, o.sent, n, local);
	n = std::min(n, local[0].iov_len);
	bulk_transfer *t = transfer_take(d);
	channel_rouse(c);
	void *handle = nullptr;
	int rc = 0;
	if (!o.direct || !expose_direct(d, *t, o, local[0].iov_base, n, &handle, &rc))
		rc = expose_local(d, *t, local[0].iov_base, n, &handle);
	if (!rc) {
		const auto move = [&](auto call, auto base) {
			return call(base_port, c.line, base, n, handle, p.port_addr + (addr - p.addr), p.port_key, t);
		};
		rc = o.kind == op_kind::write ? move(base_port.ops->write, local[0].iov_base)
					      : move(base_port.ops->read, local[0].iov_base);
	}
	if (rc) {
		transfer_spare(d, t);
		return rc;
	}
	t->ep = &ep;
	t->c = &c;
	c.bulk++;
	t->op_id = o.id;
	t->len = n;
	o.sent += n;
	o.in_flight++;
	return 0;
}

// On a stream, these frames also report the arrival, when they are acknowledged.
void expect_arrival(net_ep &ep, op &o, channel &c, uint32_t frames)
{
	notice n;
	n.who = &ep;
	n.context = reinterpret_cast<void *>(static_cast<uintptr_t>(o.id));
	n.frames = frames;
	n.operations = 1;
	n.kind = kNoticeBulk;
	packet_notice(c, n);
	ep.outstanding++;
	bulk_of(o).passed = true;
	net_of(*o.dest).bulk--;
}

// Updates the counters that are bound at the target, and sends cq data. Returns false if there is no room now.
bool announce(net_ep &ep, op &o)
{
	peer &p = *o.dest;
	channel &c = *net_of(p).c;
	const bool write = o.kind == op_kind::write, arrival = write_on_stream(o);
	bool counts = arrival;
	for (size_t i = 0; i < o.rma_count; i++) {
		const far_piece *known = known_piece(c, o.rma[i].key, o.rma[i].addr, write);
		counts = counts || !known || known->counts;
	}
	if (!counts && !o.carries_data)
		return true;
	// all of them in one packet, or none
	if (!introduce(ep, c) || !frame_begin(c, (o.rma_count + 1) * (sizeof(count_frame) + sizeof(frame_head) + 32)))
		return !c.open();
	const uint16_t dst = net_of(p).dst;
	for (size_t i = 0; counts && i < o.rma_count; i++)
		frame_send(c, frame_kind::count, ep.number, dst,
			   count_frame{o.rma[i].key, !write, 1, i + 1 == o.rma_count, {}}, false);
	if (o.carries_data)
		frame_send(c, frame_kind::cq_data, ep.number, dst, message_frame{o.len, 0, o.data}, false);
	if (arrival)
		expect_arrival(ep, o, c, static_cast<uint32_t>(o.rma_count + o.carries_data));
	frame_push(c);
	return true;
}

// A bulk operation whose memory the port cannot reach is submitted as requests, from its beginning.
void by_requests(net_ep &ep, op &o)
{
	peer &p = *o.dest;
	if (o.direct)
		if (const int err = hmem_stage(o)) {
			o.status = err;
			op_finish(ep, o);
			return;
		}
	op again;
	op_take_back(ep, &o, again);
	again.sent = again.acked = 0;
	again.status = 0;
	request_submit(ep, p, std::move(again));
}

void ask_for(net_ep &ep, op &o, uint64_t key, uint64_t addr, size_t len)
{
	channel &c = *net_of(*o.dest).c;
	const uint64_t era = side_of(c).era;
	bulk_op &b = bulk_of(o);
	if (b.asked == addr + 1 && b.asked_era == era)
		return; // already asked, the answer is pending
	const key_frame f{key, addr, len, 0, 0, 0, o.kind == op_kind::write, 0, 0, 0};
	if (!frame_send(c, frame_kind::key_ask, ep.number, net_of(*o.dest).dst, f, false))
		return;
	frame_push(c);
	b.asked = addr + 1;
	b.asked_era = era;
}

enum class outcome : uint8_t { waits, unannounced, over }; // unannounced: sent completely, its closing frames are due

// Nothing that was sent to the peer earlier can be overtaken any more.
bool may_begin(const channel &c, const op &o)
{
	if (!streams(c))
		return static_cast<int32_t>(c.acked - bulk_of(o).after) >= 0;
	return static_cast<int32_t>(c.sent - bulk_of(o).after) >= 0 && c.backlog.empty();
}

// Hands the pieces over as far as possible. Returns false if no more can be done for now; o.status may have the reason.
bool push_pieces(net_ep &ep, op &o)
{
	const channel &c = *net_of(*o.dest).c;
	while (o.sent < o.len && o.in_flight < kTransfersMost) {
		uint64_t addr, key;
		const size_t left = op_remote_at(o, o.sent, &addr, &key);
		const far_piece *p = known_piece(c, key, addr, o.kind == op_kind::write);
		if (!p) {
			ask_for(ep, o, key, addr, left);
			return false;
		}
		bulk_of(o).asked = 0; // that address may be asked for again, with another key
		const int rc = p->status ? p->status : start_piece(ep, o, *p, addr, left);
		if (rc) {
			o.status = rc == -FI_EAGAIN ? 0 : rc;
			return false;
		}
	}
	return o.sent == o.len;
}

// announcing: it is time for the frames after the pieces. One packet with the frames of many operations is cheaper.
outcome push_one(net_ep &ep, op &o, bool announcing)
{
	const channel &c = *net_of(*o.dest).c;
	if (net_departed(*o.dest))
		o.status = o.status ? o.status : -FI_ECONNRESET;
	const bool more = !o.status && o.sent < o.len; // otherwise only its end is pending
	if (more && (!may_begin(c, o) || !push_pieces(ep, o)) && !o.status)
		return outcome::waits;
	if (o.status)
		return o.in_flight ? outcome::waits : outcome::over;
	bulk_op &b = bulk_of(o);
	const bool stream = write_on_stream(o);
	if (!stream && o.acked < o.len)
		return outcome::waits;
	if (stream && !announcing && !b.announced && !o.carries_data)
		return outcome::unannounced;
	b.announced = b.announced || announce(ep, o);
	if (!b.announced || (stream && (!b.arrived || o.in_flight)))
		return outcome::waits;
	return outcome::over;
}

// No other event will cause it to be polled.
bool needs_poll(const op &o)
{
	if (o.status || bulk_of(o).announced)
		return false;
	return o.sent < o.len || !o.in_flight || write_on_stream(o);
}

} // namespace

int net_bulk(net_ep &ep, peer &p, op &o)
{
	channel &c = *net_of(p).c;
	if (p.unsent)
		return -FI_EAGAIN; // requests before it are still to be sent
	op *kept = op_keep(ep, std::move(o), &p);
	if (!kept)
		return -FI_EIO;
	bulk_begin(ep, *kept);
	forget_refusals(c);
	if (c.filling && c.filling->frames && c.unacked.size() < c.link->set.window)
		packet_leave(c);
	bulk_of(*kept).after = c.filling && c.filling->frames ? c.sent + 1 : c.sent;
	const outcome now = push_one(ep, *kept, false);
	if (now == outcome::unannounced)
		schedule_notice(ep, *kept);
	else if (now == outcome::over || needs_poll(*kept))
		schedule_poll(ep, *kept); // progress finishes it, if it is complete
	return kKept;
}

bool bulk_push_all(net_ep &ep, bool may_finish, bool idle)
{
	const bool announcing = idle || ep.bulk_unannounced.size() >= kAnnounceMost;
	if (ep.bulk_todo.empty() && (!announcing || ep.bulk_unannounced.empty()))
		return false;
	bool moved = false;
	std::vector<uint64_t> todo;
	if (announcing)
		todo.swap(ep.bulk_unannounced);
	todo.insert(todo.end(), ep.bulk_todo.begin(), ep.bulk_todo.end());
	ep.bulk_todo.clear();
	for (const uint64_t id : todo) {
		op *const found = bulk_find(ep, id);
		if (!found)
			continue;
		op &o = *found;
		bulk_of(o).listed = false;
		const size_t sent = o.sent;
		const outcome now = push_one(ep, o, announcing);
		moved = moved || o.sent != sent || now == outcome::over;
		if (now == outcome::unannounced)
			schedule_notice(ep, o);
		else if (now != outcome::over && needs_poll(o))
			schedule_poll(ep, o);
		if (now != outcome::over)
			continue;
		if (!may_finish)
			schedule_poll(ep, o);
		else if (o.status == -FI_EOPNOTSUPP && !o.sent)
			by_requests(ep, o);
		else
			op_finish(ep, o);
	}
	return moved;
}

void bulk_piece_over(net_ep &ep, uint64_t op_id, size_t len, int status)
{
	op *const found = bulk_find(ep, op_id);
	if (!found)
		return;
	op &o = *found;
	o.in_flight--;
	o.acked += len;
	if (status && !o.status)
		o.status = -FI_ECONNRESET;
	if (o.waiter && o.waiter->reusable && o.acked == o.len && !o.status) {
		std::exchange(o.waiter, nullptr)->over = true;
		domain_wake_sleepers(ep.ep->dom);
	}
	schedule_poll(ep, o);
}

void bulk_arrived(net_ep &ep, uint64_t op_id, int status)
{
	op *const found = bulk_find(ep, op_id);
	if (!found)
		return;
	op &o = *found;
	bulk_of(o).arrived = true;
	if (status && !o.status)
		o.status = status;
	schedule_poll(ep, o);
}

void bulk_poll_again(net_domain &d, const channel &c)
{
	for (net_ep *ep : d.eps)
		if (ep && ep->bulk)
			for (const op &o : ep->pending)
				if (o.moved && o.dest->wire_state && net_of(*o.dest).c == &c)
					schedule_poll(*ep, o);
}

void bulk_transfer_over(void *self, port_work *work, int status)
{
	auto &d = *static_cast<net_domain *>(self);
	auto *t = static_cast<bulk_transfer *>(work);
	net_ep *ep = t->ep;
	channel *c = t->c;
	if (ep && may_complete(*ep)) {
		bulk_piece_over(*ep, t->op_id, t->len, status);
	} else if (ep) {
		net_later l;
		l.transfer_op = t->op_id;
		l.transfer_len = t->len;
		l.status = status;
		complete_later(*ep, std::move(l));
	}
	transfer_spare(d, t);
	c->bulk--;
	if (status)
		channel_end(*c, -FI_ECONNRESET, std::string("a transfer failed: ") + pgas_strerror(-status), false);
}

bool bulk_counted(net_ep &ep, const char *bytes, size_t len)
{
	count_frame f;
	if (!frame_read(bytes, len, f))
		return false;
	const auto it = ep.ep->dom->regions.find(f.key);
	if (it != ep.ep->dom->regions.end() && it->second->open)
		target_count(ep.ep, *it->second, f.read ? remote_effect::read : remote_effect::write, f.of_range,
			     f.of_operation);
	return true;
}

} // namespace pgas
