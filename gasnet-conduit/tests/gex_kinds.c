/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gex_kinds CLASS [MISTAKE]: memory kinds and endpoints other than the first. CLASS is emulated, cuda, hip or ze, with
 * the driver that the environment names. Every node has the endpoints
 *
 *   0  the first           1  device memory of the library's     2  device memory of the program's, in the middle of
 *   3  host memory            (on a second device, if there is      an allocation (of the library's, where there is no
 *                             one)                                  driver to ask)
 *
 * and puts and gets go between all of them and all nodes, itself included. The data is checked by a third path: the
 * owner's own get through a pair with itself. With a MISTAKE the job ends with an error line.
 */
#include "gex_test.h"

#include <gasnet_mk.h>

#include "gex_kinds_driver.h"

#ifdef GASNET_PAR
#include <pthread.h>
#endif

enum { kEnds = 4, kSlice = (5 << 19) + 4096, kSmall = 70000, kSkip = 3 << 12, kThreads = 4 };

static struct driver driver;
static gex_MK_t kinds[2];
static gex_EP_t eps[kEnds];
static gex_Segment_t segments[kEnds];
static unsigned char *bases[kEnds]; /* of this node */
static size_t segment_bytes;
static unsigned char src[kSlice], back[kSlice];

static void fill(unsigned char *pos, size_t nbytes, unsigned seed)
{
	for (size_t i = 0; i < nbytes; i++)
		pos[i] = (unsigned char)((i + seed) * 2654435761U >> 13);
}

static int is_filled(const unsigned char *pos, size_t nbytes, unsigned seed)
{
	for (size_t i = 0; i < nbytes; i++)
		if (pos[i] != (unsigned char)((i + seed) * 2654435761U >> 13)) {
			fprintf(stderr, "node %u: byte %zu of %zu is wrong\n", me, i, nbytes);
			return 0;
		}
	return 1;
}

/* Each node writes into its own slice of every segment; the last slice is the owner's, for its sources. */
static size_t slice(gex_Rank_t writer)
{
	return (size_t)kSlice * writer;
}

static unsigned char *base_of(int end, gex_Rank_t rank)
{
	void *owner = NULL, *local = &owner;
	uintptr_t bytes = 0;
	gex_Event_Wait(
		gex_EP_QueryBoundSegmentNB(gex_TM_Pair(test_ep, (gex_EP_Index_t)end), rank, &owner, &local, &bytes, 0));
	CHECK(owner && bytes == segment_bytes && (end == 0 || !local));
	CHECK(rank != me || owner == bases[end]);
	return owner;
}

/* The owner's own access to its segments. */
static void write_own(int end, size_t off, const void *what, size_t nbytes)
{
	CHECK(gex_RMA_PutBlocking(gex_TM_Pair(test_ep, (gex_EP_Index_t)end), me, bases[end] + off, what, nbytes, 0) ==
	      0);
}
static void read_own(int end, size_t off, void *dst, size_t nbytes)
{
	CHECK(gex_RMA_GetBlocking(gex_TM_Pair(test_ep, (gex_EP_Index_t)end), dst, me, bases[end] + off, nbytes, 0) ==
	      0);
}

/* --- refusals ----------------------------------------------------------------------------------------------------- */

static void refusals(void)
{
	gex_MK_t kind;
	gex_EP_t ep;
	gex_Segment_t segment;
	gex_MK_Create_args_t args = driver_args(&driver, 0);
	gex_System_SetVerboseErrors(0);
	CHECK(gex_MK_Create(&kind, test_client, &args, 1) == GASNET_ERR_BAD_ARG);
	CHECK(gex_MK_Create(NULL, test_client, &args, 0) == GASNET_ERR_BAD_ARG);
	args.gex_class = GEX_MK_CLASS_HOST;
	CHECK(gex_MK_Create(&kind, test_client, &args, 0) == GASNET_ERR_BAD_ARG);
	args.gex_class = (gex_MK_Class_t)77;
	CHECK(gex_MK_Create(&kind, test_client, &args, 0) == GASNET_ERR_BAD_ARG);
	args = driver_args(&driver, -1);
	if (driver.class_ == GEX_MK_CLASS_ZE)
		args.gex_args.gex_class_ze.gex_zeContext = NULL;
	CHECK(gex_MK_Create(&kind, test_client, &args, 0) == GASNET_ERR_BAD_ARG);
	if (driver.library && driver.class_ != GEX_MK_CLASS_ZE) {
		args = driver_args(&driver, 4711);
		CHECK(gex_MK_Create(&kind, test_client, &args, 0) == GASNET_ERR_RESOURCE);
	}
	CHECK(gex_Segment_Create(&segment, test_client, NULL, 0, kinds[0], 0) == GASNET_ERR_BAD_ARG);
	CHECK(gex_Segment_Create(&segment, test_client, NULL, 4096, GEX_MK_INVALID, 0) == GASNET_ERR_BAD_ARG);
	CHECK(gex_Segment_Create(&segment, test_client, NULL, (uintptr_t)1 << 62, kinds[0], 0) == GASNET_ERR_RESOURCE);
	CHECK(gex_Segment_Create(&segment, test_client, src, sizeof src, kinds[0], 0) == GASNET_ERR_RESOURCE);
	CHECK(gex_EP_Create(&ep, test_client, 0, 0) == GASNET_ERR_BAD_ARG);
	CHECK(gex_EP_Create(&ep, test_client, GEX_EP_CAPABILITY_RMA | GEX_EP_CAPABILITY_AD, 0) == GASNET_ERR_BAD_ARG);
	CHECK(gex_EP_BindSegment(eps[1], segments[2], 0) == GASNET_ERR_BAD_ARG);  /* it has one */
	CHECK(gex_EP_BindSegment(test_ep, segments[1], 0) == GASNET_ERR_BAD_ARG); /* the first */
	CHECK(gex_EP_BindSegment(eps[1], GEX_SEGMENT_INVALID, 0) == GASNET_ERR_BAD_ARG);
	CHECK(gex_EP_BindSegment(GEX_EP_INVALID, segments[1], 0) == GASNET_ERR_BAD_ARG);
	CHECK(gex_EP_RegisterHandlers(eps[1], NULL, 0) == GASNET_ERR_BAD_ARG);
	CHECK(gex_EP_PublishBoundSegment(test_tm, eps, kEnds, 1) == GASNET_ERR_BAD_ARG);
	gex_System_SetVerboseErrors(1);
}

/* Creates the remaining endpoints that a process can have; none of them has a segment. */
static void many_endpoints(void)
{
	gex_EP_t ep = GEX_EP_INVALID;
	uintptr_t bytes = 1;
	for (int i = kEnds; i < GASNET_MAXEPS; i++) {
		CHECK_OK(gex_EP_Create(&ep, test_client, GEX_EP_CAPABILITY_RMA, GEX_FLAG_HINT_ACCEL_ALL));
		CHECK(gex_EP_QueryIndex(ep) == i && gex_EP_QuerySegment(ep) == GEX_SEGMENT_INVALID);
		CHECK(gex_EP_QueryFlags(ep) == GEX_FLAG_HINT_ACCEL_ALL && gex_EP_QueryClient(ep) == test_client);
	}
	CHECK_OK(gex_EP_PublishBoundSegment(test_tm, &ep, 1, 0)); /* publishing nothing is not an error */
	for (gex_Rank_t i = 0; i < nodes; i++) {
		gex_Event_Wait(
			gex_EP_QueryBoundSegmentNB(gex_TM_Pair(test_ep, GASNET_MAXEPS - 1), i, NULL, NULL, &bytes, 0));
		CHECK(bytes == 0);
		CHECK(gex_Segment_QueryBound(gex_TM_Pair(test_ep, GASNET_MAXEPS - 1), i, NULL, NULL, &bytes) != 0);
	}
	gex_System_SetVerboseErrors(0);
	CHECK(gex_EP_Create(&ep, test_client, GEX_EP_CAPABILITY_RMA, 0) == GASNET_ERR_RESOURCE);
	gex_System_SetVerboseErrors(1);
	CHECK(gex_TM_Pair(ep, 3) == gex_TM_Pair(ep, 3) && gex_TM_Pair(ep, 3) != gex_TM_Pair(ep, 4));
	CHECK(gex_TM_Pair(ep, 0) != gex_TM_Pair(test_ep, 0) && gex_TM_Pair(eps[1], 2) != gex_TM_Pair(eps[2], 1));
}

/* --- setup -------------------------------------------------------------------------------------------------------- */

static void make_kinds(void)
{
	gex_MK_Create_args_t args = driver_args(&driver, 0);
	CHECK_OK(gex_MK_Create(&kinds[0], test_client, &args, 0));
	gex_MK_Destroy(kinds[0], 0);
	CHECK_OK(gex_MK_Create(&kinds[0], test_client, &args, 0));
	args = driver_args(&driver, 1);
	gex_System_SetVerboseErrors(0);
	if (gex_MK_Create(&kinds[1], test_client, &args, 0) != GASNET_OK) { /* there is only one device */
		args = driver_args(&driver, 0);
		CHECK_OK(gex_MK_Create(&kinds[1], test_client, &args, 0));
	}
	gex_System_SetVerboseErrors(1);
	CHECK(kinds[0] != GEX_MK_INVALID && kinds[0] != GEX_MK_HOST && kinds[0] != kinds[1]);
	CHECK(gex_MK_QueryClass(kinds[0]) == driver.class_ && gex_MK_QueryClient(kinds[1]) == test_client);
	CHECK(gex_MK_QueryFlags(kinds[0]) == 0 && gex_MK_QueryCData(kinds[0]) == NULL);
	gex_MK_SetCData(kinds[0], &driver);
	CHECK(gex_MK_QueryCData(kinds[0]) == &driver);
}

static void make_segments(void)
{
	static unsigned char *own_host;
	unsigned char *client = driver_malloc(&driver, segment_bytes + kSkip);
	gex_Segment_t none;
	CHECK_OK(gex_Segment_Create(&none, test_client, NULL, 12345, kinds[0], 0));
	gex_Segment_Destroy(none, 0);
	CHECK_OK(gex_Segment_Create(&none, test_client, NULL, 12345, GEX_MK_HOST, 0));
	memset(gex_Segment_QueryAddr(none), 1, 12345);
	gex_Segment_Destroy(none, 0);
	own_host = malloc(segment_bytes);
	CHECK(own_host != NULL);
	CHECK_OK(gex_Segment_Create(&segments[1], test_client, NULL, segment_bytes, kinds[1], 0));
	CHECK_OK(gex_Segment_Create(&segments[2], test_client, client ? client + kSkip : NULL, segment_bytes, kinds[0],
				    0));
	CHECK_OK(
		gex_Segment_Create(&segments[3], test_client, me % 2 ? own_host : NULL, segment_bytes, GEX_MK_HOST, 0));
	CHECK(!client || gex_Segment_QueryAddr(segments[2]) == client + kSkip);
	eps[0] = test_ep;
	segments[0] = test_segment;
	for (int i = 0; i < kEnds; i++) {
		bases[i] = gex_Segment_QueryAddr(segments[i]);
		CHECK(bases[i] && gex_Segment_QuerySize(segments[i]) == segment_bytes);
		CHECK(gex_Segment_QueryClient(segments[i]) == test_client && gex_Segment_QueryFlags(segments[i]) == 0);
		if (i == 0)
			continue;
		CHECK_OK(gex_EP_Create(&eps[i], test_client, GEX_EP_CAPABILITY_RMA, 0));
		CHECK_OK(gex_EP_BindSegment(eps[i], segments[i], 0));
		CHECK(gex_EP_QueryIndex(eps[i]) == i && gex_EP_QuerySegment(eps[i]) == segments[i]);
	}
}

static void publish(void)
{
	uintptr_t bytes = 1;
	const gex_Rank_t next = (me + 1) % nodes;
	test_barrier();
	gex_Event_Wait(gex_EP_QueryBoundSegmentNB(gex_TM_Pair(test_ep, 1), next, NULL, NULL, &bytes, 0));
	CHECK(bytes == (next == me ? segment_bytes : 0)); /* nothing is published yet */
	test_barrier();
	CHECK_OK(gex_EP_PublishBoundSegment(test_tm, eps, 2, 0));
	CHECK_OK(gex_EP_PublishBoundSegment(test_tm, me % 2 ? eps + 2 : NULL, me % 2 ? 2 : 0, 0));
	CHECK_OK(gex_EP_PublishBoundSegment(test_tm, eps, kEnds, 0)); /* again for some */
	for (gex_Rank_t i = 0; i < nodes; i++) {
		CHECK(gex_EP_QueryBoundSegmentNB(gex_TM_Pair(test_ep, 2), me, NULL, NULL, NULL, GEX_FLAG_IMMEDIATE) ==
		      GEX_EVENT_INVALID);
		for (int end = 0; end < kEnds; end++)
			base_of(end, i);
		CHECK(gex_EP_QueryBoundSegmentNB(gex_TM_Pair(test_ep, 2), i, NULL, NULL, NULL, GEX_FLAG_IMMEDIATE) ==
		      GEX_EVENT_INVALID); /* known by now */
	}
}

/* --- puts and gets ------------------------------------------------------------------------------------------------ */

static void put(gex_TM_t tm, gex_Rank_t target, unsigned char *dest, const unsigned char *src, size_t nbytes,
		unsigned form)
{
	gex_Event_t event, local = GEX_EVENT_NO_OP;
	switch (form % 6) {
	case 0:
		CHECK(gex_RMA_PutBlocking(tm, target, dest, src, nbytes, 0) == 0);
		break;
	case 1:
		gex_Event_Wait(gex_RMA_PutNB(tm, target, dest, src, nbytes, GEX_EVENT_DEFER, 0));
		break;
	case 2:
		event = gex_RMA_PutNB(tm, target, dest, src, nbytes, &local, 0);
		gex_Event_Wait(local);
		while (gex_Event_Test(event) != GASNET_OK)
			gasnet_AMPoll();
		break;
	case 3:
		CHECK(gex_RMA_PutNBI(tm, target, dest, src, nbytes, GEX_EVENT_NOW, 0) == 0);
		gex_NBI_Wait(GEX_EC_PUT, 0);
		break;
	case 4:
		CHECK(gex_RMA_PutNBI(tm, target, dest, src, nbytes / 2, GEX_EVENT_DEFER, 0) == 0);
		CHECK(gex_RMA_PutNBI(tm, target, dest + nbytes / 2, src + nbytes / 2, nbytes - nbytes / 2,
				     GEX_EVENT_GROUP, 0) == 0);
		while (gex_NBI_Test(GEX_EC_ALL, 0) != GASNET_OK)
			gasnet_AMPoll();
		break;
	case 5:
		gex_NBI_BeginAccessRegion(0);
		CHECK(gex_RMA_PutNBI(tm, target, dest, src, nbytes, GEX_EVENT_DEFER, 0) == 0);
		event = gex_NBI_EndAccessRegion(0);
		gex_Event_WaitAll(&event, 1, 0);
		break;
	}
}

static void get(gex_TM_t tm, unsigned char *dest, gex_Rank_t owner, unsigned char *src, size_t nbytes, unsigned form)
{
	switch (form % 3) {
	case 0:
		CHECK(gex_RMA_GetBlocking(tm, dest, owner, src, nbytes, 0) == 0);
		break;
	case 1:
		gex_Event_Wait(gex_RMA_GetNB(tm, dest, owner, src, nbytes, 0));
		break;
	case 2:
		CHECK(gex_RMA_GetNBI(tm, dest, owner, src, nbytes, 0) == 0);
		gex_NBI_Wait(GEX_EC_GET, 0);
		break;
	}
}

/* From our endpoint to a node's and back, through our own slices. */
static void transfer(int mine, int theirs, gex_Rank_t rank, size_t nbytes, unsigned seed)
{
	const gex_TM_t tm = gex_TM_Pair(eps[mine], (gex_EP_Index_t)theirs);
	unsigned char *const there = base_of(theirs, rank) + slice(me) + seed % 7;
	unsigned char *const here = bases[mine] + slice(nodes);
	fill(src, nbytes, seed);
	memset(back, 0, nbytes);
	write_own(mine, slice(nodes), src, nbytes);
	put(tm, rank, there, here, nbytes, seed);
	if (theirs == 0)
		CHECK(gex_RMA_GetBlocking(test_tm, back, rank, there, nbytes, 0) == 0);
	else
		get(gex_TM_Pair(test_ep, (gex_EP_Index_t)theirs), back, rank, there, nbytes, seed);
	CHECK(is_filled(back, nbytes, seed));
	memset(back, 0, nbytes);
	write_own(mine, slice(nodes), back, nbytes);
	get(tm, here, rank, there, nbytes, seed + 1);
	read_own(mine, slice(nodes), back, nbytes);
	CHECK(is_filled(back, nbytes, seed));
}

static void values(int theirs, gex_Rank_t rank)
{
	const gex_TM_t tm = gex_TM_Pair(test_ep, (gex_EP_Index_t)theirs);
	unsigned char *const there = base_of(theirs, rank) + slice(me);
	for (size_t nbytes = 1; nbytes <= 8; nbytes++) {
		const gex_RMA_Value_t value = 0x8091a2b3c4d5e6f7u >> (64 - 8 * nbytes);
		CHECK(gex_RMA_PutBlockingVal(tm, rank, there, value, nbytes, 0) == 0);
		CHECK(gex_RMA_GetBlockingVal(tm, rank, there, nbytes, 0) == value);
		CHECK(gex_RMA_PutNBIVal(tm, rank, there, value + 1, nbytes, 0) == 0);
		gex_NBI_Wait(GEX_EC_ALL, 0);
		CHECK(gex_RMA_GetBlockingVal(tm, rank, there, nbytes, 0) == value + 1);
		gex_Event_Wait(gex_RMA_PutNBVal(tm, rank, there, value, nbytes, 0));
		CHECK(gex_RMA_GetBlockingVal(tm, rank, there, nbytes, 0) == value);
	}
}

static void transfers(void)
{
	static const size_t kSizes[] = {1, 8, 100, 256, 257, 5000, kSmall, kSlice - 64};
	const size_t sizes = sizeof kSizes / sizeof *kSizes;
	unsigned seed = me;
	for (int mine = 0; mine < kEnds; mine++)
		for (int theirs = 0; theirs < kEnds; theirs++)
			for (gex_Rank_t i = 0; i < nodes && mine + theirs; i++) {
				const gex_Rank_t rank = (me + i) % nodes;
				for (size_t s = 0; s < sizes; s++, seed++)
					if (s + 1 < sizes || (mine + theirs + (int)i) % 3 == 0)
						transfer(mine, theirs, rank, kSizes[s], seed);
				if (mine == 0)
					values(theirs, rank);
			}
	/* everything has been written, and each node reads it through its own device */
	test_barrier();
	for (int theirs = 1; theirs < kEnds; theirs++)
		for (gex_Rank_t i = 0; i < nodes; i++) {
			fill(src, kSmall, me * 100 + i);
			put(gex_TM_Pair(eps[1], (gex_EP_Index_t)theirs), i, base_of(theirs, i) + slice(me), bases[1], 0,
			    0);
			put(gex_TM_Pair(test_ep, (gex_EP_Index_t)theirs), i, base_of(theirs, i) + slice(me), src,
			    kSmall, 1);
		}
	test_barrier();
	for (int end = 1; end < kEnds; end++)
		for (gex_Rank_t i = 0; i < nodes; i++) {
			read_own(end, slice(i), back, kSmall);
			CHECK(is_filled(back, kSmall, i * 100 + me));
		}
	test_barrier();
}

#ifdef GASNET_PAR
static void *work(void *arg)
{
	const size_t part = 20000, pos = (size_t)(uintptr_t)arg * part;
	unsigned char *const out = malloc(part), *const input = malloc(part);
	CHECK(out && input);
	for (unsigned round = 0; round < 40; round++) {
		const gex_Rank_t rank = (me + round) % nodes;
		const int theirs = 1 + (int)(round % (kEnds - 1));
		const gex_TM_t tm = gex_TM_Pair(test_ep, (gex_EP_Index_t)theirs);
		unsigned char *const there = base_of(theirs, rank) + slice(me) + pos;
		const size_t nbytes = round % 4 ? part - round : 100 + round;
		fill(out, nbytes, round);
		put(tm, rank, there, out, nbytes, round);
		memset(input, 0, nbytes);
		get(tm, input, rank, there, nbytes, round);
		CHECK(is_filled(input, nbytes, round));
	}
	free(out);
	free(input);
	return NULL;
}

static void threads(void)
{
	pthread_t all[kThreads];
	for (uintptr_t i = 0; i < kThreads; i++)
		CHECK(pthread_create(&all[i], NULL, work, (void *)i) == 0);
	for (int i = 0; i < kThreads; i++)
		CHECK(pthread_join(all[i], NULL) == 0);
	test_barrier();
}
#endif

/* --- mistakes that end the job ------------------------------------------------------------------------------------ */

static void make_mistake(const char *what)
{
	const gex_Rank_t next = (me + 1) % nodes;
	const gex_TM_t tm = gex_TM_Pair(test_ep, 1);
	if (strcmp(what, "destroy-bound") == 0)
		gex_Segment_Destroy(segments[1], 0);
	else if (strcmp(what, "destroy-used-kind") == 0)
		gex_MK_Destroy(kinds[0], 0);
	else if (strcmp(what, "destroy-host") == 0)
		gex_MK_Destroy(GEX_MK_HOST, 0);
	else if (strcmp(what, "no-endpoint") == 0)
		gex_RMA_PutBlocking(gex_TM_Pair(test_ep, 20), next, src, src, 8, 0);
	else if (strcmp(what, "no-index") == 0)
		gex_TM_Pair(test_ep, GASNET_MAXEPS);
	else if (strcmp(what, "outside") == 0)
		gex_RMA_PutBlocking(tm, next, base_of(1, next) + segment_bytes - 4, src, 8, 0);
	else if (strcmp(what, "own-outside") == 0)
		gex_RMA_PutBlocking(gex_TM_Pair(eps[1], 1), next, base_of(1, next), src, 8, 0);
	else if (strcmp(what, "no-node") == 0)
		gex_RMA_GetBlocking(tm, src, nodes, bases[1], 8, 0);
	else if (strcmp(what, "message") == 0)
		gex_AM_RequestShort0(gex_TM_Pair(eps[1], 1), next, 200, 0);
	else if (strcmp(what, "barrier") == 0)
		gex_Coll_BarrierBlocking(tm, 0);
	printf("node %u: the mistake %s was not noticed\n", me, what);
}

int main(int argc, char **argv)
{
	CHECK_OK(gex_Client_Init(&test_client, &test_ep, &test_tm, "TEST", NULL, NULL, 0));
	me = gex_TM_QueryRank(test_tm);
	nodes = gex_TM_QuerySize(test_tm);
	segment_bytes = (slice(nodes + 1) + GASNET_PAGESIZE - 1) / GASNET_PAGESIZE * GASNET_PAGESIZE;
	CHECK_OK(gex_Segment_Attach(&test_segment, test_tm, segment_bytes));
	CHECK(argc > 1);
	if (argc > 2 && strcmp(argv[2], "no-driver") == 0) {
		struct driver wish = {argv[1], GEX_MK_CLASS_CUDA_UVA, NULL, NULL, NULL};
		const gex_MK_Create_args_t args = driver_args(&wish, 0);
		gex_MK_t kind;
		const int rc = gex_MK_Create(&kind, test_client, &args, 0);
		printf("node %u: %s\n", me, gasnet_ErrorName(rc));
		gasnet_exit(rc == GASNET_ERR_RESOURCE ? 0 : 1);
	}
	driver = driver_start(argv[1]);
	make_kinds();
	make_segments();
	refusals();
	publish();
	if (argc > 2)
		make_mistake(argv[2]);
	transfers();
#ifdef GASNET_PAR
	threads();
#endif
	many_endpoints();
	test_barrier();
	if (me == 0)
		printf("%s: ok\n", argv[0]);
	fflush(stdout);
	test_barrier();
	gasnet_exit(0);
}
