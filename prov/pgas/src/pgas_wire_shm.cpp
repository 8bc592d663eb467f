// SPDX-License-Identifier: BSD-3-Clause
//
// The shared-memory wire: peers on this host. One-sided operations on mapped memory are copies and CPU atomics by the
// initiator; unmapped memory goes by process_vm_readv/writev; what neither reaches becomes a request that the target's
// progress runs (pgas_request.cpp).
#include "pgas.hpp"
#include "pgas_host.hpp"
#include "pgas_info.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <iterator>

namespace pgas {
namespace {

bool shm_reaches(const ep_address &a)
{
	return a.host == host_identity() && a.host != 0;
}

// in attach_entry::state, with the pid of who is filling the entry in
constexpr uint32_t kEntering = 1u << 31;
constexpr uint32_t kUsedEnough = 16, kUsedLooks = 4; // entries before used ones are looked at, and how many are

// Takes an entry whose sender left or died, once all of its messages are consumed: they carry the number of the entry.
// The state word decides between several who want it. 1: not yet.
int take_over(const peer *p, attach_entry &e, uint32_t me)
{
	uint32_t holder = pgas_load_acquire(&e.state);
	if (!holder) // never used
		return pgas_claim(&e.state, &holder, me | kEntering) ? 0 : -FI_EBUSY;
	uint64_t left = pgas_load_acquire(&e.left);
	const bool gone = holder & kEntering ? process_start_time(holder & ~kEntering) == 0
					     : !process_alive(holder, e.start_time);
	if (!left && !gone)
		return -FI_EBUSY;
	if (!left) { // it died without a word: nothing of its is behind this
		const uint64_t tail = pgas_load_acquire(&p->ring->tail_hint);
		pgas_claim(&e.left, &left, tail ? tail : 1);
		left = pgas_load_acquire(&e.left);
	}
	if (!left || pgas_load_acquire(&p->ring->head) < left)
		return 1;
	// left is cleared only by who has the state word, so what was read above still holds when the claim succeeds
	if ((holder & kEntering && !gone) || !pgas_claim(&e.state, &holder, me | kEntering))
		return -FI_EBUSY;
	pgas_store_release(&e.left, uint64_t{0});
	return 0;
}

// Enters us in the peer's attach table. A few looks for an entry that nobody needs any more, so that the table grows
// with those who are there and not with all who ever were; then the next fresh one, which the hint knows; then any. The
// hint may be anything: an entry is taken by its state alone.
int attach(ep_core *ep, peer *p)
{
	auto *table = p->seg.at<attach_entry>(kAttachOff);
	auto *hint = p->seg.at<uint32_t>(kAttachHintOff);
	const auto me = static_cast<uint32_t>(getpid());
	uint32_t at = kAttachMax;
	bool soon = false;
	const auto try_entry = [&](uint32_t i) {
		const int rc = take_over(p, table[i], me);
		if (rc == 0)
			at = i;
		soon = soon || rc == 1;
	};
	const uint32_t used = pgas_load_relaxed(hint);
	for (uint64_t i = 0; at == kAttachMax && i < kUsedLooks && used >= kUsedEnough; i++)
		try_entry(static_cast<uint32_t>((pgas_now_ns() * 0x9E3779B97F4A7C15u) >> 40) %
			  (used < kAttachMax ? used : kAttachMax));
	const uint32_t first = at == kAttachMax ? pgas_add_relaxed(hint, 1u) : 0;
	for (uint32_t i = 0; at == kAttachMax && i < kAttachMax; i++)
		try_entry((first + i) % kAttachMax);
	if (at == kAttachMax && soon)
		return -FI_EAGAIN;
	if (at == kAttachMax) {
		PGAS_WARN(FI_LOG_AV, "peer %s knows %u senders already and can take no more\n", p->name.text,
			  kAttachMax);
		return -FI_ENOSPC;
	}
	attach_entry &e = table[at];
	e.start_time = process_start_time(me);
	memcpy(e.name, ep->name.text, kNameBytes);
	pgas_add_relaxed(&e.serial, uint64_t{1});
	pgas_store_release(&e.state, me); // pairs with load_acquire in sender_gone(); messages carry the rest
	p->attach = at;
	return 0;
}

int shm_connect(ep_core *ep, peer *p, const ep_address &a)
{
	segment seg;
	if (const int err = segment_open(a.pid, a.fd, a.nonce, segment_kind::endpoint, kHeaderBytes, seg))
		return err;
	auto *shared = seg.at<ep_shared>(0);
	const ep_shape shape = ep_shape::of(shared);
	if (!shape.fits(seg.map.size()) || pgas_load_acquire(&shared->closed))
		return -FI_EHOSTUNREACH;
	remote_domain *r;
	if (const int err = remote_domain_get(ep->dom, a.pid, shared->dom_fd, shared->dom_nonce, &r))
		return err;
	p->seg = std::move(seg);
	p->shared = shared;
	p->ring = p->seg.at<pgas_ring>(kRingOff);
	p->mask = shape.slots - 1;
	p->eager = eager_area_of(p->seg, shape);
	p->returns_seen.assign(p->eager.count, 0);
	p->eager_at = 0;
	p->rdom = r;
	p->real_name = address_format(a);
	if (const int err = attach(ep, p)) {
		remote_domain_put(r);
		p->rdom = nullptr;
		p->ring = nullptr;
		return err;
	}
	return 0;
}

void shm_disconnect(peer *p)
{
	attach_entry &e = p->seg.at<attach_entry>(kAttachOff)[p->attach];
	const uint64_t tail = pgas_load_acquire(&p->ring->tail_hint);
	pgas_store_release(&e.left, tail ? tail : 1);
	p->ring = nullptr;
	p->shared = nullptr;
	p->seg = {};
	remote_domain_put(p->rdom);
	p->rdom = nullptr;
}

// --- one-sided -------------------------------------------------------------------------------------------------------

// The translation and offset of every remote segment. Segments of one key share one translation: looking it up twice
// could find another registration and free the first.
int check_segments(peer *p, const op &o, uint64_t right, xlate **out, uint64_t *off)
{
	for (size_t i = 0; i < o.rma_count; i++) {
		const fi_rma_iov &s = o.rma[i];
		size_t same = 0;
		while (o.rma[same].key != s.key)
			same++;
		if (same < i)
			out[i] = out[same];
		else if (const int err = remote_translate(p->rdom, s.key, &out[i]))
			return err;
		const xlate &x = *out[i];
		if ((x.access & right) != right)
			return -FI_EACCES;
		bool ok;
		off[i] = x.to_offset(s.addr, ok);
		if (!ok || s.len > x.len || off[i] > x.len - s.len)
			return -FI_EACCES; // outside the registration
	}
	return 0;
}

// Moves [off, off + len) of a translated region from or to the local iov at `done`. 1: needs the target's help.
int move(remote_domain *r, const xlate &x, uint64_t off, size_t len, op &o, size_t done, bool write)
{
	while (len) {
		const xlate_part *part = nullptr;
		for (const xlate_part &c : x.parts)
			if (off >= c.off && off - c.off < c.len)
				part = &c;
		if (!part)
			return -FI_EACCES; // a hole between the parts
		size_t n = part->len - (off - part->off);
		if (n > len)
			n = len;
		if (part->reachable) {
			char *at = part->local + (off - part->off);
			if (write)
				iov_gather(o.iov, o.iov_count, done, at, n);
			else
				iov_scatter(o.iov, o.iov_count, done, at, n);
		} else if (!r->cma) {
			return 1;
		} else {
			iovec local[kIovLimit];
			size_t count = 0, skip = done, left = n;
			for (size_t i = 0; i < o.iov_count && left; i++) {
				if (skip >= o.iov[i].iov_len) {
					skip -= o.iov[i].iov_len;
					continue;
				}
				const size_t take = o.iov[i].iov_len - skip < left ? o.iov[i].iov_len - skip : left;
				local[count++] = {static_cast<char *>(o.iov[i].iov_base) + skip, take};
				left -= take;
				skip = 0;
			}
			iovec remote{reinterpret_cast<void *>(part->va + (off - part->off)), n};
			const auto pid = static_cast<pid_t>(r->pid);
			const ssize_t got = write ? process_vm_writev(pid, local, count, &remote, 1, 0)
						  : process_vm_readv(pid, local, count, &remote, 1, 0);
			if (got <= 0) {
				if (errno == EPERM || errno == ENOSYS) {
					PGAS_INFO(FI_LOG_EP_DATA,
						  "process_vm calls are not permitted: using the target's progress\n");
					r->cma = false;
					return 1;
				}
				return errno == ESRCH ? -FI_ECONNRESET : -FI_EFAULT;
			}
			n = static_cast<size_t>(got); // the kernel moves at most 2 GiB at a time
		}
		off += n;
		done += n;
		len -= n;
	}
	return 0;
}

// Key 0 was used and has no window yet, or one of an earlier registration. That one stays closed on a front that
// threads share: they may be looking at its check.
bool wants_window(const peer *p, const op &o, const xlate &x)
{
	if (p->rank == FI_ADDR_NOTAVAIL || o.rma[0].key != 0)
		return false;
	const pgas_window_check &c = o.front->check[p->rank];
	const bool current = c.live_value == x.live && pgas_load_relaxed(&o.front->window[p->rank]);
	return !pgas_load_relaxed(&c.bound8) || (!current && o.front->hot_inject == PGAS_MAGIC_HOT);
}

void fence_before_read(const ep_core *ep)
{
	if (ep->order & kLoadAfterStore)
		pgas_fence_full();
	else if (ep->order & kLoadAfterLoad)
		pgas_fence_acquire();
}

int send_cq_data(peer *p, const op &o)
{
	ring_message m{.kind = PGAS_KIND_RMA_DATA, .flags = PGAS_SLOT_CQ_DATA, .len = o.len, .data = o.data};
	return ring_send(p, m);
}

ssize_t shm_rma(ep_core *ep, peer *p, op &o)
{
	const bool write = o.kind == op_kind::write;
	const uint64_t right = write ? FI_REMOTE_WRITE : FI_REMOTE_READ;
	xlate *x[kRmaIovLimit];
	uint64_t off[kRmaIovLimit];
	if (const int err = check_segments(p, o, right, x, off))
		return err;
	if (write)
		pgas_fence_stores(); // writes come after what was before them (FI_ORDER_WAW, WAR); nothing on x86
	else
		fence_before_read(ep);
	size_t done = 0;
	for (size_t i = 0; i < o.rma_count; i++) {
		const int rc = move(p->rdom, *x[i], off[i], o.rma[i].len, o, done, write);
		if (rc < 0)
			return rc;
		if (rc == 1) { // once more from the start, by request: repeating bytes is harmless
			op *kept = op_keep(ep, std::move(o), p);
			op_push(ep, *kept);
			return 1;
		}
		done += o.rma[i].len;
	}
	if (o.carries_data)
		if (const int err = send_cq_data(p, o))
			return err;
	if (o.flags & FI_DELIVERY_COMPLETE)
		pgas_fence_full();
	for (size_t i = 0; i < o.rma_count; i++)
		remote_count(p, x[i], write ? remote_effect::write : remote_effect::read, i == 0);
	if (wants_window(p, o, *x[0]))
		publish_window(ep, p);
	return 0;
}

// --- atomics ---------------------------------------------------------------------------------------------------------

ssize_t shm_amo(ep_core *ep, peer *p, op &o)
{
	const size_t bytes = amo_type_bytes(o.type);
	uint64_t right = o.amo == FI_ATOMIC_READ ? 0 : FI_REMOTE_WRITE;
	if (o.form)
		right |= FI_REMOTE_READ;
	xlate *x[kRmaIovLimit];
	uint64_t off[kRmaIovLimit];
	const size_t align = amo_type_align(o.type);
	char *at[kRmaIovLimit];
	bool here = true;
	if (const int err = check_segments(p, o, right, x, off))
		return err;
	for (size_t i = 0; i < o.rma_count; i++) {
		at[i] = nullptr;
		for (const xlate_part &c : x[i]->parts)
			if (c.reachable && off[i] >= c.off && o.rma[i].len <= c.len &&
			    off[i] - c.off <= c.len - o.rma[i].len)
				at[i] = c.local + (off[i] - c.off);
		here = here && at[i];
		if (at[i] && reinterpret_cast<uintptr_t>(at[i]) % align)
			return -FI_EINVAL; // not aligned for the type
	}
	if (!here) { // not mapped, or across two parts
		op *kept = op_keep(ep, std::move(o), p);
		op_push(ep, *kept);
		return 1;
	}
	// contiguous operands as the engine wants them; one iov (the usual case) needs no copy
	std::vector<char> operand, compare, result;
	const auto pack = [&](const iovec *iov, size_t n, std::vector<char> &v) -> const char * {
		if (n == 0)
			return nullptr;
		if (n == 1)
			return static_cast<const char *>(iov[0].iov_base);
		v.resize(o.len);
		iov_gather(iov, n, 0, v.data(), o.len);
		return v.data();
	};
	const char *in = pack(o.iov, o.iov_count, operand);
	const char *cmp = pack(o.cmp, o.cmp_count, compare);
	char *res = o.res_count == 1 ? static_cast<char *>(o.res[0].iov_base) : nullptr;
	if (o.res_count > 1) {
		result.resize(o.len);
		res = result.data();
	}
	fence_before_read(ep);
	size_t done = 0;
	for (size_t i = 0; i < o.rma_count; i++) {
		amo_apply(o.type, o.amo, at[i], o.rma[i].len / bytes, in ? in + done : nullptr,
			  cmp ? cmp + done : nullptr, res ? res + done : nullptr, p->rdom->lock());
		done += o.rma[i].len;
	}
	if (o.res_count > 1)
		iov_scatter(o.res, o.res_count, 0, res, o.len);
	if (o.flags & FI_DELIVERY_COMPLETE)
		pgas_fence_full();
	for (size_t i = 0; i < o.rma_count; i++)
		remote_count(p, x[i], amo_effect(o.form, o.amo), i == 0);
	if (wants_window(p, o, *x[0]))
		publish_window(ep, p);
	return 0;
}

// --- messages --------------------------------------------------------------------------------------------------------

ssize_t shm_send(ep_core *ep, peer *p, op &o)
{
	ring_message m{.kind = static_cast<uint8_t>(o.tagged ? PGAS_KIND_TAGGED : PGAS_KIND_MSG),
		       .flags = static_cast<uint8_t>(o.carries_data ? PGAS_SLOT_CQ_DATA : 0),
		       .len = o.len,
		       .tag = o.tag,
		       .data = o.data};
	// FI_DELIVERY_COMPLETE: the receiver takes it as a long message, whose sender hears when it is in its buffer
	if (o.len <= eager_room(p) && !(o.flags & FI_DELIVERY_COMPLETE)) {
		m.iov = o.iov;
		m.iov_count = o.iov_count;
		m.iov_len = o.len;
		return ring_send(p, m);
	}
	op *kept = op_keep(ep, std::move(o), p);
	long_message l{};
	l.op_id = kept->id;
	l.iov_count = static_cast<uint32_t>(kept->iov_count);
	for (size_t i = 0; i < kept->iov_count; i++)
		l.iov[i] = {reinterpret_cast<uintptr_t>(kept->iov[i].iov_base), kept->iov[i].iov_len};
	m.flags |= PGAS_SLOT_LONG;
	m.head = &l;
	m.head_len = sizeof l;
	if (const int err = ring_send(p, m)) {
		o = std::move(*kept);
		ep->pending.erase(o.id);
		ep_update_polls(ep);
		return err;
	}
	return 1;
}

} // namespace

const wire_ops g_shm_wire = {
	.name = "shm",
	.reaches = shm_reaches,
	.connect = shm_connect,
	.disconnect = shm_disconnect,
	.rma = shm_rma,
	.amo = shm_amo,
	.send = shm_send,
};

bool remote_count(remote_counter *counters, remote_effect what, remote_counter_ids region, remote_counter_ids whole)
{
	const bool wrote = what != remote_effect::read, fetched = what != remote_effect::write;
	const uint16_t ids[] = {wrote ? region.wr : kNoCounter, fetched ? region.rd : kNoCounter,
				fetched ? whole.rd : whole.wr};
	bool any = false;
	for (size_t i = 0; i < std::size(ids); i++) {
		const uint16_t id = ids[i];
		if (!id || id >= kRemoteCounters || std::find(ids, ids + i, id) != ids + i)
			continue;
		// pairs with load_acquire in cntr_value(): who reads the count sees the data
		pgas_add_release(&counters[id].value, uint64_t{1});
		any = true;
	}
	return any;
}

void remote_count(peer *p, const xlate *x, remote_effect what, bool endpoint_too)
{
	const remote_counter_ids none{kNoCounter, kNoCounter};
	const remote_counter_ids whole{p->shared->rem_wr_cntr, p->shared->rem_rd_cntr};
	if (!remote_count(p->rdom->counters(), what, {x->wr_cntr, x->rd_cntr}, endpoint_too ? whole : none))
		return;
	pgas_fence_full();
	pgas_door *door = p->rdom->door();
	if (pgas_load_relaxed(&door->sleepers))
		pgas_door_ring(door);
}

} // namespace pgas
