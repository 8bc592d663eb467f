// SPDX-License-Identifier: BSD-3-Clause
//
// Work that needs the other side: one-sided operations on memory that can be neither mapped nor reached with process_vm
// (requests, run by the target's progress), and the bytes of long messages (pulled by the receiver).
//
// Everything travels through the rings. A reply that finds no room waits in ep_core::replies; a ring is always drained
// (messages without a buffer move to the heap), so replies always get through and nothing can deadlock.
#include "pgas.hpp"
#include "pgas_info.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cstring>

namespace pgas {
namespace {

constexpr uint32_t kPiecesInFlight = 8;
constexpr int32_t kErrnoMost = 4095;                   // of what a response may say
constexpr int kRepliesAtOnce = 256;                    // that replies_push() looks at
constexpr int kPopulateRead = 22, kPopulateWrite = 23; // MADV_POPULATE_*, which older headers lack

// What goes into one of the peer's eager buffers, and comes back into one of ours, which may be smaller.
size_t piece_room(const peer *p)
{
	return std::min<size_t>(eager_room(p), p->ep->eager.bytes) - sizeof(request_head) - sizeof(response_head);
}

void finish(ep_core *ep, op &o)
{
	const uint64_t id = o.id;
	if (o.kind != op_kind::send && o.kind != op_kind::pull) {
		o.to->one_sided--;
		if (--ep->one_sided == 0 && (ep->order & kStrictOneSided))
			ep_update_hot(ep);
	}
	if (o.kind == op_kind::pull) {
		ep->pieces -= o.in_flight;
		completion c = o.rx_result;
		if (o.status) {
			c.err = -o.status;
			c.len = 0;
		}
		reply_send(o.to, {.op_id = o.peer_op, .off = 0, .len = 0, .status = o.status, .long_done = 1}, nullptr,
			   0, 0, 0);
		rx_finish(ep, o.rx, c);
		o.rx = nullptr;
	} else {
		op_complete(ep, o);
	}
	ep->pending.erase(id);
}

// The remote segment and address of byte `at` of a one-sided operation, and how many bytes follow there.
size_t remote_at(const op &o, uint64_t at, uint64_t *addr, uint64_t *key)
{
	for (size_t i = 0; i < o.rma_count; i++) {
		if (at < o.rma[i].len) {
			*addr = o.rma[i].addr + at;
			*key = o.rma[i].key;
			return o.rma[i].len - at;
		}
		at -= o.rma[i].len;
	}
	*addr = o.rma[0].addr;
	*key = o.rma[0].key;
	return 0;
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

} // namespace

void op_push(ep_core *ep, op &o)
{
	if (o.kind == op_kind::send)
		return; // the receiver pulls
	const bool amo = o.kind == op_kind::amo;
	while (!o.status && o.in_flight < kPiecesInFlight &&
	       (o.sent < o.len || (o.len == 0 && o.in_flight == 0 && !o.acked))) {
		if (o.kind == op_kind::pull && ep->pieces >= kPiecesInFlight)
			return; // pulls share what one operation may have: the buffers are ours
		request_head h{};
		h.op_id = o.id;
		h.off = o.sent;
		size_t n = o.len - o.sent, here = n;
		if (o.kind == op_kind::pull) {
			h.key = o.peer_op;
		} else {
			here = remote_at(o, o.sent, &h.addr, &h.key);
			if (n > here)
				n = here;
		}
		const size_t parts = amo ? 1 + (o.cmp_count ? 1 : 0) : 1;
		size_t room = piece_room(o.to) / parts;
		if (amo) {
			const size_t bytes = amo_type_bytes(o.type);
			room -= room % bytes;
			h.type = static_cast<uint8_t>(o.type);
			h.amo = static_cast<uint8_t>(o.amo);
			h.form = o.form;
		}
		if (n > room)
			n = room;
		h.len = n;
		h.count = amo ? static_cast<uint32_t>(n / amo_type_bytes(o.type)) : 0;
		h.last = static_cast<uint8_t>((n == here ? 1 : 0) | (o.sent + n == o.len ? 2 : 0));
		ring_message m{.kind = PGAS_KIND_REQUEST, .len = 0};
		m.tag = code_of(o);
		std::vector<char> packed;
		if (o.kind == op_kind::write) {
			m.head = &h;
			m.head_len = sizeof h;
			m.iov = o.iov;
			m.iov_count = o.iov_count;
			m.skip = o.sent;
			m.iov_len = n;
		} else if (amo) {
			packed.resize(sizeof h + n * ((o.iov_count ? 1 : 0) + (o.cmp_count ? 1 : 0)));
			memcpy(packed.data(), &h, sizeof h);
			size_t at = sizeof h;
			if (o.iov_count) {
				iov_gather(o.iov, o.iov_count, o.sent, packed.data() + at, n);
				at += n;
			}
			if (o.cmp_count)
				iov_gather(o.cmp, o.cmp_count, o.sent, packed.data() + at, n);
			m.head = packed.data();
			m.head_len = packed.size();
		} else {
			m.head = &h;
			m.head_len = sizeof h;
		}
		m.len = m.head_len + m.iov_len;
		const int err = ring_send(o.to, m);
		if (err == -FI_EAGAIN)
			return;
		if (err) {
			o.status = err;
			return;
		}
		o.sent += n;
		o.in_flight++;
		if (o.kind == op_kind::pull)
			ep->pieces++;
		if (o.len == 0)
			return;
	}
}

// --- at the target ---------------------------------------------------------------------------------------------------

namespace {

// Checks a request against our own key table; the memory is ours, so the address is one of this process.
int own_memory(domain *dom, const request_head &h, uint64_t right, size_t bytes, std::vector<iovec> &pieces,
	       key_entry *entry)
{
	const key_entry *where;
	if (!key_read(dom->keys.entries, h.key, *entry, &where))
		return -FI_EKEYREJECTED;
	if ((entry->access & right) != right)
		return -FI_EACCES;
	uint64_t off = h.addr;
	const part_entry *parts = dom->keys.parts + entry->part_first;
	if (entry->flags & kKeyVirtual) {
		bool found = false;
		for (uint32_t i = 0; i < entry->part_count && !found; i++) {
			if (h.addr >= parts[i].va && h.addr - parts[i].va < parts[i].len + !bytes) {
				off = parts[i].off + (h.addr - parts[i].va);
				found = true;
			}
		}
		if (!found)
			return -FI_EACCES;
	}
	if (bytes > entry->len || off > entry->len - bytes)
		return -FI_EACCES;
	for (uint32_t i = 0; i < entry->part_count && bytes; i++) {
		if (off < parts[i].off || off - parts[i].off >= parts[i].len)
			continue;
		size_t n = parts[i].len - (off - parts[i].off);
		if (n > bytes)
			n = bytes;
		pieces.push_back({reinterpret_cast<void *>(parts[i].va + (off - parts[i].off)), n});
		off += n;
		bytes -= n;
	}
	return bytes ? -FI_EACCES : 0;
}

// Who registers the whole address space says nothing about which addresses are mapped: ask the kernel before touching
// what a peer names, as process_vm_readv would. Kernels before 5.14 cannot tell.
int mapped(const key_entry &e, const std::vector<iovec> &pieces, bool write)
{
	if (!(e.flags & kKeyWhole))
		return 0;
	const auto touch = [](const iovec &p, int how) {
		const uintptr_t page = page_bytes();
		const uintptr_t first = reinterpret_cast<uintptr_t>(p.iov_base) & ~(page - 1);
		const uintptr_t end = round_up(reinterpret_cast<uintptr_t>(p.iov_base) + p.iov_len, page);
		return p.iov_len == 0 || madvise(reinterpret_cast<void *>(first), end - first, how) == 0;
	};
	char here = 0;
	static const bool kernel_can = touch({&here, 1}, kPopulateRead);
	for (const iovec &p : pieces)
		if (kernel_can && !touch(p, write ? kPopulateWrite : kPopulateRead))
			return -FI_EFAULT;
	return 0;
}

// For operations that come as requests: each region once, the endpoint once per operation.
void count_remote(ep_core *ep, const key_entry &e, remote_effect what, uint8_t last)
{
	const remote_counter_ids none{kNoCounter, kNoCounter}, region{e.wr_cntr, e.rd_cntr};
	const remote_counter_ids whole{ep->shared->rem_wr_cntr, ep->shared->rem_rd_cntr};
	if (remote_count(ep->dom->counters(), what, last & 1 ? region : none, last & 2 ? whole : none) &&
	    pgas_load_relaxed(&ep->dom->door()->sleepers)) // a thread of ours may wait for it
		pgas_door_ring(ep->dom->door());
}

int run_amo(ep_core *ep, const request_head &h, const char *data, size_t data_len, size_t room,
	    std::vector<char> &result, key_entry *entry)
{
	const auto type = static_cast<fi_datatype>(h.type);
	const auto op = static_cast<fi_op>(h.amo);
	if (!amo_valid(type, op, h.form))
		return -FI_EOPNOTSUPP;
	const size_t bytes = h.count * amo_type_bytes(type);
	const bool has_operand = op != FI_ATOMIC_READ;
	if (data_len != bytes * ((has_operand ? 1 : 0) + (h.form == 2 ? 1 : 0)))
		return -FI_EINVAL;
	uint64_t right = op == FI_ATOMIC_READ ? 0 : FI_REMOTE_WRITE;
	if (h.form)
		right |= FI_REMOTE_READ;
	if (bytes > room)
		return -FI_EINVAL;
	std::vector<iovec> at;
	if (const int err = own_memory(ep->dom, h, right, bytes, at, entry))
		return err;
	if (const int err = mapped(*entry, at, right & FI_REMOTE_WRITE))
		return err;
	const size_t unit = amo_type_align(type);
	if (h.form)
		result.resize(bytes);
	size_t done = 0;
	for (const iovec &piece : at) {
		if (reinterpret_cast<uintptr_t>(piece.iov_base) % unit || piece.iov_len % amo_type_bytes(type))
			return -FI_EINVAL;
		amo_apply(type, op, piece.iov_base, piece.iov_len / amo_type_bytes(type),
			  has_operand ? data + done : nullptr, h.form == 2 ? data + bytes + done : nullptr,
			  h.form ? result.data() + done : nullptr, ep->dom->shared.at<amo_lock>(kLockOff));
		done += piece.iov_len;
	}
	return 0;
}

} // namespace

void request_run(ep_core *ep, uint32_t src, uint16_t code, const char *payload, size_t payload_len)
{
	if (payload_len < sizeof(request_head))
		return;
	request_head h;
	memcpy(&h, payload, sizeof h);
	const char *data = payload + sizeof h;
	const size_t data_len = payload_len - sizeof h;
	peer *from;
	if (peer_of_sender(ep, src, &from) != 0)
		return; // it died after it asked
	// a pull has a pending send, which keeps the counters cold as long as needed
	if (!ep->serves && code != kReqPull) {
		ep->serves = true;
		ep_update_polls(ep); // reading a counter makes progress from now on
	}
	const size_t room = eager_room(from) - sizeof(response_head); // no requester of ours wants more at a time
	response_head r{h.op_id, h.off, h.len, 0, 0};
	std::vector<char> out;
	std::vector<iovec> at;
	key_entry entry{};
	switch (code) {
	case kReqWrite:
		r.status = data_len == h.len ? own_memory(ep->dom, h, FI_REMOTE_WRITE, h.len, at, &entry) : -FI_EINVAL;
		if (!r.status)
			r.status = mapped(entry, at, true);
		if (!r.status) {
			iov_scatter(at.data(), at.size(), 0, data, h.len);
			count_remote(ep, entry, remote_effect::write, h.last);
		}
		break;
	case kReqRead:
		r.status = h.len <= room ? own_memory(ep->dom, h, FI_REMOTE_READ, h.len, at, &entry) : -FI_EINVAL;
		if (!r.status)
			r.status = mapped(entry, at, false);
		if (!r.status) {
			out.resize(h.len);
			iov_gather(at.data(), at.size(), 0, out.data(), h.len);
			count_remote(ep, entry, remote_effect::read, h.last);
		}
		break;
	case kReqAmo:
		r.status = run_amo(ep, h, data, data_len, room, out, &entry);
		if (!r.status)
			count_remote(ep, entry, amo_effect(h.form, static_cast<fi_op>(h.amo)), h.last);
		break;
	case kReqPull: {
		const auto it = ep->pending.find(h.key);
		if (it == ep->pending.end() || it->second->kind != op_kind::send ||
		    it->second->to->rdom != from->rdom || h.off > it->second->len || h.len > it->second->len - h.off ||
		    h.len > room) {
			r.status = -FI_EINVAL;
		} else { // straight out of the caller's buffer
			reply_send(from, r, it->second->iov, it->second->iov_count, h.off, h.len);
			return;
		}
		break;
	}
	default:
		r.status = -FI_ENOSYS;
	}
	const iovec answer{out.data(), out.size()};
	reply_send(from, r, &answer, 1, 0, out.size());
}

static bool answer_has_data(const op &o)
{
	return o.kind == op_kind::read || o.kind == op_kind::pull || (o.kind == op_kind::amo && o.form);
}

void response_take(ep_core *ep, const char *payload, size_t payload_len)
{
	if (payload_len < sizeof(response_head))
		return;
	response_head r;
	memcpy(&r, payload, sizeof r);
	const auto it = ep->pending.find(r.op_id);
	if (it == ep->pending.end())
		return; // failed meanwhile
	op &o = *it->second;
	if (r.status > 0 || r.status < -kErrnoMost)
		r.status = -FI_EIO;
	if (r.long_done) {
		if (o.kind != op_kind::send)
			return;
		o.status = r.status;
		finish(ep, o);
		return;
	}
	if (o.kind == op_kind::send || !o.in_flight || o.late_data)
		return; // it asked for nothing
	const char *data = payload + sizeof r;
	const size_t data_len = payload_len - sizeof r;
	o.in_flight--;
	if (o.kind == op_kind::pull)
		ep->pieces--;
	if (!r.status && (r.off > o.len || r.len > o.len - r.off || data_len != (answer_has_data(o) ? r.len : 0)))
		r.status = -FI_EIO; // not an answer to what was asked
	if (r.status && !o.status)
		o.status = r.status;
	if (!r.status && data_len) {
		if (o.kind == op_kind::read)
			iov_scatter(o.iov, o.iov_count, r.off, data, data_len);
		else if (o.kind == op_kind::amo)
			iov_scatter(o.res, o.res_count, r.off, data, data_len);
		else
			iov_scatter(o.rx->iov, o.rx->iov_count, r.off, data, data_len);
	}
	o.acked += r.len ? r.len : 1;
	if (!o.status && o.sent >= o.len && !o.in_flight && o.acked < o.len)
		o.status = -FI_EIO; // all answered, and less than was asked
	if ((o.status || o.acked >= o.len) && o.in_flight == 0) {
		if (!o.status && o.carries_data) {
			ring_message m{
				.kind = PGAS_KIND_RMA_DATA, .flags = PGAS_SLOT_CQ_DATA, .len = o.len, .data = o.data};
			if (ring_send(o.to, m) == -FI_EAGAIN) {
				o.late_data = true; // retried by the progress engine
				return;
			}
		}
		finish(ep, o);
	} else {
		op_push(ep, o);
	}
}

void reply_send(peer *p, const response_head &head, const iovec *iov, size_t iov_count, size_t skip, size_t len)
{
	ring_message m{.kind = PGAS_KIND_RESPONSE, .len = sizeof head + len};
	m.head = &head;
	m.head_len = sizeof head;
	m.iov = iov;
	m.iov_count = iov_count;
	m.skip = skip;
	m.iov_len = len;
	// a peer's replies keep their order, so a waiting one holds back those behind it
	if (!p->replies && ring_send(p, m) != -FI_EAGAIN)
		return;
	reply r;
	r.to = p;
	r.bytes.resize(sizeof head + len);
	memcpy(r.bytes.data(), &head, sizeof head);
	iov_gather(iov, iov_count, skip, r.bytes.data() + sizeof head, len);
	p->ep->replies.push_back(std::move(r));
	p->replies++;
}

namespace {

// Reads a long message out of the sender's memory. 1: the kernel does not permit it.
int pull_directly(const remote_domain *r, const op &o)
{
	size_t done = 0;
	for (size_t i = 0; i < o.rma_count && done < o.len; i++) {
		uint64_t at = o.rma[i].addr;
		size_t n = o.rma[i].len < o.len - done ? o.rma[i].len : o.len - done;
		while (n) {
			// ourselves, too: the address came through memory that others can write, and the kernel checks
			// it
			iovec local[kIovLimit];
			const size_t count = iov_part(o.rx->iov, o.rx->iov_count, done, n, local);
			const iovec remote{reinterpret_cast<void *>(at), n};
			const ssize_t got = process_vm_readv(static_cast<pid_t>(r->pid), local, count, &remote, 1, 0);
			if (got <= 0)
				return errno == EPERM || errno == ENOSYS ? 1
				       : errno == ESRCH                  ? -FI_ECONNRESET
									 : -FI_EFAULT;
			const auto moved = static_cast<size_t>(got);
			at += moved;
			done += moved;
			n -= moved;
		}
	}
	return 0;
}

} // namespace

void pull_start(ep_core *ep, peer *from, rx_entry *rx, const long_message &m, const completion &c)
{
	remote_domain *r = from->rdom;
	op o;
	o.kind = op_kind::pull;
	o.len = c.len;
	o.rx = rx;
	o.rx_result = c;
	o.peer_op = m.op_id;
	o.rma_count = m.iov_count < kIovLimit ? m.iov_count : kIovLimit;
	for (size_t i = 0; i < o.rma_count; i++)
		o.rma[i] = {m.iov[i].addr, m.iov[i].len, 0};
	if (r->cma) { // one copy by the kernel beats two through the eager buffers from 8 KiB on
		const int status = pull_directly(r, o);
		if (status != 1) {
			completion end = c;
			if (status) {
				end.err = -status;
				end.len = 0;
			}
			reply_send(from, {.op_id = m.op_id, .off = 0, .len = 0, .status = status, .long_done = 1},
				   nullptr, 0, 0, 0);
			rx_finish(ep, rx, end);
			return;
		}
		r->cma = false;
	}
	op *kept = op_keep(ep, std::move(o), from);
	op_push(ep, *kept);
	if (kept->status)
		finish(ep, *kept);
}

namespace {

// The peer closed its endpoint and will answer no more. What it answered before it did is in our ring, so it is only
// over when that is empty.
bool abandoned(const ep_core *ep, const op &o)
{
	if (!pgas_load_acquire(&o.to->shared->closed)) // pairs with store_release in core_destroy()
		return false;
	return pgas_load_acquire(&ep->slots[ep->head & ep->mask].state) ==
	       (ep->head << PGAS_SLOT_POS_SHIFT | PGAS_SLOT_FREE);
}

} // namespace

bool replies_push(ep_core *ep)
{
	const size_t before = ep->replies.size();
	std::vector<const peer *> full; // theirs wait; those of others do not
	auto it = ep->replies.begin();
	for (int n = 0; n < kRepliesAtOnce && it != ep->replies.end(); n++) {
		ring_message m{.kind = PGAS_KIND_RESPONSE, .len = it->bytes.size()};
		m.head = it->bytes.data();
		m.head_len = it->bytes.size();
		if (std::find(full.begin(), full.end(), it->to) != full.end()) {
			++it;
		} else if (ring_send(it->to, m) == -FI_EAGAIN) {
			full.push_back(it->to);
			++it;
		} else {
			it->to->replies--;
			it = ep->replies.erase(it);
		}
	}
	return ep->replies.size() != before;
}

bool pending_push(ep_core *ep)
{
	bool moved = replies_push(ep);
	std::vector<op *> over;
	for (auto &[id, o] : ep->pending) {
		if (abandoned(ep, *o)) {
			o->status = -FI_ECONNRESET;
			over.push_back(o.get());
			continue;
		}
		if (o->late_data) {
			ring_message m{
				.kind = PGAS_KIND_RMA_DATA, .flags = PGAS_SLOT_CQ_DATA, .len = o->len, .data = o->data};
			if (ring_send(o->to, m) != -FI_EAGAIN)
				over.push_back(o.get());
			continue;
		}
		const uint32_t in_flight = o->in_flight;
		op_push(ep, *o);
		moved = moved || o->in_flight != in_flight;
		if (o->status && o->in_flight == 0)
			over.push_back(o.get());
	}
	for (op *o : over)
		finish(ep, *o);
	return moved || !over.empty();
}

// What nobody's answer will move: it must be tried again. The rest sleeps until a message comes.
bool pending_retries(const ep_core *ep)
{
	if (!ep->replies.empty())
		return true;
	for (const auto &[id, o] : ep->pending)
		if (o->late_data || (o->kind != op_kind::send && o->in_flight == 0))
			return true;
	return false;
}

void fail_peer(ep_core *ep, peer *p, int status)
{
	std::vector<op *> over;
	for (auto &[id, o] : ep->pending)
		if (o->to == p)
			over.push_back(o.get());
	for (op *o : over) {
		o->status = status;
		finish(ep, *o);
	}
	std::erase_if(ep->replies, [&](const reply &r) { return r.to == p; }); // also those that finish() just added
	p->replies = 0;
}

void fail_dead_peers(ep_core *ep)
{
	for (auto &p : ep->peers)
		if (p && p->dead())
			fail_peer(ep, p.get(), -FI_ECONNRESET);
	for (auto &[src, p] : ep->strangers)
		if (p && p->dead())
			fail_peer(ep, p.get(), -FI_ECONNRESET);
}

} // namespace pgas
