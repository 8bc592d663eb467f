// SPDX-License-Identifier: BSD-3-Clause
//
// Queues and counters as the rest of the provider sees them: entries and counts are added, sleepers are woken, and the
// words that inline code reads are kept up to date.
#include "pgas_completion.hpp"
#include "pgas_ep.hpp"
#include "pgas_wire.hpp"

#include <algorithm>

namespace pgas {
namespace {

// The poll words of a queue that has nothing to poll, and of one that must always take the cold path.
const uint64_t g_never = 0;
const uint64_t g_always = 1;

// The fast path is closed while a wire asks for attention; while threads share the domain it is open only to callers
// that allow for threads. Written only when it changes: a thread of the wire closes it, and rewriting the same value
// could undo that.
void cq_update_hot(cq_core *cq)
{
	pgas_cq *front = cq->front;
	const auto must_attend = [cq] { return std::ranges::any_of(cq->eps, &ep_core::must_attend); };
	const uint32_t open = cq->dom->hot_allowed() ? PGAS_MAGIC_HOT : PGAS_MAGIC_SHARED;
	if (pgas_load_relaxed(&front->hot_read) == open)
		return;
	if (!must_attend()) {
		pgas_store_relaxed(&front->hot_read, open);
		pgas_fence_full(); // pairs with fence_full in domain_ask_to_poll(): one side sees the other's store
		if (!must_attend())
			return;
	}
	pgas_store_relaxed(&front->hot_read, PGAS_MAGIC_OWN);
}

// Every arrival is signalled: inline code need not make progress.
bool noticed(const ep_core *ep)
{
	return std::ranges::all_of(ep->wires_on(),
				   [](const wire_ep *base_ep) { return base_ep->ops->noticed(*base_ep); });
}

} // namespace

void cq_update_queued(cq_core *cq)
{
	pgas_store_relaxed(&cq->front->queued, static_cast<uint64_t>(cq->entries.size()));
}

void cq_push(cq_core *cq, const completion &c)
{
	cq->entries.push_back(c);
	cq_update_queued(cq);
	cq->waiters.raise();
	domain_wake_sleepers(cq->dom); // another thread of this process may sleep in sread
}

// The hot read polls one word only. One idle endpoint: the word that its first wire names. None: a word that never
// changes. Several endpoints, or work waiting in our own lists: a word that always reads as ready.
void cq_update_poll(cq_core *cq)
{
	pgas_cq *front = cq->front;
	const uint64_t *poll = cq->eps.size() > 1 ? &g_always : &g_never;
	uint64_t ready = 1;
	if (cq->eps.size() == 1 && cq->eps[0]->enabled) {
		const ep_core *ep = cq->eps[0];
		const bool to_take = !ep->msg.waiting.empty() && (ep->in_place || !ep->msg.first); // by messages_take
		const bool waits = ep_keeps(ep) || to_take;
		poll = waits || !noticed(ep) ? nullptr : g_host.poll_word(*ep->host(), &ready);
		if (!poll) {
			poll = &g_always;
			ready = g_always;
		}
	}
	pgas_store_relaxed(&front->poll_ready, ready);
	pgas_store_relaxed(&front->poll, poll);
	cq_update_hot(cq);
}

// Nothing else that cq_update_poll() checks has changed: a queue that polled the wire's word polls its next word.
bool cq_step_poll(cq_core *cq, const ep_core *ep)
{
	pgas_cq *front = cq->front;
	if (front->poll == &g_always || front->poll == &g_never)
		return false;
	uint64_t ready = 1;
	const uint64_t *poll = g_host.poll_word(*ep->host(), &ready);
	pgas_store_relaxed(&front->poll_ready, ready);
	pgas_store_relaxed(&front->poll, poll);
	return true;
}

// Called by a thread of a wire, which holds no lock of the domain.
void cq_force_cold(cq_core *cq)
{
	pgas_store_relaxed(&cq->front->hot_read, PGAS_MAGIC_OWN);
}

uint64_t cntr_value(const cntr_core *c)
{
	const uint64_t local = pgas_counter_read(&c->front->count);
	// pairs with add_release in remote_count(): the data of a counted write is visible here
	return c->remote ? local + pgas_load_acquire(&c->dom->counters[c->remote].value) : local;
}

uint64_t cntr_error(const cntr_core *c)
{
	const uint64_t local = pgas_counter_read_error(&c->front->count);
	return c->remote ? local + pgas_load_acquire(&c->dom->counters[c->remote].error) : local;
}

void cntr_count(cntr_core *c, bool failed)
{
	if (!c)
		return;
	if (failed)
		pgas_add_release(&c->front->count.error, uint64_t{1});
	else
		pgas_counter_add_shared(&c->front->count, 1);
	cntr_signal(c);
}

void cntr_signal(cntr_core *c)
{
	c->waiters.raise();
	domain_wake_sleepers(c->dom);
}

int cntr_need_remote(cntr_core *c)
{
	if (c->remote)
		return 0;
	auto &used = c->dom->counter_used;
	for (uint32_t i = 1; i < kRemoteCounters; i++) {
		if (used[i])
			continue;
		used[i] = true;
		remote_counter &place = c->dom->counters[i];
		pgas_store_relaxed(&place.value, uint64_t{0});
		pgas_store_relaxed(&place.error, uint64_t{0});
		c->remote = static_cast<uint16_t>(i);
		cntr_update_hot(c);
		return 0;
	}
	PGAS_WARN(FI_LOG_CNTR, "all %u counters for remote events are in use\n", kRemoteCounters - 1);
	return -FI_ENOSPC;
}

// A hot read loads only the count and processes no arrivals: a peer's request would wait for ever. The watcher closes
// the counters of a process that leaves a request unprocessed (check_ring()); where no watcher runs, every read makes
// progress itself.
void cntr_update_hot(cntr_core *c)
{
	constexpr uint64_t one_sided = FI_WRITE | FI_READ;
	bool hot = c->dom->hot_allowed() && !c->dom->no_watcher && !c->remote && !(c->bound_flags & ~one_sided) &&
		   !c->waiters.outside();
	for (const ep_core *ep : c->eps)
		hot = hot && !ep_keeps(ep) && !ep->serves && noticed(ep) && !(ep->tx_op_flags & FI_DELIVERY_COMPLETE);
	// as in cq_update_hot(): a thread of a wire may close it
	const auto must_attend = [c] { return std::ranges::any_of(c->eps, &ep_core::must_attend); };
	if (!hot || must_attend()) {
		pgas_store_relaxed(&c->front->hot_read, PGAS_MAGIC_OWN);
	} else if (pgas_load_relaxed(&c->front->hot_read) != PGAS_MAGIC_HOT) {
		pgas_store_relaxed(&c->front->hot_read, PGAS_MAGIC_HOT);
		pgas_fence_full(); // pairs with fence_full in domain_ask_to_poll()
		if (must_attend())
			pgas_store_relaxed(&c->front->hot_read, PGAS_MAGIC_OWN);
	}
}

// Called by a thread of a wire, which holds no lock of the domain.
void cntr_force_cold(cntr_core *c)
{
	pgas_store_relaxed(&c->front->hot_read, PGAS_MAGIC_OWN);
}

} // namespace pgas
