// SPDX-License-Identifier: BSD-3-Clause
//
// The names: one wrapper for each, made from the same tables as the library's own (shmem_calls.h) and from
// tool_untyped.def.
#include "race.hpp"

#include <cstdarg>

#define TOOL_NAME extern "C" __attribute__((visibility("default")))
#define UNPACK(...) __VA_ARGS__
#define MEMORY(bytes) (family::memory, SHMEM_TEAM_WORLD, bytes, 1) // collectives of all PEs

namespace pgas_tools {

// --- data that the typed calls transfer ------------------------------------------------------------------------------

// clang-format off
#define FACTS_put(T) family::put, nelems * sizeof(T), pe
#define FACTS_get(T) family::get, nelems * sizeof(T), pe
#define FACTS_put_nbi(T) family::put_nbi, nelems * sizeof(T), pe
#define FACTS_get_nbi(T) family::get_nbi, nelems * sizeof(T), pe
#define FACTS_p(T) family::put, sizeof(T), pe
#define FACTS_g(T) family::get, sizeof(T), pe
#define FACTS_iput(T) family::put, nelems * sizeof(T), pe
#define FACTS_iget(T) family::get, nelems * sizeof(T), pe
#define FACTS_ibput(T) family::put, bsize * nblocks * sizeof(T), pe
#define FACTS_ibget(T) family::get, bsize * nblocks * sizeof(T), pe
#define FACTS_put_signal(T) family::put_signal, nelems * sizeof(T), pe
#define FACTS_put_signal_nbi(T) family::put_signal, nelems * sizeof(T), pe
// the object that a put signals
#define SIGNAL_put
#define SIGNAL_get
#define SIGNAL_put_nbi
#define SIGNAL_get_nbi
#define SIGNAL_p
#define SIGNAL_g
#define SIGNAL_iput
#define SIGNAL_iget
#define SIGNAL_ibput
#define SIGNAL_ibget
#define SIGNAL_put_signal , signal_fact{sig_addr, signal, sig_op}
#define SIGNAL_put_signal_nbi SIGNAL_put_signal
// atomics, by the use of the old value
#define AMO_none family::atomic
#define AMO_returned family::atomic_fetch
#define AMO_fetched family::atomic_fetch
// waiting; calls on sets of variables name no single one
#define FACTS_wait_until family::wait, 0, kNoPe, SHMEM_CTX_DEFAULT, awaited(ivar, cmp, cmp_value)
#define FACTS_wait family::wait, 0, kNoPe, SHMEM_CTX_DEFAULT, awaited(ivar, SHMEM_CMP_NE, cmp_value)
#define FACTS_test family::test, 0
#define FACTS_wait_until_all family::wait, 0
#define FACTS_wait_until_any family::wait, 0
#define FACTS_wait_until_some family::wait, 0
#define FACTS_wait_until_all_vector family::wait, 0
#define FACTS_wait_until_any_vector family::wait, 0
#define FACTS_wait_until_some_vector family::wait, 0
#define FACTS_test_all family::test, 0
#define FACTS_test_any family::test, 0
#define FACTS_test_some family::test, 0
#define FACTS_test_all_vector family::test, 0
#define FACTS_test_any_vector family::test, 0
#define FACTS_test_some_vector family::test, 0
// collectives
#define FACTS_alltoall(T) family::alltoall, team, nelems * sizeof(T), members(team)
#define FACTS_alltoalls(T) family::alltoalls, team, nelems * sizeof(T), members(team)
#define FACTS_broadcast(T) family::broadcast, team, nelems * sizeof(T), 1
#define FACTS_collect(T) family::collect, team, nelems * sizeof(T), 1
#define FACTS_fcollect(T) family::fcollect, team, nelems * sizeof(T), 1
#define FACTS_alltoallv(T) family::alltoallv, team, sum_of(source_counts, members(team)) * sizeof(T), 1
#define FACTS_gather(T) family::gather, team, nelems * sizeof(T), 1
#define FACTS_scatter(T) family::scatter, team, nelems * sizeof(T), 1
#define REDUCED(T) family::reduce, team, nreduce * sizeof(T), 1
#define FACTS_and_reduce(T) REDUCED(T)
#define FACTS_or_reduce(T) REDUCED(T)
#define FACTS_xor_reduce(T) REDUCED(T)
#define FACTS_max_reduce(T) REDUCED(T)
#define FACTS_min_reduce(T) REDUCED(T)
#define FACTS_sum_reduce(T) REDUCED(T)
#define FACTS_prod_reduce(T) REDUCED(T)
#define FACTS_sum_inscan(T) family::scan, team, nreduce * sizeof(T), 1
#define FACTS_sum_exscan(T) family::scan, team, nreduce * sizeof(T), 1
// bytes of an element
#define BYTES_8 1
#define BYTES_16 2
#define BYTES_32 4
#define BYTES_64 8
#define BYTES_128 16
#define BYTES_mem 1
#define SIZED_put(B) family::put, nelems * B, pe
#define SIZED_get(B) family::get, nelems * B, pe
#define SIZED_put_nbi(B) family::put_nbi, nelems * B, pe
#define SIZED_get_nbi(B) family::get_nbi, nelems * B, pe
#define SIZED_iput(B) family::put, nelems * B, pe
#define SIZED_iget(B) family::get, nelems * B, pe
#define SIZED_ibput(B) family::put, bsize * nblocks * B, pe
#define SIZED_ibget(B) family::get, bsize * nblocks * B, pe
#define SIZED_put_signal(B) family::put_signal, nelems * B, pe
#define SIZED_put_signal_nbi(B) family::put_signal, nelems * B, pe

// --- the same for the race check: memory that they access, and ordering ----------------------------------------------

#define WHOLE(B) {dest, nelems * (B)}, {source, nelems * (B)}
#define TOUCH_put(C, B) race::put(C, pe, WHOLE(B))
#define TOUCH_get(C, B) race::get(C, pe, WHOLE(B))
#define TOUCH_put_nbi(C, B) race::put(C, pe, WHOLE(B), true)
#define TOUCH_get_nbi(C, B) race::get(C, pe, WHOLE(B), true)
#define TOUCH_p(C, B) race::put(C, pe, {dest, B}, {})
#define TOUCH_g(C, B) race::get(C, pe, {}, {source, B})
#define STRIDED(COUNT, N, B) race::strided(dest, COUNT, dst, N, B), race::strided(source, COUNT, sst, N, B)
#define TOUCH_iput(C, B) race::put(C, pe, STRIDED(1, nelems, B))
#define TOUCH_iget(C, B) race::get(C, pe, STRIDED(1, nelems, B))
#define TOUCH_ibput(C, B) race::put(C, pe, STRIDED(bsize, nblocks, B))
#define TOUCH_ibget(C, B) race::get(C, pe, STRIDED(bsize, nblocks, B))
#define TOUCH_put_signal(C, B) race::put(C, pe, WHOLE(B), false, sig_addr)
#define TOUCH_put_signal_nbi(C, B) race::put(C, pe, WHOLE(B), true, sig_addr)
// atomics: do they write, do they return something, and where
#define WRITES_load false
#define WRITES_store true
#define WRITES_swap true
#define WRITES_cswap true
#define WRITES_inc true
#define WRITES_add true
#define WRITES_band true
#define WRITES_bor true
#define WRITES_bxor true
#define BACK_none false, nullptr
#define BACK_returned true, nullptr
#define BACK_fetched true, fetch
// waiting
#define TOUCH_wait_until(T) race::until(ivar, sizeof(T))
#define TOUCH_wait(T) race::until(ivar, sizeof(T))
#define TOUCH_test(T) race::until(ivar, sizeof(T), race::wait::answer)
#define TOUCH_wait_until_all(T) race::until_set(ivars, sizeof(T), nelems, race::wait::always, status)
#define TOUCH_wait_until_any(T) race::until_set(ivars, sizeof(T), nelems, race::wait::index, status)
#define TOUCH_wait_until_some(T) race::until_set(ivars, sizeof(T), nelems, race::wait::indices, status, indices)
#define TOUCH_wait_until_all_vector(T) TOUCH_wait_until_all(T)
#define TOUCH_wait_until_any_vector(T) TOUCH_wait_until_any(T)
#define TOUCH_wait_until_some_vector(T) TOUCH_wait_until_some(T)
#define TOUCH_test_all(T) race::until_set(ivars, sizeof(T), nelems, race::wait::answer, status)
#define TOUCH_test_any(T) TOUCH_wait_until_any(T)
#define TOUCH_test_some(T) TOUCH_wait_until_some(T)
#define TOUCH_test_all_vector(T) TOUCH_test_all(T)
#define TOUCH_test_any_vector(T) TOUCH_wait_until_any(T)
#define TOUCH_test_some_vector(T) TOUCH_wait_until_some(T)
// collectives
#define TEAM race::group(team)
#define TOUCH_alltoall(T) race::alltoall(TEAM, dest, source, nelems * sizeof(T))
#define TOUCH_alltoalls(T) race::alltoalls(TEAM, dest, source, dst, sst, nelems, sizeof(T))
#define TOUCH_broadcast(T) race::broadcast(TEAM, PE_root, WHOLE(sizeof(T)), true)
#define TOUCH_collect(T) race::collect(TEAM, dest, {source, nelems * sizeof(T)})
#define TOUCH_fcollect(T) race::fcollect(TEAM, dest, source, nelems * sizeof(T))
#define REDUCES(T) {dest, nreduce * sizeof(T)}, {source, nreduce * sizeof(T)}
#define TOUCH_reduce(T) race::exchange(TEAM, REDUCES(T))
#define TOUCH_and_reduce(T) TOUCH_reduce(T)
#define TOUCH_or_reduce(T) TOUCH_reduce(T)
#define TOUCH_xor_reduce(T) TOUCH_reduce(T)
#define TOUCH_max_reduce(T) TOUCH_reduce(T)
#define TOUCH_min_reduce(T) TOUCH_reduce(T)
#define TOUCH_sum_reduce(T) TOUCH_reduce(T)
#define TOUCH_prod_reduce(T) TOUCH_reduce(T)
#define TOUCH_sum_inscan(T) race::scan(team, REDUCES(T))
#define TOUCH_sum_exscan(T) race::scan(team, REDUCES(T))

// --- active sets -----------------------------------------------------------------------------------------------------

#define SET_PARAMS int PE_start, int logPE_stride, int PE_size, long *pSync
#define SET_ARGS PE_start, logPE_stride, PE_size, pSync
#define SET_TEAM set_team(PE_start, logPE_stride, PE_size)
#define SET_PARTS static_cast<size_t>(PE_size)
#define SET race::group(PE_start, logPE_stride, PE_size)
#define SET_CALLS(S) \
	CALL(void, shmem_alltoall##S, (void *dest, const void *source, size_t nelems, SET_PARAMS), \
	     (dest, source, nelems, SET_ARGS), (family::alltoall, SET_TEAM, nelems * S / 8, SET_PARTS), \
	     race::alltoall(SET, dest, source, nelems * S / 8)) \
	CALL(void, shmem_alltoalls##S, \
	     (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, SET_PARAMS), \
	     (dest, source, dst, sst, nelems, SET_ARGS), (family::alltoalls, SET_TEAM, nelems * S / 8, SET_PARTS), \
	     race::alltoalls(SET, dest, source, dst, sst, nelems, S / 8)) \
	CALL(void, shmem_broadcast##S, (void *dest, const void *source, size_t nelems, int PE_root, SET_PARAMS), \
	     (dest, source, nelems, PE_root, SET_ARGS), (family::broadcast, SET_TEAM, nelems * S / 8, 1), \
	     race::broadcast(SET, PE_root, WHOLE(S / 8), false)) \
	CALL(void, shmem_collect##S, (void *dest, const void *source, size_t nelems, SET_PARAMS), \
	     (dest, source, nelems, SET_ARGS), (family::collect, SET_TEAM, nelems * S / 8, 1), \
	     race::collect(SET, dest, {source, nelems * S / 8})) \
	CALL(void, shmem_fcollect##S, (void *dest, const void *source, size_t nelems, SET_PARAMS), \
	     (dest, source, nelems, SET_ARGS), (family::fcollect, SET_TEAM, nelems * S / 8, 1), \
	     race::fcollect(SET, dest, source, nelems * S / 8))
#define LEAVE(name)
// clang-format on

// --- numbers and names -----------------------------------------------------------------------------------------------

#define EACH_NAME(PLAIN, BOTH, BOTH_WHOLE, PLAIN_WHOLE, SIZED)                                                         \
	SHMEM_EACH_RMA(BOTH)                                                                                           \
	SHMEM_EACH_SIZE(SIZED)                                                                                         \
	SHMEM_EACH_AMO_WHOLE(BOTH_WHOLE)                                                                               \
	SHMEM_EACH_AMO_OLD_WHOLE(PLAIN_WHOLE)                                                                          \
	SHMEM_EACH_SYNC(PLAIN)                                                                                         \
	SHMEM_EACH_COLL(PLAIN)                                                                                         \
	SHMEM_EACH_REDUCE(PLAIN)                                                                                       \
	SHMEM_EACH_TO_ALL(PLAIN)

#define ID(R, N, T, CALLED, P, A) shmem_##N##_##CALLED,
#define ID_MORE(R, N, T, CALLED, P, A) shmemx_##N##_##CALLED,
#define ID_BOTH(R, N, T, CALLED, P, A) shmem_##N##_##CALLED, shmem_ctx_##N##_##CALLED,
#define ID_WHOLE(R, N, T, CALLED, P, A, ON, OP, RESULT) shmem_##N##_##CALLED,
#define ID_BOTH_WHOLE(R, N, T, CALLED, P, A, ON, OP, RESULT) shmem_##N##_##CALLED, shmem_ctx_##N##_##CALLED,
#define ID_SIZED(S, STEM, TAIL, P, A) shmem_##STEM##S##TAIL, shmem_ctx_##STEM##S##TAIL,
#define CALL(R, name, P, A, W, ...) name,
enum class call : uint16_t {
	EACH_NAME(ID, ID_BOTH, ID_BOTH_WHOLE, ID_WHOLE, ID_SIZED)
#include "tool_untyped.def"
		shmem_clear_lock,
	shmem_set_lock,
	shmem_test_lock,
	shmem_global_exit,
	shmem_pcontrol,
	SHMEMX_EACH_COLL(ID_MORE) shmemx_alltoallvmem,
	shmemx_gathermem,
	shmemx_scattermem,
	SHMEMX_EACH_NB(ID_MORE) shmemx_alltoallmem_nb,
	shmemx_alltoallsmem_nb,
	shmemx_broadcastmem_nb,
	shmemx_collectmem_nb,
	shmemx_fcollectmem_nb,
	shmemx_team_sync_nb,
	shmemx_sync_all_nb,
	shmemx_barrier_all_nb,
	shmemx_req_test,
	shmemx_req_wait,
	memory_access,
	count
};
#undef CALL

namespace {
#define TEXT(R, N, T, CALLED, P, A) "shmem_" #N "_" #CALLED,
#define TEXT_MORE(R, N, T, CALLED, P, A) "shmemx_" #N "_" #CALLED,
#define TEXT_BOTH(R, N, T, CALLED, P, A) "shmem_" #N "_" #CALLED, "shmem_ctx_" #N "_" #CALLED,
#define TEXT_WHOLE(R, N, T, CALLED, P, A, ON, OP, RESULT) "shmem_" #N "_" #CALLED,
#define TEXT_BOTH_WHOLE(R, N, T, CALLED, P, A, ON, OP, RESULT) "shmem_" #N "_" #CALLED, "shmem_ctx_" #N "_" #CALLED,
#define TEXT_SIZED(S, STEM, TAIL, P, A) "shmem_" #STEM #S #TAIL, "shmem_ctx_" #STEM #S #TAIL,
#define CALL(R, name, P, A, W, ...) #name,
constexpr const char *kNames[] = {EACH_NAME(TEXT, TEXT_BOTH, TEXT_BOTH_WHOLE, TEXT_WHOLE, TEXT_SIZED)
#include "tool_untyped.def"
					  "shmem_clear_lock",
				  "shmem_set_lock",
				  "shmem_test_lock",
				  "shmem_global_exit",
				  "shmem_pcontrol",
				  SHMEMX_EACH_COLL(TEXT_MORE) "shmemx_alltoallvmem",
				  "shmemx_gathermem",
				  "shmemx_scattermem",
				  SHMEMX_EACH_NB(TEXT_MORE) "shmemx_alltoallmem_nb",
				  "shmemx_alltoallsmem_nb",
				  "shmemx_broadcastmem_nb",
				  "shmemx_collectmem_nb",
				  "shmemx_fcollectmem_nb",
				  "shmemx_team_sync_nb",
				  "shmemx_sync_all_nb",
				  "shmemx_barrier_all_nb",
				  "shmemx_req_test",
				  "shmemx_req_wait",
				  "memory access"};
#undef CALL
static_assert(sizeof kNames / sizeof *kNames == static_cast<size_t>(call::count));
} // namespace

const call kMemoryAccess = call::memory_access;

const char *call_text(uint32_t id)
{
	return id < static_cast<uint32_t>(call::count) ? kNames[id] : "?";
}

// --- wrappers --------------------------------------------------------------------------------------------------------

// REAL: the function that is called in the end
// RACE: the argument for the race check, in parentheses; evaluated only if the check is on
#define WRAP_AROUND(REAL, R, name, P, A, RACE, ...)                                                                    \
	TOOL_NAME R name P noexcept                                                                                    \
	{                                                                                                              \
		const watch here(call::name, __VA_ARGS__);                                                             \
		if (__builtin_expect(race::g_on, 0)) {                                                                 \
			const race::origin caller{call::name, __builtin_return_address(0)};                            \
			return race::run_checked(UNPACK RACE, caller, [&]() noexcept -> R { return REAL A; });         \
		}                                                                                                      \
		return REAL A;                                                                                         \
	}
#define WRAP(R, name, P, A, ...) WRAP_AROUND(p##name, R, name, P, A, __VA_ARGS__)

#define RMA(R, N, T, CALLED, P, A)                                                                                     \
	WRAP(R, shmem_##N##_##CALLED, P, A, (TOUCH_##CALLED(SHMEM_CTX_DEFAULT, sizeof(T))), FACTS_##CALLED(T),         \
	     SHMEM_CTX_DEFAULT SIGNAL_##CALLED)                                                                        \
	WRAP(R, shmem_ctx_##N##_##CALLED, SHMEM_CTX_PARAMS P, SHMEM_CTX_ARGS A, (TOUCH_##CALLED(ctx, sizeof(T))),      \
	     FACTS_##CALLED(T), ctx SIGNAL_##CALLED)
SHMEM_EACH_RMA(RMA)
#undef RMA

#define SIZED(S, STEM, TAIL, P, A)                                                                                     \
	WRAP(void, shmem_##STEM##S##TAIL, P, A, (TOUCH_##STEM##TAIL(SHMEM_CTX_DEFAULT, BYTES_##S)),                    \
	     SIZED_##STEM##TAIL(BYTES_##S), SHMEM_CTX_DEFAULT SIGNAL_##STEM##TAIL)                                     \
	WRAP(void, shmem_ctx_##STEM##S##TAIL, SHMEM_CTX_PARAMS P, SHMEM_CTX_ARGS A,                                    \
	     (TOUCH_##STEM##TAIL(ctx, BYTES_##S)), SIZED_##STEM##TAIL(BYTES_##S), ctx SIGNAL_##STEM##TAIL)
SHMEM_EACH_SIZE(SIZED)
#undef SIZED

#define TOUCH_AMO(C, T, ON, OP, RESULT) (race::amo(C, pe, ON, sizeof(T), WRITES_##OP, BACK_##RESULT))
#define AMO(R, N, T, CALLED, P, A, ON, OP, RESULT)                                                                     \
	WRAP(R, shmem_##N##_##CALLED, P, A, TOUCH_AMO(SHMEM_CTX_DEFAULT, T, ON, OP, RESULT), AMO_##RESULT, sizeof(T),  \
	     pe)                                                                                                       \
	WRAP(R, shmem_ctx_##N##_##CALLED, SHMEM_CTX_PARAMS P, SHMEM_CTX_ARGS A, TOUCH_AMO(ctx, T, ON, OP, RESULT),     \
	     AMO_##RESULT, sizeof(T), pe, ctx)
SHMEM_EACH_AMO_WHOLE(AMO)
#undef AMO
#define AMO_OLD(R, N, T, CALLED, P, A, ON, OP, RESULT)                                                                 \
	WRAP(R, shmem_##N##_##CALLED, P, A, TOUCH_AMO(SHMEM_CTX_DEFAULT, T, ON, OP, RESULT), AMO_##RESULT, sizeof(T),  \
	     pe)
SHMEM_EACH_AMO_OLD_WHOLE(AMO_OLD)
#undef AMO_OLD

#define SYNC(R, N, T, CALLED, P, A) WRAP(R, shmem_##N##_##CALLED, P, A, (TOUCH_##CALLED(T)), FACTS_##CALLED)
SHMEM_EACH_SYNC(SYNC)
#undef SYNC

#define COLL(R, N, T, CALLED, P, A) WRAP(R, shmem_##N##_##CALLED, P, A, (TOUCH_##CALLED(T)), FACTS_##CALLED(T))
SHMEM_EACH_COLL(COLL)
SHMEM_EACH_REDUCE(COLL)
#undef COLL
#define ALL_BYTES(T) (static_cast<size_t>(nreduce) * sizeof(T))
#define TO_ALL(R, N, T, CALLED, P, A)                                                                                  \
	WRAP(R, shmem_##N##_##CALLED, P, A, (race::exchange(SET, {dest, ALL_BYTES(T)}, {source, ALL_BYTES(T)})),       \
	     family::reduce, SET_TEAM, ALL_BYTES(T), 1)
SHMEM_EACH_TO_ALL(TO_ALL)
#undef TO_ALL

extern "C" int pshmemx_team_split_color(shmem_team_t, int, int, const shmem_team_config_t *, long,
					shmem_team_t *) noexcept;
extern "C" int pshmemx_team_create_group(shmem_team_t, const int *, int, const shmem_team_config_t *, long,
					 shmem_team_t *) noexcept;
#define CALL(R, name, P, A, W, ...) WRAP(R, name, P, A, (__VA_ARGS__), UNPACK W)
#include "tool_untyped.def"
#undef CALL

static size_t sum_of(const size_t *counts, size_t n)
{
	size_t sum = 0;
	for (size_t i = 0; counts && i < n; i++)
		sum += counts[i];
	return sum;
}
// The race check treats them as meetings of all members: it misses races between members that the call does not order,
// and accuses nobody.
#define MORE_WRAP(R, name, P, A, ...)                                                                                  \
	extern "C" R p##name P noexcept;                                                                               \
	WRAP(R, name, P, A, (race::meeting(race::group(team))), __VA_ARGS__)
#define MORE(R, N, T, CALLED, P, A) MORE_WRAP(R, shmemx_##N##_##CALLED, P, A, FACTS_##CALLED(T))
SHMEMX_EACH_COLL(MORE)
#undef MORE
MORE_WRAP(int, shmemx_alltoallvmem,
	  (shmem_team_t team, void *dest, const size_t *dest_counts, const size_t *dest_displs, const void *source,
	   const size_t *source_counts, const size_t *source_displs),
	  (team, dest, dest_counts, dest_displs, source, source_counts, source_displs), FACTS_alltoallv(char))
MORE_WRAP(int, shmemx_gathermem, (shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root),
	  (team, dest, source, nelems, PE_root), FACTS_gather(char))
MORE_WRAP(int, shmemx_scattermem, (shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root),
	  (team, dest, source, nelems, PE_root), FACTS_scatter(char))

// Non-blocking collectives: the call that begins one is counted with its bytes, the wait for its request apart.
#define NB_WRAP(name, P, A, TEAM_OF, BYTES, COMPLETES)                                                                 \
	extern "C" int p##name P noexcept;                                                                             \
	TOOL_NAME int name P noexcept                                                                                  \
	{                                                                                                              \
		const watch here(call::name, family::start_nb, BYTES);                                                 \
		if (__builtin_expect(race::g_on, 0))                                                                   \
			race::start_collective(COMPLETES);                                                             \
		const int failed = p##name A;                                                                          \
		if (!failed)                                                                                           \
			note_request(*request, call::name, TEAM_OF);                                                   \
		return failed;                                                                                         \
	}
#define NB_BYTES_alltoall_nb nelems *members(team)
#define NB_BYTES_alltoalls_nb nelems *members(team)
#define NB_BYTES_broadcast_nb nelems
#define NB_BYTES_collect_nb nelems
#define NB_BYTES_fcollect_nb nelems
#define NB_BYTES_and_reduce_nb nreduce
#define NB_BYTES_or_reduce_nb nreduce
#define NB_BYTES_xor_reduce_nb nreduce
#define NB_BYTES_max_reduce_nb nreduce
#define NB_BYTES_min_reduce_nb nreduce
#define NB_BYTES_sum_reduce_nb nreduce
#define NB_BYTES_prod_reduce_nb nreduce
#define NB(R, N, T, CALLED, P, A) NB_WRAP(shmemx_##N##_##CALLED, P, A, team, NB_BYTES_##CALLED * sizeof(T), false)
SHMEMX_EACH_NB(NB)
#undef NB
#define NB_PARAMS shmem_team_t team, void *dest, const void *source
NB_WRAP(shmemx_alltoallmem_nb, (NB_PARAMS, size_t nelems, shmemx_req_h *request), (team, dest, source, nelems, request),
	team, nelems *members(team), false)
NB_WRAP(shmemx_alltoallsmem_nb, (NB_PARAMS, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, shmemx_req_h *request),
	(team, dest, source, dst, sst, nelems, request), team, nelems *members(team), false)
NB_WRAP(shmemx_broadcastmem_nb, (NB_PARAMS, size_t nelems, int PE_root, shmemx_req_h *request),
	(team, dest, source, nelems, PE_root, request), team, nelems, false)
NB_WRAP(shmemx_collectmem_nb, (NB_PARAMS, size_t nelems, shmemx_req_h *request), (team, dest, source, nelems, request),
	team, nelems, false)
NB_WRAP(shmemx_fcollectmem_nb, (NB_PARAMS, size_t nelems, shmemx_req_h *request), (team, dest, source, nelems, request),
	team, nelems, false)
NB_WRAP(shmemx_team_sync_nb, (shmem_team_t team, shmemx_req_h *request), (team, request), team, 0, false)
NB_WRAP(shmemx_sync_all_nb, (shmemx_req_h * request), (request), SHMEM_TEAM_WORLD, 0, false)
NB_WRAP(shmemx_barrier_all_nb, (shmemx_req_h * request), (request), SHMEM_TEAM_WORLD, 0, true)
#define REQUEST_WRAP(name, FAMILY)                                                                                     \
	extern "C" int p##name(shmemx_req_h *request) noexcept;                                                        \
	TOOL_NAME int name(shmemx_req_h *request) noexcept                                                             \
	{                                                                                                              \
		request_in_call mine(request);                                                                         \
		const watch here(call::name, family::FAMILY, 0, kNoPe, SHMEM_CTX_DEFAULT, mine.fact());                \
		const int result = p##name(request);                                                                   \
		mine.returned(result);                                                                                 \
		return result;                                                                                         \
	}
REQUEST_WRAP(shmemx_req_test, test)
REQUEST_WRAP(shmemx_req_wait, request)

// Locks: a hang report says who holds one.
static void set_and_note(long *lock) noexcept
{
	pshmem_set_lock(lock);
	note_lock(lock, true);
}
static int test_and_note(long *lock) noexcept
{
	const int refused = pshmem_test_lock(lock);
	if (!refused)
		note_lock(lock, true);
	return refused;
}
static void note_and_clear(long *lock) noexcept
{
	note_lock(lock, false);
	pshmem_clear_lock(lock);
}
WRAP_AROUND(set_and_note, void, shmem_set_lock, (long *lock), (lock), (race::lock{lock, race::lock::set}), family::lock,
	    0, kNoPe, SHMEM_CTX_DEFAULT, lock_fact(lock))
WRAP_AROUND(test_and_note, int, shmem_test_lock, (long *lock), (lock), (race::lock{lock, race::lock::test}),
	    family::lock, 0)
WRAP_AROUND(note_and_clear, void, shmem_clear_lock, (long *lock), (lock), (race::lock{lock, race::lock::clear}),
	    family::lock, 0)

TOOL_NAME void shmem_global_exit(int status) noexcept
{
	char why[64];
	snprintf(why, sizeof why, "shmem_global_exit(%d)", status);
	ending(why);
	pshmem_global_exit(status);
}

TOOL_NAME void shmem_pcontrol(int level, ...) noexcept
{
	if (level == 0 || level == 1)
		set_counting(level == 1);
	pshmem_pcontrol(level);
}

} // namespace pgas_tools
