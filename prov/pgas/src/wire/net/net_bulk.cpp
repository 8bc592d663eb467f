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
// room. An operation that only waits for its closing frames is in net_ep::bulk_untold until it is time for them: a
// caller that puts one piece after the other must not poll all earlier ones each time.
//
// The owner registers with the port what is requested, and no more: a port that pins memory would make the reserved
// part of a heap real. When the owner closes the region, it tells all peers to which it gave a key.
#include "net.hpp"
#include "hmem/pgas_hmem.hpp"
#include "support/pgas_iov.hpp"
#include "engine/pgas_request.hpp"
#include "engine/pgas_target.hpp"

#include <algorithm>
#include <cstring>

namespace pgas {
namespace {

constexpr size_t kPieceMost = 8 << 20; // of one transfer
constexpr uint32_t kTransfersMost = 4; // of one operation at a time
constexpr size_t kTellMost = 32;       // operations whose arrival one packet asks for
// What a port that pins registers at a time; less for requests about a word, which must not wait long.
constexpr uint64_t kPinnedPiece = 64 << 20, kPinnedForWord = 2 << 20;

// --- asking for keys -------------------------------------------------------------------------------------------------

// A refusal applies only to operations that already wait for it; later operations ask again.
void forget_refusals(channel &c)
{
	if (std::erase_if(side_of(c).pieces, [](const far_piece &p) { return p.status; }))
		side_of(c).era++;
}

// --- transfers -------------------------------------------------------------------------------------------------------

void schedule_poll(net_ep &ep, op &o)
{
	if (!std::exchange(o.bulk_listed, true))
		ep.bulk_todo.push_back(o.id);
}

void schedule_notice(net_ep &ep, op &o)
{
	if (!std::exchange(o.bulk_listed, true))
		ep.bulk_untold.push_back(o.id);
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

// Frees the pieces that are no longer used: their region closed, and no transfer uses them.
void near_sweep(net_domain &d)
{
	std::erase_if(d.near, [&d](auto &p) {
		if (p->region || p->transfers)
			return false;
		d.l->port->ops->conceal(*d.l->port, p->memory);
		return true;
	});
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

// The part of a region that holds an address, as a piece registered with the port. len: of the access.
int expose_around(net_domain &d, const mr &m, uint64_t va, uint64_t len, near_piece **out)
{
	port &base = *d.l->port;
	if (m.flags & kKeyDevice)
		return expose_device_around(d, m, va, out);
	if (near_piece *known = known_near(d, m, va)) {
		*out = known;
		return 0;
	}
	for (const mem_part &part : m.parts) {
		if (va < part.va || va - part.va >= part.len)
			continue;
		near_piece p{&m, part.va, part.len, {}};
		if (base.limits.pins) {
			const uint64_t piece = len > sizeof(uint64_t) ? kPinnedPiece : kPinnedForWord;
			p.off = std::max(part.va, va & ~(piece - 1));
			p.len = std::min(part.va + part.len, (va | (piece - 1)) + 1) - p.off;
		}
		if (const int err =
			    base.ops->expose(base, reinterpret_cast<void *>(p.off), p.len, rights_of(m), &p.memory)) {
			PGAS_INFO(FI_LOG_MR, "link: %llu bytes cannot be registered for bulk: %s\n",
				  static_cast<unsigned long long>(p.len), pgas_strerror(-err));
			return -FI_EOPNOTSUPP;
		}
		d.near.push_back(std::make_unique<near_piece>(p));
		*out = d.near.back().get();
		return 0;
	}
	return -FI_EACCES;
}

// Returns the piece of one of our regions that holds a buffer, registered once; null: none. Other memory is registered
// for each transfer: it may be unmapped and mapped anew without our knowledge.
near_piece *piece_around(net_domain &d, uint64_t va, size_t len)
{
	for (const auto &[key, m] : d.dom->regions) {
		near_piece *p = nullptr;
		if (m->open && !(m->flags & (kKeyWhole | kKeyDevice)) && expose_around(d, *m, va, len, &p) == 0)
			return va - p->off + len <= p->len ? p : nullptr;
	}
	return nullptr;
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
	o.bulk_passed = true;
	o.dest->bulk--;
}

// Updates the counters that are bound at the target, and sends cq data. Returns false if there is no room now.
bool tell_target(net_ep &ep, op &o)
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
	again.bulk = false;
	again.sent = again.acked = 0;
	again.status = 0;
	request_submit(ep, p, std::move(again));
}

void ask_for(net_ep &ep, op &o, uint64_t key, uint64_t addr, size_t len)
{
	channel &c = *net_of(*o.dest).c;
	const uint64_t era = side_of(c).era;
	if (o.bulk_asked == addr + 1 && o.bulk_asked_era == era)
		return; // already asked, the answer is pending
	const key_frame f{key, addr, len, 0, 0, 0, o.kind == op_kind::write, 0, 0, 0};
	if (!frame_send(c, frame_kind::key_ask, ep.number, net_of(*o.dest).dst, f, false))
		return;
	frame_push(c);
	o.bulk_asked = addr + 1;
	o.bulk_asked_era = era;
}

enum class outcome : uint8_t { waits, untold, over }; // untold: sent completely, its closing frames are due

// Nothing that was sent to the peer earlier can be overtaken any more.
bool may_begin(const channel &c, const op &o)
{
	if (!streams(c))
		return static_cast<int32_t>(c.acked - o.bulk_after) >= 0;
	return static_cast<int32_t>(c.sent - o.bulk_after) >= 0 && c.backlog.empty();
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
		o.bulk_asked = 0; // that address may be asked for again, with another key
		const int rc = p->status ? p->status : start_piece(ep, o, *p, addr, left);
		if (rc) {
			o.status = rc == -FI_EAGAIN ? 0 : rc;
			return false;
		}
	}
	return o.sent == o.len;
}

// tell: it is time for the frames after the pieces. One packet with the frames of many operations is cheaper.
outcome push_one(net_ep &ep, op &o, bool tell)
{
	const channel &c = *net_of(*o.dest).c;
	if (net_departed(*o.dest))
		o.status = o.status ? o.status : -FI_ECONNRESET;
	const bool more = !o.status && o.sent < o.len; // otherwise only its end is pending
	if (more && (!may_begin(c, o) || !push_pieces(ep, o)) && !o.status)
		return outcome::waits;
	if (o.status)
		return o.in_flight ? outcome::waits : outcome::over;
	const bool stream = write_on_stream(o);
	if (!stream && o.acked < o.len)
		return outcome::waits;
	if (stream && !tell && !o.bulk_told && !o.carries_data)
		return outcome::untold;
	o.bulk_told = o.bulk_told || tell_target(ep, o);
	if (!o.bulk_told || (stream && (!o.bulk_arrived || o.in_flight)))
		return outcome::waits;
	return outcome::over;
}

// No other event will cause it to be polled.
bool needs_poll(const op &o)
{
	if (o.status || o.bulk_told)
		return false;
	return o.sent < o.len || !o.in_flight || write_on_stream(o);
}

} // namespace

const far_piece *known_piece(const channel &c, uint64_t key, uint64_t addr, bool write)
{
	for (const far_piece &p : side_of(c).pieces)
		if (p.key == key && p.write == write && addr >= p.addr && addr - p.addr < p.len)
			return &p;
	return nullptr;
}

near_piece *known_near(const net_domain &d, const mr &m, uint64_t va)
{
	const auto it = std::find_if(d.near.begin(), d.near.end(), [&](const auto &p) {
		return p->region == &m && va >= p->off && va - p->off < p->len;
	});
	return it == d.near.end() ? nullptr : it->get();
}

port_rights rights_of(const mr &m)
{
	return static_cast<port_rights>((m.access & FI_REMOTE_READ ? kPortRead : 0) |
					(m.access & FI_REMOTE_WRITE ? kPortWrite : 0));
}

int net_bulk(net_ep &ep, peer &p, op &o)
{
	channel &c = *net_of(p).c;
	if (p.unsent)
		return -FI_EAGAIN; // requests before it are still to be sent
	op *kept = op_keep(ep, std::move(o), &p);
	if (!kept)
		return -FI_EIO;
	kept->bulk = true;
	ep.bulk++;
	p.bulk++;
	forget_refusals(c);
	if (c.filling && c.filling->frames && c.unacked.size() < c.link->set.window)
		packet_leave(c);
	kept->bulk_after = c.filling && c.filling->frames ? c.sent + 1 : c.sent;
	const outcome now = push_one(ep, *kept, false);
	if (now == outcome::untold)
		schedule_notice(ep, *kept);
	else if (now == outcome::over || needs_poll(*kept))
		schedule_poll(ep, *kept); // progress finishes it, if it is complete
	return kKept;
}

bool bulk_push_all(net_ep &ep, bool may_finish, bool idle)
{
	const bool tell = idle || ep.bulk_untold.size() >= kTellMost;
	if (ep.bulk_todo.empty() && (!tell || ep.bulk_untold.empty()))
		return false;
	bool moved = false;
	std::vector<uint64_t> todo;
	if (tell)
		todo.swap(ep.bulk_untold);
	todo.insert(todo.end(), ep.bulk_todo.begin(), ep.bulk_todo.end());
	ep.bulk_todo.clear();
	for (const uint64_t id : todo) {
		const auto it = ep.pending.find(id);
		if (it == ep.pending.end())
			continue;
		op &o = *it->second;
		o.bulk_listed = false;
		const size_t sent = o.sent;
		const outcome now = push_one(ep, o, tell);
		moved = moved || o.sent != sent || now == outcome::over;
		if (now == outcome::untold)
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
	const auto it = ep.pending.find(op_id);
	if (it == ep.pending.end())
		return; // given up meanwhile
	op &o = *it->second;
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
	const auto it = ep.pending.find(op_id);
	if (it == ep.pending.end())
		return;
	op &o = *it->second;
	o.bulk_arrived = true;
	if (status && !o.status)
		o.status = status;
	schedule_poll(ep, o);
}

void bulk_look_again(net_domain &d, const channel &c)
{
	for (net_ep *ep : d.eps)
		if (ep && ep->bulk)
			for (auto &[id, o] : ep->pending)
				if (o->bulk && o->dest->line && net_of(*o->dest).c == &c)
					schedule_poll(*ep, *o);
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

// --- answering keys --------------------------------------------------------------------------------------------------

namespace {

int answer(net_domain &d, const net_ep &ep, key_frame &f)
{
	target_memory memory;
	if (const int err =
		    target_find(d.dom, f.key, f.addr, f.len, f.write ? FI_REMOTE_WRITE : FI_REMOTE_READ, memory))
		return err;
	const mr &m = *memory.region;
	if (m.flags & kKeyWhole || memory.pieces.empty())
		return -FI_EOPNOTSUPP; // the whole address space cannot be registered
	const auto va = reinterpret_cast<uint64_t>(memory.pieces[0].iov_base);
	near_piece *p = nullptr;
	if (const int err = expose_around(d, m, va, f.len, &p))
		return err;
	f.addr -= va - p->off; // the whole piece, in the peer's way of addressing it
	f.len = p->len;
	f.port_addr = p->memory.addr;
	f.port_key = p->memory.key;
	f.reads = (m.access & FI_REMOTE_READ) != 0;
	f.counts = m.rem_wr || m.rem_rd || ep.ep->c_rem_write || ep.ep->c_rem_read;
	return 0;
}

} // namespace

bool key_asked(net_domain &d, channel &c, const frame_head &h, const char *bytes, size_t len)
{
	key_frame f;
	if (!frame_read(bytes, len, f))
		return false;
	const net_ep *ep = target_of(d, h);
	f.status = !ep                               ? -FI_ECONNRESET
		   : !c.link->port->limits.bulk_from ? -FI_EOPNOTSUPP // signed links expose no memory
						     : answer(d, *ep, f);
	return frame_send(c, frame_kind::key_answer, h.dst, h.src, f, true) || c.open();
}

bool key_answered(net_domain &d, channel &c, const char *bytes, size_t len)
{
	constexpr size_t kPiecesMost = 4096; // remembered; beyond that, the peer is asked again
	key_frame f;
	if (!frame_read(bytes, len, f) || !f.len || f.addr + f.len < f.addr)
		return false; // an answer about nothing, which was not asked for
	auto &known = side_of(c).pieces;
	if (known.size() >= kPiecesMost) {
		known.clear();
		side_of(c).era++;
	}
	if (f.status > 0 || f.status < -4095)
		f.status = -FI_EIO;
	known.push_back(
		{f.key, f.addr, f.len, f.port_addr, f.port_key, f.write != 0, f.counts != 0, f.reads != 0, f.status});
	d.put_aside = true;
	return true;
}

bool key_gone(channel &c, const char *bytes, size_t len)
{
	key_frame f;
	if (!frame_read(bytes, len, f))
		return false;
	std::erase_if(side_of(c).pieces, [&f](const far_piece &p) { return p.key == f.key; });
	side_of(c).era++;
	run_close(c); // no direct puts there any more
	return true;
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

void bulk_mr_close(wire_domain &base, mr &m)
{
	auto &d = static_cast<net_domain &>(base);
	d.last_region = nullptr;
	bool given = false;
	for (const auto &p : d.near) {
		given = given || p->region == &m;
		if (p->region == &m)
			p->region = nullptr;
	}
	if (!given)
		return;
	near_sweep(d);
	const key_frame f{m.key, 0, 0, 0, 0, 0, 0, 0, 0, 0};
	for (auto &c : d.l->channels) {
		if (c && c->open() && frame_send(*c, frame_kind::key_gone, 0, 0, f, true))
			frame_push(*c);
	}
}

} // namespace pgas
