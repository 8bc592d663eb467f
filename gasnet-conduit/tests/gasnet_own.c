/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of a node to itself: requests and replies run their handlers in the call that sends them, on a copy. No poll
 * is needed: with threads (PAR) each of them sends and then waits for the others, none of which polls.
 */
#include "gasnet_test.h"

#define SEGMENT (1u << 20)
#define THREADS 4
enum { H_SHORT = 128, H_SHORT_REPLY, H_MEDIUM, H_MEDIUM_REPLY, H_LONG, H_LONG_REPLY, H_WRONG, H_ONE };

static int shorts, short_replies, mediums, medium_replies, longs, long_replies, wrongs;

static void check_here(gasnet_token_t t)
{
	gasnet_node_t source = 77777;
	CHECK_OK(gasnet_AMGetMsgSource(t, &source));
	CHECK(source == gasnet_mynode());
}

static void short_request(gasnet_token_t t, gasnet_handlerarg_t a, gasnet_handlerarg_t b)
{
	check_here(t);
	CHECK(b == a + 1);
	shorts++;
	CHECK_OK(gasnet_AMReplyShort1(t, H_SHORT_REPLY, a));
	CHECK(short_replies == shorts); /* it ran inside the reply */
	CHECK(gasnet_AMReplyShort1(t, H_SHORT_REPLY, a) == GASNET_ERR_BAD_ARG);
}

static void short_reply(gasnet_token_t t, gasnet_handlerarg_t a)
{
	check_here(t);
	CHECK(a == 5);
	short_replies++;
	CHECK(gasnet_AMReplyShort0(t, H_ONE) == GASNET_ERR_BAD_ARG); /* to a reply */
}

/* Both handlers write into their buffers, which they own. */
static void medium_request(gasnet_token_t t, void *buf, size_t n, gasnet_handlerarg_t a, gasnet_handlerarg_t b,
			   gasnet_handlerarg_t c)
{
	check_here(t);
	CHECK((uintptr_t)buf % 16 == 0 && a == (int)n && b == 2 && c == 3);
	for (size_t i = 0; i < n; i++)
		CHECK(((unsigned char *)buf)[i] == (unsigned char)i);
	memset(buf, 1, n);
	mediums++;
	CHECK_OK(gasnet_AMReplyMedium0(t, H_MEDIUM_REPLY, buf, n));
	for (size_t i = 0; i < n; i++)
		CHECK(((unsigned char *)buf)[i] == 1);
}

static void medium_reply(gasnet_token_t t, void *buf, size_t n)
{
	check_here(t);
	CHECK((uintptr_t)buf % 16 == 0);
	for (size_t i = 0; i < n; i++)
		CHECK(((unsigned char *)buf)[i] == 1);
	memset(buf, 2, n);
	medium_replies++;
}

static void long_request(gasnet_token_t t, void *buf, size_t n, gasnet_handlerarg_t a)
{
	check_here(t);
	CHECK(buf == (void *)test_at(gasnet_mynode(), 4096) && a == 9);
	for (size_t i = 0; i < n; i++)
		CHECK(((unsigned char *)buf)[i] == (unsigned char)i);
	longs++;
	CHECK_OK(gasnet_AMReplyLong0(t, H_LONG_REPLY, buf, n, test_at(gasnet_mynode(), 4096 + 8))); /* they overlap */
}

static void long_reply(gasnet_token_t t, void *buf, size_t n)
{
	check_here(t);
	CHECK(buf == (void *)test_at(gasnet_mynode(), 4096 + 8));
	for (size_t i = 0; i < n; i++)
		CHECK(((unsigned char *)buf)[i] == (unsigned char)i);
	long_replies++;
}

/* A handler must not send requests, not even to its own node, and this still holds after a reply in it has returned. */
static void wrong(gasnet_token_t t, void *buf, size_t n)
{
	CHECK_OK(gasnet_AMReplyMedium0(t, H_MEDIUM_REPLY, buf, n));
	CHECK(gasnet_AMRequestMedium0(gasnet_mynode(), H_WRONG, buf, n) == GASNET_ERR_BAD_ARG);
	wrongs++;
}

static void once(int round, unsigned char *bytes, size_t n)
{
	const gasnet_node_t me = gasnet_mynode();
	CHECK_OK(gasnet_AMRequestShort2(me, H_SHORT, 5, 6));
	CHECK(shorts == round && short_replies == round);
	for (size_t i = 0; i < n; i++)
		bytes[i] = (unsigned char)i;
	CHECK_OK(gasnet_AMRequestMedium3(me, H_MEDIUM, bytes, n, (int)n, 2, 3));
	CHECK(mediums == round);
	for (size_t i = 0; i < n; i++)
		CHECK(bytes[i] == (unsigned char)i); /* the handlers had copies */
	CHECK_OK(gasnet_AMRequestLong1(me, H_LONG, bytes, n, test_at(me, 4096), 9));
	CHECK(longs == round && long_replies == round);
	memset(bytes, 1, n);
	CHECK_OK(gasnet_AMRequestMedium0(me, H_WRONG, bytes, n));
	CHECK(wrongs == round && medium_replies == 2 * round);
	for (size_t i = 0; i < n; i++)
		CHECK(bytes[i] == 1);
}

#ifdef GASNET_PAR
static int arrived; /* threads whose message was handled */

static void one(gasnet_token_t t)
{
	(void)t;
	__atomic_fetch_add(&arrived, 1, __ATOMIC_RELEASE);
}

static void *send_one(void *barrier)
{
	for (int i = 0; i < 2000; i++)
		CHECK_OK(gasnet_AMRequestShort0(gasnet_mynode(), H_ONE));
	const int wait = pthread_barrier_wait(barrier); /* no thread polls */
	CHECK(wait == 0 || wait == PTHREAD_BARRIER_SERIAL_THREAD);
	CHECK(__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) == 2000 * THREADS);
	return NULL;
}

static void threads(void)
{
	pthread_barrier_t barrier;
	pthread_t list[THREADS];
	CHECK(pthread_barrier_init(&barrier, NULL, THREADS) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&list[i], NULL, send_one, &barrier) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(list[i], NULL) == 0);
}
#else
static void one(gasnet_token_t t)
{
	(void)t;
}
static void threads(void)
{
}
#endif

int main(int argc, char **argv)
{
#define FN(name_arg) ((gasneti_handler_fn)(void *)(name_arg))
	gasnet_handlerentry_t table[] = {{H_SHORT, FN(short_request)},   {H_SHORT_REPLY, FN(short_reply)},
					 {H_MEDIUM, FN(medium_request)}, {H_MEDIUM_REPLY, FN(medium_reply)},
					 {H_LONG, FN(long_request)},     {H_LONG_REPLY, FN(long_reply)},
					 {H_WRONG, FN(wrong)},           {H_ONE, FN(one)}};
	test_start(&argc, &argv, table, sizeof table / sizeof *table, SEGMENT);
	CHECK(gasnet_AMMaxLongRequest() == 0x7fffffff && gasnet_AMMaxLongReply() == 0x7fffffff);
	unsigned char *bytes = malloc(gasnet_AMMaxMedium());
	const size_t sizes[] = {0, 1, 16, 64, 72, 80, 300, 1000, 5000, gasnet_AMMaxMedium()};
	CHECK(bytes);
	for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++)
		once(i + 1, bytes, sizes[i]);
	threads();
	test_barrier();
	if (gasnet_mynode() == 0)
		printf("own: %d nodes: ok\n", (int)gasnet_nodes());
	free(bytes);
	test_end();
}
