// SPDX-License-Identifier: BSD-3-Clause
//
// Work that needs the other side: one-sided operations on memory that can be neither mapped nor reached with process_vm
// (requests, run by the target's progress), and the bytes of long messages (pulled by the receiver).
//
// Everything travels through the rings. A reply that finds no room waits in ep_core::replies; a ring is always drained
// (messages without a buffer move to the heap), so replies always get through and nothing can deadlock.
#include "pgas.hpp"

#include <sys/uio.h>

#include <cstring>

namespace pgas {
namespace {

constexpr uint32_t kPiecesInFlight = 8;

size_t piece_room(const peer *p)
{
	return eager_room(p) - sizeof(request_head) - sizeof(response_head);
}

void finish(ep_core *ep, op &o)
{
	const uint64_t id = o.id;
	if (o.kind != op_kind::send && o.kind != op_kind::pull)
		o.to->one_sided--;
	if (o.kind == op_kind::pull) {
		completion c = o.rx_result;
		if (o.status) {
			c.err = -o.status;
			c.len = 0;
		}
		reply_send(o.to, {.op_id = o.peer_op, .off = 0, .len = 0, .status = o.status, .long_done = 1}, nullptr, 0);
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
	(void)ep;
	if (o.kind == op_kind::send)
		return; // the receiver pulls
	const bool amo = o.kind == op_kind::amo;
	while (!o.status && o.in_flight < kPiecesInFlight && (o.sent < o.len || (o.len == 0 && o.in_flight == 0 && !o.acked))) {
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
		if (o.len == 0)
			return;
	}
}

// --- at the target ----------------------------------------------------------------------------------------------------

namespace {

// Checks a request against our own key table; the memory is ours, so the address is one of this process.
int own_memory(domain *dom, const request_head &h, uint64_t right, size_t bytes, std::vector<iovec> &pieces, key_entry *entry)
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

// As remote_count() for operations that come directly: each region once, the endpoint once per operation.
void count_remote(ep_core *ep, const key_entry &e, bool write, uint8_t last)
{
	remote_counter *counters = ep->dom->counters();
	const uint16_t region = last & 1 ? (write ? e.wr_cntr : e.rd_cntr) : kNoCounter;
	const uint16_t whole = last & 2 ? (write ? ep->shared->rem_wr_cntr : ep->shared->rem_rd_cntr) : kNoCounter;
	if (region)
		pgas_add_release(&counters[region].value, uint64_t{1});
	if (whole && whole != region)
		pgas_add_release(&counters[whole].value, uint64_t{1});
	if ((region || whole) && pgas_load_relaxed(&ep->dom->door()->sleepers)) // a thread of ours may wait for it
		pgas_door_ring(ep->dom->door());
}

int run_amo(ep_core *ep, const request_head &h, const char *data, size_t data_len, std::vector<char> &result,
	    key_entry *entry)
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
	std::vector<iovec> at;
	if (const int err = own_memory(ep->dom, h, right, bytes, at, entry))
		return err;
	const size_t unit = amo_type_align(type);
	if (h.form)
		result.resize(bytes);
	size_t done = 0;
	for (const iovec &piece : at) {
		if (reinterpret_cast<uintptr_t>(piece.iov_base) % unit || piece.iov_len % amo_type_bytes(type))
			return -FI_EINVAL;
		amo_apply(type, op, piece.iov_base, piece.iov_len / amo_type_bytes(type), has_operand ? data + done : nullptr,
			  h.form == 2 ? data + bytes + done : nullptr, h.form ? result.data() + done : nullptr,
			  ep->dom->shared.at<amo_lock>(kLockOff));
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
	ep->serves = true;
	response_head r{h.op_id, h.off, h.len, 0, 0};
	std::vector<char> out;
	std::vector<iovec> at;
	key_entry entry{};
	switch (code) {
	case kReqWrite:
		r.status = data_len == h.len ? own_memory(ep->dom, h, FI_REMOTE_WRITE, h.len, at, &entry) : -FI_EINVAL;
		if (!r.status) {
			iov_scatter(at.data(), at.size(), 0, data, h.len);
			count_remote(ep, entry, true, h.last);
		}
		break;
	case kReqRead:
		r.status = own_memory(ep->dom, h, FI_REMOTE_READ, h.len, at, &entry);
		if (!r.status) {
			out.resize(h.len);
			iov_gather(at.data(), at.size(), 0, out.data(), h.len);
			count_remote(ep, entry, false, h.last);
		}
		break;
	case kReqAmo:
		r.status = run_amo(ep, h, data, data_len, out, &entry);
		if (!r.status)
			count_remote(ep, entry, h.form == 0, h.last);
		break;
	case kReqPull: {
		const auto it = ep->pending.find(h.key);
		if (it == ep->pending.end() || it->second->kind != op_kind::send || it->second->to->rdom != from->rdom ||
		    h.off > it->second->len || h.len > it->second->len - h.off) {
			r.status = -FI_EINVAL;
		} else {
			out.resize(h.len);
			iov_gather(it->second->iov, it->second->iov_count, h.off, out.data(), h.len);
		}
		break;
	}
	default:
		r.status = -FI_ENOSYS;
	}
	reply_send(from, r, out.data(), out.size());
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
	if (r.long_done) {
		if (o.kind != op_kind::send)
			return;
		o.status = r.status;
		finish(ep, o);
		return;
	}
	const char *data = payload + sizeof r;
	const size_t data_len = payload_len - sizeof r;
	o.in_flight--;
	if (r.status && !o.status)
		o.status = r.status;
	if (!r.status && data_len == r.len) {
		if (o.kind == op_kind::read)
			iov_scatter(o.iov, o.iov_count, r.off, data, data_len);
		else if (o.kind == op_kind::amo && o.res_count)
			iov_scatter(o.res, o.res_count, r.off, data, data_len);
		else if (o.kind == op_kind::pull)
			iov_scatter(o.rx->iov, o.rx->iov_count, r.off, data, data_len);
	}
	o.acked += r.len ? r.len : 1;
	if ((o.status || o.acked >= o.len) && o.in_flight == 0) {
		if (!o.status && o.carries_data) {
			ring_message m{.kind = PGAS_KIND_RMA_DATA, .flags = PGAS_SLOT_CQ_DATA, .len = o.len, .data = o.data};
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

void reply_send(peer *p, const response_head &head, const void *data, size_t len)
{
	const iovec iov{const_cast<void *>(data), len};
	ring_message m{.kind = PGAS_KIND_RESPONSE, .len = sizeof head + len};
	m.head = &head;
	m.head_len = sizeof head;
	m.iov = &iov;
	m.iov_count = 1;
	m.iov_len = len;
	// replies keep their order among themselves, so a waiting one holds back those behind it
	const bool waits = !p->ep->replies.empty();
	if (!waits && ring_send(p, m) != -FI_EAGAIN)
		return;
	reply r;
	r.to = p;
	r.bytes.resize(sizeof head + len);
	memcpy(r.bytes.data(), &head, sizeof head);
	if (len)
		memcpy(r.bytes.data() + sizeof head, data, len);
	p->ep->replies.push_back(std::move(r));
}

void pull_start(ep_core *ep, peer *from, rx_entry *rx, const long_message &m, const completion &c)
{
	remote_domain *r = from->rdom;
	const size_t want = c.len;
	int status = 0;
	if (r->self || r->cma) {
		size_t done = 0;
		size_t left = want;
		for (uint32_t i = 0; i < m.iov_count && i < kIovLimit && left && !status; i++) {
			uint64_t at = m.iov[i].addr;
			size_t n = m.iov[i].len < left ? m.iov[i].len : left;
			while (n) {
				size_t moved = n;
				if (r->self) {
					iov_scatter(rx->iov, rx->iov_count, done, reinterpret_cast<const void *>(at), n);
				} else {
					iovec local[kIovLimit];
					size_t count = 0, skip = done, room = n;
					for (size_t k = 0; k < rx->iov_count && room; k++) {
						if (skip >= rx->iov[k].iov_len) {
							skip -= rx->iov[k].iov_len;
							continue;
						}
						const size_t take = rx->iov[k].iov_len - skip < room ? rx->iov[k].iov_len - skip : room;
						local[count++] = {static_cast<char *>(rx->iov[k].iov_base) + skip, take};
						room -= take;
						skip = 0;
					}
					const iovec remote{reinterpret_cast<void *>(at), n};
					const ssize_t got =
						process_vm_readv(static_cast<pid_t>(r->pid), local, count, &remote, 1, 0);
					if (got <= 0) {
						status = errno == EPERM || errno == ENOSYS ? 1 : errno == ESRCH ? -FI_ECONNRESET : -FI_EFAULT;
						break;
					}
					moved = static_cast<size_t>(got);
				}
				at += moved;
				done += moved;
				left -= moved;
				n -= moved;
			}
		}
		if (status != 1) {
			completion end = c;
			if (status) {
				end.err = -status;
				end.len = 0;
			}
			reply_send(from, {.op_id = m.op_id, .off = 0, .len = 0, .status = status, .long_done = 1}, nullptr, 0);
			rx_finish(ep, rx, end);
			return;
		}
		r->cma = false;
	}
	op o;
	o.kind = op_kind::pull;
	o.len = want;
	o.rx = rx;
	o.rx_result = c;
	o.peer_op = m.op_id;
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
	const auto *slots = reinterpret_cast<const pgas_slot *>(reinterpret_cast<const char *>(ep->ring) + PGAS_RING_SLOTS_OFF);
	return pgas_load_acquire(&slots[ep->head & ep->ring->mask].state) == (ep->head << PGAS_SLOT_POS_SHIFT | PGAS_SLOT_FREE);
}

} // namespace

void replies_push(ep_core *ep)
{
	while (!ep->replies.empty()) {
		reply &r = ep->replies.front();
		ring_message m{.kind = PGAS_KIND_RESPONSE, .len = r.bytes.size()};
		m.head = r.bytes.data();
		m.head_len = r.bytes.size();
		if (ring_send(r.to, m) == -FI_EAGAIN)
			break;
		ep->replies.pop_front();
	}
}

void pending_push(ep_core *ep)
{
	replies_push(ep);
	std::vector<op *> over;
	for (auto &[id, o] : ep->pending) {
		if (abandoned(ep, *o)) {
			o->status = -FI_ECONNRESET;
			over.push_back(o.get());
			continue;
		}
		if (o->late_data) {
			ring_message m{.kind = PGAS_KIND_RMA_DATA, .flags = PGAS_SLOT_CQ_DATA, .len = o->len, .data = o->data};
			if (ring_send(o->to, m) != -FI_EAGAIN)
				over.push_back(o.get());
			continue;
		}
		op_push(ep, *o);
		if (o->status && o->in_flight == 0)
			over.push_back(o.get());
	}
	for (op *o : over)
		finish(ep, *o);
}

void fail_peer(ep_core *ep, const peer *p, int status)
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
}

void fail_dead_peers(domain *dom)
{
	for (ep_core *ep : dom->eps) {
		for (auto &p : ep->peers)
			if (p && p->dead())
				fail_peer(ep, p.get(), -FI_ECONNRESET);
		for (auto &[src, p] : ep->strangers)
			if (p && p->dead())
				fail_peer(ep, p.get(), -FI_ECONNRESET);
	}
}

} // namespace pgas
