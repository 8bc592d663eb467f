// SPDX-License-Identifier: BSD-3-Clause
//
// The names: one wrapper for each, made from the same tables as the library's own (shmem_calls.h) and from
// tool_untyped.def.
#include "tool.hpp"

#include <cstdarg>

#define TOOL_NAME extern "C" __attribute__((visibility("default")))
#define UNPACK(...) __VA_ARGS__

namespace shmem_tools {

// --- what the typed calls move ---------------------------------------------------------------------------------------

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
// the object that a signal is put to
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
// atomics, by what becomes of the old value
#define AMO_none family::atomic
#define AMO_returned family::atomic_fetch
#define AMO_fetched family::atomic_fetch
// waiting; sets of variables name no single one
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

// --- active sets -----------------------------------------------------------------------------------------------------

#define SET_PARAMS int PE_start, int logPE_stride, int PE_size, long *pSync
#define SET_ARGS PE_start, logPE_stride, PE_size, pSync
#define SET_TEAM set_team(PE_start, logPE_stride, PE_size)
#define SET_PARTS static_cast<size_t>(PE_size)
#define SET_CALLS(S) \
	CALL(void, shmem_alltoall##S, (void *dest, const void *source, size_t nelems, SET_PARAMS), \
	     (dest, source, nelems, SET_ARGS), (family::alltoall, SET_TEAM, nelems * S / 8, SET_PARTS)) \
	CALL(void, shmem_alltoalls##S, \
	     (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, SET_PARAMS), \
	     (dest, source, dst, sst, nelems, SET_ARGS), (family::alltoalls, SET_TEAM, nelems * S / 8, SET_PARTS)) \
	CALL(void, shmem_broadcast##S, (void *dest, const void *source, size_t nelems, int PE_root, SET_PARAMS), \
	     (dest, source, nelems, PE_root, SET_ARGS), (family::broadcast, SET_TEAM, nelems * S / 8, 1)) \
	CALL(void, shmem_collect##S, (void *dest, const void *source, size_t nelems, SET_PARAMS), \
	     (dest, source, nelems, SET_ARGS), (family::collect, SET_TEAM, nelems * S / 8, 1)) \
	CALL(void, shmem_fcollect##S, (void *dest, const void *source, size_t nelems, SET_PARAMS), \
	     (dest, source, nelems, SET_ARGS), (family::fcollect, SET_TEAM, nelems * S / 8, 1))
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
#define CALL(R, name, P, A, W) name,
enum class call : uint16_t {
	EACH_NAME(ID, ID_BOTH, ID_BOTH_WHOLE, ID_WHOLE, ID_SIZED)
#include "tool_untyped.def"
		shmem_global_exit,
	shmem_pcontrol,
	shmemx_team_split_color,
	shmemx_team_create_group,
	SHMEMX_EACH_COLL(ID_MORE) shmemx_alltoallvmem,
	shmemx_gathermem,
	shmemx_scattermem,
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
#define CALL(R, name, P, A, W) #name,
constexpr const char *kNames[] = {EACH_NAME(TEXT, TEXT_BOTH, TEXT_BOTH_WHOLE, TEXT_WHOLE, TEXT_SIZED)
#include "tool_untyped.def"
					  "shmem_global_exit",
				  "shmem_pcontrol",
				  "shmemx_team_split_color",
				  "shmemx_team_create_group",
				  SHMEMX_EACH_COLL(TEXT_MORE) "shmemx_alltoallvmem",
				  "shmemx_gathermem",
				  "shmemx_scattermem"};
#undef CALL
static_assert(sizeof kNames / sizeof *kNames == static_cast<size_t>(call::count));
} // namespace

const char *name_of(uint32_t id)
{
	return id < static_cast<uint32_t>(call::count) ? kNames[id] : "?";
}

// --- wrappers --------------------------------------------------------------------------------------------------------

#define WRAP(R, name, P, A, ...)                                                                                       \
	TOOL_NAME R name P noexcept                                                                                    \
	{                                                                                                              \
		const watch here(call::name, __VA_ARGS__);                                                             \
		return p##name A;                                                                                      \
	}

#define RMA(R, N, T, CALLED, P, A)                                                                                     \
	WRAP(R, shmem_##N##_##CALLED, P, A, FACTS_##CALLED(T), SHMEM_CTX_DEFAULT SIGNAL_##CALLED)                      \
	WRAP(R, shmem_ctx_##N##_##CALLED, SHMEM_CTX_PARAMS P, SHMEM_CTX_ARGS A, FACTS_##CALLED(T), ctx SIGNAL_##CALLED)
SHMEM_EACH_RMA(RMA)
#undef RMA

#define SIZED(S, STEM, TAIL, P, A)                                                                                     \
	WRAP(void, shmem_##STEM##S##TAIL, P, A, SIZED_##STEM##TAIL(BYTES_##S), SHMEM_CTX_DEFAULT SIGNAL_##STEM##TAIL)  \
	WRAP(void, shmem_ctx_##STEM##S##TAIL, SHMEM_CTX_PARAMS P, SHMEM_CTX_ARGS A, SIZED_##STEM##TAIL(BYTES_##S),     \
	     ctx SIGNAL_##STEM##TAIL)
SHMEM_EACH_SIZE(SIZED)
#undef SIZED

#define AMO(R, N, T, CALLED, P, A, ON, OP, RESULT)                                                                     \
	WRAP(R, shmem_##N##_##CALLED, P, A, AMO_##RESULT, sizeof(T), pe)                                               \
	WRAP(R, shmem_ctx_##N##_##CALLED, SHMEM_CTX_PARAMS P, SHMEM_CTX_ARGS A, AMO_##RESULT, sizeof(T), pe, ctx)
SHMEM_EACH_AMO_WHOLE(AMO)
#undef AMO
#define AMO_OLD(R, N, T, CALLED, P, A, ON, OP, RESULT) WRAP(R, shmem_##N##_##CALLED, P, A, AMO_##RESULT, sizeof(T), pe)
SHMEM_EACH_AMO_OLD_WHOLE(AMO_OLD)
#undef AMO_OLD

#define SYNC(R, N, T, CALLED, P, A) WRAP(R, shmem_##N##_##CALLED, P, A, FACTS_##CALLED)
SHMEM_EACH_SYNC(SYNC)
#undef SYNC

#define COLL(R, N, T, CALLED, P, A) WRAP(R, shmem_##N##_##CALLED, P, A, FACTS_##CALLED(T))
SHMEM_EACH_COLL(COLL)
SHMEM_EACH_REDUCE(COLL)
#undef COLL
#define TO_ALL(R, N, T, CALLED, P, A)                                                                                  \
	WRAP(R, shmem_##N##_##CALLED, P, A, family::reduce, SET_TEAM, static_cast<size_t>(nreduce) * sizeof(T), 1)
SHMEM_EACH_TO_ALL(TO_ALL)
#undef TO_ALL

#define CALL(R, name, P, A, W) WRAP(R, name, P, A, UNPACK W)
#include "tool_untyped.def"
#undef CALL

extern "C" int pshmemx_team_split_color(shmem_team_t, int, int, const shmem_team_config_t *, long,
					shmem_team_t *) noexcept;
extern "C" int pshmemx_team_create_group(shmem_team_t, const int *, int, const shmem_team_config_t *, long,
					 shmem_team_t *) noexcept;
TOOL_NAME int shmemx_team_split_color(shmem_team_t parent_team, int color, int key, const shmem_team_config_t *config,
				      long config_mask, shmem_team_t *new_team) noexcept
{
	const watch here(call::shmemx_team_split_color, family::team, 0);
	return pshmemx_team_split_color(parent_team, color, key, config, config_mask, new_team);
}
TOOL_NAME int shmemx_team_create_group(shmem_team_t parent_team, const int *pes, int npes,
				       const shmem_team_config_t *config, long config_mask,
				       shmem_team_t *new_team) noexcept
{
	const watch here(call::shmemx_team_create_group, family::team, 0);
	return pshmemx_team_create_group(parent_team, pes, npes, config, config_mask, new_team);
}

static size_t sum_of(const size_t *counts, size_t n)
{
	size_t sum = 0;
	for (size_t i = 0; counts && i < n; i++)
		sum += counts[i];
	return sum;
}
#define MORE_WRAP(R, name, P, A, ...)                                                                                  \
	extern "C" R p##name P noexcept;                                                                               \
	WRAP(R, name, P, A, __VA_ARGS__)
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

} // namespace shmem_tools
