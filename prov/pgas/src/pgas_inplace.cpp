// SPDX-License-Identifier: BSD-3-Clause
//
// Messages without buffers and completions (fi_ext_pgas.h): a receiver that handles each message at once reads it where
// the sender put it, in the slot or the eager buffer, and gives the place back; a sender passes head and payload in two
// pieces.
//
// What the general engine drained on the way (attention, requests between the messages) waits in ep_core::msg.waiting
// and is older than anything in the ring, so it is answered first. cq_update_poll() keeps the queue's poll word at
// "look" then.
#include "pgas.hpp"

namespace pgas {
namespace {

void take_waiting(ep_core *ep, fi_pgas_message *m)
{
	auto *u = new unexpected(std::move(ep->msg.waiting.front()));
	ep->msg.waiting.pop_front();
	// operator new aligns for every type, as slots and eager buffers do not quite: see the header
	m->buf = u->bytes.data();
	m->len = u->len;
	m->head = nullptr;
	m->place_ = u;
	m->state_ = 0;
	m->eager_ = nullptr;
}

// The next slot of the ring, when it holds a message that came whole. false: look further.
bool take_slot(ep_core *ep, fi_pgas_message *m)
{
	pgas_slot *slot = &ep->slots[ep->head & ep->mask];
	// pairs with store_release of READY in pgas_hot_send() and send_filled()
	if (pgas_load_acquire(&slot->state) != (ep->head << PGAS_SLOT_POS_SHIFT | PGAS_SLOT_READY))
		return false;
	arrival a;
	if (!a.read(ep, slot) || a.kind != PGAS_KIND_MSG || (a.flags & PGAS_SLOT_LONG))
		return false; // for the engine, which drops what is nothing
	m->eager_ = nullptr;
	m->head = nullptr;
	m->buf = const_cast<char *>(a.bytes);
	m->len = a.len;
	if (a.flags & PGAS_SLOT_EAGER) {
		m->eager_ = &ep->eager.returns[a.aux];
		m->claim_ = eager_holder(&ep->eager.returns[a.aux]);
		if (a.tag && a.tag <= PGAS_SLOT_INLINE) // message_send() left it there
			m->head = slot->payload;
	}
	m->place_ = &slot->state;
	m->state_ = (ep->head + ep->mask + 1) << PGAS_SLOT_POS_SHIFT | PGAS_SLOT_FREE;
	pgas_store_relaxed(&ep->head, ep->head + 1);
	pgas_store_release(&ep->ring->head, ep->head);
	return true;
}

// Threads that poll a ring in which nothing is do not take the lock for that. The two words of the queue's front change
// under the lock one after the other: who reads one old and one new finds nothing, and something at its next look.
bool surely_nothing(const ep_core *ep)
{
	if (!ep->dom->mutex.enabled() || !pgas_load_relaxed(&ep->in_place) || !ep->rx_cq || ep->must_look())
		return false;
	const pgas_cq *front = ep->rx_cq->front;
	return pgas_load_relaxed(&front->queued) == 0 &&
	       pgas_load_relaxed(pgas_load_relaxed(&front->poll)) != pgas_load_relaxed(&front->poll_ready);
}

} // namespace

int message_take(fid_ep *fid, fi_pgas_message *m) noexcept
{
	ep_core *ep = core_of(fid);
	if (surely_nothing(ep))
		return -FI_EAGAIN;
	return guard([&] {
		scoped_lock lock(ep->dom->mutex);
		pgas_store_relaxed(&ep->in_place, true);
		if (PGAS_UNLIKELY(!ep->enabled))
			return -FI_EOPBADSTATE;
		if (PGAS_UNLIKELY(ep->must_look()))
			ep_progress(ep);
		if (PGAS_LIKELY(ep->msg.waiting.empty()) && take_slot(ep, m)) {
			ep_update_heads(ep);
			return 0;
		}
		if (ep->msg.waiting.empty())
			ep_progress(ep); // something else arrived, or something of ours waits
		if (ep->msg.waiting.empty())
			return -FI_EAGAIN;
		take_waiting(ep, m);
		ep_update_heads(ep);
		return 0;
	});
}

void message_release(fid_ep *, fi_pgas_message *m) noexcept
{
	if (PGAS_UNLIKELY(!m->state_)) {
		delete static_cast<unexpected *>(m->place_);
		return;
	}
	if (m->eager_)
		eager_return(static_cast<uint32_t *>(m->eager_), m->claim_);
	// pairs with claim_to_write in claim_slot(): the bytes were read before the slot may be filled again
	pgas_store_release(static_cast<uint64_t *>(m->place_), m->state_);
}

ssize_t message_send(fid_ep *fid, fi_addr_t addr, const void *head, size_t head_len, const void *data,
		     size_t len) noexcept
{
	ep_core *ep = core_of(fid);
	return guard([&]() -> int {
		scoped_lock lock(ep->dom->mutex);
		peer *p;
		if (const int err = peer_get(ep, addr, &p))
			return err;
		return ring_send_pieces(p, head, head_len, data, len);
	});
}

} // namespace pgas
