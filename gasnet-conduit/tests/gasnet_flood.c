/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Floods: every node sends requests to all nodes without waiting, each gets a reply, and at the end every node has
 * handled all its messages and has all its replies. run_jobs.sh also runs it with rings of 16 slots and 2 eager
 * buffers, where both directions are full all the time.
 */
#include "gasnet_test.h"

#define SEGMENT (8u << 20)
enum { H_SHORT = 128, H_MEDIUM, H_LONG, H_SILENT, H_SHORT_REPLY, H_MEDIUM_REPLY, H_LONG_REPLY };

static volatile long handled, silent, answered;
static volatile long long sum; /* of the first arguments */

static void short_request(gasnet_token_t t, gasnet_handlerarg_t a, gasnet_handlerarg_t b)
{
	CHECK(b == ~a);
	handled++;
	sum += a;
	CHECK_OK(gasnet_AMReplyShort2(t, H_SHORT_REPLY, a, b));
}

static void medium_request(gasnet_token_t t, void *buf, size_t n, gasnet_handlerarg_t a)
{
	for (size_t i = 0; i < n; i++)
		CHECK(((unsigned char *)buf)[i] == (unsigned char)(a + i));
	handled++;
	sum += a;
	CHECK_OK(gasnet_AMReplyMedium1(t, H_MEDIUM_REPLY, buf, n, a));
}

static void long_request(gasnet_token_t t, void *buf, size_t n, gasnet_handlerarg_t a)
{
	gasnet_node_t s;
	CHECK(((unsigned char *)buf)[0] == (unsigned char)a && ((unsigned char *)buf)[n - 1] == (unsigned char)a);
	CHECK_OK(gasnet_AMGetMsgSource(t, &s));
	handled++;
	sum += a;
	CHECK_OK(gasnet_AMReplyLong1(t, H_LONG_REPLY, buf, n,
				     test_at(s, SEGMENT / 2 + gasnet_mynode() * 1024 + (size_t)a % 1024), a));
}

static void silent_request(gasnet_token_t t, gasnet_handlerarg_t a)
{
	(void)t;
	silent++;
	sum += a;
}

static void short_reply(gasnet_token_t t, gasnet_handlerarg_t a, gasnet_handlerarg_t b)
{
	(void)t;
	CHECK(b == ~a);
	answered++;
}

static void medium_reply(gasnet_token_t t, void *buf, size_t n, gasnet_handlerarg_t a)
{
	(void)t;
	for (size_t i = 0; i < n; i++)
		CHECK(((unsigned char *)buf)[i] == (unsigned char)(a + i));
	answered++;
}

static void long_reply(gasnet_token_t t, void *buf, size_t n, gasnet_handlerarg_t a)
{
	(void)t;
	CHECK(n == 1 && *(unsigned char *)buf == (unsigned char)a);
	answered++;
}

int main(int argc, char **argv)
{
#define FN(name_arg) ((gasneti_handler_fn)(void *)(name_arg))
	gasnet_handlerentry_t table[] = {{H_SHORT, FN(short_request)},     {H_MEDIUM, FN(medium_request)},
					 {H_LONG, FN(long_request)},       {H_SILENT, FN(silent_request)},
					 {H_SHORT_REPLY, FN(short_reply)}, {H_MEDIUM_REPLY, FN(medium_reply)},
					 {H_LONG_REPLY, FN(long_reply)}};
	test_start(&argc, &argv, table, sizeof table / sizeof *table, SEGMENT);
	const int rounds = argc > 1 ? atoi(argv[1]) : 1000;
	const size_t sizes[] = {0, 40, 200, 3000, gasnet_AMMaxMedium()};
	unsigned char *payload = malloc(gasnet_AMMaxMedium());
	static unsigned char line[1024];
	CHECK(payload && rounds > 0);
	long long expected = 0;
	for (int i = 0; i < rounds; i++) {
		const size_t n = sizes[(i * 7 + (int)gasnet_mynode()) % 5];
		for (size_t k = 0; k < n; k++)
			payload[k] = (unsigned char)((size_t)i + k);
		memset(line, i, sizeof line);
		expected += 4 * i * (long long)gasnet_nodes();
		for (gasnet_node_t d = 0; d < gasnet_nodes(); d++) {
			/* mostly short ones; all nodes target the same node */
			const gasnet_node_t dest = (d + (gasnet_node_t)i) % gasnet_nodes();
			CHECK_OK(gasnet_AMRequestShort2(dest, H_SHORT, i, ~i));
			CHECK_OK(gasnet_AMRequestShort1(dest, H_SILENT, i));
			CHECK_OK(gasnet_AMRequestMedium1(dest, H_MEDIUM, payload, n, i));
			/* the place in the target is our own, but earlier data may still be read: the bytes are the
			 * same in all rounds of a place */
			CHECK_OK(gasnet_AMRequestLong1(
				dest, H_LONG, line, 1,
				test_at(dest, ((size_t)gasnet_mynode() * 1024 + (size_t)i % 1024)), i));
		}
		if (i % 256 == 255) /* a long message's place is reused after 1024 rounds */
			GASNET_BLOCKUNTIL(answered == 3L * (i + 1) * (long)gasnet_nodes());
	}
	GASNET_BLOCKUNTIL(answered == 3L * rounds * (long)gasnet_nodes());
	GASNET_BLOCKUNTIL(handled == 3L * rounds * (long)gasnet_nodes());
	GASNET_BLOCKUNTIL(silent == (long)rounds * (long)gasnet_nodes());
	CHECK(sum == expected);
	test_barrier();
	CHECK(handled == 3L * rounds * (long)gasnet_nodes());
	if (gasnet_mynode() == 0)
		printf("flood: %d nodes, %ld replies: ok\n", (int)gasnet_nodes(), answered);
	free(payload);
	test_end();
}
