// SPDX-License-Identifier: BSD-3-Clause
//
// Device partitions of other PEs: each is opened at the first access to it.
#include "shmem_partition.hpp"
#include "core/shmem_fabric.hpp"
#include "core/shmem_fail.hpp"

#include <utility>

#include <pgas/pgas_base.hpp>

namespace shmem {
namespace {

pthread_mutex_t g_open_mutex = PTHREAD_MUTEX_INITIALIZER;

[[gnu::cold, gnu::noinline]] void open_peer(partition &p, int pe, const char *name)
{
	const pgas::mutex_holder alone(g_open_mutex);
	devices::region &r = p.peers[pe];
	if (r.bytes)
		return;
	devices::handle there{};
	fabric_get(&g_own, &there, &g_partitions.handles[p.index], sizeof there, pe, name);
	devices::region opened{};
	if (p.kind->take(there, opened) != 0)
		fail(name, "cannot open partition %d of PE %d: %s", p.wish.id, pe, p.kind->last_error());
	if (opened.bytes < p.mine.bytes)
		fail(name, "partition %d of PE %d has %zu bytes, and %zu here", p.wish.id, pe, opened.bytes,
		     p.mine.bytes);
	const size_t bytes = std::exchange(opened.bytes, 0);
	r = opened;
	pgas_store_release(&r.bytes, bytes); // pairs with load_acquire in device_peer()
}

} // namespace

void *device_peer(partition &p, const void *ptr, int pe, const char *name)
{
	const uintptr_t offset = reinterpret_cast<uintptr_t>(ptr) - p.mine.addr;
	if (pe == g_shmem.my_pe)
		return const_cast<void *>(ptr);
	if (PGAS_UNLIKELY(!pgas_load_acquire(&p.peers[pe].bytes))) // pairs with store_release in open_peer()
		open_peer(p, pe, name);
	return reinterpret_cast<void *>(p.peers[pe].addr + offset);
}

// Queried once. For kinds that cannot tell, each PE counts as a device of its own.
uint64_t device_number(partition &p, int pe, const char *name)
{
	uint64_t known = pgas_load_relaxed(&p.devices[pe]);
	if (PGAS_LIKELY(known))
		return known;
	devices::handle there = g_partitions.handles[p.index];
	if (pe != g_shmem.my_pe)
		fabric_get(&g_own, &there, &g_partitions.handles[p.index], sizeof there, pe, name);
	const uint64_t what[] = {g_shmem.hosts[pe], there.device, there.device ? 0 : static_cast<uint64_t>(pe) + 1};
	known = pgas::hash_bytes(what, sizeof what) | 1;
	pgas_store_relaxed(&p.devices[pe], known);
	return known;
}

} // namespace shmem
