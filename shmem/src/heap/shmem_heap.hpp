// SPDX-License-Identifier: BSD-3-Clause
//
// shmem_heap.hpp: the allocator of the symmetric heap.
//
// Owns the division of an address range into blocks; it never reads or writes the range itself, except where calloc
// clears and resize copies. All records are in separate memory, so a stray put cannot break the allocator and untouched
// heap stays unbacked. The same sequence of calls gives the same offsets on every PE, whatever the base, as long as the
// bases are equal modulo the requested alignments.
//
// Blocks are runs of granules (64 bytes by default). There is one record per block; linked in address order, they serve
// as boundary tags. Free records are also in a bin by size, and a bin is a binary trie over the size bits that its
// blocks do not share. Used records are in a hash table by start that grows one bucket at a time (linear hashing), so
// no call pays for a rehash. Cost of a call: best fit in at most log2(largest size) steps, whatever the number of
// blocks. Records take 52 bytes per block and nothing per byte of heap.
//
// Not thread safe: allocation is collective, and the caller orders the calls.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace shmem {

struct heap_config {
	void *base = nullptr;               // multiple of granule
	size_t bytes = 0;                   // rounded down to granules
	size_t granule = 64;                // smallest block and alignment: a power of two, 16 or more
	size_t max_align = size_t{1} << 40; // larger alignments are refused; see `alloc`
	bool zeroed = true;                 // the range reads as zeros until first used
};

struct heap_stats {
	size_t total_bytes, used_bytes, used_blocks, free_blocks, largest_free_bytes, high_water_bytes, record_bytes;
};

class heap {
public:
	heap() noexcept = default;
	~heap() noexcept { fini(); }
	heap(const heap &) = delete;
	heap &operator=(const heap &) = delete;

	int init(const heap_config &config) noexcept; // 0 or -errno
	void fini() noexcept;

	// All return nullptr, and change nothing, when bytes is 0, when the alignment is not a power of two or exceeds
	// max_align, or when no free block is large enough. `align` applies to the address: bases of different PEs must
	// agree modulo max_align, or offsets would differ; set max_align to what the bases have in common. `tag` is the
	// caller's; it stays with the block, also through resize.
	void *alloc(size_t bytes, size_t align = 0, uint32_t tag = 0) noexcept;
	void *alloc_zeroed(size_t count, size_t bytes) noexcept;
	// Grows and shrinks in place if possible, otherwise moves (and copies). nullptr: no room, block unchanged. ptr
	// must be a block, and bytes must not be 0.
	void *resize(void *ptr, size_t bytes) noexcept;
	// false: ptr is not the start of a block (never allocated, inside a block, already freed); nothing changed.
	bool release(void *ptr) noexcept;

	bool is_block(const void *ptr) const noexcept { return find_used(ptr) != 0; }
	size_t block_bytes(const void *ptr) const noexcept; // usable bytes; 0 when not the start of a block
	uint32_t block_tag(const void *ptr) const noexcept;
	bool contains(const void *ptr) const noexcept
	{
		return reinterpret_cast<uintptr_t>(ptr) - base_ < granules_ << shift_;
	}
	// Do these bytes lie within one used block? Walks the blocks: for SHMEM_DEBUG.
	bool covers(const void *ptr, size_t bytes) const noexcept;
	// The used block that contains this address, and its usable bytes; null when there is none. Also walks the
	// blocks.
	const void *block_around(const void *ptr, size_t &bytes) const noexcept;
	heap_stats stats() const noexcept;

	// Walks all records; nullptr when every invariant holds, else the one that does not. For tests and SHMEM_DEBUG.
	const char *check() const noexcept;

private:
	using index = uint32_t; // of a record; 0 is none

	struct record {
		uint64_t start;             // first granule
		uint64_t count;             // granules
		index prev, next;           // neighbours in address order; `next` also chains unused records
		index ring_prev, ring_next; // free blocks of the same count
		index child[2], parent;     // trie of the bin; parent is 0 for ring members that are not in the trie
					    // in a used block child[0] is the next record of the same hash bucket
		uint32_t tag : 31, used : 1;
	};
	static_assert(sizeof(record) == 48);

	static constexpr unsigned kSubBits = 4; // bins per power of two: 16
	static constexpr unsigned kBins = (64 - kSubBits + 1) << kSubBits;
	static constexpr index kRoot = 0x80000000u; // parent of the root of bin b: kRoot | b
	static constexpr index kMaxRecords = kRoot - 1;

	static unsigned bin_of(uint64_t count) noexcept;
	static uint64_t key_of(uint64_t count) noexcept;

	index find_used(const void *ptr) const noexcept;
	void *address(index n) const noexcept;
	uint64_t to_granules(size_t bytes) const noexcept;
	uint64_t padding(index n, uint64_t align) const noexcept;

	bool reserve_records(unsigned wanted) noexcept;
	index take_record() noexcept;
	void give_record(index n) noexcept;

	uint64_t bucket_of(uint64_t start) const noexcept;
	void insert_used(index n) noexcept;
	void remove_used(index n) noexcept;
	void split_bucket() noexcept;

	void insert_free(index n) noexcept;
	void remove_free(index n) noexcept;
	void replace_in_trie(index n, index replacement) noexcept;
	bool alone_in_bin(index n, uint64_t new_count) const noexcept;
	index find_fit(uint64_t count) const noexcept;
	index find_aligned(uint64_t count, uint64_t align) const noexcept;
	index smallest_in(index n, index best) const noexcept;
	index largest() const noexcept;
	unsigned next_bin(unsigned bin) const noexcept;

	index split_front(index n, uint64_t count) noexcept;
	index carve(index n, uint64_t pad, uint64_t count) noexcept;
	void cut_tail(index n, uint64_t count) noexcept;
	void absorb_next(index n) noexcept;

	struct tally {
		uint64_t free_blocks = 0, used_blocks = 0, used = 0;
	};
	const char *check_address_order(tally &sum) const noexcept;
	const char *check_bins(uint64_t free_blocks) const noexcept;
	const char *check_buckets() const noexcept;
	const char *check_trie(index n, unsigned bin, uint64_t prefix, unsigned depth, uint64_t &seen) const noexcept;

	uintptr_t base_ = 0;
	uint64_t granules_ = 0;
	unsigned shift_ = 0; // log2(granule)
	bool zeroed_ = false;
	size_t max_align_ = 0;
	uint64_t high_water_ = 0; // granules below it were handed out at some time
	uint64_t used_ = 0;       // granules in used blocks
	uint64_t used_blocks_ = 0, free_blocks_ = 0;

	record *records_ = nullptr; // reserved for the worst case, readable up to committed_
	index *buckets_ = nullptr;  // hash chains of used records; at most one bucket per record, readable as far
	size_t records_bytes_ = 0, buckets_bytes_ = 0;
	uint64_t bucket_count_ = 1; // buckets in use
	uint64_t bucket_mask_ = 1;  // smallest 2^n - 1 that covers all of them
	uint64_t committed_ = 0;    // records that may be touched
	index fresh_ = 1;           // records from here on were never used
	index unused_ = 0;          // chain of records given back
	index first_ = 0;           // lowest block
	uint64_t spare_ = 0;        // records that can be taken without committing more

	uint64_t words_ = 0;                                 // bit w: bin_bits_[w] != 0
	std::array<uint64_t, (kBins + 63) / 64> bin_bits_{}; // bit b: bin b has blocks
	std::array<index, kBins> roots_{};
	static_assert((kBins + 63) / 64 <= 64);
};

inline unsigned heap::bin_of(uint64_t count) noexcept
{
	if (count < (1u << kSubBits))
		return static_cast<unsigned>(count);
	const unsigned log = 63u - static_cast<unsigned>(std::countl_zero(count));
	const unsigned sub = static_cast<unsigned>(count >> (log - kSubBits)) & ((1u << kSubBits) - 1);
	return ((log - kSubBits + 1) << kSubBits) + sub;
}

// the size bits below those that the bin fixes, moved to the top: the path in the trie, first step in bit 63
inline uint64_t heap::key_of(uint64_t count) noexcept
{
	const unsigned log = 63u - static_cast<unsigned>(std::countl_zero(count));
	return log <= kSubBits ? 0 : count << (64 - (log - kSubBits));
}

// n is the only block of its bin, and would be with new_count: its count may change without an update of the bin
inline bool heap::alone_in_bin(index n, uint64_t new_count) const noexcept
{
	const record &r = records_[n];
	return (r.parent & kRoot) != 0 && r.ring_next == n && (r.child[0] | r.child[1]) == 0 && new_count != 0 &&
	       bin_of(new_count) == (r.parent & ~kRoot);
}

} // namespace shmem
