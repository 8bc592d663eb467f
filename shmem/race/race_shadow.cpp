// SPDX-License-Identifier: BSD-3-Clause
//
// The shadow of a PE's symmetric memory: the last accesses to each word, and to pages as a whole. An access that covers
// a page takes one cell there; other accesses take a cell of each word, in a block that the page gets at the first of
// them. A cell may be replaced by an access that is ordered after it and covers it, since any access that races with
// the old one also races with the new one. If there is no such cell, or no block, or no page, something is forgotten,
// and counted.
#include "race_state.hpp"

#include <sched.h>

#include <algorithm>

namespace pgas_tools::race {
namespace {

constexpr uint32_t kAllBytes = 0xff;

uint64_t hash(uint64_t x)
{
	x *= 0x9e3779b97f4a7c15ull;
	return x ^ x >> 29;
}

kind kind_of(const cell &a)
{
	return static_cast<kind>(a.what);
}

uint64_t stamp_of(const cell &a)
{
	return uint64_t{a.version} * 16 + a.lane;
}

// Among our own accesses, those of the same lane are ordered, and so are those that were complete when their call
// returned.
bool is_behind(const access &mine, const cell &k, int target)
{
	return k.pe == static_cast<uint32_t>(c.me) ? k.lane == mine.lane || k.lane == 0 : is_known(k, target);
}

} // namespace

// --- the room of a PE ------------------------------------------------------------------------------------------------

shadow::shadow(int pe) : pe_(pe), near_(c.near[static_cast<size_t>(pe)])
{
	uint64_t *lock = &head_of_mine()->lock;
	unsigned tries = 0;
	while (pshmem_ctx_uint64_atomic_compare_swap(c.ctx, lock, 0, static_cast<uint64_t>(c.me) + 1, pe) != 0) {
		// peers that cannot map our memory need us meanwhile: a test that fails acts for them
		uint64_t never = 0;
		if (++tries % 8 == 0) {
			pshmem_uint64_test(&head_of_mine()->magic, SHMEM_CMP_EQ, never);
			sched_yield();
		}
	}
	pgas_fence_full(); // makes the writes of the last holder visible
}

shadow::~shadow()
{
	write_back();
	pshmem_ctx_quiet(c.ctx);
	pgas_fence_full();
	pshmem_ctx_uint64_atomic_set(c.ctx, &head_of_mine()->lock, 0, pe_);
}

void *shadow::bytes_at(size_t offset, size_t bytes)
{
	if (near_)
		return near_ + offset;
	for (copy &k : copies_)
		if (offset >= k.offset && offset + bytes <= k.offset + k.bytes)
			return k.data.data() + (offset - k.offset);
	copies_.push_back({offset, bytes, std::vector<char>(bytes)});
	pshmem_ctx_getmem(c.ctx, copies_.back().data.data(), c.mine + offset, bytes, pe_);
	return copies_.back().data.data();
}

void shadow::write_back()
{
	for (const copy &k : copies_)
		pshmem_ctx_putmem(c.ctx, c.mine + k.offset, k.data.data(), k.bytes, pe_);
	copies_.clear();
}

// --- pages and blocks ------------------------------------------------------------------------------------------------

// A PE that waits for a word whose writers were forgotten must assume that it is synchronised with them.
void shadow::note_forgotten(const cell &gone)
{
	if (!is_write(kind_of(gone)))
		return;
	uint64_t &stamp = forgotten()[gone.pe];
	stamp = std::max(stamp, uint64_t{gone.version} * 16 + kAnyLane);
}

void shadow::drop_block(page &p)
{
	if (!p.block)
		return;
	auto *h = at<room_head>(c.place.head);
	at<uint32_t>(c.place.free_blocks, c.place.blocks_count)[h->blocks_next++] = p.block - 1;
	p.block = 0;
}

uint32_t shadow::take_block(page &owner)
{
	auto *h = at<room_head>(c.place.head);
	uint32_t *owners = at<uint32_t>(c.place.owners, c.place.blocks_count);
	uint32_t block;
	if (h->blocks_next) { // one that was given back
		block = at<uint32_t>(c.place.free_blocks, c.place.blocks_count)[--h->blocks_next];
	} else if (h->blocks_used < c.place.blocks_count) {
		block = h->blocks_used++;
	} else { // the one that was taken longest ago
		block = static_cast<uint32_t>(h->pages_forgotten++ % c.place.blocks_count);
		page *old = at<page>(c.place.pages + owners[block] * sizeof(page));
		const cell *cells = at<cell>(c.place.blocks + block * kBlockBytes, kWordsPerPage * kCells);
		for (size_t i = 0; i < kWordsPerPage * kCells; i++)
			if (cells[i].what)
				note_forgotten(cells[i]);
		old->block = 0;
	}
	const auto number = static_cast<uint32_t>(
		hash(owner.key) % kPages); // where the search for it starts; it is within kPageTries from there
	for (uint32_t i = 0; i < kPageTries; i++) {
		const uint32_t index = (number + i) % kPages;
		if (at<page>(c.place.pages + index * sizeof(page))->key == owner.key)
			owners[block] = index;
	}
	memset(at<cell>(c.place.blocks + block * kBlockBytes, kWordsPerPage * kCells), 0, kBlockBytes);
	return block + 1;
}

page *shadow::find(uint64_t number, bool make)
{
	const auto first = static_cast<uint32_t>(hash(number + 1) % kPages);
	page *empty = nullptr;
	for (uint32_t i = 0; i < kPageTries; i++) {
		page *p = at<page>(c.place.pages + (first + i) % kPages * sizeof(page));
		if (p->key == number + 1)
			return p;
		if (!p->key && !empty)
			empty = p;
	}
	if (!make)
		return nullptr;
	if (!empty) {
		empty = at<page>(c.place.pages + (first + number % kPageTries) % kPages * sizeof(page));
		if (empty->block) {
			const cell *cells =
				at<cell>(c.place.blocks + (empty->block - 1) * kBlockBytes, kWordsPerPage * kCells);
			for (size_t i = 0; i < kWordsPerPage * kCells; i++)
				if (cells[i].what)
					note_forgotten(cells[i]);
			drop_block(*empty);
		}
		for (const cell &k : empty->whole)
			if (k.what)
				note_forgotten(k);
		at<room_head>(c.place.head)->pages_forgotten++;
		*empty = {};
	}
	empty->key = number + 1;
	return empty;
}

cell *shadow::words_of(page &p, size_t first, size_t count)
{
	return at<cell>(c.place.blocks + (p.block - 1) * kBlockBytes + first * kCells * sizeof(cell), count * kCells);
}

// --- accesses --------------------------------------------------------------------------------------------------------

void shadow::find_clashes(const cell *cells, const access &mine, uint32_t mask, uint64_t offset, size_t bytes,
			  std::vector<clash> &found)
{
	for (uint32_t i = 0; i < kCells; i++) {
		const cell &k = cells[i];
		if (!k.what || !(k.mask & mask) || !may_clash(kind_of(k), mine.what) || is_known(k, pe_))
			continue;
		uint64_t low = offset, high = offset + bytes;
		if (bytes == kWordBytes) { // the bytes of the word that both access
			const uint32_t both = k.mask & mask;
			low = offset + static_cast<uint64_t>(__builtin_ctz(both));
			high = offset + 32 - static_cast<uint64_t>(__builtin_clz(both));
		}
		auto old = std::find_if(found.begin(), found.end(), [&](const clash &f) {
			return f.other.pe == k.pe && f.other.site == k.site && f.other.what == k.what;
		});
		if (old == found.end()) {
			found.push_back({k, low, high});
		} else {
			old->low = std::min(old->low, low);
			old->high = std::max(old->high, high);
		}
	}
}

void shadow::leave_cell(cell *cells, const access &mine, uint32_t mask)
{
	const auto me = static_cast<uint32_t>(c.me);
	cell *dst = nullptr, *empty = nullptr;
	for (uint32_t i = 0; i < kCells; i++) {
		cell &k = cells[i];
		if (!k.what) {
			empty = empty ? empty : &k;
			continue;
		}
		const bool covered = !(k.mask & ~mask);
		// an access that clashes with the old one would also clash with the new one
		const bool stronger = mine.what == kind::write || kind_of(k) == mine.what ||
				      (mine.what == kind::atomic_write && kind_of(k) == kind::atomic_read);
		if (covered && stronger && is_behind(mine, k, pe_)) {
			if (dst)
				k = {};
			else
				dst = &k;
		}
	}
	if (!dst)
		dst = empty;
	if (!dst) { // replace one that ours is not ordered after; a different one each time
		dst = &cells[mine.number % kCells];
		if (!is_known(*dst, pe_))
			at<room_head>(c.place.head)->cells_forgotten++;
		note_forgotten(*dst);
	}
	*dst = {};
	dst->pe = me & 0xffff;
	dst->lane = mine.lane & 7;
	dst->what = static_cast<uint32_t>(mine.what) & 7;
	dst->mask = mask & kAllBytes;
	dst->number = mine.number;
	dst->version = mine.version;
	dst->site = mine.site;
}

void shadow::enter_words(page &p, const access &mine, uint64_t offset, size_t bytes, std::vector<clash> &found,
			 bool stay)
{
	find_clashes(p.whole, mine, kAllBytes, offset, bytes, found);
	if (!p.block) {
		if (!stay)
			return;
		p.block = take_block(p);
	}
	const uint64_t begin = offset % kPageBytes, end = begin + bytes;
	const size_t first = begin / kWordBytes, last = (end - 1) / kWordBytes;
	cell *cells = words_of(p, first, last - first + 1);
	for (size_t w = first; w <= last; w++, cells += kCells) {
		uint32_t mask = kAllBytes;
		if (w == first)
			mask &= kAllBytes << begin % kWordBytes;
		if (w == last && end % kWordBytes)
			mask &= kAllBytes >> (kWordBytes - end % kWordBytes);
		find_clashes(cells, mine, mask, offset - begin + w * kWordBytes, kWordBytes, found);
		if (stay)
			leave_cell(cells, mine, mask);
	}
}

void shadow::enter_page(page &p, const access &mine, uint64_t offset, std::vector<clash> &found, bool stay)
{
	find_clashes(p.whole, mine, kAllBytes, offset, kPageBytes, found);
	bool all_known = true;
	if (p.block) {
		const cell *cells = words_of(p, 0, kWordsPerPage);
		for (size_t w = 0; w < kWordsPerPage; w++, cells += kCells) {
			find_clashes(cells, mine, kAllBytes, offset + w * kWordBytes, kWordBytes, found);
			for (uint32_t i = 0; i < kCells; i++)
				all_known = all_known && (!cells[i].what || is_behind(mine, cells[i], pe_));
		}
	}
	if (!stay)
		return;
	if (p.block && all_known && mine.what == kind::write)
		drop_block(p);
	leave_cell(p.whole, mine, kAllBytes);
}

void shadow::enter(const access &mine, uint64_t offset, size_t bytes, std::vector<clash> &found, bool stay)
{
	while (bytes) {
		const size_t within = offset % kPageBytes, part = std::min(bytes, kPageBytes - within);
		page *p = find(offset / kPageBytes, stay);
		if (p && part == kPageBytes)
			enter_page(*p, mine, offset, found, stay);
		else if (p)
			enter_words(*p, mine, offset, part, found, stay);
		offset += part;
		bytes -= part;
		if (!near_)
			write_back(); // the next part may be in memory that overlaps a copy
	}
}

void shadow::forget(uint64_t offset, size_t bytes)
{
	while (bytes) {
		const size_t within = offset % kPageBytes, part = std::min(bytes, kPageBytes - within);
		page *p = find(offset / kPageBytes, false);
		if (p && part == kPageBytes) {
			drop_block(*p);
			*p = {};
		} else if (p && p->block) {
			const size_t first = (within + kWordBytes - 1) / kWordBytes;
			const size_t last = (within + part) / kWordBytes;
			if (first < last)
				memset(words_of(*p, first, last - first), 0, (last - first) * kCells * sizeof(cell));
		}
		offset += part;
		bytes -= part;
	}
}

void shadow::writers(uint64_t offset, size_t bytes, std::vector<std::pair<int, uint64_t>> &found)
{
	const page *p = find(offset / kPageBytes, false);
	auto add = [&](const cell *cells) {
		for (uint32_t i = 0; i < kCells; i++)
			if (kind_of(cells[i]) == kind::write)
				found.emplace_back(static_cast<int>(cells[i].pe), stamp_of(cells[i]));
	};
	if (p) {
		add(p->whole);
		const size_t word = offset % kPageBytes / kWordBytes;
		if (p->block)
			add(words_of(*const_cast<page *>(p), word, 1));
	}
	(void)bytes; // variables to wait for are within one word
	const uint64_t *gone = forgotten();
	for (int pe = 0; pe < c.n_pes; pe++)
		if (gone[pe])
			found.emplace_back(pe, gone[pe]);
}

} // namespace pgas_tools::race
