/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomic memory operations of every type and form: what each returns and leaves in memory, that neighbours of the
 * target are unchanged, and, with all PEs at one location, that no update is lost and no two fetching PEs get the same
 * value.
 */
#include "typed.h"

static int me, n, right;
static shmem_ctx_t ctx;
static long totals[2]; /* at PE 0: updates, sum of fetched values */

#define GUARD ((T)77)
#define PREPARE(value_arg)                                                                                             \
	do {                                                                                                           \
		shmem_barrier_all();                                                                                   \
		cell[0] = cell[2] = GUARD;                                                                             \
		cell[1] = (T)(value_arg);                                                                              \
		shmem_barrier_all();                                                                                   \
	} while (0)
#define LEFT_BEHIND(value_arg)                                                                                         \
	do {                                                                                                           \
		shmem_quiet();                                                                                         \
		shmem_ctx_quiet(ctx);                                                                                  \
		CHECK(CALL(atomic_fetch, cell + 1, right) == (T)(value_arg));                                          \
	} while (0)
#define GUARDS_STAND()                                                                                                 \
	do {                                                                                                           \
		shmem_barrier_all();                                                                                   \
		CHECK(cell[0] == GUARD && cell[2] == GUARD);                                                           \
	} while (0)

#define CALL_first TYPED
#define CALL_second TYPED_CTX
#define TYPED_BODY "typed_amo.inc"
#include "typed_each.inc"

#define EXT_RUN(NAME, T, A)                                                                                            \
	FN_OF(ext, first, NAME)((T *)addr);                                                                            \
	FN_OF(ext, second, NAME)((T *)addr);
#define STD_RUN(NAME, T, A)                                                                                            \
	FN_OF(std, first, NAME)((T *)addr);                                                                            \
	FN_OF(std, second, NAME)((T *)addr);                                                                           \
	FN_OF(contention, first, NAME)((T *)addr);
#define BIT_RUN(NAME, T, A)                                                                                            \
	FN_OF(bit, first, NAME)((T *)addr);                                                                            \
	FN_OF(bit, second, NAME)((T *)addr);                                                                           \
	FN_OF(bit_contention, first, NAME)((T *)addr);

#ifndef TEST_GENERIC
/* the names before 1.4 */
#define OLD_STD(NAME, T, A)                                                                                            \
	{                                                                                                              \
		T *cell = (T *)addr;                                                                                   \
		check_doing = "old names: " #NAME;                                                                     \
		shmem_barrier_all();                                                                                   \
		cell[1] = 1;                                                                                           \
		shmem_barrier_all();                                                                                   \
		CHECK(shmem_##NAME##_fadd(cell + 1, 4, right) == 1);                                                   \
		CHECK(shmem_##NAME##_finc(cell + 1, right) == 5);                                                      \
		shmem_##NAME##_add(cell + 1, 10, right);                                                               \
		shmem_##NAME##_inc(cell + 1, right);                                                                   \
		CHECK(shmem_##NAME##_cswap(cell + 1, 17, 20, right) == 17);                                            \
		CHECK(shmem_##NAME##_fetch(cell + 1, right) == 20);                                                    \
		shmem_barrier_all();                                                                                   \
	}
#define OLD_EXT(NAME, T, A)                                                                                            \
	{                                                                                                              \
		T *cell = (T *)addr;                                                                                   \
		check_doing = "old names: " #NAME;                                                                     \
		shmem_barrier_all();                                                                                   \
		shmem_##NAME##_set(cell + 1, (T)3, right);                                                             \
		CHECK(shmem_##NAME##_swap(cell + 1, (T)4, right) == (T)3);                                             \
		CHECK(shmem_##NAME##_fetch(cell + 1, right) == (T)4);                                                  \
		shmem_barrier_all();                                                                                   \
	}
static void old_names(void *addr)
{
	SHMEM_AMO_OLD_STD_TYPES(OLD_STD, )
	SHMEM_AMO_OLD_EXT_TYPES(OLD_EXT, )
}
#else
static void old_names(void *addr)
{
	(void)addr;
}
#endif

static void all_on(void *addr)
{
	SHMEM_AMO_EXT_TYPES(EXT_RUN, )
	SHMEM_AMO_STD_TYPES(STD_RUN, )
	SHMEM_AMO_BIT_TYPES(BIT_RUN, )
	old_names(addr);
}

int main(void)
{
	static uint64_t fixed[4];
	shmem_init();
	me = shmem_my_pe();
	n = shmem_n_pes();
	right = (me + 1) % n;
	CHECK(shmem_ctx_create(SHMEM_CTX_SERIALIZED, &ctx) == 0);
	void *heap = shmem_malloc_with_hints(64, SHMEM_MALLOC_ATOMICS_REMOTE);
	CHECK(heap);
	all_on(fixed);
	all_on(heap);
	shmem_ctx_destroy(ctx);
	shmem_free(heap);
	test_done("typed_amo");
	return 0;
}
