// SPDX-License-Identifier: BSD-3-Clause
//
// The engine's upper half: an operation goes to its peer's wire.
#include "pgas_ep.hpp"
#include "pgas_info.hpp"
#include "pgas_op.hpp"
#include "pgas_peer.hpp"

namespace pgas {
namespace {

bool target_error(int err) // found out about the target, as opposed to wrong arguments of the caller
{
	return err == -FI_EKEYREJECTED || err == -FI_EACCES || err == -FI_EFAULT || err == -FI_ECONNRESET ||
	       err == -FI_EIO;
}

// The offset in the target's key 0 that an address given to this endpoint means.
uint64_t key0_offset(const pgas_ep *front, const key0_layout &layout, uint64_t addr)
{
	return front->bias && layout.given() ? layout.to_offset(addr) : addr - front->bias;
}

} // namespace

ssize_t op_submit(fid_ep *fid, fi_addr_t addr, op &o)
{
	ep_core *ep = core_of(fid);
	o.front = front_of(fid);
	for (size_t i = 0; i < o.rma_count; i++)
		if (o.rma[i].key == 0)
			o.rma[i].addr = key0_offset(o.front, ep->dom->layout, o.rma[i].addr);
	scoped_lock lock(ep->dom->mutex);
	peer *p;
	if (const int err = peer_get(ep, addr, &p)) {
		if (err == -FI_EAGAIN)
			ep_progress(ep); // a connection is under way
		return err;
	}
	if (ep->tx_cq && !o.quiet && ep->tx_cq->full())
		return -FI_EAGAIN;
	if (p->one_sided && ((o.flags & FI_FENCE) || (ep->order & kStrictOneSided))) {
		ep_progress(ep); // what was promised in order waits for what is still under way
		if (p->one_sided)
			return -FI_EAGAIN;
		if (const int err = peer_get(ep, addr, &p)) // it may have died meanwhile, and be let go
			return err;
	}
	if (o.flags & FI_FENCE)
		pgas_fence_full();
	const auto submit = o.kind == op_kind::send  ? p->wire->send
			    : o.kind == op_kind::amo ? p->wire->amo
						     : p->wire->rma;
	const int rc = submit(*p->on, *p, o);
	if (rc == kKept)
		return 0;
	if (rc == -FI_EAGAIN) {
		ep_progress(ep); // both sides full: somebody must take messages out
		return rc;
	}
	if (rc < 0) {
		PGAS_WARN(FI_LOG_EP_DATA, "operation to %s: %s\n", p->name.text, fi_strerror(-rc));
		if (!target_error(rc) || o.quiet || !ep->tx_cq)
			return rc;
		o.status = rc;
	}
	op_complete(ep, o);
	return 0;
}

} // namespace pgas
