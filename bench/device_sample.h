/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the rows of bench/device_compare are measured, in an OpenSHMEM job: 15 samples of about 10 ms for each length,
 * each the time of the slowest PE. A row prints lines "row PEs bytes best median", with times in microseconds.
 */
#ifndef BENCH_DEVICE_SAMPLE_H
#define BENCH_DEVICE_SAMPLE_H

#include <stddef.h>

#define SAMPLE_MOST_PES 256

struct row {
	const char *name;
	void (*run)(size_t bytes);
	enum { FIRST, BOTH, ALL } who;        /* the other PEs wait on the CPU, in a barrier */
	enum { BYTES, WORDS, ONE_WORD } unit; /* from 1 byte on, from 8, or only 8 */
};

void sample_row(const struct row *r, size_t most); /* lengths up to `most`; all PEs call it */

#endif /* BENCH_DEVICE_SAMPLE_H */
