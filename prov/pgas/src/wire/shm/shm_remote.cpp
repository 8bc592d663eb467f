// SPDX-License-Identifier: BSD-3-Clause
//
// Domains of other processes on this host: opening their segments, and translating their keys to local addresses. A
// translation is made once per (peer, key) and checked by one compare afterwards.
#include "shm.hpp"
#include "shm_process.hpp"

#include <sys/mman.h>
#include <sys/uio.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace pgas {
namespace {

// bytes of a region that is mapped: a bound for what the owner wrote
constexpr uint64_t kRegionMost = uint64_t{1} << 46;
constexpr size_t kWindowParts = 1024;               // of a window: each is compared with each other
constexpr uint64_t kGuardBytes = uint64_t{1} << 32; // on both sides of a window: a small overrun faults, never hits us
constexpr uint64_t kHugeBytes = uint64_t{2} << 20;  // laid-out windows are congruent with our region, so huge pages fit

// Only checks whether the kernel's settings permit it; if the call itself is refused, it is turned off permanently.
bool cma_possible(const remote_domain *r)
{
	return parameters().cma && (r->self || cross_memory_allowed());
}

int map_part(remote_domain *r, const part_entry &p, xlate_part &out, char *fixed)
{
	const uint64_t page = page_bytes();
	unique_fd fd;
	if (p.len > kRegionMost || p.file_off > kRegionMost)
		return -FI_EKEYREJECTED; // not something that can be mapped
	if (const int err = peer_file_open(r->pid, p.fd, p.dev, p.ino, p.file_off + p.len, fd))
		return err;
	const uint64_t lead = p.file_off % page;
	const size_t bytes = round_up(p.len + lead, page);
	void *want = fixed ? fixed - lead : nullptr;
	const int flags = MAP_SHARED | MAP_NORESERVE | (fixed ? MAP_FIXED : 0);
	void *m = mmap(want, bytes, PROT_READ | PROT_WRITE, flags, fd.get(), static_cast<off_t>(p.file_off - lead));
	if (m == MAP_FAILED)
		return -errno;
	out.local = static_cast<char *>(m) + lead;
	out.how = part_access::here;
	if (!fixed)
		out.map = mapping(m, bytes);
	return 0;
}

// Returns the layout for windows on this region: that of our own key 0 (pgas_layout.cpp), or null, by the region's
// offsets.
const key0_layout *layout_for(const remote_domain *r, const key_entry &e)
{
	const bool ours = e.key == 0 && !(e.flags & (kKeyVirtual | kKeyWhole | kKeyDevice)) && r->dom->layout.given();
	return ours ? &r->dom->layout : nullptr;
}

// Computes a part's offset from the window's base. Returns false if nothing in our region corresponds to it.
bool place_in_window(const key0_layout *layout, const part_entry &p, uint64_t &off)
{
	if (!layout) {
		off = p.off;
		return true;
	}
	uint64_t pos;
	if (!layout->to_address(p.off, p.len, pos))
		return false;
	off = pos - layout->base;
	return true;
}

void set_window(xlate &x, char *base, const key0_layout *layout)
{
	x.window = base;
	x.window_len = layout ? layout->span : x.len;
	x.laid_out = layout != nullptr;
}

// --- windows whose region was closed ---------------------------------------------------------------------------------
//
//   built -> shown (publish_window)                   fronts have it, inline code may be using it
//   built -> gone                                     only the general path saw it, which holds the lock
//   shown -> gone                                     windows_quiet(): fronts are cleared first, then inline code
//                                                     has left
//   shown -> retired, hollow -> shown                 otherwise: the memory is freed, and the address range serves
//                                                     the next registration, at the same base: late accesses to
//                                                     the closed region reach the same offset of the next one
//                                                     under the same key, as with any wire
// A range that is too small stays, and the next one is twice as large: a handful per page offset, however often key 0
// is registered.

// Replaces the parts by private memory. Holes and guards stay as they are.
void hollow_parts(const xlate &x)
{
	const uintptr_t page = page_bytes();
	for (const xlate_part &p : x.parts) {
		if (p.local < x.reserve.get() || p.local >= x.reserve.get() + x.reserve.size())
			continue; // not mapped, or our own memory
		const uintptr_t first = reinterpret_cast<uintptr_t>(p.local) & ~(page - 1);
		hollow_out(reinterpret_cast<void *>(first),
			   round_up(reinterpret_cast<uintptr_t>(p.local) + p.len, page) - first);
	}
}

void retire(remote_domain *r, std::unique_ptr<xlate> x)
{
	if (!x->shown)
		return;
	if (windows_quiet(r)) {
		windows_close_all(r, false);
		return;
	}
	if (!x->reserve)
		return; // our own memory
	hollow_parts(*x);
	r->retired.push_back(std::move(x));
}

bool reserve_window(remote_domain *r, size_t span, uint64_t skew, xlate &x)
{
	for (auto it = r->retired.begin(); it != r->retired.end(); ++it) {
		if (reinterpret_cast<uintptr_t>((*it)->window) % page_bytes() != skew || (*it)->reserve.size() < span)
			continue;
		x.reserve = std::move((*it)->reserve);
		x.shown = true;
		r->retired.erase(it);
		return true;
	}
	if (!r->retired.empty())
		span = std::bit_ceil(span);
	void *m = mmap(nullptr, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (m == MAP_FAILED)
		return false;
	x.reserve = mapping(m, span);
	return true;
}

// A part could not be mapped. Always returns false. An address range that was shown before goes back to the retired
// ones.
bool give_up_window(remote_domain *r, xlate &x)
{
	if (x.shown) {
		hollow_parts(x);
		auto place = std::make_unique<xlate>();
		place->reserve = std::move(x.reserve);
		place->window = x.window;
		r->retired.push_back(std::move(place));
	}
	x.reserve.reset();
	x.window = nullptr;
	x.shown = false;
	return false;
}

// Maps all parts at one base, with holes and both ends guarded. Works if the parts' file offsets fit the region's page
// grid.
bool map_window(remote_domain *r, const std::vector<part_entry> &parts, const key0_layout *layout, xlate &x)
{
	const uint64_t page = page_bytes();
	const uint64_t skew = (parts[0].file_off - parts[0].off) % page;
	if (x.len > kRegionMost || parts.size() > kWindowParts)
		return false;
	for (const part_entry &p : parts) {
		if (p.fd < 0 || (p.file_off - p.off) % page != skew)
			return false;
		// neighbours must not share a page unless they are the same file's consecutive bytes
		for (const part_entry &q : parts)
			if (&q != &p && q.off >= p.off + p.len &&
			    (q.off + skew) / page == (p.off + p.len - 1 + skew) / page)
				return false;
	}
	const size_t span = round_up((layout ? layout->span + kHugeBytes : x.len) + skew, page) + 2 * kGuardBytes;
	if (!reserve_window(r, span, skew, x))
		return false;
	char *base = x.reserve.get() + kGuardBytes;
	if (layout)
		base += (layout->base - reinterpret_cast<uintptr_t>(base)) % kHugeBytes;
	base += skew;
	set_window(x, base, layout);
	for (size_t i = 0; i < parts.size(); i++) {
		uint64_t off;
		if (!place_in_window(layout, parts[i], off) || map_part(r, parts[i], x.parts[i], base + off) != 0)
			return give_up_window(r, x);
	}
	return true;
}

// Our own memory needs no mapping; it is a window if it is laid out as one.
void window_on_self(const std::vector<part_entry> &parts, const key0_layout *layout, xlate &x)
{
	const uint64_t base = layout ? layout->base : parts[0].va - parts[0].off;
	for (const part_entry &p : parts) {
		uint64_t off;
		if (!place_in_window(layout, p, off) || p.va != base + off)
			return;
	}
	set_window(x, reinterpret_cast<char *>(base), layout);
}

int build(remote_domain *r, const key_entry &e, const key_entry *where, xlate &x)
{
	x.entry = where;
	x.live = e.live;
	x.base = e.base;
	x.len = e.len;
	x.access = e.access;
	x.flags = e.flags;
	x.wr_cntr = e.wr_cntr;
	x.rd_cntr = e.rd_cntr;
	if (e.part_first + uint64_t{e.part_count} > kParts || e.part_count == 0 || e.wr_cntr >= kRemoteCounters ||
	    e.rd_cntr >= kRemoteCounters)
		return -FI_EKEYREJECTED;
	std::vector<part_entry> parts(r->parts() + e.part_first, r->parts() + e.part_first + e.part_count);
	pgas_fence_acquire();
	if (pgas_load_relaxed(&where->live) != e.live)
		return -FI_EAGAIN; // closed while we copied: try again
	for (const part_entry &p : parts)
		if (p.len > e.len || p.off > e.len - p.len)
			return -FI_EKEYREJECTED; // not something that key_table::open() writes
	const key0_layout *layout = layout_for(r, e);
	const bool here = r->self && !(e.flags & kKeyDevice);
	for (const part_entry &p : parts)
		x.parts.push_back({p.off,
				   p.len,
				   here ? part_access::here : part_access::far,
				   here ? reinterpret_cast<char *>(p.va) : nullptr,
				   p.va,
				   {}});
	if (e.flags & kKeyDevice)
		return 0; // nothing to map; its owner is asked
	// Our own key 0 is mapped a second time if possible: with symmetric addressing an identity would be window 0,
	// which means "not here".
	if (r->self && e.key == 0 && parts[0].fd >= 0 && !(x.flags & (kKeyVirtual | kKeyWhole)) &&
	    map_window(r, parts, layout, x))
		return 0;
	if (r->self) {
		for (size_t i = 0; i < parts.size(); i++)
			x.parts[i].local = reinterpret_cast<char *>(parts[i].va);
		x.reserve.reset();
		window_on_self(parts, layout, x);
		return 0;
	}
	if (!parameters().map || map_window(r, parts, layout, x))
		return 0;
	x.reserve.reset();
	for (size_t i = 0; i < parts.size(); i++) {
		x.parts[i].how = part_access::far;
		if (parts[i].fd >= 0)
			map_part(r, parts[i], x.parts[i], nullptr);
	}
	return 0;
}

} // namespace

uint64_t xlate::to_offset(uint64_t addr, bool &ok) const
{
	ok = true;
	if (!(flags & kKeyVirtual))
		return addr;
	for (const xlate_part &p : parts)
		if (addr >= p.va && addr - p.va < p.len)
			return p.off + (addr - p.va);
	const xlate_part &last = parts.back();
	if (addr == last.va + last.len)
		return last.off + last.len; // nothing may be accessed there, except zero bytes
	ok = false;
	return 0;
}

void remote_domain_hollow(remote_domain *r)
{
	std::erase_if(r->cache, [](const auto &entry) { return !entry.second->shown; });
	for (const auto &[key, x] : r->cache)
		if (x->reserve)
			hollow_parts(*x);
	r->seg.map.hollow();
}

remote_domain::~remote_domain()
{
	if (!self && pid)
		unwatch_remote(this);
}

int remote_domain_get(domain *dom, uint32_t pid, int fd, uint64_t nonce, remote_domain **out)
{
	shm_domain &own_shm = shm_of(dom);
	const auto it = own_shm.remotes.find(nonce);
	if (it != own_shm.remotes.end()) {
		it->second->users++;
		*out = it->second.get();
		return 0;
	}
	auto r = std::make_unique<remote_domain>();
	r->dom = dom;
	r->nonce = nonce;
	const auto *own = own_shm.shared.at<segment_header>(0);
	if (own->nonce == nonce) {
		r->self = true;
		r->shared = own_shm.shared.map.get();
	} else {
		if (const int err = segment_open(pid, fd, nonce, segment_kind::domain, kDoorOff, r->seg))
			return err;
		if (r->seg.map.size() != kDomainBytes)
			return -FI_EHOSTUNREACH;
		r->shared = r->seg.map.get();
	}
	const auto *h = reinterpret_cast<const segment_header *>(r->shared);
	r->start_time = h->start_time;
	r->cma = cma_possible(r.get());
	if (!r->self) {
		r->pid = pid;
		if (!dom->peers_watched)
			watch_remote(r.get());
	} else {
		r->pid = own->pid;
	}
	r->users = 1;
	*out = r.get();
	own_shm.remotes.emplace(nonce, std::move(r));
	return 0;
}

void remote_domain_put(remote_domain *r)
{
	if (--r->users == 0)
		shm_of(r->dom).remotes.erase(r->nonce);
}

int remote_translate(remote_domain *r, uint64_t key, xlate **out)
{
	auto it = r->cache.find(key);
	if (it != r->cache.end()) {
		xlate *x = it->second.get();
		if (pgas_load_acquire(&x->entry->live) ==
		    x->live) { // pairs with store_release in publish() and close()
			*out = x;
			return 0;
		}
		retire(r, std::move(it->second));
		r->cache.erase(it);
	}
	for (int tries = 0; tries < 3; tries++) {
		key_entry e;
		const key_entry *where;
		if (!key_read(r->keys(), key, e, &where))
			return -FI_EKEYREJECTED;
		auto x = std::make_unique<xlate>();
		const int err = build(r, e, where, *x);
		if (err == -FI_EAGAIN)
			continue;
		if (err)
			return err;
		*out = x.get();
		r->cache.emplace(key, std::move(x));
		return 0;
	}
	return -FI_EKEYREJECTED;
}

} // namespace pgas
