// SPDX-License-Identifier: BSD-3-Clause
//
// Calls for partitions: allocation, which is local and waits for no other PE (a map clause of OpenMP cannot wait), and
// queries.
#include "shmem_partition.hpp"
#include "shmem_device.hpp"
#include "core/shmem_export.hpp"
#include "core/shmem_fail.hpp"

#include <cerrno>
#include <cstring>

#include <pgas/pgas_base.hpp>

namespace shmem {
namespace {

partition *find(int id)
{
	for (int i = 0; i < g_partitions.count; i++)
		if (g_partitions.all[i].wish.id == id)
			return &g_partitions.all[i];
	return nullptr;
}

partition &require_partition(const char *routine, int id)
{
	check_running(routine);
	partition *p = find(id);
	if (!p)
		fail(routine, "there is no partition %d; set SHMEM_SYMMETRIC_PARTITION%d to its size and kind", id, id);
	return *p;
}

void clear(const char *routine, const partition &p, void *ptr, size_t bytes)
{
	if (!p.kind)
		memset(ptr, 0, bytes);
	else if (p.kind->fill(ptr, 0, bytes) != 0)
		driver_failed(*p.kind, routine);
}

bool is_alignment(size_t align)
{
	return align && !(align & (align - 1));
}

} // namespace

// Alignment applies to offsets; the start of a partition has the alignment of its pages.
void *partition_allocate(partition &p, size_t bytes, size_t align)
{
	if (!bytes)
		return nullptr;
	const pgas::mutex_holder lock(g_shmem.heap_mutex);
	const uint64_t offset = p.pool.alloc(bytes, align);
	order_note(p, 1, bytes, align);
	if (offset == devices::pool::kNone)
		return nullptr;
	return reinterpret_cast<void *>(p.mine.addr + offset);
}

void *partition_allocate_zeros(const char *routine, partition &p, size_t count, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes))
		return nullptr;
	void *ptr = partition_allocate(p, bytes, 0);
	if (ptr)
		clear(routine, p, ptr, bytes);
	return ptr;
}

bool partition_release(partition &p, void *ptr)
{
	const pgas::mutex_holder lock(g_shmem.heap_mutex);
	const uint64_t offset = reinterpret_cast<uintptr_t>(ptr) - p.mine.addr;
	if (offset >= p.mine.bytes || !p.pool.release(offset))
		return false;
	order_note(p, 2, offset, 0);
	return true;
}

} // namespace shmem

using namespace shmem;

SHMEM_NAME(void *, shmem_partition_malloc, (size_t size, int id))
{
	return partition_allocate(require_partition("shmem_partition_malloc", id), size, 0);
}
SHMEM_NAME(void *, shmem_partition_calloc, (size_t count, size_t size, int id))
{
	partition &p = require_partition("shmem_partition_calloc", id);
	return partition_allocate_zeros("shmem_partition_calloc", p, count, size);
}
SHMEM_NAME(void *, shmem_partition_align, (size_t alignment, size_t size, int id))
{
	partition &p = require_partition("shmem_partition_align", id);
	return is_alignment(alignment) ? partition_allocate(p, size, alignment) : nullptr;
}
SHMEM_NAME(void, shmem_partition_free, (void *ptr))
{
	check_running("shmem_partition_free");
	if (!ptr)
		return;
	partition *p = partition_of(ptr);
	if (!p || !partition_release(*p, ptr))
		fail("shmem_partition_free",
		     "%p is not a block of a partition (never allocated, inside a block, or freed before)", ptr);
}
SHMEM_NAME(int, shmemx_partition_count, (void))
{
	check_running("shmemx_partition_count");
	return g_partitions.count;
}
SHMEM_NAME(int, shmemx_partition_id, (int index))
{
	check_running("shmemx_partition_id");
	return index >= 0 && index < g_partitions.count ? g_partitions.all[index].wish.id : -1;
}
SHMEM_NAME(const char *, shmemx_partition_kind, (int id))
{
	check_running("shmemx_partition_kind");
	const partition *p = find(id);
	return !p ? nullptr : p->kind ? p->kind->name() : "host";
}
SHMEM_NAME(size_t, shmemx_partition_size, (int id))
{
	check_running("shmemx_partition_size");
	const partition *p = find(id);
	return p ? p->mine.bytes : 0;
}
SHMEM_NAME(size_t, shmemx_partition_free_bytes, (int id))
{
	check_running("shmemx_partition_free_bytes");
	const pgas::mutex_holder lock(g_shmem.heap_mutex);
	const partition *p = find(id);
	return p ? p->pool.stats().free_bytes : 0;
}
SHMEM_NAME(int, shmemx_partition_of, (const void *addr))
{
	check_running("shmemx_partition_of");
	const partition *p = partition_of(addr);
	return p ? p->wish.id : -1;
}
SHMEM_NAME(void, shmemx_partition_copy, (void *dest, const void *source, size_t bytes))
{
	check_running("shmemx_partition_copy");
	if (bytes)
		device_copy(dest, source, bytes, "shmemx_partition_copy");
}
