// SPDX-License-Identifier: BSD-3-Clause
//
// Messages that are read where the sender put them: in the slot, its annex or the eager buffer (message_take of
// fi_ext_pgas.h).
#include "shm.hpp"

namespace pgas {

constexpr size_t kFetchedEarly = 1024; // what follows is left to the processor, which has seen a stream by then

// The next slot of the ring, when it holds a message that came whole. false: look further.
bool shm_take(wire_ep &of, fi_pgas_message *m)
{
	shm_ep *on = &shm_of(of);
	pgas_slot *slot = &on->slots[on->head & on->mask];
	// pairs with store_release of READY in pgas_hot_publish() and hand_over()
	if (pgas_load_acquire(&slot->state) != slot_word(on->head, PGAS_SLOT_READY))
		return false;
	slot_message s;
	if (!s.read(on, slot) || s.kind != PGAS_KIND_MSG || (s.flags & PGAS_SLOT_LONG))
		return false; // for drain(), which drops what is nothing
	m->eager_ = nullptr;
	m->head = nullptr;
	m->buf = const_cast<char *>(s.bytes);
	m->len = s.len;
	if (s.flags & PGAS_SLOT_EAGER) {
		m->eager_ = &on->eager.returns[s.aux];
		m->claim_ = eager_holder(&on->eager.returns[s.aux]);
	}
	if (s.flags & (PGAS_SLOT_EAGER | PGAS_SLOT_ANNEX)) {
		// the lines of several messages that are taken together travel at the same time
		for (size_t at = 0; at < s.len && at < kFetchedEarly; at += PGAS_CACHE_LINE)
			__builtin_prefetch(s.bytes + at);
		if (s.word && s.word <= PGAS_SLOT_INLINE) // ring_send_pieces() left that much of it in the slot
			m->head = slot->payload;
	}
	m->place_ = &slot->state;
	m->state_ = slot_word(on->head + on->mask + 1, PGAS_SLOT_FREE);
	pgas_store_relaxed(&on->head, on->head + 1);
	pgas_store_release(&on->ring->head, on->head); // pairs with load_acquire in take_over() and claim_beside_hint()
	return true;
}

void shm_give_back(fi_pgas_message *m)
{
	if (m->eager_)
		eager_return(static_cast<uint32_t *>(m->eager_), m->claim_);
	// pairs with load_acquire in claim_from(): the bytes were read before the slot may be filled again
	pgas_store_release(static_cast<uint64_t *>(m->place_), m->state_);
}

} // namespace pgas
