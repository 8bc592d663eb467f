// SPDX-License-Identifier: BSD-3-Clause
//
// The memory that the port of a link works on directly, ours and the peers' (net_keys.cpp).
#pragma once

#include "net.hpp"

#include <algorithm>

namespace pgas {

// Our own. Returns the registered piece that holds an address; null: the port does not know that address.
inline near_piece *known_near(const net_domain &d, const mr &m, uint64_t va)
{
	const auto it = std::find_if(d.near.begin(), d.near.end(), [&](const auto &p) {
		return p->region == &m && va >= p->off && va - p->off < p->len;
	});
	return it == d.near.end() ? nullptr : it->get();
}

inline port_rights rights_of(const mr &m)
{
	return static_cast<port_rights>((m.access & FI_REMOTE_READ ? kPortRead : 0) |
					(m.access & FI_REMOTE_WRITE ? kPortWrite : 0));
}
// The part of a region that holds an address, as a piece registered with the port. len: of the access. 0 or -FI_E*.
int expose_around(net_domain &d, const mr &m, uint64_t va, uint64_t len, near_piece **out);
// Returns the piece of one of our regions that holds a buffer, registered once; null: none. Other memory is registered
// for each transfer: it may be unmapped and mapped anew without our knowledge.
near_piece *piece_around(net_domain &d, uint64_t va, size_t len);
void near_sweep(
	net_domain &d); // frees the pieces that are no longer used: their region closed, and no transfer uses them
void keys_mr_close(wire_domain &d, mr &m);

// A peer's: null if it was not asked about that address.
const far_piece *known_piece(const channel &c, uint64_t key, uint64_t addr, bool write);
void forget_refusals(channel &c); // a refusal applies only to operations that already wait for it
bool key_asked(net_domain &d, channel &c, const frame_head &h, const char *bytes, size_t len);
bool key_answered(net_domain &d, channel &c, const char *bytes, size_t len);
bool key_gone(channel &c, const char *bytes, size_t len);

} // namespace pgas
