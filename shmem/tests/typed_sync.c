/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Point-to-point synchronisation of every type: wait and test on one variable with each comparison, on all, any and
 * some of an array, with a mask, with one value or one each. And what waiting is for: data put before a flag is there
 * when the flag is, whichever way the flag was set.
 */
#include "expect.h"

enum { K = 6, SKIPPED = 2 };

static int me, n, right;

/* The PE on my left writes my variables once I am ready. */
#define ONE(NAME, T, cmp_arg, start_arg, written_arg, with_arg)                                                        \
	do {                                                                                                           \
		shmem_barrier_all();                                                                                   \
		var[0] = (T)(start_arg);                                                                               \
		EXPECT_AS(what, !TYPED(NAME, test, var, cmp_arg, (T)(with_arg)));                                      \
		shmem_barrier_all();                                                                                   \
		TYPED(NAME, p, var, (T)(written_arg), right);                                                          \
		TYPED(NAME, wait_until, var, cmp_arg, (T)(with_arg));                                                  \
		EXPECT_AS(what, var[0] == (T)(written_arg));                                                           \
		EXPECT_AS(what, TYPED(NAME, test, var, cmp_arg, (T)(with_arg)));                                       \
	} while (0);
#define ONE_TESTS(NAME, T)                                                                                             \
	static void one_##NAME(T *var)                                                                                 \
	{                                                                                                              \
		const char *const what = #NAME " wait_until, test";                                                    \
		ONE(NAME, T, SHMEM_CMP_EQ, 0, 5, 5)                                                                    \
		ONE(NAME, T, SHMEM_CMP_NE, 3, 4, 3)                                                                    \
		ONE(NAME, T, SHMEM_CMP_GT, 5, 6, 5)                                                                    \
		ONE(NAME, T, SHMEM_CMP_GE, 4, 5, 5)                                                                    \
		ONE(NAME, T, SHMEM_CMP_LT, 5, 4, 5)                                                                    \
		ONE(NAME, T, SHMEM_CMP_LE, 6, 5, 5)                                                                    \
		if ((T)-1 < (T)1) {                                                                                    \
			ONE(NAME, T, SHMEM_CMP_LT, 0, -3, 0)                                                           \
			ONE(NAME, T, SHMEM_CMP_GT, -3, -2, -3)                                                         \
		} else {                                                                                               \
			ONE(NAME, T, SHMEM_CMP_GT, 7, -1, 7) /* the largest value, not a negative one */               \
		}                                                                                                      \
	}

/* Element i becomes i + 1, but for SKIPPED, which stays and is masked. values: what each element is compared with. */
#define START(T)                                                                                                       \
	do {                                                                                                           \
		shmem_barrier_all();                                                                                   \
		for (int i = 0; i < K; i++)                                                                            \
			var[i] = 0;                                                                                    \
		shmem_barrier_all();                                                                                   \
	} while (0)
#define WRITE(NAME, T, i_arg) TYPED(NAME, p, var + (i_arg), (T)((i_arg) + 1), right)
#define WRITE_ALL(NAME, T)                                                                                             \
	for (int k = 0; k < K; k++)                                                                                    \
		if ((k * 5 + me) % K != SKIPPED)                                                                       \
			WRITE(NAME, T, (k * 5 + me) % K);

#define SET_TESTS(NAME, T, TAIL, with_arg)                                                                             \
	static void set##TAIL##_##NAME(T *var)                                                                         \
	{                                                                                                              \
		const char *const what = #NAME " all, any, some" #TAIL;                                                \
		T values[K];                                                                                           \
		int mask[K] = {0}, none[K], seen[K] = {0};                                                             \
		size_t which[K], at;                                                                                   \
		for (int i = 0; i < K; i++) {                                                                          \
			values[i] = (T)(i + 1);                                                                        \
			none[i] = 1;                                                                                   \
		}                                                                                                      \
		(void)values;                                                                                          \
		mask[SKIPPED] = 1;                                                                                     \
		START(T);                                                                                              \
		EXPECT_AS(what, !TYPED(NAME, test_all##TAIL, var, (size_t)K, mask, CMP##TAIL, with_arg));              \
		EXPECT_AS(what, TYPED(NAME, test_any##TAIL, var, (size_t)K, NULL, CMP##TAIL, with_arg) == SIZE_MAX);   \
		EXPECT_AS(what, TYPED(NAME, test_some##TAIL, var, (size_t)K, which, NULL, CMP##TAIL, with_arg) == 0);  \
		shmem_barrier_all();                                                                                   \
		WRITE_ALL(NAME, T)                                                                                     \
		TYPED(NAME, wait_until_all##TAIL, var, (size_t)K, mask, CMP##TAIL, with_arg);                          \
		for (int i = 0; i < K; i++)                                                                            \
			EXPECT_AS(what, var[i] == (T)(i == SKIPPED ? 0 : i + 1));                                      \
		EXPECT_AS(what, TYPED(NAME, test_all##TAIL, var, (size_t)K, mask, CMP##TAIL, with_arg));               \
		EXPECT_AS(what, !TYPED(NAME, test_all##TAIL, var, (size_t)K, NULL, CMP##TAIL, with_arg));              \
		START(T);                                                                                              \
		WRITE_ALL(NAME, T)                                                                                     \
		for (int k = 0; k < K - 1; k++) {                                                                      \
			at = TYPED(NAME, wait_until_any##TAIL, var, (size_t)K, mask, CMP##TAIL, with_arg);             \
			EXPECT_AS(what, at < K && at != SKIPPED && !seen[at] && var[at] == (T)(at + 1));               \
			seen[at] = mask[at] = 1;                                                                       \
		}                                                                                                      \
		EXPECT_AS(what,                                                                                        \
			  TYPED(NAME, wait_until_any##TAIL, var, (size_t)K, none, CMP##TAIL, with_arg) == SIZE_MAX);   \
		EXPECT_AS(what, TYPED(NAME, test_any##TAIL, var, (size_t)K, mask, CMP##TAIL, with_arg) == SIZE_MAX);   \
		at = TYPED(NAME, test_any##TAIL, var, (size_t)K, NULL, CMP##TAIL, with_arg);                           \
		EXPECT_AS(what, at < K && at != SKIPPED);                                                              \
		memset(mask, 0, sizeof mask);                                                                          \
		mask[SKIPPED] = 1;                                                                                     \
		memset(seen, 0, sizeof seen);                                                                          \
		START(T);                                                                                              \
		WRITE_ALL(NAME, T)                                                                                     \
		for (size_t found = 0; found < K - 1;) {                                                               \
			const size_t more =                                                                            \
				TYPED(NAME, wait_until_some##TAIL, var, (size_t)K, which, mask, CMP##TAIL, with_arg);  \
			EXPECT_AS(what, more > 0 && found + more <= K - 1);                                            \
			for (size_t k = 0; k < more; k++) {                                                            \
				EXPECT_AS(what, which[k] < K && !seen[which[k]] && which[k] != SKIPPED);               \
				seen[which[k]] = mask[which[k]] = 1;                                                   \
			}                                                                                              \
			found += more;                                                                                 \
		}                                                                                                      \
		EXPECT_AS(what,                                                                                        \
			  TYPED(NAME, wait_until_some##TAIL, var, (size_t)K, which, none, CMP##TAIL, with_arg) == 0);  \
		EXPECT_AS(what, TYPED(NAME, test_some##TAIL, var, (size_t)K, which, mask, CMP##TAIL, with_arg) == 0);  \
		EXPECT_AS(what,                                                                                        \
			  TYPED(NAME, test_some##TAIL, var, (size_t)K, which, NULL, CMP##TAIL, with_arg) == K - 1);    \
		/* nothing to wait for: returns at once */                                                             \
		TYPED(NAME, wait_until_all##TAIL, var, (size_t)0, NULL, CMP##TAIL, with_arg);                          \
		TYPED(NAME, wait_until_all##TAIL, var, (size_t)K, none, CMP##TAIL, with_arg);                          \
		EXPECT_AS(what,                                                                                        \
			  TYPED(NAME, wait_until_any##TAIL, var, (size_t)0, NULL, CMP##TAIL, with_arg) == SIZE_MAX);   \
		EXPECT_AS(what,                                                                                        \
			  TYPED(NAME, wait_until_some##TAIL, var, (size_t)0, which, NULL, CMP##TAIL, with_arg) == 0);  \
		EXPECT_AS(what, TYPED(NAME, test_all##TAIL, var, (size_t)0, NULL, CMP##TAIL, with_arg));               \
		shmem_barrier_all();                                                                                   \
	}
/* one value: any written element is not zero; one each: element i is i + 1 */
#define CMP SHMEM_CMP_NE
#define CMP_vector SHMEM_CMP_EQ
#define SYNC_TYPE(NAME, T, A)                                                                                          \
	ONE_TESTS(NAME, T)                                                                                             \
	SET_TESTS(NAME, T, , (T)0)                                                                                     \
	SET_TESTS(NAME, T, _vector, values)
TEST_STD_TYPES(SYNC_TYPE, )
ONE_TESTS(short, short)
ONE_TESTS(ushort, unsigned short)
#define SYNC_RUN(NAME, T, A)                                                                                           \
	one_##NAME((T *)at);                                                                                           \
	set_##NAME((T *)at);                                                                                           \
	set_vector_##NAME((T *)at);

static void all_on(void *at)
{
	TEST_STD_TYPES(SYNC_RUN, )
	one_short((short *)at);
	one_ushort((unsigned short *)at);
}

/* --- the names before 1.5 ----------------------------------------------------------------------------------------- */

static void old_waits(long *at)
{
	shmem_barrier_all();
	at[0] = 1;
	shmem_barrier_all();
	shmem_long_p(at, 2, right);
	shmem_wait(at, 1);
	EXPECT(at[0] == 2);
	shmem_barrier_all();
	shmem_long_p(at, 3, right);
	shmem_wait_until(at, SHMEM_CMP_EQ, 3);
	shmem_barrier_all();
	shmem_int_p((int *)at, 9, right);
	shmem_int_wait((int *)at, 3);
	EXPECT(*(int *)at == 9);
	shmem_barrier_all();
}

/* --- data, then flag ---------------------------------------------------------------------------------------------- */

enum { WORDS = 64, ROUNDS = 300, WAYS = 6 };

/* Puts data with the value k, then sets the flag to k: data must be there when the flag is seen. */
static void send_round(int way, long k, long *data, uint64_t *flag, shmem_ctx_t ctx)
{
	long mine[WORDS];
	for (int i = 0; i < WORDS; i++)
		mine[i] = k;
	switch (way) {
	case 0:
		shmem_long_put(data, mine, WORDS, right);
		shmem_fence();
		shmem_uint64_p(flag, (uint64_t)k, right);
		break;
	case 1:
		for (int i = 0; i < WORDS; i++)
			shmem_long_p(data + i, mine[i], right);
		shmem_fence();
		shmem_uint64_atomic_set(flag, (uint64_t)k, right);
		break;
	case 2:
		shmem_long_put_nbi(data, mine, WORDS, right);
		shmem_quiet();
		shmem_uint64_atomic_inc(flag, right);
		break;
	case 3:
		shmem_long_put_signal(data, mine, WORDS, flag, (uint64_t)k, SHMEM_SIGNAL_SET, right);
		break;
	case 4:
		shmem_long_put_signal_nbi(data, mine, WORDS, flag, 1, SHMEM_SIGNAL_ADD, right);
		break;
	default:
		shmem_ctx_long_iput(ctx, data, mine, 1, 1, WORDS, right);
		shmem_ctx_fence(ctx);
		shmem_ctx_uint64_p(ctx, flag, (uint64_t)k, right);
	}
}

static void data_then_flag(void)
{
	long *data = (long *)shmem_malloc(WORDS * sizeof *data);
	uint64_t *flag = (uint64_t *)shmem_calloc(2, 64), *taken = flag + 8;
	shmem_ctx_t ctx;
	EXPECT(data && flag && shmem_ctx_create(0, &ctx) == 0);
	const int left = (me + n - 1) % n;
	for (int way = 0; way < WAYS; way++) {
		flag[0] = taken[0] = 0;
		shmem_barrier_all();
		for (long k = 1; k <= ROUNDS; k++) {
			/* the PE on my right is done with k - 1 */
			shmem_uint64_wait_until(taken, SHMEM_CMP_GE, (uint64_t)(k - 1));
			send_round(way, k, data, flag, ctx);
			if (way % 2)
				shmem_uint64_wait_until(flag, SHMEM_CMP_GE, (uint64_t)k);
			else
				EXPECT(shmem_signal_wait_until(flag, SHMEM_CMP_GE, (uint64_t)k) == (uint64_t)k);
			for (int i = 0; i < WORDS; i++)
				EXPECT_AS("data, then flag", data[i] == k);
			shmem_uint64_p(taken, (uint64_t)k, left);
		}
		shmem_barrier_all();
	}
	shmem_ctx_destroy(ctx);
	shmem_free(flag);
	shmem_free(data);
}

/* --- tests in loops ----------------------------------------------------------------------------------------------- */

/* Nothing but tests while a value is on its way: they get it here, and give way to those who send. */
static void tests_in_loops(uint64_t *at)
{
	size_t which[2];
	at[0] = at[1] = 0;
	shmem_barrier_all();
	for (uint64_t k = 1; k <= 40; k++) {
		shmem_uint64_p(at, k, right);
		shmem_uint64_p(at + 1, k, right);
		switch (k % 4) {
		case 0:
			while (!shmem_uint64_test(at, SHMEM_CMP_EQ, k) || !shmem_uint64_test(at + 1, SHMEM_CMP_EQ, k))
				;
			break;
		case 1:
			while (!shmem_uint64_test_all(at, 2, NULL, SHMEM_CMP_EQ, k))
				;
			break;
		case 2:
			while (shmem_uint64_test_any(at, 1, NULL, SHMEM_CMP_EQ, k) != 0 ||
			       shmem_uint64_test_any(at + 1, 1, NULL, SHMEM_CMP_EQ, k) != 0)
				;
			break;
		default:
			while (shmem_uint64_test_some(at, 2, which, NULL, SHMEM_CMP_EQ, k) != 2)
				;
		}
		EXPECT(at[0] == k && at[1] == k);
		shmem_barrier_all();
	}
}

int main(void)
{
	static uint64_t fixed[K];
	shmem_init();
	me = shmem_my_pe();
	n = shmem_n_pes();
	right = (me + 1) % n;
	void *heap = shmem_malloc(K * sizeof(uint64_t));
	EXPECT(heap);
	all_on(fixed);
	all_on(heap);
	old_waits((long *)heap);
	data_then_flag();
	tests_in_loops((uint64_t *)heap);
	shmem_free(heap);
	test_done("typed_sync");
	return 0;
}
