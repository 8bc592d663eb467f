/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomic memory operations of every type and form: what each answers and leaves behind, that neighbours of the target
 * stay as they were, and, with all PEs at one place, that no update is lost and no two fetching PEs get the same value.
 */
#include "expect.h"

static int me, n, right;
static shmem_ctx_t ctx;
static long totals[2]; /* at PE 0: updates, sum of fetched values */

#define GUARD(T) ((T)77)
/* the target is cell[1]; mine is that of the PE on the right, which nobody else writes */
#define PREPARE(T, value_arg)                                                                                          \
	do {                                                                                                           \
		shmem_barrier_all();                                                                                   \
		cell[0] = cell[2] = GUARD(T);                                                                          \
		cell[1] = (T)(value_arg);                                                                              \
		shmem_barrier_all();                                                                                   \
	} while (0)
#define LEFT_BEHIND(T, CALL, NAME, value_arg)                                                                          \
	do {                                                                                                           \
		shmem_quiet();                                                                                         \
		shmem_ctx_quiet(ctx);                                                                                  \
		EXPECT_AS(what, CALL(NAME, atomic_fetch, cell + 1, right) == (T)(value_arg));                          \
	} while (0)
#define GUARDS_STAND(T)                                                                                                \
	do {                                                                                                           \
		shmem_barrier_all();                                                                                   \
		EXPECT_AS(what, cell[0] == GUARD(T) && cell[2] == GUARD(T));                                           \
	} while (0)

#define EXT_TESTS(NAME, T, CALL)                                                                                       \
	static void ext_##CALL##_##NAME(T *cell)                                                                       \
	{                                                                                                              \
		const char *const what = #CALL " " #NAME " set, fetch, swap";                                          \
		T old = 0;                                                                                             \
		PREPARE(T, 5);                                                                                         \
		EXPECT_AS(what, CALL(NAME, atomic_fetch, cell + 1, right) == (T)5);                                    \
		CALL(NAME, atomic_set, cell + 1, (T)9, right);                                                         \
		LEFT_BEHIND(T, CALL, NAME, 9);                                                                         \
		EXPECT_AS(what, CALL(NAME, atomic_swap, cell + 1, (T)11, right) == (T)9);                              \
		LEFT_BEHIND(T, CALL, NAME, 11);                                                                        \
		CALL(NAME, atomic_fetch_nbi, &old, cell + 1, right);                                                   \
		shmem_quiet();                                                                                         \
		shmem_ctx_quiet(ctx);                                                                                  \
		EXPECT_AS(what, old == (T)11);                                                                         \
		CALL(NAME, atomic_swap_nbi, &old, cell + 1, (T)12, right);                                             \
		LEFT_BEHIND(T, CALL, NAME, 12);                                                                        \
		EXPECT_AS(what, old == (T)11);                                                                         \
		GUARDS_STAND(T);                                                                                       \
	}

#define STD_TESTS(NAME, T, CALL)                                                                                       \
	static void std_##CALL##_##NAME(T *cell)                                                                       \
	{                                                                                                              \
		const char *const what = #CALL " " #NAME " compare_swap, inc, add";                                    \
		T old = 0;                                                                                             \
		PREPARE(T, 5);                                                                                         \
		EXPECT_AS(what, CALL(NAME, atomic_compare_swap, cell + 1, (T)5, (T)6, right) == (T)5);                 \
		LEFT_BEHIND(T, CALL, NAME, 6);                                                                         \
		EXPECT_AS(what, CALL(NAME, atomic_compare_swap, cell + 1, (T)5, (T)8, right) == (T)6);                 \
		LEFT_BEHIND(T, CALL, NAME, 6);                                                                         \
		CALL(NAME, atomic_compare_swap_nbi, &old, cell + 1, (T)6, (T)7, right);                                \
		LEFT_BEHIND(T, CALL, NAME, 7);                                                                         \
		EXPECT_AS(what, old == (T)6);                                                                          \
		EXPECT_AS(what, CALL(NAME, atomic_fetch_inc, cell + 1, right) == (T)7);                                \
		CALL(NAME, atomic_inc, cell + 1, right);                                                               \
		LEFT_BEHIND(T, CALL, NAME, 9);                                                                         \
		CALL(NAME, atomic_fetch_inc_nbi, &old, cell + 1, right);                                               \
		LEFT_BEHIND(T, CALL, NAME, 10);                                                                        \
		EXPECT_AS(what, old == (T)9);                                                                          \
		EXPECT_AS(what, CALL(NAME, atomic_fetch_add, cell + 1, (T)20, right) == (T)10);                        \
		CALL(NAME, atomic_add, cell + 1, (T)3, right);                                                         \
		LEFT_BEHIND(T, CALL, NAME, 33);                                                                        \
		CALL(NAME, atomic_fetch_add_nbi, &old, cell + 1, (T)2, right);                                         \
		LEFT_BEHIND(T, CALL, NAME, 35);                                                                        \
		EXPECT_AS(what, old == (T)33);                                                                         \
		CALL(NAME, atomic_add, cell + 1, (T)-36, right); /* unsigned types wrap around */                      \
		LEFT_BEHIND(T, CALL, NAME, -1);                                                                        \
		CALL(NAME, atomic_inc, cell + 1, right);                                                               \
		LEFT_BEHIND(T, CALL, NAME, 0);                                                                         \
		GUARDS_STAND(T);                                                                                       \
	}

#define BIT_TESTS(NAME, T, CALL)                                                                                       \
	static void bit_##CALL##_##NAME(T *cell)                                                                       \
	{                                                                                                              \
		const char *const what = #CALL " " #NAME " and, or, xor";                                              \
		T old = 0;                                                                                             \
		PREPARE(T, 0x55);                                                                                      \
		EXPECT_AS(what, CALL(NAME, atomic_fetch_and, cell + 1, (T)0x0f, right) == (T)0x55);                    \
		EXPECT_AS(what, CALL(NAME, atomic_fetch_or, cell + 1, (T)0xf0, right) == (T)0x05);                     \
		EXPECT_AS(what, CALL(NAME, atomic_fetch_xor, cell + 1, (T)0xff, right) == (T)0xf5);                    \
		LEFT_BEHIND(T, CALL, NAME, 0x0a);                                                                      \
		CALL(NAME, atomic_or, cell + 1, (T)0x30, right);                                                       \
		LEFT_BEHIND(T, CALL, NAME, 0x3a);                                                                      \
		CALL(NAME, atomic_and, cell + 1, (T)0x1f, right);                                                      \
		LEFT_BEHIND(T, CALL, NAME, 0x1a);                                                                      \
		CALL(NAME, atomic_xor, cell + 1, (T)0x12, right);                                                      \
		LEFT_BEHIND(T, CALL, NAME, 0x08);                                                                      \
		CALL(NAME, atomic_fetch_or_nbi, &old, cell + 1, (T)0x07, right);                                       \
		LEFT_BEHIND(T, CALL, NAME, 0x0f);                                                                      \
		EXPECT_AS(what, old == (T)0x08);                                                                       \
		CALL(NAME, atomic_fetch_and_nbi, &old, cell + 1, (T)0x0c, right);                                      \
		LEFT_BEHIND(T, CALL, NAME, 0x0c);                                                                      \
		EXPECT_AS(what, old == (T)0x0f);                                                                       \
		CALL(NAME, atomic_fetch_xor_nbi, &old, cell + 1, (T)0x05, right);                                      \
		LEFT_BEHIND(T, CALL, NAME, 0x09);                                                                      \
		EXPECT_AS(what, old == (T)0x0c);                                                                       \
		GUARDS_STAND(T);                                                                                       \
	}

/*
 * All PEs on the cell of PE 0. Fetched values of one kind of update are 0, 1, 2 ... in some order: their sum is known.
 * Each PE also takes a turn by compare-and-swap, so that these must succeed against the others.
 */
#define CONTENTION(NAME, T)                                                                                            \
	static void contention_##NAME(T *cell)                                                                         \
	{                                                                                                              \
		enum { TIMES = 60 };                                                                                   \
		const char *const what = "contention " #NAME;                                                          \
		long fetched = 0;                                                                                      \
		PREPARE(T, 0);                                                                                         \
		totals[0] = totals[1] = 0;                                                                             \
		shmem_barrier_all();                                                                                   \
		for (int i = 0; i < TIMES; i++) {                                                                      \
			fetched += (long)TYPED(NAME, atomic_fetch_inc, cell + 1, 0);                                   \
			fetched += (long)TYPED_CTX(NAME, atomic_fetch_add, cell + 1, (T)1, 0);                         \
			T seen = TYPED(NAME, atomic_fetch, cell + 1, 0), before;                                       \
			while ((before = TYPED(NAME, atomic_compare_swap, cell + 1, seen, (T)(seen + 1), 0)) != seen)  \
				seen = before;                                                                         \
			fetched += (long)seen;                                                                         \
		}                                                                                                      \
		TYPED(long, atomic_add, &totals[1], fetched, 0);                                                       \
		shmem_barrier_all();                                                                                   \
		const long all = 3L * TIMES * n;                                                                       \
		if (me == 0) {                                                                                         \
			EXPECT_AS(what, cell[1] == (T)all);                                                            \
			EXPECT_AS(what, totals[1] == all * (all - 1) / 2);                                             \
		}                                                                                                      \
		PREPARE(T, 0);                                                                                         \
		for (int i = 0; i < TIMES; i++) {                                                                      \
			TYPED(NAME, atomic_inc, cell + 1, i % n);                                                      \
			TYPED(NAME, atomic_add, cell + 1, (T)2, i % n);                                                \
		}                                                                                                      \
		shmem_barrier_all();                                                                                   \
		EXPECT_AS(what, cell[1] == (T)(3 * n * (TIMES / n + (me < TIMES % n))));                               \
		GUARDS_STAND(T);                                                                                       \
	}
/* Each PE has a bit of its own; bits of others must survive. */
#define BIT_CONTENTION(NAME, T)                                                                                        \
	static void bit_contention_##NAME(T *cell)                                                                     \
	{                                                                                                              \
		const char *const what = "bits of all PEs " #NAME;                                                     \
		const T mine = (T)1 << me % 31;                                                                        \
		PREPARE(T, 0);                                                                                         \
		for (int i = 0; i < 51; i++) {                                                                         \
			EXPECT_AS(what, (TYPED(NAME, atomic_fetch_or, cell + 1, mine, 0) & mine) == 0);                \
			EXPECT_AS(what, (TYPED(NAME, atomic_fetch_xor, cell + 1, mine, 0) & mine) != 0);               \
			TYPED(NAME, atomic_xor, cell + 1, mine, 0);                                                    \
			EXPECT_AS(what, (TYPED(NAME, atomic_fetch_and, cell + 1, (T)~mine, 0) & mine) != 0);           \
		}                                                                                                      \
		TYPED(NAME, atomic_or, cell + 1, mine, 0);                                                             \
		shmem_barrier_all();                                                                                   \
		if (me == 0 && n <= 31)                                                                                \
			EXPECT_AS(what, cell[1] == (T)(((uint64_t)1 << n) - 1));                                       \
		GUARDS_STAND(T);                                                                                       \
	}

#define EXT_TYPE(NAME, T, A) EXT_TESTS(NAME, T, TYPED) EXT_TESTS(NAME, T, TYPED_CTX)
#define STD_TYPE(NAME, T, A) STD_TESTS(NAME, T, TYPED) STD_TESTS(NAME, T, TYPED_CTX) CONTENTION(NAME, T)
#define BIT_TYPE(NAME, T, A) BIT_TESTS(NAME, T, TYPED) BIT_TESTS(NAME, T, TYPED_CTX) BIT_CONTENTION(NAME, T)
TEST_EXT_TYPES(EXT_TYPE, )
TEST_STD_TYPES(STD_TYPE, )
TEST_BIT_TYPES(BIT_TYPE, )
#define EXT_RUN(NAME, T, A)                                                                                            \
	ext_TYPED_##NAME((T *)at);                                                                                     \
	ext_TYPED_CTX_##NAME((T *)at);
#define STD_RUN(NAME, T, A)                                                                                            \
	std_TYPED_##NAME((T *)at);                                                                                     \
	std_TYPED_CTX_##NAME((T *)at);                                                                                 \
	contention_##NAME((T *)at);
#define BIT_RUN(NAME, T, A)                                                                                            \
	bit_TYPED_##NAME((T *)at);                                                                                     \
	bit_TYPED_CTX_##NAME((T *)at);                                                                                 \
	bit_contention_##NAME((T *)at);

#ifndef TEST_GENERIC
/* the names before 1.4 */
#define OLD_STD(NAME, T, A)                                                                                            \
	{                                                                                                              \
		T *cell = (T *)at;                                                                                     \
		shmem_barrier_all();                                                                                   \
		cell[1] = 1;                                                                                           \
		shmem_barrier_all();                                                                                   \
		EXPECT(shmem_##NAME##_fadd(cell + 1, 4, right) == 1);                                                  \
		EXPECT(shmem_##NAME##_finc(cell + 1, right) == 5);                                                     \
		shmem_##NAME##_add(cell + 1, 10, right);                                                               \
		shmem_##NAME##_inc(cell + 1, right);                                                                   \
		EXPECT(shmem_##NAME##_cswap(cell + 1, 17, 20, right) == 17);                                           \
		EXPECT(shmem_##NAME##_fetch(cell + 1, right) == 20);                                                   \
		shmem_barrier_all();                                                                                   \
	}
#define OLD_EXT(NAME, T, A)                                                                                            \
	{                                                                                                              \
		T *cell = (T *)at;                                                                                     \
		shmem_barrier_all();                                                                                   \
		shmem_##NAME##_set(cell + 1, (T)3, right);                                                             \
		EXPECT(shmem_##NAME##_swap(cell + 1, (T)4, right) == (T)3);                                            \
		EXPECT(shmem_##NAME##_fetch(cell + 1, right) == (T)4);                                                 \
		shmem_barrier_all();                                                                                   \
	}
static void old_names(void *at)
{
	SHMEM_AMO_OLD_STD_TYPES(OLD_STD, )
	SHMEM_AMO_OLD_EXT_TYPES(OLD_EXT, )
}
#else
static void old_names(void *at)
{
	(void)at;
}
#endif

static void all_on(void *at)
{
	TEST_EXT_TYPES(EXT_RUN, )
	TEST_STD_TYPES(STD_RUN, )
	TEST_BIT_TYPES(BIT_RUN, )
	old_names(at);
}

int main(void)
{
	static uint64_t fixed[4];
	shmem_init();
	me = shmem_my_pe();
	n = shmem_n_pes();
	right = (me + 1) % n;
	EXPECT(shmem_ctx_create(SHMEM_CTX_SERIALIZED, &ctx) == 0);
	void *heap = shmem_malloc_with_hints(64, SHMEM_MALLOC_ATOMICS_REMOTE);
	EXPECT(heap);
	all_on(fixed);
	all_on(heap);
	shmem_ctx_destroy(ctx);
	shmem_free(heap);
	test_done("typed_amo");
	return 0;
}
