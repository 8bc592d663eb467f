/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gasnet_stats [exit | crash]: a fixed number of GASNet-1 calls of every family on each node, all to the next node;
 * run_stats.sh knows the expected counts.  exit: then node 1 leaves with status 5 while the others poll.  crash: it
 * dies instead.
 */
#include "gasnet_test.h"

enum { kShort = 200, kMedium, kLong, kShortBack, kMediumBack, kLongBack };

static volatile int answers;

static void short_request(gasnet_token_t token, gasnet_handlerarg_t a, gasnet_handlerarg_t b)
{
	CHECK_OK(gasnet_AMReplyShort1(token, kShortBack, a + b));
}
static void medium_request(gasnet_token_t token, void *data, size_t bytes)
{
	CHECK_OK(gasnet_AMReplyMedium0(token, kMediumBack, data, bytes));
}
static void long_request(gasnet_token_t token, void *data, size_t bytes)
{
	gasnet_node_t source;
	CHECK_OK(gasnet_AMGetMsgSource(token, &source));
	CHECK_OK(gasnet_AMReplyLong0(token, kLongBack, data, bytes, test_at(source, 8192)));
}
static void short_answer(gasnet_token_t token, gasnet_handlerarg_t sum)
{
	(void)token;
	CHECK_EQ(sum, 7);
	answers++;
}
static void long_answer(gasnet_token_t token, void *data, size_t bytes)
{
	(void)token, (void)data, (void)bytes;
	answers++;
}

static void transfers(gasnet_node_t next)
{
	char *const there = test_at(next, 0);
	char bytes[128] = "seen";
	gasnet_handle_t handles[2];
	for (int i = 0; i < 3; i++)
		gasnet_put(next, there, bytes, 40);
	gasnet_put_val(next, there + 64, 5, 4);
	for (int i = 0; i < 2; i++)
		handles[i] = gasnet_put_nb(next, there + 128 + 8 * i, bytes, 8);
	gasnet_wait_syncnb(handles[0]);
	gasnet_wait_syncnb(handles[1]);
	gasnet_put_nbi_bulk(next, there + 256, bytes, 100);
	gasnet_put_nbi(next, there + 512, bytes, 100);
	gasnet_wait_syncnbi_puts();
	for (int i = 0; i < 5; i++)
		gasnet_get(bytes, next, there, 16);
	CHECK_EQ(strcmp(bytes, "seen"), 0);
	CHECK_EQ(gasnet_get_val(next, there + 64, 4), 5);
	CHECK_EQ(gasnet_get_val(next, there + 256, 3), 's' | 'e' << 8 | 'e' << 16);
	gasnet_wait_syncnb(gasnet_get_nb_bulk(bytes, next, there, 32));
	gasnet_get_nbi(bytes, next, there + 128, 8);
	gasnet_wait_syncnbi_all();
	gasnet_memset(next, there + 1024, 7, 64);
	const gasnet_memvec_t dst[] = {{there + 2048, 16}, {there + 3072, 8}}, src[] = {{bytes, 24}};
	gasnet_putv_bulk(next, 2, dst, 1, src);
	const size_t strides[] = {16}, count[] = {4, 3};
	gasnet_gets_bulk(bytes, strides, next, there, strides, count, 1);
}

static void messages(gasnet_node_t next)
{
	static char data[60];
	int looks = 0;
	answers = 0;
	for (int i = 0; i < 3; i++)
		CHECK_OK(gasnet_AMRequestShort2(next, kShort, 3, 4));
	for (int i = 0; i < 2; i++)
		CHECK_OK(gasnet_AMRequestMedium0(next, kMedium, data, 50));
	CHECK_OK(gasnet_AMRequestLong0(next, kLong, data, 60, test_at(next, 4096)));
	GASNET_BLOCKUNTIL(looks++ && answers == 6); /* waits at least once */
}

int main(int argc, char **argv)
{
	gasnet_handlerentry_t table[] = {
		{kShort, (void (*)())short_request},    {kMedium, (void (*)())medium_request},
		{kLong, (void (*)())long_request},      {kShortBack, (void (*)())short_answer},
		{kMediumBack, (void (*)())long_answer}, {kLongBack, (void (*)())long_answer},
	};
	const char *const what = argc > 1 ? argv[1] : "";
	test_start(&argc, &argv, table, 6, 65536);
	const gasnet_node_t next = (gasnet_mynode() + 1) % gasnet_nodes();
	test_barrier();
	transfers(next);
	messages(next);
	for (int i = 0; i < 7; i++)
		gasnet_AMPoll();
	test_barrier();
	if (*what) {
		if (gasnet_mynode() == 1 && strcmp(what, "crash") == 0)
			abort();
		if (gasnet_mynode() == 1)
			gasnet_exit(5);
		for (;;)
			gasnet_AMPoll();
	}
	if (gasnet_mynode() == 0)
		puts("gasnet_stats: ok");
	gasnet_exit(0);
}
