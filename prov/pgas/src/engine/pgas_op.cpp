// SPDX-License-Identifier: BSD-3-Clause
//
// The engine's lower half: operations that are kept, finished or failed. The only place that increments counters and
// writes completion entries for operations that we initiate. Submission is in pgas_submit.cpp.
#include "pgas_op.hpp"
#include "pgas_ep.hpp"
#include "hmem/pgas_hmem.hpp"
#include "pgas_order.hpp"
#include "support/pgas_iov.hpp"
#include "pgas_peer.hpp"

namespace pgas {
namespace {

bool one_sided(const op &o)
{
	return o.kind != op_kind::send && o.kind != op_kind::pull;
}

void begin_one_sided(ep_core *ep, peer *dest)
{
	dest->one_sided++;
	if (ep->one_sided++ == 0 && (ep->order & kStrictOneSided))
		ep_update_hot(ep); // later operations must not overtake it on the fast path
}

void end_one_sided(ep_core *ep, peer *dest)
{
	dest->one_sided--;
	if (--ep->one_sided == 0 && (ep->order & kStrictOneSided))
		ep_update_hot(ep);
}

void end_move(op &o)
{
	if (o.moved)
		o.moved->over(o);
	o.moved = nullptr;
}

// Copies the source: the caller of an inject may reuse its buffers as soon as the call returns.
void own_source(op &o)
{
	o.copy.resize(o.cmp_count ? 2 * o.len : o.len);
	const auto own = [&](iovec *iov, size_t &count, char *dst) {
		if (!count)
			return;
		iov_gather(iov, count, 0, dst, o.len);
		iov[0] = {dst, o.len};
		count = 1;
	};
	own(o.iov, o.iov_count, o.copy.data());
	own(o.cmp, o.cmp_count, o.copy.data() + o.len);
}

// True: it failed. The call returns the error, and nothing else has to report it.
bool tell_waiter(ep_core *ep, const op &o)
{
	o.waiter->status = o.status;
	o.waiter->over = true;
	domain_wake_sleepers(ep->dom); // it may sleep while another thread makes progress
	return o.status != 0;
}

} // namespace

bool op_wants_entry(const ep_core *ep, const op &o)
{
	return ep->tx_cq && !o.quiet && (!ep->tx_selective || (o.flags & FI_COMPLETION));
}

size_t op_remote_at(const op &o, uint64_t pos, uint64_t *addr, uint64_t *key)
{
	for (size_t i = 0; i < o.rma_count; i++) {
		if (pos < o.rma[i].len) {
			*addr = o.rma[i].addr + pos;
			*key = o.rma[i].key;
			return o.rma[i].len - pos;
		}
		pos -= o.rma[i].len;
	}
	*addr = o.rma[0].addr;
	*key = o.rma[0].key;
	return 0;
}

void op_complete(ep_core *ep, op &o)
{
	if (PGAS_UNLIKELY(o.waiter) && o.waiter->landing) {
		const hmem_state &l = *o.waiter->landing;
		if (!o.status)
			o.status = hmem_land(l);
		if (o.waiter != &l.waiter && tell_waiter(ep, o))
			return;
	} else if (PGAS_UNLIKELY(o.waiter)) {
		if (tell_waiter(ep, o))
			return;
	}
	if (o.status && o.dest && !ep->failed.status)
		ep->failed = {o.status, o.dest->rank};
	cntr_core *counter = ep->c_send;
	if (o.kind == op_kind::write || (o.kind == op_kind::amo && o.form == kAmoPlain))
		counter = ep->c_write;
	else if (o.kind == op_kind::read || o.kind == op_kind::amo)
		counter = ep->c_read;
	cntr_count(counter, o.status);
	// for an inject that fails later there is no other way to report it
	if (!(o.status && ep->tx_cq) && !op_wants_entry(ep, o))
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

op *op_keep(wire_ep &base_ep, op &&o, peer *dest)
{
	ep_core *ep = base_ep.ep;
	if (PGAS_UNLIKELY(dest->owner != &base_ep)) {
		PGAS_WARN(FI_LOG_EP_DATA, "operation to %s refused: wire \"%s\" does not lead there\n", dest->name.text,
			  base_ep.ops->name);
		return nullptr;
	}
	op *p = &base_ep.pending.add(std::move(o), ep->next_op++);
	p->dest = dest;
	if (one_sided(*p))
		begin_one_sided(ep, dest);
	if ((p->flags & FI_INJECT) && p->kind != op_kind::read && p->kind != op_kind::pull)
		own_source(*p);
	ep_update_polls(ep);
	return p;
}

void op_take_back(wire_ep &ep, op *kept, op &out)
{
	out = std::move(*kept);
	end_move(out);
	if (one_sided(out))
		end_one_sided(ep.ep, out.dest);
	ep.pending.remove(*kept);
	ep_update_polls(ep.ep);
}

void op_finish(wire_ep &ep, op &o)
{
	o.dest->unsent -= o.unsent;
	o.dest->late -= o.late_data;
	end_move(o);
	if (one_sided(o))
		end_one_sided(ep.ep, o.dest);
	if (o.kind == op_kind::pull) {
		ep.pieces -= o.in_flight;
		completion c = o.rx_result;
		if (o.status) {
			c.err = -o.status;
			c.len = 0;
		}
		o.dest->wire->pull_over(*o.dest, o.peer_op, o.status);
		rx_finish(ep.ep, o.rx, c);
		o.rx = nullptr;
	} else {
		op_complete(ep.ep, o);
	}
	ep.pending.remove(o);
}

void op_fail_peer(peer *p, int status)
{
	if (!p->owner)
		return;
	wire_ep &ep = *p->owner;
	std::vector<op *> over;
	for (op &o : ep.pending)
		if (o.dest == p)
			over.push_back(&o);
	for (op *o : over) {
		o->status = status;
		op_finish(ep, *o);
	}
	// including those that op_finish() just added
	std::erase_if(ep.replies, [&](const reply &r) { return r.dest == p; });
	p->replies = 0;
}

} // namespace pgas
