/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Remote atomics: every operation of every type compared with plain arithmetic, with operations known at compile time
 * and not, fetching and not; then all nodes on one word, whose sum must be exact.
 */
#include "gex_test.h"

#include <gasnet_ratomic.h>

enum { kSegment = 1 << 20 };

/* Realm compiles these in, and compares them with the headers. */
_Static_assert(GASNET_OK == 0 && GASNET_ERR_NOT_READY == 10004, "results");
_Static_assert(GEX_DT_U64 == 8 && GEX_OP_ADD == 8 && GEX_EP_CAPABILITY_RMA == 1, "bits");
_Static_assert(GEX_FLAG_IMMEDIATE == 1 && GEX_FLAG_AM_PREPARE_LEAST_CLIENT == 1 << 11 &&
		       GEX_FLAG_AM_PREPARE_LEAST_ALLOC == 1 << 12,
	       "flags");

static const gex_OP_t kPlain[] = {GEX_OP_ADD, GEX_OP_SUB, GEX_OP_INC, GEX_OP_DEC, GEX_OP_MULT, GEX_OP_MIN,
				  GEX_OP_MAX, GEX_OP_SET, GEX_OP_CAS, GEX_OP_AND, GEX_OP_OR,   GEX_OP_XOR};
enum { kOps = sizeof kPlain / sizeof *kPlain, kFloatOps = 9 };

/* expected: the result of the operation on `old`. bits_arg: the same for AND, OR and XOR. */
#define TYPE_TEST(name_arg, type_arg, ops_arg, bits_arg)                                                               \
	static type_arg expected_##name_arg(gex_OP_t op, type_arg old, type_arg a, type_arg b)                         \
	{                                                                                                              \
		switch (op) {                                                                                          \
		case GEX_OP_ADD:                                                                                       \
			return old + a;                                                                                \
		case GEX_OP_SUB:                                                                                       \
			return old - a;                                                                                \
		case GEX_OP_INC:                                                                                       \
			return old + 1;                                                                                \
		case GEX_OP_DEC:                                                                                       \
			return old - 1;                                                                                \
		case GEX_OP_MULT:                                                                                      \
			return old * a;                                                                                \
		case GEX_OP_MIN:                                                                                       \
			return old < a ? old : a;                                                                      \
		case GEX_OP_MAX:                                                                                       \
			return old > a ? old : a;                                                                      \
		case GEX_OP_SET:                                                                                       \
			return a;                                                                                      \
		case GEX_OP_CAS:                                                                                       \
			return old == a ? b : old;                                                                     \
		default:                                                                                               \
			bits_arg                                                                                       \
		}                                                                                                      \
	}                                                                                                              \
	/* One operation, fetching or not, explicit or implicit: checks the result and the target's value. */          \
	static void one_##name_arg(gex_AD_t ad, gex_Rank_t dest, gex_OP_t plain, type_arg old, type_arg a, type_arg b, \
				   int fetch, int implicit)                                                            \
	{                                                                                                              \
		type_arg *addr = (type_arg *)(void *)test_at(dest, 64 * (me + 1)), was = 77, now = 78;                 \
		const gex_OP_t op = fetch ? GEX_OP_TO_FETCHING(plain) : plain;                                         \
		const type_arg want = expected_##name_arg(plain, old, a, b);                                           \
		gex_Event_Wait(gex_AD_OpNB_##name_arg(ad, NULL, dest, addr, GEX_OP_SET, old, 0, GEX_FLAG_AD_REL));     \
		if (implicit) {                                                                                        \
			CHECK(gex_AD_OpNBI_##name_arg(ad, &was, dest, addr, op, a, b, 0) == 0);                        \
			gex_NBI_Wait(GEX_EC_RMW | GEX_EC_PUT | GEX_EC_GET, 0);                                         \
		} else {                                                                                               \
			gex_Event_Wait(                                                                                \
				gex_AD_OpNB_##name_arg(ad, &was, dest, addr, op, a, b, GEX_FLAG_RANK_IS_JOBRANK));     \
		}                                                                                                      \
		gex_Event_Wait(gex_AD_OpNB_##name_arg(ad, &now, dest, addr, GEX_OP_GET, 0, 0, GEX_FLAG_AD_ACQ));       \
		CHECK(now == want && was == (fetch ? old : 77));                                                       \
	}                                                                                                              \
	static void type_##name_arg(gex_Rank_t dest)                                                                   \
	{                                                                                                              \
		static const type_arg olds[] = {0, 1, 5, 1000}, operands[] = {0, 1, 3, 5, 1000};                       \
		gex_AD_t ad = GEX_AD_INVALID;                                                                          \
		gex_OP_t ops = GEX_OP_GET | GEX_OP_SWAP;                                                               \
		type_arg was = 0;                                                                                      \
		for (int i = 0; i < (ops_arg); i++)                                                                    \
			ops |= kPlain[i] | GEX_OP_TO_FETCHING(kPlain[i]);                                              \
		gex_AD_Create(&ad, test_tm, GEX_DT_##name_arg, ops, 0);                                                \
		CHECK(gex_AD_QueryDT(ad) == GEX_DT_##name_arg && gex_AD_QueryOps(ad) == ops);                          \
		CHECK(gex_AD_QueryTM(ad) == test_tm && gex_AD_QueryFlags(ad) == 0 && !gex_AD_QueryCData(ad));          \
		gex_AD_SetCData(ad, &was);                                                                             \
		CHECK(gex_AD_QueryCData(ad) == &was);                                                                  \
		for (int i = 0; i < (ops_arg); i++)                                                                    \
			for (size_t o = 0; o < sizeof olds / sizeof *olds; o++)                                        \
				for (size_t p = 0; p < sizeof operands / sizeof *operands; p++)                        \
					for (int how = 0; how < 4; how++)                                              \
						one_##name_arg(ad, dest, kPlain[i], olds[o], operands[p], 9, how & 1,  \
							       how >> 1);                                              \
		/* operations known at compile time */                                                                 \
		type_arg *addr = (type_arg *)(void *)test_at(dest, 64 * (me + 1));                                     \
		gex_Event_Wait(gex_AD_OpNB_##name_arg(ad, NULL, dest, addr, GEX_OP_SET, 6, 0, 0));                     \
		CHECK(gex_AD_OpNBI_##name_arg(ad, NULL, dest, addr, GEX_OP_MULT, 7, 0, 0) == 0);                       \
		gex_NBI_Wait(GEX_EC_ALL, 0);                                                                           \
		gex_Event_Wait(gex_AD_OpNB_##name_arg(ad, &was, dest, addr, GEX_OP_FADD, 1, 0, 0));                    \
		CHECK(was == 42);                                                                                      \
		gex_Event_Wait(gex_AD_OpNB_##name_arg(ad, &was, dest, addr, GEX_OP_SWAP, 50, 0, 0));                   \
		CHECK(was == 43);                                                                                      \
		gex_Event_Wait(gex_AD_OpNB_##name_arg(ad, &was, dest, addr, GEX_OP_FCAS, 50, 51, 0));                  \
		CHECK(was == 50);                                                                                      \
		gex_Event_Wait(gex_AD_OpNB_##name_arg(ad, &was, dest, addr, GEX_OP_FMIN, 3, 0, 0));                    \
		CHECK(was == 51);                                                                                      \
		gex_Event_Wait(gex_AD_OpNB_##name_arg(ad, &was, dest, addr, GEX_OP_FDEC, 0, 0, 0));                    \
		CHECK(was == 3);                                                                                       \
		gex_Event_Wait(gex_AD_OpNB_##name_arg(ad, &was, dest, addr, GEX_OP_GET, 0, 0, 0));                     \
		CHECK(was == 2);                                                                                       \
		gex_AD_Destroy(ad);                                                                                    \
	}
#define BITS return op == GEX_OP_AND ? old & a : op == GEX_OP_OR ? old | a : old ^ a;
TYPE_TEST(I32, int32_t, kOps, BITS)
TYPE_TEST(U32, uint32_t, kOps, BITS)
TYPE_TEST(I64, int64_t, kOps, BITS)
TYPE_TEST(U64, uint64_t, kOps, BITS)
TYPE_TEST(FLT, float, kFloatOps, return 0;)
TYPE_TEST(DBL, double, kFloatOps, return 0;)

/* All nodes add to words of the last one, integers by one instruction and floating-point numbers by
 * compare-and-swap. */
static void all_on_one(int rounds)
{
	gex_AD_t counts, numbers;
	const gex_Rank_t dest = nodes - 1;
	uint64_t *count = (uint64_t *)(void *)test_at(dest, 0), got = 0;
	double *number = (double *)(void *)test_at(dest, 8), sum = 0;
	gex_AD_Create(&counts, test_tm, GEX_DT_U64, GEX_OP_ADD | GEX_OP_FADD | GEX_OP_SET | GEX_OP_GET, 0);
	gex_AD_Create(&numbers, test_tm, GEX_DT_DBL, GEX_OP_ADD | GEX_OP_SET | GEX_OP_GET, 0);
	if (me == 0) {
		gex_Event_Wait(gex_AD_OpNB_U64(counts, NULL, dest, count, GEX_OP_SET, 0, 0, 0));
		gex_Event_Wait(gex_AD_OpNB_DBL(numbers, NULL, dest, number, GEX_OP_SET, 0, 0, 0));
	}
	test_barrier();
	for (int i = 0; i < rounds; i++) {
		uint64_t was;
		CHECK(gex_AD_OpNBI_U64(counts, NULL, dest, count, GEX_OP_ADD, 1, 0, 0) == 0);
		gex_Event_Wait(gex_AD_OpNB_U64(counts, &was, dest, count, GEX_OP_FADD, 2, 0, 0));
		CHECK(was < (uint64_t)rounds * 3 * nodes);
		CHECK(gex_AD_OpNBI_DBL(numbers, NULL, dest, number, GEX_OP_ADD, 0.5, 0, 0) == 0);
		gasnet_AMPoll();
	}
	gex_NBI_Wait(GEX_EC_ALL, 0);
	test_barrier();
	gex_Event_Wait(gex_AD_OpNB_U64(counts, &got, dest, count, GEX_OP_GET, 0, 0, 0));
	gex_Event_Wait(gex_AD_OpNB_DBL(numbers, &sum, dest, number, GEX_OP_GET, 0, 0, 0));
	CHECK(got == (uint64_t)rounds * 3 * nodes && sum == 0.5 * rounds * nodes);
	test_barrier();
	gex_AD_Destroy(counts);
	gex_AD_Destroy(numbers);
}

int main(int argc, char **argv)
{
	test_start(kSegment);
	for (gex_Rank_t i = 0; i < 2 && i < nodes; i++) {
		const gex_Rank_t dest = (me + i) % nodes;
		type_I32(dest);
		type_U32(dest);
		type_I64(dest);
		type_U64(dest);
		type_FLT(dest);
		type_DBL(dest);
	}
	test_barrier();
	all_on_one(argc > 1 ? atoi(argv[1]) : 1000);
	test_barrier();
	if (me == 0)
		printf("remote atomics: %u nodes: ok\n", nodes);
	test_end();
}
