// SPDX-License-Identifier: BSD-3-Clause
//
// The C names of the team collectives, and the checks before each: an invalid team gives -1; memory that is not
// symmetric, a root outside the team and a stride of zero end the job with a message. With SHMEM_DEBUG the members also
// compare their arguments.
#include "shmem_coll_begin.hpp"
#include "core/shmem_export.hpp"
#include "path/shmem_address.hpp"

#include <cstring>

#include <pgas/pgas_base.hpp>
#include <teams/teams_fold.hpp>

namespace shmem {

void check_alike(team &t, const char *routine, uint64_t elements, int root, const void *dest, const void *source)
{
	struct call {
		uint64_t name, elements, dest, source;
		int64_t root;
	} mine{pgas::hash_bytes(routine, strlen(routine)), elements, symmetric_offset(dest), symmetric_offset(source),
	       root};
	static_assert(sizeof(call) <= teams::kInline);
	teams::exchange(t, &mine, sizeof mine);
	for (int j = 0; j < t.size; j++) {
		call theirs;
		memcpy(&theirs, teams::exchanged(t, j), sizeof theirs);
		if (theirs.name != mine.name)
			fail(routine, "PE %d is in another collective routine on the same team",
			     teams::world_rank(t, j));
		if (theirs.elements != mine.elements)
			fail(routine, "%zu elements here and %zu on PE %d", static_cast<size_t>(elements),
			     static_cast<size_t>(theirs.elements), teams::world_rank(t, j));
		if (theirs.root != mine.root)
			fail(routine, "the root is %d here and %d on PE %d", root, static_cast<int>(theirs.root),
			     teams::world_rank(t, j));
		if (elements && (theirs.dest != mine.dest || theirs.source != mine.source))
			fail(routine, "dest or source is another symmetric object on PE %d", teams::world_rank(t, j));
	}
}

namespace {

using teams::reduction, teams::reduction_of;

int do_reduce(const char *routine, shmem_team_t handle, void *dest, const void *source, size_t count, reduction op)
{
	team *t = begin_collective(routine, handle, dest, source, count, count, op.size);
	if (!t)
		return -1;
	if (PGAS_UNLIKELY(g_shmem.env.debug))
		check_alike(*t, routine, count, 0, dest, source);
	reduce_on(*t, op, dest, source, count, routine);
	return 0;
}

int do_scan(const char *routine, shmem_team_t handle, void *dest, const void *source, size_t count, reduction op,
	    bool exclusive)
{
	team *t = begin_collective(routine, handle, dest, source, count, count, op.size);
	if (!t)
		return -1;
	if (PGAS_UNLIKELY(g_shmem.env.debug))
		check_alike(*t, routine, count, 0, dest, source);
	scan_on(*t, op, dest, source, count, exclusive, routine);
	return 0;
}

int do_broadcast(const char *routine, shmem_team_t handle, void *dest, const void *source, size_t count, int root,
		 size_t size)
{
	team *t = begin_collective(routine, handle, dest, source, count, count, size);
	if (!t)
		return -1;
	check_root(routine, *t, root);
	if (PGAS_UNLIKELY(g_shmem.env.debug))
		check_alike(*t, routine, count, root, dest, source);
	broadcast_on(*t, dest, source, count * size, root, false, routine);
	return 0;
}

int do_fcollect(const char *routine, shmem_team_t handle, void *dest, const void *source, size_t count, size_t size)
{
	team *t = begin_collective(routine, handle, dest, source, count_of_all(routine, handle, count), count, size);
	if (!t)
		return -1;
	if (PGAS_UNLIKELY(g_shmem.env.debug))
		check_alike(*t, routine, count, 0, dest, source);
	fcollect_on(*t, dest, source, count * size, routine);
	return 0;
}

int do_collect(const char *routine, shmem_team_t handle, void *dest, const void *source, size_t count, size_t size)
{
	team *t = begin_collective(routine, handle, dest, source, 0, count, size);
	if (!t)
		return -1;
	if (PGAS_UNLIKELY(g_shmem.env.debug))
		// lengths may differ, and so may an unused source
		check_alike(*t, routine, 0, 0, nullptr, nullptr);
	collect_on(*t, dest, source, count * size, routine);
	return 0;
}

int do_alltoall(const char *routine, shmem_team_t handle, void *dest, const void *source, size_t count, size_t size)
{
	const size_t all = count_of_all(routine, handle, count);
	team *t = begin_collective(routine, handle, dest, source, all, all, size);
	if (!t)
		return -1;
	if (PGAS_UNLIKELY(g_shmem.env.debug))
		check_alike(*t, routine, count, 0, dest, source);
	alltoall_on(*t, dest, source, count * size, routine);
	return 0;
}

int do_alltoalls(const char *routine, shmem_team_t handle, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
		 size_t count, size_t size)
{
	if (dst < 1 || sst < 1)
		fail(routine, "the strides are %td and %td; both must be at least 1", dst, sst);
	const size_t all = count_of_all(routine, handle, count);
	team *t = begin_collective(routine, handle, dest, source, measure_span(all, dst), measure_span(all, sst), size);
	if (!t)
		return -1;
	if (PGAS_UNLIKELY(g_shmem.env.debug))
		check_alike(*t, routine, count, 0, dest, source);
	alltoalls_on(*t, dest, source, dst, sst, count, size, routine);
	return 0;
}

} // namespace
} // namespace shmem

using namespace shmem;

#define BODY_and_reduce(T) do_reduce(name, team, dest, source, nreduce, reduction_of<teams::op_and, T>())
#define BODY_or_reduce(T) do_reduce(name, team, dest, source, nreduce, reduction_of<teams::op_or, T>())
#define BODY_xor_reduce(T) do_reduce(name, team, dest, source, nreduce, reduction_of<teams::op_xor, T>())
#define BODY_max_reduce(T) do_reduce(name, team, dest, source, nreduce, reduction_of<teams::op_max, T>())
#define BODY_min_reduce(T) do_reduce(name, team, dest, source, nreduce, reduction_of<teams::op_min, T>())
#define BODY_sum_reduce(T) do_reduce(name, team, dest, source, nreduce, reduction_of<teams::op_sum, T>())
#define BODY_prod_reduce(T) do_reduce(name, team, dest, source, nreduce, reduction_of<teams::op_prod, T>())
#define BODY_sum_inscan(T) do_scan(name, team, dest, source, nreduce, reduction_of<teams::op_sum, T>(), false)
#define BODY_sum_exscan(T) do_scan(name, team, dest, source, nreduce, reduction_of<teams::op_sum, T>(), true)
#define BODY_alltoall(T) do_alltoall(name, team, dest, source, nelems, sizeof(T))
#define BODY_alltoalls(T) do_alltoalls(name, team, dest, source, dst, sst, nelems, sizeof(T))
#define BODY_broadcast(T) do_broadcast(name, team, dest, source, nelems, PE_root, sizeof(T))
#define BODY_collect(T) do_collect(name, team, dest, source, nelems, sizeof(T))
#define BODY_fcollect(T) do_fcollect(name, team, dest, source, nelems, sizeof(T))
#define DEFINE(R, N, T, CALL, P, A)                                                                                    \
	SHMEM_NAME(int, shmem_##N##_##CALL, P)                                                                         \
	{                                                                                                              \
		constexpr const char *name = "shmem_" #N "_" #CALL;                                                    \
		return BODY_##CALL(T);                                                                                 \
	}
SHMEM_EACH_COLL(DEFINE)
SHMEM_EACH_REDUCE(DEFINE)
#undef DEFINE

SHMEM_NAME(int, shmem_alltoallmem, (shmem_team_t team, void *dest, const void *source, size_t nelems))
{
	return do_alltoall("shmem_alltoallmem", team, dest, source, nelems, 1);
}
SHMEM_NAME(int, shmem_alltoallsmem,
	   (shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))
{
	return do_alltoalls("shmem_alltoallsmem", team, dest, source, dst, sst, nelems, 1);
}
SHMEM_NAME(int, shmem_broadcastmem, (shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root))
{
	return do_broadcast("shmem_broadcastmem", team, dest, source, nelems, PE_root, 1);
}
SHMEM_NAME(int, shmem_collectmem, (shmem_team_t team, void *dest, const void *source, size_t nelems))
{
	return do_collect("shmem_collectmem", team, dest, source, nelems, 1);
}
SHMEM_NAME(int, shmem_fcollectmem, (shmem_team_t team, void *dest, const void *source, size_t nelems))
{
	return do_fcollect("shmem_fcollectmem", team, dest, source, nelems, 1);
}
