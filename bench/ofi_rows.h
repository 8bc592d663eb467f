/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is measured: a row is a pair of functions that origin and target run concurrently for `count` iterations.
 *
 * prepare runs at the target before the clock starts. origin is timed from its call to its return. A row with delivered
 * == 1 returns only when the target has seen the data of every operation in its own memory (control->seen) or the
 * origin has the data, so that a provider whose counter runs ahead gains nothing by it. The target polls its queue all
 * the time, because some providers need that even for one-sided operations.
 */
#ifndef BENCH_OFI_ROWS_H
#define BENCH_OFI_ROWS_H

#include "ofi_fabric.h"
#include "sample.h"

struct bench_row {
	const char *name;  /* one word, for --rows and files */
	const char *label; /* for display */
	const char *group; /* rows of a group run in one go by one pair of processes */
	enum bench_unit unit;
	int delivered;
	int trips; /* one-way trips of an iteration: 2 in a ping-pong */
	size_t bytes;
	uint32_t quick; /* iterations of a sample in a quick run, and the start value of calibration */
	void (*prepare)(struct bench_side *s, const struct bench_row *row, uint64_t count);
	void (*origin)(struct bench_side *s, const struct bench_row *row, uint64_t count);
	void (*target)(struct bench_side *s, const struct bench_row *row, uint64_t count);
};

struct bench_rows {
	const struct bench_row *row;
	size_t count;
};
extern const struct bench_rows bench_rma_rows, bench_amo_rows, bench_msg_rows;

/* Words of a buffer that show whether all of it has arrived: first, middle, last. */
static inline uint64_t *bench_word(char *buf, size_t bytes, int which)
{
	const size_t pos = which == 0 ? 0 : which == 1 ? bytes / 2 & ~(size_t)7 : bytes - 8;
	return (uint64_t *)(void *)(buf + pos);
}

static inline void bench_mark(char *buf, size_t bytes, uint64_t value)
{
	for (int w = 0; w < 3; w++)
		bench_store(bench_word(buf, bytes, w), value);
}

static inline void bench_wait_mark(struct bench_side *s, char *buf, size_t bytes, uint64_t value)
{
	for (int w = 0; w < 3; w++)
		bench_wait_word(s, bench_word(buf, bytes, w), value);
}

#endif /* BENCH_OFI_ROWS_H */
