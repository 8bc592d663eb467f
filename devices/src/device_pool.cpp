// SPDX-License-Identifier: BSD-3-Clause
//
// Allocation and release of blocks of a pool. The walk over all invariants is in device_pool_check.cpp:
//   blocks tile the pool: next.start == start + count, and no two free neighbours
//   every used block is in the chain of bucket_of(start), once; every free block in list_of(count), once
// bits, words and groups say which lists are nonempty
//   records taken == used + free blocks
#include "devices/devices_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

namespace pgas::devices {

namespace {

constexpr size_t kGranule = 64;
constexpr size_t kFirstTable = size_t{64} << 10;

} // namespace

// --- tables ----------------------------------------------------------------------------------------------------------

bool pool::table::grow(size_t wanted) noexcept
{
	if (wanted <= bytes)
		return true;
	// double: the cost of moving pages is amortized over as many new blocks
	const size_t size = std::max({kFirstTable, bytes * 2, (wanted + kFirstTable - 1) & ~(kFirstTable - 1)});
	void *now = memory ? mremap(memory, bytes, size, MREMAP_MAYMOVE)
			   : mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (now == MAP_FAILED)
		return false;
	memory = now;
	bytes = size;
	return true;
}

void pool::table::end() noexcept
{
	if (memory)
		munmap(memory, bytes);
	memory = nullptr;
	bytes = 0;
}

int pool::init(size_t bytes) noexcept
{
	if (records_ || bytes < kGranule)
		return -EINVAL;
	shift_ = static_cast<unsigned>(std::countr_zero(kGranule));
	while (bytes >> shift_ > UINT32_MAX)
		shift_++;
	granules_ = static_cast<uint32_t>(bytes >> shift_);
	if (!list_table_.grow(sizeof(lists)) || !reserve_records(1)) {
		fini();
		return -ENOMEM;
	}
	lists_ = static_cast<lists *>(list_table_.memory);
	first_ = take_record();
	records_[first_] = {};
	records_[first_].count = granules_;
	insert_free(first_);
	return 0;
}

void pool::fini() noexcept
{
	record_table_.end();
	bucket_table_.end();
	list_table_.end();
	records_ = nullptr;
	buckets_ = nullptr;
	lists_ = nullptr;
	granules_ = used_ = used_blocks_ = capacity_ = spare_ = 0;
	fresh_ = 1;
	unused_ = first_ = 0;
	bucket_count_ = bucket_mask_ = 1;
}

bool pool::reserve_records(uint32_t wanted) noexcept
{
	if (spare_ >= wanted)
		return true;
	// a bucket for each record: both tables must have grown before either size changes
	const uint64_t have = std::max<uint64_t>(capacity_, 1); // record 0 means no record
	if (!record_table_.grow((have + wanted) * sizeof(record)))
		return false;
	records_ = static_cast<record *>(record_table_.memory);
	const uint64_t now = std::min<uint64_t>(record_table_.bytes / sizeof(record), kMostRecords);
	if (now < have + wanted || !bucket_table_.grow(now * sizeof(index)))
		return false;
	buckets_ = static_cast<index *>(bucket_table_.memory);
	spare_ += static_cast<uint32_t>(now - have);
	capacity_ = static_cast<uint32_t>(now);
	return true;
}

inline pool::index pool::take_record() noexcept
{
	spare_--;
	const index n = unused_;
	if (n == 0)
		return fresh_++;
	unused_ = records_[n].next;
	return n;
}

inline void pool::give_record(index n) noexcept
{
	records_[n].next = unused_;
	unused_ = n;
	spare_++;
}

// --- used blocks by start --------------------------------------------------------------------------------------------

void pool::split_bucket() noexcept
{
	if (bucket_count_ > bucket_mask_)
		bucket_mask_ = bucket_mask_ * 2 + 1;
	index &source = buckets_[bucket_count_ & (bucket_mask_ >> 1)];
	bucket_count_++;
	index n = source;
	source = 0;
	while (n != 0) {
		const index next = records_[n].link;
		index &head = buckets_[bucket_of(records_[n].start)];
		records_[n].link = head;
		head = n;
		n = next;
	}
}

inline void pool::insert_used(index n) noexcept
{
	record &r = records_[n];
	index &head = buckets_[bucket_of(r.start)];
	r.link = head;
	head = n;
	if (++used_blocks_ > bucket_count_)
		split_bucket();
}

pool::index pool::find_used(uint64_t offset) const noexcept
{
	const uint64_t start = offset >> shift_;
	if (start >= granules_ || start << shift_ != offset)
		return 0;
	index n = buckets_[bucket_of(static_cast<uint32_t>(start))];
	while (n != 0 && records_[n].start != start)
		n = records_[n].link;
	return n;
}

// --- free blocks by size ---------------------------------------------------------------------------------------------

inline void pool::insert_free(index n) noexcept
{
	record &r = records_[n];
	const unsigned list = list_of(r.count), word = list / 64;
	index &head = lists_->heads[list];
	r.back = 0;
	r.link = head;
	if (head != 0) {
		records_[head].back = n;
	} else {
		lists_->bits[word] |= uint64_t{1} << (list % 64);
		lists_->words[word / 64] |= uint64_t{1} << (word % 64);
		lists_->groups |= uint64_t{1} << (word / 64);
	}
	head = n;
}

inline void pool::remove_free(index n) noexcept
{
	const record &r = records_[n];
	if (r.link != 0)
		records_[r.link].back = r.back;
	if (r.back != 0) {
		records_[r.back].link = r.link;
		return;
	}
	const unsigned list = list_of(r.count), word = list / 64;
	lists_->heads[list] = r.link;
	if (r.link != 0)
		return;
	if ((lists_->bits[word] &= ~(uint64_t{1} << (list % 64))) != 0)
		return;
	if ((lists_->words[word / 64] &= ~(uint64_t{1} << (word % 64))) == 0)
		lists_->groups &= ~(uint64_t{1} << (word / 64));
}

// The first nonempty list at or above `list`; kLists if there is none.
inline unsigned pool::next_list(unsigned list) const noexcept
{
	if (list >= kLists)
		return kLists;
	unsigned word = list / 64;
	uint64_t bits = lists_->bits[word] >> (list % 64);
	if (bits != 0)
		return list + static_cast<unsigned>(std::countr_zero(bits));
	unsigned group = word / 64;
	bits = lists_->words[group] & ~uint64_t{1} << (word % 64);
	if (bits == 0) {
		bits = lists_->groups & ~uint64_t{1} << group;
		if (bits == 0)
			return kLists;
		group = static_cast<unsigned>(std::countr_zero(bits));
		bits = lists_->words[group];
	}
	word = group * 64 + static_cast<unsigned>(std::countr_zero(bits));
	return word * 64 + static_cast<unsigned>(std::countr_zero(lists_->bits[word]));
}

// number of granules to skip in block n until the offset is a multiple of align (in granules)
inline uint64_t pool::padding(index n, uint64_t align) const noexcept
{
	return (0 - uint64_t{records_[n].start}) & (align - 1);
}

// the first block of a list, among the first `most`, that holds an aligned run
pool::index pool::fit_in(unsigned list, uint64_t count, uint64_t align, unsigned most) const noexcept
{
	index n = lists_->heads[list];
	for (; n != 0 && most != 0; n = records_[n].link, most--)
		if (padding(n, align) + count <= records_[n].count)
			return n;
	return 0;
}

// From 1 MiB on the blocks of one list differ in size, so some in the request's own list may be too small. A few are
// tried, because programs request the same sizes again; all are tried only when there is no larger list.
inline pool::index pool::find_fit(uint64_t count) const noexcept
{
	unsigned list = list_of(static_cast<uint32_t>(count));
	if (list < kExact) {
		list = next_list(list);
		return list < kLists ? lists_->heads[list] : 0;
	}
	if (const index n = fit_in(list, count, 1, kTries))
		return n;
	const unsigned larger = next_list(list + 1);
	return larger < kLists ? lists_->heads[larger] : fit_in(list, count, 1, UINT32_MAX);
}

// The best fit may hold an aligned run; a block that is longer by align - 1 always does. Only a pool that has neither
// has to search every block that is large enough.
pool::index pool::find_aligned(uint64_t count, uint64_t align) const noexcept
{
	const index best = find_fit(count);
	if (best == 0 || padding(best, align) + count <= records_[best].count)
		return best;
	if (const uint64_t enough = count + align - 1; enough <= granules_)
		if (const index n = find_fit(enough))
			return n;
	for (unsigned list = next_list(list_of(static_cast<uint32_t>(count))); list < kLists;
	     list = next_list(list + 1))
		if (const index n = fit_in(list, count, align, UINT32_MAX))
			return n;
	return 0;
}

// --- blocks ----------------------------------------------------------------------------------------------------------

// Makes a record for the first `count` granules of n; n keeps the rest and, if it is free, its place in a list.
inline pool::index pool::split_front(index n, uint32_t count) noexcept
{
	const index front = take_record();
	record &r = records_[n], &f = records_[front];
	f.start = r.start;
	f.count = count;
	f.prev = r.prev;
	f.next = n;
	f.used = 0;
	(r.prev != 0 ? records_[r.prev].next : first_) = front;
	r.prev = front;
	r.start += count;
	r.count -= count;
	return front;
}

// Removes the record of n; its granules go to its successor, which may be in a list.
inline void pool::join_next(index n) noexcept
{
	const record &r = records_[n];
	record &next = records_[r.next];
	next.start = r.start;
	next.count += r.count;
	next.prev = r.prev;
	(r.prev != 0 ? records_[r.prev].next : first_) = r.next;
	give_record(n);
}

uint64_t pool::alloc(size_t bytes, size_t align) noexcept
{
	const size_t granule = size_t{1} << shift_;
	const size_t wanted = (bytes >> shift_) + ((bytes & (granule - 1)) != 0);
	if (wanted - 1 >= granules_ || (align & (align - 1)) != 0 || !reserve_records(2)) // 0 wraps
		return kNone;
	index n = align <= granule ? find_fit(wanted) : find_aligned(wanted, align >> shift_);
	if (n == 0)
		return kNone;
	const auto count = static_cast<uint32_t>(wanted);
	const auto pad = align <= granule ? 0 : static_cast<uint32_t>(padding(n, align >> shift_));
	const uint32_t had = records_[n].count, left = had - pad - count;
	// the unused end of a pool shrinks all the time and mostly stays in its list
	const bool stays = pad == 0 && left != 0 && list_of(left) == list_of(had);
	if (!stays) {
		remove_free(n);
		if (pad != 0)
			insert_free(split_front(n, pad));
	}
	if (left != 0) {
		const index block = split_front(n, count);
		if (!stays)
			insert_free(n);
		n = block;
	}
	record &r = records_[n];
	r.used = 1;
	r.back = static_cast<uint32_t>((wanted << shift_) - bytes);
	used_ += count;
	insert_used(n);
	return uint64_t{r.start} << shift_;
}

bool pool::release(uint64_t offset) noexcept
{
	const uint64_t start = offset >> shift_;
	if (start >= granules_ || start << shift_ != offset)
		return false;
	index *link = &buckets_[bucket_of(static_cast<uint32_t>(start))];
	while (*link != 0 && records_[*link].start != start)
		link = &records_[*link].link;
	index n = *link;
	if (n == 0)
		return false;
	record &r = records_[n];
	*link = r.link;
	used_blocks_--;
	used_ -= r.count;
	r.used = 0;

	if (r.prev != 0 && !records_[r.prev].used) {
		remove_free(r.prev);
		join_next(r.prev);
	}
	if (const index next = r.next; next != 0 && !records_[next].used) {
		const uint32_t had = records_[next].count;
		if (list_of(had + r.count) == list_of(had)) { // e.g. the unused end of the pool
			join_next(n);
			return true;
		}
		remove_free(next);
		join_next(n);
		n = next;
	}
	insert_free(n);
	return true;
}

size_t pool::block_bytes(uint64_t offset) const noexcept
{
	const index n = find_used(offset);
	return n == 0 ? 0 : asked(n);
}

bool pool::covers(uint64_t offset, size_t bytes) const noexcept
{
	const uint64_t pos = offset >> shift_;
	if (pos >= granules_)
		return false;
	index n = find_used(offset);
	if (n == 0)
		for (n = first_; records_[n].start + uint64_t{records_[n].count} <= pos;)
			n = records_[n].next;
	const record &r = records_[n];
	const uint64_t inside = offset - (uint64_t{r.start} << shift_);
	return r.used && inside < asked(n) && bytes <= asked(n) - inside;
}

uint32_t pool::largest() const noexcept
{
	if (!lists_ || lists_->groups == 0)
		return 0;
	const auto top = [](uint64_t bits) { return 63u - static_cast<unsigned>(std::countl_zero(bits)); };
	const unsigned group = top(lists_->groups);
	const unsigned word = group * 64 + top(lists_->words[group]);
	uint32_t most = 0;
	for (index n = lists_->heads[word * 64 + top(lists_->bits[word])]; n != 0; n = records_[n].link)
		most = std::max(most, records_[n].count);
	return most;
}

pool_stats pool::stats() const noexcept
{
	return {size_t{granules_} << shift_,
		size_t{used_} << shift_,
		used_blocks_,
		size_t{granules_ - used_} << shift_,
		size_t{largest()} << shift_,
		record_table_.bytes + bucket_table_.bytes + list_table_.bytes};
}

} // namespace pgas::devices
