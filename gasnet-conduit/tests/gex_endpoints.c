/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages and vectors through endpoints other than the first. Every pair of the first endpoint and a second one, on
 * this node and the next: each endpoint has its own handlers, and uses the first one's where it has none; replies go
 * back to the requesting endpoint; the payload of a long message goes to the receiving endpoint's segment.
 *
 *   gex_endpoints [CALL]    then makes a call that ends the job: short, prepare, vis, unable, handler, outside
 */
#include "gex_test.h"
#include <gasnet_ratomic.h>
#include <gasnet_vis.h>

enum { kBytes = 1 << 20, kLong = 0, kReply = 1 << 18, kVis = 1 << 19, kWords = 16 };
/* Handlers that both endpoints have, and one that only the first has. */
enum { H_SHORT = 200, H_MEDIUM, H_LONG, H_SHORT_BACK, H_MEDIUM_BACK, H_LONG_BACK, H_MANY, H_DONE, H_FIRST };

static gex_EP_t ends[3];       /* the last one has only puts and gets */
static char *segment_of[2][3]; /* by endpoint: of the node before, this one, and the next */
static volatile unsigned came[2][16], back[2][16];
static unsigned from_ep; /* of pings: the sending endpoint of the other side */

enum { kBefore, kHere, kNext };

/* The endpoint that a handler runs for; checks the source, too. */
static unsigned endpoint_of(gex_Token_t token, unsigned handler, gex_Rank_t source)
{
	gex_Token_Info_t info;
	CHECK_EQ(gex_Token_Info(token, &info, GEX_TI_ALL) & GEX_TI_ALL, GEX_TI_ALL);
	CHECK_EQ(info.gex_srcrank, source);
	CHECK_EQ(info.gex_entry->gex_index, handler);
	return gex_EP_QueryIndex(info.gex_ep);
}

static gex_Rank_t next_of(gex_Rank_t rank)
{
	return (rank + 1) % nodes;
}
static gex_Rank_t before(void)
{
	return (me + nodes - 1) % nodes;
}

static void check_made(const void *buf, size_t nbytes, gex_Rank_t actor)
{
	const unsigned char *pos = buf;
	for (size_t i = 0; i < nbytes; i++)
		CHECK(pos[i] == (unsigned char)(actor + i));
}
static char *make_bytes(size_t nbytes)
{
	static char bytes[1 << 17];
	CHECK(nbytes <= sizeof bytes);
	for (size_t i = 0; i < nbytes; i++)
		bytes[i] = (char)(me + i);
	return bytes;
}

/* Each handler exists twice, for one endpoint each. */
#define PING_PONG(e_arg)                                                                                               \
	static void on_short_##e_arg(gex_Token_t token)                                                                \
	{                                                                                                              \
		CHECK_EQ(endpoint_of(token, H_SHORT, before()), e_arg);                                                \
		came[e_arg][H_SHORT & 15]++;                                                                           \
		gex_AM_ReplyShort1(token, H_SHORT_BACK, 0, (gex_AM_Arg_t)(me + 5));                                    \
	}                                                                                                              \
	static void on_short_back_##e_arg(gex_Token_t token, gex_AM_Arg_t a)                                           \
	{                                                                                                              \
		CHECK_EQ(endpoint_of(token, H_SHORT_BACK, next_of(me)), e_arg);                                        \
		CHECK_EQ(a, next_of(me) + 5);                                                                          \
		back[e_arg][H_SHORT & 15]++;                                                                           \
	}                                                                                                              \
	static void on_medium_##e_arg(gex_Token_t token, void *buf, size_t nbytes, gex_AM_Arg_t how)                   \
	{                                                                                                              \
		CHECK_EQ(endpoint_of(token, H_MEDIUM, before()), e_arg);                                               \
		CHECK((uintptr_t)buf % 8 == 0);                                                                        \
		check_made(buf, nbytes, before());                                                                     \
		came[e_arg][H_MEDIUM & 15]++;                                                                          \
		if (how) {                                                                                             \
			gex_AM_SrcDesc_t sd = gex_AM_PrepareReplyMedium(token, NULL, nbytes, nbytes, NULL, 0, 1);      \
			memcpy(gex_AM_SrcDescAddr(sd), make_bytes(nbytes), nbytes);                                    \
			gex_AM_CommitReplyMedium1(sd, H_MEDIUM_BACK, nbytes, how);                                     \
		} else {                                                                                               \
			gex_AM_ReplyMedium1(token, H_MEDIUM_BACK, make_bytes(nbytes), nbytes, GEX_EVENT_NOW, 0, how);  \
		}                                                                                                      \
	}                                                                                                              \
	static void on_medium_back_##e_arg(gex_Token_t token, void *buf, size_t nbytes, gex_AM_Arg_t how)              \
	{                                                                                                              \
		(void)how;                                                                                             \
		CHECK_EQ(endpoint_of(token, H_MEDIUM_BACK, next_of(me)), e_arg);                                       \
		check_made(buf, nbytes, next_of(me));                                                                  \
		back[e_arg][H_MEDIUM & 15]++;                                                                          \
	}                                                                                                              \
	static void on_long_##e_arg(gex_Token_t token, void *buf, size_t nbytes, gex_AM_Arg_t how)                     \
	{                                                                                                              \
		CHECK_EQ(endpoint_of(token, H_LONG, before()), e_arg);                                                 \
		CHECK(buf == segment_of[e_arg][kHere] + kLong);                                                        \
		check_made(buf, nbytes, before());                                                                     \
		came[e_arg][H_LONG & 15]++;                                                                            \
		void *const dst = segment_of[from_ep][kBefore] + kReply;                                               \
		if (how) {                                                                                             \
			gex_AM_SrcDesc_t sd = gex_AM_PrepareReplyLong(token, make_bytes(nbytes), nbytes, nbytes, dst,  \
								      GEX_EVENT_NOW, 0, 0);                            \
			gex_AM_CommitReplyLong0(sd, H_LONG_BACK, nbytes, dst);                                         \
		} else {                                                                                               \
			gex_AM_ReplyLong0(token, H_LONG_BACK, make_bytes(nbytes), nbytes, dst, GEX_EVENT_NOW, 0);      \
		}                                                                                                      \
	}                                                                                                              \
	static void on_long_back_##e_arg(gex_Token_t token, void *buf, size_t nbytes)                                  \
	{                                                                                                              \
		CHECK_EQ(endpoint_of(token, H_LONG_BACK, next_of(me)), e_arg);                                         \
		CHECK(buf == segment_of[e_arg][kHere] + kReply);                                                       \
		check_made(buf, nbytes, next_of(me));                                                                  \
		back[e_arg][H_LONG & 15]++;                                                                            \
	}                                                                                                              \
	static void on_many_##e_arg(gex_Token_t token, gex_AM_Arg_t a0, gex_AM_Arg_t a1, gex_AM_Arg_t a2,              \
				    gex_AM_Arg_t a3, gex_AM_Arg_t a4, gex_AM_Arg_t a5, gex_AM_Arg_t a6,                \
				    gex_AM_Arg_t a7, gex_AM_Arg_t a8, gex_AM_Arg_t a9, gex_AM_Arg_t a10,               \
				    gex_AM_Arg_t a11, gex_AM_Arg_t a12, gex_AM_Arg_t a13, gex_AM_Arg_t a14,            \
				    gex_AM_Arg_t a15)                                                                  \
	{                                                                                                              \
		CHECK_EQ(endpoint_of(token, H_MANY, before()), e_arg);                                                 \
		CHECK(a0 == 1 && a1 == 2 && a2 == 3 && a3 == 4 && a4 == 5 && a5 == 6 && a6 == 7 && a7 == 8);           \
		CHECK(a8 == 9 && a9 == 10 && a10 == 11 && a11 == 12 && a12 == 13 && a13 == 14 && a14 == 15);           \
		CHECK(a15 == 16);                                                                                      \
		came[e_arg][H_MANY & 15]++;                                                                            \
	}                                                                                                              \
	static void on_done_##e_arg(gex_Token_t token, void *buf, size_t nbytes)                                       \
	{                                                                                                              \
		CHECK_EQ(endpoint_of(token, H_DONE, before()), e_arg);                                                 \
		check_made(buf, nbytes, before());                                                                     \
		CHECK_EQ(((uint64_t *)(segment_of[e_arg][kHere] + kVis))[0], before() + 100);                          \
		came[e_arg][H_DONE & 15]++;                                                                            \
	}                                                                                                              \
	static gex_AM_Entry_t table_##e_arg[] = {                                                                      \
		{H_SHORT, (gex_AM_Fn_t)on_short_##e_arg, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 0, NULL, "a"},       \
		{H_MEDIUM, (gex_AM_Fn_t)on_medium_##e_arg, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_MEDIUM, 1, NULL, "b"},    \
		{H_LONG, (gex_AM_Fn_t)on_long_##e_arg, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_LONG, 1, NULL, "c"},          \
		{H_SHORT_BACK, (gex_AM_Fn_t)on_short_back_##e_arg, GEX_FLAG_AM_REPLY | GEX_FLAG_AM_SHORT, 1, NULL,     \
		 "d"},                                                                                                 \
		{H_MEDIUM_BACK, (gex_AM_Fn_t)on_medium_back_##e_arg, GEX_FLAG_AM_REPLY | GEX_FLAG_AM_MEDIUM, 1, NULL,  \
		 "e"},                                                                                                 \
		{H_LONG_BACK, (gex_AM_Fn_t)on_long_back_##e_arg, GEX_FLAG_AM_REPLY | GEX_FLAG_AM_LONG, 0, NULL, "f"},  \
		{H_MANY, (gex_AM_Fn_t)on_many_##e_arg, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 16, NULL, "g"},        \
		{H_DONE, (gex_AM_Fn_t)on_done_##e_arg, GEX_FLAG_AM_REPLY | GEX_FLAG_AM_MEDIUM, 0, NULL, "h"}};
PING_PONG(0)
PING_PONG(1)

static void on_first(gex_Token_t token)
{
	came[endpoint_of(token, H_FIRST, before())][H_FIRST & 15]++;
}

static void wait_for(volatile unsigned *count, unsigned least)
{
	GASNET_BLOCKUNTIL(*count >= least);
	CHECK_EQ(*count, least);
}

/* Everything to endpoint `theirs` of the next node and back to our endpoint `mine`. */
static void messages(unsigned mine, unsigned theirs)
{
	const gex_TM_t pair = gex_TM_Pair(ends[mine], theirs);
	const gex_Rank_t next = next_of(me);
	const size_t most = gex_AM_MaxRequestMedium(pair, next, GEX_EVENT_NOW, 0, 1);
	const size_t sizes[] = {0, 8, 64, 1000, most};
	char *const dst = segment_of[theirs][kNext] + kLong;
	const unsigned shorts = back[mine][H_SHORT & 15], mediums = back[mine][H_MEDIUM & 15];
	const unsigned longs = back[mine][H_LONG & 15], many = came[theirs][H_MANY & 15];
	const unsigned first = came[theirs][H_FIRST & 15];
	from_ep = mine;
	test_barrier();
	for (unsigned i = 0; i < 3; i++)
		while (gex_AM_RequestShort0(pair, next, H_SHORT, i % 2 ? GEX_FLAG_IMMEDIATE : 0) != 0)
			gasnet_AMPoll();
	CHECK_EQ(gex_AM_RequestShort16(pair, next, H_MANY, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16),
		 0);
	CHECK_EQ(gex_AM_RequestShort0(pair, next, H_FIRST, 0), 0);
	for (unsigned i = 0; i < 5; i++) {
		const size_t n = sizes[i];
		CHECK_EQ(gex_AM_RequestMedium1(pair, next, H_MEDIUM, make_bytes(n), n, GEX_EVENT_NOW, 0, 0), 0);
		gex_AM_SrcDesc_t sd = gex_AM_PrepareRequestMedium(pair, next, NULL, n, n, NULL, 0, 1);
		CHECK_OK(gex_AM_CancelRequestMedium(sd, 0));
		sd = gex_AM_PrepareRequestMedium(pair, next, NULL, n, n, NULL, 0, 1);
		memcpy(gex_AM_SrcDescAddr(sd), make_bytes(n), n);
		gex_AM_CommitRequestMedium1(sd, H_MEDIUM, n, 1);
		wait_for(&back[mine][H_MEDIUM & 15], mediums + 2 * (i + 1));
		CHECK_EQ(gex_AM_RequestLong1(pair, next, H_LONG, make_bytes(n), n, dst, GEX_EVENT_NOW,
					     i % 2 ? GEX_FLAG_IMMEDIATE : 0, 0),
			 0);
		wait_for(&back[mine][H_LONG & 15], longs + 2 * i + 1);
		sd = gex_AM_PrepareRequestLong(pair, next, i % 2 ? make_bytes(n) : NULL, n, n, dst,
					       i % 2 ? GEX_EVENT_NOW : NULL, 0, 1);
		if (i % 2 == 0)
			memcpy(gex_AM_SrcDescAddr(sd), make_bytes(n), n);
		gex_AM_CommitRequestLong1(sd, H_LONG, n, dst, 1);
		wait_for(&back[mine][H_LONG & 15], longs + 2 * i + 2);
	}
	wait_for(&back[mine][H_SHORT & 15], shorts + 3);
	wait_for(&came[theirs][H_MANY & 15], many + 1);
	wait_for(&came[theirs][H_FIRST & 15], first + 1);
	test_barrier();
}

static void vectors(unsigned mine, unsigned theirs)
{
	const gex_TM_t pair = gex_TM_Pair(ends[mine], theirs);
	const gex_Rank_t next = next_of(me);
	uint64_t *const there = (uint64_t *)(segment_of[theirs][kNext] + kVis);
	uint64_t *const here = (uint64_t *)(segment_of[theirs][kHere] + kVis);
	uint64_t src[kWords], got[kWords];
	for (unsigned i = 0; i < kWords; i++)
		src[i] = me + 100 + i;
	const unsigned done = came[theirs][H_DONE & 15];
	test_barrier();
	/* words 0 and 1, crosswise; then 2 to 3 as a vector; then 4, 6, 8, strided */
	void *to_list[] = {there + 1, there}, *from_list[] = {src + 1, src};
	gex_VIS_SetPeerCompletionHandler(H_DONE, make_bytes(24), 24, 0);
	CHECK_EQ(gex_VIS_IndexedPutBlocking(pair, next, 2, to_list, 8, 2, from_list, 8, 0), 0);
	gex_Memvec_t to_vec[] = {{there + 2, 16}}, from_vec[] = {{src + 2, 8}, {src + 3, 8}};
	gex_Event_Wait(gex_VIS_VectorPutNB(pair, next, 1, to_vec, 2, from_vec, 0));
	const ptrdiff_t apart[] = {16}, close[] = {8};
	const size_t count[] = {3};
	gex_VIS_StridedPutNBI(pair, next, there + 4, apart, src + 4, close, 8, count, 1, 0);
	gex_NBI_Wait(GEX_EC_ALL, 0);
	wait_for(&came[theirs][H_DONE & 15], done + 1);
	test_barrier();
	for (unsigned i = 0; i < 4; i++)
		CHECK_EQ(here[i], before() + 100 + i);
	for (unsigned i = 0; i < 3; i++)
		CHECK_EQ(here[4 + 2 * i], before() + 104 + i);
	memset(got, 0, sizeof got);
	void *got_list[] = {got, got + 1};
	gex_VIS_IndexedGetNBI(pair, 2, got_list, 8, next, 2, to_list, 8, 0);
	gex_NBI_Wait(GEX_EC_ALL, 0);
	gex_Memvec_t got_vec[] = {{got + 2, 8}, {got + 3, 8}};
	CHECK_EQ(gex_VIS_VectorGetBlocking(pair, 2, got_vec, next, 1, to_vec, 0), 0);
	gex_Event_Wait(gex_VIS_StridedGetNB(pair, got + 4, close, next, there + 4, apart, 8, count, 1, 0));
	CHECK(got[0] == src[1] && got[1] == src[0] && got[2] == src[2] && got[3] == src[3]);
	CHECK(got[4] == src[4] && got[5] == src[5] && got[6] == src[6]);
	test_barrier();
}

static void refused(void)
{
	gex_EP_t ep = GEX_EP_INVALID;
	gex_AM_Entry_t taken = {H_SHORT, (gex_AM_Fn_t)on_first, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 0, NULL, "x"};
	gex_System_SetVerboseErrors(0);
	CHECK_EQ(gex_EP_Create(&ep, test_client, 0, 0), GASNET_ERR_BAD_ARG);
	CHECK_EQ(gex_EP_Create(&ep, test_client, GEX_EP_CAPABILITY_ALL, 0), GASNET_ERR_BAD_ARG);
	CHECK_EQ(gex_EP_Create(&ep, test_client, GEX_EP_CAPABILITY_RMA | GEX_EP_CAPABILITY_AD, 0), GASNET_ERR_BAD_ARG);
	CHECK_EQ(gex_EP_RegisterHandlers(ends[2], &taken, 1), GASNET_ERR_BAD_ARG); /* it has no messages */
	CHECK_EQ(gex_EP_RegisterHandlers(ends[1], &taken, 1), GASNET_ERR_BAD_ARG); /* the index is taken */
	CHECK_EQ(gex_EP_RegisterHandlers(GEX_EP_INVALID, &taken, 1), GASNET_ERR_BAD_ARG);
	gex_System_SetVerboseErrors(1);
}

/* Makes the call that ends the job with a line about the reason. */
static void end_by(const char *what)
{
	const gex_TM_t unable = gex_TM_Pair(ends[2], 2), pair = gex_TM_Pair(ends[1], 1);
	uint64_t word = 0;
	void *list[] = {&word};
	if (strcmp(what, "short") == 0)
		gex_AM_RequestShort0(unable, 0, H_SHORT, 0);
	else if (strcmp(what, "prepare") == 0)
		gex_AM_PrepareRequestMedium(unable, 0, NULL, 0, 8, NULL, 0, 0);
	else if (strcmp(what, "vis") == 0)
		gex_VIS_IndexedPutBlocking(unable, 0, 1, list, 8, 1, list, 8, 0);
	else if (strcmp(what, "unable") == 0)
		gex_AM_RequestShort0(gex_TM_Pair(ends[1], 2), next_of(me), H_SHORT, 0);
	else if (strcmp(what, "handler") == 0)
		gex_AM_RequestShort0(pair, next_of(me), 255, 0);
	else if (strcmp(what, "outside") == 0)
		gex_AM_RequestLong1(pair, next_of(me), H_LONG, &word, 8, segment_of[0][kNext], GEX_EVENT_NOW, 0, 0);
	for (int i = 0; i < 10000; i++) { /* until the receiver reports it */
		gasnet_AMPoll();
		gasnett_nsleep(1000000);
	}
}

int main(int argc, char **argv)
{
	static gex_AM_Entry_t alone = {H_FIRST, (gex_AM_Fn_t)on_first, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 0, NULL,
				       "first"};
	test_start(kBytes);
	ends[0] = test_ep;
	CHECK_OK(gex_EP_Create(&ends[1], test_client,
			       GEX_EP_CAPABILITY_RMA | GEX_EP_CAPABILITY_AM | GEX_EP_CAPABILITY_VIS, 0));
	CHECK_OK(gex_EP_Create(&ends[2], test_client, GEX_EP_CAPABILITY_RMA, 0));
	CHECK_OK(gex_EP_RegisterHandlers(test_ep, table_0, sizeof table_0 / sizeof *table_0));
	CHECK_OK(gex_EP_RegisterHandlers(test_ep, &alone, 1));
	CHECK_OK(gex_EP_RegisterHandlers(ends[1], table_1, sizeof table_1 / sizeof *table_1));
	gex_Segment_t segment = GEX_SEGMENT_INVALID;
	CHECK_OK(gex_Segment_Create(&segment, test_client, NULL, kBytes, GEX_MK_HOST, 0));
	CHECK_OK(gex_EP_BindSegment(ends[1], segment, 0));
	CHECK_OK(gex_EP_PublishBoundSegment(test_tm, &ends[1], 1, 0));
	const gex_Rank_t who[3] = {before(), me, next_of(me)};
	for (unsigned i = 0; i < 3; i++) {
		segment_of[0][i] = test_at(who[i], 0);
		void *addr = NULL;
		gex_Event_Wait(gex_EP_QueryBoundSegmentNB(gex_TM_Pair(test_ep, 1), who[i], &addr, NULL, NULL, 0));
		segment_of[1][i] = addr;
	}
	refused();
	test_barrier();
	if (argc > 1)
		end_by(argv[1]);
	for (unsigned mine = 0; mine < 2; mine++)
		for (unsigned theirs = 0; theirs < 2; theirs++) {
			messages(mine, theirs);
			vectors(mine, theirs);
		}
	if (!me)
		printf("endpoints: %u nodes: ok\n", nodes);
	test_end();
}
