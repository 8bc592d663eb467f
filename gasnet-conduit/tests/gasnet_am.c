/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Active messages: every request and reply call with 0 to 16 arguments, to every node; payloads of many sizes; the
 * message source; what must be refused.
 */
#include "gasnet_test.h"

#define SEGMENT (4u << 20)
enum {
	H_SHORT = 128,
	H_MEDIUM = 145,
	H_LONG = 162,
	H_SHORT_REPLY = 179,
	H_MEDIUM_REPLY = 196,
	H_LONG_REPLY = 213,
	H_REFUSE = 230,
	H_REFUSE_REPLY
};

static volatile int replies; /* reply handlers that ran */
static volatile int async_replies;
static gasnet_node_t peer; /* the target of requests */
static size_t nbytes;      /* of the payload */
static char *payload;

static gasnet_handlerarg_t arg_value(int i, int n)
{
	return (gasnet_handlerarg_t)((i * 0x01010101u ^ 0x80000000u) - (unsigned)n); /* negative ones too */
}

static void check_args(const gasnet_handlerarg_t *a, int n)
{
	for (int i = 0; i < n; i++)
		CHECK(a[i] == arg_value(i, n));
}

static char byte_at(size_t i, int n)
{
	return (char)(i * 7 + (size_t)n);
}

static void fill(char *p, size_t len, int n)
{
	for (size_t i = 0; i < len; i++)
		p[i] = byte_at(i, n);
}

static void check_payload(const char *p, size_t len, int n)
{
	for (size_t i = 0; i < len; i++)
		CHECK(p[i] == byte_at(i, n));
}

static gasnet_node_t source_of(gasnet_token_t token)
{
	gasnet_node_t source = GASNET_MAXNODES;
	CHECK_OK(gasnet_AMGetMsgSource(token, &source));
	CHECK(source < gasnet_nodes());
	return source;
}

/* requests of node s use its own part of a segment */
#define LONG_REQUEST_AT(s_arg) ((size_t)(s_arg)*131072)
#define LONG_REPLY_AT(s_arg) (SEGMENT / 2 + (size_t)(s_arg)*131072)

#define P0
#define P1 , gasnet_handlerarg_t a0
#define P2 P1, gasnet_handlerarg_t a1
#define P3 P2, gasnet_handlerarg_t a2
#define P4 P3, gasnet_handlerarg_t a3
#define P5 P4, gasnet_handlerarg_t a4
#define P6 P5, gasnet_handlerarg_t a5
#define P7 P6, gasnet_handlerarg_t a6
#define P8 P7, gasnet_handlerarg_t a7
#define P9 P8, gasnet_handlerarg_t a8
#define P10 P9, gasnet_handlerarg_t a9
#define P11 P10, gasnet_handlerarg_t a10
#define P12 P11, gasnet_handlerarg_t a11
#define P13 P12, gasnet_handlerarg_t a12
#define P14 P13, gasnet_handlerarg_t a13
#define P15 P14, gasnet_handlerarg_t a14
#define P16 P15, gasnet_handlerarg_t a15
#define A0
#define A1 , a0
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
#define V(i_arg, n_arg) , arg_value(i_arg, n_arg)
#define V0(n)
#define V1(n) V(0, n)
#define V2(n) V1(n) V(1, n)
#define V3(n) V2(n) V(2, n)
#define V4(n) V3(n) V(3, n)
#define V5(n) V4(n) V(4, n)
#define V6(n) V5(n) V(5, n)
#define V7(n) V6(n) V(6, n)
#define V8(n) V7(n) V(7, n)
#define V9(n) V8(n) V(8, n)
#define V10(n) V9(n) V(9, n)
#define V11(n) V10(n) V(10, n)
#define V12(n) V11(n) V(11, n)
#define V13(n) V12(n) V(12, n)
#define V14(n) V13(n) V(13, n)
#define V15(n) V14(n) V(14, n)
#define V16(n) V15(n) V(15, n)

/* Expands the arguments first. */
#define CALL(name_arg, ...) name_arg(__VA_ARGS__)
#define HANDLERS(n)                                                                                                    \
	static void short_##n(gasnet_token_t t P##n)                                                                   \
	{                                                                                                              \
		const gasnet_handlerarg_t a[] = {0 A##n};                                                              \
		check_args(a + 1, n);                                                                                  \
		source_of(t);                                                                                          \
		CHECK_OK(gasnet_AMReplyShort##n(t, H_SHORT_REPLY + n A##n));                                           \
	}                                                                                                              \
	static void short_reply_##n(gasnet_token_t t P##n)                                                             \
	{                                                                                                              \
		const gasnet_handlerarg_t a[] = {0 A##n};                                                              \
		check_args(a + 1, n);                                                                                  \
		CHECK(source_of(t) == peer);                                                                           \
		replies++;                                                                                             \
	}                                                                                                              \
	static void medium_##n(gasnet_token_t t, void *buf, size_t len P##n)                                           \
	{                                                                                                              \
		const gasnet_handlerarg_t a[] = {0 A##n};                                                              \
		check_args(a + 1, n);                                                                                  \
		CHECK((uintptr_t)buf % 16 == 0);                                                                       \
		check_payload(buf, len, n);                                                                            \
		CHECK_OK(gasnet_AMReplyMedium##n(t, H_MEDIUM_REPLY + n, buf, len A##n));                               \
		memset(buf, 0, len); /* we own it until we return */                                                   \
	}                                                                                                              \
	static void medium_reply_##n(gasnet_token_t t, void *buf, size_t len P##n)                                     \
	{                                                                                                              \
		const gasnet_handlerarg_t a[] = {0 A##n};                                                              \
		check_args(a + 1, n);                                                                                  \
		CHECK(source_of(t) == peer && len == nbytes && (uintptr_t)buf % 16 == 0);                              \
		check_payload(buf, len, n);                                                                            \
		replies++;                                                                                             \
	}                                                                                                              \
	static void long_##n(gasnet_token_t t, void *buf, size_t len P##n)                                             \
	{                                                                                                              \
		const gasnet_handlerarg_t a[] = {0 A##n};                                                              \
		const gasnet_node_t s = source_of(t);                                                                  \
		check_args(a + 1, n);                                                                                  \
		CHECK(!len || (char *)buf == test_at(gasnet_mynode(), LONG_REQUEST_AT(s)));                            \
		check_payload(buf, len, n);                                                                            \
		CHECK_OK(gasnet_AMReplyLong##n(t, H_LONG_REPLY + n, buf, len,                                          \
					       test_at(s, LONG_REPLY_AT(gasnet_mynode())) A##n));                      \
	}                                                                                                              \
	static void long_reply_##n(gasnet_token_t t, void *buf, size_t len P##n)                                       \
	{                                                                                                              \
		const gasnet_handlerarg_t a[] = {0 A##n};                                                              \
		const gasnet_node_t s = source_of(t);                                                                  \
		check_args(a + 1, n);                                                                                  \
		CHECK(s == peer && len == nbytes);                                                                     \
		CHECK(!len || (char *)buf == test_at(gasnet_mynode(), LONG_REPLY_AT(s)));                              \
		check_payload(buf, len, n);                                                                            \
		replies++;                                                                                             \
	}                                                                                                              \
	static void ask_##n(void)                                                                                      \
	{                                                                                                              \
		const int before = replies;                                                                            \
		fill(payload, nbytes, n);                                                                              \
		CHECK_OK(gasnet_AMRequestShort##n(peer, H_SHORT + n V##n(n)));                                         \
		CHECK_OK(gasnet_AMRequestMedium##n(peer, H_MEDIUM + n, payload, nbytes V##n(n)));                      \
		GASNET_BLOCKUNTIL(replies == before + 2);                                                              \
		CHECK_OK(gasnet_AMRequestLong##n(peer, H_LONG + n, payload, nbytes,                                    \
						 test_at(peer, LONG_REQUEST_AT(gasnet_mynode())) V##n(n)));            \
		GASNET_BLOCKUNTIL(replies == before + 3);                                                              \
		CHECK_OK(gasnet_AMRequestLongAsync##n(peer, H_LONG + n, payload, nbytes,                               \
						      test_at(peer, LONG_REQUEST_AT(gasnet_mynode())) V##n(n)));       \
		GASNET_BLOCKUNTIL(replies == before + 4);                                                              \
		char *dst = test_at(peer, LONG_REQUEST_AT(gasnet_mynode()));                                           \
		CHECK_OK(CALL(gasnet_AMRequestShort, peer, H_SHORT + n, n V##n(n)));                                   \
		CHECK_OK(CALL(gasnet_AMRequestMedium, peer, H_MEDIUM + n, payload, nbytes, n V##n(n)));                \
		GASNET_BLOCKUNTIL(replies == before + 6);                                                              \
		CHECK_OK(CALL(gasnet_AMRequestLong, peer, H_LONG + n, payload, nbytes, dst, n V##n(n)));               \
		GASNET_BLOCKUNTIL(replies == before + 7);                                                              \
		CHECK_OK(CALL(gasnet_AMRequestLongAsync, peer, H_LONG + n, payload, nbytes, dst, n V##n(n)));          \
		GASNET_BLOCKUNTIL(replies == before + 8);                                                              \
	}
#define EACH(x) x(0) x(1) x(2) x(3) x(4) x(5) x(6) x(7) x(8) x(9) x(10) x(11) x(12) x(13) x(14) x(15) x(16)
EACH(HANDLERS)

#define FN(name_arg) ((gasneti_handler_fn)(void *)(name_arg))
#define ENTRIES(n)                                                                                                     \
	{H_SHORT + n, FN(short_##n)}, {H_MEDIUM + n, FN(medium_##n)}, {H_LONG + n, FN(long_##n)},                      \
		{H_SHORT_REPLY + n, FN(short_reply_##n)}, {H_MEDIUM_REPLY + n, FN(medium_reply_##n)},                  \
		{H_LONG_REPLY + n, FN(long_reply_##n)},
#define ASK(n) ask_##n();

/* A handler's wrong calls are refused, and do no harm to the right one after them. */
static void refuse(gasnet_token_t t)
{
	char *beyond = test_at(source_of(t), SEGMENT);
	CHECK(gasnet_AMRequestMedium0(gasnet_mynode(), H_MEDIUM, payload, 1) == GASNET_ERR_BAD_ARG);
	CHECK(gasnet_AMReplyMedium(t, H_MEDIUM_REPLY, payload, gasnet_AMMaxMedium() + 1, 0) == GASNET_ERR_BAD_ARG);
	CHECK(gasnet_AMReplyLong(t, H_LONG_REPLY, payload, 8, beyond, 0) == GASNET_ERR_BAD_ARG);
	CHECK_OK(gasnet_AMReplyShort(t, H_REFUSE_REPLY, 0)); /* with the number as an argument */
	CHECK(gasnet_AMReplyShort0(t, H_REFUSE_REPLY) == GASNET_ERR_BAD_ARG);
}

static void refuse_reply(gasnet_token_t t)
{
	CHECK(gasnet_AMReplyShort0(t, H_REFUSE_REPLY) == GASNET_ERR_BAD_ARG); /* a reply cannot be replied to */
	async_replies++;
}

static void test_refusals(void)
{
	CHECK(gasnet_AMRequestShort0(gasnet_nodes(), H_SHORT) == GASNET_ERR_BAD_ARG);
	CHECK(gasnet_AMRequestMedium0(peer, H_MEDIUM, payload, gasnet_AMMaxMedium() + 1) == GASNET_ERR_BAD_ARG);
	CHECK(gasnet_AMRequestLong0(peer, H_LONG, payload, 8, test_at(peer, SEGMENT - 7)) == GASNET_ERR_BAD_ARG);
	CHECK(gasnet_AMGetMsgSource(NULL, &peer) == GASNET_ERR_BAD_ARG);
	const int before = async_replies;
	CHECK_OK(gasnet_AMRequestShort0(peer, H_REFUSE));
	GASNET_BLOCKUNTIL(async_replies == before + 1);
}

int main(int argc, char **argv)
{
	gasnet_handlerentry_t table[] = {EACH(ENTRIES){H_REFUSE, FN(refuse)}, {H_REFUSE_REPLY, FN(refuse_reply)}};
	test_start(&argc, &argv, table, sizeof table / sizeof *table, SEGMENT);
	CHECK(gasnet_AMMaxArgs() == 16 && gasnet_AMMaxMedium() >= 512);
	CHECK(gasnet_AMMaxLongRequest() >= SEGMENT && gasnet_AMMaxLongReply() >= SEGMENT);
	payload = malloc(gasnet_AMMaxMedium() + 1);
	CHECK(payload);
	const size_t sizes[] = {0,  1,  7,  8,  24,  25,   56,   57,    64,
				72, 73, 80, 81, 100, 1000, 4096, 16384, gasnet_AMMaxMedium()};
	for (gasnet_node_t i = 0; i < gasnet_nodes(); i++) {
		peer = (gasnet_mynode() + i) % gasnet_nodes();
		for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
			nbytes = sizes[s];
			EACH(ASK)
		}
		test_refusals();
	}
	test_barrier();
	if (gasnet_mynode() == 0)
		printf("active messages: %d nodes, %d replies: ok\n", (int)gasnet_nodes(), replies);
	free(payload);
	test_end();
}
