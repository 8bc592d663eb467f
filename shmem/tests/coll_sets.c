/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The deprecated collectives over active sets: every one and every type, on all PEs, every second, and the upper half;
 * pSync is back at SHMEM_SYNC_VALUE afterwards, and may be reused at once.
 */
#include "coll_test.h"

#include <unistd.h>

enum { kMost = 600 };
static char g_source[16 * kMost * 8] __attribute__((aligned(64)));
static char g_dest[16 * (kMost * 8 + 8)] __attribute__((aligned(64)));
static char g_work[16 * (kMost / 2 + 1 + SHMEM_REDUCE_MIN_WRKDATA_SIZE)] __attribute__((aligned(64)));
static long g_psync[2][SHMEM_SYNC_SIZE];
/* for the test's own syncs: a PE that is ahead counts there while we check */
static long g_own_psync[2][SHMEM_SYNC_SIZE];
static int g_turn, g_own_turn;

struct set {
	int start, log_stride, size;
};

static int pe_of(const struct set *s, int member)
{
	return s->start + (member << s->log_stride);
}

static long *psync(void)
{
	return g_psync[g_turn++ % 2];
}

static void psync_clean(void)
{
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < SHMEM_SYNC_SIZE; i++)
			CHECK(g_psync[k][i] == SHMEM_SYNC_VALUE);
}

#define SYNC(s) shmem_sync((s)->start, (s)->log_stride, (s)->size, g_own_psync[g_own_turn++ % 2])

#define DEFINE(N, T, CALL, EXPR)                                                                                       \
	static void N##_##CALL(const struct set *s, int n, int in_place)                                               \
	{                                                                                                              \
		T *source = (T *)(void *)g_source, *dest = in_place ? source : (T *)(void *)g_dest;                    \
		check_doing = "shmem_" #N "_" #CALL;                                                                   \
		for (int i = 0; i < n; i++)                                                                            \
			source[i] = (T)value_of(shmem_my_pe(), (size_t)i);                                             \
		SYNC(s);                                                                                               \
		shmem_##N##_##CALL(dest, source, n, s->start, s->log_stride, s->size, (T *)(void *)g_work, psync());   \
		for (int i = 0; i < n; i++) {                                                                          \
			T a = (T)value_of(pe_of(s, 0), (size_t)i);                                                     \
			for (int j = 1; j < s->size; j++) {                                                            \
				const T b = (T)value_of(pe_of(s, j), (size_t)i);                                       \
				a = (T)(EXPR);                                                                         \
			}                                                                                              \
			CHECK(dest[i] == a);                                                                           \
		}                                                                                                      \
		SYNC(s);                                                                                               \
		psync_clean();                                                                                         \
		SYNC(s);                                                                                               \
	}
#define SUMS(N, T, A) DEFINE(N, T, sum_to_all, a + b) DEFINE(N, T, prod_to_all, a *b)
#define COMPARISONS(N, T, A) DEFINE(N, T, min_to_all, b < a ? b : a) DEFINE(N, T, max_to_all, a < b ? b : a)
#define BITS(N, T, A) DEFINE(N, T, and_to_all, a &b) DEFINE(N, T, or_to_all, a | b) DEFINE(N, T, xor_to_all, a ^ b)
SHMEM_TO_ALL_SUM_TYPES(SUMS, )
SHMEM_TO_ALL_CMP_TYPES(COMPARISONS, )
SHMEM_TO_ALL_BIT_TYPES(BITS, )

typedef void (*reduce_test)(const struct set *s, int n, int in_place);
#define LIST_SUMS(N, T, A) N##_sum_to_all, N##_prod_to_all,
#define LIST_COMPARISONS(N, T, A) N##_min_to_all, N##_max_to_all,
#define LIST_BITS(N, T, A) N##_and_to_all, N##_or_to_all, N##_xor_to_all,
static const reduce_test kReduce[] = {SHMEM_TO_ALL_SUM_TYPES(LIST_SUMS, ) SHMEM_TO_ALL_CMP_TYPES(LIST_COMPARISONS, )
					      SHMEM_TO_ALL_BIT_TYPES(LIST_BITS, )};

#define DEFINE_DATA(S, T)                                                                                              \
	static void data##S(const struct set *s, size_t n)                                                             \
	{                                                                                                              \
		T *source = (T *)(void *)g_source, *dest = (T *)(void *)g_dest;                                        \
		const int me = shmem_my_pe(), mine = (me - s->start) >> s->log_stride;                                 \
		const size_t all = n * (size_t)s->size;                                                                \
		for (size_t i = 0; i < kMost * 8; i++)                                                                 \
			source[i] = (T)value_of(me, i);                                                                \
		for (int root = 0; root < s->size; root++) {                                                           \
			check_doing = "shmem_broadcast" #S;                                                            \
			memset(g_dest, 0, sizeof g_dest);                                                              \
			SYNC(s);                                                                                       \
			shmem_broadcast##S(dest, source, n, root, s->start, s->log_stride, s->size, psync());          \
			for (size_t i = 0; i < n; i++) /* the root's dest is unchanged */                              \
				CHECK(dest[i] == (mine == root ? (T)0 : (T)value_of(pe_of(s, root), i)));              \
			SYNC(s);                                                                                       \
		}                                                                                                      \
		check_doing = "shmem_fcollect" #S;                                                                     \
		memset(g_dest, 0, sizeof g_dest);                                                                      \
		SYNC(s);                                                                                               \
		shmem_fcollect##S(dest, source, n, s->start, s->log_stride, s->size, psync());                         \
		for (size_t i = 0; i < all; i++)                                                                       \
			CHECK(dest[i] == (T)value_of(pe_of(s, (int)(i / n)), i % n));                                  \
		CHECK(dest[all] == 0);                                                                                 \
		check_doing = "shmem_collect" #S;                                                                      \
		memset(g_dest, 0, sizeof g_dest);                                                                      \
		SYNC(s);                                                                                               \
		shmem_collect##S(dest, source, (size_t)((mine + 1) % 3) * n / 2, s->start, s->log_stride, s->size,     \
				 psync());                                                                             \
		size_t pos = 0;                                                                                        \
		for (int j = 0; j < s->size; j++)                                                                      \
			for (size_t i = 0; i < (size_t)((j + 1) % 3) * n / 2; i++, pos++)                              \
				CHECK(dest[pos] == (T)value_of(pe_of(s, j), i));                                       \
		CHECK(dest[pos] == 0);                                                                                 \
		check_doing = "shmem_alltoall" #S;                                                                     \
		memset(g_dest, 0, sizeof g_dest);                                                                      \
		SYNC(s);                                                                                               \
		shmem_alltoall##S(dest, source, n, s->start, s->log_stride, s->size, psync());                         \
		for (size_t i = 0; i < all; i++)                                                                       \
			CHECK(dest[i] == (T)value_of(pe_of(s, (int)(i / n)), (size_t)mine * n + i % n));               \
		check_doing = "shmem_alltoalls" #S;                                                                    \
		const size_t few = n / 3;                                                                              \
		memset(g_dest, 0, sizeof g_dest);                                                                      \
		SYNC(s);                                                                                               \
		shmem_alltoalls##S(dest, source, 3, 2, few, s->start, s->log_stride, s->size, psync());                \
		for (size_t i = 0; i < few * (size_t)s->size; i++)                                                     \
			CHECK(dest[3 * i] ==                                                                           \
			      (T)value_of(pe_of(s, (int)(i / few)), 2 * ((size_t)mine * few + i % few)));              \
		SYNC(s);                                                                                               \
		psync_clean();                                                                                         \
		SYNC(s);                                                                                               \
	}
DEFINE_DATA(32, uint32_t)
DEFINE_DATA(64, uint64_t)

/* A put before shmem_barrier has arrived after it. */
static void barriers(const struct set *s)
{
	static long cell;
	const int mine = (shmem_my_pe() - s->start) >> s->log_stride;
	check_doing = "shmem_barrier";
	for (long round = 1; round <= 200; round++) {
		shmem_long_p(&cell, round * 100 + mine, pe_of(s, (mine + 1) % s->size));
		shmem_barrier(s->start, s->log_stride, s->size, psync());
		CHECK(cell == round * 100 + (mine + s->size - 1) % s->size);
		shmem_barrier(s->start, s->log_stride, s->size, psync());
	}
}

/* Two pSyncs and two dests in turn, without a sync in between: the dest that a PE reads is not overwritten before its
 * next call. */
static void broadcasts_in_turn(const struct set *s)
{
	enum { kWords = 10, kRounds = 12 };
	static uint64_t source[2][kWords], dest[2][kWords];
	const int mine = (shmem_my_pe() - s->start) >> s->log_stride, root = s->size - 1;
	check_doing = "shmem_broadcast64, one after the other";
	memset(dest, 0, sizeof dest);
	SYNC(s);
	for (uint64_t round = 1; round <= kRounds; round++) {
		uint64_t *src = source[round % 2], *dst = dest[round % 2];
		const size_t n = round % 4 < 2 ? kWords / 2 : kWords;
		for (size_t i = 0; mine == root && i < n; i++)
			src[i] = 100 * round + i;
		shmem_broadcast64(dst, src, n, root, s->start, s->log_stride, s->size, psync());
		if (mine != root)
			usleep(2000); /* the root is ahead now, if it can be */
		for (size_t i = 0; mine != root && i < n; i++)
			CHECK_EQ(dst[i], 100 * round + i);
	}
	SYNC(s);
}

int main(int argc, char **argv)
{
	int level;
	(void)argv;
	if (argc > 1)
		shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level); /* then the set of all PEs, too, syncs in pSync */
	else
		shmem_init();
	const int n = shmem_n_pes(), me = shmem_my_pe();
	CHECK(n <= 8);
	const struct set sets[] = {{0, 0, n}, {0, 1, (n + 1) / 2}, {n / 2, 0, n - n / 2}};
	for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
		const struct set *s = &sets[k];
		const int away = me - s->start;
		if (away >= 0 && away % (1 << s->log_stride) == 0 && away >> s->log_stride < s->size) {
			barriers(s);
			broadcasts_in_turn(s);
			for (size_t r = 0; r < sizeof kReduce / sizeof *kReduce; r++)
				for (int in_place = 0; in_place < 2; in_place++) {
					kReduce[r](s, 3, in_place);
					kReduce[r](s, kMost, in_place);
				}
			data32(s, 5);
			data64(s, kMost);
		}
		shmem_barrier_all();
	}
	if (me == 0)
		printf("%d PEs: %zu reductions over active sets\n", n, sizeof kReduce / sizeof *kReduce);
	shmem_finalize();
	return 0;
}
