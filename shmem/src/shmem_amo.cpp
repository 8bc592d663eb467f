// SPDX-License-Identifier: BSD-3-Clause
//
// C names of atomic memory operations, today's and those before 1.4; the bodies are in shmem_amo.hpp.
#include "shmem_amo.hpp"

using namespace shmem;

#define ONE(T) static_cast<T>(1)
#define BODY_atomic_fetch(T) return (amo_fetch<PGAS_OP_READ>(c, const_cast<T *>(source), static_cast<T>(0), pe, name))
#define BODY_atomic_set(T) (amo<PGAS_OP_WRITE>(c, dest, value, pe, name))
#define BODY_atomic_swap(T) return (amo_fetch<PGAS_OP_WRITE>(c, dest, value, pe, name))
#define BODY_atomic_fetch_nbi(T)                                                                                       \
	*fetch = (amo_fetch<PGAS_OP_READ>(c, const_cast<T *>(source), static_cast<T>(0), pe, name))
#define BODY_atomic_swap_nbi(T) *fetch = (amo_fetch<PGAS_OP_WRITE>(c, dest, value, pe, name))
#define BODY_atomic_compare_swap(T) return amo_compare(c, dest, cond, value, pe, name)
#define BODY_atomic_compare_swap_nbi(T) *fetch = amo_compare(c, dest, cond, value, pe, name)
#define BODY_atomic_fetch_inc(T) return (amo_fetch<PGAS_OP_SUM>(c, dest, ONE(T), pe, name))
#define BODY_atomic_fetch_inc_nbi(T) *fetch = (amo_fetch<PGAS_OP_SUM>(c, dest, ONE(T), pe, name))
#define BODY_atomic_inc(T) (amo<PGAS_OP_SUM>(c, dest, ONE(T), pe, name))
#define BODY_atomic_fetch_add(T) return (amo_fetch<PGAS_OP_SUM>(c, dest, value, pe, name))
#define BODY_atomic_fetch_add_nbi(T) *fetch = (amo_fetch<PGAS_OP_SUM>(c, dest, value, pe, name))
#define BODY_atomic_add(T) (amo<PGAS_OP_SUM>(c, dest, value, pe, name))
#define BODY_atomic_fetch_and(T) return (amo_fetch<PGAS_OP_BAND>(c, dest, value, pe, name))
#define BODY_atomic_fetch_or(T) return (amo_fetch<PGAS_OP_BOR>(c, dest, value, pe, name))
#define BODY_atomic_fetch_xor(T) return (amo_fetch<PGAS_OP_BXOR>(c, dest, value, pe, name))
#define BODY_atomic_and(T) (amo<PGAS_OP_BAND>(c, dest, value, pe, name))
#define BODY_atomic_or(T) (amo<PGAS_OP_BOR>(c, dest, value, pe, name))
#define BODY_atomic_xor(T) (amo<PGAS_OP_BXOR>(c, dest, value, pe, name))
#define BODY_atomic_fetch_and_nbi(T) *fetch = (amo_fetch<PGAS_OP_BAND>(c, dest, value, pe, name))
#define BODY_atomic_fetch_or_nbi(T) *fetch = (amo_fetch<PGAS_OP_BOR>(c, dest, value, pe, name))
#define BODY_atomic_fetch_xor_nbi(T) *fetch = (amo_fetch<PGAS_OP_BXOR>(c, dest, value, pe, name))

#define DEFINE(R, N, T, CALL, P, A)                                                                                    \
	SHMEM_NAME(R, shmem_##N##_##CALL, P)                                                                           \
	{                                                                                                              \
		context *const c = &g_default;                                                                         \
		constexpr const char *name = "shmem_" #N "_" #CALL;                                                    \
		BODY_##CALL(T);                                                                                        \
	}                                                                                                              \
	SHMEM_NAME(R, shmem_ctx_##N##_##CALL, SHMEM_CTX_PARAMS P)                                                      \
	{                                                                                                              \
		context *const c = from_handle(ctx);                                                                   \
		constexpr const char *name = "shmem_ctx_" #N "_" #CALL;                                                \
		BODY_##CALL(T);                                                                                        \
	}
SHMEM_EACH_AMO(DEFINE)
#undef DEFINE

#define BODY_fetch(T) BODY_atomic_fetch(T)
#define BODY_set(T) BODY_atomic_set(T)
#define BODY_swap(T) BODY_atomic_swap(T)
#define BODY_cswap(T) BODY_atomic_compare_swap(T)
#define BODY_finc(T) BODY_atomic_fetch_inc(T)
#define BODY_inc(T) BODY_atomic_inc(T)
#define BODY_fadd(T) BODY_atomic_fetch_add(T)
#define BODY_add(T) BODY_atomic_add(T)
#define DEFINE(R, N, T, CALL, P, A)                                                                                    \
	SHMEM_NAME(R, shmem_##N##_##CALL, P)                                                                           \
	{                                                                                                              \
		context *const c = &g_default;                                                                         \
		constexpr const char *name = "shmem_" #N "_" #CALL;                                                    \
		BODY_##CALL(T);                                                                                        \
	}
SHMEM_EACH_AMO_OLD(DEFINE)
#undef DEFINE
