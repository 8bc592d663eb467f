/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Remote memory access of every type: p, g, put, get, their non-blocking, strided, blocked and signalled forms, each on
 * static data and on the heap, on the default context and on a created one. Each PE writes to the one on its right, so
 * every value names its writer. Memory that a call must not touch is compared too.
 *
 * Built as C with typed names, as C11 and as C++ with generic names, and with the inlined face.
 */
#include "typed.h"

enum { N = 24 };

static uint64_t signals[2];
static int me, n, right, left;
static shmem_ctx_t ctx;

/* differs between neighbours and between elements, and every type holds it */
#define VALUE(T, i_arg, pe_arg) ((T)(((i_arg)*3 + (pe_arg)*37 + 1) % 120))
#define UNTOUCHED(T) ((T)125)

#define STRIDE_TO 3
#define STRIDE_FROM 2
#define BLOCK 2
#define BLOCKS 4

#define CALL_first TYPED
#define CALL_second TYPED_CTX
#define TYPED_BODY "typed_rma.inc"

/* By size in bits, and by bytes: the same bytes in any type; addresses of any alignment. */
#define SIZED(call_arg, tail_arg, ...) SIZED_OF(FORM, call_arg, SIZE, tail_arg, __VA_ARGS__)
#define SIZED_OF(form_arg, call_arg, size_arg, tail_arg, ...)                                                          \
	SIZED_PASTED(form_arg, call_arg, size_arg, tail_arg, __VA_ARGS__)
#define SIZED_PASTED(form_arg, call_arg, size_arg, tail_arg, ...)                                                      \
	SIZED_##form_arg(call_arg##size_arg##tail_arg, __VA_ARGS__)
#define SIZED_first(call_arg, ...) shmem_##call_arg(__VA_ARGS__)
#define SIZED_second(call_arg, ...) shmem_ctx_##call_arg(ctx, __VA_ARGS__)
#define SIZED_FN FN_OF(sized, FORM, SIZE)
#define SIZED_BODY "typed_sized.inc"

#include "typed_each.inc"

#define RMA_STATIC(NAME, T, A) static T static_##NAME[N];
SHMEM_RMA_TYPES(RMA_STATIC, )
#define RMA_RUN(NAME, T, A)                                                                                            \
	FN_OF(rma, first, NAME)(static_##NAME);                                                                        \
	FN_OF(rma, first, NAME)((T *)heap);                                                                            \
	FN_OF(rma, second, NAME)(static_##NAME);                                                                       \
	FN_OF(rma, second, NAME)((T *)heap);
#define SIZED_RUN(S, A)                                                                                                \
	FN_OF(sized, first, S)(remote);                                                                                \
	FN_OF(sized, second, S)(remote);

static void sized(unsigned char *remote)
{
	SHMEM_SIZES(SIZED_RUN, )
}

/* Every length up to several cache lines, then powers of two and their odd neighbours, at all alignments within a
 * word. */
static void lengths(unsigned char *remote, size_t room)
{
	check_doing = "lengths";
	unsigned char *mine = (unsigned char *)malloc(room), *back = (unsigned char *)malloc(room);
	CHECK(mine && back);
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
			CHECK(remote[shift + i] ==
			      (unsigned char)((i + 8 - shift) * 7 + (i + 8 - shift) / 251 + (size_t)left));
		CHECK((shift == 0 || remote[shift - 1] == 0xee) && remote[shift + len] == 0xee);
		memset(back, 0xdd, len + 16);
		shmem_getmem(back + 1, remote + shift, len, right);
		CHECK(!memcmp(back + 1, mine + 8 - shift, len) && back[0] == 0xdd && back[1 + len] == 0xdd);
	}
	free(mine);
	free(back);
	shmem_barrier_all();
}

static void signal_calls(void)
{
	check_doing = "signals";
	signals[0] = signals[1] = 0;
	shmem_barrier_all();
	shmem_signal_add(&signals[0], 5, right);
	shmem_ctx_signal_add(ctx, &signals[0], 6, right);
	shmem_barrier_all();
	CHECK(shmem_signal_fetch(&signals[0]) == 11);
	shmem_barrier_all();
	shmem_signal_set(&signals[0], 3, right);
	shmem_ctx_signal_set(ctx, &signals[1], 4, right);
	shmem_barrier_all();
	CHECK(shmem_signal_fetch(&signals[0]) == 3 && shmem_signal_fetch(&signals[1]) == 4);
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
	CHECK(shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) == 0);
	void *heap = shmem_malloc(ROOM);
	CHECK(heap);
	SHMEM_RMA_TYPES(RMA_RUN, )
	sized(bytes);
	sized((unsigned char *)heap);
	lengths((unsigned char *)heap, ROOM);
	signal_calls();
	shmem_ctx_destroy(ctx);
	shmem_free(heap);
	test_done("typed_rma");
	return 0;
}
