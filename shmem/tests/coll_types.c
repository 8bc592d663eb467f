/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every team reduction, scan and data collective of every type: result, untouched source, nothing written past the end;
 * in place and not, from no element to more than one share per PE; on the world team, one of every second PE, and an
 * irregular one. TEST_GENERIC: by the names without a type. TEST_NB: the non-blocking calls, each waited for at once.
 */
#include "coll_test.h"
#include "typed.h"

enum { kMost = 1100, kPad = 8 };
static char g_source[16 * (kMost * 8 + kPad)] __attribute__((aligned(64)));
static char g_dest[16 * (kMost * 8 + kPad)] __attribute__((aligned(64)));

#define TYPED_BODY "coll_types.inc"
#include "typed_each.inc"

typedef void (*reduce_test)(shmem_team_t team, size_t n, int in_place);
#ifdef TEST_NB
#define LIST_SUMS(N, T, A) FN_OF(sum_reduce, first, N), FN_OF(prod_reduce, first, N),
#else
#define LIST_SUMS(N, T, A)                                                                                             \
	FN_OF(sum_reduce, first, N), FN_OF(prod_reduce, first, N), FN_OF(sum_inscan, first, N),                        \
		FN_OF(sum_exscan, first, N),
#endif
#define LIST_COMPARISONS(N, T, A) FN_OF(min_reduce, first, N), FN_OF(max_reduce, first, N),
#define LIST_BITS(N, T, A) FN_OF(and_reduce, first, N), FN_OF(or_reduce, first, N), FN_OF(xor_reduce, first, N),
static const reduce_test kReduce[] = {SHMEM_REDUCE_SUM_TYPES(LIST_SUMS, ) SHMEM_REDUCE_CMP_TYPES(LIST_COMPARISONS, )
					      SHMEM_REDUCE_BIT_TYPES(LIST_BITS, )};

typedef void (*data_test)(shmem_team_t team, size_t n);
#define LIST_DATA(N, T, A) FN_OF(data, first, N),
static const data_test kData[] = {SHMEM_RMA_TYPES(LIST_DATA, )};

#ifdef TEST_NB
#define MEM(call_arg, ...) (shmemx_##call_arg##_nb(__VA_ARGS__, &typed_request) || shmemx_req_wait(&typed_request))
#else
#define MEM(call_arg, ...) shmem_##call_arg(__VA_ARGS__)
#endif

static void mem_forms(shmem_team_t team)
{
	const int members = shmem_team_n_pes(team), mine = shmem_team_my_pe(team);
	for (size_t n = 1; n <= 3000; n = n * 5 + 2) {
		const size_t all = n * (size_t)members;
		check_doing = "mem forms";
		for (size_t i = 0; i < all * 2; i++)
			g_source[i] = (char)value_of(shmem_my_pe(), i);
		memset(g_dest, 0, all * 2 + 1);
		shmem_team_sync(team);
		CHECK(MEM(fcollectmem, team, g_dest, g_source, n) == 0);
		for (size_t i = 0; i < all; i++)
			CHECK(g_dest[i] == value_of(world_pe_of(team, (int)(i / n)), i % n));
		shmem_team_sync(team);
		CHECK(MEM(collectmem, team, g_dest, g_source, n) == 0);
		for (size_t i = 0; i < all; i++)
			CHECK(g_dest[i] == value_of(world_pe_of(team, (int)(i / n)), i % n));
		shmem_team_sync(team);
		CHECK(MEM(broadcastmem, team, g_dest, g_source, n, members - 1) == 0);
		for (size_t i = 0; i < n; i++)
			CHECK(g_dest[i] == value_of(world_pe_of(team, members - 1), i));
		shmem_team_sync(team);
		CHECK(MEM(alltoallmem, team, g_dest, g_source, n) == 0);
		for (size_t i = 0; i < all; i++)
			CHECK(g_dest[i] == value_of(world_pe_of(team, (int)(i / n)), (size_t)mine * n + i % n));
		memset(g_dest, 0, all * 2 + 1);
		shmem_team_sync(team);
		CHECK(MEM(alltoallsmem, team, g_dest, g_source, 2, 1, n) == 0);
		for (size_t i = 0; i < all; i++)
			CHECK(g_dest[2 * i] == value_of(world_pe_of(team, (int)(i / n)), (size_t)mine * n + i % n) &&
			      !g_dest[2 * i + 1]);
		shmem_team_sync(team);
#ifndef TEST_NB
		CHECK(shmemx_gathermem(team, g_dest, g_source, n, 0) == 0);
		for (size_t i = 0; i < all && mine == 0; i++)
			CHECK(g_dest[i] == value_of(world_pe_of(team, (int)(i / n)), i % n));
		shmem_team_sync(team);
		CHECK(shmemx_scattermem(team, g_dest, g_source, n, 0) == 0);
		for (size_t i = 0; i < n; i++)
			CHECK(g_dest[i] == value_of(world_pe_of(team, 0), (size_t)mine * n + i));
		shmem_team_sync(team);
		size_t counts[8], displs[8];
		for (int j = 0; j < members; j++) {
			counts[j] = n;
			displs[j] = (size_t)j * n;
		}
		CHECK(shmemx_alltoallvmem(team, g_dest, counts, displs, g_source, counts, displs) == 0);
		for (size_t i = 0; i < all; i++)
			CHECK(g_dest[i] == value_of(world_pe_of(team, (int)(i / n)), (size_t)mine * n + i % n));
		shmem_team_sync(team);
#endif
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
	CHECK(n <= 8);
	all_on(SHMEM_TEAM_WORLD, 1);
	CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, n > 1, 2, n / 2 + (n == 1), NULL, 0, &every_second) == 0);
	all_on(every_second, 0);
	/* all but PE 1, in reverse order */
	CHECK(shmemx_team_split_color(SHMEM_TEAM_WORLD, shmem_my_pe() == 1 ? SHMEMX_COLOR_NONE : 0, -shmem_my_pe(),
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
