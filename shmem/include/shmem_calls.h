/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmem_calls.h: the typed calls of OpenSHMEM 1.6, one line per call.
 *
 * A family is a list of calls that take the same types. SHMEM_EACH_<family>(F) yields
 *     F(RETURN, TYPENAME, TYPE, CALL, (parameters), (arguments))
 * for each call and each type, e.g. F(void, int, int, p, (int *dest, int value, int pe), (dest, value, pe)).
 * Prototypes, C++ overloads and the library's C names are generated from these lines; with the DISTINCT lists of
 * shmem_types.h they name each type once. Families marked [ctx] also exist with a leading context.
 *
 * Atomics have three more columns, from which their bodies are generated, in the library (shmem_amo.cpp) and in
 * programs (shmem_inline.h): SHMEM_EACH_AMO_WHOLE(F) yields
 *     F(RETURN, TYPENAME, TYPE, CALL, (parameters), (arguments), OBJECT, OPERATION, RESULT)
 * OBJECT is the parameter that points to the peer's variable. OPERATION: load, store, swap, cswap (compare with cond),
 * inc, add, band, bor, bxor. RESULT: where the old value goes: returned, fetched (into *fetch), none.
 *
 * This file owns the shapes of the typed calls; the types are in shmem_types.h, untyped calls in shmem_proto.h.
 */
#ifndef SHMEM_CALLS_H
#define SHMEM_CALLS_H

#include "shmem_types.h"

/* clang-format off */

/* --- RMA and put with signal [ctx] -------------------------------------------------------------------------------- */
#define SHMEM_RMA_CALLS(N, T, F) \
	F(void, N, T, put, (T *dest, const T *source, size_t nelems, int pe), (dest, source, nelems, pe)) \
	F(void, N, T, get, (T *dest, const T *source, size_t nelems, int pe), (dest, source, nelems, pe)) \
	F(void, N, T, put_nbi, (T *dest, const T *source, size_t nelems, int pe), (dest, source, nelems, pe)) \
	F(void, N, T, get_nbi, (T *dest, const T *source, size_t nelems, int pe), (dest, source, nelems, pe)) \
	F(void, N, T, p, (T *dest, T value, int pe), (dest, value, pe)) \
	F(T, N, T, g, (const T *source, int pe), (source, pe)) \
	F(void, N, T, iput, (T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe), \
	  (dest, source, dst, sst, nelems, pe)) \
	F(void, N, T, iget, (T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe), \
	  (dest, source, dst, sst, nelems, pe)) \
	F(void, N, T, ibput, \
	  (T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe), \
	  (dest, source, dst, sst, bsize, nblocks, pe)) \
	F(void, N, T, ibget, \
	  (T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe), \
	  (dest, source, dst, sst, bsize, nblocks, pe)) \
	F(void, N, T, put_signal, \
	  (T *dest, const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe), \
	  (dest, source, nelems, sig_addr, signal, sig_op, pe)) \
	F(void, N, T, put_signal_nbi, \
	  (T *dest, const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe), \
	  (dest, source, nelems, sig_addr, signal, sig_op, pe))

/* --- by element size: F(SIZE, STEM, TAIL, (parameters), (arguments)), name shmem_<STEM><SIZE><TAIL> [ctx] --------- */
#define SHMEM_SIZE_CALLS(S, F) \
	F(S, put, , (void *dest, const void *source, size_t nelems, int pe), (dest, source, nelems, pe)) \
	F(S, get, , (void *dest, const void *source, size_t nelems, int pe), (dest, source, nelems, pe)) \
	F(S, put, _nbi, (void *dest, const void *source, size_t nelems, int pe), (dest, source, nelems, pe)) \
	F(S, get, _nbi, (void *dest, const void *source, size_t nelems, int pe), (dest, source, nelems, pe)) \
	F(S, iput, , (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe), \
	  (dest, source, dst, sst, nelems, pe)) \
	F(S, iget, , (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe), \
	  (dest, source, dst, sst, nelems, pe)) \
	F(S, ibput, , \
	  (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe), \
	  (dest, source, dst, sst, bsize, nblocks, pe)) \
	F(S, ibget, , \
	  (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe), \
	  (dest, source, dst, sst, bsize, nblocks, pe)) \
	F(S, put, _signal, \
	  (void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe), \
	  (dest, source, nelems, sig_addr, signal, sig_op, pe)) \
	F(S, put, _signal_nbi, \
	  (void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe), \
	  (dest, source, nelems, sig_addr, signal, sig_op, pe))
#define SHMEM_MEM_CALLS(S, F) \
	F(S, put, , (void *dest, const void *source, size_t nelems, int pe), (dest, source, nelems, pe)) \
	F(S, get, , (void *dest, const void *source, size_t nelems, int pe), (dest, source, nelems, pe)) \
	F(S, put, _nbi, (void *dest, const void *source, size_t nelems, int pe), (dest, source, nelems, pe)) \
	F(S, get, _nbi, (void *dest, const void *source, size_t nelems, int pe), (dest, source, nelems, pe)) \
	F(S, put, _signal, \
	  (void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe), \
	  (dest, source, nelems, sig_addr, signal, sig_op, pe)) \
	F(S, put, _signal_nbi, \
	  (void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe), \
	  (dest, source, nelems, sig_addr, signal, sig_op, pe))

/* --- atomic memory operations [ctx] ------------------------------------------------------------------------------- */
#define SHMEM_AMO_EXT_ROWS(N, T, F, X) \
	F(X, T, N, T, atomic_fetch, (const T *source, int pe), (source, pe), source, load, returned) \
	F(X, void, N, T, atomic_set, (T *dest, T value, int pe), (dest, value, pe), dest, store, none) \
	F(X, T, N, T, atomic_swap, (T *dest, T value, int pe), (dest, value, pe), dest, swap, returned) \
	F(X, void, N, T, atomic_fetch_nbi, (T *fetch, const T *source, int pe), \
	  (fetch, source, pe), source, load, fetched) \
	F(X, void, N, T, atomic_swap_nbi, (T *fetch, T *dest, T value, int pe), \
	  (fetch, dest, value, pe), dest, swap, fetched)
#define SHMEM_AMO_STD_ROWS(N, T, F, X) \
	F(X, T, N, T, atomic_compare_swap, (T *dest, T cond, T value, int pe), \
	  (dest, cond, value, pe), dest, cswap, returned) \
	F(X, T, N, T, atomic_fetch_inc, (T *dest, int pe), (dest, pe), dest, inc, returned) \
	F(X, void, N, T, atomic_inc, (T *dest, int pe), (dest, pe), dest, inc, none) \
	F(X, T, N, T, atomic_fetch_add, (T *dest, T value, int pe), (dest, value, pe), dest, add, returned) \
	F(X, void, N, T, atomic_add, (T *dest, T value, int pe), (dest, value, pe), dest, add, none) \
	F(X, void, N, T, atomic_compare_swap_nbi, (T *fetch, T *dest, T cond, T value, int pe), \
	  (fetch, dest, cond, value, pe), dest, cswap, fetched) \
	F(X, void, N, T, atomic_fetch_inc_nbi, (T *fetch, T *dest, int pe), (fetch, dest, pe), dest, inc, fetched) \
	F(X, void, N, T, atomic_fetch_add_nbi, (T *fetch, T *dest, T value, int pe), \
	  (fetch, dest, value, pe), dest, add, fetched)
#define SHMEM_AMO_BIT_ROWS(N, T, F, X) \
	F(X, T, N, T, atomic_fetch_and, (T *dest, T value, int pe), (dest, value, pe), dest, band, returned) \
	F(X, T, N, T, atomic_fetch_or, (T *dest, T value, int pe), (dest, value, pe), dest, bor, returned) \
	F(X, T, N, T, atomic_fetch_xor, (T *dest, T value, int pe), (dest, value, pe), dest, bxor, returned) \
	F(X, void, N, T, atomic_and, (T *dest, T value, int pe), (dest, value, pe), dest, band, none) \
	F(X, void, N, T, atomic_or, (T *dest, T value, int pe), (dest, value, pe), dest, bor, none) \
	F(X, void, N, T, atomic_xor, (T *dest, T value, int pe), (dest, value, pe), dest, bxor, none) \
	F(X, void, N, T, atomic_fetch_and_nbi, (T *fetch, T *dest, T value, int pe), \
	  (fetch, dest, value, pe), dest, band, fetched) \
	F(X, void, N, T, atomic_fetch_or_nbi, (T *fetch, T *dest, T value, int pe), \
	  (fetch, dest, value, pe), dest, bor, fetched) \
	F(X, void, N, T, atomic_fetch_xor_nbi, (T *fetch, T *dest, T value, int pe), \
	  (fetch, dest, value, pe), dest, bxor, fetched)

/* --- atomic memory operations by their names before 1.4 (deprecated) ---------------------------------------------- */
#define SHMEM_AMO_OLD_EXT_ROWS(N, T, F, X) \
	F(X, T, N, T, fetch, (const T *source, int pe), (source, pe), source, load, returned) \
	F(X, void, N, T, set, (T *dest, T value, int pe), (dest, value, pe), dest, store, none) \
	F(X, T, N, T, swap, (T *dest, T value, int pe), (dest, value, pe), dest, swap, returned)
#define SHMEM_AMO_OLD_STD_ROWS(N, T, F, X) \
	F(X, T, N, T, cswap, (T *dest, T cond, T value, int pe), (dest, cond, value, pe), dest, cswap, returned) \
	F(X, T, N, T, finc, (T *dest, int pe), (dest, pe), dest, inc, returned) \
	F(X, void, N, T, inc, (T *dest, int pe), (dest, pe), dest, inc, none) \
	F(X, T, N, T, fadd, (T *dest, T value, int pe), (dest, value, pe), dest, add, returned) \
	F(X, void, N, T, add, (T *dest, T value, int pe), (dest, value, pe), dest, add, none)

/* One of these rows, with all columns or with those of the other families; X: the macro that receives it. */
#define SHMEM_IMPL_ROW(X, R, N, T, CALL, P, A, ON, OP, RESULT) X(R, N, T, CALL, P, A)
#define SHMEM_IMPL_WHOLE_ROW(X, R, N, T, CALL, P, A, ON, OP, RESULT) X(R, N, T, CALL, P, A, ON, OP, RESULT)
#define SHMEM_AMO_EXT_CALLS(N, T, F) SHMEM_AMO_EXT_ROWS(N, T, SHMEM_IMPL_ROW, F)
#define SHMEM_AMO_STD_CALLS(N, T, F) SHMEM_AMO_STD_ROWS(N, T, SHMEM_IMPL_ROW, F)
#define SHMEM_AMO_BIT_CALLS(N, T, F) SHMEM_AMO_BIT_ROWS(N, T, SHMEM_IMPL_ROW, F)
#define SHMEM_AMO_OLD_EXT_CALLS(N, T, F) SHMEM_AMO_OLD_EXT_ROWS(N, T, SHMEM_IMPL_ROW, F)
#define SHMEM_AMO_OLD_STD_CALLS(N, T, F) SHMEM_AMO_OLD_STD_ROWS(N, T, SHMEM_IMPL_ROW, F)
#define SHMEM_AMO_EXT_WHOLE(N, T, F) SHMEM_AMO_EXT_ROWS(N, T, SHMEM_IMPL_WHOLE_ROW, F)
#define SHMEM_AMO_STD_WHOLE(N, T, F) SHMEM_AMO_STD_ROWS(N, T, SHMEM_IMPL_WHOLE_ROW, F)
#define SHMEM_AMO_BIT_WHOLE(N, T, F) SHMEM_AMO_BIT_ROWS(N, T, SHMEM_IMPL_WHOLE_ROW, F)
#define SHMEM_AMO_OLD_EXT_WHOLE(N, T, F) SHMEM_AMO_OLD_EXT_ROWS(N, T, SHMEM_IMPL_WHOLE_ROW, F)
#define SHMEM_AMO_OLD_STD_WHOLE(N, T, F) SHMEM_AMO_OLD_STD_ROWS(N, T, SHMEM_IMPL_WHOLE_ROW, F)

/* --- point-to-point synchronisation ------------------------------------------------------------------------------- */
#define SHMEM_WAIT_UNTIL_CALLS(N, T, F) \
	F(void, N, T, wait_until, (T *ivar, int cmp, T cmp_value), (ivar, cmp, cmp_value))
#define SHMEM_TEST_CALLS(N, T, F) F(int, N, T, test, (T *ivar, int cmp, T cmp_value), (ivar, cmp, cmp_value))
#define SHMEM_SYNC_CALLS(N, T, F) SHMEM_WAIT_UNTIL_CALLS(N, T, F) SHMEM_TEST_CALLS(N, T, F)
#define SHMEM_WAIT_CALLS(N, T, F) F(void, N, T, wait, (T *ivar, T cmp_value), (ivar, cmp_value))
#define SHMEM_SYNC_SET_CALLS(N, T, F) \
	F(void, N, T, wait_until_all, (T *ivars, size_t nelems, const int *status, int cmp, T cmp_value), \
	  (ivars, nelems, status, cmp, cmp_value)) \
	F(size_t, N, T, wait_until_any, (T *ivars, size_t nelems, const int *status, int cmp, T cmp_value), \
	  (ivars, nelems, status, cmp, cmp_value)) \
	F(size_t, N, T, wait_until_some, \
	  (T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, T cmp_value), \
	  (ivars, nelems, indices, status, cmp, cmp_value)) \
	F(void, N, T, wait_until_all_vector, \
	  (T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values), \
	  (ivars, nelems, status, cmp, cmp_values)) \
	F(size_t, N, T, wait_until_any_vector, \
	  (T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values), \
	  (ivars, nelems, status, cmp, cmp_values)) \
	F(size_t, N, T, wait_until_some_vector, \
	  (T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const T *cmp_values), \
	  (ivars, nelems, indices, status, cmp, cmp_values)) \
	F(int, N, T, test_all, (T *ivars, size_t nelems, const int *status, int cmp, T cmp_value), \
	  (ivars, nelems, status, cmp, cmp_value)) \
	F(size_t, N, T, test_any, (T *ivars, size_t nelems, const int *status, int cmp, T cmp_value), \
	  (ivars, nelems, status, cmp, cmp_value)) \
	F(size_t, N, T, test_some, \
	  (T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, T cmp_value), \
	  (ivars, nelems, indices, status, cmp, cmp_value)) \
	F(int, N, T, test_all_vector, (T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values), \
	  (ivars, nelems, status, cmp, cmp_values)) \
	F(size_t, N, T, test_any_vector, (T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values), \
	  (ivars, nelems, status, cmp, cmp_values)) \
	F(size_t, N, T, test_some_vector, \
	  (T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const T *cmp_values), \
	  (ivars, nelems, indices, status, cmp, cmp_values))

/* --- collectives over teams --------------------------------------------------------------------------------------- */
#define SHMEM_COLL_CALLS(N, T, F) \
	F(int, N, T, alltoall, \
	  (shmem_team_t team, T *dest, const T *source, size_t nelems), (team, dest, source, nelems)) \
	F(int, N, T, alltoalls, \
	  (shmem_team_t team, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems), \
	  (team, dest, source, dst, sst, nelems)) \
	F(int, N, T, broadcast, (shmem_team_t team, T *dest, const T *source, size_t nelems, int PE_root), \
	  (team, dest, source, nelems, PE_root)) \
	F(int, N, T, collect, \
	  (shmem_team_t team, T *dest, const T *source, size_t nelems), (team, dest, source, nelems)) \
	F(int, N, T, fcollect, \
	  (shmem_team_t team, T *dest, const T *source, size_t nelems), (team, dest, source, nelems))
/* beyond the standard (shmemx.h): the names begin with shmemx_ */
#define SHMEMX_COLL_CALLS(N, T, F) \
	F(int, N, T, alltoallv, \
	  (shmem_team_t team, T *dest, const size_t *dest_counts, const size_t *dest_displs, const T *source, \
	   const size_t *source_counts, const size_t *source_displs), \
	  (team, dest, dest_counts, dest_displs, source, source_counts, source_displs)) \
	F(int, N, T, gather, (shmem_team_t team, T *dest, const T *source, size_t nelems, int PE_root), \
	  (team, dest, source, nelems, PE_root)) \
	F(int, N, T, scatter, (shmem_team_t team, T *dest, const T *source, size_t nelems, int PE_root), \
	  (team, dest, source, nelems, PE_root))
#define SHMEMX_COLL_NB_CALLS(N, T, F) \
	F(int, N, T, alltoall_nb, \
	  (shmem_team_t team, T *dest, const T *source, size_t nelems, shmemx_req_h *request), \
	  (team, dest, source, nelems, request)) \
	F(int, N, T, alltoalls_nb, \
	  (shmem_team_t team, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, \
	   shmemx_req_h *request), \
	  (team, dest, source, dst, sst, nelems, request)) \
	F(int, N, T, broadcast_nb, \
	  (shmem_team_t team, T *dest, const T *source, size_t nelems, int PE_root, shmemx_req_h *request), \
	  (team, dest, source, nelems, PE_root, request)) \
	F(int, N, T, collect_nb, \
	  (shmem_team_t team, T *dest, const T *source, size_t nelems, shmemx_req_h *request), \
	  (team, dest, source, nelems, request)) \
	F(int, N, T, fcollect_nb, \
	  (shmem_team_t team, T *dest, const T *source, size_t nelems, shmemx_req_h *request), \
	  (team, dest, source, nelems, request))
#define SHMEMX_IMPL_REDUCE_NB(N, T, F, CALL) \
	F(int, N, T, CALL, (shmem_team_t team, T *dest, const T *source, size_t nreduce, shmemx_req_h *request), \
	  (team, dest, source, nreduce, request))
#define SHMEMX_REDUCE_NB_BIT_CALLS(N, T, F)       \
	SHMEMX_IMPL_REDUCE_NB(N, T, F, and_reduce_nb) \
	SHMEMX_IMPL_REDUCE_NB(N, T, F, or_reduce_nb)  \
	SHMEMX_IMPL_REDUCE_NB(N, T, F, xor_reduce_nb)
#define SHMEMX_REDUCE_NB_CMP_CALLS(N, T, F)       \
	SHMEMX_IMPL_REDUCE_NB(N, T, F, max_reduce_nb) \
	SHMEMX_IMPL_REDUCE_NB(N, T, F, min_reduce_nb)
#define SHMEMX_REDUCE_NB_SUM_CALLS(N, T, F)       \
	SHMEMX_IMPL_REDUCE_NB(N, T, F, sum_reduce_nb) \
	SHMEMX_IMPL_REDUCE_NB(N, T, F, prod_reduce_nb)
#define SHMEM_IMPL_REDUCE(N, T, F, CALL) \
	F(int, N, T, CALL, (shmem_team_t team, T *dest, const T *source, size_t nreduce), (team, dest, source, nreduce))
#define SHMEM_REDUCE_BIT_CALLS(N, T, F)    \
	SHMEM_IMPL_REDUCE(N, T, F, and_reduce) \
	SHMEM_IMPL_REDUCE(N, T, F, or_reduce)  \
	SHMEM_IMPL_REDUCE(N, T, F, xor_reduce)
#define SHMEM_REDUCE_CMP_CALLS(N, T, F)    \
	SHMEM_IMPL_REDUCE(N, T, F, max_reduce) \
	SHMEM_IMPL_REDUCE(N, T, F, min_reduce)
#define SHMEM_REDUCE_SUM_CALLS(N, T, F)     \
	SHMEM_IMPL_REDUCE(N, T, F, sum_reduce)  \
	SHMEM_IMPL_REDUCE(N, T, F, prod_reduce) \
	SHMEM_IMPL_REDUCE(N, T, F, sum_inscan)  \
	SHMEM_IMPL_REDUCE(N, T, F, sum_exscan)

/* --- reductions over active sets (deprecated) --------------------------------------------------------------------- */
#define SHMEM_IMPL_TO_ALL(N, T, F, CALL) \
	F(void, N, T, CALL, \
	  (T *dest, const T *source, int nreduce, int PE_start, int logPE_stride, int PE_size, T *pWrk, long *pSync), \
	  (dest, source, nreduce, PE_start, logPE_stride, PE_size, pWrk, pSync))
#define SHMEM_TO_ALL_BIT_CALLS(N, T, F)    \
	SHMEM_IMPL_TO_ALL(N, T, F, and_to_all) \
	SHMEM_IMPL_TO_ALL(N, T, F, or_to_all)  \
	SHMEM_IMPL_TO_ALL(N, T, F, xor_to_all)
#define SHMEM_TO_ALL_CMP_CALLS(N, T, F)    \
	SHMEM_IMPL_TO_ALL(N, T, F, max_to_all) \
	SHMEM_IMPL_TO_ALL(N, T, F, min_to_all)
#define SHMEM_TO_ALL_SUM_CALLS(N, T, F)    \
	SHMEM_IMPL_TO_ALL(N, T, F, sum_to_all) \
	SHMEM_IMPL_TO_ALL(N, T, F, prod_to_all)

/* --- calls x types ------------------------------------------------------------------------------------------------ */
#define SHMEM_EACH_RMA(F) SHMEM_RMA_TYPES(SHMEM_RMA_CALLS, F)
#define SHMEM_EACH_SIZE(F) SHMEM_SIZES(SHMEM_SIZE_CALLS, F) SHMEM_MEM_CALLS(mem, F)
#define SHMEM_EACH_AMO(F)                         \
	SHMEM_AMO_EXT_TYPES(SHMEM_AMO_EXT_CALLS, F)   \
	SHMEM_AMO_STD_TYPES(SHMEM_AMO_STD_CALLS, F)   \
	SHMEM_AMO_BIT_TYPES(SHMEM_AMO_BIT_CALLS, F)
#define SHMEM_EACH_AMO_OLD(F)                           \
	SHMEM_AMO_OLD_EXT_TYPES(SHMEM_AMO_OLD_EXT_CALLS, F) \
	SHMEM_AMO_OLD_STD_TYPES(SHMEM_AMO_OLD_STD_CALLS, F)
#define SHMEM_EACH_AMO_WHOLE(F)                   \
	SHMEM_AMO_EXT_TYPES(SHMEM_AMO_EXT_WHOLE, F)   \
	SHMEM_AMO_STD_TYPES(SHMEM_AMO_STD_WHOLE, F)   \
	SHMEM_AMO_BIT_TYPES(SHMEM_AMO_BIT_WHOLE, F)
#define SHMEM_EACH_AMO_OLD_WHOLE(F)                     \
	SHMEM_AMO_OLD_EXT_TYPES(SHMEM_AMO_OLD_EXT_WHOLE, F) \
	SHMEM_AMO_OLD_STD_TYPES(SHMEM_AMO_OLD_STD_WHOLE, F)
#define SHMEM_EACH_SYNC(F)                  \
	SHMEM_SYNC_TYPES(SHMEM_SYNC_CALLS, F)   \
	SHMEM_WAIT_TYPES(SHMEM_WAIT_CALLS, F)   \
	SHMEM_AMO_STD_TYPES(SHMEM_SYNC_SET_CALLS, F)
#define SHMEM_EACH_COLL(F) SHMEM_RMA_TYPES(SHMEM_COLL_CALLS, F)
#define SHMEMX_EACH_COLL(F) SHMEM_RMA_TYPES(SHMEMX_COLL_CALLS, F)
#define SHMEMX_EACH_NB(F)                                 \
	SHMEM_RMA_TYPES(SHMEMX_COLL_NB_CALLS, F)              \
	SHMEM_REDUCE_BIT_TYPES(SHMEMX_REDUCE_NB_BIT_CALLS, F) \
	SHMEM_REDUCE_CMP_TYPES(SHMEMX_REDUCE_NB_CMP_CALLS, F) \
	SHMEM_REDUCE_SUM_TYPES(SHMEMX_REDUCE_NB_SUM_CALLS, F)
#define SHMEM_EACH_REDUCE(F)                          \
	SHMEM_REDUCE_BIT_TYPES(SHMEM_REDUCE_BIT_CALLS, F) \
	SHMEM_REDUCE_CMP_TYPES(SHMEM_REDUCE_CMP_CALLS, F) \
	SHMEM_REDUCE_SUM_TYPES(SHMEM_REDUCE_SUM_CALLS, F)
#define SHMEM_EACH_TO_ALL(F)                          \
	SHMEM_TO_ALL_BIT_TYPES(SHMEM_TO_ALL_BIT_CALLS, F) \
	SHMEM_TO_ALL_CMP_TYPES(SHMEM_TO_ALL_CMP_CALLS, F) \
	SHMEM_TO_ALL_SUM_TYPES(SHMEM_TO_ALL_SUM_CALLS, F)

/* (a, b) -> (shmem_ctx_t ctx, a, b), and (a, b) -> (ctx, a, b): the context forms of the families marked [ctx]. */
#define SHMEM_CTX_PARAMS(...) (shmem_ctx_t ctx, __VA_ARGS__)
#define SHMEM_CTX_ARGS(...) (ctx, __VA_ARGS__)
/* clang-format on */

#endif /* SHMEM_CALLS_H */
