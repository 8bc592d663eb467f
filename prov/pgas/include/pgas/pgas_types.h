/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Layout of the structures that the inline data path reads: the fronts of endpoint, counter and completion queue
 * (private to the process), and the message ring (shared between processes).
 *
 * A program compiled with FABRIC_DIRECT contains these offsets in its own code. Every front therefore begins, after
 * libfabric's own fid, with a magic word that contains PGAS_LAYOUT_VERSION. A program built against another layout, an
 * object of another provider, and one of our objects that may not take the fast path (threads, ordering, a completion
 * wanted) all show another word, and the call goes through the ops table. If you change anything here, raise
 * PGAS_LAYOUT_VERSION; otherwise prov/pgas/tests/test_prov_layout.c fails.
 */
#ifndef PGAS_TYPES_H
#define PGAS_TYPES_H

#include <stddef.h>
#include <stdint.h>
#include <rdma/fabric.h>
#include <pgas/pgas_atomic.h>
#include <pgas/pgas_counter.h>

#define PGAS_LAYOUT_VERSION 6u
#define PGAS_MAGIC_HOT (0x50474800u | PGAS_LAYOUT_VERSION) /* "PGH": the fast path is open */
/* "PGS": through the table, which counts with atomics, or inline by callers that allow for threads (PGAS_SHARED) */
#define PGAS_MAGIC_SHARED (0x50475300u | PGAS_LAYOUT_VERSION)
#define PGAS_MAGIC_OWN (0x50474f00u | PGAS_LAYOUT_VERSION) /* "PGO": ours, but only through the general engine */

/*
 * Where our part of an object begins. It must lie after libfabric's own structure, with some room because that may grow
 * at its end (80 bytes of fid_ep, 32 of fid_cq and fid_cntr). The magic words must also lie inside the smallest object
 * that another provider returns in the same place, because callers read them there too: the objects of libfabric's
 * hooks, 104 bytes for an endpoint and 48 for a counter. Those hold half of a pointer at that offset, which never looks
 * like a magic word.
 */
#define PGAS_FRONT_EP_OFF 88
#define PGAS_FRONT_OFF 40

/*
 * Message ring: many producers (senders on this host), one consumer (the endpoint's owner). See wire/shm/shm_ring.cpp
 * for the protocol; the layout is here because fi_inject is inline.
 *
 * slot.state = position << 24 | owner << 4 | state
 *   FREE(pos)        may be claimed for position pos only         written by the consumer
 *   BUSY(pos, owner) claimed by attached sender `owner`           written by that producer (compare-exchange)
 *   READY(pos)       filled, the consumer may take it             written by that producer (release)
 */
#define PGAS_INJECT_BYTES 4096 /* largest fi_inject of any kind */
#define PGAS_SLOT_BYTES 128
#define PGAS_SLOT_INLINE 88
#define PGAS_SLOT_PLAIN 104   /* for a plain message, whose bytes begin earlier */
#define PGAS_ANNEX_BYTES 2240 /* one per slot: 35 lines, so that annexes begin in all sets of a cache */
#define PGAS_SLOT_POS_SHIFT 24
#define PGAS_SLOT_OWNER_SHIFT 4
#define PGAS_SLOT_FREE 1u
#define PGAS_SLOT_BUSY 2u
#define PGAS_SLOT_READY 3u

/* kind, in slot.meta */
enum {
	PGAS_KIND_MSG = 1,      /* fi_send family */
	PGAS_KIND_TAGGED = 2,   /* fi_tsend family */
	PGAS_KIND_RMA_DATA = 3, /* remote CQ data of a write whose bytes are already in place */
	PGAS_KIND_REQUEST = 4,  /* work for the target's progress (memory that cannot be accessed directly) */
	PGAS_KIND_RESPONSE = 5, /* its response, or "your long message was read" */
	PGAS_KIND_NOTHING = 6,  /* a slot that was claimed and not used */
};

/* flags, in slot.meta */
enum {
	PGAS_SLOT_CQ_DATA = 1, /* slot.data is the sender's cq data */
	PGAS_SLOT_EAGER = 2,   /* payload is in the receiver's eager buffer */
	PGAS_SLOT_LONG = 4,    /* payload stays at the sender: the inline part locates it */
	PGAS_SLOT_ANNEX = 8,   /* payload is in the slot's annex */
};

struct pgas_slot {
	uint64_t state;
	__extension__ union {
		uint64_t meta;         /* sender's attach index | kind << 32 | flags << 40 | eager buffer << 48 */
		uint32_t meta_half[2]; /* the same: lower half first, as on all supported processors */
	};
	uint64_t len; /* bytes of the message, wherever they lie */
	__extension__ union {
		struct {
			__extension__ union {  /* by kind; otherwise not written */
				uint64_t tag;  /* PGAS_KIND_TAGGED */
				uint64_t code; /* PGAS_KIND_REQUEST: request code */
				/* PGAS_KIND_MSG with PGAS_SLOT_EAGER, _ANNEX: payload holds this much of it too */
				uint64_t head_bytes;
			};
			uint64_t data; /* with PGAS_SLOT_CQ_DATA; otherwise not written */
			uint8_t payload[PGAS_SLOT_INLINE];
		};
		/* PGAS_KIND_MSG without flags, which has no tag and no data: 40 bytes of it lie on the first line */
		uint8_t plain[PGAS_SLOT_PLAIN];
	};
};
/* Is a message that lies in its slot plain? */
#define PGAS_IS_PLAIN(kind_arg, flags_arg) ((kind_arg) == PGAS_KIND_MSG && !(flags_arg))
/* Does a plain message of this size extend to the slot's second line? Longer ones are in the annex or a buffer. */
#define PGAS_SLOT_PLAIN_FIRST (PGAS_CACHE_LINE - (PGAS_SLOT_BYTES - PGAS_SLOT_PLAIN))
#define PGAS_SLOT_ON_SECOND(bytes_arg)                                                                                 \
	((uint64_t)(bytes_arg) - (PGAS_SLOT_PLAIN_FIRST + 1) < PGAS_SLOT_PLAIN - PGAS_SLOT_PLAIN_FIRST)

/* The constants that callers of pgas_hot_send need. */
#define PGAS_HOT_SEND_BYTES PGAS_SLOT_INLINE
#define PGAS_HOT_CQ_DATA PGAS_SLOT_CQ_DATA

#define PGAS_META_KIND_SHIFT 32
#define PGAS_META_FLAGS_SHIFT 40
#define PGAS_META_AUX_SHIFT 48

/*
 * First line: written by producers. Slots follow at PGAS_RING_SLOTS_OFF; their number is kept out of memory that peers
 * can write.
 */
struct pgas_ring {
	uint64_t tail_hint; /* every position below it is claimed; may lag, never leads */
	uint64_t pad_[7];
	uint64_t head; /* positions below it are consumed; written by the consumer, lags */
	uint64_t pad2_[7];
};
#define PGAS_RING_SLOTS_OFF 128

/*
 * The owner of a slot owns its annex too, so a payload longer than a slot needs no second claim and release. Annexes
 * lie before the ring, with the first slot's last, so that finding one does not require their number.
 */
static inline char *pgas_slot_annex(struct pgas_ring *ring, const struct pgas_slot *slot)
{
	const uint64_t begin = (uint64_t)((const char *)slot - (const char *)ring) - PGAS_RING_SLOTS_OFF;
	return (char *)ring - (begin / PGAS_SLOT_BYTES + 1) * PGAS_ANNEX_BYTES;
}

/* Doorbell of a process's domain, in shared memory: a sleeper sets sleepers, a waker increments seq and calls futex. */
struct pgas_door {
	uint32_t sleepers;
	uint32_t seq;
	uint64_t pad_[7];
};

/* What a sender needs to know about one peer, private to the sender's endpoint. ring == NULL: take the cold path. */
struct pgas_peer_hot {
	struct pgas_ring *ring;
	struct pgas_door *door;
	uint64_t owner; /* my attach index << PGAS_SLOT_OWNER_SHIFT | BUSY */
	uint32_t mask;  /* of the ring: slots - 1, checked at connect */
	uint32_t meta;  /* my attach index, as it goes into slot.meta */
};

/*
 * What the checked (table) path compares before it accesses a peer's key-0 region; private to the endpoint. Only
 * regions that grant both reading and writing are entered here.
 */
struct pgas_window_check {
	uint64_t bound8;      /* an 8-byte access may start below it: region's bytes - 7; 0: take the cold path */
	uint64_t base;        /* like window[rank], but also set on endpoints that threads share */
	const uint64_t *live; /* in the target's key table: changes when the region is closed */
	uint64_t live_value;
};

/* Wakes the owner of a doorbell; the only cold call of the inline send. */
#ifdef __cplusplus
extern "C" {
#endif
PGAS_EXPORT void pgas_door_ring(struct pgas_door *door) PGAS_NOEXCEPT;
#ifdef __cplusplus
}
#endif

/*
 * Endpoint front. Allocated in one mapping, with the window table after it, so that window[rank] is one load from the
 * endpoint's address. window[rank] is the local address of rank's key-0 region, 0 where it cannot be accessed directly;
 * it is written when a peer is connected, and cleared by the watcher when the peer dies. window[-1] is always 0:
 * FI_ADDR_UNSPEC leads to the cold path. Invariant: a window is set only while hot_inject is MAGIC_HOT, so a caller
 * that knows the endpoint to be ours may omit the test of the magic word for injects.
 */
struct pgas_ep_core;

struct pgas_ep {
	union {
		uint8_t room_[PGAS_FRONT_EP_OFF];
	} fid_;
	/* one line: everything that a put, get or atomic accesses besides the window */
	uint32_t hot_inject; /* MAGIC_HOT: inject_write/inject_atomic may take the fast path */
	uint32_t hot_rma;    /* MAGIC_HOT: write/read/atomics too, because no completion entry is wanted */
	uint32_t hot_send;   /* MAGIC_HOT: inject may take it; MAGIC_SHARED: only where it counts nothing */
	uint32_t reserved_;
	struct pgas_counter *wr_cntr; /* never NULL: points at unbound_ when no counter is bound */
	struct pgas_counter *rd_cntr;
	struct pgas_counter *tx_cntr;
	struct pgas_peer_hot *peer; /* indexed by rank */
	struct pgas_window_check *check;
	uint64_t rank_limit; /* ranks below it have entries in window, peer and check */
	uint64_t op_flags;   /* default transmit flags */
	struct pgas_ep_core *core;
	struct pgas_counter unbound_;
	uint64_t bias; /* subtracted from key-0 addresses; window[] has it subtracted already */
	uint64_t pad_[23];
	uint64_t window_guard_; /* window[-1] */
/* An array without a length is an extension in C++, and clang warns about it in spite of __extension__. */
#if defined(__clang__) && defined(__cplusplus)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc99-extensions"
#endif
	__extension__ uint64_t window[];
#if defined(__clang__) && defined(__cplusplus)
#pragma clang diagnostic pop
#endif
};

/* Counter front: a read is one load. value is local completions; a counter with a remote part is never MAGIC_HOT. */
struct pgas_cntr_core;
struct pgas_cntr {
	union {
		uint8_t room_[PGAS_FRONT_OFF];
	} fid_;
	uint32_t hot_read;
	uint32_t reserved_;
	struct pgas_counter count;
	struct pgas_cntr_core *core;
};

/* Completion queue front: an empty read takes three compares. */
struct pgas_cq_core;
struct pgas_cq {
	union {
		uint8_t room_[PGAS_FRONT_OFF];
	} fid_;
	uint32_t hot_read; /* MAGIC_HOT: one reader at a time, no progress beyond *poll; MAGIC_SHARED: many readers */
	uint32_t reserved_;
	const uint64_t *poll; /* the word that changes when there is work */
	uint64_t poll_ready;  /* ... to this value */
	uint64_t queued;      /* entries and errors waiting */
	struct pgas_cq_core *core;
};

#endif /* PGAS_TYPES_H */
