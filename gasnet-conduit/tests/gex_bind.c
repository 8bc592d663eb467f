/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A created segment, of another size on each node, bound to the first endpoint and published, instead of
 * gex_Segment_Attach: transfers, messages and atomics reach it, and a second endpoint may have it, too.
 *
 *   gex_bind [library|client|mixed [leave]]    whose memory it is; mixed: the client's on every second node; leave:
 *                                              the first node leaves, and the others still need its help
 */
#include "gex_test.h"
#include <gasnet_ratomic.h>
#include <gasnet_vis.h>

#include <unistd.h>

enum { kPage = GASNET_PAGESIZE, kPut = 0, kLong = 64, kReply = 96, kSum = 128, kOld = 136, kIndexed = 256 };
enum { H_LONG = 200, H_REPLY = 201 };
static volatile int heard, answered;
static char *client_memory; /* null if the library allocates */

static void *reply_to; /* at the node before this one */

static void on_long(gex_Token_t token, void *buf, size_t nbytes)
{
	CHECK(nbytes == sizeof(gex_Rank_t) && *(gex_Rank_t *)buf == me);
	heard = 1;
	gex_AM_ReplyLong0(token, H_REPLY, &me, sizeof me, reply_to, GEX_EVENT_NOW, 0);
}

static void on_reply(gex_Token_t token, void *buf, size_t nbytes)
{
	gex_Token_Info_t info;
	gex_Token_Info(token, &info, GEX_TI_SRCRANK);
	CHECK(nbytes == sizeof(gex_Rank_t) && *(gex_Rank_t *)buf == info.gex_srcrank);
	answered = 1;
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
	CHECK(rank != me || local == base);
	return (char *)base + offset;
}

static void refused(gex_Segment_t bound)
{
	static char own[256];
	gex_Segment_t of_client = GEX_SEGMENT_INVALID, other = GEX_SEGMENT_INVALID;
	CHECK_OK(gex_Segment_Create(&of_client, test_client, own, sizeof own, GEX_MK_HOST, 0));
	CHECK_OK(gex_Segment_Create(&other, test_client, NULL, kPage, GEX_MK_HOST, 0));
	gex_System_SetVerboseErrors(0);
	CHECK_EQ(gex_EP_BindSegment(test_ep, of_client, 1), GASNET_ERR_BAD_ARG);
	CHECK_EQ(gex_EP_BindSegment(GEX_EP_INVALID, of_client, 0), GASNET_ERR_BAD_ARG);
	CHECK_EQ(gex_EP_BindSegment(test_ep, GEX_SEGMENT_INVALID, 0), GASNET_ERR_BAD_ARG);
	if (bound != GEX_SEGMENT_INVALID) { /* it has one */
		CHECK_EQ(gex_EP_BindSegment(test_ep, of_client, 0), GASNET_ERR_BAD_ARG);
		CHECK_EQ(gex_EP_BindSegment(test_ep, other, 0), GASNET_ERR_BAD_ARG);
	}
	gex_System_SetVerboseErrors(1);
	gex_Segment_Destroy(of_client, 0);
	gex_Segment_Destroy(other, 0);
}

/* Every call that moves data, through tm, to the next node in tm; gets read back what was put there. */
static void moves(gex_TM_t tm, uint64_t seed)
{
	const gex_Rank_t next = (gex_TM_QueryRank(tm) + 1) % gex_TM_QuerySize(tm);
	const gex_Rank_t position = gex_TM_TranslateRankToJobrank(tm, next);
	uint64_t *const there = (uint64_t *)place(position, kIndexed);
	const uint64_t v = seed + me;
	uint64_t got[6] = {0}, src[2] = {v + 10, v + 11};
	gex_Event_Wait(gex_RMA_PutNB(tm, next, there, &v, sizeof v, GEX_EVENT_NOW, 0));
	gex_RMA_PutNBI(tm, next, there + 1, src, sizeof *src, GEX_EVENT_NOW, 0);
	gex_NBI_Wait(GEX_EC_ALL, 0);
	gex_RMA_PutBlockingVal(tm, next, there + 2, v + 2, sizeof v, 0);
	void *to_list[2] = {there + 4, there + 3}, *from_list[2] = {&src[1], &src[0]};
	CHECK_EQ(gex_VIS_IndexedPutBlocking(tm, next, 2, to_list, sizeof v, 2, from_list, sizeof v, 0), 0);
	CHECK_EQ(gex_RMA_GetBlocking(tm, got, next, there, sizeof got, 0), 0);
	CHECK(got[0] == v && got[1] == v + 10 && got[2] == v + 2 && got[3] == v + 10 && got[4] == v + 11);
	CHECK_EQ(gex_RMA_GetBlockingVal(tm, next, there + 2, sizeof v, 0), v + 2);
	memset(got, 0, sizeof got);
	void *back[2] = {&got[0], &got[1]};
	gex_Event_Wait(gex_VIS_IndexedGetNB(tm, 2, back, sizeof v, next, 2, to_list, sizeof v, 0));
	CHECK(got[0] == v + 11 && got[1] == v + 10);
	test_barrier();
}

/* Client memory at an endpoint other than the first: its owner only waits in a barrier meanwhile. */
static void by_third(gex_Rank_t next, gex_Rank_t before)
{
	static uint64_t mine[4], *theirs;
	gex_EP_t third = GEX_EP_INVALID;
	gex_Segment_t segment = GEX_SEGMENT_INVALID;
	CHECK_OK(gex_EP_Create(&third, test_client, GEX_EP_CAPABILITY_RMA, 0));
	CHECK_OK(gex_Segment_Create(&segment, test_client, mine, sizeof mine, GEX_MK_HOST, 0));
	CHECK_OK(gex_EP_BindSegment(third, segment, 0));
	CHECK_OK(gex_EP_PublishBoundSegment(test_tm, &third, 1, 0));
	const gex_TM_t pair = gex_TM_Pair(third, gex_EP_QueryIndex(third));
	const uint64_t value = me + 77;
	void *there = NULL;
	gex_Event_Wait(gex_EP_QueryBoundSegmentNB(pair, next, &there, NULL, NULL, 0));
	theirs = there;
	if (me % 2 == 0)
		gex_RMA_PutBlocking(pair, next, theirs, &value, sizeof value, 0);
	test_barrier();
	if (me % 2 != 0)
		gex_RMA_PutBlocking(pair, next, theirs, &value, sizeof value, 0);
	test_barrier();
	CHECK_EQ(mine[0], before + 77);
}

/* A node that leaves and waits for the others still serves them. */
static void leave_one_by_one(void)
{
	char *const there = place(0, kPut);
	const gex_Rank_t value = me + 4000;
	gex_Rank_t got = 0;
	test_barrier();
	if (!me)
		gasnet_exit(0);
	usleep(100000); /* it is usually leaving by then */
	gex_RMA_PutBlocking(test_tm, 0, there + me * sizeof value, &value, sizeof value, 0);
	gex_RMA_GetBlocking(test_tm, &got, 0, there + me * sizeof value, sizeof got, 0);
	CHECK_EQ(got, value);
	printf("node %u: the first node helped while it left: ok\n", me);
	fflush(stdout);
	gasnet_exit(0);
}

static void bring_memory(const char *whose)
{
	if (strcmp(whose, "client") != 0 && (strcmp(whose, "mixed") != 0 || me % 2 == 0))
		return;
	client_memory = (char *)malloc(bytes_of(me) + kOld) + 24; /* not page-aligned */
	memset(client_memory, 0, bytes_of(me));
}

int main(int argc, char **argv)
{
	CHECK_OK(gex_Client_Init(&test_client, &test_ep, &test_tm, "TEST", NULL, NULL, 0));
	me = gex_TM_QueryRank(test_tm);
	nodes = gex_TM_QuerySize(test_tm);
	gex_AM_Entry_t entries[] = {
		{H_LONG, (gex_AM_Fn_t)on_long, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_LONG, 0, NULL, "long"},
		{H_REPLY, (gex_AM_Fn_t)on_reply, GEX_FLAG_AM_REPLY | GEX_FLAG_AM_LONG, 0, NULL, "reply"}};
	CHECK_OK(gex_EP_RegisterHandlers(test_ep, entries, 2));
	bring_memory(argc > 1 ? argv[1] : "library");
	/* these exist before it is known whose memory it will be */
	gex_TM_t turned = GEX_TM_INVALID;
	gex_TM_Split(&turned, test_tm, 0, (int)(nodes - me), NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
	gex_AD_t ad = GEX_AD_INVALID;
	gex_AD_Create(&ad, test_tm, GEX_DT_U64, GEX_OP_ADD | GEX_OP_FADD | GEX_OP_GET, 0);

	/* Destroyed memory is available again, zeroed. */
	const uintptr_t most = gasnet_getMaxLocalSegmentSize();
	gex_Segment_t again = GEX_SEGMENT_INVALID;
	CHECK_OK(gex_Segment_Create(&again, test_client, NULL, 3 * kPage, GEX_MK_HOST, 0));
	CHECK_EQ(gasnet_getMaxLocalSegmentSize(), most - 3 * kPage);
	memset(gex_Segment_QueryAddr(again), 1, 3 * kPage);
	gex_Segment_Destroy(again, 0);
	CHECK_EQ(gasnet_getMaxLocalSegmentSize(), most);

	refused(GEX_SEGMENT_INVALID);
	CHECK_OK(gex_Segment_Create(&test_segment, test_client, client_memory, bytes_of(me), GEX_MK_HOST, 0));
	for (size_t i = 0; i < bytes_of(me); i++)
		CHECK_EQ(((char *)gex_Segment_QueryAddr(test_segment))[i], 0);
	CHECK_OK(gex_EP_PublishBoundSegment(test_tm, &test_ep, 1, 0)); /* nothing yet */
	uintptr_t size = 1;
	gex_Event_Wait(gex_EP_QueryBoundSegmentNB(test_tm, (me + 1) % nodes, NULL, NULL, &size, 0));
	CHECK_EQ(size, 0);
	test_barrier(); /* no node is ahead: its next publication would be visible */
	CHECK_OK(gex_EP_BindSegment(test_ep, test_segment, 0));
	CHECK(gex_EP_QuerySegment(test_ep) == test_segment);
	refused(test_segment);
	gex_Segment_t attached = GEX_SEGMENT_INVALID;
	CHECK_EQ(gex_Segment_Attach(&attached, test_tm, kPage), GASNET_ERR_RESOURCE);
	CHECK_OK(gex_EP_PublishBoundSegment(test_tm, &test_ep, 1, 0));

	const gex_Rank_t next = (me + 1) % nodes, before = (me + nodes - 1) % nodes;
	char *const mine = gex_Segment_QueryAddr(test_segment);
	CHECK(place(me, 0) == mine);
	CHECK(!client_memory || mine == client_memory);
	reply_to = place(before, kReply);
	test_barrier();
	CHECK_EQ(gex_RMA_PutBlocking(test_tm, next, place(next, kPut), &me, sizeof me, 0), 0);
	/* up to the last byte */
	const char last = (char)(me + 1);
	gex_RMA_PutBlocking(test_tm, next, place(next, bytes_of(next) - 1), &last, 1, 0);
	CHECK_OK(gex_AM_RequestLong0(test_tm, next, H_LONG, &next, sizeof next, place(next, kLong), GEX_EVENT_NOW, 0));
	const gex_Rank_t last_node = nodes - 1; /* the client's memory if mixed */
	gex_Event_Wait(gex_AD_OpNB_U64(ad, NULL, last_node, place(last_node, kSum), GEX_OP_ADD, me + 1, 0, 0));
	uint64_t old = ~UINT64_C(0);
	gex_Event_Wait(gex_AD_OpNB_U64(ad, &old, last_node, place(last_node, kOld), GEX_OP_FADD, 1, 0, 0));
	CHECK(old < nodes);
	GASNET_BLOCKUNTIL(heard && answered);
	test_barrier();
	CHECK_EQ(*(gex_Rank_t *)(mine + kPut), before);
	CHECK_EQ(*(gex_Rank_t *)(mine + kLong), me);
	CHECK_EQ(*(gex_Rank_t *)(mine + kReply), next);
	CHECK_EQ(mine[bytes_of(me) - 1], (char)(before + 1));
	uint64_t sum = 0;
	gex_RMA_GetBlocking(test_tm, &sum, last_node, place(last_node, kSum), sizeof sum, 0);
	CHECK_EQ(sum, (uint64_t)nodes * (nodes + 1) / 2);
	gex_Event_Wait(gex_AD_OpNB_U64(ad, &sum, last_node, place(last_node, kOld), GEX_OP_GET, 0, 0, 0));
	CHECK_EQ(sum, nodes);
	test_barrier();
	moves(test_tm, 1000);
	moves(turned, 2000);
	moves(gex_TM_Pair(test_ep, 0), 3000);
	CHECK_OK(gex_TM_Destroy(turned, NULL, 0));

	/* the same memory through a second endpoint */
	gex_EP_t second = GEX_EP_INVALID;
	CHECK_OK(gex_EP_Create(&second, test_client, GEX_EP_CAPABILITY_RMA, 0));
	CHECK_OK(gex_EP_BindSegment(second, test_segment, 0));
	CHECK_OK(gex_EP_PublishBoundSegment(test_tm, &second, 1, 0));
	const gex_Rank_t value = me + 1000;
	gex_RMA_PutBlocking(gex_TM_Pair(second, 1), next, place(next, kPut), &value, sizeof value, 0);
	test_barrier();
	CHECK_EQ(*(gex_Rank_t *)(mine + kPut), before + 1000);
	by_third(next, before);
	gex_AD_Destroy(ad);
	if (argc > 2)
		leave_one_by_one();
	if (!me)
		printf("bound segments: %u nodes: ok\n", nodes);
	test_end();
}
