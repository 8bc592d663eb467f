// SPDX-License-Identifier: BSD-3-Clause
//
// The common start of the C names of team collectives: see shmem_coll_names.cpp.
#pragma once

#include "shmem_coll.hpp"
#include "shmem_team.hpp"
#include "core/shmem_fail.hpp"
#include "path/shmem_check.hpp"
#include "path/shmem_debug.hpp"

namespace shmem {

// With SHMEM_DEBUG: members compare their arguments; if they differ the job ends with a message.
void check_alike(team &t, const char *routine, uint64_t elements, int root, const void *dest, const void *source);

// The start of every collective. Null: not a team.
template <class T>
team *begin_collective(const char *routine, shmem_team_t handle, T *dest, const T *source, size_t dest_count,
		       size_t source_count, size_t size)
{
	if (PGAS_UNLIKELY(!g_shmem.initialized))
		check_running(routine);
	team *t = team_to_use(routine, handle);
	if (PGAS_UNLIKELY(!t))
		return nullptr;
	if (PGAS_UNLIKELY(__builtin_mul_overflow(dest_count, size, &dest_count) ||
			  __builtin_mul_overflow(source_count, size, &source_count)))
		fail(routine, "element count too large: the size in bytes overflows");
	check_symmetric(routine, "dest", dest, dest_count);
	check_symmetric(routine, "source", source, source_count);
	if (PGAS_UNLIKELY(g_shmem.env.debug))
		debug_apart(routine, dest, dest_count, source, source_count);
	return t;
}

inline size_t count_of_all(const char *routine, shmem_team_t handle, size_t count)
{
	const team *t = live_team(handle);
	size_t all;
	if (__builtin_mul_overflow(count, static_cast<size_t>(t ? t->size : 0), &all))
		fail(routine, "element count too large: the size in bytes overflows");
	return all;
}

// Number of elements from the first to the last of `count` that are `stride` apart.
inline size_t measure_span(size_t count, ptrdiff_t stride)
{
	size_t span;
	if (!count)
		return 0;
	return __builtin_mul_overflow(count - 1, static_cast<size_t>(stride), &span) ? SIZE_MAX / 2 : span + 1;
}

inline void check_root(const char *routine, const team &t, int root)
{
	if (root < 0 || root >= t.size)
		fail(routine, "the root %d is outside 0..%d of the team", root, t.size - 1);
}

} // namespace shmem
