// SPDX-License-Identifier: BSD-3-Clause
//
// Progress: drain what arrived in an endpoint's ring, push what waits, look after the dead. And the domain's thread for
// FI_PROGRESS_AUTO and for wait objects, which sleeps on the domain's doorbell when nothing happens.
#include "pgas.hpp"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <sys/syscall.h>

#include <cstring>

namespace pgas {
namespace {

constexpr int kDrainAtOnce = 256;
constexpr size_t kQueueSlack = 65536; // completions beyond a queue's size before arrivals stay in the ring

void handle(ep_core *ep, const pgas_slot *slot)
{
	arrival a;
	if (PGAS_UNLIKELY(!a.read(ep, slot))) {
		garbage_found(ep, "a message");
		return;
	}
	switch (a.kind) {
	case PGAS_KIND_MSG:
	case PGAS_KIND_TAGGED:
		rx_deliver(ep, a);
		break;
	case PGAS_KIND_RMA_DATA: {
		completion c;
		c.flags = FI_REMOTE_WRITE | FI_RMA | FI_REMOTE_CQ_DATA;
		c.len = a.len;
		c.data = a.data;
		if (ep->caps & FI_SOURCE)
			c.src = source_shown(ep, sender_address(ep, a.src));
		if (ep->rx_cq)
			cq_push(ep->rx_cq, c);
		break;
	}
	case PGAS_KIND_REQUEST:
		request_run(ep, a.src, static_cast<uint16_t>(a.tag), a.bytes, a.len);
		break;
	case PGAS_KIND_RESPONSE:
		response_take(ep, a.bytes, a.len);
		break;
	default:
		break;
	}
	if (a.flags & PGAS_SLOT_EAGER)
		eager_return(&ep->eager.returns[a.aux], eager_holder(&ep->eager.returns[a.aux]));
}

uint64_t free_word(const ep_core *ep) // of the slot at the head, for the next time round
{
	return (ep->head + ep->mask + 1) << PGAS_SLOT_POS_SHIFT | PGAS_SLOT_FREE;
}

// The slot at the head is in no state that it can have: it is used again, and what was in it is lost. A sender that
// still fills it makes it wrong once more. Not when it was taken a round ago and not given back (message_take).
bool step_over_garbage(ep_core *ep, pgas_slot *slot, uint64_t state)
{
	if (slot_state_of(state, ep->head) != slot_state::wrong ||
	    (ep->in_place && slot_state_of(state, ep->head - ep->mask - 1) == slot_state::ready))
		return false;
	garbage_found(ep, "a slot");
	pgas_store_release(&slot->state, free_word(ep));
	pgas_store_relaxed(&ep->head, ep->head + 1);
	return true;
}

bool drain(ep_core *ep)
{
	pgas_ring *ring = ep->ring;
	pgas_slot *const slots = ep->slots;
	const uint64_t before = ep->head;
	for (int n = 0; n < kDrainAtOnce; n++) {
		pgas_slot *slot = &slots[ep->head & ep->mask];
		// pairs with store_release of READY in pgas_hot_send() and send_filled()
		const uint64_t state = pgas_load_acquire(&slot->state);
		if (state != (ep->head << PGAS_SLOT_POS_SHIFT | PGAS_SLOT_READY)) {
			if (step_over_garbage(ep, slot, state))
				continue;
			break;
		}
		if (ep->rx_cq && ep->rx_cq->entries.size() > ep->rx_cq->room + kQueueSlack)
			break;
		handle(ep, slot);
		// pairs with claim_to_write in claim_slot(): the bytes were read before the slot may be filled again
		pgas_store_release(&slot->state, free_word(ep));
		pgas_store_relaxed(&ep->head, ep->head + 1);
	}
	if (ep->head == before)
		return false;
	pgas_store_release(&ring->head, ep->head);
	return true;
}

// The slot at the head is free. A hint above it is nothing that a sender wrote; whoever believed it has filled slots
// further on, before which we would wait for ever: step to the first of them.
void close_gap(ep_core *ep)
{
	uint64_t hint = pgas_load_relaxed(&ep->ring->tail_hint);
	if (static_cast<int64_t>(hint - ep->head) <= 0)
		return;
	uint64_t first = ep->head + 1, end = ep->head + ep->mask + 1;
	while (first < end &&
	       slot_state_of(pgas_load_acquire(&ep->slots[first & ep->mask].state), first) == slot_state::free)
		first++;
	if (first == end) { // nobody did
		pgas_claim(&ep->ring->tail_hint, &hint, ep->head);
		return;
	}
	while (ep->head < first) {
		uint64_t free = ep->head << PGAS_SLOT_POS_SHIFT | PGAS_SLOT_FREE;
		if (!pgas_claim(&ep->slots[ep->head & ep->mask].state, &free, free_word(ep)))
			return; // a sender did
		garbage_found(ep, "the hint");
		pgas_store_relaxed(&ep->head, ep->head + 1);
	}
}

// Steps over slots whose sender died while filling them, and takes back eager buffers nobody will send. Answers false
// when the ring could not be emptied for that: look again.
bool bury(ep_core *ep)
{
	pgas_slot *const slots = ep->slots;
	for (uint64_t n = 0; n <= ep->mask; n++) {
		drain(ep);
		pgas_slot *slot = &slots[ep->head & ep->mask];
		const uint64_t state = pgas_load_acquire(&slot->state);
		if (slot_state_of(state, ep->head) != slot_state::busy || !sender_gone(ep, slot_owner(state)))
			break;
		pgas_store_release(&slot->state, free_word(ep));
		pgas_store_relaxed(&ep->head, ep->head + 1);
	}
	if (slot_state_of(pgas_load_acquire(&slots[ep->head & ep->mask].state), ep->head) == slot_state::free)
		close_gap(ep);
	pgas_store_release(&ep->ring->head, ep->head); // also when another wrote there
	// The ring is drained up to a living sender's slot: a claimed buffer of a dead one is in no slot before it.
	if (slot_state_of(pgas_load_acquire(&slots[ep->head & ep->mask].state), ep->head) != slot_state::free)
		return false;
	for (uint32_t i = 0; i < ep->eager.count; i++) {
		const uint64_t claim = pgas_load_acquire(&ep->eager.heads[i].claim);
		if (eager_head::count(claim) != pgas_load_relaxed(&ep->eager.returns[i]) &&
		    sender_gone(ep, eager_head::sender(claim)))
			eager_return(&ep->eager.returns[i], eager_head::count(claim));
	}
	return true;
}

// Each endpoint looks for itself: with FI_THREAD_COMPLETION another one is another thread's.
void attend(ep_core *ep)
{
	const uint32_t asked = ep->dom->attention.load();
	// first what the dead left in our ring: an answer there ends its operation well
	if (bury(ep))
		pgas_store_relaxed(&ep->attended, asked);
	fail_dead_peers(ep);
	peers_release(ep);
	ep_update_polls(ep);
}

long futex(uint32_t *at, int op, uint32_t value, const timespec *timeout)
{
	return syscall(SYS_futex, at, op, value, timeout, nullptr, 0);
}

// Senders check `sleepers` behind a compiler fence only; this makes every running thread of the registered processes
// pass a full barrier, after which either they see our announcement or we see their message.
bool barrier_everywhere()
{
	static const bool registered = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
	return registered && syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0;
}

} // namespace

void garbage_found(ep_core *ep, const char *what)
{
	if (ep->told_garbage)
		return;
	ep->told_garbage = true;
	PGAS_WARN(FI_LOG_EP_DATA,
		  "%s in our shared memory is nothing that this provider writes: dropped; more will not be reported\n",
		  what);
}

bool ep_progress(ep_core *ep)
{
	if (!ep->enabled)
		return false;
	if (ep->must_look())
		attend(ep);
	const bool waited = !ep->pending.empty() || !ep->replies.empty();
	bool moved = drain(ep);
	if (waited || !ep->pending.empty() || !ep->replies.empty()) {
		moved |= pending_push(ep);
		if (moved)
			ep_update_polls(ep);
	} else if (moved) {
		ep_update_heads(ep);
	}
	return moved;
}

bool domain_progress(domain *dom)
{
	bool moved = false;
	for (size_t i = 0; i < dom->eps.size(); i++)
		moved |= ep_progress(dom->eps[i]);
	return moved;
}

// --- doorbell --------------------------------------------------------------------------------------------------------

void door_register()
{
	barrier_everywhere();
}

uint32_t door_announce(domain *dom)
{
	pgas_door *door = dom->door();
	const uint32_t seq = pgas_load_acquire(&door->seq);
	__atomic_fetch_add(&door->sleepers, 1, __ATOMIC_SEQ_CST);
	if (!barrier_everywhere())
		pgas_fence_full(); // without membarrier a wake-up may be missed; door_wait() then sleeps briefly
	return seq;
}

void door_wait(domain *dom, uint32_t seq, uint64_t max_ns)
{
	static const bool reliable = barrier_everywhere();
	pgas_door *door = dom->door();
	if (max_ns) {
		if (!reliable && max_ns > 1'000'000)
			max_ns = 1'000'000;
		const timespec t{static_cast<time_t>(max_ns / 1'000'000'000),
				 static_cast<long>(max_ns % 1'000'000'000)};
		futex(&door->seq, FUTEX_WAIT, seq, &t);
	}
	__atomic_fetch_sub(&door->sleepers, 1, __ATOMIC_SEQ_CST);
}

// --- the domain's thread ---------------------------------------------------------------------------------------------

namespace {

void signal_waiters(domain *dom)
{
	for (cntr_core *c : dom->cntrs) { // remote counters move without any message
		if (!c->remote || (!c->event && c->wait_obj != FI_WAIT_MUTEX_COND))
			continue;
		const uint64_t now = cntr_value(c);
		if (now != c->signalled_value) {
			c->signalled_value = now;
			cntr_signal(c);
		}
	}
}

void *run(void *arg)
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
			// the application polls itself: stay out of its way, and keep senders from paying for a wake-up
			polled = now;
			idle = 0;
			const timespec nap{0, 200'000};
			nanosleep(&nap, nullptr);
			continue;
		}
		if (++idle < 20) {
			pgas_cpu_relax();
			sched_yield();
			continue;
		}
		const uint32_t seq = door_announce(dom);
		bool again, busy = false;
		{
			scoped_lock lock(dom->mutex);
			again = domain_progress(dom);
			signal_waiters(dom);
			for (const ep_core *ep : dom->eps)
				busy = busy || pending_retries(ep);
		}
		door_wait(dom, seq, again || dom->thread_stop.load() ? 0 : busy ? 100'000 : 1'000'000'000);
		idle = 0;
	}
	return nullptr;
}

} // namespace

int domain_start_thread(domain *dom)
{
	watch_barrier once; // two queues may be opened at the same time
	if (dom->thread_running)
		return 0;
	dom->mutex.enable();
	dom->shared_by_threads = true;
	for (ep_core *ep : dom->eps) {
		ep_update_hot(ep);
		ep_update_polls(ep);
	}
	for (cq_core *cq : dom->cqs)
		cq_update_poll(cq);
	for (cntr_core *c : dom->cntrs)
		cntr_update_hot(c);
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	const int err = pthread_create(&dom->thread, nullptr, run, dom);
	pthread_sigmask(SIG_SETMASK, &old, nullptr);
	if (err) {
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
	pgas_door_ring(dom->door());
	pthread_join(dom->thread, nullptr);
	dom->thread_running = false;
}

} // namespace pgas

extern "C" __attribute__((visibility("default"))) void pgas_door_ring(struct pgas_door *door) noexcept
{
	__atomic_fetch_add(&door->seq, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &door->seq, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}
