// SPDX-License-Identifier: BSD-3-Clause
//
// Divides a region of memory into blocks, by offsets: the memory itself is never touched, so it may be a device's. All
// records are elsewhere, where a stray put cannot corrupt them. The same sequence of calls gives the same offsets on
// every PE, because nothing else, such as an address or a clock, is taken into account.
//
// Blocks are runs of granules of 64 bytes: the size of a CPU cache line and the smallest transfer that accelerators
// coalesce, so that two blocks never share one. (A pool of 256 GiB or more has granules of 128 bytes, then 256 ...,
// because positions are 32 bits.) A run has any number of granules, so a request wastes less than a granule whatever
// its size, and a pool need not be a power of two: that is why this is not a buddy allocator. There is a record for
// each block, linked in address order; free neighbours are merged at once, without a loop. Free blocks below 1 MiB are
// in a list for their exact size, larger ones in 64 lists for each power of two, and three levels of bitmaps find the
// first list at or above a size: best fit below 1 MiB, without a search, however many blocks there are. Used records
// are in a hash table by start that grows one bucket at a time.
//
// Memory: 32 bytes for a record and 4 for its bucket, for the peak number of blocks, and 70 KiB.
//
// Not thread safe: callers lock.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace pgas::devices {

struct pool_stats {
	size_t total_bytes; // used_bytes + free_bytes
	size_t used_bytes;  // including what was rounded up
	size_t used_blocks;
	size_t free_bytes;
	size_t largest_free_bytes;
	size_t record_bytes; // memory that the records take
};

class pool {
public:
	static constexpr uint64_t kNone = ~uint64_t{0};

	pool() noexcept = default;
	~pool() noexcept { fini(); }
	pool(const pool &) = delete;
	pool &operator=(const pool &) = delete;

	// Offsets [0, bytes), rounded down to whole granules. -EINVAL: less than a granule, or already initialised.
	int init(size_t bytes) noexcept;
	void fini() noexcept;

	// Returns kNone and changes nothing if bytes is 0, align is neither 0 nor a power of two, no free run is large
	// enough, or there is no memory for records. `align` applies to the offset.
	uint64_t alloc(size_t bytes, size_t align = 0) noexcept;
	// Returns false if offset is not the start of a used block (never allocated, inside a block, already freed).
	bool release(uint64_t offset) noexcept;

	size_t block_bytes(uint64_t offset) const noexcept; // the requested size; 0: not the start of a used block
	// Are these bytes within the requested size of one block? Walks the blocks, unless offset is the start of one.
	bool covers(uint64_t offset, size_t bytes) const noexcept;
	pool_stats stats() const noexcept;

	// Walks all records; returns null if every invariant holds, else the one that does not.
	const char *check() const noexcept;

private:
	using index = uint32_t; // of a record; 0 means no record

	struct record {
		uint32_t start, count; // granules
		index prev, next;      // neighbours in address order; `next` also chains unused records
		index link;            // used: next of its bucket; free: next of its list
		uint32_t back;         // used: bytes of the last granule beyond the request; free: previous of its list
		uint32_t used;
		uint32_t none;
	};
	static_assert(sizeof(record) == 32); // two in a line

	// Memory that grows and keeps its contents, possibly at another address; new bytes are zero.
	struct table {
		void *memory = nullptr;
		size_t bytes = 0;
		bool grow(size_t wanted) noexcept;
		void end() noexcept;
	};

	static constexpr unsigned kExactBits = 14, kSubBits = 6;
	static constexpr uint32_t kExact = 1u << kExactBits; // counts below it have a list of their own
	static constexpr unsigned kLists = kExact + ((32 - kExactBits) << kSubBits);
	static constexpr unsigned kWords = (kLists + 63) / 64, kGroups = (kWords + 63) / 64;
	static constexpr unsigned kTries = 8; // blocks tried first in the list of a large request's own size
	static constexpr uint32_t kMostRecords = 0xfffffffe;

	// Lists by size. A bit of a level is set when the word below it is not 0.
	struct lists {
		uint64_t groups;
		uint64_t words[kGroups];
		uint64_t bits[kWords];
		index heads[kLists];
	};
	static_assert(kGroups <= 64);

	static unsigned list_of(uint32_t count) noexcept;
	unsigned next_list(unsigned list) const noexcept;
	index fit_in(unsigned list, uint64_t count, uint64_t align, unsigned most) const noexcept;
	index find_fit(uint64_t count) const noexcept;
	index find_aligned(uint64_t count, uint64_t align) const noexcept;
	uint64_t padding(index n, uint64_t align) const noexcept;
	void insert_free(index n) noexcept;
	void remove_free(index n) noexcept;

	bool reserve_records(uint32_t wanted) noexcept;
	index take_record() noexcept;
	void give_record(index n) noexcept;
	uint64_t bucket_of(uint32_t start) const noexcept;
	void split_bucket() noexcept;
	void insert_used(index n) noexcept;
	index find_used(uint64_t offset) const noexcept;
	index split_front(index n, uint32_t count) noexcept;
	void join_next(index n) noexcept;
	size_t asked(index n) const noexcept { return (size_t{records_[n].count} << shift_) - records_[n].back; }
	uint32_t largest() const noexcept;

	const char *check_order(uint64_t &free_blocks) const noexcept;
	const char *check_lists(uint64_t free_blocks) const noexcept;
	const char *check_buckets() const noexcept;

	record *records_ = nullptr;
	index *buckets_ = nullptr;
	lists *lists_ = nullptr;
	uint32_t granules_ = 0, used_ = 0, used_blocks_ = 0;
	unsigned shift_ = 0;
	index first_ = 0;                   // lowest block
	index fresh_ = 1;                   // records from here on were never used
	index unused_ = 0;                  // chain of returned records
	uint32_t capacity_ = 0, spare_ = 0; // number of records that the tables hold, and how many of them are free
	uint64_t bucket_count_ = 1, bucket_mask_ = 1;
	table record_table_, bucket_table_, list_table_;
};

inline unsigned pool::list_of(uint32_t count) noexcept
{
	if (count < kExact)
		return count;
	const unsigned log = 31u - static_cast<unsigned>(std::countl_zero(count));
	return kExact + ((log - kExactBits) << kSubBits) + ((count >> (log - kSubBits)) & ((1u << kSubBits) - 1));
}

// Linear hashing: buckets 0 .. bucket_count_ - 1 exist; a hash beyond them belongs to the bucket it will be split from.
inline uint64_t pool::bucket_of(uint32_t start) const noexcept
{
	const uint64_t hash = (start * uint64_t{0x9e3779b97f4a7c15}) >> 32;
	const uint64_t bucket = hash & bucket_mask_;
	return bucket < bucket_count_ ? bucket : hash & (bucket_mask_ >> 1);
}

} // namespace pgas::devices
