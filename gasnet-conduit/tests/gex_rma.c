/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GASNet-EX's objects and their queries; puts, gets and values of all lengths in every form; lists and strides compared
 * with copies by hand, and the handler that runs after a put.
 */
#include "gex_test.h"

#include <gasnet_vis.h>

enum { kSegment = 1 << 20, kPart = 1 << 16, kDone = 200 };

static volatile unsigned peer_heard;
static unsigned char peer_bytes[16];

static void heard(gex_Token_t token, void *buf, size_t nbytes)
{
	gex_Token_Info_t info;
	CHECK((gex_Token_Info(token, &info, GEX_TI_ALL) & GEX_TI_ALL) == GEX_TI_ALL);
	CHECK(info.gex_ep == test_ep && !info.gex_is_req && !info.gex_is_long && info.gex_srcrank < nodes);
	CHECK(info.gex_entry->gex_index == kDone && strcmp(info.gex_entry->gex_name, "heard") == 0);
	CHECK(info.gex_entry->gex_cdata == &peer_heard && nbytes == sizeof peer_bytes);
	memcpy(peer_bytes, buf, nbytes);
	peer_heard++;
}

static void objects(void)
{
	gex_Client_t client;
	gex_EP_t ep;
	gex_TM_t tm;
	gex_Segment_t segment;
	CHECK(gex_Client_Init(&client, &ep, &tm, "AGAIN", NULL, NULL, 0) != GASNET_OK);
	CHECK(gex_Segment_Attach(&segment, test_tm, kSegment) != GASNET_OK);
	CHECK(strcmp(gex_Client_QueryName(test_client), "TEST") == 0 && gex_Client_QueryFlags(test_client) == 0);
	CHECK(gex_EP_QueryClient(test_ep) == test_client && gex_EP_QuerySegment(test_ep) == test_segment);
	CHECK(gex_EP_QueryIndex(test_ep) == 0 && gex_EP_QueryFlags(test_ep) == 0);
	CHECK(gex_TM_QueryClient(test_tm) == test_client && gex_TM_QueryEP(test_tm) == test_ep);
	CHECK(gex_TM_QueryFlags(test_tm) == 0 && gex_Segment_QueryClient(test_segment) == test_client);
	CHECK(gex_Segment_QuerySize(test_segment) == kSegment && gex_Segment_QueryFlags(test_segment) == 0);
	CHECK((char *)gex_Segment_QueryAddr(test_segment) == test_at(me, 0));
#define CDATA(kind_arg, object_arg)                                                                                    \
	CHECK(gex_##kind_arg##_QueryCData(object_arg) == NULL);                                                        \
	gex_##kind_arg##_SetCData(object_arg, &client);                                                                \
	CHECK(gex_##kind_arg##_QueryCData(object_arg) == &client)
	CDATA(Client, test_client);
	CDATA(EP, test_ep);
	CDATA(TM, test_tm);
	CDATA(Segment, test_segment);
	for (gex_Rank_t i = 0; i < nodes; i++) {
		void *owner = NULL, *local = NULL;
		uintptr_t size = 0;
		const gex_EP_Location_t where = gex_TM_TranslateRankToEP(test_tm, i, 0);
		CHECK(gex_TM_TranslateRankToJobrank(test_tm, i) == i && gex_TM_TranslateJobrankToRank(test_tm, i) == i);
		CHECK(where.gex_rank == i && where.gex_ep_index == 0);
		CHECK(gex_Segment_QueryBound(test_tm, i, &owner, &local, &size) == 0 && size == kSegment);
		CHECK(i != me || (owner == gex_Segment_QueryAddr(test_segment) && local == owner));
	}
	gex_Segment_t none = GEX_SEGMENT_INVALID; /* GEX_MK_HOST needs no other header */
	CHECK_OK(gex_Segment_Create(&none, test_client, NULL, 100, GEX_MK_HOST, 0));
	gex_Segment_Destroy(none, 0);
	tm = gex_TM_Pair(test_ep, 0);
	CHECK(tm == gex_TM_Pair(test_ep, 0) && tm != test_tm && tm != GEX_TM_INVALID);
	CHECK(gex_EP_PublishBoundSegment(test_tm, &test_ep, 1, 0) == GASNET_OK);
}

static void positions(void)
{
	gex_RankInfo_t *info;
	gex_Rank_t count, index, nbrhds, nbrhd, hosts, host;
	gex_System_QueryNbrhdInfo(&info, &count, &index);
	CHECK(count >= 1 && count <= nodes && info[index].gex_jobrank == me);
	for (gex_Rank_t i = 1; i < count; i++)
		CHECK(info[i - 1].gex_jobrank < info[i].gex_jobrank);
	gex_System_QueryHostInfo(&info, &count, &index);
	CHECK(count >= 1 && count <= nodes && info[index].gex_jobrank == me);
	gex_System_QueryMyPosition(&nbrhds, &nbrhd, &hosts, &host);
	CHECK(nbrhd < nbrhds && host < hosts && hosts <= nbrhds && nbrhds <= nodes);
	gex_System_QueryMyPosition(NULL, NULL, NULL, NULL);
	CHECK(gex_System_QueryMaxThreads() >= 1 && gex_System_QueryHiddenAMConcurrencyLevel() == 0);
	unsigned threads;
	const gex_ProgressThreadInfo_t *what;
	CHECK(gex_System_QueryProgressThreads(test_client, &threads, &what, 0) == GASNET_ERR_RESOURCE);
	CHECK(gex_System_QueryProgressThreads(test_client, NULL, &what, 0) == GASNET_ERR_BAD_ARG);
	gex_System_SetVerboseErrors(0);
	CHECK(gex_System_GetVerboseErrors() == 0);
	gex_System_SetVerboseErrors(1);
	CHECK(gex_System_GetVerboseErrors() == 1);
}

static unsigned char pattern(size_t i, unsigned round)
{
	return (unsigned char)(i * 7 + round * 31 + me + 1);
}

/* One length in each form, through the team and through a pair. */
static void transfer(gex_TM_t tm, gex_Rank_t dest, size_t nbytes, unsigned round)
{
	static unsigned char src[kPart], back[kPart];
	unsigned char *there = (unsigned char *)test_at(dest, (size_t)kPart * me / nodes / 64 * 64);
	gex_Event_t events[3] = {GEX_EVENT_INVALID, GEX_EVENT_INVALID, GEX_EVENT_INVALID}, local = GEX_EVENT_NO_OP;
	nbytes = nbytes < kPart / nodes / 64 * 64 ? nbytes : kPart / nodes / 64 * 64;
	for (size_t i = 0; i < nbytes; i++)
		src[i] = pattern(i, round);
	memset(back, 0, nbytes);
	switch (round % 6) {
	case 0:
		CHECK(gex_RMA_PutBlocking(tm, dest, there, src, nbytes, 0) == 0);
		break;
	case 1:
		CHECK(gex_RMA_PutNBI(tm, dest, there, src, nbytes, GEX_EVENT_DEFER, GEX_FLAG_PEER_NEVER_SELF) == 0);
		gex_NBI_Wait(GEX_EC_PUT, 0);
		break;
	case 2:
		CHECK(gex_RMA_PutNBI(tm, dest, there, src, nbytes, GEX_EVENT_NOW, 0) == 0);
		memset(src, 0xee, nbytes); /* reusable now */
		gex_NBI_Wait(GEX_EC_ALL, 0);
		break;
	case 3:
		events[1] = gex_RMA_PutNB(tm, dest, there, src, nbytes, &local, 0);
		gex_Event_Wait(local);
		CHECK(!events[1] || gex_Event_Test(gex_Event_QueryLeaf(events[1], GEX_EC_LC)) == GASNET_OK);
		gex_Event_WaitAll(events, 3, 0);
		CHECK(events[1] == GEX_EVENT_INVALID);
		break;
	case 4:
		gex_NBI_BeginAccessRegion(0);
		CHECK(gex_RMA_PutNBI(tm, dest, there, src, nbytes, GEX_EVENT_GROUP, 0) == 0);
		events[0] = gex_NBI_EndAccessRegion(0);
		while (gex_Event_Test(events[0]) != 0)
			gasnet_AMPoll();
		break;
	default:
		events[2] = gex_RMA_PutNB(tm, dest, there, src, nbytes, GEX_EVENT_DEFER, 0);
		gex_Event_WaitSome(events, 3, 0);
		CHECK(events[2] == GEX_EVENT_INVALID);
	}
	switch (round / 6 % 3) {
	case 0:
		CHECK(gex_RMA_GetBlocking(tm, back, dest, there, nbytes, 0) == 0);
		break;
	case 1:
		CHECK(gex_RMA_GetNBI(tm, back, dest, there, nbytes, 0) == 0);
		while (gex_NBI_Test(GEX_EC_GET, 0) != 0)
			gasnet_AMPoll();
		break;
	default:
		gex_Event_Wait(gex_RMA_GetNB(tm, back, dest, there, nbytes, 0));
	}
	for (size_t i = 0; i < nbytes; i++)
		CHECK(back[i] == pattern(i, round));
}

static void values(gex_Rank_t dest)
{
	unsigned char *there = (unsigned char *)test_at(dest, 64 * me);
	for (size_t n = 1; n <= 8; n++) {
		const gex_RMA_Value_t v = 0x8877665544332211u * (dest + 1);
		const gex_RMA_Value_t mask = n == 8 ? ~(gex_RMA_Value_t)0 : ((gex_RMA_Value_t)1 << 8 * n) - 1;
		CHECK(gex_RMA_PutBlockingVal(test_tm, dest, there, ~v, n, 0) == 0);
		CHECK(gex_RMA_GetBlockingVal(test_tm, dest, there, n, 0) == (~v & mask));
		CHECK(gex_RMA_PutNBIVal(test_tm, dest, there, v, n, 0) == 0);
		gex_NBI_Wait(GEX_EC_PUT, 0);
		CHECK(gex_RMA_GetBlockingVal(test_tm, dest, there, n, 0) == (v & mask));
		gex_Event_Wait(gex_RMA_PutNBVal(test_tm, dest, there, v + 1, n, 0));
		CHECK(gex_RMA_GetBlockingVal(test_tm, dest, there, n, 0) == ((v + 1) & mask));
	}
	CHECK(gex_RMA_PutBlockingVal(test_tm, dest, there, 1, 8, 0) == 0);
	CHECK(gex_RMA_GetBlockingVal(test_tm, dest, there, 8, 0) == 1);
}

/* A 2-d block, put transposed and mirrored, and got back unchanged. */
static void strides(gex_Rank_t dest)
{
	enum { kRows = 5, kColumns = 7 };
	uint32_t src[kRows][kColumns], back[kRows][kColumns];
	uint32_t *there = (uint32_t *)(void *)test_at(dest, 4096 * (me + 1));
	const size_t count[] = {kColumns, kRows};
	const ptrdiff_t plain[] = {4, 4 * kColumns}, transposed[] = {4 * kRows, -4};
	uint32_t flat[kRows * kColumns];
	for (unsigned i = 0; i < kRows * kColumns; i++)
		src[i / kColumns][i % kColumns] = i * 3 + me;
	memset(back, 0, sizeof back);
	/* rows run backwards at the target */
	CHECK(gex_VIS_StridedPutBlocking(test_tm, dest, there + kRows - 1, transposed, src, plain, 4, count, 2, 0) ==
	      0);
	CHECK(gex_RMA_GetBlocking(test_tm, flat, dest, there, sizeof flat, 0) == 0);
	for (unsigned r = 0; r < kRows; r++)
		for (unsigned c = 0; c < kColumns; c++)
			CHECK(flat[c * kRows + kRows - 1 - r] == src[r][c]);
	gex_Event_Wait(gex_VIS_StridedGetNB(test_tm, back, plain, dest, there + kRows - 1, transposed, 4, count, 2, 0));
	CHECK(memcmp(back, src, sizeof back) == 0);
	const size_t none[] = {3, 0};
	CHECK(gex_VIS_StridedPutNBI(test_tm, GEX_RANK_INVALID, NULL, plain, NULL, plain, 4, none, 2, 0) == 0);
	CHECK(gex_VIS_StridedGetNBI(test_tm, NULL, NULL, GEX_RANK_INVALID, NULL, NULL, 0, NULL, 5, 0) == 0);
	memset(back, 0, sizeof back);
	CHECK(gex_VIS_StridedGetBlocking(test_tm, back, NULL, dest, there, NULL, sizeof flat, NULL, 0, 0) == 0);
	CHECK(memcmp(back, flat, sizeof flat) == 0);
}

static void lists(gex_Rank_t dest)
{
	char source[] = "abcdefghijklmnopqrstuvwxyz", back[26];
	char *there = test_at(dest, 4096 * (me + 1));
	const gex_Memvec_t src[] = {{source, 3}, {source + 10, 0}, {source + 3, 23}};
	const gex_Memvec_t dst[] = {{there + 40, 13}, {there, 13}};
	gex_Memvec_t into[] = {{back, 20}, {back + 20, 6}};
	void *parts[13], *halves[2] = {there, there + 40};
	gex_Event_Wait(gex_VIS_VectorPutNB(test_tm, dest, 2, dst, 3, src, 0));
	CHECK(gex_VIS_VectorGetNBI(test_tm, 2, into, dest, 2, dst, 0) == 0);
	gex_NBI_Wait(GEX_EC_GET, 0);
	CHECK(memcmp(back, source, 26) == 0);
	memset(back, 0, sizeof back);
	CHECK(gex_VIS_VectorGetBlocking(test_tm, 2, into, dest, 2, dst, 0) == 0 && memcmp(back, source, 26) == 0);
	for (int i = 0; i < 13; i++)
		parts[i] = back + 2 * i;
	memset(back, 0, sizeof back);
	gex_Event_Wait(gex_VIS_IndexedGetNB(test_tm, 13, parts, 2, dest, 2, halves, 13, 0));
	CHECK(memcmp(back, source + 13, 13) == 0 && memcmp(back + 13, source, 13) == 0);
	for (int i = 0; i < 13; i++)
		parts[i] = source + 24 - 2 * i;
	CHECK(gex_VIS_IndexedPutBlocking(test_tm, dest, 2, halves, 13, 13, parts, 2, 0) == 0);
	CHECK(gex_VIS_IndexedPutNBI(test_tm, dest, 2, halves, 13, 13, parts, 2, 0) == 0);
	gex_NBI_Wait(GEX_EC_ALL, 0);
	CHECK(gex_RMA_GetBlocking(test_tm, back, dest, there, 13, 0) == 0 && memcmp(back, "yzwxuvstqropm", 13) == 0);
}

/* Each node puts to the next one and notifies it: the bytes have arrived when the handler runs. */
static void peers_hear(void)
{
	const gex_Rank_t next = (me + 1) % nodes;
	unsigned char note[sizeof peer_bytes];
	const gex_Memvec_t src = {note, sizeof note}, dst = {test_at(next, 128), sizeof note};
	memset(note, (int)me + 1, sizeof note);
	gex_VIS_SetPeerCompletionHandler(kDone, note, 3, 0);
	gex_VIS_SetPeerCompletionHandler(0, NULL, 0, 0); /* withdrawn */
	CHECK(gex_VIS_VectorPutBlocking(test_tm, next, 1, &dst, 1, &src, 0) == 0);
	gex_VIS_SetPeerCompletionHandler(kDone, note, sizeof note, 0);
	CHECK(gex_VIS_VectorPutBlocking(test_tm, next, 1, &dst, 1, &src, 0) == 0);
	CHECK(gex_VIS_VectorPutBlocking(test_tm, next, 1, &dst, 1, &src, 0) == 0); /* has no handler */
	GASNET_BLOCKUNTIL(peer_heard == 1);
	CHECK(peer_bytes[0] == (me + nodes - 1) % nodes + 1 && memcmp(peer_bytes, test_at(me, 128), 16) == 0);
	test_barrier();
	gasnet_AMPoll();
	CHECK(peer_heard == 1);
}

int main(void)
{
	gex_AM_Entry_t table[] = {{kDone, (gex_AM_Fn_t)heard, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY, 0,
				   (const void *)&peer_heard, "heard"}};
	gex_AM_Entry_t wrong = {0, (gex_AM_Fn_t)heard, GEX_FLAG_AM_MEDIUM, 0, NULL, NULL};
	test_start(kSegment);
	CHECK(gex_EP_RegisterHandlers(test_ep, &wrong, 1) == GASNET_ERR_BAD_ARG);
	CHECK_OK(gex_EP_RegisterHandlers(test_ep, table, 1));
	CHECK(gex_EP_RegisterHandlers(test_ep, table, 1) == GASNET_ERR_BAD_ARG); /* the index is taken */
	objects();
	positions();
	test_barrier();
	unsigned round = 0;
	for (gex_Rank_t dest = 0; dest < nodes; dest++)
		for (size_t nbytes = 0; nbytes <= kPart; nbytes = nbytes * 2 + 1)
			for (int form = 0; form < 5; form++, round++)
				transfer(round % 2 ? test_tm : gex_TM_Pair(test_ep, 0), dest, nbytes, round);
	test_barrier();
	for (gex_Rank_t dest = 0; dest < nodes; dest++) {
		values(dest);
		strides(dest);
		lists(dest);
	}
	test_barrier();
	peers_hear();
	test_barrier();
	if (me == 0)
		printf("GASNet-EX transfers: %u nodes: ok\n", nodes);
	test_end();
}
