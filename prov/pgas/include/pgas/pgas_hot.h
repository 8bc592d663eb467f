/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hot path: put, get, atomics and inject to a peer on this host, and counter and queue reads. Nothing else.
 *
 * Each body exists once. fi_direct_*.h inlines it into the application; the ops tables (src/api/pgas_rma.cpp, ...) wrap
 * it with check = PGAS_CHECKED. Every function returns 1 when it did the whole operation and 0 when it did nothing, so
 * the caller has a single cold exit: the ops table (direct) or the general engine (table).
 *
 * PGAS_UNCHECKED relies on the window's guard pages and on the caller's promise that key 0 stays registered while it is
 * used; PGAS_CHECKED checks rank, bounds, rights and liveness first and never accesses memory outside a registration.
 * No system call, lock, allocation, division or indirect call.
 */
#ifndef PGAS_HOT_H
#define PGAS_HOT_H

#include <pgas/pgas_copy.h>
#include <pgas/pgas_types.h>

enum { PGAS_UNCHECKED = 0, PGAS_CHECKED = 1 };

/*
 * Local address of rank's key-0 region, or 0. Invariant: window[rank] != 0 implies that the region's mapping stays
 * until the endpoint is closed. budget: 3 instructions unchecked, test and branch included
 */
PGAS_HOT uint64_t pgas_hot_window(const struct pgas_ep *ep, uint64_t rank, uint64_t off, uint64_t len, int check)
{
	if (check) {
		if (PGAS_UNLIKELY(rank >= ep->rank_limit))
			return 0;
		const struct pgas_window_check *c = &ep->check[rank];
		/* pairs with store_release in publish_window(): bound8 is written last, so the rest is complete */
		const uint64_t bound = pgas_load_word_acquire(&c->bound8);
		if (len == 8 ? PGAS_UNLIKELY(off >= bound)
			     : PGAS_UNLIKELY(!bound || len > bound + 7 || off > bound + 7 - len))
			return 0;
		/* pairs with store_release in key_table::close(): a closed region has another value */
		if (PGAS_UNLIKELY(pgas_load_acquire(c->live) != c->live_value))
			return 0;
		const uint64_t base = c->base;
		if (!base)
			__builtin_unreachable(); /* bound8 != 0 implies it; saves the caller's test */
		return base;
	}
	/*
	 * pairs with store_release in publish_window(): the mapping is complete before its address is visible. A plain
	 * load of an aligned word, because only for plain loads does gcc fold base, index and constant into one
	 * address.
	 */
	return pgas_load_word(&ep->window[rank]);
}

/*
 * May this call take the fast path? Inline code only on MAGIC_HOT; the table also where threads share the endpoint. The
 * table of an endpoint whose injects are MAGIC_HOT passes the constant instead of the field, which removes the test.
 */
PGAS_HOT int pgas_hot_open(uint32_t hot, int check)
{
	return PGAS_LIKELY(hot == PGAS_MAGIC_HOT) || (check && hot == PGAS_MAGIC_SHARED);
}

PGAS_HOT void pgas_hot_count(struct pgas_counter *counter, uint32_t hot, int check)
{
	if (check && hot == PGAS_MAGIC_SHARED)
		pgas_counter_add_shared(counter, 1);
	else
		pgas_counter_add_owner(counter, 1);
}

/*
 * For the tables' entries. Converts a key-0 address to the offset that the checked path compares and adds to the base;
 * pgas_hot_addr() converts it back for the cold exit, so that the hot path needs a register for one of the two only.
 */
PGAS_HOT uint64_t pgas_hot_offset(const struct pgas_ep *ep, uint64_t addr)
{
	return addr - ep->bias;
}

PGAS_HOT uint64_t pgas_hot_addr(const struct pgas_ep *ep, uint64_t off)
{
	return off + pgas_load_relaxed(&ep->bias);
}

/*
 * For the cold exit of an entry with arguments on the stack: its result, 0 or an error. Work that is left after the
 * call keeps it an ordinary one: a tail call would rebuild the arguments in place, and keep them in registers until
 * then.
 */
PGAS_HOT intptr_t pgas_hot_exit(intptr_t ret)
{
	return ret < 0 ? ret : 0;
}

/*
 * Put len bytes. off: the result of pgas_hot_offset() (checked), or the address itself (unchecked). The count is
 * incremented after the bytes are stored: in the same thread that is program order; another process learns the count
 * only through a later release of ours.
 * budget: 9 instructions for a constant 8 bytes, unchecked (paths.def: fi_inject_write_direct)
 */
PGAS_HOT int pgas_hot_put(struct pgas_ep *ep, uint32_t hot, const void *buf, uint64_t len, uint64_t rank, uint64_t off,
			  uint64_t key, int check)
{
	if (PGAS_UNLIKELY(!pgas_hot_open(hot, check) || key != 0))
		return 0;
	const uint64_t base = pgas_hot_window(ep, rank, off, len, check);
	if (PGAS_UNLIKELY(!base))
		return 0;
	pgas_copy_out((void *)(uintptr_t)(base + off), buf, len);
	pgas_hot_count(ep->wr_cntr, hot, check);
	return 1;
}

/* Get len bytes. budget: 9 instructions for a constant 8 bytes, unchecked (paths.def: fi_read_direct) */
PGAS_HOT int pgas_hot_get(struct pgas_ep *ep, uint32_t hot, void *buf, uint64_t len, uint64_t rank, uint64_t off,
			  uint64_t key, int check)
{
	if (PGAS_UNLIKELY(!pgas_hot_open(hot, check) || key != 0))
		return 0;
	const uint64_t base = pgas_hot_window(ep, rank, off, len, check);
	if (PGAS_UNLIKELY(!base))
		return 0;
	pgas_copy_in(buf, (const void *)(uintptr_t)(base + off), len);
	pgas_hot_count(ep->rd_cntr, hot, check);
	return 1;
}

/*
 * Atomics that are one machine instruction: integer sum, bitwise, write, read, swap and compare-and-swap of 4 and 8
 * bytes, one element. op and size are constants at every inline call; any other operation returns 0. The operations are
 * acquire-release, because programs build locks from them.
 */
enum pgas_hot_op {
	PGAS_OP_SUM,
	PGAS_OP_BOR,
	PGAS_OP_BAND,
	PGAS_OP_BXOR,
	PGAS_OP_WRITE,
	PGAS_OP_READ,
	PGAS_OP_CSWAP,
	PGAS_OP_NONE,
};

#define PGAS_AMO_BODY(type_arg)                                                                                        \
	do {                                                                                                           \
		type_arg *p_ = (type_arg *)(uintptr_t)(base + off);                                                    \
		type_arg v_ = 0, old_ = 0;                                                                             \
		if (op != PGAS_OP_READ)                                                                                \
			__builtin_memcpy(&v_, buf, sizeof(v_));                                                        \
		if (op == PGAS_OP_SUM)                                                                                 \
			old_ = __atomic_fetch_add(p_, v_, __ATOMIC_ACQ_REL);                                           \
		else if (op == PGAS_OP_BOR)                                                                            \
			old_ = __atomic_fetch_or(p_, v_, __ATOMIC_ACQ_REL);                                            \
		else if (op == PGAS_OP_BAND)                                                                           \
			old_ = __atomic_fetch_and(p_, v_, __ATOMIC_ACQ_REL);                                           \
		else if (op == PGAS_OP_BXOR)                                                                           \
			old_ = __atomic_fetch_xor(p_, v_, __ATOMIC_ACQ_REL);                                           \
		else if (op == PGAS_OP_READ)                                                                           \
			old_ = __atomic_load_n(p_, __ATOMIC_ACQUIRE);                                                  \
		else if (op == PGAS_OP_CSWAP) {                                                                        \
			__builtin_memcpy(&old_, compare, sizeof(old_));                                                \
			__atomic_compare_exchange_n(p_, &old_, v_, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);             \
		} else if (fetch)                                                                                      \
			old_ = __atomic_exchange_n(p_, v_, __ATOMIC_ACQ_REL);                                          \
		else                                                                                                   \
			__atomic_store_n(p_, v_, __ATOMIC_RELEASE);                                                    \
		if (fetch)                                                                                             \
			__builtin_memcpy(result, &old_, sizeof(old_));                                                 \
	} while (0)

/*
 * One atomic on size (4 or 8) bytes; fetch: the old value goes to *result. A misaligned offset takes the cold exit
 * (window bases are aligned). Without fetch it counts as a write, with fetch as a read.
 * budget: 11 instructions for int64 sum without result, 12 with (paths.def: fi_inject_atomic_direct, ...)
 */
PGAS_HOT int pgas_hot_amo(struct pgas_ep *ep, uint32_t hot, int fetch, const void *buf, const void *compare,
			  void *result, uint64_t size, uint64_t rank, uint64_t off, uint64_t key, enum pgas_hot_op op,
			  int check)
{
	if (PGAS_UNLIKELY(!pgas_hot_open(hot, check) || key != 0))
		return 0;
	const uint64_t base = pgas_hot_window(ep, rank, off, size, check);
	if (PGAS_UNLIKELY(!base))
		return 0;
	if (PGAS_UNLIKELY(off & (size - 1)))
		return 0;
	if (size == 8)
		PGAS_AMO_BODY(pgas_u64_alias);
	else
		PGAS_AMO_BODY(pgas_u32_alias);
	pgas_hot_count(fetch ? ep->rd_cntr : ep->wr_cntr, hot, check);
	return 1;
}

/* Values from libfabric's ABI: the header that names them includes this one. pgas_amo.cpp checks that they agree. */
enum {
	PGAS_FI_INT32 = 4,
	PGAS_FI_UINT64 = 7,
	PGAS_FI_SUM = 2,
	PGAS_FI_BOR = 6,
	PGAS_FI_BAND = 7,
	PGAS_FI_BXOR = 9,
	PGAS_FI_READ = 10,
	PGAS_FI_WRITE = 11,
};

/* The one-instruction operation for an fi_op on an fi_datatype, or PGAS_OP_NONE. Constant-folds. */
PGAS_HOT enum pgas_hot_op pgas_hot_op_of(int datatype, int op, int fetch)
{
	if (datatype < PGAS_FI_INT32 || datatype > PGAS_FI_UINT64)
		return PGAS_OP_NONE;
	switch (op) {
	case PGAS_FI_SUM:
		return PGAS_OP_SUM;
	case PGAS_FI_BOR:
		return PGAS_OP_BOR;
	case PGAS_FI_BAND:
		return PGAS_OP_BAND;
	case PGAS_FI_BXOR:
		return PGAS_OP_BXOR;
	case PGAS_FI_READ:
		return fetch ? PGAS_OP_READ : PGAS_OP_NONE;
	case PGAS_FI_WRITE:
		return PGAS_OP_WRITE;
	default:
		return PGAS_OP_NONE;
	}
}

/* Concurrent callers on the same object: none, or other threads of this process. */
enum { PGAS_ALONE = 0, PGAS_SHARED = 1 };

/* A claimed slot of a peer's ring, to be filled and published. */
struct pgas_hot_claim {
	struct pgas_slot *slot; /* NULL: no room, another sender was faster, or the peer is not connected */
	const struct pgas_peer_hot *peer;
	uint64_t at;
};

/*
 * Claims the slot of the next position of rank's ring with one compare-exchange. Threads may share the endpoint: the
 * fields that they read are written once, before the ring's address, and only one thread or process can claim a
 * position. plain: bytes of a plain message to be placed in the slot. The receiver has read the slot's second line if
 * an earlier message used it; where one instruction requests that line back, it arrives together with the first.
 */
PGAS_HOT struct pgas_hot_claim pgas_hot_claim(const struct pgas_ep *ep, uint64_t rank, int shared, uint64_t plain)
{
	struct pgas_hot_claim c = {NULL, NULL, 0};
	if (PGAS_UNLIKELY(ep->hot_send != (shared ? PGAS_MAGIC_SHARED : PGAS_MAGIC_HOT)))
		return c;
	/* one cold exit for an unknown rank in both builds: unlike window[], peer[] has no guard element */
	if (PGAS_UNLIKELY(rank >= ep->rank_limit))
		return c;
	c.peer = &ep->peer[rank];
	/*
	 * pairs with store_release in open_to_inline_code(). Without other threads this thread did that store itself,
	 * so no acquire is needed.
	 */
	struct pgas_ring *ring = shared ? pgas_load_to_depend(&c.peer->ring) : pgas_load_relaxed(&c.peer->ring);
	if (PGAS_UNLIKELY(!ring))
		return c;
	if (shared)
		c.peer = (const struct pgas_peer_hot *)pgas_depends_on(c.peer, ring);
	const uint64_t pos = pgas_load_relaxed(&ring->tail_hint);
	struct pgas_slot *slot = (struct pgas_slot *)((char *)ring + PGAS_RING_SLOTS_OFF +
						      (uint64_t)((uint32_t)pos & c.peer->mask) * PGAS_SLOT_BYTES);
	c.at = pos << PGAS_SLOT_POS_SHIFT;
	uint64_t expected = c.at | PGAS_SLOT_FREE;
#ifdef __aarch64__
	/*
	 * Only that line: prefetching the line that is about to be claimed makes the claim slower. A message that goes
	 * into the annex may prefetch in vain, which costs less than a test.
	 */
	if (PGAS_LIKELY((offsetof(struct pgas_slot, plain) + plain - 1) & PGAS_CACHE_LINE))
		__builtin_prefetch((char *)slot + PGAS_CACHE_LINE, 1);
#else
	(void)plain;
#endif
	if (PGAS_UNLIKELY(!pgas_claim_to_write(&slot->state, &expected, c.at | c.peer->owner)))
		return c;
	pgas_store_release(&ring->tail_hint, pos + 1); /* pairs with load in claim_slot(): it never leads the claims */
	c.slot = slot;
	return c;
}

/* The upper half of slot.meta, for a message outside of eager buffers. */
PGAS_HOT uint32_t pgas_hot_what(uint8_t kind, uint8_t flags)
{
	return (uint32_t)kind << (PGAS_META_KIND_SHIFT - 32) | (uint32_t)flags << (PGAS_META_FLAGS_SHIFT - 32);
}

/* Writes the fields of a claimed slot that precede the message. sender: its attach index. */
PGAS_HOT void pgas_hot_describe(struct pgas_slot *slot, uint32_t sender, uint32_t what, uint64_t len)
{
#ifdef __x86_64__
	slot->meta_half[0] = sender; /* in halves: a constant needs no register here */
	slot->meta_half[1] = what;
#else
	slot->meta = sender | (uint64_t)what << 32;
#endif
	slot->len = len;
}

/*
 * Two functions fill a slot with a message that has no tag, all other code only writes the message itself. The message
 * may be there before, or follow; it is complete before the slot is published.
 *
 * Plain: the message lies in the slot, len <= PGAS_SLOT_PLAIN. Returns its place.
 */
PGAS_HOT char *pgas_hot_fill_plain(struct pgas_slot *slot, uint32_t sender, uint64_t len)
{
	pgas_hot_describe(slot, sender, pgas_hot_what(PGAS_KIND_MSG, 0), len);
	return (char *)slot->plain;
}

/*
 * Annex: the message lies in the slot's annex, or in an eager buffer. The receiver reads the slot's line first, so the
 * start of the message, in two pieces of together up to PGAS_SLOT_INLINE bytes, is in the slot as well.
 */
PGAS_HOT void pgas_hot_fill_annex(struct pgas_slot *slot, uint32_t sender, uint32_t what, uint64_t len,
				  const void *first, uint64_t first_len, const void *rest, uint64_t rest_len)
{
	pgas_hot_describe(slot, sender, what, len);
	slot->head_bytes = first_len + rest_len;
	if (__builtin_constant_p(first_len))
		__builtin_memcpy(slot->payload, first, first_len);
	else if (first_len)
		pgas_copy_few(slot->payload, first, first_len);
	if (rest_len)
		pgas_copy_few(slot->payload + first_len, rest, rest_len);
}

/* Hands a filled slot to its receiver. */
PGAS_HOT void pgas_hot_publish(const struct pgas_hot_claim *c)
{
	pgas_store_release(&c->slot->state, c->at | PGAS_SLOT_READY); /* pairs with load_acquire in drain() */
	/* The sleeper runs membarrier() after setting sleepers, so a compiler fence is enough on this side. */
	pgas_fence_compiler();
	if (PGAS_UNLIKELY(pgas_load_relaxed(&c->peer->door->sleepers)))
		pgas_door_ring(c->peer->door);
}

/*
 * Sends one message of len <= PGAS_SLOT_INLINE bytes through the peer's ring: claims, fills, publishes, counts. Returns
 * 0 when nothing was done: the cold path then handles it.
 * budget: 45 instructions for a constant 8 bytes (paths.def: fi_inject_direct)
 */
PGAS_HOT int pgas_hot_send(struct pgas_ep *ep, const void *buf, uint64_t len, uint64_t rank, uint64_t tag,
			   uint64_t data, uint8_t kind, uint8_t flags)
{
	if (PGAS_UNLIKELY(len > PGAS_SLOT_INLINE))
		return 0;
	const struct pgas_hot_claim c = pgas_hot_claim(ep, rank, PGAS_ALONE, 1);
	if (PGAS_UNLIKELY(!c.slot))
		return 0;
	pgas_hot_describe(c.slot, c.peer->meta, pgas_hot_what(kind, flags), len);
	if (kind == PGAS_KIND_TAGGED)
		c.slot->tag = tag;
	if (flags & PGAS_SLOT_CQ_DATA)
		c.slot->data = data;
	pgas_copy_out(PGAS_IS_PLAIN(kind, flags) ? c.slot->plain : c.slot->payload, buf, len);
	pgas_hot_publish(&c);
	pgas_counter_add_owner(ep->tx_cntr, 1);
	return 1;
}

/*
 * Sends a message of two pieces, the second at offset `pos` of the message; pos + len <= PGAS_SLOT_PLAIN. Counts
 * nothing, so that threads may share the endpoint. Returns the same as pgas_hot_send.
 */
PGAS_HOT int pgas_hot_post(const struct pgas_ep *ep, const void *head, uint64_t head_len, uint64_t pos,
			   const void *data, uint64_t len, uint64_t rank, int shared)
{
	const struct pgas_hot_claim c = pgas_hot_claim(ep, rank, shared, pos + len);
	if (PGAS_UNLIKELY(!c.slot))
		return 0;
	char *const message = pgas_hot_fill_plain(c.slot, c.peer->meta, pos + len);
	__builtin_memcpy(message, head, head_len); /* not shared before it is published */
	if (len)
		__builtin_memcpy(message + pos, data, len);
	pgas_hot_publish(&c);
	return 1;
}

/* budget: 3 instructions (paths.def: fi_cntr_read_direct) */
PGAS_HOT int pgas_hot_cntr_read(const struct pgas_cntr *cntr, uint64_t *value)
{
	if (PGAS_UNLIKELY(pgas_load_word(&cntr->hot_read) != PGAS_MAGIC_HOT))
		return 0;
	*value = cntr->count.value;
	return 1;
}

/*
 * Is this queue certainly empty? 1: nothing queued and nothing arrived. 0: call the table.
 * budget: 10 instructions with the -FI_EAGAIN (paths.def: fi_cq_read_direct)
 */
PGAS_HOT int pgas_hot_cq_empty(const struct pgas_cq *cq)
{
	return PGAS_LIKELY(pgas_load_word(&cq->hot_read) == PGAS_MAGIC_HOT) &&
	       PGAS_LIKELY(pgas_load_word(&cq->queued) == 0) &&
	       /* acquire is not needed: nothing that *poll publishes is read here */
	       PGAS_LIKELY(pgas_load_relaxed(pgas_load_word(&cq->poll)) != pgas_load_word(&cq->poll_ready));
}

/*
 * The same where threads share the domain. Another thread may change the words between two loads. They are loaded anew
 * each time, so a reader that combines an old word with a new one finds nothing now and something at its next poll.
 * budget: 12 instructions (paths.def: gasnet_ampoll_par)
 */
PGAS_HOT int pgas_hot_cq_empty_shared(const struct pgas_cq *cq)
{
	return PGAS_LIKELY(pgas_load_relaxed(&cq->hot_read) == PGAS_MAGIC_SHARED) &&
	       PGAS_LIKELY(pgas_load_relaxed(&cq->queued) == 0) &&
	       PGAS_LIKELY(pgas_load_relaxed(pgas_load_relaxed(&cq->poll)) != pgas_load_relaxed(&cq->poll_ready));
}

#endif /* PGAS_HOT_H */
