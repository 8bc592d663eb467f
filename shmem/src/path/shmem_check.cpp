// SPDX-License-Identifier: BSD-3-Clause
//
// Wrong arguments: one line says which PE, which routine, which argument, and what was expected; then the job ends. The
// hot path makes no tests: a wrong PE finds an empty window and takes the cold exit, which checks; a wrong address
// faults (shmem_fault.cpp).
#include "shmem_check.hpp"
#include "shmem_address.hpp"
#include "shmem_library.hpp"
#include "core/shmem_fail.hpp"
#include "device/shmem_partition.hpp"

namespace shmem {

void check_symmetric(const char *routine, const char *argument, const void *ptr, size_t bytes)
{
	if (PGAS_LIKELY(!bytes || is_symmetric(ptr, bytes)))
		return;
	libraries_record();
	if (const char *name = library_find(reinterpret_cast<uintptr_t>(ptr)))
		fail(routine, "%s %p is static data of %s: only the program's own static data is symmetric", argument,
		     ptr, name);
	fail(routine,
	     "%s %p (%zu bytes) is not symmetric memory: static data of the program, shmem_malloc or a partition",
	     argument, ptr, bytes);
}

void check_host(const char *routine, const char *argument, const void *ptr, size_t bytes)
{
	check_symmetric(routine, argument, ptr, bytes);
	if (const partition *p = g_shmem.devices ? device_of(ptr) : nullptr)
		fail(routine, "%s %p is in partition %d, which is device memory; it must be host memory", argument, ptr,
		     p->wish.id);
}

void check_stride(const char *routine, ptrdiff_t dst, ptrdiff_t sst)
{
	if (PGAS_UNLIKELY(dst < 1 || sst < 1))
		fail(routine, "strides are %td and %td; both must be 1 or more", dst, sst);
}

void check_blocks(const char *routine, ptrdiff_t dst, ptrdiff_t sst, size_t bsize)
{
	check_stride(routine, dst, sst);
	if (PGAS_UNLIKELY(static_cast<size_t>(dst) < bsize || static_cast<size_t>(sst) < bsize))
		fail(routine, "strides are %td and %td; both must be at least the block size %zu", dst, sst, bsize);
}

} // namespace shmem
