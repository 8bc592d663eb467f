/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of GASNet-EX: every operation on every type, functions and types of the program's own, elements longer
 * than the largest piece in flight, in place, and events: tests make progress and run no handlers, polls make progress.
 * gex_coll_random.c has many at a time.
 *
 * With "die" as an argument: the last node kills itself while the others wait for it in a collective.
 */
#include "gasnet_test.h"
#include <gasnet_coll.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#define SEGMENT (1u << 20)
enum { H_PING = 128, H_PONG, H_DONE };

static gex_TM_t all;
static gex_Rank_t me, size;
static unsigned pings, pongs, done;

static void ping(gasnet_token_t t, gasnet_handlerarg_t value)
{
	pings++;
	CHECK_OK(gasnet_AMReplyShort1(t, H_PONG, value));
}
static void pong(gasnet_token_t t, gasnet_handlerarg_t value)
{
	(void)t, (void)value;
	pongs++;
}

static void others_done(gasnet_token_t t, gasnet_handlerarg_t value)
{
	(void)t, (void)value;
	done++;
}

/* --- operations and types ----------------------------------------------------------------------------------------- */

/* Element i of member j of a team; small, so that products of floating-point numbers are exact. */
static int64_t value_of(gex_Rank_t j, size_t i)
{
	return (int64_t)((j * 7 + i * 3) % 5) - 1;
}

static int64_t joined(gex_OP_t op, int64_t a, int64_t b, int is_unsigned)
{
	switch (op) {
	case GEX_OP_ADD:
		return (int64_t)((uint64_t)a + (uint64_t)b);
	case GEX_OP_MULT:
		return (int64_t)((uint64_t)a * (uint64_t)b);
	case GEX_OP_MIN:
		return is_unsigned ? ((uint64_t)a < (uint64_t)b ? a : b) : (a < b ? a : b);
	case GEX_OP_MAX:
		return is_unsigned ? ((uint64_t)a > (uint64_t)b ? a : b) : (a > b ? a : b);
	case GEX_OP_AND:
		return a & b;
	case GEX_OP_OR:
		return a | b;
	default:
		return a ^ b;
	}
}

#define CHECK_TYPE(dt_arg, type_arg, unsigned_arg)                                                                     \
	do {                                                                                                           \
		type_arg src[COUNT], dst[COUNT + 1];                                                                   \
		for (size_t i = 0; i < COUNT; i++)                                                                     \
			src[i] = (type_arg)value_of(me, i);                                                            \
		memset(dst, 0x11, sizeof dst);                                                                         \
		if (in_place)                                                                                          \
			memcpy(dst, src, sizeof src);                                                                  \
		gex_Event_Wait(root < size ? gex_Coll_ReduceToOneNB(all, root, dst, in_place ? dst : src, dt_arg,      \
								    sizeof *dst, COUNT, op, NULL, NULL, 0)             \
					   : gex_Coll_ReduceToAllNB(all, dst, in_place ? dst : src, dt_arg,            \
								    sizeof *dst, COUNT, op, NULL, NULL, 0));           \
		if (root < size && root != me)                                                                         \
			break;                                                                                         \
		for (size_t i = 0; i < COUNT; i++) {                                                                   \
			int64_t want = (int64_t)(type_arg)value_of(0, i);                                              \
			for (gex_Rank_t j = 1; j < size; j++)                                                          \
				want = joined(op, want, (int64_t)(type_arg)value_of(j, i), unsigned_arg);              \
			CHECK(dst[i] == (type_arg)want);                                                               \
		}                                                                                                      \
		memset(src, 0x11, sizeof *src);                                                                        \
		CHECK_MEM(&dst[COUNT], src, sizeof *src);                                                              \
	} while (0)

static void check_built_in(gex_OP_t op, int bits, gex_Rank_t root, int in_place)
{
	enum { COUNT = 37 };
	CHECK_TYPE(GEX_DT_I32, int32_t, 0);
	CHECK_TYPE(GEX_DT_U32, uint32_t, 1);
	CHECK_TYPE(GEX_DT_I64, int64_t, 0);
	CHECK_TYPE(GEX_DT_U64, uint64_t, 1);
	if (bits)
		return;
	CHECK_TYPE(GEX_DT_FLT, float, 0);
	CHECK_TYPE(GEX_DT_DBL, double, 0);
}

static void built_in(void)
{
	const gex_OP_t ops[] = {GEX_OP_ADD, GEX_OP_MULT, GEX_OP_MIN, GEX_OP_MAX, GEX_OP_AND, GEX_OP_OR, GEX_OP_XOR};
	for (unsigned k = 0; k < 7; k++)
		for (gex_Rank_t root = 0; root <= size; root++) /* the last round is to all */
			check_built_in(ops[k], k > 3, root, (root + k) % 2);
}

/* --- functions and types of the program's own --------------------------------------------------------------------- */

/* Maps x -> a x + b modulo 2^64, composed: associative, and not commutative. The rest of a longer element is that of
 * the left operand plus one for each application. */
typedef struct {
	uint64_t a, b;
} map;

static map chained(map x, map y)
{
	return (map){x.a * y.a, x.a * y.b + x.b};
}
static map map_of(gex_Rank_t j, size_t i)
{
	return (map){2 * j + 3, i + j};
}
static void chain(const void *left, void *right, size_t count, const void *cdata)
{
	const size_t bytes = *(const size_t *)cdata;
	for (size_t i = 0; i < count; i++) {
		map x, y;
		memcpy(&x, (const char *)left + i * bytes, sizeof x);
		memcpy(&y, (char *)right + i * bytes, sizeof y);
		y = chained(x, y);
		memcpy((char *)right + i * bytes, &y, sizeof y);
		for (size_t k = sizeof y; k < bytes; k++)
			((char *)right)[i * bytes + k] =
				(char)(((const char *)left)[i * bytes + k] + ((char *)right)[i * bytes + k]);
	}
}

static void own_type(gex_TM_t tm, size_t bytes, size_t count, gex_Rank_t root)
{
	const gex_Rank_t rank = gex_TM_QueryRank(tm), n = gex_TM_QuerySize(tm);
	char *src = malloc(bytes * count), *dst = malloc(bytes * count);
	CHECK(src && dst);
	for (size_t i = 0; i < count; i++) {
		const map mine = map_of(rank, i);
		memset(src + i * bytes, (int)rank + 1, bytes);
		memcpy(src + i * bytes, &mine, sizeof mine);
	}
	gex_Event_Wait(root < n ? gex_Coll_ReduceToOneNB(tm, root, dst, src, GEX_DT_USER, bytes, count, GEX_OP_USER_NC,
							 chain, &bytes, 0)
				: gex_Coll_ReduceToAllNB(tm, dst, src, GEX_DT_USER, bytes, count, GEX_OP_USER_NC, chain,
							 &bytes, 0));
	for (size_t i = 0; i < count && (root >= n || root == rank); i++) {
		map want = map_of(0, i), got;
		memcpy(&got, dst + i * bytes, sizeof got);
		for (gex_Rank_t j = 1; j < n; j++)
			want = chained(want, map_of(j, i));
		CHECK(got.a == want.a && got.b == want.b);
		for (size_t k = sizeof got; k < bytes; k++)
			CHECK_EQ(dst[i * bytes + k], (char)(n * (n + 1) / 2));
	}
	free(src);
	free(dst);
}

static void own_types(gex_TM_t tm)
{
	for (gex_Rank_t root = 0; root <= gex_TM_QuerySize(tm); root++) {
		own_type(tm, 16, 3, root);
		own_type(tm, 17, 1000, root);
		own_type(tm, 4099, 5, root);
		own_type(tm, 32768, 2, root);
		own_type(tm, 100001, 2, root);
	}
}

static void huge(void)
{
	const size_t count = 700001;
	double *src = malloc(count * sizeof *src), *dst = malloc(count * sizeof *dst);
	CHECK(src && dst);
	for (size_t i = 0; i < count; i++)
		src[i] = (double)((i + me) % 1000);
	gex_Event_t sum = gex_Coll_ReduceToAllNB(all, dst, src, GEX_DT_DBL, 8, count, GEX_OP_ADD, NULL, NULL, 0);
	while (gex_Event_Test(sum) != GASNET_OK) /* makes progress, and runs no handler */
		sched_yield();
	for (size_t i = 0; i < count; i++) {
		double want = 0;
		for (gex_Rank_t j = 0; j < size; j++)
			want += (double)((i + j) % 1000);
		CHECK(dst[i] == want);
	}
	gex_Event_Wait(gex_Coll_BroadcastNB(all, size - 1, dst, src, count * sizeof *dst, 0));
	for (size_t i = 0; i < count; i++)
		CHECK(dst[i] == (double)((i + size - 1) % 1000));
	free(src);
	free(dst);
}

/* --- events ------------------------------------------------------------------------------------------------------- */

/* A node that only tests gets through, and meanwhile handles no message. */
static void tests_run_no_handlers(void)
{
	for (unsigned round = 1; round <= 20; round++) {
		CHECK_OK(gasnet_AMRequestShort1((me + 1) % size, H_PING, 0));
		const unsigned before = pings;
		gex_Event_t met = gex_Coll_BarrierNB(all, 0);
		while (gex_Event_Test(met) != GASNET_OK)
			sched_yield();
		CHECK_EQ(pings, before);
		GASNET_BLOCKUNTIL(pings == round && pongs == round);
		gex_Coll_BarrierBlocking(all, 0);
	}
}

/* A member that only polls does its part for the others, and is done at its first test. */
static void polls_make_progress(void)
{
	for (gex_Rank_t idle = 0; idle < size; idle++) {
		int source = (int)me + 5, dest = 0;
		done = 0;
		gex_Coll_BarrierBlocking(all, 0);
		gex_Event_t sum =
			gex_Coll_ReduceToAllNB(all, &dest, &source, GEX_DT_I32, 4, 1, GEX_OP_ADD, NULL, NULL, 0);
		if (me == idle) { /* until all others have the result */
			while (done < size - 1)
				gasnet_AMPoll();
			CHECK_OK(gex_Event_Test(sum));
		} else {
			gex_Event_Wait(sum);
			CHECK_OK(gasnet_AMRequestShort1(idle, H_DONE, 0));
		}
		CHECK_EQ(dest, size * (size - 1) / 2 + 5 * size);
		gex_Coll_BarrierBlocking(all, 0);
	}
}

/* With one member there is nothing to wait for, and lists of events are cleared. */
static void lists_of_events(void)
{
	gex_Event_t events[40];
	uint32_t sums[40];
	const uint32_t one = 1;
	for (unsigned i = 0; i < 40; i++)
		events[i] = i % 3 == 0 ? gex_Coll_BarrierNB(all, 0)
				       : gex_Coll_ReduceToAllNB(all, &sums[i], &one, GEX_DT_U32, 4, 1, GEX_OP_ADD, NULL,
								NULL, 0);
	gex_Event_WaitSome(events, 40, 0);
	gex_Event_WaitAll(events, 40, 0);
	for (unsigned i = 0; i < 40; i++) {
		CHECK(events[i] == GEX_EVENT_INVALID);
		CHECK(i % 3 == 0 || sums[i] == size);
	}
	gex_TM_t alone = GEX_TM_INVALID;
	uint32_t got = 0;
	gex_TM_Split(&alone, all, (int)me, 0, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
	CHECK(gex_Coll_BarrierNB(alone, 0) == GEX_EVENT_INVALID);
	CHECK(gex_Coll_BroadcastNB(alone, 0, &got, &one, 4, 0) == GEX_EVENT_INVALID && got == 1);
	CHECK(gex_Coll_ReduceToOneNB(alone, 0, &got, &size, GEX_DT_U32, 4, 1, GEX_OP_MAX, NULL, NULL, 0) ==
		      GEX_EVENT_INVALID &&
	      got == size);
	gex_TM_Destroy(alone, NULL, 0);
}

/*
 * Teams reuse the memory of earlier ones of other sizes. Old contents must not look like a reply: a sender that takes
 * them for one overwrites messages that its late receiver has not read.
 */
static void memory_of_others(void)
{
	enum { MANY = 24, WORDS = 6 };
	for (int round = 0; round < 6; round++) {
		gex_TM_t team = GEX_TM_INVALID;
		gex_Event_t events[2 * MANY];
		uint64_t ones[WORDS], got[MANY][WORDS], or_of[MANY][WORDS];
		memset(ones, 0xff, sizeof ones);
		gex_TM_Split(&team, all, round % 2 ? (int)me / 2 : 0, 0, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
		for (gex_Rank_t root = 0; root < gex_TM_QuerySize(team); root++) {
			memset(got, 0, sizeof got);
			memset(or_of, 0, sizeof or_of);
			gex_Coll_BarrierBlocking(team, 0);
			if (gex_TM_QueryRank(team) != root)
				usleep(2000);
			for (int i = 0; i < MANY; i++) {
				events[2 * i] = gex_Coll_BroadcastNB(team, root, got[i], ones, sizeof ones, 0);
				events[2 * i + 1] = gex_Coll_ReduceToOneNB(team, root, or_of[i], ones, GEX_DT_U64, 8,
									   WORDS, GEX_OP_OR, NULL, NULL, 0);
			}
			gex_Event_WaitAll(events, 2 * MANY, 0);
			for (int i = 0; i < MANY; i++) {
				CHECK(memcmp(got[i], ones, sizeof ones) == 0);
				CHECK(gex_TM_QueryRank(team) != root || memcmp(or_of[i], ones, sizeof ones) == 0);
			}
		}
		gex_TM_Destroy(team, NULL, 0);
	}
}

static void die(void)
{
	gex_Coll_BarrierBlocking(all, 0);
	if (me == size - 1) {
		kill(getpid(), SIGKILL);
		pause();
	}
	gex_Coll_BarrierBlocking(all, 0);
}

int main(int argc, char **argv)
{
	gasnet_handlerentry_t table[] = {
		{H_PING, (void (*)())ping}, {H_PONG, (void (*)())pong}, {H_DONE, (void (*)())others_done}};
	test_start(&argc, &argv, table, 3, SEGMENT);
	gasnet_QueryGexObjects(NULL, NULL, &all, NULL);
	me = gex_System_QueryJobRank();
	size = gex_System_QueryJobSize();
	if (argc > 1 && strcmp(argv[1], "die") == 0)
		die();
	built_in();
	own_types(all);
	gex_TM_t turned = GEX_TM_INVALID; /* members neither in the order of nodes nor of hosts */
	gex_TM_Split(&turned, all, 0, (int)(me * 5 % 7), NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
	own_types(turned);
	gex_TM_Destroy(turned, NULL, 0);
	huge();
	tests_run_no_handlers();
	polls_make_progress();
	lists_of_events();
	memory_of_others();
	test_barrier();
	if (!me)
		printf("collectives: %u nodes: ok\n", size);
	test_end();
}
