// SPDX-License-Identifier: BSD-3-Clause
//
// Messages that are read where the sender put them: in the slot, its annex or the eager buffer (messages_take of
// fi_ext_pgas.h).
#include "shm.hpp"
#include "engine/pgas_inplace.hpp"

namespace pgas {

constexpr size_t kFetchedEarly = 1280; // the rest is left to the processor, which has detected a stream by then

namespace {

// message_words::of_wire
struct eager_words {
	uint32_t *returns; // of its eager buffer; null: it is in none
	uint32_t claim;
};
static_assert(sizeof(eager_words) == sizeof(message_words::of_wire));

eager_words &eager_of(fi_pgas_message &m)
{
	return reinterpret_cast<eager_words &>(words_of(m).of_wire);
}
const eager_words &eager_of(const fi_pgas_message &m)
{
	return reinterpret_cast<const eager_words &>(words_of(m).of_wire);
}

// Returns how many of the next slots are ready, up to count. Their contents may then be read.
size_t ready_slots(const shm_ep *ep, size_t count)
{
	const auto state_of = [ep](uint64_t pos) { return &ep->slots[pos & ep->mask].state; };
	const auto ready = [&](uint64_t pos) {
		return pgas_load_before_fence(state_of(pos)) == slot_word(pos, PGAS_SLOT_READY);
	};
	if (!ready(ep->head))
		return 0;
	const pgas_slot *first = &ep->slots[ep->head & ep->mask];
	if (PGAS_SLOT_ON_SECOND(pgas_load_relaxed(&first->len)))
		__builtin_prefetch(reinterpret_cast<const char *>(first) + PGAS_CACHE_LINE);
	size_t n = 1;
	while (n < count && ready(ep->head + n))
		n++;
	pgas_fence_acquire(); // pairs with store_release of READY in pgas_hot_publish() and hand_over()
	return n;
}

// Reads the slot at a position if it holds a complete message. Returns false otherwise.
bool read_slot(const shm_ep *ep, uint64_t pos, fi_pgas_message *m)
{
	pgas_slot *slot = &ep->slots[pos & ep->mask];
	slot_message s;
	if (!s.read(ep, slot) || s.kind != PGAS_KIND_MSG || (s.flags & PGAS_SLOT_LONG))
		return false; // for drain(), which drops invalid ones
	eager_of(*m).returns = nullptr;
	m->head = nullptr;
	m->buf = const_cast<char *>(s.bytes);
	m->len = s.len;
	if (s.flags & PGAS_SLOT_EAGER) {
		eager_of(*m) = {&ep->eager.returns[s.aux], eager_holder(&ep->eager.returns[s.aux])};
	}
	if (s.flags & (PGAS_SLOT_EAGER | PGAS_SLOT_ANNEX)) {
		// the lines of several messages that are taken together are fetched concurrently
		for (size_t byte = 0; byte < s.len && byte < kFetchedEarly; byte += PGAS_CACHE_LINE)
			__builtin_prefetch(s.bytes + byte);
		if (s.word && s.word <= PGAS_SLOT_INLINE) // ring_send_pieces() left that much of it in the slot
			m->head = slot->payload;
	}
	words_of(*m).place = &slot->state;
	words_of(*m).state = slot_word(pos + ep->mask + 1, PGAS_SLOT_FREE);
	return true;
}

} // namespace

size_t shm_take(wire_ep &base_ep, fi_pgas_message *m, size_t count)
{
	shm_ep *ep = &shm_of(base_ep);
	const size_t ready = ready_slots(ep, count);
	size_t taken = 0;
	while (taken < ready && read_slot(ep, ep->head + taken, &m[taken]))
		taken++;
	if (!taken)
		return 0;
	pgas_store_relaxed(&ep->head, ep->head + taken);
	pgas_store_release(&ep->ring->head, ep->head); // pairs with load_acquire in take_over() and claim_beside_hint()
	return taken;
}

// The bytes were read, and the receiver's own writes to them are visible, before the slots may be filled again.
// Pairs with load_acquire in claim_from().
void shm_give_back(const fi_pgas_message *m, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (const eager_words &eager = eager_of(m[i]); eager.returns)
			eager_return(eager.returns, eager.claim);
	if (count == 1) {
		pgas_store_release(static_cast<uint64_t *>(words_of(*m).place), words_of(*m).state);
		return;
	}
	pgas_fence_stores();
	for (size_t i = 0; i < count; i++)
		pgas_store_after_fence(static_cast<uint64_t *>(words_of(m[i]).place), words_of(m[i]).state);
}

} // namespace pgas
