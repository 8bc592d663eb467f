/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Times of GASNet-1's calls between node 0 and the last node, and of a barrier of all.
 *
 * 	gasnet_bench [scale [part of a row's name]]
 */
#include "bench.h"

enum { H_PING = 128, H_PONG, H_ONE, H_MEDIUM, H_MEDIUM_PONG, H_ONE_MEDIUM };

static volatile long pongs, ones;

static void ping(gasnet_token_t t)
{
	gasnet_AMReplyShort0(t, H_PONG);
}
static void pong(gasnet_token_t t)
{
	(void)t;
	pongs++;
}
static void one(gasnet_token_t t)
{
	(void)t;
	ones++;
}
static void medium(gasnet_token_t t, void *buf, size_t n)
{
	read_payload(buf, n);
	gasnet_AMReplyMedium0(t, H_MEDIUM_PONG, reply_buffer, n);
}
static void medium_pong(gasnet_token_t t, void *buf, size_t n)
{
	(void)t;
	read_payload(buf, n);
	pongs++;
}
static void one_medium(gasnet_token_t t, void *buf, size_t n)
{
	(void)t;
	read_payload(buf, n);
	ones++;
}

static void short_round_trip(long n)
{
	for (long i = 0; i < n; i++) {
		const long want = pongs + 1;
		gasnet_AMRequestShort0(other, H_PING);
		GASNET_BLOCKUNTIL(pongs == want);
	}
}
static void medium_round_trip(long n)
{
	for (long i = 0; i < n; i++) {
		const long want = pongs + 1;
		gasnet_AMRequestMedium0(other, H_MEDIUM, buffer, 1024);
		GASNET_BLOCKUNTIL(pongs == want);
	}
}
static void short_flood(long n) /* ends when the last was handled: it is answered */
{
	const long want = pongs + 1;
	for (long i = 0; i < n; i++)
		gasnet_AMRequestShort0(other, H_ONE);
	gasnet_AMRequestShort0(other, H_PING);
	GASNET_BLOCKUNTIL(pongs == want);
}
static void medium_flood(long n)
{
	const long want = pongs + 1;
	for (long i = 0; i < n; i++)
		gasnet_AMRequestMedium0(other, H_ONE_MEDIUM, buffer, 1024);
	gasnet_AMRequestShort0(other, H_PING);
	GASNET_BLOCKUNTIL(pongs == want);
}
static void put_8(long n)
{
	for (long i = 0; i < n; i++) {
		gasnet_put(other, TARGET, buffer, 8);
		EACH();
	}
}
static void put_nbi_8(long n)
{
	for (long i = 0; i < n; i++) {
		gasnet_put_nbi(other, TARGET, buffer, 8);
		EACH();
	}
	gasnet_wait_syncnbi_puts();
}
static void get_8(long n)
{
	for (long i = 0; i < n; i++) {
		gasnet_get(buffer, other, TARGET, 8);
		EACH();
	}
}
static size_t bytes; /* not a constant: the compiler must not see the length */
static void put_bulk(long n)
{
	for (long i = 0; i < n; i++) {
		gasnet_put_bulk(other, TARGET, buffer, bytes);
		EACH();
	}
}
static void get_bulk(long n)
{
	for (long i = 0; i < n; i++) {
		gasnet_get_bulk(buffer, other, TARGET, bytes);
		EACH();
	}
}
static void long_round_trip(long n)
{
	for (long i = 0; i < n; i++) {
		const long want = pongs + 1;
		gasnet_AMRequestLong0(other, H_MEDIUM, buffer, 1024, TARGET);
		GASNET_BLOCKUNTIL(pongs == want);
	}
}
static void poll_nothing(long n)
{
	for (long i = 0; i < n; i++)
		gasnet_AMPoll();
}
static void barriers(long n)
{
	for (long i = 0; i < n; i++)
		meet();
}

int main(int argc, char **argv)
{
	typedef void (*fn)();
	gasnet_handlerentry_t table[] = {{H_PING, (fn)(void *)ping},
					 {H_PONG, (fn)(void *)pong},
					 {H_ONE, (fn)(void *)one},
					 {H_MEDIUM, (fn)(void *)medium},
					 {H_MEDIUM_PONG, (fn)(void *)medium_pong},
					 {H_ONE_MEDIUM, (fn)(void *)one_medium}};
	bench_start(argc, argv, table, 6);
	measure("AM short round trip", short_round_trip, 20000, 0, 0);
	measure("AM short flood, each", short_flood, 50000, 0, 0);
	measure("AM medium 1 KiB round trip", medium_round_trip, 10000, 0, 0);
	measure("AM medium 1 KiB flood, each", medium_flood, 20000, 0, 0);
	measure("AM long 1 KiB round trip", long_round_trip, 10000, 0, 0);
	measure("AMPoll, nothing there", poll_nothing, 1000000, 0, 0);
	measure("put 8 B", put_8, 1000000, 0, 0);
	measure("put_nbi 8 B", put_nbi_8, 1000000, 0, 0);
	measure("get 8 B", get_8, 1000000, 0, 0);
	for (bytes = 64; bytes <= 1 << 20; bytes *= 16) {
		char name[40];
		snprintf(name, sizeof name, "put_bulk %zu B", bytes);
		measure(name, put_bulk, (long)((64u << 20) / (bytes + 256)) + 4, 0, bytes);
		snprintf(name, sizeof name, "get_bulk %zu B", bytes);
		measure(name, get_bulk, (long)((64u << 20) / (bytes + 256)) + 4, 0, bytes);
	}
	measure("barrier", barriers, 20000, 1, 0);
	meet();
	gasnet_exit(0);
}
