/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmem_cxx.h: the type-generic names of OpenSHMEM 1.6 as C++ overloads. Included only by shmem.h.
 *
 * Names, types and context forms are those of the C11 generics; each overload is one call of the typed C name. The
 * complex calls also accept std::complex although this file does not include <complex>.
 */
#ifndef SHMEM_CXX_H
#define SHMEM_CXX_H

#define SHMEM_IMPL_OVER(R, N, T, CALL, P, A)                                                                           \
	inline R shmem_##CALL P                                                                                        \
	{                                                                                                              \
		return shmem_##N##_##CALL A;                                                                           \
	}
#define SHMEM_IMPL_OVER_CTX(R, N, T, CALL, P, A)                                                                       \
	inline R shmem_##CALL P                                                                                        \
	{                                                                                                              \
		return shmem_##N##_##CALL A;                                                                           \
	}                                                                                                              \
	inline R shmem_##CALL SHMEM_CTX_PARAMS P                                                                       \
	{                                                                                                              \
		return shmem_ctx_##N##_##CALL SHMEM_CTX_ARGS A;                                                        \
	}

SHMEM_RMA_DISTINCT(SHMEM_RMA_CALLS, SHMEM_IMPL_OVER_CTX)
SHMEM_AMO_EXT_DISTINCT(SHMEM_AMO_EXT_CALLS, SHMEM_IMPL_OVER_CTX)
SHMEM_AMO_STD_DISTINCT(SHMEM_AMO_STD_CALLS, SHMEM_IMPL_OVER_CTX)
SHMEM_AMO_BIT_DISTINCT(SHMEM_AMO_BIT_CALLS, SHMEM_IMPL_OVER_CTX)
SHMEM_AMO_OLD_EXT_DISTINCT(SHMEM_AMO_OLD_EXT_CALLS, SHMEM_IMPL_OVER)
SHMEM_AMO_OLD_STD_DISTINCT(SHMEM_AMO_OLD_STD_CALLS, SHMEM_IMPL_OVER)
/* shmem_wait_until of long, shmem_signal_add/set without context and the active-set shmem_sync are C functions */
SHMEM_SYNC_DISTINCT_BUT_LONG(SHMEM_WAIT_UNTIL_CALLS, SHMEM_IMPL_OVER)
SHMEM_SYNC_DISTINCT(SHMEM_TEST_CALLS, SHMEM_IMPL_OVER)
SHMEM_AMO_STD_DISTINCT(SHMEM_SYNC_SET_CALLS, SHMEM_IMPL_OVER)
SHMEM_RMA_DISTINCT(SHMEM_COLL_CALLS, SHMEM_IMPL_OVER)
SHMEM_REDUCE_BIT_DISTINCT(SHMEM_REDUCE_BIT_CALLS, SHMEM_IMPL_OVER)
SHMEM_REDUCE_CMP_DISTINCT(SHMEM_REDUCE_CMP_CALLS, SHMEM_IMPL_OVER)
SHMEM_REDUCE_SUM_DISTINCT(SHMEM_REDUCE_SUM_CALLS, SHMEM_IMPL_OVER)

inline int shmem_sync(shmem_team_t team)
{
	return shmem_team_sync(team);
}
inline void shmem_signal_add(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe)
{
	shmem_ctx_signal_add(ctx, sig_addr, signal, pe);
}
inline void shmem_signal_set(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe)
{
	shmem_ctx_signal_set(ctx, sig_addr, signal, pe);
}

/*
 * std::complex<double> and std::complex<float> have the layout of double _Complex and float _Complex. Z stands for
 * std::complex; the assertion rejects other templates. E is the element; both the generic name and the typed names
 * (shmem_complexd_sum_reduce ...) accept it.
 */
#define SHMEM_IMPL_STD_AS(NAME, CALL, E, C)                                                                            \
	template <template <class> class Z>                                                                            \
	inline int NAME(shmem_team_t team, Z<E> *dest, const Z<E> *source, size_t nreduce)                             \
	{                                                                                                              \
		static_assert(sizeof(Z<E>) == 2 * sizeof(E), #NAME ": not a complex type");                            \
		return CALL(team, reinterpret_cast<C *>(dest), reinterpret_cast<const C *>(source), nreduce);          \
	}
#define SHMEM_IMPL_STD_OLD(NAME, E, C)                                                                                 \
	template <template <class> class Z>                                                                            \
	inline void NAME(Z<E> *dest, const Z<E> *source, int nreduce, int PE_start, int logPE_stride, int PE_size,     \
			 Z<E> *pWrk, long *pSync)                                                                      \
	{                                                                                                              \
		static_assert(sizeof(Z<E>) == 2 * sizeof(E), #NAME ": not a complex type");                            \
		NAME(reinterpret_cast<C *>(dest), reinterpret_cast<const C *>(source), nreduce, PE_start,              \
		     logPE_stride, PE_size, reinterpret_cast<C *>(pWrk), pSync);                                       \
	}
#define SHMEM_IMPL_STD(N, E, C)                                                                                        \
	SHMEM_IMPL_STD_AS(shmem_sum_reduce, shmem_##N##_sum_reduce, E, C)                                              \
	SHMEM_IMPL_STD_AS(shmem_prod_reduce, shmem_##N##_prod_reduce, E, C)                                            \
	SHMEM_IMPL_STD_AS(shmem_sum_inscan, shmem_##N##_sum_inscan, E, C)                                              \
	SHMEM_IMPL_STD_AS(shmem_sum_exscan, shmem_##N##_sum_exscan, E, C)                                              \
	SHMEM_IMPL_STD_AS(shmem_##N##_sum_reduce, shmem_##N##_sum_reduce, E, C)                                        \
	SHMEM_IMPL_STD_AS(shmem_##N##_prod_reduce, shmem_##N##_prod_reduce, E, C)                                      \
	SHMEM_IMPL_STD_AS(shmem_##N##_sum_inscan, shmem_##N##_sum_inscan, E, C)                                        \
	SHMEM_IMPL_STD_AS(shmem_##N##_sum_exscan, shmem_##N##_sum_exscan, E, C)                                        \
	SHMEM_IMPL_STD_OLD(shmem_##N##_sum_to_all, E, C)                                                               \
	SHMEM_IMPL_STD_OLD(shmem_##N##_prod_to_all, E, C)
SHMEM_IMPL_STD(complexd, double, shmem_impl_complexd_t)
SHMEM_IMPL_STD(complexf, float, shmem_impl_complexf_t)
#undef SHMEM_IMPL_STD
#undef SHMEM_IMPL_STD_OLD
#undef SHMEM_IMPL_STD_AS

#undef SHMEM_IMPL_OVER
#undef SHMEM_IMPL_OVER_CTX

#endif /* SHMEM_CXX_H */
