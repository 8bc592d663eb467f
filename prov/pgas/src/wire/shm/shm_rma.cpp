// SPDX-License-Identifier: BSD-3-Clause
//
// One-sided operations by the initiator: copies and CPU atomics on mapped memory, process_vm_readv and writev on memory
// that is not mapped; if neither is possible, a request that the target's progress runs (pgas_request.cpp).
#include "shm.hpp"
#include "engine/pgas_order.hpp"

#include <sys/uio.h>

namespace pgas {
namespace {

// Finds the translation and offset of every remote segment. Segments of one key share one translation: a second lookup
// could find another registration and free the first.
int check_segments(shm_peer *p, const op &o, uint64_t right, xlate **out, uint64_t *off)
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

// The result of moving a piece; otherwise -FI_E*.
enum moved : int { kMoved = 0, kNeedsHelp = 1 };

// Moves n bytes between the local list at `done` and address va of the peer. Sets n to the bytes that the kernel moved,
// at most 2 GiB at a time.
int move_far(remote_domain *r, uint64_t va, size_t &n, const op &o, size_t done, bool write)
{
	if (!r->cma)
		return kNeedsHelp;
	iovec local[kIovLimit];
	const size_t count = iov_part(o.iov, o.iov_count, done, n, local);
	const iovec remote{reinterpret_cast<void *>(va), n};
	const auto pid = static_cast<pid_t>(r->pid);
	const ssize_t got = write ? process_vm_writev(pid, local, count, &remote, 1, 0)
				  : process_vm_readv(pid, local, count, &remote, 1, 0);
	if (got > 0) {
		n = static_cast<size_t>(got);
		return kMoved;
	}
	if (errno != EPERM && errno != ENOSYS)
		return errno == ESRCH ? -FI_ECONNRESET : -FI_EFAULT;
	PGAS_INFO(FI_LOG_EP_DATA, "process_vm calls are not permitted: using the target's progress\n");
	r->cma = false;
	return kNeedsHelp;
}

// Moves [off, off + len) of a translated region from or to the local list at `done`.
int move(remote_domain *r, const xlate &x, uint64_t off, size_t len, op &o, size_t done, bool write)
{
	if (x.flags & kKeyDevice)
		return kNeedsHelp;
	while (len) {
		const xlate_part *part = nullptr;
		for (const xlate_part &c : x.parts)
			if (off >= c.off && off - c.off < c.len)
				part = &c;
		if (!part)
			return -FI_EACCES; // a hole between the parts
		size_t n = std::min<uint64_t>(part->len - (off - part->off), len);
		if (part->how == part_access::here) {
			char *pos = part->local + (off - part->off);
			if (write)
				iov_gather(o.iov, o.iov_count, done, pos, n);
			else
				iov_scatter(o.iov, o.iov_count, done, pos, n);
		} else if (const int rc = move_far(r, part->va + (off - part->off), n, o, done, write)) {
			return rc;
		}
		off += n;
		done += n;
		len -= n;
	}
	return kMoved;
}

// Counts at the target, after the data.
void count_at(shm_peer *p, const xlate *x, remote_effect what, bool endpoint_too)
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

void fence_before_read(const ep_core *ep)
{
	if (ep->order & kLoadAfterStore)
		pgas_fence_full();
	else if (ep->order & kLoadAfterLoad)
		pgas_fence_acquire();
}

int send_cq_data(shm_peer *p, const op &o)
{
	ring_message m{.kind = PGAS_KIND_RMA_DATA, .flags = PGAS_SLOT_CQ_DATA, .len = o.len, .data = o.data};
	return ring_send(p, m);
}

} // namespace

int shm_rma(wire_ep &ep, peer &dest, op &o)
{
	shm_peer *p = &shm_of(dest);
	const bool write = o.kind == op_kind::write;
	xlate *x[kRmaIovLimit];
	uint64_t off[kRmaIovLimit];
	if (const int err = check_segments(p, o, write ? FI_REMOTE_WRITE : FI_REMOTE_READ, x, off))
		return err;
	if (write)
		pgas_fence_stores(); // writes follow earlier accesses (FI_ORDER_WAW, WAR); nothing on x86
	else
		fence_before_read(ep.ep);
	size_t done = 0;
	for (size_t i = 0; i < o.rma_count; i++) {
		const int rc = move(p->rdom, *x[i], off[i], o.rma[i].len, o, done, write);
		if (rc < 0)
			return rc;
		if (rc == kNeedsHelp) // again from the start, by request: repeating bytes is harmless
			return request_submit(ep, dest, std::move(o));
		done += o.rma[i].len;
	}
	if (o.carries_data)
		if (const int err = send_cq_data(p, o))
			return err;
	if (o.flags & FI_DELIVERY_COMPLETE)
		pgas_fence_full();
	for (size_t i = 0; i < o.rma_count; i++)
		count_at(p, x[i], write ? remote_effect::write : remote_effect::read, i == 0);
	if (wants_window(&dest, o, *x[0]))
		publish_window(&shm_of(ep), p);
	return kDone;
}

// --- atomics ---------------------------------------------------------------------------------------------------------

namespace {

// Finds one piece of the target's memory for each remote segment. Returns false if one is not mapped, or spans two
// parts.
bool find_targets(const op &o, xlate *const *x, const uint64_t *off, char **pos)
{
	bool here = true;
	for (size_t i = 0; i < o.rma_count; i++) {
		pos[i] = nullptr;
		for (const xlate_part &c : x[i]->parts)
			if (c.how == part_access::here && off[i] >= c.off && o.rma[i].len <= c.len &&
			    off[i] - c.off <= c.len - o.rma[i].len)
				pos[i] = c.local + (off[i] - c.off);
		here = here && pos[i];
	}
	return here;
}

// Returns the operands as one array: a single buffer, the usual case, as it is, others copied.
const char *pack(const iovec *iov, size_t count, size_t len, std::vector<char> &copy)
{
	if (count == 0)
		return nullptr;
	if (count == 1)
		return static_cast<const char *>(iov[0].iov_base);
	copy.resize(len);
	iov_gather(iov, count, 0, copy.data(), len);
	return copy.data();
}

} // namespace

int shm_amo(wire_ep &ep, peer &dest, op &o)
{
	shm_peer *p = &shm_of(dest);
	const size_t bytes = amo_type_bytes(o.type), align = amo_type_align(o.type);
	const uint64_t right = (o.amo == FI_ATOMIC_READ ? 0 : FI_REMOTE_WRITE) | (o.form ? FI_REMOTE_READ : 0);
	xlate *x[kRmaIovLimit];
	uint64_t off[kRmaIovLimit];
	char *item[kRmaIovLimit];
	if (const int err = check_segments(p, o, right, x, off))
		return err;
	const bool here = find_targets(o, x, off, item);
	for (size_t i = 0; i < o.rma_count; i++)
		if (item[i] && reinterpret_cast<uintptr_t>(item[i]) % align)
			return -FI_EINVAL; // not aligned for the type
	if (!here)
		return request_submit(ep, dest, std::move(o));
	std::vector<char> operand, compare, result;
	const char *input = pack(o.iov, o.iov_count, o.len, operand);
	const char *cmp = pack(o.cmp, o.cmp_count, o.len, compare);
	char *res = o.res_count == 1 ? static_cast<char *>(o.res[0].iov_base) : nullptr;
	if (o.res_count > 1) {
		result.resize(o.len);
		res = result.data();
	}
	fence_before_read(ep.ep);
	const wide_lock lock = shm_wide_lock(p->rdom->lock());
	size_t done = 0;
	for (size_t i = 0; i < o.rma_count; i++) {
		amo_apply(o.type, o.amo, item[i], o.rma[i].len / bytes, input ? input + done : nullptr,
			  cmp ? cmp + done : nullptr, res ? res + done : nullptr, lock);
		done += o.rma[i].len;
	}
	if (o.res_count > 1)
		iov_scatter(o.res, o.res_count, 0, res, o.len);
	if (o.flags & FI_DELIVERY_COMPLETE)
		pgas_fence_full();
	for (size_t i = 0; i < o.rma_count; i++)
		count_at(p, x[i], amo_effect(o.form, o.amo), i == 0);
	if (wants_window(&dest, o, *x[0]))
		publish_window(&shm_of(ep), p);
	return kDone;
}

} // namespace pgas
