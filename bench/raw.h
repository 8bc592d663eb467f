/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by rawtcp and rawofi, which measure the network layer below a library between two hosts, without the library.
 * raw_main.c has the command line and takes the samples; each program supplies rows and a way to move bytes.
 */
#ifndef BENCH_RAW_H
#define BENCH_RAW_H

#include "sample.h"

#include <stddef.h>
#include <stdint.h>

struct raw_row {
	const char *name, *group;
	enum bench_unit unit;
	const char *label;
	int kind; /* private to the program */
	uint32_t bytes;
};

extern const char raw_name[];
extern const struct raw_row raw_rows[];
extern const size_t raw_row_count;

/* Prints the address at which it can be reached, one word in a line, and serves one client. Returns the exit status. */
int raw_serve(void);
/* Returns whether it has connected to the server. */
int raw_connect(const char *where);
/* Runs `count` operations. Returns false if the connection broke. */
int raw_run(const struct raw_row *row, uint64_t count);
/* Called after the last sample. */
void raw_close(void);

#endif
