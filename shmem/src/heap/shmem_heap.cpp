// SPDX-License-Identifier: BSD-3-Clause
//
// shmem_heap.cpp: allocation, release and resizing in the symmetric heap; the records and the hash of used blocks.
// Free blocks by size are in shmem_heap_bins.cpp, the walk over all invariants is in shmem_heap_check.cpp.
//
// Invariants (checked there):
//   blocks tile the range: next.start == start + count, no two free neighbours
//   every used block is in the hash chain of its start, once; bucket_count_ <= bucket_mask_ + 1 <= 2 * bucket_count_
//   every free block is in bin_of(count), once: in the trie, or in the ring of a block of the same count there
//   records taken == used_blocks_ + free_blocks_
#include "shmem_heap.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

namespace shmem {

namespace {

// Address space without memory; PROT_NONE keeps it out of the kernel's commit limit until it is needed.
void *reserve_pages(size_t bytes) noexcept
{
	void *addr = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return addr == MAP_FAILED ? nullptr : addr;
}

size_t round_to_pages(size_t bytes) noexcept
{
	const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
	return (bytes + page - 1) & ~(page - 1);
}

} // namespace

// --- set up ----------------------------------------------------------------------------------------------------------

int heap::init(const heap_config &config) noexcept
{
	const auto base = reinterpret_cast<uintptr_t>(config.base);
	if (records_ || config.granule < 16 || !std::has_single_bit(config.granule) || base % config.granule != 0 ||
	    base + config.bytes < base)
		return -EINVAL;
	base_ = base;
	shift_ = static_cast<unsigned>(std::countr_zero(config.granule));
	granules_ = config.bytes >> shift_;
	zeroed_ = config.zeroed;
	max_align_ = config.max_align;

	// the worst case is a block per granule; two more for a split in progress, one for index 0
	const uint64_t most = std::min<uint64_t>(granules_ + 3, kMaxRecords);
	records_bytes_ = round_to_pages(most * sizeof(record));
	buckets_bytes_ = round_to_pages(most * sizeof(index));
	records_ = static_cast<record *>(reserve_pages(records_bytes_));
	buckets_ = static_cast<index *>(reserve_pages(buckets_bytes_));
	if (!records_ || !buckets_ || !reserve_records(1)) {
		fini();
		return -ENOMEM;
	}
	if (granules_ == 0)
		return 0;
	first_ = take_record();
	records_[first_] = record{};
	records_[first_].count = granules_;
	insert_free(first_);
	return 0;
}

void heap::fini() noexcept
{
	if (records_)
		munmap(records_, records_bytes_);
	if (buckets_)
		munmap(buckets_, buckets_bytes_);
	records_ = nullptr;
	buckets_ = nullptr;
	bucket_count_ = bucket_mask_ = 1;
	granules_ = high_water_ = used_ = used_blocks_ = free_blocks_ = committed_ = spare_ = words_ = 0;
	fresh_ = 1;
	unused_ = first_ = 0;
	bin_bits_.fill(0);
	roots_.fill(0);
}

// --- records ---------------------------------------------------------------------------------------------------------

bool heap::reserve_records(unsigned wanted) noexcept
{
	if (spare_ >= wanted)
		return true;
	// double what is readable, starting at 64 KiB; steps of at most 64 MiB
	const size_t have = round_to_pages(committed_ * sizeof(record));
	const size_t step = std::clamp<size_t>(have, size_t{64} << 10, size_t{64} << 20);
	const size_t bytes = std::min(records_bytes_, have + step);
	const uint64_t now = std::min<uint64_t>(bytes / sizeof(record), kMaxRecords);
	const size_t bucket_bytes = std::min(buckets_bytes_, round_to_pages(now * sizeof(index)));
	if (bytes == have || mprotect(records_, bytes, PROT_READ | PROT_WRITE) != 0 ||
	    mprotect(buckets_, bucket_bytes, PROT_READ | PROT_WRITE) != 0)
		return false;
	spare_ += now - std::max<uint64_t>(committed_, 1); // index 0 is never taken
	committed_ = now;
	return spare_ >= wanted;
}

heap::index heap::take_record() noexcept
{
	spare_--;
	if (unused_ == 0)
		return fresh_++;
	const index n = unused_;
	unused_ = records_[n].next;
	return n;
}

void heap::give_record(index n) noexcept
{
	records_[n].next = unused_;
	unused_ = n;
	spare_++;
}

// --- used blocks by start --------------------------------------------------------------------------------------------

// Linear hashing: buckets 0 .. bucket_count_ - 1 exist; a hash beyond them belongs to the bucket it will be split from.
uint64_t heap::bucket_of(uint64_t start) const noexcept
{
	const uint64_t hash = (start * 0x9e3779b97f4a7c15u) >> 32;
	const uint64_t bucket = hash & bucket_mask_;
	return bucket < bucket_count_ ? bucket : hash & (bucket_mask_ >> 1);
}

// adds one bucket: the one without the top bit gives up the records whose hash has that bit
void heap::split_bucket() noexcept
{
	if (bucket_count_ > bucket_mask_)
		bucket_mask_ = bucket_mask_ * 2 + 1;
	const uint64_t begin = bucket_count_ & (bucket_mask_ >> 1);
	index n = buckets_[begin];
	bucket_count_++;
	buckets_[begin] = 0;
	while (n != 0) {
		const index next = records_[n].child[0];
		index &head = buckets_[bucket_of(records_[n].start)];
		records_[n].child[0] = head;
		head = n;
		n = next;
	}
}

void heap::insert_used(index n) noexcept
{
	index &head = buckets_[bucket_of(records_[n].start)];
	records_[n].child[0] = head;
	head = n;
	if (++used_blocks_ > bucket_count_)
		split_bucket();
}

void heap::remove_used(index n) noexcept
{
	index *link = &buckets_[bucket_of(records_[n].start)];
	while (*link != n)
		link = &records_[*link].child[0];
	*link = records_[n].child[0];
	used_blocks_--;
}

// --- fits ------------------------------------------------------------------------------------------------------------

// granules to skip in block n so that the address is a multiple of align (in granules)
uint64_t heap::padding(index n, uint64_t align) const noexcept
{
	return (0 - ((base_ >> shift_) + records_[n].start)) & (align - 1);
}

// The best fit may hold an aligned run; a block that is longer by align - 1 always does. The largest block is tried
// before giving up, so that a heap with one free block can be used completely.
heap::index heap::find_aligned(uint64_t count, uint64_t align) const noexcept
{
	index n = find_fit(count);
	if (n == 0 || padding(n, align) + count <= records_[n].count)
		return n;
	n = find_fit(count + align - 1);
	if (n != 0)
		return n;
	n = largest();
	return padding(n, align) + count <= records_[n].count ? n : 0;
}

// --- blocks ----------------------------------------------------------------------------------------------------------

heap::index heap::find_used(const void *ptr) const noexcept
{
	const uintptr_t off = reinterpret_cast<uintptr_t>(ptr) - base_;
	if (off >= granules_ << shift_ || (off & ((uintptr_t{1} << shift_) - 1)) != 0)
		return 0;
	const uint64_t start = off >> shift_;
	index n = buckets_[bucket_of(start)];
	while (n != 0 && records_[n].start != start)
		n = records_[n].child[0];
	return n;
}

void *heap::address(index n) const noexcept
{
	return reinterpret_cast<void *>(base_ + (records_[n].start << shift_));
}

// 0: nothing requested, or more than there is
uint64_t heap::to_granules(size_t bytes) const noexcept
{
	if (bytes > granules_ << shift_)
		return 0;
	return (bytes + (size_t{1} << shift_) - 1) >> shift_;
}

// a new record for the first `count` granules of n, which keeps the rest; puts neither into a bin
heap::index heap::split_front(index n, uint64_t count) noexcept
{
	const index front = take_record();
	record &r = records_[n], &f = records_[front];
	f.start = r.start;
	f.count = count;
	f.prev = r.prev;
	f.next = n;
	f.used = 0;
	f.tag = 0;
	r.start += count;
	r.count -= count;
	if (r.prev != 0)
		records_[r.prev].next = front;
	else
		first_ = front;
	r.prev = front;
	return front;
}

// takes `count` granules out of free block n, after `pad` granules that stay free
heap::index heap::carve(index n, uint64_t pad, uint64_t count) noexcept
{
	const uint64_t left = records_[n].count - count;
	if (pad == 0 && left != 0 && alone_in_bin(n, left)) // e.g. the unused end of the heap: stays where it is
		return split_front(n, count);
	remove_free(n);
	if (pad != 0)
		insert_free(split_front(n, pad));
	if (left == pad)
		return n;
	const index block = split_front(n, count);
	insert_free(n);
	return block;
}

void *heap::alloc(size_t bytes, size_t align, uint32_t tag) noexcept
{
	const uint64_t count = to_granules(bytes);
	if (count == 0 || !reserve_records(2))
		return nullptr;
	index n;
	uint64_t pad = 0;
	if (align <= size_t{1} << shift_) {
		if (align != 0 && !std::has_single_bit(align))
			return nullptr;
		n = find_fit(count);
		if (n == 0)
			return nullptr;
	} else {
		if (!std::has_single_bit(align) || align > max_align_)
			return nullptr;
		n = find_aligned(count, align >> shift_);
		if (n == 0)
			return nullptr;
		pad = padding(n, align >> shift_);
	}
	n = carve(n, pad, count);
	record &r = records_[n];
	r.used = 1;
	r.tag = tag & 0x7fffffffu;
	insert_used(n);
	used_ += count;
	high_water_ = std::max(high_water_, r.start + count);
	return address(n);
}

void *heap::alloc_zeroed(size_t count, size_t bytes) noexcept
{
	size_t total = 0;
	if (__builtin_mul_overflow(count, bytes, &total))
		return nullptr;
	const uint64_t seen = high_water_;
	void *ptr = alloc(total);
	if (!ptr)
		return nullptr;
	// nothing above the old high water was ever handed out: leave it unbacked
	const uint64_t start = records_[find_used(ptr)].start;
	const size_t dirty = !zeroed_ ? total : start < seen ? std::min<size_t>(total, (seen - start) << shift_) : 0;
	std::memset(ptr, 0, dirty);
	return ptr;
}

// n absorbs its free successor, which is no longer in a bin
void heap::absorb_next(index n) noexcept
{
	record &r = records_[n];
	const index gone = r.next;
	r.count += records_[gone].count;
	r.next = records_[gone].next;
	if (r.next != 0)
		records_[r.next].prev = n;
	give_record(gone);
}

bool heap::release(void *ptr) noexcept
{
	index n = find_used(ptr);
	if (n == 0)
		return false;
	record *r = &records_[n];
	remove_used(n);
	r->used = 0;
	used_ -= r->count;
	if (r->prev != 0 && !records_[r->prev].used) {
		n = r->prev;
		remove_free(n);
		absorb_next(n);
		r = &records_[n];
	}
	if (r->next != 0 && !records_[r->next].used) {
		const index next = r->next;
		record &after = records_[next];
		if (alone_in_bin(next, after.count + r->count)) { // grow it downwards and leave it in the bin
			after.start = r->start;
			after.count += r->count;
			after.prev = r->prev;
			if (after.prev != 0)
				records_[after.prev].next = next;
			else
				first_ = next;
			give_record(n);
			return true;
		}
		remove_free(next);
		absorb_next(n);
	}
	insert_free(n);
	return true;
}

// used block n keeps its first `count` granules
void heap::cut_tail(index n, uint64_t count) noexcept
{
	remove_used(n);
	const index kept = split_front(n, count); // n is now the tail
	record &k = records_[kept];
	record &tail = records_[n];
	k.used = 1;
	k.tag = tail.tag;
	insert_used(kept);
	tail.used = 0;
	used_ -= tail.count;
	if (tail.next != 0 && !records_[tail.next].used) {
		remove_free(tail.next);
		absorb_next(n);
	}
	insert_free(n);
}

void *heap::resize(void *ptr, size_t bytes) noexcept
{
	const index n = find_used(ptr);
	const uint64_t count = to_granules(bytes);
	if (n == 0 || count == 0 || !reserve_records(2))
		return nullptr;
	record &r = records_[n];
	const uint64_t had = r.count;
	if (count > had && r.next != 0 && !records_[r.next].used && had + records_[r.next].count >= count) {
		remove_free(r.next);
		absorb_next(n);
		used_ += r.count - had;
		high_water_ = std::max(high_water_, r.start + count);
	}
	if (count < r.count) {
		cut_tail(n, count);
		return ptr;
	}
	if (count == r.count)
		return ptr;
	void *moved = alloc(bytes, 0, r.tag);
	if (!moved)
		return nullptr;
	std::memcpy(moved, ptr, had << shift_);
	release(ptr);
	return moved;
}

size_t heap::block_bytes(const void *ptr) const noexcept
{
	const index n = find_used(ptr);
	return n == 0 ? 0 : records_[n].count << shift_;
}

uint32_t heap::block_tag(const void *ptr) const noexcept
{
	const index n = find_used(ptr);
	return n == 0 ? 0 : records_[n].tag;
}

heap_stats heap::stats() const noexcept
{
	const index n = largest();
	return {granules_ << shift_,
		used_ << shift_,
		used_blocks_,
		free_blocks_,
		n == 0 ? 0 : records_[n].count << shift_,
		high_water_ << shift_,
		committed_ * sizeof(record)};
}

} // namespace shmem
