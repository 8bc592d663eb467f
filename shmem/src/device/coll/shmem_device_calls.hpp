// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives whose dest or source is device memory.
#pragma once

#include <teams/teams_coll.hpp>

#include "device/shmem_partition.hpp"

namespace shmem {

inline bool any_device(const void *dest, const void *source)
{
	return PGAS_UNLIKELY(g_shmem.devices) && (device_of(dest) || device_of(source));
}
void device_broadcast(teams::team &t, void *dest, const void *source, size_t bytes, int root, bool root_too,
		      bool in_turn, const char *name);
void device_fcollect(teams::team &t, void *dest, const void *source, size_t bytes, const char *name);
void device_collect(teams::team &t, void *dest, const void *source, size_t bytes, const char *name);
void device_alltoall(teams::team &t, void *dest, const void *source, size_t bytes, const char *name);
void device_alltoalls(teams::team &t, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t count,
		      size_t size, const char *name);
void device_gather(teams::team &t, void *dest, const void *source, size_t bytes, int root, const char *name);
void device_scatter(teams::team &t, void *dest, const void *source, size_t bytes, int root, const char *name);
void device_alltoallv(teams::team &t, void *dest, const teams::block_list &dst, const void *source,
		      const teams::block_list &src, size_t size, const char *name);
void device_reduce(teams::team &t, const teams::reduction &op, void *dest, const void *source, size_t elements,
		   const char *name);
void device_scan(teams::team &t, const teams::reduction &op, void *dest, const void *source, size_t elements,
		 bool exclusive, const char *name);

} // namespace shmem
