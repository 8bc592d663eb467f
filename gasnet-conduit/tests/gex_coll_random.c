/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs of collectives, the same on all nodes: on three teams, with many in flight that each node waits for
 * in its own order, messages in between, and every result compared with a model. GASNet-EX's collectives and those of
 * GASNet-1's draft. An argument gives the number of rounds.
 */
#include "gasnet_test.h"
#include <gasnet_coll.h>

#define SEGMENT (1u << 20)
enum { H_PING = 128, H_PONG };
enum { BARRIER, BROADCAST, REDUCE_ONE, REDUCE_ALL, SCATTER, GATHER, GATHER_ALL, EXCHANGE, KINDS };
#define AT_ONCE 24
#define TEAMS 3

static gex_TM_t teams[TEAMS]; /* the first has all nodes */
static gex_Rank_t me, size;
static unsigned pings, pongs, sent;

static void ping(gasnet_token_t t, void *bytes, size_t n, gasnet_handlerarg_t value)
{
	for (size_t i = 0; i < n; i++)
		CHECK(((unsigned char *)bytes)[i] == (unsigned char)value);
	pings++;
	CHECK_OK(gasnet_AMReplyShort1(t, H_PONG, value));
}
static void pong(gasnet_token_t t, gasnet_handlerarg_t value)
{
	(void)t, (void)value;
	pongs++;
}

/* A sequence that depends only on its seed. */
static uint32_t roll(uint64_t *state, uint32_t below)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33) % below;
}

/* A collective and this node's memory for it. */
struct shot {
	int kind, in_place;
	gex_TM_t tm;
	gex_Rank_t rank, n, root;
	uint32_t seed;
	size_t bytes, out_bytes; /* of a block; of all incoming data */
	int flags;               /* of the draft */
	unsigned char *src, *dst;
	gex_Event_t event;
	int waited;
};

static unsigned char byte_of(const struct shot *s, gex_Rank_t member, size_t i)
{
	return (unsigned char)(s->seed + member * 29 + i % 249);
}
static uint64_t word_of(const struct shot *s, gex_Rank_t member, size_t i)
{
	return s->seed * (uint64_t)(member + 1) + i * 3;
}

static void prepare(struct shot *s, uint64_t *dice)
{
	static const size_t sizes[] = {1, 8, 24, 56, 57, 64, 500, 8192, 8200, 40000};
	static const int syncs[] = {
		GASNET_COLL_IN_NOSYNC | GASNET_COLL_OUT_NOSYNC, GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC,
		GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC, GASNET_COLL_IN_NOSYNC | GASNET_COLL_OUT_ALLSYNC};
	memset(s, 0, sizeof *s);
	s->kind = (int)roll(dice, KINDS);
	/* the draft knows one team */
	s->tm = teams[s->kind >= SCATTER ? 0 : roll(dice, TEAMS)];
	const uint32_t where = roll(dice, 1u << 20);
	s->seed = roll(dice, 1u << 20);
	s->in_place = roll(dice, 3) == 0;
	s->flags = GASNET_COLL_LOCAL | syncs[roll(dice, 4)];
	s->bytes = sizes[roll(dice, 10)];
	s->rank = gex_TM_QueryRank(s->tm);
	s->n = gex_TM_QuerySize(s->tm);
	s->root = where % s->n;
	const int reduces = s->kind == REDUCE_ONE || s->kind == REDUCE_ALL;
	if (reduces)
		s->bytes = (s->bytes + 7) / 8 * 8;
	const int many_in = s->kind == EXCHANGE || (s->kind == SCATTER && s->rank == s->root);
	const size_t input = s->bytes * (many_in ? s->n : 1);
	s->out_bytes = s->bytes * (s->kind >= GATHER ? s->n : 1);
	s->src = malloc(input);
	s->dst = malloc(s->out_bytes + 1);
	CHECK(s->src && s->dst);
	memset(s->dst, 0x5a, s->out_bytes + 1);
	for (size_t i = 0; i < input; i++)
		s->src[i] = byte_of(s, s->rank, i);
	for (size_t i = 0; reduces && i < s->bytes / 8; i++)
		((uint64_t *)s->src)[i] = word_of(s, s->rank, i);
	if (reduces && s->in_place)
		memcpy(s->dst, s->src, s->bytes);
}

static void start(struct shot *s)
{
	void *src = s->in_place && (s->kind == REDUCE_ONE || s->kind == REDUCE_ALL) ? s->dst : s->src;
	switch (s->kind) {
	case BARRIER:
		s->event = gex_Coll_BarrierNB(s->tm, 0);
		break;
	case BROADCAST:
		s->event = gex_Coll_BroadcastNB(s->tm, s->root, s->dst, src, s->bytes, 0);
		break;
	case REDUCE_ONE:
		s->event = gex_Coll_ReduceToOneNB(s->tm, s->root, s->dst, src, GEX_DT_U64, 8, s->bytes / 8, GEX_OP_ADD,
						  NULL, NULL, 0);
		break;
	case REDUCE_ALL:
		s->event = gex_Coll_ReduceToAllNB(s->tm, s->dst, src, GEX_DT_U64, 8, s->bytes / 8, GEX_OP_ADD, NULL,
						  NULL, 0);
		break;
	case SCATTER:
		s->event = gasnet_coll_scatter_nb(GASNET_TEAM_ALL, s->dst, s->root, src, s->bytes, s->flags);
		break;
	case GATHER:
		s->event = gasnet_coll_gather_nb(GASNET_TEAM_ALL, s->root, s->dst, src, s->bytes, s->flags);
		break;
	case GATHER_ALL:
		s->event = gasnet_coll_gather_all_nb(GASNET_TEAM_ALL, s->dst, src, s->bytes, s->flags);
		break;
	default:
		s->event = gasnet_coll_exchange_nb(GASNET_TEAM_ALL, s->dst, src, s->bytes, s->flags);
	}
}

static void check_block(const struct shot *s, size_t block, gex_Rank_t member, size_t theirs)
{
	for (size_t i = 0; i < s->bytes; i++)
		CHECK_EQ(s->dst[block * s->bytes + i], byte_of(s, member, theirs * s->bytes + i));
}

static void check_shot(const struct shot *s)
{
	CHECK_EQ(s->dst[s->out_bytes], 0x5a);
	switch (s->kind) {
	case BARRIER:
		return;
	case BROADCAST:
		return check_block(s, 0, s->root, 0);
	case SCATTER:
		return check_block(s, 0, s->root, s->rank);
	case REDUCE_ONE:
	case REDUCE_ALL:
		for (size_t i = 0; i < s->bytes / 8 && (s->kind == REDUCE_ALL || s->rank == s->root); i++) {
			uint64_t want = 0, got;
			for (gex_Rank_t j = 0; j < s->n; j++)
				want += word_of(s, j, i);
			memcpy(&got, s->dst + 8 * i, sizeof got);
			CHECK_EQ(got, want);
		}
		return;
	default:
		for (gex_Rank_t j = 0; j < s->n && (s->kind != GATHER || s->rank == s->root); j++)
			check_block(s, j, j, s->kind == EXCHANGE ? s->rank : 0);
	}
}

/* Messages to all nodes, more than the rings hold. */
static void flood(uint64_t *own)
{
	unsigned char bytes[600];
	for (uint32_t i = roll(own, 60); i > 0; i--) {
		const size_t n = roll(own, sizeof bytes);
		memset(bytes, (int)i, n);
		CHECK_OK(gasnet_AMRequestMedium1(roll(own, size), H_PING, bytes, n, (int)i));
		sent++;
	}
}

static void round_of(uint64_t *dice, uint64_t *own)
{
	struct shot shots[AT_ONCE];
	const uint32_t count = 1 + roll(dice, AT_ONCE);
	for (uint32_t i = 0; i < count; i++) {
		prepare(&shots[i], dice);
		start(&shots[i]);
		if (roll(own, 4) == 0)
			flood(own);
		else if (roll(own, 4) == 0)
			gasnet_AMPoll();
	}
	for (uint32_t left = count; left > 0; left--) {
		uint32_t i = roll(own, count);
		while (shots[i].waited)
			i = (i + 1) % count;
		if (roll(own, 2) == 0 || gex_Event_Test(shots[i].event) != GASNET_OK)
			gex_Event_Wait(shots[i].event);
		shots[i].waited = 1;
		check_shot(&shots[i]);
		free(shots[i].src);
		free(shots[i].dst);
	}
}

int main(int argc, char **argv)
{
	gasnet_handlerentry_t table[] = {{H_PING, (void (*)())ping}, {H_PONG, (void (*)())pong}};
	test_start(&argc, &argv, table, 2, SEGMENT);
	gasnet_QueryGexObjects(NULL, NULL, &teams[0], NULL);
	me = gex_System_QueryJobRank();
	size = gex_System_QueryJobSize();
	const int rounds = argc > 1 ? atoi(argv[1]) : 100;
	gasnet_coll_init(NULL, 0, NULL, 0, 0);
	gex_TM_Split(&teams[1], teams[0], (int)me % 2, 0, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
	gex_TM_Split(&teams[2], teams[0], 0, -(int)me, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
	/* the next team is the same everywhere, and so are the sizes of all teams but the second */
	uint64_t dice = 4711, own = 1000 + me;
	for (int i = 0; i < rounds; i++)
		round_of(&dice, &own);
	GASNET_BLOCKUNTIL(pongs == sent);
	gex_TM_Destroy(teams[2], NULL, 0);
	gex_TM_Destroy(teams[1], NULL, 0);
	test_barrier();
	if (!me)
		printf("random collectives: %u nodes, %d rounds, %u messages: ok\n", size, rounds, sent);
	test_end();
}
