// SPDX-License-Identifier: BSD-3-Clause
//
// How a call waits for peers: progress, pauses, sleep.
#include "pgas_await.hpp"

#include <algorithm>

namespace pgas {
namespace {

constexpr uint64_t kNapNs = 1'000'000;    // of a waiting call; arrivals end it
constexpr uint64_t kRetryNapNs = 100'000; // while something is waiting that only a retry can move

// With FI_THREAD_COMPLETION other endpoints belong to other threads.
bool may_touch_all(const domain *dom)
{
	return dom->threading != FI_THREAD_COMPLETION;
}

} // namespace

bool domain_poll(domain *dom)
{
	domain_polled(dom);
	scoped_lock lock(dom->mutex);
	return domain_progress(dom);
}

bool domain_poll_or_sleep(domain *dom, uint64_t max_ns)
{
	if (domain_poll(dom))
		return true;
	if (!max_ns)
		return false;
	const uint32_t ticket = sleep_announce(dom);
	bool moved, retry;
	{
		scoped_lock lock(dom->mutex);
		moved = domain_progress(dom);
		retry = domain_must_retry(dom);
	}
	sleep_until_woken(dom, ticket, moved ? 0 : retry ? std::min(max_ns, kRetryNapNs) : max_ns);
	return moved;
}

void await_progress(ep_core *ep)
{
	domain_polled(ep->dom);
	if (may_touch_all(ep->dom))
		domain_progress(ep->dom);
	else
		ep_progress(ep);
}

void await_pause(domain *dom, pgas_backoff &wait)
{
	if (dom->polls_are_slow && wait.polls < PGAS_BACKOFF_SPINS) {
		wait.polls++;
		return;
	}
	if (pgas_backoff_awake(&wait)) {
		pgas_backoff_pause(&wait);
		return;
	}
	if (auto *waits = dom->client_waits.load(std::memory_order_relaxed))
		waits();
	if (may_touch_all(dom))
		domain_poll_or_sleep(dom, kNapNs);
	else
		pgas_backoff_pause(&wait);
}

} // namespace pgas
