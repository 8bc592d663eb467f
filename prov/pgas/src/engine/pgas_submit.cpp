// SPDX-License-Identifier: BSD-3-Clause
//
// The engine's upper half: passes an operation to its peer's wire.
#include "pgas_await.hpp"
#include "pgas_order.hpp"
#include "pgas_op.hpp"
#include "pgas_peer.hpp"

namespace pgas {
namespace {

constexpr size_t kLookFrom = 16384; // an operation of this many bytes is worth a progress call

bool target_error(int err) // detected at the target, as opposed to wrong arguments of the caller
{
	return err == -FI_EKEYREJECTED || err == -FI_EACCES || err == -FI_EFAULT || err == -FI_ECONNRESET ||
	       err == -FI_EIO;
}

// The next operation runs after those in flight. A message overtakes requests that could not be sent yet.
bool keeps_order(const peer &p, const op &o)
{
	return peer_in_order(p) && !(o.kind == op_kind::send && p.unsent);
}

// One try. Lock held.
int submit_once(ep_core *ep, fi_addr_t addr, op &o)
{
	peer *p;
	if (const int err = peer_get(ep, addr, &p)) {
		if (err == -FI_EAGAIN)
			ep_progress(ep); // a connection is in progress
		return err;
	}
	if (ep->tx_cq && !o.quiet && ep->tx_cq->full())
		return -FI_EAGAIN;
	if (((o.flags & FI_FENCE) || (ep->order & kStrictOneSided)) && !keeps_order(*p, o)) {
		ep_progress(ep); // an ordered operation waits for those still in flight
		if (!keeps_order(*p, o))
			return -FI_EAGAIN;
		if (const int err = peer_get(ep, addr, &p)) // it may have died and been released meanwhile
			return err;
	}
	if (o.flags & FI_FENCE)
		pgas_fence_full();
	const auto submit = o.kind == op_kind::send  ? p->wire->send
			    : o.kind == op_kind::amo ? p->wire->amo
						     : p->wire->rma;
	const int rc = submit(*p->owner, *p, o);
	if (rc == -FI_EAGAIN) {
		ep_progress(ep); // both sides may be full: one of them must take messages out
		return rc;
	}
	if (rc < 0) {
		PGAS_WARN(FI_LOG_EP_DATA, "operation to %s: %s\n", p->name.text, pgas_strerror(-rc));
		if (!target_error(rc) || o.quiet || !ep->tx_cq)
			return rc;
		o.status = rc; // the completion queue reports it
		return kDone;
	}
	return rc;
}

// FI_PGAS_WAIT: only the return value reports the result, except for a write of which only the source is waited for.
int submit_and_wait(ep_core *ep, fi_addr_t addr, op &o)
{
	op_waiter waiter;
	waiter.reusable = o.kind == op_kind::write && (o.flags & FI_TRANSMIT_COMPLETE);
	o.waiter = &waiter;
	o.quiet = true;
	o.flags &= ~(FI_COMPLETION | FI_INJECT); // its buffers stay valid until we return
	o.flags |= o.kind == op_kind::read || waiter.reusable ? 0 : FI_DELIVERY_COMPLETE;
	int rc = -FI_EAGAIN;
	await(ep, [&] {
		if (rc == -FI_EAGAIN)
			rc = submit_once(ep, addr, o);
		return rc == kKept ? waiter.over : rc != -FI_EAGAIN;
	});
	if (rc == kKept)
		return waiter.status;
	if (rc == kDone) {
		scoped_lock lock(ep->dom->mutex);
		op_complete(ep, o);
	}
	return rc;
}

} // namespace

namespace {

// Calls send(p, offset), the fast path of the peer's wire, if there is one and the peer is connected.
template <class Send>
int by_short_way(const pgas_ep *front, fi_addr_t addr, uint64_t pos, uint64_t key, Send &&send)
{
	auto *ep = reinterpret_cast<ep_core *>(front->core);
	scoped_lock lock(ep->dom->mutex);
	peer *p = peer_connected(ep, addr);
	if (!p)
		return kNoShortWay;
	const int rc = send(*p, key ? pos : key0_offset(front, ep->dom->layout, pos));
	if (PGAS_UNLIKELY(rc == -FI_EAGAIN))
		ep_progress(ep);
	return rc == kKept ? 0 : rc;
}

} // namespace

int inject_short(pgas_ep *front, fi_addr_t addr, const void *buf, size_t len, uint64_t pos, uint64_t key)
{
	return by_short_way(front, addr, pos, key,
			    [&](peer &p, uint64_t dest) { return p.wire->put(*p.owner, p, buf, len, dest, key); });
}

int inject_short_amo(pgas_ep *front, fi_addr_t addr, const void *value, fi_datatype type, fi_op op, uint64_t pos,
		     uint64_t key)
{
	return by_short_way(front, addr, pos, key, [&](peer &p, uint64_t dest) {
		return p.wire->add(*p.owner, p, value, type, op, dest, key);
	});
}

ssize_t op_submit(fid_ep *fid, fi_addr_t addr, op &o)
{
	ep_core *ep = core_of(fid);
	o.front = front_of(fid);
	for (size_t i = 0; i < o.rma_count; i++)
		if (o.rma[i].key == 0)
			o.rma[i].addr = key0_offset(o.front, ep->dom->layout, o.rma[i].addr);
	if (PGAS_UNLIKELY(o.flags & FI_PGAS_WAIT) && o.rma_count)
		return submit_and_wait(ep, addr, o);
	scoped_lock lock(ep->dom->mutex);
	const int rc = submit_once(ep, addr, o);
	if (rc == kDone)
		op_complete(ep, o);
	else if (rc == kKept && o.len >= kLookFrom)
		await_progress(ep); // a caller that starts many of them processes arrivals meanwhile
	return rc < 0 ? rc : 0;
}

} // namespace pgas
