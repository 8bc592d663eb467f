// SPDX-License-Identifier: BSD-3-Clause
//
// Messages that are read where the sender put them: in the slot, its annex or the eager buffer (message_take of
// fi_ext_pgas.h).
#include "shm.hpp"

namespace pgas {

constexpr size_t kFetchedEarly = 1280; // what follows is left to the processor, which has seen a stream by then

namespace {

// How many of the next slots hold something, up to count. What they hold may be read then.
size_t ready_slots(const shm_ep *on, size_t count)
{
	const auto state_of = [on](uint64_t at) { return &on->slots[at & on->mask].state; };
	const auto ready = [&](uint64_t at) {
		return pgas_load_before_fence(state_of(at)) == slot_word(at, PGAS_SLOT_READY);
	};
	if (!ready(on->head))
		return 0;
	const pgas_slot *first = &on->slots[on->head & on->mask];
	if (PGAS_SLOT_ON_SECOND(pgas_load_relaxed(&first->len)))
		__builtin_prefetch(reinterpret_cast<const char *>(first) + PGAS_CACHE_LINE);
	size_t n = 1;
	while (n < count && ready(on->head + n))
		n++;
	pgas_fence_acquire(); // pairs with store_release of READY in pgas_hot_publish() and hand_over()
	return n;
}

// The slot at a position, when it holds a message that came whole. false: look further.
bool read_slot(const shm_ep *on, uint64_t at, fi_pgas_message *m)
{
	pgas_slot *slot = &on->slots[at & on->mask];
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
		for (size_t byte = 0; byte < s.len && byte < kFetchedEarly; byte += PGAS_CACHE_LINE)
			__builtin_prefetch(s.bytes + byte);
		if (s.word && s.word <= PGAS_SLOT_INLINE) // ring_send_pieces() left that much of it in the slot
			m->head = slot->payload;
	}
	m->place_ = &slot->state;
	m->state_ = slot_word(at + on->mask + 1, PGAS_SLOT_FREE);
	return true;
}

} // namespace

size_t shm_take(wire_ep &of, fi_pgas_message *m, size_t count)
{
	shm_ep *on = &shm_of(of);
	const size_t ready = ready_slots(on, count);
	size_t taken = 0;
	while (taken < ready && read_slot(on, on->head + taken, &m[taken]))
		taken++;
	if (!taken)
		return 0;
	pgas_store_relaxed(&on->head, on->head + taken);
	pgas_store_release(&on->ring->head, on->head); // pairs with load_acquire in take_over() and claim_beside_hint()
	return taken;
}

// The bytes were read, and what the receiver wrote there is there, before the slots may be filled again. Pairs with
// load_acquire in claim_from().
void shm_give_back(const fi_pgas_message *m, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (m[i].eager_)
			eager_return(static_cast<uint32_t *>(m[i].eager_), m[i].claim_);
	if (count == 1) {
		pgas_store_release(static_cast<uint64_t *>(m->place_), m->state_);
		return;
	}
	pgas_fence_stores();
	for (size_t i = 0; i < count; i++)
		pgas_store_after_fence(static_cast<uint64_t *>(m[i].place_), m[i].state_);
}

} // namespace pgas
