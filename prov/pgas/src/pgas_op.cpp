// SPDX-License-Identifier: BSD-3-Clause
//
// The general engine: an operation is submitted to its peer's wire, completes at once, waits in ep_core::pending, or
// fails. The one place that moves counters and writes completion entries for what we initiate.
#include "pgas.hpp"
#include "pgas_info.hpp"

namespace pgas {
namespace {

bool wants_entry(const ep_core *ep, const op &o)
{
	return ep->tx_cq && !o.quiet && (!ep->tx_selective || (o.flags & FI_COMPLETION));
}

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

uint64_t op_default_flags(const pgas_ep *front)
{
	return front->op_flags;
}

void op_complete(ep_core *ep, op &o)
{
	cntr_core *counter = ep->c_send;
	if (o.kind == op_kind::write || (o.kind == op_kind::amo && o.form == 0))
		counter = ep->c_write;
	else if (o.kind == op_kind::read || o.kind == op_kind::amo)
		counter = ep->c_read;
	if (counter) {
		if (o.status)
			pgas_add_release(&counter->front->count.error, uint64_t{1});
		else
			pgas_counter_add_shared(&counter->front->count, 1);
		cntr_signal(counter);
	}
	// an inject that fails later has nowhere else to say so
	if (!(o.status && ep->tx_cq) && !wants_entry(ep, o))
		return;
	completion c;
	c.context = o.context;
	c.flags = o.cq_flags;
	c.err = -o.status;
	c.prov_errno = -o.status;
	if (o.status)
		c.olen = o.len;
	cq_push(ep->tx_cq, c);
}

op *op_keep(ep_core *ep, op &&o, peer *to)
{
	auto kept = std::make_unique<op>(std::move(o));
	op *p = kept.get();
	p->id = ep->next_op++;
	p->to = to;
	if (p->kind != op_kind::send && p->kind != op_kind::pull) {
		to->one_sided++;
		if (ep->one_sided++ == 0 && (ep->order & kStrictOneSided))
			ep_update_hot(ep); // what comes behind it may not overtake it by the short way
	}
	if ((p->flags & FI_INJECT) && p->kind != op_kind::read && p->kind != op_kind::pull) {
		// the caller may reuse its buffers as soon as the call returns
		p->copy.resize(p->cmp_count ? 2 * p->len : p->len);
		const auto own = [&](iovec *iov, size_t &count, char *to) {
			if (!count)
				return;
			iov_gather(iov, count, 0, to, p->len);
			iov[0] = {to, p->len};
			count = 1;
		};
		own(p->iov, p->iov_count, p->copy.data());
		own(p->cmp, p->cmp_count, p->copy.data() + p->len);
	}
	ep->pending.emplace(p->id, std::move(kept));
	ep_update_polls(ep);
	return p;
}

ssize_t op_submit(fid_ep *fid, fi_addr_t addr, op &o)
{
	ep_core *ep = core_of(fid);
	o.front = front_of(fid);
	for (size_t i = 0; i < o.rma_count; i++)
		if (o.rma[i].key == 0)
			o.rma[i].addr = key0_offset(o.front, ep->dom->layout, o.rma[i].addr);
	scoped_lock lock(ep->dom->mutex);
	peer *p;
	if (const int err = peer_get(ep, addr, &p))
		return err;
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
	const auto rc = static_cast<int>(submit(ep, p, o));
	if (rc == 1)
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
