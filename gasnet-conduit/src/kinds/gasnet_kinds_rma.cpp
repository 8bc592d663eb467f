// SPDX-License-Identifier: BSD-3-Clause
//
// Puts and gets through pairs of endpoints of which at least one is not the first: either side is device memory or host
// memory.
//
//   memory of the peer                     how
//   host memory, other than the first's    the endpoint, by the segment's key
//   host memory here or mapped             copy, or the local device's driver
//   host memory that is not mapped         device <-> buffer, and a transfer of host memory
//   device of this machine                 driver's copy, by a device that has opened the owner's memory
//   device of another machine              order to its owner (gasnet_kinds_far.cpp); a local device uses a buffer
//   two devices unknown to each other      buffer
//
// finish_copies(), which every way to wait for a transfer calls, completes copies that were only started.
#include "gasnet_kinds.hpp"
#include "rma/gasnet_rma.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

namespace gasnet {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;

struct device_transfer {
	const char *call;
	bool put;
	gasnet_node_t node;
	gex_EP_Index_t index; // the peer's
	char *theirs, *mine;
	size_t bytes;
	gasneti_until until;
	int implicit;
	device *dev; // the local side's; null: host memory
};

bool is_within(const void *addr, size_t bytes, uintptr_t start, size_t room)
{
	const uintptr_t off = reinterpret_cast<uintptr_t>(addr) - start;
	return off <= room && bytes <= room - off;
}

// The device of the local side. Device memory must be in the endpoint's segment; host memory may be anywhere.
device *local_device(const char *call, const gasneti_endpoint &ep, const void *addr, size_t bytes)
{
	const made_segment *s = made(ep.segment);
	if (!s || !s->kind)
		return nullptr;
	if (!is_within(addr, bytes, reinterpret_cast<uintptr_t>(s->address), s->bytes))
		fail("%s: %zu bytes at %p are not in the segment of endpoint %u, %zu bytes at %p", call, bytes, addr,
		     ep.index, s->bytes, s->address);
	return s->kind->device;
}

// A copy by that device, in pieces through a buffer if it does not know the local memory.
gex_Event_t copy_by(const device_transfer &j, device &driver, char *theirs)
{
	char *const dst = j.put ? theirs : j.mine, *const src = j.put ? j.mine : theirs;
	if (j.dev && j.dev != &driver && !driver.kind->owns(j.mine)) {
		device &reads = j.put ? *j.dev : driver, &writes = j.put ? driver : *j.dev;
		const auto buffer = std::make_unique<char[]>(std::min(j.bytes, kBufferBytes));
		for (size_t pos = 0; pos < j.bytes; pos += kBufferBytes) {
			const size_t n = std::min(kBufferBytes, j.bytes - pos);
			device_copy(j.call, reads, buffer.get(), src + pos, n);
			device_finish(j.call, reads);
			device_copy(j.call, writes, dst + pos, buffer.get(), n);
			device_finish(j.call, writes);
		}
		return GEX_EVENT_INVALID;
	}
	device_copy(j.call, driver, dst, src, j.bytes);
	if (j.until == GASNETI_TAKEN)
		return far_taken(j.implicit, j.until);
	device_finish(j.call, driver);
	return GEX_EVENT_INVALID;
}

// Host memory that the CPU can access.
gex_Event_t copy_here(const device_transfer &j, char *theirs)
{
	if (j.dev)
		return copy_by(j, *j.dev, theirs);
	if (j.put)
		gasneti_put_here(theirs, j.mine, j.bytes);
	else
		gasneti_get_here(j.mine, theirs, j.bytes);
	return GEX_EVENT_INVALID;
}

// move(offset, address of host memory, bytes, until) completes or, without a local device, gets as far as `until` asks.
template <class Move>
gex_Event_t by_buffer(const device_transfer &j, Move &&move)
{
	if (!j.dev)
		return move(size_t{0}, j.mine, j.bytes, j.until);
	const auto buffer = std::make_unique<char[]>(std::min(j.bytes, kBufferBytes));
	for (size_t pos = 0; pos < j.bytes; pos += kBufferBytes) {
		const size_t n = std::min(kBufferBytes, j.bytes - pos);
		if (j.put) {
			device_copy(j.call, *j.dev, buffer.get(), j.mine + pos, n);
			device_finish(j.call, *j.dev);
		}
		move(pos, buffer.get(), n, GASNETI_DONE);
		if (!j.put) {
			device_copy(j.call, *j.dev, j.mine + pos, buffer.get(), n);
			device_finish(j.call, *j.dev);
		}
	}
	return GEX_EVENT_INVALID;
}

gex_Event_t with_first_segment(const device_transfer &j)
{
	const uint64_t window = gasneti_windows[j.node];
	if (window || j.node == gasneti_front.mynode)
		return copy_here(j, j.theirs + window);
	return by_buffer(j, [&](size_t pos, char *mine, size_t n, gasneti_until until) {
		return j.put ? gasneti_put_far(j.node, j.theirs + pos, mine, n, until, j.implicit)
			     : gasneti_get_far(mine, j.node, j.theirs + pos, n, until, j.implicit);
	});
}

gex_Event_t with_host_segment(const device_transfer &j, uint64_t start)
{
	const uint64_t offset = reinterpret_cast<uintptr_t>(j.theirs) - start, key = segment_key(j.index);
	return by_buffer(j, [&](size_t pos, char *mine, size_t n, gasneti_until until) {
		return j.put ? far_put_key(j.node, key, offset + pos, mine, n, until, j.implicit)
			     : far_get_key(mine, j.node, key, offset + pos, n, until, j.implicit);
	});
}

gex_Event_t with_far_device(const device_transfer &j, uint64_t start)
{
	const uint64_t offset = reinterpret_cast<uintptr_t>(j.theirs) - start;
	return by_buffer(j, [&](size_t pos, char *mine, size_t n, gasneti_until until) -> gex_Event_t {
		if (!j.put) {
			kinds_far_get(j.node, j.index, offset + pos, mine, n);
			return GEX_EVENT_INVALID;
		}
		kinds_far_put(j.node, j.index, offset + pos, mine, n, until);
		return until == GASNETI_DONE ? GEX_EVENT_INVALID : far_taken(j.implicit, until);
	});
}

// Where a local device has mapped that endpoint's memory. Called with kinds_mutex held.
char *open_view(const device_transfer &j, device &driver, peer_end &end)
{
	auto it = std::find_if(end.views.begin(), end.views.end(),
			       [&](const peer_end::view &v) { return v.dev == &driver; });
	if (it == end.views.end()) {
		peer_end::view v{&driver, {}};
		if (driver.kind->take(end.what.handle, v.region) != 0)
			fail("%s: the %s memory of endpoint %u of node %u: %s", j.call, class_name(driver.memory_class),
			     j.index, j.node, driver.kind->last_error());
		it = end.views.insert(end.views.end(), v);
		driver.has_views = true;
	}
	return reinterpret_cast<char *>(it->region.addr + end.what.offset +
					(reinterpret_cast<uintptr_t>(j.theirs) - end.what.address));
}

void check_bounds(const device_transfer &j, uintptr_t start, size_t bytes)
{
	if (!is_within(j.theirs, j.bytes, start, bytes))
		fail("%s: %zu bytes at %p are not in the segment of endpoint %u of node %u, %zu bytes at %#" PRIxPTR,
		     j.call, j.bytes, static_cast<void *>(j.theirs), j.index, j.node, bytes, start);
}

gex_Event_t with_own_node(const device_transfer &j)
{
	const gasneti_endpoint *ep = g_endpoints[j.index];
	const made_segment *s = ep ? made(ep->segment) : nullptr;
	if (!s)
		fail("%s: endpoint %u of node %u does not exist, or has no segment", j.call, j.index, j.node);
	check_bounds(j, reinterpret_cast<uintptr_t>(s->address), s->bytes);
	return s->kind ? copy_by(j, *s->kind->device, j.theirs) : copy_here(j, j.theirs);
}

gex_Event_t with_other_node(const device_transfer &j)
{
	peer_end *end;
	device *driver = nullptr;
	char *theirs = nullptr;
	{
		const pgas::mutex_holder alone(kinds_mutex, kThreads);
		end = find_end(j.node, j.index);
		if (!end)
			fail("%s: endpoint %u of node %u does not exist, or its segment was not published", j.call,
			     j.index, j.node);
		check_bounds(j, end->what.address, end->what.bytes);
		const bool near = g_gasnet.machine_of[j.node] == g_gasnet.machine_of[gasneti_front.mynode];
		if (near && end->what.memory_class != GEX_MK_CLASS_HOST) {
			driver = j.dev && j.dev->memory_class == end->what.memory_class
					 ? j.dev
					 : &device_for(j.call, end->what.memory_class, end->what.handle.device);
			theirs = open_view(j, *driver, *end);
		}
	}
	if (driver)
		return copy_by(j, *driver, theirs);
	return end->what.memory_class == GEX_MK_CLASS_HOST ? with_host_segment(j, end->what.address)
							   : with_far_device(j, end->what.address);
}

gex_Event_t start_transfer(const device_transfer &j)
{
	check_attached(j.call);
	if (!j.bytes)
		return GEX_EVENT_INVALID;
	if (!j.index)
		return with_first_segment(j);
	return j.node == gasneti_front.mynode ? with_own_node(j) : with_other_node(j);
}

gex_Event_t put(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes, gasneti_until until,
		int implicit) noexcept
{
	const char *const call = "gex_RMA_Put";
	const team *p = able_pair_of(call, tm, rank, GEX_EP_CAPABILITY_RMA);
	auto *mine = static_cast<char *>(const_cast<void *>(src));
	return start_transfer({call, true, rank, p->remote, static_cast<char *>(dest), mine, nbytes, until, implicit,
			       local_device(call, *p->local, mine, nbytes)});
}

gex_Event_t get(gex_TM_t tm, void *dest, gex_Rank_t rank, const void *src, size_t nbytes, gasneti_until until,
		int implicit) noexcept
{
	const char *const call = "gex_RMA_Get";
	const team *p = able_pair_of(call, tm, rank, GEX_EP_CAPABILITY_RMA);
	auto *theirs = static_cast<char *>(const_cast<void *>(src));
	return start_transfer({call, false, rank, p->remote, theirs, static_cast<char *>(dest), nbytes, until, implicit,
			       local_device(call, *p->local, dest, nbytes)});
}

gex_Event_t move(const char *call, bool put, const team *p, gex_Rank_t rank, void *theirs, void *mine,
		 size_t nbytes) noexcept
{
	return start_transfer({call, put, rank, p->remote, static_cast<char *>(theirs), static_cast<char *>(mine),
			       nbytes, GASNETI_TAKEN, 0, local_device(call, *p->local, mine, nbytes)});
}

// For this node, src and dst may be the same.
void put_payload(const char *call, gasnet_node_t node, gex_EP_Index_t index, void *dst, const void *src,
		 size_t nbytes) noexcept
{
	auto *mine = static_cast<char *>(const_cast<void *>(src));
	if (node != gasneti_front.mynode || dst != src)
		start_transfer(
			{call, true, node, index, static_cast<char *>(dst), mine, nbytes, GASNETI_DONE, 0, nullptr});
}

} // namespace

const pair_calls g_pairs_of_kinds = {put, get, move, put_payload};

} // namespace gasnet
