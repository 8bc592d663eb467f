// SPDX-License-Identifier: BSD-3-Clause
//
// Waiting inside a call for peers. A waiting thread makes progress on the whole domain, because the peers it waits for
// may be waiting for it on another endpoint, and never holds the domain's lock while it pauses.
#pragma once

#include "pgas_ep.hpp"

namespace pgas {

// Progress without and with a sleep: true when something moved. The sleep ends when something arrives, or after max_ns;
// it is skipped when something moved before. Lock not held.
bool domain_poll(domain *dom);
bool domain_poll_or_sleep(domain *dom, uint64_t max_ns);

// One turn of a waiting loop: spins, then yields, then sleeps for short times. Lock not held.
void await_pause(domain *dom, pgas_backoff &wait);

// Lock held.
void await_progress(ep_core *ep);

// Returns when done() is true; done() is called under the domain's lock.
template <class Done>
void await(ep_core *ep, Done &&done)
{
	pgas_backoff wait{};
	for (;;) {
		{
			scoped_lock lock(ep->dom->mutex);
			if (done())
				return;
			await_progress(ep);
			if (done())
				return;
		}
		await_pause(ep->dom, wait);
	}
}

} // namespace pgas
