// SPDX-License-Identifier: BSD-3-Clause
//
// The walk over all records of a pool, for tests and debugging. It ends even if links form a cycle.
#include "devices/devices_pool.hpp"

namespace pgas::devices {

const char *pool::check_order(uint64_t &free_blocks) const noexcept
{
	uint64_t pos = 0, used = 0, used_blocks = 0;
	index prev = 0;
	for (index n = first_; n != 0; prev = n, n = records_[n].next) {
		const record &r = records_[n];
		if (n >= fresh_ || r.start != pos || r.count == 0)
			return "blocks do not tile the pool";
		if (r.prev != prev)
			return "backward link is wrong";
		if (prev != 0 && !r.used && !records_[prev].used)
			return "two free neighbours";
		if (find_used(uint64_t{r.start} << shift_) != (r.used ? n : 0))
			return "hash table and record disagree";
		if (r.used && r.back >= uint64_t{1} << shift_)
			return "more than a granule was not asked for";
		(r.used ? used_blocks : free_blocks)++;
		used += r.used ? r.count : 0;
		pos += r.count;
	}
	if (pos != granules_)
		return "blocks do not cover the pool";
	if (used != used_ || used_blocks != used_blocks_)
		return "sums of used blocks are wrong";
	return nullptr;
}

const char *pool::check_lists(uint64_t free_blocks) const noexcept
{
	uint64_t seen = 0;
	for (unsigned list = 0; list < kLists; list++) {
		const unsigned word = list / 64;
		const index head = lists_->heads[list];
		if ((lists_->bits[word] >> (list % 64) & 1) != (head != 0))
			return "bit of a list is wrong";
		if ((lists_->words[word / 64] >> (word % 64) & 1) != (lists_->bits[word] != 0) ||
		    (lists_->groups >> (word / 64) & 1) != (lists_->words[word / 64] != 0))
			return "summary of the bits is wrong";
		index back = 0;
		for (index n = head; n != 0; back = n, n = records_[n].link) {
			const record &r = records_[n];
			if (n >= fresh_ || r.used || list_of(r.count) != list || r.back != back)
				return "list of free blocks is broken";
			if (++seen > free_blocks)
				return "lists have more blocks than there are";
		}
	}
	return seen == free_blocks ? nullptr : "free block in no list";
}

const char *pool::check_buckets() const noexcept
{
	uint64_t seen = 0;
	for (uint64_t bucket = 0; bucket < bucket_count_; bucket++)
		for (index n = buckets_[bucket]; n != 0; n = records_[n].link) {
			if (n >= fresh_ || !records_[n].used || bucket_of(records_[n].start) != bucket)
				return "chain of a bucket is broken";
			if (++seen > used_blocks_)
				return "buckets have more blocks than there are";
		}
	if (seen != used_blocks_)
		return "used block in no bucket";
	return used_blocks_ <= bucket_count_ ? nullptr : "fewer buckets than used blocks";
}

const char *pool::check() const noexcept
{
	if (!records_)
		return nullptr;
	uint64_t free_blocks = 0;
	if (const char *why = check_order(free_blocks))
		return why;
	if (const char *why = check_lists(free_blocks))
		return why;
	if (const char *why = check_buckets())
		return why;
	uint64_t unused = 0;
	for (index n = unused_; n != 0 && unused <= fresh_; n = records_[n].next)
		unused++;
	if (free_blocks + used_blocks_ + unused != uint64_t{fresh_} - 1)
		return "records are lost";
	return nullptr;
}

} // namespace pgas::devices
