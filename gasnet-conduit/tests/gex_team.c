/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Teams of GASNet-EX: split by color and key, members that stay out, lists, scratch space that is returned, ranks there
 * and back, transfers and barriers through a team, and more teams one after another than fit into memory at a time.
 */
#include "gasnet_test.h"
#include <gasnet_coll.h>

#define SEGMENT (1u << 20)

static gex_TM_t all;
static gex_Rank_t me, size;

/* The members are those jobranks, in this order; both translations agree, and there are no other members. */
static void check_members(gex_TM_t tm, const gex_Rank_t *jobranks, gex_Rank_t count)
{
	gex_Rank_t found = 0;
	CHECK_EQ(gex_TM_QuerySize(tm), count);
	CHECK_EQ(jobranks[gex_TM_QueryRank(tm)], me);
	for (gex_Rank_t i = 0; i < count; i++) {
		CHECK_EQ(gex_TM_TranslateRankToJobrank(tm, i), jobranks[i]);
		CHECK_EQ(gex_TM_TranslateJobrankToRank(tm, jobranks[i]), i);
		CHECK_EQ(gex_TM_TranslateRankToEP(tm, i, 0).gex_rank, jobranks[i]);
	}
	for (gex_Rank_t j = 0; j < size; j++)
		found += gex_TM_TranslateJobrankToRank(tm, j) != GEX_RANK_INVALID;
	CHECK_EQ(found, count);
	CHECK_EQ(gex_TM_TranslateJobrankToRank(tm, size), GEX_RANK_INVALID);
	CHECK_EQ(gex_TM_TranslateJobrankToRank(tm, GEX_RANK_INVALID), GEX_RANK_INVALID);
}

/* A word to the next member and a block from the one before it, by the team's ranks. */
static void check_transfers(gex_TM_t tm)
{
	const gex_Rank_t rank = gex_TM_QueryRank(tm), n = gex_TM_QuerySize(tm), next = (rank + 1) % n;
	const gex_Rank_t before = (rank + n - 1) % n;
	void *base, *theirs;
	uintptr_t bytes;
	uint64_t *mine;
	gex_Event_Wait(gex_EP_QueryBoundSegmentNB(tm, rank, &base, NULL, &bytes, 0));
	gex_Event_Wait(gex_EP_QueryBoundSegmentNB(tm, next, &theirs, NULL, &bytes, 0));
	mine = base;
	for (int i = 0; i < 64; i++)
		mine[8 + i] = 1000u * me + (unsigned)i;
	mine[0] = 0;
	gex_Coll_BarrierBlocking(tm, 0);
	CHECK_OK(gex_RMA_PutBlockingVal(tm, next, theirs, me + 1, 8, 0));
	gex_Coll_BarrierBlocking(tm, 0);
	CHECK_EQ(mine[0], gex_TM_TranslateRankToJobrank(tm, before) + 1);
	uint64_t got[64];
	gex_Event_Wait(gex_EP_QueryBoundSegmentNB(tm, before, &theirs, NULL, &bytes, 0));
	CHECK_OK(gex_RMA_GetBlocking(tm, got, before, (uint64_t *)theirs + 8, sizeof got, 0));
	for (int i = 0; i < 64; i++)
		CHECK_EQ(got[i], 1000u * gex_TM_TranslateRankToJobrank(tm, before) + (unsigned)i);
	gex_Coll_BarrierBlocking(tm, 0);
}

static void split_by_color(void)
{
	gex_Rank_t *want = calloc(size, sizeof *want), count = 0;
	gex_TM_t tm = GEX_TM_INVALID, inner = GEX_TM_INVALID;
	/* three colors, members in reverse order */
	for (gex_Rank_t j = size; j-- > 0;)
		if (j % 3 == me % 3)
			want[count++] = j;
	gex_TM_Split(&tm, all, (int)(me % 3), -(int)me, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
	check_members(tm, want, count);
	check_transfers(tm);
	CHECK(gex_TM_QueryClient(tm) == gex_TM_QueryClient(all) && gex_TM_QueryEP(tm) == gex_TM_QueryEP(all));
	gex_TM_SetCData(tm, &count);
	CHECK(gex_TM_QueryCData(tm) == &count && gex_TM_QueryCData(all) != &count);
	/* a team of a team: its first member stays out, but takes part in the call */
	const int out = gex_TM_QueryRank(tm) == 0;
	gex_TM_Split(out ? NULL : &inner, tm, 7, 0, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
	if (!out) {
		check_members(inner, want + 1, count - 1);
		check_transfers(inner);
		CHECK_EQ(gex_TM_Destroy(inner, NULL, 0), 0);
	}
	CHECK_EQ(gex_TM_Destroy(tm, NULL, GEX_FLAG_GLOBALLY_QUIESCED), 0);
	free(want);
}

/* An order of job ranks without a constant stride: even ones up, then odd ones down. */
static gex_Rank_t odd_order(gex_Rank_t i)
{
	const gex_Rank_t even = (size + 1) / 2;
	return i < even ? 2 * i : 2 * (size - 1 - i) + 1;
}

static void create_by_list(void)
{
	gex_EP_Location_t *list = calloc(size, sizeof *list);
	gex_Rank_t *want = calloc(size, sizeof *want);
	gex_Addr_t *addresses = calloc(size, sizeof *addresses);
	char *const segment = test_at(gasnet_mynode(), 0);
	const gex_Flags_t kinds[] = {GEX_FLAG_TM_NO_SCRATCH, GEX_FLAG_TM_LOCAL_SCRATCH, GEX_FLAG_TM_SYMMETRIC_SCRATCH,
				     GEX_FLAG_TM_GLOBAL_SCRATCH};
	for (gex_Rank_t i = 0; i < size; i++)
		want[i] = list[i].gex_rank = odd_order(i);
	for (unsigned k = 0; k < 8; k++) {
		const gex_Flags_t kind = kinds[k % 4], flags = kind | (k >= 4 ? GEX_FLAG_RANK_IS_JOBRANK : 0);
		gex_TM_t tm = GEX_TM_INVALID;
		gex_Memvec_t back = {&back, 1};
		for (gex_Rank_t i = 0; i < size; i++)
			addresses[i] = segment + 65536 + (kind == GEX_FLAG_TM_GLOBAL_SCRATCH ? 4096 * (size_t)i : 0);
		const size_t wanted =
			gex_TM_Create(NULL, 1, all, list, size, NULL, 0, kind | GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED);
		CHECK(wanted > 0 && wanted <= 4096);
		gex_TM_Create(&tm, 1, all, list, size, addresses, wanted, flags);
		check_members(tm, want, size);
		check_transfers(tm);
		const int rc = gex_TM_Destroy(tm, &back, 0);
		if (kind == GEX_FLAG_TM_NO_SCRATCH) {
			CHECK(rc == 0 && back.gex_addr == &back && back.gex_len == 1);
			continue;
		}
		CHECK(rc != 0);
		CHECK_EQ(back.gex_len, wanted);
		for (gex_Rank_t i = 0; i < size; i++)
			if (want[i] == me)
				CHECK(back.gex_addr == addresses[kind == GEX_FLAG_TM_GLOBAL_SCRATCH ? i : 0]);
	}
	/* two teams from one call, and a node that is in none */
	gex_Rank_t count = 0;
	for (gex_Rank_t j = 1; j < size; j++)
		if (j % 2 == me % 2)
			list[count].gex_rank = want[count] = j, count++;
	gex_TM_t tm = GEX_TM_INVALID;
	gex_TM_Create(&tm, me != 0, all, list, me ? count : 0, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
	if (me) {
		check_members(tm, want, count);
		check_transfers(tm);
		gex_TM_Destroy(tm, NULL, 0);
	}
	free(list);
	free(want);
	free(addresses);
}

static void scratch(void)
{
	gex_TM_t tm = GEX_TM_INVALID;
	gex_Memvec_t back = {NULL, 0};
	char *const pos = test_at(gasnet_mynode(), 131072);
	CHECK_EQ(gex_TM_Split(NULL, all, 0, 0, NULL, 0, GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED), 0);
	const size_t wanted = gex_TM_Split(&tm, all, 0, 0, NULL, 0, GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED);
	CHECK(wanted && tm == GEX_TM_INVALID);
	CHECK_EQ(gex_TM_Split(&tm, all, 0, 0, NULL, 0, GEX_FLAG_TM_SCRATCH_SIZE_MIN), wanted);
	memset(pos, 0x3c, wanted);
	gex_TM_Split(&tm, all, 0, 0, pos, wanted, 0);
	gex_Coll_BarrierBlocking(tm, 0);
	CHECK(gex_TM_Destroy(tm, &back, 0) != 0);
	CHECK(back.gex_addr == pos && back.gex_len == wanted);
}

/* Unless memory is returned this needs more than there is. */
static void many(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		gex_TM_t one = GEX_TM_INVALID, other = GEX_TM_INVALID;
		gex_TM_Split(&one, all, i % 2 ? (int)me / 2 : 0, 0, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
		gex_TM_Split(&other, all, 3, i % 3 ? -(int)me : (int)me, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
		gex_Event_t events[] = {gex_Coll_BarrierNB(one, 0), gex_Coll_BarrierNB(other, 0),
					gex_Coll_BarrierNB(one, 0)};
		gex_Event_WaitAll(events, 3, 0);
		gex_Rank_t got = ~0u;
		const gex_Rank_t root = (gex_Rank_t)i % size;
		gex_Event_Wait(gex_Coll_BroadcastNB(other, root, &got, &me, sizeof got, 0));
		CHECK_EQ(got, gex_TM_TranslateRankToJobrank(other, root));
		gex_TM_Destroy(i % 2 ? one : other, NULL, 0);
		gex_TM_Destroy(i % 2 ? other : one, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	test_start(&argc, &argv, NULL, 0, SEGMENT);
	gasnet_QueryGexObjects(NULL, NULL, &all, NULL);
	me = gex_System_QueryJobRank();
	size = gex_System_QueryJobSize();
	CHECK(gex_TM_QueryRank(all) == me && gex_TM_QuerySize(all) == size);
	check_transfers(all);
	split_by_color();
	create_by_list();
	scratch();
	many(argc > 1 ? atoi(argv[1]) : 1500);
	test_barrier();
	if (!me)
		printf("teams: %u nodes: ok\n", size);
	test_end();
}
