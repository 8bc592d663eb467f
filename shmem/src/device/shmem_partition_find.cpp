// SPDX-License-Identifier: BSD-3-Clause
//
// The table of partitions, and which of them contains an address.
#include "shmem_partition.hpp"

namespace shmem {

partition_table g_partitions;

partition *device_search(uintptr_t addr)
{
	for (int i = 0; i < g_partitions.count; i++)
		if (partition &p = g_partitions.all[i]; p.kind && addr - p.mine.addr < p.mine.bytes)
			return &p;
	return nullptr;
}

partition *partition_of(const void *ptr)
{
	const auto addr = reinterpret_cast<uintptr_t>(ptr);
	for (int i = 0; i < g_partitions.count; i++)
		if (partition &p = g_partitions.all[i]; addr - p.mine.addr < p.mine.bytes)
			return &p;
	return nullptr;
}

} // namespace shmem
