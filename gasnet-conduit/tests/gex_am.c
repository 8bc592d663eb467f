/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GASNet-EX's active messages with every number of arguments: short, medium and long, request and reply, with fixed
 * and negotiated payload, to this node and to others; limits; cancel; GEX_FLAG_IMMEDIATE and full rings; threads.
 *
 *	gex_am [arguments | category | direction]: sends a message for which its handler is not registered
 */
#include "gasnet_test.h"
#ifdef GASNET_PAR
#include <pthread.h>
#endif

#define SEGMENT (4u << 20)
#define BIG_TO 0u          /* requests' long payloads, in the peer's segment; each sender has its part */
#define SENDER_PART 153600 /* of that */
#define REPLY_TO 2621440u  /* the same for replies */
#define FLAG_AT 3670016u   /* a word that node 0 sets, and one that a neighbour sets */
#define NUMBERS 17
#define VALUE(i_arg) (1000 + 7 * (i_arg))

#define P0
#define P1 P0, gex_AM_Arg_t a0
#define P2 P1, gex_AM_Arg_t a1
#define P3 P2, gex_AM_Arg_t a2
#define P4 P3, gex_AM_Arg_t a3
#define P5 P4, gex_AM_Arg_t a4
#define P6 P5, gex_AM_Arg_t a5
#define P7 P6, gex_AM_Arg_t a6
#define P8 P7, gex_AM_Arg_t a7
#define P9 P8, gex_AM_Arg_t a8
#define P10 P9, gex_AM_Arg_t a9
#define P11 P10, gex_AM_Arg_t a10
#define P12 P11, gex_AM_Arg_t a11
#define P13 P12, gex_AM_Arg_t a12
#define P14 P13, gex_AM_Arg_t a13
#define P15 P14, gex_AM_Arg_t a14
#define P16 P15, gex_AM_Arg_t a15
#define A0
#define A1 A0, a0
#define A2 A1, a1
#define A3 A2, a2
#define A4 A3, a3
#define A5 A4, a4
#define A6 A5, a5
#define A7 A6, a6
#define A8 A7, a7
#define A9 A8, a8
#define A10 A9, a9
#define A11 A10, a10
#define A12 A11, a11
#define A13 A12, a12
#define A14 A13, a13
#define A15 A14, a14
#define A16 A15, a15
#define V0
#define V1 V0, VALUE(0)
#define V2 V1, VALUE(1)
#define V3 V2, VALUE(2)
#define V4 V3, VALUE(3)
#define V5 V4, VALUE(4)
#define V6 V5, VALUE(5)
#define V7 V6, VALUE(6)
#define V8 V7, VALUE(7)
#define V9 V8, VALUE(8)
#define V10 V9, VALUE(9)
#define V11 V10, VALUE(10)
#define V12 V11, VALUE(11)
#define V13 V12, VALUE(12)
#define V14 V13, VALUE(13)
#define V15 V14, VALUE(14)
#define V16 V15, VALUE(15)
#define EACH(x_arg)                                                                                                    \
	x_arg(0) x_arg(1) x_arg(2) x_arg(3) x_arg(4) x_arg(5) x_arg(6) x_arg(7) x_arg(8) x_arg(9) x_arg(10) x_arg(11)  \
		x_arg(12) x_arg(13) x_arg(14) x_arg(15) x_arg(16)

static gex_TM_t tm;
static gex_EP_t ep;
static gex_Rank_t me, all;
static char *base[64]; /* segments, at their owners' addresses */
static long replies, counted;
static unsigned char pattern[70000];

/* Every long message in flight has its own place, and so has its reply. */
static size_t place_bytes = 8192;
static __thread size_t next_place;
static char *request_place(gex_Rank_t dest, gex_Rank_t source, size_t place)
{
	CHECK((place + 1) * place_bytes <= SENDER_PART);
	return base[dest] + BIG_TO + source * SENDER_PART + place * place_bytes;
}
static char *reply_place(gex_Rank_t dest, size_t place)
{
	return base[dest] + REPLY_TO + place * place_bytes;
}

static gex_AM_Entry_t entries[6 * NUMBERS];
enum { SHORT_REQ, SHORT_REP, MEDIUM_REQ, MEDIUM_REP, LONG_REQ, LONG_REP };
static gex_AM_Index_t index_of(int what, int n)
{
	return entries[what * NUMBERS + n].gex_index;
}

static void check_call(gex_Token_t t, int what, int n, const gex_AM_Arg_t *a)
{
	gex_Token_Info_t info;
	CHECK_EQ(gex_Token_Info(t, &info, GEX_TI_ALL), GEX_TI_ALL);
	CHECK(info.gex_srcrank < all);
	CHECK_EQ(info.gex_ep == ep, 1);
	CHECK_EQ(info.gex_entry->gex_index, index_of(what, n));
	CHECK_EQ(info.gex_entry->gex_nargs, n);
	CHECK_EQ(info.gex_is_req, what % 2 == 0);
	CHECK_EQ(info.gex_is_long, what >= LONG_REQ);
	for (int i = 0; i < n; i++)
		CHECK_EQ(a[i], VALUE(i));
}

static void check_medium(const void *buf, size_t bytes)
{
	CHECK_EQ((uintptr_t)buf % 8, 0);
	CHECK_MEM(buf, pattern, bytes);
}

static void one_reply(void)
{
	__atomic_fetch_add(&replies, 1, __ATOMIC_RELEASE);
}

/* By length: odd ones are prepared, multiples of 4 use a buffer of the client's. */
#define HANDLERS(n_arg)                                                                                                \
	static void short_req_##n_arg(gex_Token_t t P##n_arg)                                                          \
	{                                                                                                              \
		const gex_AM_Arg_t a[] = {0 A##n_arg};                                                                 \
		check_call(t, SHORT_REQ, n_arg, a + 1);                                                                \
		CHECK_OK(gex_AM_ReplyShort(t, index_of(SHORT_REP, n_arg), 0 A##n_arg));                                \
	}                                                                                                              \
	static void short_rep_##n_arg(gex_Token_t t P##n_arg)                                                          \
	{                                                                                                              \
		const gex_AM_Arg_t a[] = {0 A##n_arg};                                                                 \
		check_call(t, SHORT_REP, n_arg, a + 1);                                                                \
		one_reply();                                                                                           \
	}                                                                                                              \
	static void medium_req_##n_arg(gex_Token_t t, void *buf, size_t bytes P##n_arg)                                \
	{                                                                                                              \
		const gex_AM_Arg_t a[] = {0 A##n_arg};                                                                 \
		check_call(t, MEDIUM_REQ, n_arg, a + 1);                                                               \
		check_medium(buf, bytes);                                                                              \
		if (bytes % 2 == 0) {                                                                                  \
			CHECK_OK(gex_AM_ReplyMedium(t, index_of(MEDIUM_REP, n_arg), buf, bytes, GEX_EVENT_NOW,         \
						    0 A##n_arg));                                                      \
			return;                                                                                        \
		}                                                                                                      \
		gex_AM_SrcDesc_t sd = gex_AM_PrepareReplyMedium(t, NULL, 1, bytes, NULL, 0, n_arg);                    \
		CHECK_OK(gex_AM_CancelReplyMedium(sd, 0));                                                             \
		sd = gex_AM_PrepareReplyMedium(t, NULL, bytes, bytes, NULL, 0, n_arg);                                 \
		CHECK_EQ(gex_AM_SrcDescSize(sd), bytes);                                                               \
		memcpy(gex_AM_SrcDescAddr(sd), buf, bytes);                                                            \
		gex_AM_CommitReplyMedium(sd, index_of(MEDIUM_REP, n_arg), bytes A##n_arg);                             \
	}                                                                                                              \
	static void medium_rep_##n_arg(gex_Token_t t, void *buf, size_t bytes P##n_arg)                                \
	{                                                                                                              \
		const gex_AM_Arg_t a[] = {0 A##n_arg};                                                                 \
		check_call(t, MEDIUM_REP, n_arg, a + 1);                                                               \
		check_medium(buf, bytes);                                                                              \
		one_reply();                                                                                           \
	}                                                                                                              \
	static void long_req_##n_arg(gex_Token_t t, void *buf, size_t bytes P##n_arg)                                  \
	{                                                                                                              \
		const gex_AM_Arg_t a[] = {0 A##n_arg};                                                                 \
		gex_Token_Info_t info;                                                                                 \
		check_call(t, LONG_REQ, n_arg, a + 1);                                                                 \
		gex_Token_Info(t, &info, GEX_TI_SRCRANK);                                                              \
		const ptrdiff_t off = (char *)buf - request_place(me, info.gex_srcrank, 0);                            \
		CHECK(off >= 0 && off < SENDER_PART && (size_t)off % place_bytes == 0);                                \
		CHECK_MEM(buf, pattern, bytes);                                                                        \
		char *dest = reply_place(info.gex_srcrank, (size_t)off / place_bytes);                                 \
		if (bytes % 2 == 0) {                                                                                  \
			CHECK_OK(gex_AM_ReplyLong(t, index_of(LONG_REP, n_arg), pattern, bytes, dest, GEX_EVENT_NOW,   \
						  0 A##n_arg));                                                        \
			return;                                                                                        \
		}                                                                                                      \
		gex_AM_SrcDesc_t sd = gex_AM_PrepareReplyLong(t, NULL, bytes, bytes, dest, NULL, 0, n_arg);            \
		memcpy(gex_AM_SrcDescAddr(sd), pattern, bytes);                                                        \
		CHECK_OK(gex_AM_CommitReplyLong_v2(sd, index_of(LONG_REP, n_arg), bytes, dest, 0 A##n_arg));           \
	}                                                                                                              \
	static void long_rep_##n_arg(gex_Token_t t, void *buf, size_t bytes P##n_arg)                                  \
	{                                                                                                              \
		const gex_AM_Arg_t a[] = {0 A##n_arg};                                                                 \
		check_call(t, LONG_REP, n_arg, a + 1);                                                                 \
		const ptrdiff_t off = (char *)buf - reply_place(me, 0);                                                \
		CHECK(off >= 0 && off < SENDER_PART && (size_t)off % place_bytes == 0);                                \
		CHECK_MEM(buf, pattern, bytes);                                                                        \
		one_reply();                                                                                           \
	}                                                                                                              \
	static void send_##n_arg(gex_Rank_t dest, size_t medium, size_t big)                                           \
	{                                                                                                              \
		gex_Event_t over = GEX_EVENT_NO_OP;                                                                    \
		CHECK_OK(gex_AM_RequestShort##n_arg(tm, dest, index_of(SHORT_REQ, n_arg), 0 V##n_arg));                \
		CHECK_OK(gex_AM_RequestMedium##n_arg(tm, dest, index_of(MEDIUM_REQ, n_arg), pattern, medium, &over,    \
						     0 V##n_arg));                                                     \
		CHECK_EQ(over == GEX_EVENT_INVALID, 1);                                                                \
		gex_AM_SrcDesc_t sd = gex_AM_PrepareRequestMedium(tm, dest, NULL, 1, medium + 1, NULL, 0, n_arg);      \
		CHECK(gex_AM_SrcDescSize(sd) >= 1 && gex_AM_SrcDescSize(sd) <= medium + 1);                            \
		CHECK_OK(gex_AM_CancelRequestMedium(sd, 0));                                                           \
		sd = gex_AM_PrepareRequestMedium(tm, dest, NULL, medium, medium, NULL, 0, n_arg);                      \
		CHECK_EQ((uintptr_t)gex_AM_SrcDescAddr(sd) % 8, 0);                                                    \
		memcpy(gex_AM_SrcDescAddr(sd), pattern, medium);                                                       \
		gex_AM_CommitRequestMedium##n_arg(sd, index_of(MEDIUM_REQ, n_arg), medium V##n_arg);                   \
		sd = gex_AM_PrepareRequestMedium(tm, dest, pattern, medium, medium, GEX_EVENT_NOW, 0, n_arg);          \
		CHECK_EQ(gex_AM_SrcDescAddr(sd) == pattern, 1);                                                        \
		CHECK_OK(gex_AM_CommitRequestMedium##n_arg##_v2(sd, index_of(MEDIUM_REQ, n_arg), medium, 0 V##n_arg)); \
		char *there = request_place(dest, me, next_place++);                                                   \
		CHECK_OK(gex_AM_RequestLong##n_arg(tm, dest, index_of(LONG_REQ, n_arg), pattern, big, there,           \
						   GEX_EVENT_GROUP, 0 V##n_arg));                                      \
		sd = gex_AM_PrepareRequestLong(tm, dest, NULL, big, big, NULL, NULL, 0, n_arg);                        \
		memcpy(gex_AM_SrcDescAddr(sd), pattern, big);                                                          \
		there = request_place(dest, me, next_place++);                                                         \
		gex_AM_CommitRequestLong##n_arg(sd, index_of(LONG_REQ, n_arg), big, there V##n_arg);                   \
		there = request_place(dest, me, next_place++);                                                         \
		sd = gex_AM_PrepareRequestLong(tm, dest, pattern, big, big, there, &over, 0, n_arg);                   \
		gex_AM_CommitRequestLong(sd, index_of(LONG_REQ, n_arg), big, there V##n_arg);                          \
		gex_NBI_Wait(GEX_EC_AM, 0);                                                                            \
	}
EACH(HANDLERS)
enum { REQUESTS = 7, LONG_REQUESTS = 3 };

#define SEND(n_arg) send_##n_arg,
static void (*const send_all[])(gex_Rank_t, size_t, size_t) = {EACH(SEND)};

#define ONE(what_arg, n_arg, fn_arg, flags_arg)                                                                        \
	entries[(what_arg)*NUMBERS + (n_arg)] =                                                                        \
		(gex_AM_Entry_t){0, (gex_AM_Fn_t)fn_arg, flags_arg, n_arg, NULL, #fn_arg};
#define ENTRIES(n_arg)                                                                                                 \
	ONE(SHORT_REQ, n_arg, short_req_##n_arg, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST)                              \
	ONE(SHORT_REP, n_arg, short_rep_##n_arg, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY)                                \
	ONE(MEDIUM_REQ, n_arg, medium_req_##n_arg, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST)                           \
	ONE(MEDIUM_REP, n_arg, medium_rep_##n_arg, GEX_FLAG_AM_MEDLONG | GEX_FLAG_AM_REPLY)                            \
	ONE(LONG_REQ, n_arg, long_req_##n_arg, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQREP)                                  \
	ONE(LONG_REP, n_arg, long_rep_##n_arg, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REPLY)

/* --- full rings --------------------------------------------------------------------------------------------------- */

static void count_short(gex_Token_t t)
{
	(void)t;
	counted++;
}
static void count_bytes(gex_Token_t t, void *buf, size_t bytes)
{
	(void)t, (void)buf, (void)bytes;
	counted++;
}
static gex_AM_Entry_t counting[] = {
	{0, (gex_AM_Fn_t)count_short, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL, "count_short"},
	{0, (gex_AM_Fn_t)count_bytes, GEX_FLAG_AM_MEDLONG | GEX_FLAG_AM_REQUEST, 0, NULL, "count_bytes"},
};

/* Node 0 fills the ring of node 1, which does not poll: all immediate calls are refused, and leave nothing behind. */
static void fill_ring(void)
{
	void *there = NULL;
	volatile long *flag = (volatile long *)(base[me] + FLAG_AT);
	long sent = 0, told;
	CHECK_OK(gex_Segment_QueryBound(tm, me == 0 ? 1 : 0, NULL, &there, NULL));
	if (me == 0 && there) {
		const gex_AM_Index_t s = counting[0].gex_index, b = counting[1].gex_index;
		char *dst = base[1] + BIG_TO;
		gex_Event_t over;
		memset((char *)there + BIG_TO, 0, 64);
		/* buffers for longer messages are claimed before the last slot is */
		gex_AM_SrcDesc_t sd = gex_AM_PrepareRequestMedium(tm, 1, NULL, 2000, 2000, NULL, 0, 0);
		CHECK_EQ(gex_AM_SrcDescSize(sd), 2000);
		memset(gex_AM_SrcDescAddr(sd), 1, 2000);
		CHECK_OK(gex_AM_CommitRequestMedium0_v2(sd, b, 2000, GEX_FLAG_IMMEDIATE));
		sent++;
		while (gex_AM_RequestShort0(tm, 1, s, GEX_FLAG_IMMEDIATE) == 0)
			CHECK(++sent < 10000000);
		CHECK(sent >= 16);
		CHECK(gex_AM_RequestMedium0(tm, 1, b, pattern, 32, &over, GEX_FLAG_IMMEDIATE) != 0);
		CHECK(gex_AM_RequestMedium0(tm, 1, b, pattern, 3000, &over, GEX_FLAG_IMMEDIATE) != 0);
		CHECK(gex_AM_RequestLong0(tm, 1, b, pattern, 64, dst, &over, GEX_FLAG_IMMEDIATE) != 0);
		for (int i = 0; i < 64; i++)
			CHECK_EQ(((char *)there + BIG_TO)[i], 0);
		CHECK(gex_AM_PrepareRequestMedium(tm, 1, NULL, 8, 8, NULL, GEX_FLAG_IMMEDIATE, 0) ==
		      GEX_AM_SRCDESC_NO_OP);
		/* a large one has its buffer, but no slot: the descriptor remains valid */
		sd = gex_AM_PrepareRequestMedium(tm, 1, NULL, 3000, 3000, NULL, GEX_FLAG_IMMEDIATE, 0);
		if (sd != GEX_AM_SRCDESC_NO_OP) {
			memset(gex_AM_SrcDescAddr(sd), 2, 3000);
			CHECK(gex_AM_CommitRequestMedium0_v2(sd, b, 3000, GEX_FLAG_IMMEDIATE) != 0);
			CHECK_EQ(gex_AM_SrcDescSize(sd), 3000);
			CHECK_OK(gex_AM_CancelRequestMedium(sd, 0));
			CHECK(gex_AM_CancelRequestMedium(sd, 0) != 0);
		}
		told = sent + 1;
		gex_RMA_PutBlocking(tm, 1, base[1] + FLAG_AT, &told, sizeof told, 0);
	}
	if (me == 1 && there) {
		while (!*flag)
			;
		pgas_fence_acquire();
		GASNET_BLOCKUNTIL(counted >= *flag - 1);
		CHECK_EQ(counted, *flag - 1);
	}
}

/* --- limits, threads, mistakes ------------------------------------------------------------------------------------ */

static void limits(void)
{
	const gex_Flags_t alloc = GEX_FLAG_AM_PREPARE_LEAST_ALLOC, client = GEX_FLAG_AM_PREPARE_LEAST_CLIENT;
	CHECK_EQ(gex_AM_MaxArgs(), 16);
	for (gex_Rank_t r = 0; r <= all; r++) {
		const gex_Rank_t dest = r < all ? r : GEX_RANK_INVALID;
		for (unsigned n = 0; n <= 16; n++) {
			CHECK(gex_AM_LUBRequestMedium() <= gex_AM_MaxRequestMedium(tm, dest, GEX_EVENT_NOW, 0, n));
			CHECK(gex_AM_LUBReplyMedium() <= gex_AM_MaxReplyMedium(tm, dest, GEX_EVENT_NOW, 0, n));
			CHECK(gex_AM_LUBRequestLong() <= gex_AM_MaxRequestLong(tm, dest, GEX_EVENT_GROUP, 0, n));
			CHECK(gex_AM_LUBReplyLong() <= gex_AM_MaxReplyLong(tm, dest, GEX_EVENT_NOW, 0, n));
			CHECK(gex_AM_MaxRequestMedium(tm, dest, NULL, alloc, n) >= 512);
			CHECK(gex_AM_MaxRequestLong(tm, dest, NULL, alloc, n) >= 512);
			CHECK(gex_AM_MaxReplyLong(tm, dest, NULL, client, n) >= 512);
		}
	}
	CHECK(gex_AM_LUBRequestMedium() >= 512 && gex_AM_LUBReplyMedium() >= 512);
	CHECK(gex_AM_LUBRequestLong() >= 512 && gex_AM_LUBReplyLong() >= 512);
}

static void wait_replies(long want)
{
	GASNET_BLOCKUNTIL(__atomic_load_n(&replies, __ATOMIC_ACQUIRE) >= want);
	CHECK_EQ(replies, want);
	next_place = 0;
}

/* Prepares a message after one that arrived and was not handled: the neighbour's, which waits without polling as we
 * do. */
static void prepare_late(size_t medium)
{
	static long round;
	const gex_Rank_t dest = (me + 1) % all;
	volatile long *flag = (volatile long *)(base[me] + FLAG_AT + sizeof(long));
	const long want = replies + 2;
	round++;
	CHECK_OK(gex_AM_RequestShort0(tm, dest, index_of(SHORT_REQ, 0), 0));
	gex_RMA_PutBlocking(tm, dest, base[dest] + FLAG_AT + sizeof(long), &round, sizeof round, 0);
	for (long spins = 0; *flag < round && spins < 1000000; spins++) /* from another host it may need our help */
		;
	gex_AM_SrcDesc_t sd = gex_AM_PrepareRequestMedium(tm, dest, NULL, medium, medium, NULL, 0, 3);
	CHECK_EQ(gex_AM_SrcDescSize(sd), medium);
	memcpy(gex_AM_SrcDescAddr(sd), pattern, medium);
	gex_AM_CommitRequestMedium3(sd, index_of(MEDIUM_REQ, 3), medium V3);
	wait_replies(want);
	test_barrier(); /* no node is ahead by a round */
}

#ifdef GASNET_PAR
enum { THREADS = 4, ROUNDS = 100, THREADS_PLACE = SENDER_PART / (THREADS * ROUNDS * LONG_REQUESTS) };
static void *threaded(void *arg)
{
	const int id = (int)(intptr_t)arg;
	next_place = (size_t)id * ROUNDS * LONG_REQUESTS;
	for (int i = 0; i < ROUNDS; i++)
		send_all[(i + id) % NUMBERS]((me + (gex_Rank_t)i) % all, (size_t)(1 + (37 * i + id) % 4000),
					     (size_t)(1 + (29 * i + id) % THREADS_PLACE));
	return NULL;
}
static void threads(void)
{
	pthread_t t[THREADS];
	const long want = replies + (long)THREADS * ROUNDS * REQUESTS;
	for (intptr_t i = 0; i < THREADS; i++)
		CHECK_OK(pthread_create(&t[i], NULL, threaded, (void *)i));
	for (int i = 0; i < THREADS; i++)
		CHECK_OK(pthread_join(t[i], NULL));
	wait_replies(want);
}
#endif

static void mistake(const char *which)
{
	if (me == 0 && strcmp(which, "arguments") == 0)
		gex_AM_RequestShort2(tm, all - 1, index_of(SHORT_REQ, 1), 0, 1, 2);
	if (me == 0 && strcmp(which, "category") == 0)
		gex_AM_RequestMedium0(tm, all - 1, index_of(LONG_REQ, 0), pattern, 8, GEX_EVENT_NOW, 0);
	if (me == 0 && strcmp(which, "direction") == 0)
		gex_AM_RequestShort0(tm, all - 1, index_of(SHORT_REP, 0), 0);
	if (me == 0 && strcmp(which, "rank") == 0)
		gex_AM_RequestShort0(tm, all, index_of(SHORT_REQ, 0), 0);
	if (me == 0 && strcmp(which, "nested") == 0) {
		gex_AM_PrepareRequestMedium(tm, all - 1, NULL, 8, 8, NULL, 0, 0);
		gex_AM_PrepareRequestMedium(tm, all - 1, NULL, 8, 8, NULL, 0, 0);
	}
	for (;;)
		gasnet_AMPoll();
}

int main(int argc, char **argv)
{
	gex_Client_t client;
	gex_Segment_t segment;
	/* at the boundaries of a slot's first line, of the slot, of its annex, and beyond */
	static const size_t sizes[] = {1,  8,  16,  17,  24,  32,   33,   63,   64,   72,   80,   81,   88,   89,
				       96, 97, 104, 105, 500, 2160, 2161, 2224, 2225, 2232, 2240, 2241, 4095, 4096};
	EACH(ENTRIES)
	CHECK_OK(gex_Client_Init(&client, &ep, &tm, "GEX_AM", &argc, &argv, 0));
	me = gex_TM_QueryRank(tm);
	all = gex_TM_QuerySize(tm);
	CHECK(all <= 16);
	CHECK_OK(gex_EP_RegisterHandlers(ep, entries, sizeof entries / sizeof *entries));
	CHECK_OK(gex_EP_RegisterHandlers(ep, counting, 2));
	CHECK_OK(gex_Segment_Attach(&segment, tm, SEGMENT));
	for (gex_Rank_t i = 0; i < all; i++) {
		void *owner;
		CHECK_OK(gex_Segment_QueryBound(tm, i, &owner, NULL, NULL));
		base[i] = owner;
	}
	for (size_t i = 0; i < sizeof pattern; i++)
		pattern[i] = (unsigned char)(i * 7 + i / 256);
	test_barrier();
	if (argc > 1)
		mistake(argv[1]);
	limits();
	for (int n = 0; n < NUMBERS; n++)
		for (gex_Rank_t dest = 0; dest < all; dest++)
			for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i += n % 8 == 0 ? 1 : 4) {
				const long want = replies + REQUESTS;
				send_all[n](dest, sizes[i], sizes[i]);
				wait_replies(want);
			}
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		prepare_late(sizes[i]);
	const size_t most = gex_AM_LUBRequestMedium();
	long want = replies + REQUESTS;
	send_all[16]((me + 1) % all, most - 1, 8192);
	wait_replies(want);
	test_barrier();
	if (all > 1)
		fill_ring();
#ifdef GASNET_PAR
	place_bytes = THREADS_PLACE;
	test_barrier();
	threads();
#endif
	test_barrier();
	if (me == 0)
		printf("gex_am: ok\n");
	test_end();
	return 0;
}
