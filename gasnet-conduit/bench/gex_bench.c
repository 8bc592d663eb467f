/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Times of GASNet-EX's calls between node 0 and the last node, and of collectives of all; in PAR mode also of floods by
 * several threads of node 0.
 *
 * 	gex_bench [scale [part of a row's name]]
 */
#include "bench.h"

#include <gasnet_coll.h>
#include <gasnet_ratomic.h>

enum { H_PING = 128, H_PONG, H_ONE, H_MEDIUM, H_MEDIUM_PONG, H_ONE_MEDIUM, H_THREAD_PING, H_THREAD_PONG };
enum { MOST_THREADS = 4 };

static volatile long pongs;
static volatile long thread_pongs[MOST_THREADS][16]; /* a cache line each */
static gex_TM_t team;
static gex_AD_t domain;
static size_t bytes; /* not a constant: the compiler must not see the length */
/* Fetched values go here; not static, or a compiler that sees everything leaves them out. */
extern uint64_t gex_bench_before;
uint64_t gex_bench_before;

/* --- handlers ----------------------------------------------------------------------------------------------------- */

static void ping(gex_Token_t t)
{
	gex_AM_ReplyShort0(t, H_PONG, 0);
}
static void pong(gex_Token_t t)
{
	(void)t;
	pongs++;
}
static void one(gex_Token_t t)
{
	(void)t;
}
static void medium(gex_Token_t t, void *buf, size_t n)
{
	read_payload(buf, n);
	gex_AM_ReplyMedium0(t, H_MEDIUM_PONG, reply_buffer, n, GEX_EVENT_NOW, 0);
}
static void medium_pong(gex_Token_t t, void *buf, size_t n)
{
	(void)t;
	read_payload(buf, n);
	pongs++;
}
static void one_medium(gex_Token_t t, void *buf, size_t n)
{
	(void)t;
	read_payload(buf, n);
}
static void thread_ping(gex_Token_t t, gex_AM_Arg_t thread)
{
	gex_AM_ReplyShort1(t, H_THREAD_PONG, 0, thread);
}
static void thread_pong(gex_Token_t t, gex_AM_Arg_t thread)
{
	(void)t;
	thread_pongs[thread][0]++;
}

/* --- active messages ---------------------------------------------------------------------------------------------- */

static void short_round_trip(long n)
{
	for (long i = 0; i < n; i++) {
		const long want = pongs + 1;
		gex_AM_RequestShort0(team, other, H_PING, 0);
		GASNET_BLOCKUNTIL(pongs == want);
	}
}
static void medium_round_trip(long n)
{
	for (long i = 0; i < n; i++) {
		const long want = pongs + 1;
		gex_AM_RequestMedium0(team, other, H_MEDIUM, buffer, bytes, GEX_EVENT_NOW, 0);
		GASNET_BLOCKUNTIL(pongs == want);
	}
}
static void long_round_trip(long n)
{
	for (long i = 0; i < n; i++) {
		const long want = pongs + 1;
		gex_AM_RequestLong0(team, other, H_MEDIUM, buffer, bytes, TARGET, GEX_EVENT_NOW, 0);
		GASNET_BLOCKUNTIL(pongs == want);
	}
}
/* The payload is made where the library wants it, as a client of these calls does. */
static void send_prepared(gex_AM_Index_t handler)
{
	const gex_AM_SrcDesc_t sd = gex_AM_PrepareRequestMedium(team, other, NULL, bytes, bytes, NULL, 0, 0);
	memset(gex_AM_SrcDescAddr(sd), 7, bytes);
	gex_AM_CommitRequestMedium0(sd, handler, bytes);
}
static void prepared_round_trip(long n)
{
	for (long i = 0; i < n; i++) {
		const long want = pongs + 1;
		send_prepared(H_MEDIUM);
		GASNET_BLOCKUNTIL(pongs == want);
	}
}

/* Floods end when the last message was handled: it is answered. */
static void last_is_answered(void)
{
	const long want = pongs + 1;
	gex_AM_RequestShort0(team, other, H_PING, 0);
	GASNET_BLOCKUNTIL(pongs == want);
}
static void short_flood(long n)
{
	for (long i = 0; i < n; i++)
		gex_AM_RequestShort0(team, other, H_ONE, 0);
	last_is_answered();
}
static void medium_flood(long n)
{
	for (long i = 0; i < n; i++)
		gex_AM_RequestMedium0(team, other, H_ONE_MEDIUM, buffer, bytes, GEX_EVENT_NOW, 0);
	last_is_answered();
}
static void long_flood(long n)
{
	for (long i = 0; i < n; i++)
		gex_AM_RequestLong0(team, other, H_ONE_MEDIUM, buffer, bytes, TARGET, GEX_EVENT_NOW, 0);
	last_is_answered();
}
static void prepared_flood(long n)
{
	for (long i = 0; i < n; i++)
		send_prepared(H_ONE_MEDIUM);
	last_is_answered();
}
static void poll_nothing(long n)
{
	for (long i = 0; i < n; i++)
		gasnet_AMPoll();
}

/* --- put, get, atomics -------------------------------------------------------------------------------------------- */

/* What a loop repeats is the call: where it goes was read before, as in programs that keep that in local variables. */
static void put_8(long n)
{
	const gex_TM_t tm = team;
	const gex_Rank_t rank = other;
	char *const target = TARGET;
	for (long i = 0; i < n; i++) {
		gex_RMA_PutBlocking(tm, rank, target, buffer, 8, 0);
		EACH();
	}
}
static void put_nbi_8(long n)
{
	const gex_TM_t tm = team;
	const gex_Rank_t rank = other;
	char *const target = TARGET;
	for (long i = 0; i < n; i++) {
		gex_RMA_PutNBI(tm, rank, target, buffer, 8, GEX_EVENT_NOW, 0);
		EACH();
	}
	gex_NBI_Wait(GEX_EC_ALL, 0);
}
static void get_8(long n)
{
	const gex_TM_t tm = team;
	const gex_Rank_t rank = other;
	char *const target = TARGET;
	for (long i = 0; i < n; i++) {
		gex_RMA_GetBlocking(tm, buffer, rank, target, 8, 0);
		EACH();
	}
}
static void put_bytes(long n)
{
	const gex_TM_t tm = team;
	const gex_Rank_t rank = other;
	char *const target = TARGET;
	const size_t len = bytes;
	for (long i = 0; i < n; i++) {
		gex_RMA_PutBlocking(tm, rank, target, buffer, len, 0);
		EACH();
	}
}
static void get_bytes(long n)
{
	const gex_TM_t tm = team;
	const gex_Rank_t rank = other;
	char *const target = TARGET;
	const size_t len = bytes;
	for (long i = 0; i < n; i++) {
		gex_RMA_GetBlocking(tm, buffer, rank, target, len, 0);
		EACH();
	}
}
static void wait_nbi(long n)
{
	for (long i = 0; i < n; i++)
		gex_NBI_Wait(GEX_EC_ALL, 0);
}
static void fetch_add(long n)
{
	const gex_AD_t ad = domain;
	const gex_Rank_t rank = other;
	char *const target = TARGET;
	for (long i = 0; i < n; i++)
		gex_Event_Wait(gex_AD_OpNB_U64(ad, &gex_bench_before, rank, target, GEX_OP_FADD, 1, 0, 0));
}
static void add(long n)
{
	const gex_AD_t ad = domain;
	const gex_Rank_t rank = other;
	char *const target = TARGET;
	for (long i = 0; i < n; i++)
		gex_AD_OpNBI_U64(ad, NULL, rank, target, GEX_OP_ADD, 1, 0, 0);
	gex_NBI_Wait(GEX_EC_ALL, 0);
}

/* --- collectives -------------------------------------------------------------------------------------------------- */

static void barriers(long n)
{
	for (long i = 0; i < n; i++)
		gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
}
static void broadcasts(long n)
{
	for (long i = 0; i < n; i++)
		gex_Event_Wait(gex_Coll_BroadcastNB(team, 0, buffer, reply_buffer, bytes, 0));
}
static void reductions_to_one(long n)
{
	for (long i = 0; i < n; i++)
		gex_Event_Wait(gex_Coll_ReduceToOneNB(team, 0, buffer, reply_buffer, GEX_DT_U64, 8, bytes / 8,
						      GEX_OP_ADD, NULL, NULL, 0));
}
static void reductions_to_all(long n)
{
	for (long i = 0; i < n; i++)
		gex_Event_Wait(gex_Coll_ReduceToAllNB(team, buffer, reply_buffer, GEX_DT_U64, 8, bytes / 8, GEX_OP_ADD,
						      NULL, NULL, 0));
}

/* --- floods by threads -------------------------------------------------------------------------------------------- */

#ifdef GASNET_PAR
#include <pthread.h>

static struct {
	int threads;
	long each;
	void (*send)(void);
	pthread_barrier_t begin, end;
} flood;

static void send_short(void)
{
	gex_AM_RequestShort0(team, other, H_ONE, 0);
}
static void send_medium(void)
{
	gex_AM_RequestMedium0(team, other, H_ONE_MEDIUM, buffer, bytes, GEX_EVENT_NOW, 0);
}
static void send_a_prepared(void)
{
	send_prepared(H_ONE_MEDIUM);
}

static void *sender(void *argument)
{
	const int thread = (int)(long)argument;
	for (;;) {
		pthread_barrier_wait(&flood.begin);
		if (flood.each < 0)
			return NULL;
		const long want = thread_pongs[thread][0] + 1;
		for (long i = 0; i < flood.each; i++)
			flood.send();
		gex_AM_RequestShort1(team, other, H_THREAD_PING, 0, thread);
		GASNET_BLOCKUNTIL(thread_pongs[thread][0] == want);
		pthread_barrier_wait(&flood.end);
	}
}

static void threads_flood(long n)
{
	flood.each = n / flood.threads + 1;
	pthread_barrier_wait(&flood.begin);
	pthread_barrier_wait(&flood.end);
}

static void measure_threads(int threads, const char *what, void (*send)(void), long n)
{
	char name[64];
	pthread_t ids[MOST_THREADS];
	snprintf(name, sizeof name, "%s, %d threads", what, threads);
	flood.threads = threads;
	flood.send = send;
	if (me == 0) {
		pthread_barrier_init(&flood.begin, NULL, (unsigned)threads + 1);
		pthread_barrier_init(&flood.end, NULL, (unsigned)threads + 1);
		for (long i = 0; i < threads; i++)
			pthread_create(&ids[i], NULL, sender, (void *)i);
	}
	measure(name, threads_flood, n, 0, 0);
	if (me != 0)
		return;
	flood.each = -1;
	pthread_barrier_wait(&flood.begin);
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	pthread_barrier_destroy(&flood.begin);
	pthread_barrier_destroy(&flood.end);
}

static void measure_all_threads(void)
{
	for (int threads = 2; threads <= MOST_THREADS; threads *= 2) {
		measure_threads(threads, "short flood", send_short, 50000);
		bytes = 64;
		measure_threads(threads, "medium 64 B flood", send_medium, 50000);
		measure_threads(threads, "prepared 64 B flood", send_a_prepared, 50000);
		bytes = 1024;
		measure_threads(threads, "medium 1 KiB flood", send_medium, 20000);
		measure_threads(threads, "prepared 1 KiB flood", send_a_prepared, 20000);
	}
}
#endif

static void measure_messages(void)
{
	measure("short round trip", short_round_trip, 20000, 0, 0);
	measure("short flood", short_flood, 50000, 0, 0);
	bytes = 64;
	measure("medium 64 B round trip", medium_round_trip, 20000, 0, 0);
	measure("medium 64 B flood", medium_flood, 50000, 0, 0);
	measure("prepared 64 B round trip", prepared_round_trip, 20000, 0, 0);
	measure("prepared 64 B flood", prepared_flood, 50000, 0, 0);
	bytes = 1024;
	measure("medium 1 KiB round trip", medium_round_trip, 10000, 0, 0);
	measure("medium 1 KiB flood", medium_flood, 20000, 0, 0);
	measure("prepared 1 KiB round trip", prepared_round_trip, 10000, 0, 0);
	measure("prepared 1 KiB flood", prepared_flood, 20000, 0, 0);
	measure("long 1 KiB round trip", long_round_trip, 10000, 0, 0);
	measure("long 1 KiB flood", long_flood, 20000, 0, 0);
	measure("poll, nothing there", poll_nothing, 1000000, 0, 0);
}

static void measure_transfers(void)
{
	char name[40];
	measure("put 8 B", put_8, 1000000, 0, 0);
	measure("put NBI 8 B", put_nbi_8, 1000000, 0, 0);
	measure("get 8 B", get_8, 1000000, 0, 0);
	measure("NBI wait, nothing open", wait_nbi, 1000000, 0, 0);
	measure("atomic fetch and add", fetch_add, 200000, 0, 0);
	measure("atomic add NBI", add, 200000, 0, 0);
	for (bytes = 64; bytes <= 1 << 20; bytes *= 16) {
		snprintf(name, sizeof name, "put %zu B", bytes);
		measure(name, put_bytes, (long)((64u << 20) / (bytes + 256)) + 4, 0, bytes);
		snprintf(name, sizeof name, "get %zu B", bytes);
		measure(name, get_bytes, (long)((64u << 20) / (bytes + 256)) + 4, 0, bytes);
	}
}

static void measure_collectives(void)
{
	char name[40];
	measure("barrier", barriers, 20000, 1, 0);
	for (bytes = 8; bytes <= 32768; bytes *= 64) {
		const long n = (long)(20000 / (1 + bytes / 1024));
		snprintf(name, sizeof name, "broadcast %zu B", bytes);
		measure(name, broadcasts, n, 1, 0);
		snprintf(name, sizeof name, "reduce to one %zu B", bytes);
		measure(name, reductions_to_one, n, 1, 0);
		snprintf(name, sizeof name, "reduce to all %zu B", bytes);
		measure(name, reductions_to_all, n, 1, 0);
	}
}

int main(int argc, char **argv)
{
	typedef void (*fn)();
	gasnet_handlerentry_t table[] = {{H_PING, (fn)(void *)ping},
					 {H_PONG, (fn)(void *)pong},
					 {H_ONE, (fn)(void *)one},
					 {H_MEDIUM, (fn)(void *)medium},
					 {H_MEDIUM_PONG, (fn)(void *)medium_pong},
					 {H_ONE_MEDIUM, (fn)(void *)one_medium},
					 {H_THREAD_PING, (fn)(void *)thread_ping},
					 {H_THREAD_PONG, (fn)(void *)thread_pong}};
	bench_start(argc, argv, table, 8);
	gasnet_QueryGexObjects(NULL, NULL, &team, NULL);
	gex_AD_Create(&domain, team, GEX_DT_U64, GEX_OP_ADD | GEX_OP_FADD, 0);
	measure_messages();
#ifdef GASNET_PAR
	measure_all_threads();
#endif
	measure_transfers();
	measure_collectives();
	gex_AD_Destroy(domain);
	meet();
	gasnet_exit(0);
}
