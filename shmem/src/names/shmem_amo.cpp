// SPDX-License-Identifier: BSD-3-Clause
//
// C names of atomic memory operations, the current ones and those before 1.4; the bodies are in shmem_amo.hpp. The
// columns OPERATION and RESULT in shmem_calls.h select the body of a call.
#include "core/shmem_export.hpp"
#include "path/shmem_amo.hpp"

using namespace shmem;

// The operations that return the old value, those that fetch it, and those that do neither. c: the context, name: the
// routine for messages.
#define SHMEM_OLD_load(T, ON) amo_fetch<PGAS_OP_READ>(c, const_cast<T *>(ON), static_cast<T>(0), pe, name)
#define SHMEM_OLD_swap(T, ON) amo_fetch<PGAS_OP_WRITE>(c, ON, value, pe, name)
#define SHMEM_OLD_cswap(T, ON) amo_compare(c, ON, cond, value, pe, name)
#define SHMEM_OLD_inc(T, ON) amo_fetch<PGAS_OP_SUM>(c, ON, static_cast<T>(1), pe, name)
#define SHMEM_OLD_add(T, ON) amo_fetch<PGAS_OP_SUM>(c, ON, value, pe, name)
#define SHMEM_OLD_band(T, ON) amo_fetch<PGAS_OP_BAND>(c, ON, value, pe, name)
#define SHMEM_OLD_bor(T, ON) amo_fetch<PGAS_OP_BOR>(c, ON, value, pe, name)
#define SHMEM_OLD_bxor(T, ON) amo_fetch<PGAS_OP_BXOR>(c, ON, value, pe, name)
#define SHMEM_FETCH_load(T, ON) amo_fetch_nbi<PGAS_OP_READ>(c, fetch, const_cast<T *>(ON), static_cast<T>(0), pe, name)
#define SHMEM_FETCH_swap(T, ON) amo_fetch_nbi<PGAS_OP_WRITE>(c, fetch, ON, value, pe, name)
#define SHMEM_FETCH_cswap(T, ON) amo_compare_nbi(c, fetch, ON, cond, value, pe, name)
#define SHMEM_FETCH_inc(T, ON) amo_fetch_nbi<PGAS_OP_SUM>(c, fetch, ON, static_cast<T>(1), pe, name)
#define SHMEM_FETCH_add(T, ON) amo_fetch_nbi<PGAS_OP_SUM>(c, fetch, ON, value, pe, name)
#define SHMEM_FETCH_band(T, ON) amo_fetch_nbi<PGAS_OP_BAND>(c, fetch, ON, value, pe, name)
#define SHMEM_FETCH_bor(T, ON) amo_fetch_nbi<PGAS_OP_BOR>(c, fetch, ON, value, pe, name)
#define SHMEM_FETCH_bxor(T, ON) amo_fetch_nbi<PGAS_OP_BXOR>(c, fetch, ON, value, pe, name)
#define SHMEM_DO_store(T, ON) amo<PGAS_OP_WRITE>(c, ON, value, pe, name)
#define SHMEM_DO_inc(T, ON) amo<PGAS_OP_SUM>(c, ON, static_cast<T>(1), pe, name)
#define SHMEM_DO_add(T, ON) amo<PGAS_OP_SUM>(c, ON, value, pe, name)
#define SHMEM_DO_band(T, ON) amo<PGAS_OP_BAND>(c, ON, value, pe, name)
#define SHMEM_DO_bor(T, ON) amo<PGAS_OP_BOR>(c, ON, value, pe, name)
#define SHMEM_DO_bxor(T, ON) amo<PGAS_OP_BXOR>(c, ON, value, pe, name)
#define SHMEM_BODY_returned(T, ON, OP) return SHMEM_OLD_##OP(T, ON)
#define SHMEM_BODY_fetched(T, ON, OP) SHMEM_FETCH_##OP(T, ON)
#define SHMEM_BODY_none(T, ON, OP) SHMEM_DO_##OP(T, ON)

#define SHMEM_PLAIN(R, N, T, CALL, P, A, ON, OP, RESULT)                                                               \
	SHMEM_NAME(R, shmem_##N##_##CALL, P)                                                                           \
	{                                                                                                              \
		context *const c = &g_default;                                                                         \
		constexpr const char *name = "shmem_" #N "_" #CALL;                                                    \
		SHMEM_BODY_##RESULT(T, ON, OP);                                                                        \
	}
#define SHMEM_BOTH(R, N, T, CALL, P, A, ON, OP, RESULT)                                                                \
	SHMEM_PLAIN(R, N, T, CALL, P, A, ON, OP, RESULT)                                                               \
	SHMEM_NAME(R, shmem_ctx_##N##_##CALL, SHMEM_CTX_PARAMS P)                                                      \
	{                                                                                                              \
		context *const c = from_handle(ctx);                                                                   \
		constexpr const char *name = "shmem_ctx_" #N "_" #CALL;                                                \
		SHMEM_BODY_##RESULT(T, ON, OP);                                                                        \
	}
SHMEM_EACH_AMO_WHOLE(SHMEM_BOTH)
SHMEM_EACH_AMO_OLD_WHOLE(SHMEM_PLAIN)

#undef SHMEM_OLD_load
#undef SHMEM_OLD_swap
#undef SHMEM_OLD_cswap
#undef SHMEM_OLD_inc
#undef SHMEM_OLD_add
#undef SHMEM_OLD_band
#undef SHMEM_OLD_bor
#undef SHMEM_OLD_bxor
#undef SHMEM_FETCH_load
#undef SHMEM_FETCH_swap
#undef SHMEM_FETCH_cswap
#undef SHMEM_FETCH_inc
#undef SHMEM_FETCH_add
#undef SHMEM_FETCH_band
#undef SHMEM_FETCH_bor
#undef SHMEM_FETCH_bxor
#undef SHMEM_DO_store
#undef SHMEM_DO_inc
#undef SHMEM_DO_add
#undef SHMEM_DO_band
#undef SHMEM_DO_bor
#undef SHMEM_DO_bxor
#undef SHMEM_BODY_returned
#undef SHMEM_BODY_fetched
#undef SHMEM_BODY_none
#undef SHMEM_PLAIN
#undef SHMEM_BOTH
