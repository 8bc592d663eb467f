/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A segment that was made, of another size on each node, bound to the first endpoint and published, instead of
 * gex_Segment_Attach: transfers, messages and atomics reach it, and a second endpoint may have it, too.
 */
#include "gex_test.h"
#include <gasnet_ratomic.h>

enum { kPage = GASNET_PAGESIZE, kPut = 0, kLong = 64, kSum = 128 };
enum { H_LONG = 200 };
static volatile int heard;

static void on_long(gex_Token_t token, void *buf, size_t nbytes)
{
	(void)token;
	CHECK(nbytes == sizeof(gex_Rank_t) && *(gex_Rank_t *)buf == me);
	heard = 1;
}

static uintptr_t bytes_of(gex_Rank_t rank)
{
	return (uintptr_t)(rank % 3 + 1) * kPage - 16;
}

static char *place(gex_Rank_t rank, size_t offset)
{
	void *base = NULL, *local = NULL;
	uintptr_t size = 0;
	gex_Event_Wait(gex_EP_QueryBoundSegmentNB(test_tm, rank, &base, &local, &size, 0));
	CHECK_EQ(size, bytes_of(rank));
	return (char *)base + offset;
}

static void refused(gex_Segment_t bound)
{
	static char own[256];
	gex_Segment_t of_client = GEX_SEGMENT_INVALID, other = GEX_SEGMENT_INVALID;
	CHECK_OK(gex_Segment_Create(&of_client, test_client, own, sizeof own, GEX_MK_HOST, 0));
	CHECK_OK(gex_Segment_Create(&other, test_client, NULL, kPage, GEX_MK_HOST, 0));
	gex_System_SetVerboseErrors(0);
	if (bound == GEX_SEGMENT_INVALID)
		CHECK_EQ(gex_EP_BindSegment(test_ep, of_client, 0), GASNET_ERR_BAD_ARG);
	else
		CHECK_EQ(gex_EP_BindSegment(test_ep, other, 0), GASNET_ERR_BAD_ARG); /* it has one */
	gex_System_SetVerboseErrors(1);
	gex_Segment_Destroy(of_client, 0);
	gex_Segment_Destroy(other, 0);
}

int main(void)
{
	CHECK_OK(gex_Client_Init(&test_client, &test_ep, &test_tm, "TEST", NULL, NULL, 0));
	me = gex_TM_QueryRank(test_tm);
	nodes = gex_TM_QuerySize(test_tm);
	gex_AM_Entry_t entry = {H_LONG, (gex_AM_Fn_t)on_long, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_LONG, 0, NULL, "long"};
	CHECK_OK(gex_EP_RegisterHandlers(test_ep, &entry, 1));

	/* What is destroyed comes back, as zeros. */
	const uintptr_t most = gasnet_getMaxLocalSegmentSize();
	gex_Segment_t again = GEX_SEGMENT_INVALID;
	CHECK_OK(gex_Segment_Create(&again, test_client, NULL, 3 * kPage, GEX_MK_HOST, 0));
	CHECK_EQ(gasnet_getMaxLocalSegmentSize(), most - 3 * kPage);
	memset(gex_Segment_QueryAddr(again), 1, 3 * kPage);
	gex_Segment_Destroy(again, 0);
	CHECK_EQ(gasnet_getMaxLocalSegmentSize(), most);

	refused(GEX_SEGMENT_INVALID);
	CHECK_OK(gex_Segment_Create(&test_segment, test_client, NULL, bytes_of(me), GEX_MK_HOST, 0));
	for (size_t i = 0; i < bytes_of(me); i++)
		CHECK_EQ(((char *)gex_Segment_QueryAddr(test_segment))[i], 0);
	CHECK_OK(gex_EP_PublishBoundSegment(test_tm, &test_ep, 1, 0)); /* nothing yet */
	uintptr_t size = 1;
	gex_Event_Wait(gex_EP_QueryBoundSegmentNB(test_tm, (me + 1) % nodes, NULL, NULL, &size, 0));
	CHECK_EQ(size, 0);
	test_barrier(); /* nobody is ahead: what it publishes next would be known */
	CHECK_OK(gex_EP_BindSegment(test_ep, test_segment, 0));
	CHECK(gex_EP_QuerySegment(test_ep) == test_segment);
	refused(test_segment);
	gex_Segment_t attached = GEX_SEGMENT_INVALID;
	CHECK_EQ(gex_Segment_Attach(&attached, test_tm, kPage), GASNET_ERR_RESOURCE);
	CHECK_OK(gex_EP_PublishBoundSegment(test_tm, &test_ep, 1, 0));

	const gex_Rank_t next = (me + 1) % nodes, before = (me + nodes - 1) % nodes;
	char *const mine = gex_Segment_QueryAddr(test_segment);
	CHECK(place(me, 0) == mine);
	CHECK_EQ(gex_RMA_PutBlocking(test_tm, next, place(next, kPut), &me, sizeof me, 0), 0);
	/* to the last byte */
	const char last = (char)(me + 1);
	gex_RMA_PutBlocking(test_tm, next, place(next, bytes_of(next) - 1), &last, 1, 0);
	CHECK_OK(gex_AM_RequestLong0(test_tm, next, H_LONG, &next, sizeof next, place(next, kLong), GEX_EVENT_NOW, 0));
	gex_AD_t ad = GEX_AD_INVALID;
	gex_AD_Create(&ad, test_tm, GEX_DT_U64, GEX_OP_ADD, 0);
	gex_Event_Wait(gex_AD_OpNB_U64(ad, NULL, 0, place(0, kSum), GEX_OP_ADD, me + 1, 0, 0));
	GASNET_BLOCKUNTIL(heard);
	test_barrier();
	CHECK_EQ(*(gex_Rank_t *)(mine + kPut), before);
	CHECK_EQ(*(gex_Rank_t *)(mine + kLong), me);
	CHECK_EQ(mine[bytes_of(me) - 1], (char)(before + 1));
	uint64_t sum = 0;
	gex_RMA_GetBlocking(test_tm, &sum, 0, place(0, kSum), sizeof sum, 0);
	CHECK_EQ(sum, (uint64_t)nodes * (nodes + 1) / 2);
	test_barrier();

	/* the same memory by a second endpoint */
	gex_EP_t second = GEX_EP_INVALID;
	CHECK_OK(gex_EP_Create(&second, test_client, GEX_EP_CAPABILITY_RMA, 0));
	CHECK_OK(gex_EP_BindSegment(second, test_segment, 0));
	CHECK_OK(gex_EP_PublishBoundSegment(test_tm, &second, 1, 0));
	const gex_Rank_t value = me + 1000;
	gex_RMA_PutBlocking(gex_TM_Pair(second, 1), next, place(next, kPut), &value, sizeof value, 0);
	test_barrier();
	CHECK_EQ(*(gex_Rank_t *)(mine + kPut), before + 1000);
	gex_AD_Destroy(ad);
	if (!me)
		printf("bound segments: %u nodes: ok\n", nodes);
	test_end();
}
