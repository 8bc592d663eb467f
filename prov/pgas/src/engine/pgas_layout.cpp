// SPDX-License-Identifier: BSD-3-Clause
//
// Symmetric addressing of a key-0 region in pieces (symmetric_layout of fi_ext_pgas.h). Offsets are the same in all
// processes, and only offsets are exchanged; the addresses of the pieces, and so their distances, differ between
// processes.
//
//   in process A   base  |-- piece 0 --|........ hole ........|-- piece 1 --|
//   in process B   base  |-- piece 0 --|.... hole ....|-- piece 1 --|
//
// A window maps the peer's pieces at the distances of our own pieces, so that one addition still converts one of our
// addresses to the address of the peer's copy.
#include "pgas_ep.hpp"

#include <algorithm>

namespace pgas {
namespace {

constexpr size_t kMaxPieces = 64;

bool apart(uint64_t a, uint64_t b, uint64_t a_len) // [a, a + a_len) ends before b
{
	return a <= b && a_len <= b - a;
}

// Page aligned, no overlap in addresses or in offsets, and ends do not wrap.
bool sane(const std::vector<key0_piece> &pieces)
{
	const uint64_t page = page_bytes();
	for (const key0_piece &p : pieces) {
		if (!p.len || (p.addr | p.off | p.len) % page || p.len > UINT64_MAX - p.addr ||
		    p.len > UINT64_MAX - p.off)
			return false;
		for (const key0_piece &q : pieces)
			if (&q != &p && !((apart(p.addr, q.addr, p.len) || apart(q.addr, p.addr, q.len)) &&
					  (apart(p.off, q.off, p.len) || apart(q.off, p.off, q.len))))
				return false;
	}
	return true;
}

} // namespace

bool key0_layout::to_address(uint64_t off, uint64_t len, uint64_t &pos) const
{
	for (const key0_piece &p : pieces) {
		if (off < p.off || len > p.len || off - p.off > p.len - len)
			continue;
		pos = p.addr + (off - p.off);
		return true;
	}
	return false;
}

int key0_layout_set(domain *dom, const fi_pgas_piece *list, size_t count)
{
	if (!count || count > kMaxPieces || dom->mr_mode & (FI_MR_VIRT_ADDR | FI_MR_PROV_KEY))
		return -FI_EINVAL;
	key0_layout fresh;
	for (size_t i = 0; i < count; i++)
		fresh.pieces.push_back({reinterpret_cast<uintptr_t>(list[i].addr), list[i].off, list[i].len});
	std::sort(fresh.pieces.begin(), fresh.pieces.end(),
		  [](const key0_piece &a, const key0_piece &b) { return a.addr < b.addr; });
	if (!sane(fresh.pieces)) {
		PGAS_WARN(FI_LOG_MR, "symmetric layout: pieces overlap or are not page aligned\n");
		return -FI_EINVAL;
	}
	fresh.base = fresh.pieces.front().addr;
	fresh.span = fresh.pieces.back().addr + fresh.pieces.back().len - fresh.base;
	scoped_lock lock(dom->mutex);
	// windows are laid out when they are created, so the layout must be known before the first
	if (dom->regions.count(0) || dom->connected)
		return -FI_EBUSY;
	for (const ep_core *ep : dom->eps)
		for (const pgas_ep *front : ep->fronts)
			if (front->bias && front->bias != fresh.base)
				return -FI_EINVAL;
	dom->layout = std::move(fresh);
	return 0;
}

} // namespace pgas
