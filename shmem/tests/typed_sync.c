/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Point-to-point synchronisation of every type: wait and test on one variable with each comparison, on all, any and
 * some of an array, with a mask, with one value or one each. And the purpose of waiting: data put before a flag has
 * arrived when the flag has, by whichever call the flag was set.
 */
#include "typed.h"

enum { K = 6, SKIPPED = 2 };

static int me, n, right;

/* The PE on my left writes my variables once I am ready. */
#define ONE(cmp_arg, start_arg, written_arg, with_arg)                                                                 \
	do {                                                                                                           \
		shmem_barrier_all();                                                                                   \
		var[0] = (T)(start_arg);                                                                               \
		CHECK(!TYPED(test, var, cmp_arg, (T)(with_arg)));                                                      \
		shmem_barrier_all();                                                                                   \
		TYPED(p, var, (T)(written_arg), right);                                                                \
		TYPED(wait_until, var, cmp_arg, (T)(with_arg));                                                        \
		CHECK(var[0] == (T)(written_arg));                                                                     \
		CHECK(TYPED(test, var, cmp_arg, (T)(with_arg)));                                                       \
	} while (0)

/* The two forms of a set: all compared with one value, each compared with its own. */
#define CALL_first(call_arg, ...) TYPED(call_arg, __VA_ARGS__)
#define CALL_second(call_arg, ...) TYPED(call_arg##_vector, __VA_ARGS__)
static const int none[K] = {1, 1, 1, 1, 1, 1}; /* mask of a set: all masked */
#define TYPED_BODY "typed_sync.inc"
#include "typed_each.inc"

#define ONE_RUN(NAME, T, A) FN_OF(one, first, NAME)((T *)addr);
#define SET_RUN(NAME, T, A)                                                                                            \
	FN_OF(set, first, NAME)((T *)addr);                                                                            \
	FN_OF(set, second, NAME)((T *)addr);

static void all_on(void *addr)
{
	SHMEM_SYNC_TYPES(ONE_RUN, )
	SHMEM_AMO_STD_TYPES(SET_RUN, )
}

/* --- the names before 1.5 ----------------------------------------------------------------------------------------- */

static void old_waits(long *addr)
{
	check_doing = "the names before 1.5";
	shmem_barrier_all();
	addr[0] = 1;
	shmem_barrier_all();
	shmem_long_p(addr, 2, right);
	shmem_wait(addr, 1);
	CHECK(addr[0] == 2);
	shmem_barrier_all();
	shmem_long_p(addr, 3, right);
	shmem_wait_until(addr, SHMEM_CMP_EQ, 3);
	shmem_barrier_all();
	shmem_int_p((int *)addr, 9, right);
	shmem_int_wait((int *)addr, 3);
	CHECK(*(int *)addr == 9);
	shmem_barrier_all();
}

/* --- data, then flag ---------------------------------------------------------------------------------------------- */

enum { WORDS = 64, ROUNDS = 300, WAYS = 6 };

/* Puts data with the value k, then sets the flag to k: the data must have arrived when the flag is seen. */
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
	check_doing = "data, then flag";
	long *data = (long *)shmem_malloc(WORDS * sizeof *data);
	uint64_t *flag = (uint64_t *)shmem_calloc(2, 64), *taken = flag + 8;
	shmem_ctx_t ctx;
	CHECK(data && flag && shmem_ctx_create(0, &ctx) == 0);
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
				CHECK(shmem_signal_wait_until(flag, SHMEM_CMP_GE, (uint64_t)k) == (uint64_t)k);
			for (int i = 0; i < WORDS; i++)
				CHECK(data[i] == k);
			shmem_uint64_p(taken, (uint64_t)k, left);
		}
		shmem_barrier_all();
	}
	shmem_ctx_destroy(ctx);
	shmem_free(flag);
	shmem_free(data);
}

/* --- tests in loops ----------------------------------------------------------------------------------------------- */

/* Only tests while a value is in flight: they make progress for it, and yield to the senders. */
static void tests_in_loops(uint64_t *addr)
{
	check_doing = "tests in loops";
	size_t which[2];
	addr[0] = addr[1] = 0;
	shmem_barrier_all();
	for (uint64_t k = 1; k <= 40; k++) {
		shmem_uint64_p(addr, k, right);
		shmem_uint64_p(addr + 1, k, right);
		switch (k % 4) {
		case 0:
			while (!shmem_uint64_test(addr, SHMEM_CMP_EQ, k) ||
			       !shmem_uint64_test(addr + 1, SHMEM_CMP_EQ, k))
				;
			break;
		case 1:
			while (!shmem_uint64_test_all(addr, 2, NULL, SHMEM_CMP_EQ, k))
				;
			break;
		case 2:
			while (shmem_uint64_test_any(addr, 1, NULL, SHMEM_CMP_EQ, k) != 0 ||
			       shmem_uint64_test_any(addr + 1, 1, NULL, SHMEM_CMP_EQ, k) != 0)
				;
			break;
		default:
			while (shmem_uint64_test_some(addr, 2, which, NULL, SHMEM_CMP_EQ, k) != 2)
				;
		}
		CHECK(addr[0] == k && addr[1] == k);
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
	CHECK(heap);
	all_on(fixed);
	all_on(heap);
	old_waits((long *)heap);
	data_then_flag();
	tests_in_loops((uint64_t *)heap);
	shmem_free(heap);
	test_done("typed_sync");
	return 0;
}
