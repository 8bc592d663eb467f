// SPDX-License-Identifier: BSD-3-Clause
//
// SHMEM_DEBUG: allocation in a partition is local, so no call can compare its arguments with those of other PEs. Each
// PE keeps a running hash of its calls, with the values of the last kKept calls, in symmetric memory; a PE that
// accesses a peer's partition compares the calls that both have made.
#include "shmem_partition.hpp"
#include "core/shmem_fabric.hpp"
#include "core/shmem_fail.hpp"

#include <algorithm>

#include <pgas/pgas_base.hpp>

namespace shmem {
namespace {

constexpr uint64_t kKept = 512;

} // namespace

struct partition_order {
	uint64_t count; // written after the sum
	uint64_t sums[kKept];
};

size_t order_bytes()
{
	return g_shmem.env.debug ? static_cast<size_t>(g_partitions.count) * sizeof(partition_order) : 0;
}

void order_note(const partition &p, uint64_t what, size_t bytes, size_t align)
{
	if (!g_shmem.env.debug || !g_partitions.orders)
		return;
	partition_order &mine = g_partitions.orders[p.index];
	const uint64_t before = mine.count ? mine.sums[(mine.count - 1) % kKept] : 0;
	const uint64_t call[] = {before, what, bytes, align};
	mine.sums[mine.count % kKept] = pgas::hash_bytes(call, sizeof call);
	pgas_store_release(&mine.count, mine.count + 1); // the get in order_compare() reads it first
}

void order_compare(const char *name, const void *ptr, int pe)
{
	const partition *p = partition_of(ptr);
	if (!p || !g_partitions.orders || pe == g_shmem.my_pe)
		return;
	partition_order &mine = g_partitions.orders[p->index];
	uint64_t theirs = 0;
	fabric_get(&g_own, &theirs, &mine.count, sizeof theirs, pe, name);
	const uint64_t both = std::min(mine.count, theirs), most = std::max(mine.count, theirs);
	if (!both || most - both >= kKept)
		return;
	uint64_t sum = 0;
	fabric_get(&g_own, &sum, &mine.sums[(both - 1) % kKept], sizeof sum, pe, name);
	if (sum != mine.sums[(both - 1) % kKept])
		fail(name,
		     "the first %llu calls that allocate or free in partition %d are not the same here and on PE %d; "
		     "all "
		     "PEs must make the same calls in the same order",
		     static_cast<unsigned long long>(both), p->wish.id, pe);
}

} // namespace shmem
