// SPDX-License-Identifier: BSD-3-Clause
//
// The C names of the team collectives beyond the standard: gather, scatter and alltoallv. The checks are those of
// shmem_coll_names.cpp; for alltoallv also that its blocks are within symmetric memory and, with SHMEM_DEBUG, that no
// two blocks of dest overlap.
#include "shmem_coll_begin.hpp"
#include "core/shmem_export.hpp"

#include <algorithm>
#include <vector>

#include <shmemx.h>

namespace shmem {
namespace {

int do_gather(const char *routine, shmem_team_t handle, void *dest, const void *source, size_t count, int root,
	      size_t size)
{
	const size_t all = count_of_all(routine, handle, count);
	team *t = begin_collective(routine, handle, dest, source, all, count,
				   size); // its address locates the root's dest
	if (!t)
		return -1;
	check_root(routine, *t, root);
	if (PGAS_UNLIKELY(g_shmem.env.debug))
		check_alike(*t, routine, count, root, dest, source);
	gather_on(*t, dest, source, count * size, root, routine);
	return 0;
}

int do_scatter(const char *routine, shmem_team_t handle, void *dest, const void *source, size_t count, int root,
	       size_t size)
{
	const size_t all = count_of_all(routine, handle, count);
	team *t = begin_collective(routine, handle, dest, source, count, all, size);
	if (!t)
		return -1;
	check_root(routine, *t, root);
	if (PGAS_UNLIKELY(g_shmem.env.debug))
		check_alike(*t, routine, count, root, dest, source);
	scatter_on(*t, dest, source, count * size, root, routine);
	return 0;
}

// Number of elements up to the end of the last block.
size_t span_of(const char *routine, const char *counts_name, const char *displs_name, const teams::block_list &b, int n)
{
	if (!b.counts || !b.displs)
		fail(routine, "%s is NULL; it must have an element for each PE of the team",
		     b.counts ? displs_name : counts_name);
	size_t span = 0;
	for (size_t i = 0; i < static_cast<size_t>(n); i++) {
		size_t end;
		if (__builtin_add_overflow(b.counts[i], b.displs[i], &end))
			fail(routine, "%s[%zu] and %s[%zu] do not fit in memory", counts_name, i, displs_name, i);
		if (b.counts[i])
			span = std::max(span, end);
	}
	return span;
}

void check_apart(const char *routine, const teams::block_list &b, int n)
{
	std::vector<size_t> order;
	for (size_t i = 0; i < static_cast<size_t>(n); i++)
		if (b.counts[i])
			order.push_back(i);
	std::sort(order.begin(), order.end(), [&](size_t x, size_t y) { return b.displs[x] < b.displs[y]; });
	for (size_t k = 1; k < order.size(); k++) {
		const size_t x = order[k - 1], y = order[k];
		if (b.displs[x] + b.counts[x] > b.displs[y])
			fail(routine, "the blocks of dest for PEs %zu and %zu of the team overlap", x, y);
	}
}

int do_alltoallv(const char *routine, shmem_team_t handle, void *dest, const teams::block_list &dst, const void *source,
		 const teams::block_list &src, size_t size)
{
	team *t = begin_collective(routine, handle, dest, source, 0, 0, size);
	if (!t)
		return -1;
	const size_t written = span_of(routine, "dest_counts", "dest_displs", dst, t->size);
	const size_t read = span_of(routine, "source_counts", "source_displs", src, t->size);
	// a PE that sends but receives nothing also needs a dest: its address locates the others'
	begin_collective(routine, handle, dest, source, written || !read ? written : 1, read, size);
	if (PGAS_UNLIKELY(g_shmem.env.debug)) {
		check_apart(routine, dst, t->size);
		check_alike(*t, routine, size, 0, dest, source);
	}
	alltoallv_on(*t, dest, dst, source, src, size, routine);
	return 0;
}

} // namespace
} // namespace shmem

using namespace shmem;

#define BODY_alltoallv(S)                                                                                              \
	do_alltoallv(name, team, dest, {dest_counts, dest_displs}, source, {source_counts, source_displs}, S)
#define BODY_gather(S) do_gather(name, team, dest, source, nelems, PE_root, S)
#define BODY_scatter(S) do_scatter(name, team, dest, source, nelems, PE_root, S)
#define DEFINE(R, N, T, CALL, P, A)                                                                                    \
	SHMEM_NAME(int, shmemx_##N##_##CALL, P)                                                                        \
	{                                                                                                              \
		constexpr const char *name = "shmemx_" #N "_" #CALL;                                                   \
		return BODY_##CALL(sizeof(T));                                                                         \
	}
SHMEMX_EACH_COLL(DEFINE)
#undef DEFINE

SHMEM_NAME(int, shmemx_alltoallvmem,
	   (shmem_team_t team, void *dest, const size_t *dest_counts, const size_t *dest_displs, const void *source,
	    const size_t *source_counts, const size_t *source_displs))
{
	constexpr const char *name = "shmemx_alltoallvmem";
	return BODY_alltoallv(1);
}
SHMEM_NAME(int, shmemx_gathermem, (shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root))
{
	constexpr const char *name = "shmemx_gathermem";
	return BODY_gather(1);
}
SHMEM_NAME(int, shmemx_scattermem, (shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root))
{
	constexpr const char *name = "shmemx_scattermem";
	return BODY_scatter(1);
}
