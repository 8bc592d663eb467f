/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmem_c11.h: the type-generic names of OpenSHMEM 1.6 by C11 _Generic. Included only by shmem.h.
 *
 * The type is that of the first data pointer. Calls with an optional context are distinguished by the number of
 * arguments, so that one selection is enough and no other argument is examined. A pointer of a type outside the list is
 * a compile error at the call.
 *
 * Call names are passed on with their underscore (_put, _g) and helpers by their full names, so that an application's
 * own short macros (g, p, CTX) do no harm.
 */
#ifndef SHMEM_C11_H
#define SHMEM_C11_H

/* one association; SELC for calls whose data pointer is const in the prototype; those with X call the ctx form */
#define SHMEM_IMPL_SEL(N, T, CALL) , T * : shmem_##N##CALL
#define SHMEM_IMPL_SELX(N, T, CALL) , T * : shmem_ctx_##N##CALL
#define SHMEM_IMPL_SELC(N, T, CALL) , T * : shmem_##N##CALL, const T * : shmem_##N##CALL
#define SHMEM_IMPL_SELCX(N, T, CALL) , T * : shmem_ctx_##N##CALL, const T * : shmem_ctx_##N##CALL

/* selection by the first argument, or by the second one after a context or team */
#define SHMEM_IMPL_PLAIN(LIST, CALL, a, ...) _Generic((a)LIST(SHMEM_IMPL_SEL, CALL))(a, __VA_ARGS__)
#define SHMEM_IMPL_PLAINC(LIST, CALL, a, ...) _Generic((a)LIST(SHMEM_IMPL_SELC, CALL))(a, __VA_ARGS__)
#define SHMEM_IMPL_CTX(LIST, CALL, ctx, a, ...) _Generic((a)LIST(SHMEM_IMPL_SELX, CALL))(ctx, a, __VA_ARGS__)
#define SHMEM_IMPL_CTXC(LIST, CALL, ctx, a, ...) _Generic((a)LIST(SHMEM_IMPL_SELCX, CALL))(ctx, a, __VA_ARGS__)
#define SHMEM_IMPL_TEAM(LIST, CALL, team, a, ...) _Generic((a)LIST(SHMEM_IMPL_SEL, CALL))(team, a, __VA_ARGS__)

/* SHMEM_IMPL_WAY<n>(P, X, arguments...): X when there are n + 1 arguments, else P */
#define SHMEM_IMPL_1ST(a1, ...) a1
#define SHMEM_IMPL_11TH(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, ...) a11
#define SHMEM_IMPL_WAY2(P, X, ...) SHMEM_IMPL_11TH(__VA_ARGS__, P, P, P, P, P, P, P, X, P, P, 0)
#define SHMEM_IMPL_WAY3(P, X, ...) SHMEM_IMPL_11TH(__VA_ARGS__, P, P, P, P, P, P, X, P, P, P, 0)
#define SHMEM_IMPL_WAY4(P, X, ...) SHMEM_IMPL_11TH(__VA_ARGS__, P, P, P, P, P, X, P, P, P, P, 0)
#define SHMEM_IMPL_WAY5(P, X, ...) SHMEM_IMPL_11TH(__VA_ARGS__, P, P, P, P, X, P, P, P, P, P, 0)
#define SHMEM_IMPL_WAY6(P, X, ...) SHMEM_IMPL_11TH(__VA_ARGS__, P, P, P, X, P, P, P, P, P, P, 0)
#define SHMEM_IMPL_WAY7(P, X, ...) SHMEM_IMPL_11TH(__VA_ARGS__, P, P, X, P, P, P, P, P, P, P, 0)
#define SHMEM_IMPL_GO(WAY, LIST, CALL, ...) WAY(LIST, CALL, __VA_ARGS__)

/* a call of n arguments, or n + 1 with a leading context */
#define SHMEM_IMPL_OPT(n, LIST, CALL, ...)                                                                             \
	SHMEM_IMPL_GO(SHMEM_IMPL_WAY##n(SHMEM_IMPL_PLAIN, SHMEM_IMPL_CTX, __VA_ARGS__), SHMEM_##LIST##_DISTINCT, CALL, \
		      __VA_ARGS__)
#define SHMEM_IMPL_OPTC(n, LIST, CALL, ...)                                                                            \
	SHMEM_IMPL_GO(SHMEM_IMPL_WAY##n(SHMEM_IMPL_PLAINC, SHMEM_IMPL_CTXC, __VA_ARGS__), SHMEM_##LIST##_DISTINCT,     \
		      CALL, __VA_ARGS__)

/* --- remote memory access and put with signal: [ctx,] dest, ... --------------------------------------------------- */
#define shmem_put(...) SHMEM_IMPL_OPT(4, RMA, _put, __VA_ARGS__)
#define shmem_get(...) SHMEM_IMPL_OPT(4, RMA, _get, __VA_ARGS__)
#define shmem_put_nbi(...) SHMEM_IMPL_OPT(4, RMA, _put_nbi, __VA_ARGS__)
#define shmem_get_nbi(...) SHMEM_IMPL_OPT(4, RMA, _get_nbi, __VA_ARGS__)
#define shmem_p(...) SHMEM_IMPL_OPT(3, RMA, _p, __VA_ARGS__)
#define shmem_g(...) SHMEM_IMPL_OPTC(2, RMA, _g, __VA_ARGS__)
#define shmem_iput(...) SHMEM_IMPL_OPT(6, RMA, _iput, __VA_ARGS__)
#define shmem_iget(...) SHMEM_IMPL_OPT(6, RMA, _iget, __VA_ARGS__)
#define shmem_ibput(...) SHMEM_IMPL_OPT(7, RMA, _ibput, __VA_ARGS__)
#define shmem_ibget(...) SHMEM_IMPL_OPT(7, RMA, _ibget, __VA_ARGS__)
#define shmem_put_signal(...) SHMEM_IMPL_OPT(7, RMA, _put_signal, __VA_ARGS__)
#define shmem_put_signal_nbi(...) SHMEM_IMPL_OPT(7, RMA, _put_signal_nbi, __VA_ARGS__)
#define shmem_signal_add(...)                                                                                          \
	_Generic((SHMEM_IMPL_1ST(__VA_ARGS__, 0)), shmem_ctx_t                                                         \
		 : shmem_ctx_signal_add, default                                                                       \
		 : shmem_signal_add)(__VA_ARGS__)
#define shmem_signal_set(...)                                                                                          \
	_Generic((SHMEM_IMPL_1ST(__VA_ARGS__, 0)), shmem_ctx_t                                                         \
		 : shmem_ctx_signal_set, default                                                                       \
		 : shmem_signal_set)(__VA_ARGS__)

/* --- atomics: [ctx,] dest or source, ... -------------------------------------------------------------------------- */
#define shmem_atomic_fetch(...) SHMEM_IMPL_OPTC(2, AMO_EXT, _atomic_fetch, __VA_ARGS__)
#define shmem_atomic_set(...) SHMEM_IMPL_OPT(3, AMO_EXT, _atomic_set, __VA_ARGS__)
#define shmem_atomic_swap(...) SHMEM_IMPL_OPT(3, AMO_EXT, _atomic_swap, __VA_ARGS__)
#define shmem_atomic_fetch_nbi(...) SHMEM_IMPL_OPT(3, AMO_EXT, _atomic_fetch_nbi, __VA_ARGS__)
#define shmem_atomic_swap_nbi(...) SHMEM_IMPL_OPT(4, AMO_EXT, _atomic_swap_nbi, __VA_ARGS__)
#define shmem_atomic_compare_swap(...) SHMEM_IMPL_OPT(4, AMO_STD, _atomic_compare_swap, __VA_ARGS__)
#define shmem_atomic_fetch_inc(...) SHMEM_IMPL_OPT(2, AMO_STD, _atomic_fetch_inc, __VA_ARGS__)
#define shmem_atomic_inc(...) SHMEM_IMPL_OPT(2, AMO_STD, _atomic_inc, __VA_ARGS__)
#define shmem_atomic_fetch_add(...) SHMEM_IMPL_OPT(3, AMO_STD, _atomic_fetch_add, __VA_ARGS__)
#define shmem_atomic_add(...) SHMEM_IMPL_OPT(3, AMO_STD, _atomic_add, __VA_ARGS__)
#define shmem_atomic_compare_swap_nbi(...) SHMEM_IMPL_OPT(5, AMO_STD, _atomic_compare_swap_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_inc_nbi(...) SHMEM_IMPL_OPT(3, AMO_STD, _atomic_fetch_inc_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_add_nbi(...) SHMEM_IMPL_OPT(4, AMO_STD, _atomic_fetch_add_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_and(...) SHMEM_IMPL_OPT(3, AMO_BIT, _atomic_fetch_and, __VA_ARGS__)
#define shmem_atomic_and(...) SHMEM_IMPL_OPT(3, AMO_BIT, _atomic_and, __VA_ARGS__)
#define shmem_atomic_fetch_and_nbi(...) SHMEM_IMPL_OPT(4, AMO_BIT, _atomic_fetch_and_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_or(...) SHMEM_IMPL_OPT(3, AMO_BIT, _atomic_fetch_or, __VA_ARGS__)
#define shmem_atomic_or(...) SHMEM_IMPL_OPT(3, AMO_BIT, _atomic_or, __VA_ARGS__)
#define shmem_atomic_fetch_or_nbi(...) SHMEM_IMPL_OPT(4, AMO_BIT, _atomic_fetch_or_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_xor(...) SHMEM_IMPL_OPT(3, AMO_BIT, _atomic_fetch_xor, __VA_ARGS__)
#define shmem_atomic_xor(...) SHMEM_IMPL_OPT(3, AMO_BIT, _atomic_xor, __VA_ARGS__)
#define shmem_atomic_fetch_xor_nbi(...) SHMEM_IMPL_OPT(4, AMO_BIT, _atomic_fetch_xor_nbi, __VA_ARGS__)

/* deprecated since 1.4, without context */
#define shmem_fetch(...) SHMEM_IMPL_PLAINC(SHMEM_AMO_OLD_EXT_DISTINCT, _fetch, __VA_ARGS__)
#define shmem_set(...) SHMEM_IMPL_PLAIN(SHMEM_AMO_OLD_EXT_DISTINCT, _set, __VA_ARGS__)
#define shmem_swap(...) SHMEM_IMPL_PLAIN(SHMEM_AMO_OLD_EXT_DISTINCT, _swap, __VA_ARGS__)
#define shmem_cswap(...) SHMEM_IMPL_PLAIN(SHMEM_AMO_OLD_STD_DISTINCT, _cswap, __VA_ARGS__)
#define shmem_finc(...) SHMEM_IMPL_PLAIN(SHMEM_AMO_OLD_STD_DISTINCT, _finc, __VA_ARGS__)
#define shmem_inc(...) SHMEM_IMPL_PLAIN(SHMEM_AMO_OLD_STD_DISTINCT, _inc, __VA_ARGS__)
#define shmem_fadd(...) SHMEM_IMPL_PLAIN(SHMEM_AMO_OLD_STD_DISTINCT, _fadd, __VA_ARGS__)
#define shmem_add(...) SHMEM_IMPL_PLAIN(SHMEM_AMO_OLD_STD_DISTINCT, _add, __VA_ARGS__)

/* --- point-to-point synchronisation: ivar, ... -------------------------------------------------------------------- */
#define shmem_wait_until(...) SHMEM_IMPL_PLAIN(SHMEM_SYNC_DISTINCT, _wait_until, __VA_ARGS__)
#define shmem_test(...) SHMEM_IMPL_PLAIN(SHMEM_SYNC_DISTINCT, _test, __VA_ARGS__)
#define shmem_wait_until_all(...) SHMEM_IMPL_PLAIN(SHMEM_AMO_STD_DISTINCT, _wait_until_all, __VA_ARGS__)
#define shmem_wait_until_any(...) SHMEM_IMPL_PLAIN(SHMEM_AMO_STD_DISTINCT, _wait_until_any, __VA_ARGS__)
#define shmem_wait_until_some(...) SHMEM_IMPL_PLAIN(SHMEM_AMO_STD_DISTINCT, _wait_until_some, __VA_ARGS__)
#define shmem_wait_until_all_vector(...) SHMEM_IMPL_PLAIN(SHMEM_AMO_STD_DISTINCT, _wait_until_all_vector, __VA_ARGS__)
#define shmem_wait_until_any_vector(...) SHMEM_IMPL_PLAIN(SHMEM_AMO_STD_DISTINCT, _wait_until_any_vector, __VA_ARGS__)
#define shmem_wait_until_some_vector(...) SHMEM_IMPL_PLAIN(SHMEM_AMO_STD_DISTINCT, _wait_until_some_vector, __VA_ARGS__)
#define shmem_test_all(...) SHMEM_IMPL_PLAIN(SHMEM_AMO_STD_DISTINCT, _test_all, __VA_ARGS__)
#define shmem_test_any(...) SHMEM_IMPL_PLAIN(SHMEM_AMO_STD_DISTINCT, _test_any, __VA_ARGS__)
#define shmem_test_some(...) SHMEM_IMPL_PLAIN(SHMEM_AMO_STD_DISTINCT, _test_some, __VA_ARGS__)
#define shmem_test_all_vector(...) SHMEM_IMPL_PLAIN(SHMEM_AMO_STD_DISTINCT, _test_all_vector, __VA_ARGS__)
#define shmem_test_any_vector(...) SHMEM_IMPL_PLAIN(SHMEM_AMO_STD_DISTINCT, _test_any_vector, __VA_ARGS__)
#define shmem_test_some_vector(...) SHMEM_IMPL_PLAIN(SHMEM_AMO_STD_DISTINCT, _test_some_vector, __VA_ARGS__)

/* --- collectives: team, dest, ... --------------------------------------------------------------------------------- */
#define shmem_sync(...)                                                                                                \
	_Generic((SHMEM_IMPL_1ST(__VA_ARGS__, 0)), shmem_team_t : shmem_team_sync, default : shmem_sync)(__VA_ARGS__)
#define shmem_alltoall(...) SHMEM_IMPL_TEAM(SHMEM_RMA_DISTINCT, _alltoall, __VA_ARGS__)
#define shmem_alltoalls(...) SHMEM_IMPL_TEAM(SHMEM_RMA_DISTINCT, _alltoalls, __VA_ARGS__)
#define shmem_broadcast(...) SHMEM_IMPL_TEAM(SHMEM_RMA_DISTINCT, _broadcast, __VA_ARGS__)
#define shmem_collect(...) SHMEM_IMPL_TEAM(SHMEM_RMA_DISTINCT, _collect, __VA_ARGS__)
#define shmem_fcollect(...) SHMEM_IMPL_TEAM(SHMEM_RMA_DISTINCT, _fcollect, __VA_ARGS__)
#define shmem_and_reduce(...) SHMEM_IMPL_TEAM(SHMEM_REDUCE_BIT_DISTINCT, _and_reduce, __VA_ARGS__)
#define shmem_or_reduce(...) SHMEM_IMPL_TEAM(SHMEM_REDUCE_BIT_DISTINCT, _or_reduce, __VA_ARGS__)
#define shmem_xor_reduce(...) SHMEM_IMPL_TEAM(SHMEM_REDUCE_BIT_DISTINCT, _xor_reduce, __VA_ARGS__)
#define shmem_max_reduce(...) SHMEM_IMPL_TEAM(SHMEM_REDUCE_CMP_DISTINCT, _max_reduce, __VA_ARGS__)
#define shmem_min_reduce(...) SHMEM_IMPL_TEAM(SHMEM_REDUCE_CMP_DISTINCT, _min_reduce, __VA_ARGS__)
#define shmem_sum_reduce(...) SHMEM_IMPL_TEAM(SHMEM_REDUCE_SUM_DISTINCT, _sum_reduce, __VA_ARGS__)
#define shmem_prod_reduce(...) SHMEM_IMPL_TEAM(SHMEM_REDUCE_SUM_DISTINCT, _prod_reduce, __VA_ARGS__)
#define shmem_sum_inscan(...) SHMEM_IMPL_TEAM(SHMEM_REDUCE_SUM_DISTINCT, _sum_inscan, __VA_ARGS__)
#define shmem_sum_exscan(...) SHMEM_IMPL_TEAM(SHMEM_REDUCE_SUM_DISTINCT, _sum_exscan, __VA_ARGS__)

#endif /* SHMEM_C11_H */
