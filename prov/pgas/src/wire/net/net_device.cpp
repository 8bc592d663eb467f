// SPDX-License-Identifier: BSD-3-Clause
//
// Device memory that the port reaches by itself (port_limits::devices): it is registered there at the first transfer
// that needs it, on either side, and then bulk works as between host memories. What the port refuses is staged: our own
// buffer when the call is made, and a peer's region by requests, whose bytes its owner's driver copies.
#include "net_device.hpp"
#include "hmem/pgas_hmem.hpp"
#include "net_keys.hpp"

#include <algorithm>

#include <devices/devices_kind.hpp>

namespace pgas {
namespace {

port_device device_for(const devices::kind &k, int number)
{
	return {hmem_interface(k), number};
}

// Returns the piece of one of our regions that holds a buffer, as the port knows it; null: none.
near_piece *device_piece_around(net_domain &d, uint64_t va, size_t len, int *err)
{
	for (const auto &[key, m] : d.dom->regions) {
		near_piece *p = nullptr;
		if (!m->open || !(m->flags & kKeyDevice))
			continue;
		*err = expose_device_around(d, *m, va, &p);
		if (*err != -FI_EACCES)
			return p && len <= p->len - (va - p->off) ? p : nullptr;
	}
	*err = 0;
	return nullptr;
}

// Returns the buffer of an operation that contains its byte `pos`.
size_t buffer_at(const op &o, uint64_t pos)
{
	size_t i = 0;
	while (i + 1 < o.iov_count && pos >= o.iov[i].iov_len)
		pos -= o.iov[i++].iov_len;
	return i;
}

} // namespace

// A part of a region is registered as a whole: device memory is always backed. A refusal is remembered as well, so that
// the provider is asked, and the warning logged, only once. -FI_EACCES: the address is not in the region.
int expose_device_around(net_domain &d, const mr &m, uint64_t va, near_piece **out)
{
	port &base = *d.l->port;
	if (!base.limits.devices)
		return -FI_EOPNOTSUPP;
	near_piece *known = known_near(d, m, va);
	for (const mem_part &part : m.parts) {
		if (known || va < part.va || va - part.va >= part.len)
			continue;
		near_piece p{&m, part.va, part.len, {}};
		const port_device device = device_for(*m.kind, m.device);
		const int err = base.ops->expose_device(base, reinterpret_cast<void *>(p.off), p.len, device,
							rights_of(m), &p.memory);
		p.refused = err != 0;
		if (err)
			PGAS_WARN(
				FI_LOG_MR,
				"link: %s does not register %zu bytes of %s memory (%s): they go through memory of the "
				"host\n",
				base.name.c_str(), static_cast<size_t>(p.len), m.kind->name(), pgas_strerror(-err));
		d.near.push_back(std::make_unique<near_piece>(p));
		known = d.near.back().get();
	}
	if (!known)
		return -FI_EACCES;
	*out = known->refused ? nullptr : known;
	return known->refused ? -FI_EOPNOTSUPP : 0;
}

// For an operation with `direct`: registers the buffer that holds its next bytes. Returns false if that is host memory.
// If a region guaranteed the buffer's lifetime and closed meanwhile, the memory is registered for this one transfer.
bool expose_direct(net_domain &d, bulk_transfer &t, const op &o, void *base, size_t len, void **handle, int *err)
{
	const hmem_list &b = o.hmem->buffers;
	const size_t i = buffer_at(o, o.sent);
	if (!b.kinds[i])
		return false;
	t.piece = device_piece_around(d, reinterpret_cast<uint64_t>(base), len, err);
	if (t.piece) {
		t.piece->transfers++;
		*handle = t.piece->memory.handle;
		return true;
	}
	port &base_port = *d.l->port;
	if (!*err)
		*err = base_port.ops->expose_device(base_port, base, len, device_for(*b.kinds[i], b.numbers[i]),
						    kPortLocal, &t.local);
	*handle = t.local.handle;
	return true;
}

bool net_mr_direct(wire_domain &base, const mr &m)
{
	auto &d = static_cast<net_domain &>(base);
	near_piece *p = nullptr;
	return std::ranges::all_of(m.parts, [&](const mem_part &part) {
		return !part.len || expose_device_around(d, m, part.va, &p) == 0;
	});
}

bool net_rma_direct(wire_ep &ep, peer &p, const op &o, const hmem_list &buffers)
{
	net_domain &d = *net_of(ep).dom;
	const port_limits &can = d.l->port->limits;
	if (!can.devices || !can.bulk_from || o.len < parameters().net_bulk || !net_of(p).c->open())
		return false;
	for (size_t i = 0; i < buffers.count; i++) {
		int err = 0;
		if (!buffers.kinds[i])
			continue;
		// memory freed while registered: the staged path reports it
		if (!hmem_owns(*buffers.kinds[i], buffers.iov[i].iov_base, buffers.iov[i].iov_len))
			return false;
		if (!device_piece_around(d, reinterpret_cast<uint64_t>(buffers.iov[i].iov_base), buffers.iov[i].iov_len,
					 &err))
			return false;
	}
	return true;
}

} // namespace pgas
