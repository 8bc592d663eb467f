/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads (PAR): several threads of each node send requests, some with prepared payload, wait for their own replies,
 * put and get, and poll at the same time; a handler-safe lock guards what handlers and threads both change.
 */
#include "gasnet_test.h"
#include <pthread.h>

#define SEGMENT (4u << 20)
#define THREADS 4
enum { H_ADD = 128, H_ADD_REPLY, H_ECHO, H_ECHO_REPLY };

static gasnet_hsl_t lock = GASNET_HSL_INITIALIZER;
static long guarded; /* two fields that must agree whenever the lock is free */
static long guarded_twice;
static gex_TM_t team;
static long replies[THREADS]; /* by thread; written with atomics, whichever thread's poll runs the handler */

static void add(gasnet_token_t t, gasnet_handlerarg_t thread)
{
	gasnet_hsl_lock(&lock);
	guarded++;
	guarded_twice += 2;
	gasnet_hsl_unlock(&lock);
	CHECK_OK(gasnet_AMReplyShort1(t, H_ADD_REPLY, thread));
}

static void add_reply(gasnet_token_t t, gasnet_handlerarg_t thread)
{
	(void)t;
	__atomic_fetch_add(&replies[thread], 1, __ATOMIC_RELEASE);
}

static void echo(gasnet_token_t t, void *buf, size_t n, gasnet_handlerarg_t thread, gasnet_handlerarg_t seed)
{
	CHECK_OK(gasnet_AMReplyMedium2(t, H_ECHO_REPLY, buf, n, thread, seed));
}

static void echo_reply(gasnet_token_t t, void *buf, size_t n, gasnet_handlerarg_t thread, gasnet_handlerarg_t seed)
{
	(void)t;
	for (size_t i = 0; i < n; i++)
		CHECK(((unsigned char *)buf)[i] == (unsigned char)(seed + (int)i));
	__atomic_fetch_add(&replies[thread], 1, __ATOMIC_RELEASE);
}

/* The payload is written in place at the target, while other threads do the same next to it. */
static void send_prepared(gasnet_node_t dest, const void *bytes, size_t n, gasnet_handlerarg_t thread,
			  gasnet_handlerarg_t seed)
{
	const gex_AM_SrcDesc_t sd = gex_AM_PrepareRequestMedium(team, dest, NULL, n, n, NULL, 0, 2);
	CHECK(gex_AM_SrcDescSize(sd) >= n);
	memcpy(gex_AM_SrcDescAddr(sd), bytes, n);
	gex_AM_CommitRequestMedium2(sd, H_ECHO, n, thread, seed);
}

static void *work(void *arg)
{
	const int thread = (int)(intptr_t)arg, rounds = 400;
	const gasnet_node_t nodes = gasnet_nodes();
	unsigned char bytes[5000];
	long sent = 0;
	for (int i = 0; i < rounds; i++) {
		const gasnet_node_t dest = (gasnet_mynode() + (gasnet_node_t)i) % nodes;
		CHECK_OK(gasnet_AMRequestShort1(dest, H_ADD, thread));
		const size_t n = (size_t)(i * 37) % sizeof bytes;
		for (size_t k = 0; k < n; k++)
			bytes[k] = (unsigned char)(i + (int)k);
		if (i / (int)nodes % 2) /* both ways to each node */
			CHECK_OK(gasnet_AMRequestMedium2(dest, H_ECHO, bytes, n, thread, i));
		else
			send_prepared(dest, bytes, n, thread, i);
		sent += 2;
		char *pos = test_at(dest, ((size_t)gasnet_mynode() * THREADS + (size_t)thread) * 8192);
		gasnet_put_bulk(dest, pos, bytes, n);
		gasnet_put_val(dest, pos + 8000, (gasnet_register_value_t)i, 8);
		CHECK(gasnet_get_val(dest, pos + 8000, 8) == (gasnet_register_value_t)i);
		unsigned char back[5000];
		gasnet_get_bulk(back, dest, pos, n);
		CHECK(memcmp(back, bytes, n) == 0);
		if (i % 16 == 0) {
			GASNET_BLOCKUNTIL(__atomic_load_n(&replies[thread], __ATOMIC_ACQUIRE) == sent);
			gasnet_hsl_lock(&lock);
			CHECK(2 * guarded == guarded_twice);
			gasnet_hsl_unlock(&lock);
		} else {
			gasnet_AMPoll();
		}
	}
	GASNET_BLOCKUNTIL(__atomic_load_n(&replies[thread], __ATOMIC_ACQUIRE) == sent);
	return NULL;
}

int main(int argc, char **argv)
{
#define FN(name_arg) ((gasneti_handler_fn)(void *)(name_arg))
	gasnet_handlerentry_t table[] = {
		{H_ADD, FN(add)}, {H_ADD_REPLY, FN(add_reply)}, {H_ECHO, FN(echo)}, {H_ECHO_REPLY, FN(echo_reply)}};
	test_start(&argc, &argv, table, 4, SEGMENT);
	gasnet_QueryGexObjects(NULL, NULL, &team, NULL);
	pthread_t threads[THREADS];
	for (int i = 1; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i) == 0);
	work(NULL);
	for (int i = 1; i < THREADS; i++) {
		while (__atomic_load_n(&replies[i], __ATOMIC_ACQUIRE) != 800)
			gasnet_AMPoll(); /* others still need our handlers */
		pthread_join(threads[i], NULL);
	}
	test_barrier();
	gasnet_hsl_lock(&lock);
	CHECK(guarded == 400L * THREADS && 2 * guarded == guarded_twice);
	gasnet_hsl_unlock(&lock);
	test_barrier();
	if (gasnet_mynode() == 0)
		printf("threads: %d nodes of %d threads: ok\n", (int)gasnet_nodes(), THREADS);
	test_end();
}
