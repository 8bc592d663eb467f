// SPDX-License-Identifier: BSD-3-Clause
//
// The endpoint and the memory that a frame names.
#include "net_target.hpp"

namespace pgas {

net_ep *target_of(const net_domain &d, const frame_head &h)
{
	net_ep *ep = h.dst < d.eps.size() ? d.eps[h.dst] : nullptr;
	return ep && ep->ep->enabled ? ep : nullptr;
}

char *plain_memory(net_ep &ep, uint64_t key, uint64_t addr, size_t len, uint64_t right)
{
	net_domain &d = *ep.dom;
	const mr *m = d.last_region;
	if (!m || m->key != key) {
		const auto it = d.dom->regions.find(key);
		if (it == d.dom->regions.end())
			return nullptr;
		m = d.last_region = it->second;
	}
	if (!m->open || m->flags || m->serve || (m->access & right) != right || m->rem_wr || m->rem_rd ||
	    ep.ep->c_rem_write || ep.ep->c_rem_read)
		return nullptr;
	for (const mem_part &p : m->parts)
		if (addr >= p.off && addr - p.off < p.len && len <= p.len - (addr - p.off))
			return reinterpret_cast<char *>(p.va + (addr - p.off));
	return nullptr;
}

} // namespace pgas
