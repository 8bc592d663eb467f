// SPDX-License-Identifier: BSD-3-Clause
//
// shmem_heap_check.cpp: the consistency walk of the symmetric heap, for tests and SHMEM_DEBUG. Cost: all records.
#include "shmem_heap.hpp"

namespace shmem {

const char *heap::check_address_order(tally &sum) const noexcept
{
	uint64_t pos = 0;
	index prev = 0;
	bool prev_free = false;
	for (index n = first_; n != 0; prev = n, n = records_[n].next) {
		const record &r = records_[n];
		if (r.start != pos || r.count == 0)
			return "blocks do not tile the heap";
		if (r.prev != prev)
			return "backward link is wrong";
		if (prev_free && !r.used)
			return "two free neighbours";
		if (find_used(reinterpret_cast<void *>(base_ + (r.start << shift_))) != (r.used ? n : 0))
			return "hash table and record disagree";
		(r.used ? sum.used_blocks : sum.free_blocks)++;
		sum.used += r.used ? r.count : 0;
		prev_free = !r.used;
		pos += r.count;
	}
	return pos == granules_ ? nullptr : "blocks do not cover the heap";
}

// prefix: the `depth` key bits that lead to n, at the top of a word
const char *heap::check_trie(index n, unsigned bin, uint64_t prefix, unsigned depth, uint64_t &seen) const noexcept
{
	const record &r = records_[n];
	if (bin_of(r.count) != bin)
		return "block in the wrong bin";
	if (depth != 0 && (key_of(r.count) ^ prefix) >> (64 - depth) != 0)
		return "block on the wrong path of its trie";
	index last = n;
	for (index m = n;; m = records_[m].ring_next) {
		if (records_[m].used || records_[m].count != r.count || (m != n && records_[m].parent != 0))
			return "ring member is used, of another size, or in the trie";
		if (m != n && records_[m].ring_prev != last)
			return "ring is not linked backwards";
		seen++;
		last = m;
		if (records_[m].ring_next == n)
			break;
	}
	if (r.ring_prev != last)
		return "ring is not closed";
	for (unsigned side = 0; side < 2; side++) {
		const index child = r.child[side];
		if (child == 0)
			continue;
		if (records_[child].parent != n)
			return "trie parent is wrong";
		const uint64_t step = uint64_t{side} << (63 - depth);
		if (const char *why = check_trie(child, bin, prefix | step, depth + 1, seen))
			return why;
	}
	return nullptr;
}

const char *heap::check_bins(uint64_t free_blocks) const noexcept
{
	uint64_t seen = 0;
	for (unsigned bin = 0; bin < kBins; bin++) {
		const index root = roots_[bin];
		if (((bin_bits_[bin / 64] >> (bin % 64)) & 1) != (root != 0))
			return "bin bitmap is wrong";
		if (((words_ >> (bin / 64)) & 1) != (bin_bits_[bin / 64] != 0))
			return "summary bitmap is wrong";
		if (root == 0)
			continue;
		if (records_[root].parent != (kRoot | bin))
			return "root does not know its bin";
		if (const char *why = check_trie(root, bin, 0, 0, seen))
			return why;
	}
	return seen == free_blocks ? nullptr : "free blocks and bins disagree";
}

const char *heap::check_buckets() const noexcept
{
	if (bucket_count_ > bucket_mask_ + 1 || bucket_mask_ >= 2 * bucket_count_)
		return "bucket mask does not match the bucket count";
	uint64_t seen = 0;
	for (uint64_t b = 0; b < bucket_count_; b++)
		for (index n = buckets_[b]; n != 0; n = records_[n].child[0]) {
			if (!records_[n].used || bucket_of(records_[n].start) != b)
				return "record in the wrong bucket";
			seen++;
		}
	return seen == used_blocks_ ? nullptr : "used blocks and buckets disagree";
}

bool heap::covers(const void *ptr, size_t bytes) const noexcept
{
	const auto addr = reinterpret_cast<uintptr_t>(ptr);
	for (index n = first_; n != 0; n = records_[n].next) {
		const record &r = records_[n];
		const uintptr_t begin = base_ + (r.start << shift_), end = begin + (r.count << shift_);
		if (addr >= begin && addr < end)
			return r.used && bytes <= end - addr;
	}
	return false;
}

const void *heap::block_around(const void *ptr, size_t &bytes) const noexcept
{
	const auto addr = reinterpret_cast<uintptr_t>(ptr);
	for (index n = first_; n != 0; n = records_[n].next) {
		const record &r = records_[n];
		const uintptr_t begin = base_ + (r.start << shift_), end = begin + (r.count << shift_);
		if (addr < begin || addr >= end)
			continue;
		bytes = end - begin;
		return r.used ? reinterpret_cast<const void *>(begin) : nullptr;
	}
	return nullptr;
}

const char *heap::check() const noexcept
{
	tally sum;
	if (const char *why = check_address_order(sum))
		return why;
	if (const char *why = check_bins(sum.free_blocks))
		return why;
	if (sum.used != used_ || sum.used_blocks != used_blocks_ || sum.free_blocks != free_blocks_)
		return "counters are wrong";
	if (const char *why = check_buckets())
		return why;
	uint64_t unused = 0;
	for (index n = unused_; n != 0; n = records_[n].next)
		unused++;
	const uint64_t taken = fresh_ - 1 - unused;
	if (taken != used_blocks_ + free_blocks_ || spare_ != unused + committed_ - fresh_)
		return "records were lost";
	return nullptr;
}

} // namespace shmem
