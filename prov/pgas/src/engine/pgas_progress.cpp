// SPDX-License-Identifier: BSD-3-Clause
//
// Progress: every wire processes arrivals and pushes pending work; dead peers are cleaned up. Also the domain's thread
// for FI_PROGRESS_AUTO and for wait objects, which sleeps when nothing happens.
#include "pgas_ep.hpp"
#include "pgas_peer.hpp"

#include <algorithm>
#include <cstring>

namespace pgas {
namespace {

// Each endpoint attends for itself: with FI_THREAD_COMPLETION another endpoint belongs to another thread.
void attend(ep_core *ep)
{
	const uint32_t asked = ep->dom->attention.load();
	// first process what dead peers sent: a response among it completes its operation successfully
	bool settled = true;
	for (wire_ep *base_ep : ep->wires_on())
		settled = base_ep->ops->settle(*base_ep) && settled;
	if (settled)
		pgas_store_relaxed(&ep->attended, asked);
	peers_fail_dead(ep);
	peers_release(ep);
	ep_update_polls(ep);
}

} // namespace

bool ep_progress(ep_core *ep)
{
	if (!ep->enabled)
		return false;
	if (ep->must_attend())
		attend(ep);
	bool kept = false, moved = false;
	for (size_t i = 0; i < kWiresMost && ep->wire_eps[i]; i++) {
		kept = kept || ep->wire_eps[i]->keeps();
		moved |= ep->wire_eps[i]->ops->progress(*ep->wire_eps[i]);
	}
	if (moved && (kept || ep_keeps(ep)))
		ep_update_polls(ep);
	else if (moved)
		ep_update_heads(ep);
	return moved;
}

bool domain_progress(domain *dom)
{
	bool moved = false;
	for (size_t i = 0; i < dom->eps.size(); i++)
		moved |= ep_progress(dom->eps[i]);
	return moved;
}

bool domain_must_retry(const domain *dom)
{
	const auto waits = [](const wire_ep *base_ep) { return base_ep->ops->retries(*base_ep); };
	return std::ranges::any_of(dom->eps,
				   [&](const ep_core *ep) { return std::ranges::any_of(ep->wires_on(), waits); });
}

void domain_ask_to_poll(domain *dom)
{
	dom->attention.fetch_add(1);
	pgas_fence_full(); // pairs with fence_full in cq_update_hot() and cntr_update_hot()
	for (cq_core *cq : dom->cqs)
		cq_force_cold(cq);
	for (cntr_core *c : dom->cntrs)
		cntr_force_cold(c);
	domain_wake(dom);
}

// --- the domain's thread ---------------------------------------------------------------------------------------------

namespace {

constexpr uint32_t kIdlePollsMost = 20;   // polls without an event before the thread sleeps
constexpr long kPolledNapNs = 200'000;    // while the application polls by itself
constexpr uint64_t kRetryNapNs = 100'000; // while something is waiting that only a retry can move
constexpr uint64_t kIdleNapNs = 1'000'000'000;

void signal_waiters(domain *dom)
{
	for (cntr_core *c : dom->cntrs) { // remote counters change without any message
		if (!c->remote || !c->waiters.outside())
			continue;
		const uint64_t now = cntr_value(c);
		if (now != c->signalled_value) {
			c->signalled_value = now;
			cntr_signal(c);
		}
	}
}

void *run_progress_thread(void *arg)
{
	auto *dom = static_cast<domain *>(arg);
	uint32_t idle = 0, polled = 0;
	while (!dom->thread_stop.load()) {
		bool moved;
		{
			scoped_lock lock(dom->mutex);
			moved = domain_progress(dom);
			signal_waiters(dom);
		}
		if (moved) {
			idle = 0;
			continue;
		}
		const uint32_t now = dom->polled.load(std::memory_order_relaxed);
		if (now != polled) {
			// the application polls itself: stay out of its way, and spare senders the cost of a wake-up
			polled = now;
			idle = 0;
			const timespec nap{0, kPolledNapNs};
			nanosleep(&nap, nullptr);
			continue;
		}
		if (++idle < kIdlePollsMost) {
			pgas_cpu_relax();
			if (pgas_core_yield())
				idle = kIdlePollsMost - 1;
			continue;
		}
		const uint32_t ticket = sleep_announce(dom);
		bool again, busy;
		{
			scoped_lock lock(dom->mutex);
			again = domain_progress(dom);
			signal_waiters(dom);
			busy = domain_must_retry(dom);
		}
		sleep_until_woken(dom, ticket, again || dom->thread_stop.load() ? 0 : busy ? kRetryNapNs : kIdleNapNs);
		idle = 0;
	}
	return nullptr;
}

} // namespace

void domain_without_watcher(domain *dom)
{
	dom->no_watcher = true;
	for (cntr_core *c : dom->cntrs)
		cntr_update_hot(c);
}

int domain_start_thread(domain *dom)
{
	const scoped_lock lock(dom->mutex); // a wire's thread may run already, and then the lock is on
	watch_barrier once;                 // two queues may be opened at the same time
	if (dom->thread_running)
		return 0;
	if (!dom->mutex.enabled())
		dom->mutex.enable();
	dom->shared_by_threads = dom->has_threads = true;
	for (ep_core *ep : dom->eps) {
		ep_update_hot(ep);
		ep_update_polls(ep);
	}
	for (cq_core *cq : dom->cqs)
		cq_update_poll(cq);
	for (cntr_core *c : dom->cntrs)
		cntr_update_hot(c);
	if (const int err = start_thread(&dom->thread, nullptr, run_progress_thread, dom)) {
		PGAS_WARN(FI_LOG_DOMAIN, "cannot start the progress thread: %s\n", strerror(err));
		return -err;
	}
	dom->thread_running = true;
	return 0;
}

void domain_stop_thread(domain *dom)
{
	if (!dom->thread_running)
		return;
	dom->thread_stop = true;
	domain_wake(dom);
	pthread_join(dom->thread, nullptr);
	dom->thread_running = false;
}

} // namespace pgas
