// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives over active sets (deprecated): PE_start, logPE_stride, PE_size and the caller's pSync array. The set of
// all PEs is handled as the world team. Other sets have no shared memory except pSync: they synchronise there (it is
// back at SHMEM_SYNC_VALUE afterwards) and move data through the windows; pWrk is not needed.
#include "shmem_coll.hpp"
#include "shmem_team.hpp"
#include "core/shmem_export.hpp"
#include "core/shmem_fail.hpp"
#include "path/shmem_check.hpp"
#include "path/shmem_debug.hpp"

#include <new>

#include <pgas/pgas_base.hpp>
#include <teams/teams_fold.hpp>

namespace shmem {
namespace {

using teams::reduction, teams::reduction_of;

// A pSync array has the size and the initial value that teams need for the flags of a set.
static_assert(SHMEM_SYNC_VALUE == 0 && sizeof(long) == sizeof(uint64_t));
static_assert(SHMEM_SYNC_SIZE >= teams::kSetFlags && SHMEM_BARRIER_SYNC_SIZE >= teams::kSetFlags &&
	      SHMEM_BCAST_SYNC_SIZE >= teams::kSetFlags && SHMEM_COLLECT_SYNC_SIZE >= teams::kSetFlags &&
	      SHMEM_REDUCE_SYNC_SIZE >= teams::kSetFlags && SHMEM_ALLTOALL_SYNC_SIZE >= teams::kSetFlags &&
	      SHMEM_ALLTOALLS_SYNC_SIZE >= teams::kSetFlags);

pthread_mutex_t g_sets_mutex = PTHREAD_MUTEX_INITIALIZER;
teams::team *g_sets = nullptr; // one entry per distinct set; a program has few

teams::team *make_set(const char *routine, int start, int stride, int count)
{
	auto *t = new (std::nothrow) teams::team{};
	if (!t || !teams::make_set(*t, start, stride, count))
		fail(routine, "out of memory");
	return t;
}

void check_psync(const char *routine, const long *psync, size_t longs, int count)
{
	check_host(routine, "pSync", psync, longs * sizeof(long));
	if (PGAS_UNLIKELY(g_shmem.env.debug))
		debug_psync(routine, psync, longs, count);
}

// The team to work on. Threads may use one set with different pSyncs at the same time, so each call has a copy.
teams::team find_set(const char *routine, int start, int log_stride, int count, long *psync, size_t psync_longs)
{
	check_running(routine);
	const int64_t stride = log_stride >= 0 && log_stride < 31 ? int64_t{1} << log_stride : 0;
	if (count < 1 || start < 0 || stride < 1 || start + (count - 1) * stride >= g_shmem.n_pes)
		fail(routine, "the active set %d, %d, %d is not within 0..%d", start, log_stride, count,
		     g_shmem.n_pes - 1);
	const int64_t me = (g_shmem.my_pe - start) / stride;
	if (g_shmem.my_pe < start || (g_shmem.my_pe - start) % stride || me >= count)
		fail(routine, "PE %d is not in the active set %d, %d, %d", g_shmem.my_pe, start, log_stride, count);
	check_psync(routine, psync, psync_longs, count);
	const pgas::mutex_holder lock(g_sets_mutex);
	teams::team *t = g_sets;
	while (t && !(t->start == start && t->stride == stride && t->size == count))
		t = t->next;
	if (!t) {
		t = make_set(routine, start, static_cast<int>(stride), count);
		t->next = g_sets;
		g_sets = t;
	}
	teams::team copy = *t;
	copy.flags = reinterpret_cast<uint64_t *>(psync);
	return copy;
}

// Runs body on the world team or on the set.
template <class Body>
void run_on_set(const char *routine, int start, int log_stride, int count, long *psync, size_t psync_longs, Body &&body)
{
	if (PGAS_UNLIKELY(g_shmem.env.debug))
		debug_call(routine);
	if (start == 0 && count == g_shmem.n_pes && (log_stride == 0 || count == 1) && g_shmem.initialized &&
	    g_shmem.thread_level != SHMEM_THREAD_MULTIPLE) {
		if (PGAS_UNLIKELY(g_shmem.env.debug)) // not needed here, but by other libraries
			check_psync(routine, psync, psync_longs, count);
		return body(g_teams[0]);
	}
	teams::team t = find_set(routine, start, log_stride, count, psync, psync_longs);
	body(t);
}

void check_arrays(const char *routine, const void *dest, size_t dest_bytes, const void *source, size_t source_bytes)
{
	check_symmetric(routine, "dest", dest, dest_bytes);
	check_symmetric(routine, "source", source, source_bytes);
}

} // namespace

void sets_close()
{
	while (teams::team *t = g_sets) {
		g_sets = t->next;
		teams::release_set(*t);
		delete t;
	}
}

} // namespace shmem

using namespace shmem;

SHMEM_NAME(void, shmem_sync, (int PE_start, int logPE_stride, int PE_size, long *pSync))
{
	check_running("shmem_sync");
	run_on_set("shmem_sync", PE_start, logPE_stride, PE_size, pSync, SHMEM_BARRIER_SYNC_SIZE,
		   [](teams::team &t) { teams::sync(t); });
}
SHMEM_NAME(void, shmem_barrier, (int PE_start, int logPE_stride, int PE_size, long *pSync))
{
	check_running("shmem_barrier");
	pshmem_quiet();
	run_on_set("shmem_barrier", PE_start, logPE_stride, PE_size, pSync, SHMEM_BARRIER_SYNC_SIZE,
		   [](teams::team &t) { teams::sync(t); });
}

#define DEFINE(S, A)                                                                                                   \
	SHMEM_NAME(void, shmem_broadcast##S,                                                                           \
		   (void *dest, const void *source, size_t nelems, int PE_root, int PE_start, int logPE_stride,        \
		    int PE_size, long *pSync))                                                                         \
	{                                                                                                              \
		constexpr const char *name = "shmem_broadcast" #S;                                                     \
		check_running(name);                                                                                   \
		check_arrays(name, dest, nelems *(S / 8), source, nelems *(S / 8));                                    \
		if (PE_root < 0 || PE_root >= PE_size)                                                                 \
			fail(name, "the root %d is outside 0..%d of the active set", PE_root, PE_size - 1);            \
		run_on_set(name, PE_start, logPE_stride, PE_size, pSync, SHMEM_BCAST_SYNC_SIZE, [&](teams::team &t) {  \
			broadcast_on(t, dest, source, nelems *(S / 8), PE_root, true, name);                           \
		});                                                                                                    \
	}                                                                                                              \
	SHMEM_NAME(void, shmem_collect##S,                                                                             \
		   (void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int PE_size,        \
		    long *pSync))                                                                                      \
	{                                                                                                              \
		constexpr const char *name = "shmem_collect" #S;                                                       \
		check_running(name);                                                                                   \
		check_arrays(name, dest, nelems *(S / 8), source, nelems *(S / 8));                                    \
		run_on_set(name, PE_start, logPE_stride, PE_size, pSync, SHMEM_COLLECT_SYNC_SIZE,                      \
			   [&](teams::team &t) { collect_on(t, dest, source, nelems *(S / 8), name); });               \
	}                                                                                                              \
	SHMEM_NAME(void, shmem_fcollect##S,                                                                            \
		   (void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int PE_size,        \
		    long *pSync))                                                                                      \
	{                                                                                                              \
		constexpr const char *name = "shmem_fcollect" #S;                                                      \
		check_running(name);                                                                                   \
		const size_t bytes = nelems * (S / 8);                                                                 \
		check_arrays(name, dest, bytes *static_cast<size_t>(PE_size > 0 ? PE_size : 0), source, bytes);        \
		run_on_set(name, PE_start, logPE_stride, PE_size, pSync, SHMEM_COLLECT_SYNC_SIZE,                      \
			   [&](teams::team &t) { fcollect_on(t, dest, source, nelems *(S / 8), name); });              \
	}                                                                                                              \
	SHMEM_NAME(void, shmem_alltoall##S,                                                                            \
		   (void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int PE_size,        \
		    long *pSync))                                                                                      \
	{                                                                                                              \
		constexpr const char *name = "shmem_alltoall" #S;                                                      \
		check_running(name);                                                                                   \
		const size_t bytes = nelems * (S / 8) * static_cast<size_t>(PE_size > 0 ? PE_size : 0);                \
		check_arrays(name, dest, bytes, source, bytes);                                                        \
		run_on_set(name, PE_start, logPE_stride, PE_size, pSync, SHMEM_ALLTOALL_SYNC_SIZE,                     \
			   [&](teams::team &t) { alltoall_on(t, dest, source, nelems *(S / 8), name); });              \
	}                                                                                                              \
	SHMEM_NAME(void, shmem_alltoalls##S,                                                                           \
		   (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int PE_start,         \
		    int logPE_stride, int PE_size, long *pSync))                                                       \
	{                                                                                                              \
		constexpr const char *name = "shmem_alltoalls" #S;                                                     \
		check_running(name);                                                                                   \
		check_arrays(name, dest, nelems *(S / 8), source, nelems *(S / 8));                                    \
		if (dst < 1 || sst < 1)                                                                                \
			fail(name, "the strides are %td and %td; both must be at least 1", dst, sst);                  \
		run_on_set(name, PE_start, logPE_stride, PE_size, pSync, SHMEM_ALLTOALLS_SYNC_SIZE,                    \
			   [&](teams::team &t) { alltoalls_on(t, dest, source, dst, sst, nelems, S / 8, name); });     \
	}
SHMEM_COLL_SIZES(DEFINE, )
#undef DEFINE

namespace {

void run_to_all(const char *name, void *dest, const void *source, int nreduce, int start, int log_stride, int size,
		long *psync, reduction op)
{
	check_running(name);
	if (nreduce < 0)
		fail(name, "the number of elements is %d", nreduce);
	const auto count = static_cast<size_t>(nreduce);
	check_arrays(name, dest, count * op.size, source, count * op.size);
	run_on_set(name, start, log_stride, size, psync, SHMEM_REDUCE_SYNC_SIZE,
		   [&](teams::team &t) { reduce_on(t, op, dest, source, count, name); });
}

} // namespace

#define OP_and_to_all teams::op_and
#define OP_or_to_all teams::op_or
#define OP_xor_to_all teams::op_xor
#define OP_max_to_all teams::op_max
#define OP_min_to_all teams::op_min
#define OP_sum_to_all teams::op_sum
#define OP_prod_to_all teams::op_prod
#define DEFINE(R, N, T, CALL, P, A)                                                                                    \
	SHMEM_NAME(void, shmem_##N##_##CALL, P)                                                                        \
	{                                                                                                              \
		(void)pWrk;                                                                                            \
		run_to_all("shmem_" #N "_" #CALL, dest, source, nreduce, PE_start, logPE_stride, PE_size, pSync,       \
			   reduction_of<OP_##CALL, T>());                                                              \
	}
SHMEM_EACH_TO_ALL(DEFINE)
#undef DEFINE
