// SPDX-License-Identifier: BSD-3-Clause
//
// Symmetric addresses: the static data, the heap, and partitions.
#include "shmem_address.hpp"
#include "core/shmem_fabric.hpp"
#include "device/shmem_partition.hpp"

namespace shmem {

uint64_t heap_offset()
{
	constexpr uint64_t unit = uint64_t{1} << 30; // a hole after the static data: overruns are in neither part
	return (g_shmem.data.bytes / unit + 2) * unit;
}

uint64_t symmetric_offset(const void *ptr)
{
	const auto addr = reinterpret_cast<uintptr_t>(ptr);
	const part &h = g_shmem.heap_part;
	if (const partition *p = device_of(ptr)) // above all offsets of the region
		return (uint64_t{1} << 63) + (static_cast<uint64_t>(p->index) << 48) + (addr - p->mine.addr);
	return addr >= h.addr && addr - h.addr < h.bytes + g_shmem.behind_heap ? heap_offset() + (addr - h.addr)
									       : addr - g_shmem.data.addr;
}

bool is_symmetric(const void *ptr, size_t bytes)
{
	const auto addr = reinterpret_cast<uintptr_t>(ptr);
	for (const part &p : {g_shmem.data, g_shmem.heap_part})
		if (p.bytes && addr >= p.addr && bytes <= p.bytes && addr - p.addr <= p.bytes - bytes)
			return true;
	const partition *p = PGAS_UNLIKELY(g_partitions.count) ? partition_of(ptr) : nullptr;
	return p && bytes <= p->mine.bytes && addr - p->mine.addr <= p->mine.bytes - bytes;
}

void *peer_pointer(const void *ptr, int pe)
{
	if (on_other_host(pe))
		return nullptr;
	if (PGAS_UNLIKELY(g_shmem.devices))
		if (partition *p = device_of(ptr))
			return device_peer(*p, ptr, pe, "shmem_ptr");
	return host_pointer(ptr, pe);
}

} // namespace shmem
