// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives on a team or a set, dispatched by the memory of dest and source: to teams/ (windows and wires) or to
// devices.
#pragma once

#include "device/coll/shmem_device_calls.hpp"

namespace shmem {

// in_turn: other members may still be using dest when one calls, and the root's own dest stays unchanged
inline void broadcast_on(teams::team &t, void *dest, const void *source, size_t bytes, int root, bool in_turn,
			 const char *name)
{
	if (any_device(dest, source))
		device_broadcast(t, dest, source, bytes, root, !in_turn, in_turn, name);
	else if (in_turn)
		teams::broadcast_in_turn(t, dest, source, bytes, root, false);
	else
		teams::broadcast(t, dest, source, bytes, root, true);
}
inline void collect_on(teams::team &t, void *dest, const void *source, size_t bytes, const char *name)
{
	if (any_device(dest, source))
		device_collect(t, dest, source, bytes, name);
	else
		teams::collect(t, dest, source, bytes);
}
inline void fcollect_on(teams::team &t, void *dest, const void *source, size_t bytes, const char *name)
{
	if (any_device(dest, source))
		device_fcollect(t, dest, source, bytes, name);
	else
		teams::fcollect(t, dest, source, bytes);
}
inline void alltoall_on(teams::team &t, void *dest, const void *source, size_t bytes, const char *name)
{
	if (any_device(dest, source))
		device_alltoall(t, dest, source, bytes, name);
	else
		teams::alltoall(t, dest, source, bytes);
}
inline void alltoalls_on(teams::team &t, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t count,
			 size_t size, const char *name)
{
	if (any_device(dest, source))
		device_alltoalls(t, dest, source, dst, sst, count, size, name);
	else
		teams::alltoalls(t, dest, source, dst, sst, count, size);
}
inline void gather_on(teams::team &t, void *dest, const void *source, size_t bytes, int root, const char *name)
{
	if (any_device(dest, source))
		device_gather(t, dest, source, bytes, root, name);
	else
		teams::gather(t, dest, source, bytes, root);
}
inline void scatter_on(teams::team &t, void *dest, const void *source, size_t bytes, int root, const char *name)
{
	if (any_device(dest, source))
		device_scatter(t, dest, source, bytes, root, name);
	else
		teams::scatter(t, dest, source, bytes, root);
}
inline void alltoallv_on(teams::team &t, void *dest, const teams::block_list &dst, const void *source,
			 const teams::block_list &src, size_t size, const char *name)
{
	if (any_device(dest, source))
		device_alltoallv(t, dest, dst, source, src, size, name);
	else
		teams::alltoallv(t, name, dest, dst, source, src, size);
}
inline void reduce_on(teams::team &t, const teams::reduction &op, void *dest, const void *source, size_t count,
		      const char *name)
{
	if (any_device(dest, source))
		device_reduce(t, op, dest, source, count, name);
	else
		teams::reduce(t, op, dest, source, count);
}

inline void scan_on(teams::team &t, const teams::reduction &op, void *dest, const void *source, size_t count,
		    bool exclusive, const char *name)
{
	if (any_device(dest, source))
		device_scan(t, op, dest, source, count, exclusive, name);
	else
		teams::scan(t, op, dest, source, count, exclusive);
}

} // namespace shmem
