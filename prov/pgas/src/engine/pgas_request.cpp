// SPDX-License-Identifier: BSD-3-Clause
//
// Requests: one-sided operations that a wire cannot do by itself (the target's progress runs them), and the bytes of
// long messages (the receiver requests them). They travel as control messages of any wire.
//
// A reply for which the peer has no room waits in wire_ep::replies. Arrivals are always processed (messages without a
// buffer move to the heap), so replies always get through and nothing can deadlock.
#include "pgas_request.hpp"
#include "pgas_ep.hpp"
#include "support/pgas_iov.hpp"
#include "pgas_peer.hpp"
#include "pgas_target.hpp"

#include <algorithm>
#include <cstring>

namespace pgas {
namespace {

constexpr uint32_t kPiecesInFlight = 8;
constexpr int32_t kErrnoMost = 4095; // of a response's status
constexpr int kRepliesAtOnce = 256;  // that replies_push() tries
constexpr size_t kKeptMost = 1024;   // pending operations: each progress call visits them all

enum request_code : uint16_t { kReqWrite = 1, kReqRead, kReqAmo, kReqPull };
// request_head::last: this is the last piece of its remote range, or of the whole operation.
enum piece_last : uint8_t { kLastOfRange = 1, kLastOfOperation = 2 };

struct request_head {
	uint64_t op_id;
	uint64_t addr;
	uint64_t key;   // pull: the sender's operation id
	uint64_t len;   // bytes of payload, or bytes requested
	uint64_t off;   // where in the operation this piece belongs
	uint32_t count; // atomics: elements
	uint8_t type, amo, form, pad_;
	uint8_t last; // piece_last
	uint8_t pad2_[7];
};
struct response_head {
	uint64_t op_id;
	uint64_t off;
	uint64_t len;
	int32_t status;
	uint32_t long_done; // ends a long message, does not answer a request
};

// Bytes of payload that fit into one control message, in both directions.
size_t piece_room(const peer *p)
{
	return p->wire->control_room(*p) - sizeof(request_head) - sizeof(response_head);
}

uint16_t code_of(const op &o)
{
	switch (o.kind) {
	case op_kind::write:
		return kReqWrite;
	case op_kind::read:
		return kReqRead;
	case op_kind::amo:
		return kReqAmo;
	default:
		return kReqPull;
	}
}

// --- sending requests ------------------------------------------------------------------------------------------------

// The next piece of an operation: where it lies, and how many bytes one message can carry.
request_head next_piece(const op &o)
{
	request_head h{};
	h.op_id = o.id;
	h.off = o.sent;
	size_t n = o.len - o.sent, here = n, room = piece_room(o.dest);
	if (o.kind == op_kind::pull) {
		h.key = o.peer_op;
	} else {
		here = op_remote_at(o, o.sent, &h.addr, &h.key);
		n = std::min(n, here);
	}
	if (o.kind == op_kind::amo) {
		const size_t bytes = amo_type_bytes(o.type);
		room /= o.cmp_count ? 2 : 1;
		room -= room % bytes;
		n = std::min(n, room);
		h.type = static_cast<uint8_t>(o.type);
		h.amo = static_cast<uint8_t>(o.amo);
		h.form = o.form;
		h.count = static_cast<uint32_t>(n / bytes);
	}
	h.len = n = std::min(n, room);
	h.last = static_cast<uint8_t>((n == here ? kLastOfRange : 0) | (o.sent + n == o.len ? kLastOfOperation : 0));
	return h;
}

int send_piece(const op &o, const request_head &h)
{
	control m{.kind = control_kind::request, .code = code_of(o), .head = &h, .head_len = sizeof h};
	std::vector<char> packed;
	if (o.kind == op_kind::write) {
		m.iov = o.iov;
		m.iov_count = o.iov_count;
		m.skip = o.sent;
		m.iov_len = h.len;
	} else if (o.kind == op_kind::amo) {
		packed.resize(sizeof h + h.len * ((o.iov_count ? 1 : 0) + (o.cmp_count ? 1 : 0)));
		memcpy(packed.data(), &h, sizeof h);
		size_t pos = sizeof h;
		if (o.iov_count) {
			iov_gather(o.iov, o.iov_count, o.sent, packed.data() + pos, h.len);
			pos += h.len;
		}
		if (o.cmp_count)
			iov_gather(o.cmp, o.cmp_count, o.sent, packed.data() + pos, h.len);
		m.head = packed.data();
		m.head_len = packed.size();
	}
	return peer_control(*o.dest, m);
}

bool wants_to_send(const op &o)
{
	// the receiver pulls the bytes of a send
	if (o.status || o.in_flight >= kPiecesInFlight || o.kind == op_kind::send || o.moved)
		return false;
	return o.sent < o.len || (o.len == 0 && o.in_flight == 0 && !o.acked);
}

bool wholly_sent(const op &o)
{
	return o.len ? o.sent == o.len : o.in_flight || o.acked;
}

// Sends the requests of a kept operation, as many as its limit allows.
void ask(wire_ep &ep, op &o)
{
	while (wants_to_send(o)) {
		if (o.kind == op_kind::pull && ep.pieces >= kPiecesInFlight)
			return; // all pulls share the limit of one operation: the buffers are ours
		const request_head h = next_piece(o);
		const int err = send_piece(o, h);
		if (err == -FI_EAGAIN)
			return;
		if (err) {
			o.status = err;
			return;
		}
		o.sent += h.len;
		o.in_flight++;
		if (o.kind == op_kind::pull)
			ep.pieces++;
		if (o.len == 0)
			return;
	}
}

void push(wire_ep &ep, op &o)
{
	ask(ep, o);
	if (o.unsent && (wholly_sent(o) || o.status)) {
		o.unsent = false;
		o.dest->unsent--;
	}
}

} // namespace

// One-sided operations to one peer are requested in the order in which they were started.
int request_submit(wire_ep &ep, peer &p, op &&o)
{
	if (ep.pending.size() >= kKeptMost)
		return -FI_EAGAIN;
	op *kept = op_keep(ep, std::move(o), &p);
	if (!kept)
		return -FI_EIO;
	kept->unsent = true;
	if (p.unsent++ == 0)
		push(ep, *kept);
	return kKept;
}

int request_pull(wire_ep &ep, peer &sender, rx_entry *rx, uint64_t sender_op, completion &c)
{
	op o;
	o.kind = op_kind::pull;
	o.len = c.len;
	o.rx = rx;
	o.rx_result = c;
	o.peer_op = sender_op;
	op *kept = op_keep(ep, std::move(o), &sender);
	if (!kept) {
		c.err = FI_EIO;
		c.len = 0;
		return kDone;
	}
	push(ep, *kept);
	if (kept->status)
		op_finish(ep, *kept);
	return kKept;
}

// --- at the target ---------------------------------------------------------------------------------------------------

namespace {

void reply_send(peer *p, const response_head &head, const iovec *iov, size_t iov_count, size_t skip, size_t len)
{
	const control m{.kind = control_kind::response,
			.head = &head,
			.head_len = sizeof head,
			.iov = iov,
			.iov_count = iov_count,
			.skip = skip,
			.iov_len = len};
	// a peer's replies keep their order, so a waiting one holds back later ones
	if (!p->replies && peer_control(*p, m) != -FI_EAGAIN)
		return;
	reply r;
	r.dest = p;
	r.bytes.resize(sizeof head + len);
	memcpy(r.bytes.data(), &head, sizeof head);
	iov_gather(iov, iov_count, skip, r.bytes.data() + sizeof head, len);
	p->owner->replies.push_back(std::move(r));
	p->replies++;
}

// For operations that arrive as requests: counts each region once, and the endpoint once per operation.
void count_remote(ep_core *ep, const mr &region, remote_effect what, uint8_t last)
{
	target_count(ep, region, what, last & kLastOfRange, last & kLastOfOperation);
}

int run_write(ep_core *ep, const request_head &h, const char *data, size_t data_len)
{
	target_memory memory;
	if (data_len != h.len)
		return -FI_EINVAL;
	if (const int err = target_find(ep->dom, h.key, h.addr, h.len, FI_REMOTE_WRITE, memory))
		return err;
	pgas_fence_store_store(); // a thread that polls one of these bytes sees what was written before it
	if (const int err = target_store(memory, data, h.len))
		return err;
	count_remote(ep, *memory.region, remote_effect::write, h.last);
	return 0;
}

int run_read(ep_core *ep, const request_head &h, size_t room, std::vector<char> &out)
{
	target_memory memory;
	if (h.len > room)
		return -FI_EINVAL;
	if (const int err = target_find(ep->dom, h.key, h.addr, h.len, FI_REMOTE_READ, memory))
		return err;
	out.resize(h.len);
	if (const int err = target_load(memory, out.data(), h.len))
		return err;
	count_remote(ep, *memory.region, remote_effect::read, h.last);
	return 0;
}

int run_amo(ep_core *ep, const request_head &h, const char *data, size_t data_len, size_t room, std::vector<char> &out)
{
	const target_amo a{static_cast<fi_datatype>(h.type),
			   static_cast<fi_op>(h.amo),
			   static_cast<amo_form>(h.form),
			   h.count,
			   data,
			   data_len};
	if (h.form <= kAmoCompare && h.count * amo_type_bytes(a.type) > room)
		return -FI_EINVAL;
	target_memory memory;
	if (const int err = target_amo_run(ep->dom, h.key, h.addr, a, out, memory))
		return err;
	count_remote(ep, *memory.region, amo_effect(a.form, a.op), h.last);
	return 0;
}

uint64_t announced(const char *bytes)
{
	uint64_t sender_op;
	memcpy(&sender_op, bytes, sizeof sender_op);
	return sender_op;
}

// The send whose bytes a receiver requests, or null when it may not have them.
const op *pulled(const wire_ep &ep, const peer *sender, const request_head &h, size_t room)
{
	const op *o = ep.pending.find(h.key);
	if (!o || o->kind != op_kind::send || o->dest->owner != sender->owner ||
	    o->dest->address_part != sender->address_part)
		return nullptr;
	return h.off <= o->len && h.len <= o->len - h.off && h.len <= room ? o : nullptr;
}

} // namespace

int request_pull_announced(wire_ep &ep, peer &sender, rx_entry *rx, const char *bytes, completion &c)
{
	return request_pull(ep, sender, rx, announced(bytes), c);
}

void request_discard_announced(peer &sender, const char *bytes)
{
	request_long_done(sender, announced(bytes), 0);
}

void request_long_done(peer &p, uint64_t sender_op, int status)
{
	reply_send(&p, {.op_id = sender_op, .off = 0, .len = 0, .status = status, .long_done = 1}, nullptr, 0, 0, 0);
}

bool request_run(wire_ep &base_ep, uint32_t src, uint16_t code, const char *payload, size_t payload_len)
{
	ep_core *ep = base_ep.ep;
	if (payload_len < sizeof(request_head))
		return false;
	request_head h;
	memcpy(&h, payload, sizeof h);
	const char *data = payload + sizeof h;
	const size_t data_len = payload_len - sizeof h;
	peer *sender;
	if (peer_of_sender(base_ep, src, &sender) != 0)
		return false; // it died after sending the request
	// a pull has a pending send, which keeps the counters cold as long as needed
	if (!ep->serves && !base_ep.served && code != kReqPull) {
		ep->serves = true;
		ep_update_polls(ep); // reading a counter makes progress from now on
	}
	const size_t room = sender->wire->control_room(*sender) -
			    sizeof(response_head); // no requester asks for more in one request
	response_head r{h.op_id, h.off, h.len, 0, 0};
	std::vector<char> out;
	switch (code) {
	case kReqWrite:
		r.status = run_write(ep, h, data, data_len);
		break;
	case kReqRead:
		r.status = run_read(ep, h, room, out);
		break;
	case kReqAmo:
		r.status = run_amo(ep, h, data, data_len, room, out);
		break;
	case kReqPull:
		if (const op *o = pulled(base_ep, sender, h, room)) { // straight out of the caller's buffer
			reply_send(sender, r, o->iov, o->iov_count, h.off, h.len);
			return true;
		}
		r.status = -FI_EINVAL;
		break;
	default:
		r.status = -FI_ENOSYS;
	}
	if (r.status)
		out.clear();
	const iovec answer{out.data(), out.size()};
	reply_send(sender, r, &answer, 1, 0, out.size());
	return true;
}

// --- receiving responses ---------------------------------------------------------------------------------------------

namespace {

bool answer_has_data(const op &o)
{
	return o.kind == op_kind::read || o.kind == op_kind::pull || (o.kind == op_kind::amo && o.form);
}

void take_data(op &o, uint64_t off, const char *data, size_t len)
{
	if (o.kind == op_kind::read)
		iov_scatter(o.iov, o.iov_count, off, data, len);
	else if (o.kind == op_kind::amo)
		iov_scatter(o.res, o.res_count, off, data, len);
	else
		iov_scatter(o.rx->iov, o.rx->iov_count, off, data, len);
}

int send_cq_data(const op &o)
{
	return peer_control(*o.dest, {.kind = control_kind::cq_data, .len = o.len, .data = o.data});
}

} // namespace

void response_take(wire_ep &ep, const char *payload, size_t payload_len)
{
	if (payload_len < sizeof(response_head))
		return;
	response_head r;
	memcpy(&r, payload, sizeof r);
	op *const found = ep.pending.find(r.op_id);
	if (!found)
		return; // failed meanwhile
	op &o = *found;
	if (r.status > 0 || r.status < -kErrnoMost)
		r.status = -FI_EIO;
	if (r.long_done) {
		if (o.kind != op_kind::send)
			return;
		o.status = r.status;
		op_finish(ep, o);
		return;
	}
	if (o.kind == op_kind::send || !o.in_flight || o.late_data || o.moved)
		return; // it requested nothing
	const char *data = payload + sizeof r;
	const size_t data_len = payload_len - sizeof r;
	o.in_flight--;
	if (o.kind == op_kind::pull)
		ep.pieces--;
	if (!r.status && (r.off > o.len || r.len > o.len - r.off || data_len != (answer_has_data(o) ? r.len : 0)))
		r.status = -FI_EIO; // not a response to what was requested
	if (r.status && !o.status)
		o.status = r.status;
	if (!r.status && data_len)
		take_data(o, r.off, data, data_len);
	o.acked += r.len ? r.len : 1;
	if (!o.status && o.sent >= o.len && !o.in_flight && o.acked < o.len)
		o.status = -FI_EIO; // all pieces answered, but fewer bytes than requested
	if ((!o.status && o.acked < o.len) || o.in_flight) {
		push(ep, o);
		return;
	}
	if (!o.status && o.carries_data && (o.dest->late || send_cq_data(o) == -FI_EAGAIN)) {
		o.late_data = true; // request_push_all() tries again
		o.dest->late++;
		return;
	}
	op_finish(ep, o);
}

// --- pending work ----------------------------------------------------------------------------------------------------

bool replies_push(wire_ep &ep)
{
	const size_t before = ep.replies.size();
	std::vector<const peer *> full; // their replies wait; those to other peers do not
	auto it = ep.replies.begin();
	for (int n = 0; n < kRepliesAtOnce && it != ep.replies.end(); n++) {
		const control m{.kind = control_kind::response, .head = it->bytes.data(), .head_len = it->bytes.size()};
		if (std::find(full.begin(), full.end(), it->dest) != full.end()) {
			++it;
		} else if (peer_control(*it->dest, m) == -FI_EAGAIN) {
			full.push_back(it->dest);
			++it;
		} else {
			it->dest->replies--;
			it = ep.replies.erase(it);
		}
	}
	return ep.replies.size() != before;
}

bool request_push_all(wire_ep &ep)
{
	bool moved = replies_push(ep);
	std::vector<op *> over;
	std::vector<const peer *> asking, telling; // peers to which an earlier operation still has something to send
	const auto behind = [](const std::vector<const peer *> &list, const peer *p) {
		return std::find(list.begin(), list.end(), p) != list.end();
	};
	for (op &o : ep.pending) {
		if (peer_silent(*o.dest)) {
			o.status = -FI_ECONNRESET;
			over.push_back(&o);
			continue;
		}
		if (o.moved)
			continue; // its wire moves it
		if (o.late_data) {
			if (!behind(telling, o.dest) && send_cq_data(o) != -FI_EAGAIN)
				over.push_back(&o);
			else
				telling.push_back(o.dest);
			continue;
		}
		const uint32_t in_flight = o.in_flight;
		if (!o.unsent || !behind(asking, o.dest))
			push(ep, o);
		if (o.unsent)
			asking.push_back(o.dest);
		moved = moved || o.in_flight != in_flight;
		if (o.status && o.in_flight == 0)
			over.push_back(&o);
	}
	for (op *o : over)
		op_finish(ep, *o);
	return moved || !over.empty();
}

// True when something can only be moved by a retry, not by a response. Everything else can sleep until a message
// arrives.
bool request_retries(const wire_ep &ep)
{
	if (!ep.replies.empty())
		return true;
	for (const op &o : ep.pending)
		if (o.late_data || (o.kind != op_kind::send && o.in_flight == 0))
			return true;
	return false;
}

} // namespace pgas
