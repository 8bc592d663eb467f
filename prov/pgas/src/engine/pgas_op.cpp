// SPDX-License-Identifier: BSD-3-Clause
//
// The engine's lower half: operations that are kept, finished or failed. The one place that moves counters and writes
// completion entries for what we initiate. Submitting is in pgas_submit.cpp.
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

void begin_one_sided(ep_core *ep, peer *to)
{
	to->one_sided++;
	if (ep->one_sided++ == 0 && (ep->order & kStrictOneSided))
		ep_update_hot(ep); // what comes behind it may not overtake it by the short way
}

void end_one_sided(ep_core *ep, peer *to)
{
	to->one_sided--;
	if (--ep->one_sided == 0 && (ep->order & kStrictOneSided))
		ep_update_hot(ep);
}

// The caller of an inject may reuse its buffers as soon as the call returns.
void own_source(op &o)
{
	o.copy.resize(o.cmp_count ? 2 * o.len : o.len);
	const auto own = [&](iovec *iov, size_t &count, char *to) {
		if (!count)
			return;
		iov_gather(iov, count, 0, to, o.len);
		iov[0] = {to, o.len};
		count = 1;
	};
	own(o.iov, o.iov_count, o.copy.data());
	own(o.cmp, o.cmp_count, o.copy.data() + o.len);
}

// True: it failed. The call says so, and nobody else need hear of it.
bool tell_waiter(ep_core *ep, const op &o)
{
	o.waiter->status = o.status;
	o.waiter->over = true;
	domain_wake_sleepers(ep->dom); // it may sleep while another thread makes the progress
	return o.status != 0;
}

} // namespace

bool op_wants_entry(const ep_core *ep, const op &o)
{
	return ep->tx_cq && !o.quiet && (!ep->tx_selective || (o.flags & FI_COMPLETION));
}

size_t op_remote_at(const op &o, uint64_t at, uint64_t *addr, uint64_t *key)
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

void op_complete(ep_core *ep, op &o)
{
	if (PGAS_UNLIKELY(o.waiter) && o.waiter->landing) {
		const hmem_landing &l = *o.waiter->landing;
		if (!o.status)
			o.status = hmem_land(l);
		if (o.waiter != &l.waiter && tell_waiter(ep, o))
			return;
	} else if (PGAS_UNLIKELY(o.waiter)) {
		if (tell_waiter(ep, o))
			return;
	}
	if (o.status && o.to && !ep->failed.status)
		ep->failed = {o.status, o.to->rank};
	cntr_core *counter = ep->c_send;
	if (o.kind == op_kind::write || (o.kind == op_kind::amo && o.form == kAmoPlain))
		counter = ep->c_write;
	else if (o.kind == op_kind::read || o.kind == op_kind::amo)
		counter = ep->c_read;
	cntr_count(counter, o.status);
	// an inject that fails later has nowhere else to say so
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

op *op_keep(wire_ep &on, op &&o, peer *to)
{
	ep_core *ep = on.ep;
	if (PGAS_UNLIKELY(to->on != &on)) {
		PGAS_WARN(FI_LOG_EP_DATA, "operation to %s refused: wire \"%s\" does not lead there\n", to->name.text,
			  on.ops->name);
		return nullptr;
	}
	auto kept = std::make_unique<op>(std::move(o));
	op *p = kept.get();
	p->id = ep->next_op++;
	p->to = to;
	if (one_sided(*p))
		begin_one_sided(ep, to);
	if ((p->flags & FI_INJECT) && p->kind != op_kind::read && p->kind != op_kind::pull)
		own_source(*p);
	on.pending.emplace(p->id, std::move(kept));
	ep_update_polls(ep);
	return p;
}

void op_take_back(wire_ep &on, op *kept, op &out)
{
	out = std::move(*kept);
	out.to->bulk -= out.bulk && !out.bulk_passed;
	on.bulk -= out.bulk;
	if (one_sided(out))
		end_one_sided(on.ep, out.to);
	on.pending.erase(out.id);
	ep_update_polls(on.ep);
}

void op_finish(wire_ep &on, op &o)
{
	const uint64_t id = o.id;
	o.to->unsent -= o.unsent;
	o.to->late -= o.late_data;
	o.to->bulk -= o.bulk && !o.bulk_passed;
	on.bulk -= o.bulk;
	if (one_sided(o))
		end_one_sided(on.ep, o.to);
	if (o.kind == op_kind::pull) {
		on.pieces -= o.in_flight;
		completion c = o.rx_result;
		if (o.status) {
			c.err = -o.status;
			c.len = 0;
		}
		o.to->wire->pull_over(*o.to, o.peer_op, o.status);
		rx_finish(on.ep, o.rx, c);
		o.rx = nullptr;
	} else {
		op_complete(on.ep, o);
	}
	on.pending.erase(id);
}

void op_fail_peer(peer *p, int status)
{
	if (!p->on)
		return;
	wire_ep &on = *p->on;
	std::vector<op *> over;
	for (auto &[id, o] : on.pending)
		if (o->to == p)
			over.push_back(o.get());
	for (op *o : over) {
		o->status = status;
		op_finish(on, *o);
	}
	// also those that op_finish() just added
	std::erase_if(on.replies, [&](const reply &r) { return r.to == p; });
	p->replies = 0;
}

} // namespace pgas
