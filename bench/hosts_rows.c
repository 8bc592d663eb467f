/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of shmem_bench that are relevant between hosts, in addition to those of shmem_rows.c: many small operations
 * before one quiet, bulk without waiting, a signal after data, and a target that computes. PE 0 is the origin, PE 1 the
 * target, on another host.
 */
#define _GNU_SOURCE 1
#include "shmem_rows.h"

/* operations before a quiet */
enum { BATCH = 1000 };
/* How long the origin waits for a library that does not serve peers while the program computes. */
static const uint64_t kComputeNs = 100000000;
static const uint64_t kSettleNs = 3000000;

static void p_batches(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	long *dst = (long *)m->remote;
	for (uint64_t i = 0; i < count; i++) {
		for (int k = 0; k < row->trips; k++)
			shmem_long_p(dst + k, (long)i, 1);
		shmem_quiet();
	}
}

static void add_batches(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	long *pos = (long *)m->remote;
	for (uint64_t i = 0; i < count; i++) {
		for (int k = 0; k < row->trips; k++)
			shmem_long_atomic_add(pos + k % 64, 1, 1);
		shmem_quiet();
	}
}

#if SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION >= 5
static void fetch_add_batches(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	long *pos = (long *)m->remote, *old = (long *)m->local;
	for (uint64_t i = 0; i < count; i++) {
		for (int k = 0; k < row->trips; k++)
			shmem_long_atomic_fetch_add_nbi(old + k, pos + k % 64, 1, 1);
		shmem_quiet();
	}
}
#endif

static void get_batches(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		for (int k = 0; k < row->trips; k++) {
			const size_t pos = (size_t)k * row->bytes;
			shmem_getmem_nbi(m->local + pos, m->remote + pos, row->bytes, 1);
		}
		shmem_quiet();
	}
}

static void get_nbi_bulk(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		const size_t pos = bench_step(row, i);
		shmem_getmem_nbi(m->local + pos, m->remote + pos, row->bytes, 1);
	}
	shmem_quiet();
}

/* --- a target that computes --------------------------------------------------------------------------------------- */

static uint64_t now_ns(void)
{
	return bench_clock_ns(CLOCK_MONOTONIC);
}

/* If one g waits until the target stops computing, the result is reported as if all had waited. */
static void g_served(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	const long *src = m->words + 12 * BENCH_LINE;
	const uint64_t before = now_ns();
	uint64_t start = before, longest = 0;
	long sum = 0;
	(void)row;
	shmem_long_wait_until(m->words + 13 * BENCH_LINE, SHMEM_CMP_EQ, ++m->round);
	for (const uint64_t said = now_ns();
	     start < said + kSettleNs;) /* the target has left its last call, and a thread that serves for it knows */
		start = now_ns();
	m->untimed_ns = start - before;
	for (uint64_t i = 0, last = start; i < count; i++) {
		sum += shmem_long_g(src, 1);
		const uint64_t now = now_ns();
		if (now - last > longest)
			longest = now - last;
		last = now;
	}
	if (longest > kComputeNs / 2)
		m->untimed_ns -= count * kComputeNs - (now_ns() - start); /* below zero, modulo 2^64 */
	m->local[0] = (char)sum;
	shmem_long_p(m->words + 11 * BENCH_LINE, m->round, 1);
	shmem_quiet();
}

/* Announces its start; then makes no library call: the word is read like any variable of the program. */
static void compute(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	const volatile long *stop = m->words + 11 * BENCH_LINE;
	(void)row, (void)count;
	shmem_long_p(m->words + 13 * BENCH_LINE, ++m->round, 0);
	shmem_quiet();
	for (const uint64_t end = now_ns() + kComputeNs; *stop != m->round && now_ns() < end;)
		;
}

/* --- signals ------------------------------------------------------------------------------------------------------ */

#if SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION >= 5
static void signal_ping(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	uint64_t *ball = (uint64_t *)(m->words + 10 * BENCH_LINE);
	for (uint64_t i = 0; i < count; i++) {
		m->round++;
		shmem_putmem_signal(m->remote, m->local, row->bytes, ball, (uint64_t)m->round, SHMEM_SIGNAL_SET, 1);
		shmem_signal_wait_until(ball, SHMEM_CMP_EQ, (uint64_t)m->round);
	}
}

static void signal_pong(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	uint64_t *ball = (uint64_t *)(m->words + 10 * BENCH_LINE);
	for (uint64_t i = 0; i < count; i++) {
		m->round++;
		shmem_signal_wait_until(ball, SHMEM_CMP_EQ, (uint64_t)m->round);
		shmem_putmem_signal(m->remote, m->local, row->bytes, ball, (uint64_t)m->round, SHMEM_SIGNAL_SET, 0);
	}
}
#endif

/* --- several PEs on each host ------------------------------------------------------------------------------------- */

/*
 * Every PE of the first half works with its partner in the second half, which is on the other host. A sample ends when
 * all of them have ended.
 */
static int is_origin(void)
{
	return shmem_my_pe() < shmem_n_pes() / 2;
}

static int partner(void)
{
	return shmem_my_pe() + shmem_n_pes() / 2;
}

static void g_pairs(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	long sum = 0;
	(void)row;
	for (uint64_t i = 0; i < count && is_origin(); i++)
		sum += shmem_long_g(m->words, partner());
	m->local[0] = (char)sum;
	shmem_barrier_all();
}

static void p_pairs(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	long *dst = (long *)m->remote;
	for (uint64_t i = 0; i < count && is_origin(); i++) {
		for (int k = 0; k < row->trips; k++)
			shmem_long_p(dst + k, (long)i, partner());
		shmem_quiet();
	}
	shmem_barrier_all();
}

static void put_pairs(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	for (uint64_t i = 0; i < count && is_origin(); i++)
		shmem_putmem_nbi(m->remote, m->local, row->bytes, partner());
	shmem_barrier_all();
}

static void get_pairs(struct bench_memory *m, const struct bench_row *row, uint64_t count)
{
	for (uint64_t i = 0; i < count && is_origin(); i++)
		shmem_getmem_nbi(m->local, m->remote, row->bytes, partner());
	shmem_quiet();
	shmem_barrier_all();
}

#define PAIRS(call_arg) call_arg, call_arg, .pairs = 1
static const struct bench_row pair_rows[] = {
	{"pairs_g", "pairs", "all pairs: g", BENCH_NS, 8, 1, PAIRS(g_pairs)},
	{"pairs_p", "pairs", "all pairs: 1,000 p, then quiet", BENCH_MOPS, 8, BATCH, PAIRS(p_pairs)},
	{"pairs_put", "pairs", "all pairs: put_nbi 64 KiB", BENCH_MBS, 65536, 1, PAIRS(put_pairs)},
	{"pairs_get", "pairs", "all pairs: get_nbi 64 KiB", BENCH_MBS, 65536, 1, PAIRS(get_pairs)},
};
const struct bench_table bench_hosts_pairs = {pair_rows, sizeof pair_rows / sizeof pair_rows[0], .any_pes = 1,
					      .is_between = 1};

static const struct bench_row rows[] = {
	{"p_1000", "batch", "1,000 p, then quiet", BENCH_MOPS, 8, BATCH, p_batches, NULL},
	{"add_1000", "batch", "1,000 atomic_add, then quiet", BENCH_MOPS, 8, BATCH, add_batches, NULL},
#if SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION >= 5
	{"fetch_add_1000", "batch", "1,000 fetch_add_nbi, then quiet", BENCH_MOPS, 8, BATCH, fetch_add_batches, NULL},
#endif
	{"get_8_1000", "batch", "1,000 get_nbi of 8 bytes, then quiet", BENCH_MOPS, 8, BATCH, get_batches, NULL},
	{"g_computing", "computing", "g, the target computes", BENCH_NS, 8, 1, g_served, compute},
	{"nbi_4096", "nbi", "put_nbi 4 KiB", BENCH_MBS, 4096, 1, bench_put_nbi, NULL},
	{"nbi_65536", "nbi", "put_nbi 64 KiB", BENCH_MBS, 65536, 1, bench_put_nbi, NULL},
	{"nbi_1048576", "nbi", "put_nbi 1 MiB", BENCH_MBS, 1048576, 1, bench_put_nbi, NULL},
	{"get_nbi_4096", "nbi", "get_nbi 4 KiB", BENCH_MBS, 4096, 1, get_nbi_bulk, NULL},
	{"get_nbi_65536", "nbi", "get_nbi 64 KiB", BENCH_MBS, 65536, 1, get_nbi_bulk, NULL},
	{"get_nbi_1048576", "nbi", "get_nbi 1 MiB", BENCH_MBS, 1048576, 1, get_nbi_bulk, NULL},
#if SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION >= 5
	{"signal_64", "signal", "put_signal 64 B ping-pong, half", BENCH_NS, 64, 2, signal_ping, signal_pong},
	{"signal_4096", "signal", "put_signal 4 KiB ping-pong, half", BENCH_NS, 4096, 2, signal_ping, signal_pong},
#endif
};
const struct bench_table bench_between_hosts = {rows, sizeof rows / sizeof rows[0], .is_between = 1};
