/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Start, queries, handler registration, barriers with and without names. "gasnet_job ring SECONDS" runs for that time,
 * in which tests/hosts stops a node.
 */
#include "gasnet_test.h"

#include <dlfcn.h>
#include <time.h>

#define SEGMENT (1u << 20)

static void nothing(gasnet_token_t t)
{
	(void)t;
}
#define FN(name_arg) ((gasneti_handler_fn)(void *)(name_arg))

static void before_attach(void)
{
	gasnet_seginfo_t s;
	gasnet_handlerentry_t low = {5, FN(nothing)}, twice[] = {{200, FN(nothing)}, {200, FN(nothing)}},
			      none = {130, NULL};
	(void)twice;
	(void)none;
	CHECK(gasnet_getSegmentInfo(&s, 1) == GASNET_ERR_NOT_INIT);
	CHECK(gasnet_AMRequestShort0(0, 128) == GASNET_ERR_NOT_INIT);
	CHECK(gasnet_AMPoll() == GASNET_ERR_NOT_INIT);
	CHECK(gasnet_attach(&low, 1, SEGMENT, 0) == GASNET_ERR_BAD_ARG);
	CHECK(gasnet_attach(&none, 1, SEGMENT, 0) == GASNET_ERR_BAD_ARG);
	CHECK(gasnet_attach(NULL, 0, SEGMENT + 1, 0) == GASNET_ERR_BAD_ARG);
	CHECK(gasnet_attach(NULL, 0, gasnet_getMaxLocalSegmentSize() + GASNET_PAGESIZE, 0) == GASNET_ERR_BAD_ARG);
	CHECK(gasnet_getMaxGlobalSegmentSize() <= gasnet_getMaxLocalSegmentSize());
	CHECK(gasnet_getMaxGlobalSegmentSize() >= SEGMENT * 2 &&
	      gasnet_getMaxGlobalSegmentSize() % GASNET_PAGESIZE == 0);
}

static void queries(uintptr_t mine)
{
	gasnet_nodeinfo_t *info = calloc(gasnet_nodes() + 1, sizeof *info);
	CHECK(info);
	info[gasnet_nodes()].offset = 77;
	CHECK_OK(gasnet_getNodeInfo(info, (int)gasnet_nodes() + 1));
	CHECK(info[gasnet_nodes()].offset == 77);
	CHECK(gasnet_getNodeInfo(NULL, 1) == GASNET_ERR_BAD_ARG);
	CHECK(gasnet_getSegmentInfo(NULL, 1) == GASNET_ERR_BAD_ARG);
	CHECK(test_segments[gasnet_mynode()].size == mine);
	for (gasnet_node_t n = 0; n < gasnet_nodes(); n++) {
		const int near = info[n].supernode == info[gasnet_mynode()].supernode;
		CHECK(info[n].host < gasnet_nodes() && info[n].supernode == info[n].host);
		CHECK(near || !getenv("TEST_ONE_HOST"));
		CHECK(test_segments[n].size == SEGMENT + n * (uintptr_t)GASNET_PAGESIZE);
		CHECK(test_segments[n].addr == test_segments[0].addr); /* GASNET_ALIGNED_SEGMENTS */
		CHECK((uintptr_t)test_segments[n].addr % GASNET_PAGESIZE == 0);
		/* loads and stores through the offset access the node's memory */
		gasnet_put_val(n, test_at(n, 8 * gasnet_mynode()), 1000 + gasnet_mynode(), 8);
		CHECK(!near || *(volatile uint64_t *)(test_at(n, 8 * gasnet_mynode()) + info[n].offset) ==
				       1000 + gasnet_mynode());
		CHECK(gasnet_get_val(n, test_at(n, 8 * gasnet_mynode()), 8) == 1000 + gasnet_mynode());
	}
	free(info);
	CHECK(strcmp(gasnet_ErrorName(GASNET_ERR_BAD_ARG), "GASNET_ERR_BAD_ARG") == 0);
	CHECK(strlen(gasnet_ErrorDesc(GASNET_ERR_NOT_READY)) > 5 && strlen(gasnet_ErrorName(123456)) > 0);
	CHECK(gasnet_getenv("GASNET_NO_SUCH_THING") == NULL && gasnet_getenv("PATH") != NULL);
	CHECK(gasnet_set_waitmode(99) == GASNET_ERR_BAD_ARG);
	CHECK_OK(gasnet_set_waitmode(GASNET_WAIT_BLOCK));
	CHECK(gasnet_init(NULL, NULL) != GASNET_OK && gasnet_attach(NULL, 0, 0, 0) != GASNET_OK);
	gex_Client_t client = NULL;
	gex_EP_t ep = NULL;
	gex_TM_t tm = NULL;
	gex_Segment_t segment = NULL;
	gasnet_QueryGexObjects(&client, &ep, &tm, &segment);
	gasnet_QueryGexObjects(NULL, NULL, NULL, NULL);
	CHECK(gex_EP_QueryClient(ep) == client && gex_TM_QueryEP(tm) == ep && gex_EP_QuerySegment(ep) == segment);
	CHECK(gex_TM_QueryRank(tm) == gasnet_mynode() && gex_TM_QuerySize(tm) == gasnet_nodes());
	CHECK(gex_Client_QueryFlags(client) == GEX_FLAG_USES_GASNET1);
}

/* Addresses in the program and in a library: the same on all nodes if the launcher does not randomise addresses. */
static void addresses(void)
{
	const uintptr_t mine[] = {(uintptr_t)nothing, (uintptr_t)dlsym(RTLD_DEFAULT, "gasnet_barrier")};
	CHECK(mine[0] && mine[1]);
	for (gasnet_node_t n = 0; n < gasnet_nodes(); n++)
		gasnet_put(n, test_at(n, 4096 + sizeof mine * gasnet_mynode()), (void *)mine, sizeof mine);
	test_barrier();
	for (gasnet_node_t n = 0; n < gasnet_nodes(); n++)
		CHECK(memcmp(test_at(n, 4096 + sizeof mine * n), mine, sizeof mine) == 0);
	test_barrier();
}

static void locks(void)
{
	static gasnet_hsl_t fixed = GASNET_HSL_INITIALIZER;
	gasnet_hsl_t made;
	gasnet_hsl_init(&made);
	gasnet_hold_interrupts();
	gasnet_hsl_lock(&fixed);
	CHECK(gasnet_hsl_trylock(&fixed) == GASNET_ERR_NOT_READY);
	CHECK_OK(gasnet_hsl_trylock(&made));
	gasnet_hsl_unlock(&made);
	gasnet_hsl_unlock(&fixed);
	gasnet_resume_interrupts();
	gasnet_hsl_destroy(&made);
	gasnet_hsl_destroy(&fixed);
}

static int one_barrier(int id, int flags, int wait_id, int wait_flags, int how)
{
	gasnet_barrier_notify(id, flags);
	if (how % 2)
		return gasnet_barrier_wait(wait_id, wait_flags);
	int rc;
	while ((rc = gasnet_barrier_try(wait_id, wait_flags)) == GASNET_ERR_NOT_READY)
		;
	return rc;
}

static void barriers(void)
{
	const int me = (int)gasnet_mynode(), several = gasnet_nodes() > 1, last = me == (int)gasnet_nodes() - 1;
	const int anonymous = GASNET_BARRIERFLAG_ANONYMOUS, mismatch = GASNET_BARRIERFLAG_MISMATCH;
	for (int i = 0; i < 60; i++) {
		int id = -1;
		CHECK_OK(one_barrier(i, 0, i, 0, i)); /* all give the same name */
		CHECK(gasnet_barrier_result(&id) == 0 && id == i);
		CHECK_OK(one_barrier(me, anonymous, me + 7, anonymous, i));
		CHECK(gasnet_barrier_result(&id) != 0);
		/* one node is anonymous */
		CHECK_OK(one_barrier(-i, last ? anonymous : 0, -i, last ? anonymous : 0, i));
		if (several)
			CHECK(gasnet_barrier_result(&id) == 0 && id == -i);
		/* the last gives another name: all nodes learn it */
		const int rc = one_barrier(last, 0, last, 0, i);
		CHECK(rc == (several ? GASNET_ERR_BARRIER_MISMATCH : GASNET_OK));
		CHECK(one_barrier(1, last ? mismatch : 0, 1, last ? mismatch : 0, i) == GASNET_ERR_BARRIER_MISMATCH);
		/* only this node waits for another name than it notified */
		CHECK(one_barrier(3, 0, me ? 3 : 4, 0, i) == (me ? GASNET_OK : GASNET_ERR_BARRIER_MISMATCH));
		/* flags may differ between notify and wait; a name given to wait must be the one given to notify */
		CHECK_OK(one_barrier(3, 0, 3, me ? 0 : anonymous, i));
		CHECK_OK(one_barrier(3, me ? anonymous : 0, 3, 0, i));
		CHECK(one_barrier(5, me ? anonymous : 0, me ? 6 : 5, 0, i) ==
		      (me ? GASNET_ERR_BARRIER_MISMATCH : GASNET_OK));
		CHECK_OK(one_barrier(5, anonymous, 6 + me, 0, i)); /* all were anonymous */
		CHECK_OK(gasnet_barrier(9, 0));
		CHECK_OK(gasnet_barrier(me, GASNET_BARRIERFLAG_UNNAMED));
		CHECK(gasnet_barrier_result(&id) != 0);
	}
}

static void ring(double length)
{
	const gasnet_node_t dest = (gasnet_mynode() + 1) % gasnet_nodes();
	struct timespec t;
	double end = 0;
	test_barrier();
	if (gasnet_mynode() == 0) {
		printf("running\n");
		fflush(stdout);
	}
	for (uint64_t round = 1;; round++) {
		gasnet_put_val(dest, test_at(dest, 0), round, 8);
		CHECK(gasnet_get_val(dest, test_at(dest, 0), 8) == round);
		clock_gettime(CLOCK_MONOTONIC, &t);
		const double now = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
		if (round == 1)
			end = now + length;
		if (now >= end)
			break;
	}
}

int main(int argc, char **argv)
{
	GASNET_BEGIN_FUNCTION();
	gasnet_threadinfo_t info = GASNET_GET_THREADINFO();
	GASNET_POST_THREADINFO(info);
	CHECK_OK(gasnet_init(&argc, &argv));
	CHECK(gasnet_mynode() < gasnet_nodes());
	before_attach();
	gasnet_handlerentry_t table[] = {{0, FN(nothing)}, {255, FN(nothing)}, {0, FN(nothing)}, {128, FN(nothing)}};
	const uintptr_t mine = SEGMENT + gasnet_mynode() * (uintptr_t)GASNET_PAGESIZE;
	CHECK_OK(gasnet_attach(table, 4, mine, 0));
	CHECK(table[0].index >= 128 && table[2].index >= 128 && table[0].index != table[2].index);
	CHECK(table[0].index != 255 && table[1].index == 255 && table[3].index == 128);
	test_segments = calloc(gasnet_nodes(), sizeof *test_segments);
	CHECK(test_segments);
	CHECK_OK(gasnet_getSegmentInfo(test_segments, (int)gasnet_nodes()));
	queries(mine);
	if (getenv("TEST_SAME_ADDRESSES"))
		addresses();
	locks();
	barriers();
	CHECK_OK(gasnet_set_waitmode(GASNET_WAIT_SPINBLOCK));
	test_barrier();
	if (argc > 2 && strcmp(argv[1], "ring") == 0)
		ring(atof(argv[2]));
	test_barrier();
	if (gasnet_mynode() == 0)
		printf("job: %d nodes: ok\n", (int)gasnet_nodes());
	test_end();
}
