// SPDX-License-Identifier: BSD-3-Clause
//
// The life of a posted buffer: created, finished with a report, dropped. Matching is in pgas_match.cpp.
#include "pgas_rx.hpp"
#include "pgas_ep.hpp"
#include "hmem/pgas_hmem.hpp"
#include "pgas_wire.hpp"

namespace pgas {

rx_entry *rx_alloc(ep_core *ep)
{
	if (ep->rx_spare.empty())
		return &ep->rx_entries.emplace_back();
	rx_entry *e = ep->rx_spare.back();
	ep->rx_spare.pop_back();
	e->clear();
	return e;
}

void rx_release(ep_core *ep, rx_entry *e)
{
	ep->rx_spare.push_back(e);
}

void rx_drop_landing(rx_entry *e)
{
	if (!is_landing(e->parent))
		return;
	delete static_cast<rx_landing *>(e->parent);
	e->parent = nullptr;
}

void rx_report(ep_core *ep, const completion &c)
{
	if (ep->rx_cq)
		cq_push(ep->rx_cq, c);
}

void rx_finish(ep_core *ep, rx_entry *rx, completion &c)
{
	c.context = rx->context;
	if (rx_entry *parent = rx->parent; is_landing(parent)) {
		hmem_land(parent, c);
	} else if (parent) {
		parent->children--;
		if (parent->retired && parent->children == 0) {
			c.flags |= FI_MULTI_RECV;
			rx_release(ep, parent);
		}
	}
	c.prov_errno = c.err;
	const bool entry = !ep->rx_selective || (rx->flags & FI_COMPLETION) || c.err;
	if (c.flags & FI_RECV)
		cntr_count(ep->c_recv, c.err);
	rx_release(ep, rx);
	if (entry)
		rx_report(ep, c);
}

void rx_drop_all(ep_core *ep)
{
	for (wire_ep *base_ep : ep->wires_on())
		for (const op &o : base_ep->pending)
			if (o.rx)
				rx_drop_landing(o.rx);
	for (rx_queue *q : {&ep->tagged, &ep->msg})
		while (rx_entry *rx = q->first) {
			q->take(rx);
			rx_drop_landing(rx);
		}
	ep->rx_spare.clear();
	ep->rx_entries.clear();
}

} // namespace pgas
