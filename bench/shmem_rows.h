/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A row of shmem_bench: what PE 0 does `count` times while the clock runs, and what the other PEs do meanwhile. Only
 * names of OpenSHMEM 1.4 are used, so that other libraries can compile the same source; rows with teams exist if the
 * library supports them.
 */
#ifndef BENCH_SHMEM_ROWS_H
#define BENCH_SHMEM_ROWS_H

#include "sample.h"

#include <shmem.h>
#include <stddef.h>
#include <stdint.h>

enum { SHMEM_BENCH_BYTES = 4 << 20 };

/* Symmetric objects that the rows work on. */
struct bench_memory {
	char *remote;        /* heap, SHMEM_BENCH_BYTES */
	char *local;         /* not symmetric, same length */
	long *words;         /* heap, 64 words, each in a line of its own */
	long round;          /* increases with every sample, so that ping-pongs wait for values that are always new */
	uint64_t untimed_ns; /* time that an origin excludes from its result */
};

struct bench_row {
	const char *name, *group, *label;
	enum bench_unit unit;
	size_t bytes; /* of one operation */
	int trips;    /* operations per count */
	void (*origin)(struct bench_memory *m, const struct bench_row *row, uint64_t count);
	/* NULL: waits for the end */
	void (*target)(struct bench_memory *m, const struct bench_row *row, uint64_t count);
	int pairs;   /* the PEs of the first half work at the same time: a rate is that of all */
	int streams; /* operations do not wait for each other, so that several can share a packet */
};

/* The library of rows. shmem_bench has those for one host, or with --between-hosts those for two. */
struct bench_table {
	const struct bench_row *row;
	size_t count;
	int any_pes; /* otherwise the rows need two PEs */
	int is_here, is_between;
};
extern const struct bench_table bench_two_pes;           /* shmem_rows.c */
extern const struct bench_table bench_collectives;       /* shmem_rows_coll.c */
extern const struct bench_table bench_hosts_collectives; /* shmem_rows_coll.c */
extern const struct bench_table bench_between_hosts;     /* hosts_rows.c */
extern const struct bench_table bench_hosts_pairs;       /* hosts_rows.c */

enum { BENCH_LINE = 64 / sizeof(long) };

/* Small blocks walk over 64 KiB, so that neither side uses only one line; long ones stay in place, as in rawtcp. */
static inline size_t bench_step(const struct bench_row *row, uint64_t i)
{
	return row->bytes >= 65536 ? 0 : i * row->bytes % 65536;
}

/* `count` nonblocking puts and a quiet; defined in shmem_rows.c, for hosts_rows.c too. */
void bench_put_nbi(struct bench_memory *m, const struct bench_row *row, uint64_t count);

#endif
