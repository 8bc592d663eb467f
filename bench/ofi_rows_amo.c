/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomics on 64-bit integers: sums without result, fetch-and-add, compare-and-swap.
 */
#include "ofi_rows.h"

#include <string.h>

enum { SUM_SLOTS = 64 };

static void clear(struct bench_side *s, const struct bench_row *row, uint64_t count)
{
	(void)row;
	(void)count;
	memset(s->mem, 0, SUM_SLOTS * 8);
}

static void sum_origin(struct bench_side *s, const struct bench_row *row, uint64_t count)
{
	(void)row;
	const int64_t one = 1;
	for (uint64_t i = 0; i < count; i++) {
		BENCH_RETRY(s, fi_inject_atomic(s->ep, &one, 1, s->peer, s->peer_base + i % SUM_SLOTS * 8, s->peer_key,
						FI_INT64, FI_SUM));
		s->writes++;
	}
	bench_wait_counter(s, s->written, s->writes);
	bench_wait_word(s, &s->control->seen, s->control->stamp);
}

static void sum_target(struct bench_side *s, const struct bench_row *row, uint64_t count)
{
	(void)row;
	const uint64_t *slot = (const uint64_t *)(void *)s->mem;
	for (uint64_t i = SUM_SLOTS; i-- > 0;)
		bench_wait_word(s, &slot[i], count / SUM_SLOTS + (i < count % SUM_SLOTS));
	bench_store(&s->control->seen, s->control->stamp);
}

static void fetch_origin(struct bench_side *s, const struct bench_row *row, uint64_t count)
{
	(void)row;
	const int64_t one = 1;
	uint64_t *old = (uint64_t *)(void *)s->input;
	for (uint64_t i = 0; i < count; i++) {
		*old = UINT64_MAX;
		BENCH_RETRY(s, fi_fetch_atomic(s->ep, &one, 1, NULL, old, NULL, s->peer, s->peer_base, s->peer_key,
					       FI_INT64, FI_SUM, NULL));
		bench_wait_counter(s, s->got, ++s->reads);
		bench_wait_word(s, old, i);
	}
	bench_store(&s->control->hello[0], s->control->stamp);
}

static void cswap_origin(struct bench_side *s, const struct bench_row *row, uint64_t count)
{
	(void)row;
	uint64_t *old = (uint64_t *)(void *)s->input;
	for (uint64_t i = 0; i < count; i++) {
		const uint64_t compare = i, swap = i + 1;
		*old = UINT64_MAX;
		BENCH_RETRY(s, fi_compare_atomic(s->ep, &swap, 1, NULL, &compare, NULL, old, NULL, s->peer,
						 s->peer_base, s->peer_key, FI_UINT64, FI_CSWAP, NULL));
		bench_wait_counter(s, s->got, ++s->reads);
		bench_wait_word(s, old, i);
	}
	bench_store(&s->control->hello[0], s->control->stamp);
}

/* Makes progress for providers that need it, until the origin has its results. */
static void serve(struct bench_side *s, const struct bench_row *row, uint64_t count)
{
	(void)row;
	(void)count;
	bench_wait_word(s, &s->control->hello[0], s->control->stamp);
}

static const struct bench_row rows[] = {
	{"sum_rate", "inject_atomic int64 sum rate", "amo", BENCH_MOPS, 1, 1, 8, 256, clear, sum_origin, sum_target},
	{"fetch_add_lat", "fetch_atomic int64 sum latency", "amo", BENCH_NS, 1, 1, 8, 64, clear, fetch_origin, serve},
	{"cswap_lat", "compare_atomic uint64 latency", "amo", BENCH_NS, 1, 1, 8, 64, clear, cswap_origin, serve},
};
const struct bench_rows bench_amo_rows = {rows, sizeof rows / sizeof rows[0]};
