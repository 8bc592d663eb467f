// SPDX-License-Identifier: BSD-3-Clause
//
// The layout of shared memory: one segment per domain (keys, doorbell, remote counters) and one per endpoint (attach
// table, message ring, eager buffers). Both are memfds that peers open through /proc/PID/fd, so no name can be left
// behind, and only processes of the same user get in. Fixed-width fields and offsets only, no pointers.
//
//   domain segment                                   endpoint segment
//   0        segment_header               owner      0        ep_shared (header)        owner
//   keys     key_entry[direct + hash]     owner      -------- peers map the rest writable ----------
//   parts    part_entry[]                 owner      attach   hint, attach_entry[]      each sender its own
//   -------- peers map the rest writable ----------  ring     annexes, pgas_ring, slots senders, owner
//   door     pgas_door                    sleepers:  eager    claims, returns, buffers  senders, owner
//                                         owner; seq: anyone
//   lock     amo_lock                     anyone
//   counters remote_counter[]             initiators
//
// Everything that a peer can write is untrusted: indices and lengths are checked after they were copied (slot_message),
// constants are copied once at connect (ep_shape), loops over shared memory are bounded. The files are sealed, so they
// cannot shrink under a mapping.
#pragma once

#include <cstdint>
#include <string>

#include "support/pgas_addr.hpp"
#include "engine/pgas_completion.hpp"
#include <pgas/pgas_segment.hpp>
#include <pgas/pgas_types.h>

namespace pgas {

// --- domain segment --------------------------------------------------------------------------------------------------

inline constexpr uint32_t kDirectKeys = 1024;    // keys below it index the table
inline constexpr uint32_t kHashedKeys = 1 << 17; // the others probe linearly
inline constexpr uint32_t kParts = 1 << 17;

// live: odd while registered; every registration and every close adds one, so a cached translation can be checked by
// one compare. Only the owner writes it; readers copy and re-check live (see shm_key.cpp).
struct key_entry {
	uint64_t live;
	uint64_t key;
	uint64_t base;
	uint64_t len;
	uint32_t access;
	uint32_t flags;
	uint32_t part_first;
	uint32_t part_count;
	uint16_t wr_cntr;
	uint16_t rd_cntr;
	uint32_t pad_;
	uint64_t pad2_;
};
static_assert(sizeof(key_entry) == 64);

struct part_entry {
	uint64_t off; // in the region
	uint64_t len;
	uint64_t va; // in the owner
	uint64_t file_off;
	uint64_t ino;
	uint64_t dev;
	int32_t fd; // in the owner; -1: other processes cannot map it
	uint32_t pad_;
	uint64_t pad2_;
};
static_assert(sizeof(part_entry) == 64);

struct amo_lock {
	uint64_t holder; // 0: free; otherwise pid << 32 | low bits of start time
	uint64_t pad_[7];
};

inline constexpr size_t kKeysOff = kPage;
inline constexpr size_t kPartsOff = kKeysOff + sizeof(key_entry) * (kDirectKeys + kHashedKeys);
inline constexpr size_t kDoorOff = round_up(kPartsOff + sizeof(part_entry) * kParts, 65536); // 64 KiB pages exist
inline constexpr size_t kLockOff = kDoorOff + sizeof(pgas_door);
inline constexpr size_t kCountersOff = kLockOff + sizeof(amo_lock);
inline constexpr size_t kDomainBytes = round_up(kCountersOff + sizeof(remote_counter) * kRemoteCounters, 65536);
static_assert(sizeof(pgas_door) == PGAS_CACHE_LINE && sizeof(amo_lock) == PGAS_CACHE_LINE);
static_assert(sizeof(segment_header) <= kPage);

// --- endpoint segment ------------------------------------------------------------------------------------------------

// state: 0 free, otherwise the sender's pid; left: ring position at which it detached (0: still attached).
struct attach_entry {
	uint32_t state;
	uint32_t pad_;
	uint64_t start_time;
	uint64_t left;
	uint64_t serial; // changes when another sender gets the entry
	char name[kNameBytes];
};
static_assert(sizeof(attach_entry) == kAttachBytes);

// claim: number of claims so far << 32 | attach index + 1 of the last claimer. The buffer is free if it was returned as
// often (eager_area::returns). Senders write claims, one per line, and the owner writes returns, many per line: so a
// sender's claim stays in its cache, and reading one line of returns covers 16 buffers.
struct eager_head {
	uint64_t claim;
	uint64_t pad_[7];
	static uint32_t count(uint64_t claim) { return static_cast<uint32_t>(claim >> 32); }
	static uint32_t sender(uint64_t claim) { return static_cast<uint32_t>(claim) - 1; } // attach index
};
static_assert(sizeof(eager_head) == kEagerHeadBytes);
inline constexpr uint32_t kReturnsPerLine = PGAS_CACHE_LINE / sizeof(uint32_t);

// The sizes of an endpoint segment, as its owner wrote them: copied once, checked, and then trusted.
struct ep_shape {
	uint32_t slots, eager_count, eager_bytes;
	static ep_shape of(const ep_shared *s)
	{
		return {pgas_load_relaxed(&s->slots), pgas_load_relaxed(&s->eager_count),
			pgas_load_relaxed(&s->eager_bytes)};
	}
	bool fits(size_t file_bytes) const // the bounds are those of pgas_params.def
	{
		return slots >= 16 && slots <= 1u << 20 && (slots & (slots - 1)) == 0 && eager_count >= 2 &&
		       eager_count <= 65535 && eager_bytes >= kPage && eager_bytes <= 1u << 24 &&
		       eager_bytes % kPage == 0 && ep_layout::of(slots, eager_count, eager_bytes).bytes == file_bytes;
	}
};

// The meaning of the state in position pos's slot. wrong: this provider never writes that there.
enum class slot_state : uint8_t { free, busy, ready, wrong };
inline uint64_t slot_word(uint64_t pos, uint64_t state)
{
	return pos << PGAS_SLOT_POS_SHIFT | state;
}
inline slot_state slot_state_of(uint64_t word, uint64_t pos)
{
	constexpr uint64_t kStateMask = (1u << PGAS_SLOT_OWNER_SHIFT) - 1;
	if (word == slot_word(pos, PGAS_SLOT_FREE))
		return slot_state::free;
	if (word == slot_word(pos, PGAS_SLOT_READY))
		return slot_state::ready;
	const bool here = (word ^ slot_word(pos, 0)) >> PGAS_SLOT_POS_SHIFT == 0;
	return here && (word & kStateMask) == PGAS_SLOT_BUSY ? slot_state::busy : slot_state::wrong;
}
inline uint32_t slot_owner(uint64_t word) // attach index of the sender that made it busy
{
	constexpr uint64_t kOwnerMask = (1u << (PGAS_SLOT_POS_SHIFT - PGAS_SLOT_OWNER_SHIFT)) - 1;
	return static_cast<uint32_t>(word >> PGAS_SLOT_OWNER_SHIFT & kOwnerMask);
}
inline int64_t slot_distance(uint64_t word, uint64_t pos) // of the slot's position to pos, modulo 2^40
{
	const uint64_t position = word >> PGAS_SLOT_POS_SHIFT << PGAS_SLOT_POS_SHIFT;
	return static_cast<int64_t>(position - slot_word(pos, 0)) >> PGAS_SLOT_POS_SHIFT;
}

// The location of an endpoint segment's eager buffers. A private copy.
struct eager_area {
	eager_head *heads = nullptr;
	uint32_t *returns = nullptr; // how often each was returned
	char *first = nullptr;
	uint32_t count = 0;
	uint32_t bytes = 0; // of each
	char *buffer(uint32_t i) const { return first + size_t{i} * bytes; }
};

static_assert(sizeof(pgas_slot) == PGAS_SLOT_BYTES && sizeof(pgas_ring) == PGAS_RING_SLOTS_OFF);
inline pgas_slot *slots_of(pgas_ring *ring)
{
	return reinterpret_cast<pgas_slot *>(ring + 1);
}

static_assert(offsetof(pgas_slot, payload) + PGAS_SLOT_INLINE == PGAS_SLOT_BYTES);
static_assert(offsetof(pgas_slot, plain) + PGAS_SLOT_PLAIN == PGAS_SLOT_BYTES);
// receivers of messages in place are promised one alignment for both (fi_ext_pgas.h)
static_assert(offsetof(pgas_slot, payload) % 16 == 8 && offsetof(pgas_slot, plain) % 16 == 8);
static_assert(PGAS_ANNEX_BYTES % PGAS_CACHE_LINE == 0);

// --- creating and opening --------------------------------------------------------------------------------------------

struct segment {
	unique_fd fd; // owner only
	mapping map;
	template <class T>
	T *at(size_t off) const
	{
		return reinterpret_cast<T *>(map.get() + off);
	}
};

pgas_ring *ring_of(const segment &seg, const ep_shape &shape);
eager_area eager_area_of(const segment &seg, const ep_shape &shape);
// For the owner. A ring that carries messages has few slots, whose annexes are used in turn: the first write to each
// would wait until its page is allocated. Up to one MiB is allocated at once.
void ring_make_ready(const segment &seg, const ep_shape &shape);

// Creates, sizes and maps a segment of this process and fills its header. 0 or -FI_E*.
int segment_create(const char *what, segment_kind kind, size_t bytes, segment &out);

// Opens fd number `fd` of process pid, checks owner, magic, version, kind, nonce and size, and maps it. The first
// read_only bytes are mapped without write permission. -FI_EHOSTUNREACH if the process or segment is not the expected
// one.
int segment_open(uint32_t pid, int fd, uint64_t nonce, segment_kind kind, size_t read_only, segment &out);

// Opens fd number `fd` of process pid and checks that it is the file (dev, ino) and has that many bytes; for mapping a
// peer's registered memory.
int peer_file_open(uint32_t pid, int fd, uint64_t dev, uint64_t ino, uint64_t need_bytes, unique_fd &out);

} // namespace pgas
