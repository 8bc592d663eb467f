/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What rawtcp and rawofi share: what lies below a library between two hosts, measured without it. raw_main.c has the
 * command line and takes the samples; each program brings rows and how to move bytes.
 */
#ifndef BENCH_RAW_H
#define BENCH_RAW_H

#include <stddef.h>
#include <stdint.h>

struct raw_row {
	const char *name, *group, *unit, *label;
	int kind; /* the program's own */
	uint32_t bytes;
};

extern const char raw_name[];
extern const struct raw_row raw_rows[];
extern const size_t raw_row_count;

/* Prints where it can be reached, one word in a line, and serves one client. Returns the exit status. */
int raw_serve(void);
/* Returns whether the server is there now. */
int raw_connect(const char *where);
/* Runs so many operations. Returns false when the connection broke. */
int raw_run(const struct raw_row *row, uint64_t count);
/* The end of the last sample. */
void raw_close(void);

#endif
