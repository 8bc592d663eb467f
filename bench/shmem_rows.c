/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rows of shmem_bench. PE 0 is the origin, PE 1 the target. Every row ends with shmem_quiet or with the fetched
 * value, so that what is timed has arrived.
 */
#include "shmem_rows.h"

#include <string.h>

static long static_words[64];

/* --- one word ----------------------------------------------------------------------------------------------------- */

static void p_rate(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	int *dst = (int *)m->remote;
	(void)row;
	for (uint64_t i = 0; i < count; i++)
		shmem_int_p(dst + i % 1024, (int)i, 1);
	shmem_quiet();
}

static void p_quiet(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	long *dst = (long *)m->remote;
	(void)row;
	for (uint64_t i = 0; i < count; i++) {
		shmem_long_p(dst, (long)i, 1);
		shmem_quiet();
	}
}

static void p_fence(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	long *dst = (long *)m->remote;
	(void)row;
	for (uint64_t i = 0; i < count; i++) {
		shmem_long_p(dst, (long)i, 1);
		shmem_fence();
	}
	shmem_quiet();
}

static void quiet_alone(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	(void)m, (void)row;
	for (uint64_t i = 0; i < count; i++)
		shmem_quiet();
}

static void p_static(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	(void)m, (void)row;
	for (uint64_t i = 0; i < count; i++) {
		shmem_long_p(static_words, (long)i, 1);
		shmem_quiet();
	}
}

/* The next address depends on the last value, as in a list; all words of the target are zero here. */
static void g_latency(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	const long *src = m->words;
	(void)row;
	for (uint64_t i = 0; i < count; i++)
		src = m->words + shmem_long_g(src, 1);
	m->local[0] = (char)(src - m->words);
}

static void g_rate(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	const long *src = (const long *)m->remote;
	long sum = 0;
	(void)row;
	for (uint64_t i = 0; i < count; i++)
		sum += shmem_long_g(src + i % 512, 1);
	m->local[0] = (char)sum;
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */

static void put_blocks(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		const size_t pos = bench_step(row, i);
		shmem_putmem(m->remote + pos, m->local + pos, row->bytes, 1);
	}
	shmem_quiet();
}

void bench_put_nbi(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		const size_t pos = bench_step(row, i);
		shmem_putmem_nbi(m->remote + pos, m->local + pos, row->bytes, 1);
	}
	shmem_quiet();
}

static void get_blocks(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		const size_t pos = bench_step(row, i);
		shmem_getmem(m->local + pos, m->remote + pos, row->bytes, 1);
	}
}

/* --- atomics ------------------------------------------------------------------------------------------------------ */

static void add_rate(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	(void)row;
	for (uint64_t i = 0; i < count; i++)
		shmem_long_atomic_add(m->words + 2 * BENCH_LINE, 1, 1);
	shmem_quiet();
}

static void fetch_add(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	long sum = 0;
	(void)row;
	for (uint64_t i = 0; i < count; i++)
		sum += shmem_long_atomic_fetch_add(m->words + 3 * BENCH_LINE, 1, 1);
	m->local[0] = (char)sum;
}

static void fetch_add_static(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	long sum = 0;
	(void)row;
	for (uint64_t i = 0; i < count; i++)
		sum += shmem_long_atomic_fetch_add(static_words + 2 * BENCH_LINE, 1, 1);
	m->local[0] = (char)sum;
}

static void compare_swap(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	(void)row;
	long old = shmem_long_atomic_fetch(m->words + 4 * BENCH_LINE, 1);
	for (uint64_t i = 0; i < count; i++)
		old = shmem_long_atomic_compare_swap(m->words + 4 * BENCH_LINE, old, old + 1, 1) + 1;
}

static void swap(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	long old = 0;
	(void)row;
	for (uint64_t i = 0; i < count; i++)
		old = shmem_long_atomic_swap(m->words + 5 * BENCH_LINE, old + 1, 1);
}

/* Both PEs, on one word at PE 1. */
static void contend(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	long sum = 0;
	(void)row;
	for (uint64_t i = 0; i < count; i++)
		sum += shmem_long_atomic_fetch_add(m->words + 6 * BENCH_LINE, 1, 1);
	m->local[0] = (char)sum;
}

/* --- both sides --------------------------------------------------------------------------------------------------- */

static void ping(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	long *ball = m->words + 8 * BENCH_LINE;
	(void)row;
	for (uint64_t i = 0; i < count; i++) {
		shmem_long_p(ball, ++m->round, 1);
		shmem_long_wait_until(ball, SHMEM_CMP_EQ, m->round);
	}
}

static void pong(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	long *ball = m->words + 8 * BENCH_LINE;
	(void)row;
	for (uint64_t i = 0; i < count; i++) {
		shmem_long_wait_until(ball, SHMEM_CMP_EQ, ++m->round);
		shmem_long_p(ball, m->round, 0);
	}
}

/* Data, then a flag: the way programs build messages. */
static void send_to(struct bench_memory *m, size_t bytes, int pe)
{
	shmem_putmem(m->remote, m->local, bytes, pe);
	shmem_fence();
	shmem_long_p(m->words + 9 * BENCH_LINE, m->round, pe);
}

static void flag_ping(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		m->round++;
		send_to(m, row->bytes, 1);
		shmem_long_wait_until(m->words + 9 * BENCH_LINE, SHMEM_CMP_EQ, m->round);
	}
}

static void flag_pong(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		shmem_long_wait_until(m->words + 9 * BENCH_LINE, SHMEM_CMP_EQ, ++m->round);
		send_to(m, row->bytes, 0);
	}
}

static void meet(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	(void)m, (void)row;
	for (uint64_t i = 0; i < count; i++)
		shmem_barrier_all();
}

#define PUT(bytes_arg, text_arg)                                                                                       \
	{                                                                                                              \
		"put_" #bytes_arg, "put", "put " text_arg, BENCH_MBS, bytes_arg, 1, put_blocks, NULL                   \
	}
#define GET(bytes_arg, text_arg)                                                                                       \
	{                                                                                                              \
		"get_" #bytes_arg, "get", "get " text_arg, BENCH_MBS, bytes_arg, 1, get_blocks, NULL                   \
	}

static const struct bench_row rows[] = {
	{"p_rate", "word", "int p, then quiet: rate", BENCH_MOPS, 4, 1, p_rate, NULL},
	{"p_quiet", "word", "long p + quiet: latency", BENCH_NS, 8, 1, p_quiet, NULL},
	{"p_fence", "word", "long p + fence", BENCH_NS, 8, 1, p_fence, NULL},
	{"p_static", "word", "long p + quiet, static data", BENCH_NS, 8, 1, p_static, NULL},
	{"quiet", "word", "quiet, nothing pending", BENCH_NS, 0, 1, quiet_alone, NULL},
	{"g_latency", "word", "long g: latency", BENCH_NS, 8, 1, g_latency, NULL},
	{"g_rate", "word", "long g: rate", BENCH_MOPS, 8, 1, g_rate, NULL},
	PUT(8, "8 B"),
	PUT(64, "64 B"),
	PUT(512, "512 B"),
	PUT(4096, "4 KiB"),
	PUT(65536, "64 KiB"),
	PUT(1048576, "1 MiB"),
	PUT(4194304, "4 MiB"),
	{"put_nbi", "put", "put_nbi 4 KiB", BENCH_MBS, 4096, 1, bench_put_nbi, NULL},
	GET(8, "8 B"),
	GET(64, "64 B"),
	GET(512, "512 B"),
	GET(4096, "4 KiB"),
	GET(65536, "64 KiB"),
	GET(1048576, "1 MiB"),
	GET(4194304, "4 MiB"),
	{"add_rate", "atomic", "long atomic_add: rate", BENCH_MOPS, 8, 1, add_rate, NULL},
	{"fetch_add", "atomic", "long atomic_fetch_add", BENCH_NS, 8, 1, fetch_add, NULL},
	{"fadd_static", "atomic", "fetch_add, static data", BENCH_NS, 8, 1, fetch_add_static, NULL},
	{"cswap", "atomic", "long atomic_compare_swap", BENCH_NS, 8, 1, compare_swap, NULL},
	{"swap", "atomic", "long atomic_swap", BENCH_NS, 8, 1, swap, NULL},
	{"contend", "atomic", "fetch_add, 2 PEs on one word", BENCH_NS, 8, 1, contend, contend},
	{"pingpong", "both", "wait_until ping-pong, half", BENCH_NS, 8, 2, ping, pong},
	{"flag_1k", "both", "put 1 KiB, fence, flag: half", BENCH_NS, 1024, 2, flag_ping, flag_pong},
	{"barrier", "both", "barrier_all", BENCH_NS, 0, 1, meet, meet},
};
const struct bench_table bench_two_pes = {rows, sizeof rows / sizeof rows[0], .is_here = 1, .is_between = 1};
