// SPDX-License-Identifier: BSD-3-Clause
//
// How the segments of the shared-memory wire begin, and where the message ring of an endpoint lies: what peers map, and
// what oshtop reads from outside. The rest of the layout is in shm_segment.hpp. C++, inline, not installed.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pgas/pgas_machine.hpp>
#include <pgas/pgas_types.h>

namespace pgas {

inline constexpr size_t kPage = 4096; // layout unit of our segments; the real page size is a multiple
inline constexpr uint64_t kSegmentMagic = 0x3153414750494f46; // "FOIPGAS1"
inline constexpr uint32_t kSegmentVersion = 6;
enum class segment_kind : uint32_t { domain = 1, endpoint = 2 };

struct segment_header {
	uint64_t magic;
	uint32_t version;
	uint32_t kind;
	uint64_t bytes;
	uint64_t nonce;      // random; addresses contain it, so a reused pid or fd number is detected
	uint64_t start_time; // of the process, in clock ticks since boot
	uint32_t pid;
	uint32_t uid;
};

// --- endpoint segment ------------------------------------------------------------------------------------------------

inline constexpr uint32_t kAttachMax = 1 << 16; // senders that one endpoint can know at a time
inline constexpr size_t kAttachBytes = 128;     // of what each of them has
inline constexpr size_t kEagerHeadBytes = PGAS_CACHE_LINE;

struct ep_shared {
	segment_header h;
	uint64_t dom_nonce;
	int32_t dom_fd;
	uint32_t closed; // 1: the owner closed this endpoint
	uint32_t eager_count;
	uint32_t eager_bytes;
	uint32_t slots;
	uint16_t rem_wr_cntr; // remote counters bound to the endpoint
	uint16_t rem_rd_cntr;
};
inline constexpr size_t kHeaderBytes = 65536; // whole pages on every machine: senders map them read-only
static_assert(sizeof(ep_shared) <= kHeaderBytes);

inline constexpr size_t kAttachHintOff = kHeaderBytes; // uint32_t: where a sender first tries to find a free entry
inline constexpr size_t kAttachOff = kAttachHintOff + kPage;
inline constexpr size_t kAnnexesOff = kAttachOff + kAttachBytes * kAttachMax;

struct ep_layout {
	size_t ring_off;
	size_t eager_heads_off;
	size_t eager_returns_off;
	size_t eager_off;
	size_t bytes;
	static ep_layout of(uint32_t slots, uint32_t eager_count, uint32_t eager_bytes)
	{
		ep_layout l;
		l.ring_off = round_up(kAnnexesOff + size_t{slots} * PGAS_ANNEX_BYTES, kPage);
		l.eager_heads_off = round_up(l.ring_off + PGAS_RING_SLOTS_OFF + size_t{slots} * PGAS_SLOT_BYTES, kPage);
		l.eager_returns_off = l.eager_heads_off + size_t{eager_count} * kEagerHeadBytes;
		l.eager_off = round_up(l.eager_returns_off + size_t{eager_count} * sizeof(uint32_t), kPage);
		l.bytes = round_up(l.eager_off + size_t{eager_count} * eager_bytes, 65536);
		return l;
	}
};

} // namespace pgas
