// SPDX-License-Identifier: BSD-3-Clause
//
// shmem_heap_bins.cpp: the free blocks of the symmetric heap by size.
//
// A bin holds the sizes between two neighbouring sixteenths of a power of two. Blocks of one size form a ring;
// different sizes form a binary trie over the remaining size bits whose nodes are heads of rings. A node may hold any
// size of its subtree, so insertion stops at the first empty place, and removal puts a leaf in the place of an inner
// node.
#include "shmem_heap.hpp"

#include <bit>

namespace shmem {

void heap::insert_free(index n) noexcept
{
	record &r = records_[n];
	const unsigned bin = bin_of(r.count);
	free_blocks_++;
	r.used = 0;
	r.ring_prev = r.ring_next = n;
	r.child[0] = r.child[1] = 0;
	index pos = roots_[bin];
	if (pos == 0) {
		roots_[bin] = n;
		r.parent = kRoot | bin;
		bin_bits_[bin / 64] |= uint64_t{1} << (bin % 64);
		words_ |= uint64_t{1} << (bin / 64);
		return;
	}
	for (uint64_t key = key_of(r.count); records_[pos].count != r.count; key <<= 1) {
		index &child = records_[pos].child[key >> 63];
		if (child == 0) {
			child = n;
			r.parent = pos;
			return;
		}
		pos = child;
	}
	record &head = records_[pos];
	r.parent = 0;
	r.ring_prev = pos;
	r.ring_next = head.ring_next;
	records_[head.ring_next].ring_prev = n;
	head.ring_next = n;
}

// `replacement` (0: nothing) takes the place of n below n's parent
void heap::replace_in_trie(index n, index replacement) noexcept
{
	const index parent = records_[n].parent;
	if (replacement != 0)
		records_[replacement].parent = parent;
	if ((parent & kRoot) == 0) {
		index *child = records_[parent].child;
		child[child[1] == n] = replacement;
		return;
	}
	const unsigned bin = parent & ~kRoot;
	roots_[bin] = replacement;
	if (replacement != 0)
		return;
	bin_bits_[bin / 64] &= ~(uint64_t{1} << (bin % 64));
	if (bin_bits_[bin / 64] == 0)
		words_ &= ~(uint64_t{1} << (bin / 64));
}

void heap::remove_free(index n) noexcept
{
	record &r = records_[n];
	free_blocks_--;
	index replacement = 0;
	if (r.ring_next != n) {
		replacement = r.ring_next;
		records_[r.ring_prev].ring_next = r.ring_next;
		records_[r.ring_next].ring_prev = r.ring_prev;
		if (r.parent == 0)
			return;
	} else if ((r.child[0] | r.child[1]) != 0) {
		// any leaf below n may replace n: all counts below share n's path
		replacement = n;
		while (const index down = records_[replacement].child[1] ? records_[replacement].child[1]
									 : records_[replacement].child[0])
			replacement = down;
		replace_in_trie(replacement, 0);
	}
	replace_in_trie(n, replacement);
	if (replacement == 0)
		return;
	for (int side = 0; side < 2; side++) {
		const index child = r.child[side];
		records_[replacement].child[side] = child;
		if (child != 0)
			records_[child].parent = replacement;
	}
}

unsigned heap::next_bin(unsigned bin) const noexcept
{
	const unsigned word = bin / 64;
	const uint64_t here = bin % 64 == 63 ? 0 : bin_bits_[word] & (~uint64_t{0} << (bin % 64 + 1));
	if (here != 0)
		return word * 64 + static_cast<unsigned>(std::countr_zero(here));
	const uint64_t above = word == 63 ? 0 : words_ & (~uint64_t{0} << (word + 1));
	if (above == 0)
		return kBins;
	const auto next = static_cast<unsigned>(std::countr_zero(above));
	return next * 64 + static_cast<unsigned>(std::countr_zero(bin_bits_[next]));
}

// the smallest block of the subtree at n, if smaller than best (0: none yet)
heap::index heap::smallest_in(index n, index best) const noexcept
{
	for (; n != 0; n = records_[n].child[0] ? records_[n].child[0] : records_[n].child[1])
		if (best == 0 || records_[n].count < records_[best].count)
			best = n;
	return best;
}

// best fit; among equal blocks one that is outside the trie, because it is cheaper to remove
heap::index heap::find_fit(uint64_t count) const noexcept
{
	const unsigned bin = bin_of(count);
	index best = 0, larger = 0;
	uint64_t key = key_of(count);
	for (index pos = roots_[bin]; pos != 0; key <<= 1) {
		const record &r = records_[pos];
		if (r.count >= count && (best == 0 || r.count < records_[best].count)) {
			best = pos;
			if (r.count == count)
				return r.ring_next;
		}
		const auto side = static_cast<unsigned>(key >> 63);
		if (side == 0 && r.child[1] != 0)
			larger = r.child[1]; // all of it exceeds count; the last such subtree is the nearest
		pos = r.child[side];
	}
	best = smallest_in(larger, best);
	if (best == 0) {
		const unsigned next = next_bin(bin);
		if (next == kBins)
			return 0;
		best = smallest_in(roots_[next], 0);
	}
	return records_[best].ring_next;
}

heap::index heap::largest() const noexcept
{
	if (words_ == 0)
		return 0;
	const unsigned word = 63u - static_cast<unsigned>(std::countl_zero(words_));
	const unsigned bin = word * 64 + 63u - static_cast<unsigned>(std::countl_zero(bin_bits_[word]));
	index best = 0;
	for (index n = roots_[bin]; n != 0; n = records_[n].child[1] ? records_[n].child[1] : records_[n].child[0])
		if (best == 0 || records_[n].count > records_[best].count)
			best = n;
	return best;
}

} // namespace shmem
