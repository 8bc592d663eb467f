/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every team reduction, scan and data collective of every type: result, untouched source, nothing written behind the
 * end; in place and not, from no element to more than one share per PE; on the world team, one of every second PE, and
 * an irregular one. TEST_GENERIC: by the names without a type, in C++ (those of C11 are macros and cannot stand inside
 * these).
 */
#include "coll_test.h"

#ifdef TEST_GENERIC
#define NAME(N, CALL) shmem_##CALL
#else
#define NAME(N, CALL) shmem_##N##_##CALL
#endif

enum { kMost = 1100, kPad = 8 };
static char g_source[16 * (kMost * 8 + kPad)] __attribute__((aligned(64)));
static char g_dest[16 * (kMost * 8 + kPad)] __attribute__((aligned(64)));

/* --- reductions and scans: EXPR combines a and b; LESS makes some values negative, where signs matter ------------- */
#define SUM_OF (a + b)
#define PROD_OF (a * b)
#define MIN_OF (b < a ? b : a)
#define MAX_OF (a < b ? b : a)
#define AND_OF (a & b)
#define OR_OF (a | b)
#define XOR_OF (a ^ b)

#define DEFINE_REDUCE(N, T, CALL, EXPR, LESS)                                                                          \
	static void N##_##CALL(shmem_team_t team, size_t n, int in_place)                                              \
	{                                                                                                              \
		T *source = (T *)(void *)g_source, *dest = in_place ? source : (T *)(void *)g_dest;                    \
		const int members = shmem_team_n_pes(team), me = shmem_my_pe();                                        \
		g_doing = "shmem_" #N "_" #CALL;                                                                       \
		for (size_t i = 0; i < n + kPad; i++)                                                                  \
			dest[i] = (T)77;                                                                               \
		for (size_t i = 0; i < n; i++)                                                                         \
			source[i] = (T)(value_of(me, i) - LESS);                                                       \
		shmem_team_sync(team);                                                                                 \
		EXPECT(NAME(N, CALL)(team, dest, source, n) == 0);                                                     \
		for (size_t i = 0; i < n; i++) {                                                                       \
			T a = (T)(value_of(world_pe_of(team, 0), i) - LESS);                                           \
			for (int j = 1; j < members; j++) {                                                            \
				const T b = (T)(value_of(world_pe_of(team, j), i) - LESS);                             \
				a = (T)EXPR;                                                                           \
			}                                                                                              \
			EXPECT(dest[i] == a);                                                                          \
			EXPECT(in_place || source[i] == (T)(value_of(me, i) - LESS));                                  \
		}                                                                                                      \
		for (size_t i = n; i < n + kPad && !in_place; i++)                                                     \
			EXPECT(dest[i] == (T)77);                                                                      \
		shmem_team_sync(team);                                                                                 \
	}
#define DEFINE_SCAN(N, T, CALL, EXCLUSIVE)                                                                             \
	static void N##_##CALL(shmem_team_t team, size_t n, int in_place)                                              \
	{                                                                                                              \
		T *source = (T *)(void *)g_source, *dest = in_place ? source : (T *)(void *)g_dest;                    \
		const int mine = shmem_team_my_pe(team), me = shmem_my_pe();                                           \
		g_doing = "shmem_" #N "_" #CALL;                                                                       \
		for (size_t i = 0; i < n; i++) {                                                                       \
			dest[i] = (T)77;                                                                               \
			source[i] = (T)value_of(me, i);                                                                \
		}                                                                                                      \
		shmem_team_sync(team);                                                                                 \
		EXPECT(NAME(N, CALL)(team, dest, source, n) == 0);                                                     \
		for (size_t i = 0; i < n; i++) {                                                                       \
			T a = (T)0;                                                                                    \
			for (int j = 0; j < mine + !EXCLUSIVE; j++)                                                    \
				a = (T)(a + (T)value_of(world_pe_of(team, j), i));                                     \
			EXPECT(dest[i] == a);                                                                          \
		}                                                                                                      \
		shmem_team_sync(team);                                                                                 \
	}
#define SUMS(N, T, A)                                                                                                  \
	DEFINE_REDUCE(N, T, sum_reduce, SUM_OF, 0)                                                                     \
	DEFINE_REDUCE(N, T, prod_reduce, PROD_OF, 0)                                                                   \
	DEFINE_SCAN(N, T, sum_inscan, 0)                                                                               \
	DEFINE_SCAN(N, T, sum_exscan, 1)
#define COMPARISONS(N, T, A) DEFINE_REDUCE(N, T, min_reduce, MIN_OF, 6) DEFINE_REDUCE(N, T, max_reduce, MAX_OF, 6)
#define BITS(N, T, A)                                                                                                  \
	DEFINE_REDUCE(N, T, and_reduce, AND_OF, 0)                                                                     \
	DEFINE_REDUCE(N, T, or_reduce, OR_OF, 0)                                                                       \
	DEFINE_REDUCE(N, T, xor_reduce, XOR_OF, 0)
SHMEM_REDUCE_SUM_TYPES(SUMS, )
SHMEM_REDUCE_CMP_TYPES(COMPARISONS, )
SHMEM_REDUCE_BIT_TYPES(BITS, )

typedef void (*reduce_test)(shmem_team_t team, size_t n, int in_place);
#define LIST_SUMS(N, T, A) N##_sum_reduce, N##_prod_reduce, N##_sum_inscan, N##_sum_exscan,
#define LIST_COMPARISONS(N, T, A) N##_min_reduce, N##_max_reduce,
#define LIST_BITS(N, T, A) N##_and_reduce, N##_or_reduce, N##_xor_reduce,
static const reduce_test kReduce[] = {SHMEM_REDUCE_SUM_TYPES(LIST_SUMS, ) SHMEM_REDUCE_CMP_TYPES(LIST_COMPARISONS, )
					      SHMEM_REDUCE_BIT_TYPES(LIST_BITS, )};

/* --- data --------------------------------------------------------------------------------------------------------- */
#define FILL(T, count)                                                                                                 \
	for (size_t i = 0; i < (count); i++)                                                                           \
	source[i] = (T)value_of(me, i)
#define DEFINE_DATA(N, T, A)                                                                                           \
	static void N##_data(shmem_team_t team, size_t n)                                                              \
	{                                                                                                              \
		T *source = (T *)(void *)g_source, *dest = (T *)(void *)g_dest;                                        \
		const int me = shmem_my_pe(), mine = shmem_team_my_pe(team), members = shmem_team_n_pes(team);         \
		const size_t all = (size_t)members * n;                                                                \
		for (int root = 0; root < members; root++) {                                                           \
			g_doing = "shmem_" #N "_broadcast";                                                            \
			memset(g_dest, 0, (n + kPad) * sizeof(T));                                                     \
			FILL(T, n);                                                                                    \
			shmem_team_sync(team);                                                                         \
			EXPECT(NAME(N, broadcast)(team, dest, source, n, root) == 0);                                  \
			for (size_t i = 0; i < n; i++)                                                                 \
				EXPECT(dest[i] == (T)value_of(world_pe_of(team, root), i) &&                           \
				       source[i] == (T)value_of(me, i));                                               \
			EXPECT(dest[n] == (T)0);                                                                       \
			shmem_team_sync(team);                                                                         \
		}                                                                                                      \
		g_doing = "shmem_" #N "_fcollect";                                                                     \
		memset(g_dest, 0, (all + kPad) * sizeof(T));                                                           \
		shmem_team_sync(team);                                                                                 \
		EXPECT(NAME(N, fcollect)(team, dest, source, n) == 0);                                                 \
		for (size_t i = 0; i < all; i++)                                                                       \
			EXPECT(dest[i] == (T)value_of(world_pe_of(team, (int)(i / n)), i % n));                        \
		EXPECT(dest[all] == (T)0);                                                                             \
		g_doing = "shmem_" #N "_collect"; /* member j gives (j % 3) * n / 2 elements: also none */             \
		memset(g_dest, 0, (all + kPad) * sizeof(T));                                                           \
		shmem_team_sync(team);                                                                                 \
		EXPECT(NAME(N, collect)(team, dest, source, (size_t)(mine % 3) * n / 2) == 0);                         \
		size_t at = 0;                                                                                         \
		for (int j = 0; j < members; j++)                                                                      \
			for (size_t i = 0; i < (size_t)(j % 3) * n / 2; i++, at++)                                     \
				EXPECT(dest[at] == (T)value_of(world_pe_of(team, j), i));                              \
		EXPECT(dest[at] == (T)0);                                                                              \
		g_doing = "shmem_" #N "_alltoall";                                                                     \
		memset(g_dest, 0, (all + kPad) * sizeof(T));                                                           \
		FILL(T, all);                                                                                          \
		shmem_team_sync(team);                                                                                 \
		EXPECT(NAME(N, alltoall)(team, dest, source, n) == 0);                                                 \
		for (size_t i = 0; i < all; i++)                                                                       \
			EXPECT(dest[i] == (T)value_of(world_pe_of(team, (int)(i / n)), (size_t)mine * n + i % n));     \
		EXPECT(dest[all] == (T)0);                                                                             \
		g_doing = "shmem_" #N "_alltoalls";                                                                    \
		const size_t few = n / 4, every = (size_t)members * few;                                               \
		memset(g_dest, 0, (all + kPad) * sizeof(T));                                                           \
		shmem_team_sync(team);                                                                                 \
		EXPECT(NAME(N, alltoalls)(team, dest, source, 2, 3, few) == 0);                                        \
		for (size_t i = 0; i < every; i++) {                                                                   \
			EXPECT(dest[2 * i] ==                                                                          \
			       (T)value_of(world_pe_of(team, (int)(i / few)), 3 * ((size_t)mine * few + i % few)));    \
			EXPECT(dest[2 * i + 1] == (T)0);                                                               \
		}                                                                                                      \
		shmem_team_sync(team);                                                                                 \
	}
SHMEM_RMA_TYPES(DEFINE_DATA, )
typedef void (*data_test)(shmem_team_t team, size_t n);
#define LIST_DATA(N, T, A) N##_data,
static const data_test kData[] = {SHMEM_RMA_TYPES(LIST_DATA, )};

static void mem_forms(shmem_team_t team)
{
	const int members = shmem_team_n_pes(team), mine = shmem_team_my_pe(team);
	for (size_t n = 1; n <= 3000; n = n * 5 + 2) {
		const size_t all = n * (size_t)members;
		g_doing = "mem forms";
		for (size_t i = 0; i < all * 2; i++)
			g_source[i] = (char)value_of(shmem_my_pe(), i);
		memset(g_dest, 0, all * 2 + 1);
		shmem_team_sync(team);
		EXPECT(shmem_fcollectmem(team, g_dest, g_source, n) == 0);
		for (size_t i = 0; i < all; i++)
			EXPECT(g_dest[i] == value_of(world_pe_of(team, (int)(i / n)), i % n));
		shmem_team_sync(team);
		EXPECT(shmem_collectmem(team, g_dest, g_source, n) == 0);
		for (size_t i = 0; i < all; i++)
			EXPECT(g_dest[i] == value_of(world_pe_of(team, (int)(i / n)), i % n));
		shmem_team_sync(team);
		EXPECT(shmem_broadcastmem(team, g_dest, g_source, n, members - 1) == 0);
		for (size_t i = 0; i < n; i++)
			EXPECT(g_dest[i] == value_of(world_pe_of(team, members - 1), i));
		shmem_team_sync(team);
		EXPECT(shmem_alltoallmem(team, g_dest, g_source, n) == 0);
		for (size_t i = 0; i < all; i++)
			EXPECT(g_dest[i] == value_of(world_pe_of(team, (int)(i / n)), (size_t)mine * n + i % n));
		memset(g_dest, 0, all * 2 + 1);
		shmem_team_sync(team);
		EXPECT(shmem_alltoallsmem(team, g_dest, g_source, 2, 1, n) == 0);
		for (size_t i = 0; i < all; i++)
			EXPECT(g_dest[2 * i] == value_of(world_pe_of(team, (int)(i / n)), (size_t)mine * n + i % n) &&
			       !g_dest[2 * i + 1]);
		shmem_team_sync(team);
	}
}

static void all_on(shmem_team_t team, int thorough)
{
	static const size_t sizes[] = {0, 1, 7, 40, kMost};
	if (team == SHMEM_TEAM_INVALID)
		return;
	for (size_t k = 0; k < sizeof kReduce / sizeof *kReduce; k++)
		for (size_t s = thorough ? 0 : 3; s < sizeof sizes / sizeof *sizes; s++)
			for (int in_place = 0; in_place < 2; in_place++)
				kReduce[k](team, sizes[s], in_place);
	for (size_t k = 0; k < sizeof kData / sizeof *kData; k++)
		for (size_t s = thorough ? 0 : 3; s < sizeof sizes / sizeof *sizes; s++)
			kData[k](team, sizes[s]);
	mem_forms(team);
}

int main(void)
{
	shmem_init();
	const int n = shmem_n_pes();
	shmem_team_t every_second, irregular;
	EXPECT(n <= 8);
	all_on(SHMEM_TEAM_WORLD, 1);
	EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, n > 1, 2, n / 2 + (n == 1), NULL, 0, &every_second) == 0);
	all_on(every_second, 0);
	/* all but PE 1, backwards */
	EXPECT(shmemx_team_split_color(SHMEM_TEAM_WORLD, shmem_my_pe() == 1 ? SHMEMX_COLOR_NONE : 0, -shmem_my_pe(),
				       NULL, 0, &irregular) == 0);
	all_on(irregular, 0);
	shmem_team_destroy(every_second);
	shmem_team_destroy(irregular);
	shmem_barrier_all();
	if (shmem_my_pe() == 0)
		printf("%d PEs: %zu reductions and scans, %zu types of data\n", n, sizeof kReduce / sizeof *kReduce,
		       sizeof kData / sizeof *kData);
	shmem_finalize();
	return 0;
}
