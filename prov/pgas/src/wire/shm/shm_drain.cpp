// SPDX-License-Identifier: BSD-3-Clause
//
// Receives what peers sent into our own ring, and repairs what dead or faulty peers left in it.
#include "shm.hpp"

namespace pgas {

bool slot_message::read(const shm_ep *ep, const pgas_slot *s)
{
	const uint64_t meta = pgas_load_relaxed(&s->meta);
	src = static_cast<uint32_t>(meta);
	kind = static_cast<uint8_t>(meta >> PGAS_META_KIND_SHIFT);
	flags = static_cast<uint8_t>(meta >> PGAS_META_FLAGS_SHIFT);
	aux = static_cast<uint16_t>(meta >> PGAS_META_AUX_SHIFT);
	len = pgas_load_relaxed(&s->len);
	word = pgas_load_relaxed(&s->tag);
	data = flags & PGAS_SLOT_CQ_DATA ? pgas_load_relaxed(&s->data) : 0;
	const bool plain = PGAS_IS_PLAIN(kind, flags);
	bytes = reinterpret_cast<const char *>(plain ? s->plain : s->payload);
	size_t room = plain ? PGAS_SLOT_PLAIN : PGAS_SLOT_INLINE;
	if (flags & PGAS_SLOT_EAGER) {
		if (PGAS_UNLIKELY(aux >= ep->eager.count))
			return false;
		bytes = ep->eager.buffer(aux);
		room = ep->eager.bytes;
	} else if (flags & PGAS_SLOT_ANNEX) {
		bytes = pgas_slot_annex(ep->ring, s);
		room = PGAS_ANNEX_BYTES;
	}
	const bool message = kind == PGAS_KIND_MSG || kind == PGAS_KIND_TAGGED;
	const bool whole = len <= room || (flags & PGAS_SLOT_LONG ? message : kind == PGAS_KIND_RMA_DATA);
	return PGAS_LIKELY(src < kAttachMax && kind >= PGAS_KIND_MSG && kind <= PGAS_KIND_NOTHING && whole);
}

void garbage_found(shm_ep *ep, const char *what)
{
	if (ep->told_garbage)
		return;
	ep->told_garbage = true;
	PGAS_WARN(FI_LOG_EP_DATA,
		  "%s in our shared memory is nothing that this provider writes: dropped; more will not be reported\n",
		  what);
}

namespace {

constexpr int kDrainAtOnce = 256;
constexpr size_t kQueueSlack = 65536; // completions beyond a queue's size before arrivals stay in the ring

void handle(shm_ep &ep, const pgas_slot *slot)
{
	slot_message s;
	if (PGAS_UNLIKELY(!s.read(&ep, slot))) {
		garbage_found(&ep, "a message");
		return;
	}
	switch (s.kind) {
	case PGAS_KIND_MSG:
	case PGAS_KIND_TAGGED: {
		const bool is_long = s.flags & PGAS_SLOT_LONG;
		rx_deliver({.ep = &ep,
			    .src = s.src,
			    .tagged = s.kind == PGAS_KIND_TAGGED,
			    .is_long = is_long,
			    .has_data = (s.flags & PGAS_SLOT_CQ_DATA) != 0,
			    .len = s.len,
			    .tag = s.word,
			    .data = s.data,
			    .bytes = s.bytes,
			    .bytes_len = is_long ? sizeof(long_message) : s.len});
		break;
	}
	case PGAS_KIND_RMA_DATA:
		rx_deliver_data(ep, s.src, s.len, s.data);
		break;
	case PGAS_KIND_REQUEST:
		request_run(ep, s.src, static_cast<uint16_t>(s.word), s.bytes, s.len);
		break;
	case PGAS_KIND_RESPONSE:
		response_take(ep, s.bytes, s.len);
		break;
	default:
		break;
	}
	if (s.flags & PGAS_SLOT_EAGER)
		eager_return(&ep.eager.returns[s.aux], eager_holder(&ep.eager.returns[s.aux]));
}

uint64_t free_word(const shm_ep *ep) // of the slot at the head, for the next round
{
	return slot_word(ep->head + ep->mask + 1, PGAS_SLOT_FREE);
}

// The slot at the head is in an impossible state: it is reused, and its contents are lost. A sender that still fills it
// makes it wrong once more. Not if it was taken a round ago and not given back (messages_take).
bool step_over_garbage(shm_ep *ep, pgas_slot *slot, uint64_t state)
{
	if (slot_state_of(state, ep->head) != slot_state::wrong ||
	    (ep->ep->in_place && slot_state_of(state, ep->head - ep->mask - 1) == slot_state::ready))
		return false;
	garbage_found(ep, "a slot");
	pgas_store_release(&slot->state, free_word(ep));
	pgas_store_relaxed(&ep->head, ep->head + 1);
	return true;
}

bool drain(shm_ep *ep)
{
	pgas_ring *ring = ep->ring;
	pgas_slot *const slots = ep->slots;
	const uint64_t before = ep->head;
	for (int n = 0; n < kDrainAtOnce; n++) {
		pgas_slot *slot = &slots[ep->head & ep->mask];
		// pairs with store_release of READY in pgas_hot_publish() and hand_over()
		const uint64_t state = pgas_load_acquire(&slot->state);
		if (state != slot_word(ep->head, PGAS_SLOT_READY)) {
			if (step_over_garbage(ep, slot, state))
				continue;
			break;
		}
		if (ep->ep->rx_cq && ep->ep->rx_cq->entries.size() > ep->ep->rx_cq->room + kQueueSlack)
			break;
		handle(*ep, slot);
		// pairs with load_acquire in claim_from(): the bytes were read before the slot may be filled again
		pgas_store_release(&slot->state, free_word(ep));
		pgas_store_relaxed(&ep->head, ep->head + 1);
	}
	if (ep->head == before)
		return false;
	pgas_store_release(&ring->head, ep->head);
	return true;
}

// The slot at the head is free. No sender wrote a hint above it; senders that trusted it have filled slots further on,
// before which we would wait forever: advance to the first of them.
void close_gap(shm_ep *ep)
{
	uint64_t hint = pgas_load_relaxed(&ep->ring->tail_hint);
	if (static_cast<int64_t>(hint - ep->head) <= 0)
		return;
	uint64_t first = ep->head + 1, end = ep->head + ep->mask + 1;
	while (first < end &&
	       slot_state_of(pgas_load_acquire(&ep->slots[first & ep->mask].state), first) == slot_state::free)
		first++;
	if (first == end) { // no sender did
		pgas_claim(&ep->ring->tail_hint, &hint, ep->head);
		return;
	}
	while (ep->head < first) {
		uint64_t free = slot_word(ep->head, PGAS_SLOT_FREE);
		if (!pgas_claim(&ep->slots[ep->head & ep->mask].state, &free, free_word(ep)))
			return; // a sender filled it
		garbage_found(ep, "the hint");
		pgas_store_relaxed(&ep->head, ep->head + 1);
	}
}

} // namespace

// Steps over slots whose sender died while filling them, and takes back eager buffers that nobody will send. Returns
// false if that could not empty the ring: try again.
bool shm_settle(wire_ep &base_ep)
{
	shm_ep *ep = &shm_of(base_ep);
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
	if (ep->head_is_free())
		close_gap(ep);
	pgas_store_release(&ep->ring->head, ep->head); // also if another process wrote there
	// The ring is drained up to a living sender's slot: a claimed buffer of a dead one is in no slot before it.
	if (!ep->head_is_free())
		return false;
	for (uint32_t i = 0; i < ep->eager.count; i++) {
		const uint64_t claim = pgas_load_acquire(&ep->eager.heads[i].claim);
		if (eager_head::count(claim) != pgas_load_relaxed(&ep->eager.returns[i]) &&
		    sender_gone(ep, eager_head::sender(claim)))
			eager_return(&ep->eager.returns[i], eager_head::count(claim));
	}
	return true;
}

bool shm_progress(wire_ep &base_ep)
{
	shm_ep *ep = &shm_of(base_ep);
	const bool kept = ep->keeps();
	bool moved = drain(ep);
	if (kept || ep->keeps())
		moved |= request_push_all(*ep);
	return moved;
}

} // namespace pgas
