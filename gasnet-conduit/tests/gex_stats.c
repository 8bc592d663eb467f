/* SPDX-License-Identifier: BSD-3-Clause */
/* gex_stats: a fixed number of GASNet-EX calls of every family on each node, all to the next node; run_stats.sh knows
 * the expected counts. */
#include "gex_test.h"
#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <gasnet_vis.h>

enum { kShort = 200, kMedium };

static volatile int arrived;

static void short_request(gex_Token_t token, gex_AM_Arg_t a)
{
	(void)token;
	CHECK_EQ(a, 9);
	arrived++;
}
static void medium_request(gex_Token_t token, void *data, size_t bytes)
{
	CHECK(bytes == 100 || bytes == 64);
	arrived++;
	if (bytes == 64)
		gex_AM_ReplyMedium(token, kMedium, data, 100, GEX_EVENT_NOW, 0);
}

static void transfers(gex_Rank_t next)
{
	char *const there = test_at(next, 0);
	char bytes[64] = "seen";
	for (int i = 0; i < 2; i++)
		gex_RMA_PutBlocking(test_tm, next, there, bytes, 24, 0);
	gex_Event_Wait(gex_RMA_PutNB(test_tm, next, there + 64, bytes, 48, GEX_EVENT_NOW, 0));
	for (int i = 0; i < 3; i++)
		gex_RMA_PutNBI(test_tm, next, there + 128 + 8 * i, bytes, 8, GEX_EVENT_DEFER, 0);
	gex_NBI_Wait(GEX_EC_ALL, 0);
	gex_RMA_PutBlockingVal(test_tm, next, there + 256, 77, 8, 0);
	CHECK_EQ(gex_RMA_GetBlockingVal(test_tm, next, there + 256, 8, 0), 77);
	gex_RMA_GetBlocking(test_tm, bytes, next, there, 24, 0);
	CHECK_EQ(strcmp(bytes, "seen"), 0);
	gex_Event_Wait(gex_RMA_GetNB(test_tm, bytes, next, there, 16, 0));
	gex_Memvec_t dst[] = {{there + 512, 4}, {there + 520, 12}}, src[] = {{bytes, 16}};
	gex_VIS_VectorPutBlocking(test_tm, next, 2, dst, 1, src, 0);
}

static void atomics(gex_Rank_t next)
{
	gex_AD_t ad;
	uint64_t old = 0;
	char *const there = test_at(next, 1024);
	gex_AD_Create(&ad, test_tm, GEX_DT_U64, GEX_OP_ADD | GEX_OP_FADD, 0);
	test_barrier();
	for (uint64_t i = 0; i < 4; i++) {
		gex_Event_Wait(gex_AD_OpNB_U64(ad, &old, next, there, GEX_OP_FADD, 3, 0, 0));
		CHECK_EQ(old, 3 * i);
	}
	for (int i = 0; i < 2; i++)
		gex_AD_OpNBI_U64(ad, NULL, next, there, GEX_OP_ADD, 1, 0, 0);
	gex_NBI_Wait(GEX_EC_RMW, 0);
	test_barrier();
	gex_AD_Destroy(ad);
}

static void messages(gex_Rank_t next)
{
	char data[100] = "";
	for (int i = 0; i < 2; i++)
		CHECK_OK(gex_AM_RequestShort(test_tm, next, kShort, 0, 9));
	for (int i = 0; i < 3; i++)
		CHECK_OK(gex_AM_RequestMedium(test_tm, next, kMedium, data, 100, GEX_EVENT_NOW, 0));
	gex_AM_SrcDesc_t sd = gex_AM_PrepareRequestMedium(test_tm, next, NULL, 64, 64, NULL, 0, 0);
	memset(gex_AM_SrcDescAddr(sd), 0, 64);
	gex_AM_CommitRequestMedium(sd, kMedium, 64);
	GASNET_BLOCKUNTIL(arrived == 7); /* two, three, one, and the reply to one */
}

static void collectives(void)
{
	uint32_t mine = me, sum = 0;
	gex_TM_t half;
	gex_Event_Wait(gex_Coll_BroadcastNB(test_tm, 0, &sum, &mine, 4, 0));
	gex_Event_Wait(gex_Coll_ReduceToAllNB(test_tm, &sum, &mine, GEX_DT_U32, 4, 1, GEX_OP_ADD, NULL, NULL, 0));
	CHECK_EQ(sum, nodes * (nodes - 1) / 2);
	const size_t wanted = gex_TM_Split(&half, test_tm, me % 2, 0, NULL, 0, GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED);
	gex_TM_Split(&half, test_tm, me % 2, 0, test_at(me, 4096), wanted, 0);
	/* the rank in the job counts, whichever team is used */
	gex_RMA_PutBlockingVal(half, 0, test_at(me % 2, 2048), me, 4, 0);
	gex_TM_Destroy(half, NULL, 0);
}

int main(void)
{
	gex_AM_Entry_t table[] = {
		{kShort, (gex_AM_Fn_t)short_request, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 1, NULL, NULL},
		{kMedium, (gex_AM_Fn_t)medium_request, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQREP, 0, NULL, NULL},
	};
	test_start(1 << 20);
	CHECK_OK(gex_EP_RegisterHandlers(test_ep, table, 2));
	const gex_Rank_t next = (me + 1) % nodes;
	test_barrier();
	transfers(next);
	atomics(next);
	messages(next);
	collectives();
	gex_Event_Wait(gex_Coll_BarrierNB(test_tm, 0));
	if (me == 0)
		puts("gex_stats: ok");
	gasnet_exit(0);
}
