// SPDX-License-Identifier: BSD-3-Clause
//
// The memory that ports work on directly: pieces of our regions that are registered with the port, and what peers told
// us of theirs. A piece of a peer's region is asked for once, and remembered.
//
// The owner registers with the port what is requested, and no more: a port that pins memory would make the reserved
// part of a heap real. When the owner closes the region, it tells all peers to which it gave a key.
#include "net_keys.hpp"
#include "engine/pgas_target.hpp"
#include "net_device.hpp"
#include "net_target.hpp"

#include <algorithm>

namespace pgas {
namespace {

// What a port that pins registers at a time; less for requests about a word, which must not wait long.
constexpr uint64_t kPinnedPiece = 64 << 20, kPinnedForWord = 2 << 20;

} // namespace

// --- pieces of our own regions ---------------------------------------------------------------------------------------

// Frees the pieces that are no longer used: their region closed, and no transfer uses them.
void near_sweep(net_domain &d)
{
	std::erase_if(d.near, [&d](auto &p) {
		if (p->region || p->transfers)
			return false;
		d.l->port->ops->conceal(*d.l->port, p->memory);
		return true;
	});
}

// The part of a region that holds an address, as a piece registered with the port. len: of the access.
int expose_around(net_domain &d, const mr &m, uint64_t va, uint64_t len, near_piece **out)
{
	port &base = *d.l->port;
	if (m.flags & kKeyDevice)
		return expose_device_around(d, m, va, out);
	if (near_piece *known = known_near(d, m, va)) {
		*out = known;
		return 0;
	}
	for (const mem_part &part : m.parts) {
		if (va < part.va || va - part.va >= part.len)
			continue;
		near_piece p{&m, part.va, part.len, {}};
		if (base.limits.pins) {
			const uint64_t piece = len > sizeof(uint64_t) ? kPinnedPiece : kPinnedForWord;
			p.off = std::max(part.va, va & ~(piece - 1));
			p.len = std::min(part.va + part.len, (va | (piece - 1)) + 1) - p.off;
		}
		if (const int err =
			    base.ops->expose(base, reinterpret_cast<void *>(p.off), p.len, rights_of(m), &p.memory)) {
			PGAS_INFO(FI_LOG_MR, "link: %llu bytes cannot be registered for bulk: %s\n",
				  static_cast<unsigned long long>(p.len), pgas_strerror(-err));
			return -FI_EOPNOTSUPP;
		}
		d.near.push_back(std::make_unique<near_piece>(p));
		*out = d.near.back().get();
		return 0;
	}
	return -FI_EACCES;
}

// Returns the piece of one of our regions that holds a buffer, registered once; null: none. Other memory is registered
// for each transfer: it may be unmapped and mapped anew without our knowledge.
near_piece *piece_around(net_domain &d, uint64_t va, size_t len)
{
	for (const auto &[key, m] : d.dom->regions) {
		near_piece *p = nullptr;
		if (m->open && !(m->flags & (kKeyWhole | kKeyDevice)) && expose_around(d, *m, va, len, &p) == 0)
			return va - p->off + len <= p->len ? p : nullptr;
	}
	return nullptr;
}

// --- pieces of peers' regions ----------------------------------------------------------------------------------------

// A refusal applies only to operations that already wait for it; later operations ask again.
void forget_refusals(channel &c)
{
	if (std::erase_if(side_of(c).pieces, [](const far_piece &p) { return p.status; }))
		side_of(c).era++;
}

const far_piece *known_piece(const channel &c, uint64_t key, uint64_t addr, bool write)
{
	for (const far_piece &p : side_of(c).pieces)
		if (p.key == key && p.write == write && addr >= p.addr && addr - p.addr < p.len)
			return &p;
	return nullptr;
}

// --- answering keys --------------------------------------------------------------------------------------------------

namespace {

int answer(net_domain &d, const net_ep &ep, key_frame &f)
{
	target_memory memory;
	if (const int err =
		    target_find(d.dom, f.key, f.addr, f.len, f.write ? FI_REMOTE_WRITE : FI_REMOTE_READ, memory))
		return err;
	const mr &m = *memory.region;
	if (m.flags & kKeyWhole || memory.pieces.empty())
		return -FI_EOPNOTSUPP; // the whole address space cannot be registered
	const auto va = reinterpret_cast<uint64_t>(memory.pieces[0].iov_base);
	near_piece *p = nullptr;
	if (const int err = expose_around(d, m, va, f.len, &p))
		return err;
	f.addr -= va - p->off; // the whole piece, in the peer's way of addressing it
	f.len = p->len;
	f.port_addr = p->memory.addr;
	f.port_key = p->memory.key;
	f.reads = (m.access & FI_REMOTE_READ) != 0;
	f.counts = m.rem_wr || m.rem_rd || ep.ep->c_rem_write || ep.ep->c_rem_read;
	return 0;
}

} // namespace

bool key_asked(net_domain &d, channel &c, const frame_head &h, const char *bytes, size_t len)
{
	key_frame f;
	if (!frame_read(bytes, len, f))
		return false;
	const net_ep *ep = target_of(d, h);
	f.status = !ep                               ? -FI_ECONNRESET
		   : !c.link->port->limits.bulk_from ? -FI_EOPNOTSUPP // signed links expose no memory
						     : answer(d, *ep, f);
	return frame_send(c, frame_kind::key_answer, h.dst, h.src, f, true) || c.open();
}

bool key_answered(net_domain &d, channel &c, const char *bytes, size_t len)
{
	constexpr size_t kPiecesMost = 4096; // remembered; beyond that, the peer is asked again
	key_frame f;
	if (!frame_read(bytes, len, f) || !f.len || f.addr + f.len < f.addr)
		return false; // an answer about nothing, which was not asked for
	auto &known = side_of(c).pieces;
	if (known.size() >= kPiecesMost) {
		known.clear();
		side_of(c).era++;
	}
	if (f.status > 0 || f.status < -4095)
		f.status = -FI_EIO;
	known.push_back(
		{f.key, f.addr, f.len, f.port_addr, f.port_key, f.write != 0, f.counts != 0, f.reads != 0, f.status});
	d.put_aside = true;
	return true;
}

bool key_gone(channel &c, const char *bytes, size_t len)
{
	key_frame f;
	if (!frame_read(bytes, len, f))
		return false;
	std::erase_if(side_of(c).pieces, [&f](const far_piece &p) { return p.key == f.key; });
	side_of(c).era++;
	run_close(c); // no direct puts there any more
	return true;
}

void keys_mr_close(wire_domain &base, mr &m)
{
	auto &d = static_cast<net_domain &>(base);
	d.last_region = nullptr;
	bool given = false;
	for (const auto &p : d.near) {
		given = given || p->region == &m;
		if (p->region == &m)
			p->region = nullptr;
	}
	if (!given)
		return;
	near_sweep(d);
	const key_frame f{m.key, 0, 0, 0, 0, 0, 0, 0, 0, 0};
	for (auto &c : d.l->channels) {
		if (c && c->open() && frame_send(*c, frame_kind::key_gone, 0, 0, f, true))
			frame_push(*c);
	}
}

} // namespace pgas
