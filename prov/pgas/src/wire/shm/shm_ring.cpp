// SPDX-License-Identifier: BSD-3-Clause
//
// The message ring, cold side. Many producers (senders of this host), one consumer (the endpoint's owner).
//
// Why nothing is lost, torn or taken twice:
// - A position is claimed by one compare-exchange of its slot's state from FREE(pos), a value that exists once: the
//   consumer writes FREE(pos) when it frees position pos - slots. (no ABA: positions only grow)
// - tail_hint never leads the claims: only the sender that claimed pos stores it, as pos + 1, after it has seen every
//   position from the hint up to pos taken. A late store may move the hint back; producers then walk forward again.
//   A corrupted hint is detected by comparing it with the owner's head, which is a lower bound as well.
// - Hence positions are claimed in order without gaps, and a sender's messages are in the order in which it sent them.
// - A producer that dies leaves BUSY(pos, owner): the owner's process is known and the consumer skips the slot.
// - Full: the slot of pos still belongs to position pos - slots. Nothing was changed: -FI_EAGAIN.
#include "shm.hpp"
#include "engine/pgas_inplace.hpp"

#include <atomic>
#include <cstring>

namespace pgas {
namespace {

uint64_t busy_word(const shm_peer *p)
{
	return uint64_t{p->attach} << PGAS_SLOT_OWNER_SHIFT | PGAS_SLOT_BUSY;
}

// Claims the first free position from pos on. Every position in between was seen taken, so pos may be any that is not
// above the first free one. Two rings' lengths are more than a lagging hint needs; a sender that others overtake all
// the time tries again later.
pgas_slot *claim_from(shm_peer *p, uint64_t pos, uint64_t *addr)
{
	pgas_slot *const slots = slots_of(p->ring);
	for (uint64_t steps = 0; steps <= 2 * (p->mask + 1); steps++) {
		pgas_slot *slot = &slots[pos & p->mask];
		uint64_t state = pgas_load_acquire(&slot->state);
		const int64_t ahead = slot_distance(state, pos);
		if (ahead < 0)
			return nullptr;
		if (slot_state_of(state, pos) != slot_state::free) {
			pos++;
			continue;
		}
		*addr = pos << PGAS_SLOT_POS_SHIFT;
		if (!pgas_claim_to_write(&slot->state, &state, *addr | busy_word(p)))
			continue;
		pgas_store_release(&p->ring->tail_hint, pos + 1);
		return slot;
	}
	return nullptr;
}

// The ring is full, or no sender wrote the hint. Then the owner's head decides: the position there is free, or the hint
// is more than a ring ahead of it. A hint that leads has skipped free positions, and the owner waits at the first.
PGAS_COLD pgas_slot *claim_beside_hint(shm_peer *p, uint64_t *addr)
{
	const uint64_t head = pgas_load_acquire(&p->ring->head), hint = pgas_load_relaxed(&p->ring->tail_hint);
	const uint64_t state = pgas_load_acquire(&slots_of(p->ring)[head & p->mask].state);
	if (slot_state_of(state, head) != slot_state::free && hint - head <= p->mask + 1)
		return nullptr;
	return claim_from(p, head, addr);
}

pgas_slot *claim_slot(shm_peer *p, uint64_t *addr)
{
	const uint64_t pos = pgas_load_relaxed(&p->ring->tail_hint);
	// The slot at the hint is usually free: claimed without reading it first, which would fetch its line twice.
	pgas_slot *slot = &slots_of(p->ring)[pos & p->mask];
	*addr = pos << PGAS_SLOT_POS_SHIFT;
	uint64_t expected = *addr | PGAS_SLOT_FREE;
	if (PGAS_LIKELY(pgas_claim_to_write(&slot->state, &expected, *addr | busy_word(p)))) {
		pgas_store_release(&p->ring->tail_hint, pos + 1);
		return slot;
	}
	slot = claim_from(p, pos, addr);
	return slot ? slot : claim_beside_hint(p, addr);
}

// Updates what the owner has returned since our last check, for the buffers whose counts share a line with that of
// `pos`.
void refresh_returns(shm_peer *p, uint32_t pos)
{
	const uint32_t first = pos - pos % kReturnsPerLine;
	const uint32_t end = first + kReturnsPerLine < p->eager.count ? first + kReturnsPerLine : p->eager.count;
	for (uint32_t i = first; i < end; i++)
		// the load pairs with store_release in eager_return(); what it tells goes to other threads, too
		pgas_store_release(&p->returns_seen[i], pgas_load_acquire(&p->eager.returns[i]));
}

// A claimed eager buffer.
struct eager_claim {
	uint32_t index, number;
};

// Claims buffer `pos` if we know it to be free. The next one is tried next, within a small group: recently used buffers
// are still in the caches, and the other pages are never touched.
[[gnu::always_inline]] inline bool claim_buffer(shm_peer *p, shm_peer::turn *turn, size_t bytes, uint32_t pos,
						eager_claim *out)
{
	uint64_t claim = pgas_load_relaxed(&p->eager.heads[pos].claim);
	// pairs with store_release in refresh_returns()
	if (pgas_load_acquire(&p->returns_seen[pos]) != eager_head::count(claim))
		return false;
	const uint32_t number = eager_head::count(claim) + 1;
	if (!pgas_claim_to_write(&p->eager.heads[pos].claim, &claim, uint64_t{number} << 32 | (p->attach + 1)))
		return false;
	const uint32_t round = bytes <= 16384 ? kReturnsPerLine - 1 : 3;
	const uint32_t next = (pos & ~round) | ((pos + 1) & round);
	pgas_store_relaxed(&turn->buffer, next < p->eager.count ? next : 0);
	*out = {pos, number};
	return true;
}

// The buffer whose turn it was is not free.
[[gnu::noinline]] bool claim_other(shm_peer *p, shm_peer::turn *turn, size_t bytes, eager_claim *out)
{
	const uint32_t n = p->eager.count;
	uint32_t pos = pgas_load_relaxed(&turn->buffer), refreshed = UINT32_MAX;
	for (uint32_t i = 0; i < n; i++, pos = pos + 1 < n ? pos + 1 : 0) {
		if (claim_buffer(p, turn, bytes, pos, out))
			return true;
		if (refreshed == pos / kReturnsPerLine)
			continue;
		refreshed = pos / kReturnsPerLine;
		refresh_returns(p, pos);
		if (claim_buffer(p, turn, bytes, pos, out))
			return true;
	}
	return false;
}

// Several threads may do this at the same time. False: none is free.
[[gnu::always_inline]] inline bool claim_eager(shm_peer *p, shm_peer::turn *turn, size_t bytes, eager_claim *out)
{
	return PGAS_LIKELY(claim_buffer(p, turn, bytes, pgas_load_relaxed(&turn->buffer), out)) ||
	       claim_other(p, turn, bytes, out);
}

// A buffer passes from thread to thread through its receiver, which returns it: that is another process, so
// ThreadSanitizer does not see it. For ThreadSanitizer, the claim is a release as well.
void buffer_left([[maybe_unused]] const shm_peer *p, [[maybe_unused]] uint32_t index)
{
#ifdef __SANITIZE_THREAD__
	__atomic_fetch_add(&p->eager.heads[index].claim, 0, __ATOMIC_RELEASE);
#endif
}

void gather(const ring_message &m, char *dst)
{
	if (m.head_len)
		memcpy(dst, m.head, m.head_len);
	if (m.iov_len)
		iov_gather(m.iov, m.iov_count, m.skip, dst + m.head_len, m.iov_len);
}

int no_room(const shm_peer *p)
{
	return p->dead() || pgas_load_acquire(&p->shared->closed) ? -FI_ECONNRESET : -FI_EAGAIN;
}

void hand_over(const shm_peer *p, pgas_slot *slot, uint64_t pos)
{
	pgas_store_release(&slot->state, pos | PGAS_SLOT_READY); // pairs with load_acquire in drain()
	pgas_fence_compiler();                                   // see pgas_hot_send()
	pgas_door *door = p->rdom->door();
	if (PGAS_UNLIKELY(pgas_load_relaxed(&door->sleepers)))
		pgas_door_ring(door);
}

char *bytes_inside(pgas_slot *slot, bool plain)
{
	return reinterpret_cast<char *>(plain ? slot->plain : slot->payload);
}

uint64_t with_flag(uint64_t flag)
{
	return flag << PGAS_META_FLAGS_SHIFT;
}
uint64_t with_buffer(uint32_t index)
{
	return with_flag(PGAS_SLOT_EAGER) | uint64_t{index} << PGAS_META_AUX_SHIFT;
}

uint32_t upper_half(uint64_t meta)
{
	return static_cast<uint32_t>(meta >> 32);
}

// Fills a claimed slot, except for the message itself. buffer: with_buffer() if an eager buffer has the message, or 0.
// Returns where the message belongs otherwise. twice: a part that the slot contains as well if the rest is in its annex
// or an eager buffer, because the receiver reads the slot's line anyway.
[[gnu::always_inline]] inline char *fill_slot(const shm_peer *p, pgas_slot *slot, const ring_message &m, size_t total,
					      uint64_t buffer, const void *twice, size_t twice_len)
{
	if (PGAS_IS_PLAIN(m.kind, m.flags) && total <= PGAS_SLOT_PLAIN)
		return pgas_hot_fill_plain(slot, p->attach, m.len);
	const uint32_t what = pgas_hot_what(m.kind, m.flags);
	const bool inside = total <= PGAS_SLOT_INLINE;
	if (inside)
		pgas_hot_describe(slot, p->attach, what, m.len);
	else
		pgas_hot_fill_annex(slot, p->attach, what | upper_half(buffer ? buffer : with_flag(PGAS_SLOT_ANNEX)),
				    m.len, twice, twice_len, nullptr, 0);
	slot->tag = m.word;
	slot->data = m.data;
	return inside ? bytes_inside(slot, false) : pgas_slot_annex(p->ring, slot);
}

// Sends one message of `total` bytes, which fill() writes to the given place. twice: see fill_slot().
template <class Fill>
[[gnu::always_inline]] inline int send_filled(shm_peer *p, const ring_message &m, size_t total, const void *twice,
					      size_t twice_len, Fill &&fill)
{
	if (pgas_load_relaxed(&p->shared->closed)) // no receiver any more
		return -FI_ECONNRESET;
	uint64_t buffer = 0;
	eager_claim claim{};
	if (total > PGAS_ANNEX_BYTES) {
		if (total > p->eager.bytes)
			return -FI_EMSGSIZE;
		if (!claim_eager(p, &p->turns[0], total, &claim))
			return no_room(p);
		fill(p->eager.buffer(claim.index));
		buffer_left(p, claim.index);
		buffer = with_buffer(claim.index);
	}
	uint64_t pos;
	pgas_slot *slot = claim_slot(p, &pos);
	if (PGAS_UNLIKELY(!slot)) {
		if (buffer)
			eager_return(&p->eager.returns[claim.index], claim.number);
		return no_room(p);
	}
	char *const place = fill_slot(p, slot, m, total, buffer, twice, twice_len);
	if (!buffer)
		fill(place);
	hand_over(p, slot, pos);
	return 0;
}

} // namespace

uint64_t ring_tail(const shm_peer *p)
{
	const pgas_slot *const slots = slots_of(p->ring);
	const uint64_t head = pgas_load_acquire(&p->ring->head);
	uint64_t pos = pgas_load_acquire(&p->ring->tail_hint);
	if (pos - head > p->mask + 1) // no sender wrote that
		pos = head;
	for (uint64_t steps = 0; steps <= 2 * (p->mask + 1); steps++, pos++) {
		const uint64_t state = pgas_load_acquire(&slots[pos & p->mask].state);
		if (slot_distance(state, pos) < 0 || slot_state_of(state, pos) == slot_state::free)
			break;
	}
	return pos ? pos : 1; // 0 has a meaning of its own in attach_entry::left
}

int ring_send(shm_peer *p, const ring_message &m)
{
	return send_filled(p, m, m.head_len + m.iov_len, nullptr, 0, [&m](char *dst) { gather(m, dst); });
}

int ring_send_pieces(shm_peer *p, const void *head, size_t head_len, const void *data, size_t len)
{
	const size_t total = head_len + len, twice = head_len <= PGAS_SLOT_INLINE ? head_len : 0;
	const ring_message m{.kind = PGAS_KIND_MSG, .len = total, .word = twice};
	return send_filled(p, m, total, head, twice, [=](char *dst) {
		pgas_copy_out(dst, head, head_len);
		if (len)
			memcpy(dst + head_len, data, len);
	});
}

// --- places that the caller fills ------------------------------------------------------------------------------------
//
// A short message is written into its slot or the slot's annex, which blocks later messages of other senders until it
// is published. A longer one is written into an eager buffer, which blocks nobody; its slot is claimed when it is
// published. Claims of dead senders are returned as if they had died in ring_send().
//
// Without the lock (place_words::wire_state is null), places are not counted: with several threads, memory stays anyway
// (windows_quiet()).

namespace {

// Each thread starts with different buffers, so that their lines stay in the caches of one core.
__thread uint32_t t_turn __attribute__((tls_model("initial-exec")));

shm_peer::turn *turn_of_thread(shm_peer *p)
{
	static std::atomic<uint32_t> given{0};
	if (PGAS_UNLIKELY(!t_turn))
		t_turn = 1 + given.fetch_add(1, std::memory_order_relaxed) % (kTurns - 1);
	return &p->turns[t_turn];
}

// place_words::of_wire: a slot and its position, or an eager buffer.
struct shm_place {
	pgas_slot *slot; // null: a buffer
	uint64_t pos;
	uint32_t index, claim; // of the buffer
};
static_assert(sizeof(shm_place) == sizeof(place_words::of_wire));

shm_place &place_of(fi_pgas_place *place)
{
	return reinterpret_cast<shm_place &>(words_of(*place).of_wire);
}

bool is_counted(const fi_pgas_place *place)
{
	return words_of(*place).wire_state;
}

} // namespace

int shm_claim(peer &dest, size_t len, fi_pgas_place *place)
{
	shm_peer *p = &shm_of(dest);
	if (pgas_load_relaxed(&p->shared->closed))
		return -FI_ECONNRESET;
	if (len > p->eager.bytes)
		return -FI_EMSGSIZE;
	shm_place &mine = place_of(place);
	mine.slot = nullptr;
	if (len <= PGAS_ANNEX_BYTES) {
		pgas_slot *slot = claim_slot(p, &mine.pos);
		if (!slot)
			return no_room(p);
		const bool inside = len <= PGAS_SLOT_PLAIN;
		mine.slot = slot;
		place->buf = inside ? bytes_inside(slot, true) : pgas_slot_annex(p->ring, slot);
		place->room = inside ? PGAS_SLOT_PLAIN : PGAS_ANNEX_BYTES;
	} else {
		eager_claim claim;
		if (!claim_eager(p, is_counted(place) ? &p->turns[0] : turn_of_thread(p), len, &claim))
			return no_room(p);
		mine.index = claim.index;
		mine.claim = claim.number;
		place->buf = p->eager.buffer(mine.index);
		place->room = p->eager.bytes;
	}
	if (is_counted(place))
		p->places++;
	return 0;
}

int shm_publish(peer &dest, fi_pgas_place *place, size_t head_len, size_t len)
{
	shm_peer *p = &shm_of(dest);
	const shm_place &mine = place_of(place);
	uint64_t meta = p->attach | uint64_t{PGAS_KIND_MSG} << PGAS_META_KIND_SHIFT, pos = mine.pos;
	pgas_slot *slot = mine.slot;
	const size_t twice = head_len <= PGAS_SLOT_INLINE ? head_len : 0;
	if (!slot) {
		slot = claim_slot(p, &pos);
		if (!slot)
			return no_room(p);
		meta |= with_buffer(mine.index);
	} else if (place->room == PGAS_ANNEX_BYTES) {
		meta |= with_flag(PGAS_SLOT_ANNEX);
	}
	if (place->room != PGAS_SLOT_PLAIN) {
		slot->head_bytes = twice;
		if (twice)
			pgas_copy_few(slot->payload, place->buf, twice);
	}
	if (!mine.slot)
		buffer_left(p, mine.index); // our process does not access it any more
	slot->meta = meta;
	slot->len = len;
	hand_over(p, slot, pos);
	if (is_counted(place))
		p->places--;
	return 0;
}

void shm_abandon(peer &dest, fi_pgas_place *place)
{
	shm_peer *p = &shm_of(dest);
	const shm_place &mine = place_of(place);
	if (pgas_slot *slot = mine.slot) {
		slot->meta = p->attach | uint64_t{PGAS_KIND_NOTHING} << PGAS_META_KIND_SHIFT;
		slot->len = 0;
		hand_over(p, slot, mine.pos);
	} else {
		buffer_left(p, mine.index);
		eager_return(&p->eager.returns[mine.index], mine.claim);
	}
	if (is_counted(place))
		p->places--;
}

} // namespace pgas
