/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Remote memory access of every type: p, g, put, get, their non-blocking, strided, blocked and signalled forms, each on
 * static data and on the heap, on the default context and on one of its own. Each PE writes to the one on its right, so
 * every value that is found names its writer. What a call must not touch is compared too.
 *
 * Built as C with typed names, as C11 and as C++ with generic names, and with the inlined face.
 */
#include "expect.h"

enum { N = 24 };

static uint64_t signals[2];
static int me, n, right, left;
static shmem_ctx_t ctx;

/* differs between neighbours and between elements, and every type holds it */
#define VALUE(T, i_arg, pe_arg) ((T)(((i_arg)*3 + (pe_arg)*37 + 1) % 120))
#define UNTOUCHED(T) ((T)125)

/* everybody's memory is written with what no transfer brings */
#define CLEAR(T)                                                                                                       \
	do {                                                                                                           \
		shmem_barrier_all();                                                                                   \
		for (int i = 0; i < N; i++)                                                                            \
			remote[i] = UNTOUCHED(T);                                                                      \
		shmem_barrier_all();                                                                                   \
	} while (0)

#define STRIDE_TO 3
#define STRIDE_FROM 2
#define BLOCK 2
#define BLOCKS 4

#define RMA_TESTS(NAME, T, CALL)                                                                                       \
	static void rma_##CALL##_##NAME(T *remote)                                                                     \
	{                                                                                                              \
		const char *const what = #CALL " " #NAME;                                                              \
		T mine[N], back[N];                                                                                    \
		for (int i = 0; i < N; i++)                                                                            \
			mine[i] = VALUE(T, i, me);                                                                     \
		CLEAR(T);                                                                                              \
		for (int i = 0; i < N; i++)                                                                            \
			CALL(NAME, p, remote + i, mine[i], right);                                                     \
		shmem_ctx_quiet(ctx);                                                                                  \
		shmem_barrier_all();                                                                                   \
		for (int i = 0; i < N; i++) {                                                                          \
			EXPECT_AS(what, remote[i] == VALUE(T, i, left));                                               \
			EXPECT_AS(what, CALL(NAME, g, remote + i, right) == mine[i]);                                  \
			EXPECT_AS(what, CALL(NAME, g, remote + i, me) == VALUE(T, i, left));                           \
		}                                                                                                      \
		for (int nbi = 0; nbi < 2; nbi++) {                                                                    \
			CLEAR(T);                                                                                      \
			if (nbi)                                                                                       \
				CALL(NAME, put_nbi, remote + 1, mine + 1, (size_t)N - 2, right);                       \
			else                                                                                           \
				CALL(NAME, put, remote + 1, mine + 1, (size_t)N - 2, right);                           \
			shmem_quiet();                                                                                 \
			shmem_ctx_quiet(ctx);                                                                          \
			shmem_barrier_all();                                                                           \
			for (int i = 1; i < N - 1; i++)                                                                \
				EXPECT_AS(what, remote[i] == VALUE(T, i, left));                                       \
			EXPECT_AS(what, remote[0] == UNTOUCHED(T) && remote[N - 1] == UNTOUCHED(T));                   \
			for (int i = 0; i < N; i++)                                                                    \
				back[i] = UNTOUCHED(T);                                                                \
			if (nbi)                                                                                       \
				CALL(NAME, get_nbi, back + 2, remote + 2, (size_t)N - 4, right);                       \
			else                                                                                           \
				CALL(NAME, get, back + 2, remote + 2, (size_t)N - 4, right);                           \
			shmem_quiet();                                                                                 \
			shmem_ctx_quiet(ctx);                                                                          \
			for (int i = 2; i < N - 2; i++)                                                                \
				EXPECT_AS(what, back[i] == mine[i]);                                                   \
			EXPECT_AS(what, back[1] == UNTOUCHED(T) && back[N - 2] == UNTOUCHED(T));                       \
		}                                                                                                      \
		CLEAR(T);                                                                                              \
		CALL(NAME, put, remote, mine, (size_t)0, right); /* nothing */                                         \
		CALL(NAME, iput, remote, mine, STRIDE_TO, STRIDE_FROM, (size_t)7, right);                              \
		shmem_ctx_quiet(ctx);                                                                                  \
		shmem_barrier_all();                                                                                   \
		for (int i = 0; i < N; i++)                                                                            \
			EXPECT_AS(what, remote[i] == (i % STRIDE_TO == 0 && i / STRIDE_TO < 7                          \
							      ? VALUE(T, i / STRIDE_TO * STRIDE_FROM, left)            \
							      : UNTOUCHED(T)));                                        \
		for (int i = 0; i < N; i++)                                                                            \
			back[i] = UNTOUCHED(T);                                                                        \
		CALL(NAME, iget, back, remote, STRIDE_FROM, STRIDE_TO, (size_t)7, right);                              \
		for (int i = 0; i < N; i++)                                                                            \
			EXPECT_AS(what,                                                                                \
				  back[i] == (i % STRIDE_FROM == 0 && i / STRIDE_FROM < 7 ? mine[i] : UNTOUCHED(T)));  \
		CLEAR(T);                                                                                              \
		CALL(NAME, ibput, remote, mine, 5, 3, (size_t)BLOCK, (size_t)BLOCKS, right);                           \
		shmem_ctx_quiet(ctx);                                                                                  \
		shmem_barrier_all();                                                                                   \
		for (int i = 0; i < N; i++)                                                                            \
			EXPECT_AS(what,                                                                                \
				  remote[i] == (i % 5 < BLOCK && i / 5 < BLOCKS ? VALUE(T, i / 5 * 3 + i % 5, left)    \
										: UNTOUCHED(T)));                      \
		for (int i = 0; i < N; i++)                                                                            \
			back[i] = UNTOUCHED(T);                                                                        \
		CALL(NAME, ibget, back, remote, 3, 5, (size_t)BLOCK, (size_t)BLOCKS, right);                           \
		for (int i = 0; i < N; i++)                                                                            \
			EXPECT_AS(what, back[i] == (i % 3 < BLOCK && i / 3 < BLOCKS ? mine[i] : UNTOUCHED(T)));        \
		signals[0] = signals[1] = 0;                                                                           \
		CLEAR(T);                                                                                              \
		CALL(NAME, put_signal, remote, mine, (size_t)N / 2, &signals[0], (uint64_t)me + 1, SHMEM_SIGNAL_SET,   \
		     right);                                                                                           \
		CALL(NAME, put_signal_nbi, remote + N / 2, mine + N / 2, (size_t)N / 2, &signals[1], 7,                \
		     SHMEM_SIGNAL_ADD, right);                                                                         \
		EXPECT_AS(what, shmem_signal_wait_until(&signals[0], SHMEM_CMP_NE, 0) == (uint64_t)left + 1);          \
		for (int i = 0; i < N / 2; i++)                                                                        \
			EXPECT_AS(what, remote[i] == VALUE(T, i, left));                                               \
		EXPECT_AS(what, shmem_signal_wait_until(&signals[1], SHMEM_CMP_GE, 7) == 7);                           \
		for (int i = N / 2; i < N; i++)                                                                        \
			EXPECT_AS(what, remote[i] == VALUE(T, i, left));                                               \
		EXPECT_AS(what, shmem_signal_fetch(&signals[1]) == 7);                                                 \
		shmem_barrier_all();                                                                                   \
	}
#define RMA_TYPE(NAME, T, A)                                                                                           \
	static T static_##NAME[N];                                                                                     \
	RMA_TESTS(NAME, T, TYPED)                                                                                      \
	RMA_TESTS(NAME, T, TYPED_CTX)
TEST_RMA_TYPES(RMA_TYPE, )

#define RMA_RUN(NAME, T, A)                                                                                            \
	rma_TYPED_##NAME(static_##NAME);                                                                               \
	rma_TYPED_##NAME((T *)heap);                                                                                   \
	rma_TYPED_CTX_##NAME(static_##NAME);                                                                           \
	rma_TYPED_CTX_##NAME((T *)heap);

/* By size in bits, and by bytes: the same bytes whatever they mean; addresses of any alignment. */
#define SIZED_CALLS(S, PRE, ...)                                                                                       \
	do {                                                                                                           \
		enum { BYTES = (S) / 8 };                                                                              \
		for (size_t i = 0; i < sizeof mine; i++)                                                               \
			mine[i] = (unsigned char)(i * 5 + (size_t)me + 1);                                             \
		shmem_barrier_all();                                                                                   \
		memset(remote, 0xee, sizeof mine);                                                                     \
		shmem_barrier_all();                                                                                   \
		PRE##put##S(__VA_ARGS__ remote + 1, mine + 3, 4, right);                                               \
		PRE##put##S##_nbi(__VA_ARGS__ remote + 1 + 4 * BYTES, mine + 3 + 4 * BYTES, 2, right);                 \
		PRE##iput##S(__VA_ARGS__ remote + 256, mine, 2, 1, 3, right);                                          \
		PRE##ibput##S(__VA_ARGS__ remote + 384, mine, 3, 2, 2, 2, right);                                      \
		shmem_quiet();                                                                                         \
		shmem_ctx_quiet(ctx);                                                                                  \
		shmem_barrier_all();                                                                                   \
		for (size_t i = 0; i < 6 * BYTES; i++)                                                                 \
			EXPECT(remote[1 + i] == (unsigned char)((i + 3) * 5 + (size_t)left + 1));                      \
		EXPECT(remote[0] == 0xee && remote[1 + 6 * BYTES] == 0xee);                                            \
		for (size_t i = 0; i < 3 * BYTES; i++)                                                                 \
			EXPECT(remote[256 + i / BYTES * 2 * BYTES + i % BYTES] ==                                      \
			       (unsigned char)(i * 5 + (size_t)left + 1));                                             \
		EXPECT(remote[256 + BYTES] == 0xee);                                                                   \
		for (size_t i = 0; i < 2 * BYTES; i++) {                                                               \
			EXPECT(remote[384 + i] == (unsigned char)(i * 5 + (size_t)left + 1));                          \
			EXPECT(remote[384 + 3 * BYTES + i] ==                                                          \
			       (unsigned char)((i + 2 * BYTES) * 5 + (size_t)left + 1));                               \
		}                                                                                                      \
		EXPECT(remote[384 + 2 * BYTES] == 0xee);                                                               \
		memset(back, 0xdd, sizeof back);                                                                       \
		PRE##get##S(__VA_ARGS__ back + 5, remote + 1, 4, right);                                               \
		PRE##get##S##_nbi(__VA_ARGS__ back + 5 + 4 * BYTES, remote + 1 + 4 * BYTES, 2, right);                 \
		PRE##iget##S(__VA_ARGS__ back + 256, remote + 256, 1, 2, 3, right);                                    \
		PRE##ibget##S(__VA_ARGS__ back + 384, remote + 384, 2, 3, 2, 2, right);                                \
		shmem_quiet();                                                                                         \
		shmem_ctx_quiet(ctx);                                                                                  \
		EXPECT(!memcmp(back + 5, mine + 3, 6 * BYTES) && back[4] == 0xdd && back[5 + 6 * BYTES] == 0xdd);      \
		EXPECT(!memcmp(back + 256, mine, 3 * BYTES) && !memcmp(back + 384, mine, 4 * BYTES));                  \
		signals[0] = 0;                                                                                        \
		shmem_barrier_all();                                                                                   \
		PRE##put##S##_signal(__VA_ARGS__ remote, mine, 6, signals, 3, SHMEM_SIGNAL_ADD, right);                \
		PRE##put##S##_signal_nbi(__VA_ARGS__ remote + 256, mine, 6, signals, 4, SHMEM_SIGNAL_ADD, right);      \
		shmem_signal_wait_until(signals, SHMEM_CMP_EQ, 7);                                                     \
		for (size_t i = 0; i < 6 * BYTES; i++)                                                                 \
			EXPECT(remote[i] == (unsigned char)(i * 5 + (size_t)left + 1) &&                               \
			       remote[256 + i] == remote[i]);                                                          \
	} while (0);
#define SIZED_RUN(S, A) SIZED_CALLS(S, shmem_) SIZED_CALLS(S, shmem_ctx_, ctx, )

static void sized(unsigned char *remote)
{
	unsigned char mine[1024], back[1024];
	SHMEM_SIZES(SIZED_RUN, )
}

/* Every length up to some cache lines, then powers of two with odd neighbours, at all alignments of a word. */
static void lengths(unsigned char *remote, size_t room)
{
	unsigned char *mine = (unsigned char *)malloc(room), *back = (unsigned char *)malloc(room);
	EXPECT(mine && back);
	for (size_t i = 0; i < room; i++)
		mine[i] = (unsigned char)(i * 7 + i / 251 + (size_t)me);
	for (size_t len = 0; len + 16 <= room; len = len < 200 ? len + 1 : len * 2 - 131) {
		const size_t shift = len % 8;
		shmem_barrier_all();
		memset(remote, 0xee, len + 16);
		shmem_barrier_all();
		shmem_putmem(remote + shift, mine + 8 - shift, len, right);
		shmem_barrier_all();
		for (size_t i = 0; i < len; i++)
			EXPECT(remote[shift + i] ==
			       (unsigned char)((i + 8 - shift) * 7 + (i + 8 - shift) / 251 + (size_t)left));
		EXPECT((shift == 0 || remote[shift - 1] == 0xee) && remote[shift + len] == 0xee);
		memset(back, 0xdd, len + 16);
		shmem_getmem(back + 1, remote + shift, len, right);
		EXPECT(!memcmp(back + 1, mine + 8 - shift, len) && back[0] == 0xdd && back[1 + len] == 0xdd);
	}
	free(mine);
	free(back);
	shmem_barrier_all();
}

static void signal_calls(void)
{
	signals[0] = signals[1] = 0;
	shmem_barrier_all();
	shmem_signal_add(&signals[0], 5, right);
	shmem_ctx_signal_add(ctx, &signals[0], 6, right);
	shmem_barrier_all();
	EXPECT(shmem_signal_fetch(&signals[0]) == 11);
	shmem_barrier_all();
	shmem_signal_set(&signals[0], 3, right);
	shmem_ctx_signal_set(ctx, &signals[1], 4, right);
	shmem_barrier_all();
	EXPECT(shmem_signal_fetch(&signals[0]) == 3 && shmem_signal_fetch(&signals[1]) == 4);
	shmem_barrier_all();
}

int main(void)
{
	enum { ROOM = 300000 };
	static unsigned char bytes[1024];
	shmem_init();
	me = shmem_my_pe();
	n = shmem_n_pes();
	right = (me + 1) % n;
	left = (me + n - 1) % n;
	EXPECT(shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) == 0);
	void *heap = shmem_malloc(ROOM);
	EXPECT(heap);
	TEST_RMA_TYPES(RMA_RUN, )
	sized(bytes);
	sized((unsigned char *)heap);
	lengths((unsigned char *)heap, ROOM);
	signal_calls();
	shmem_ctx_destroy(ctx);
	shmem_free(heap);
	test_done("typed_rma");
	return 0;
}
