/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A row of shmem_bench: what PE 0 does `count` times while the clock runs, and what the other PEs do meanwhile. Only
 * names of OpenSHMEM 1.4 are used, so that other libraries can compile the same source; rows with teams exist if the
 * library supports them.
 */
#ifndef BENCH_SHMEM_ROWS_H
#define BENCH_SHMEM_ROWS_H

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

enum bench_unit { BENCH_NS, BENCH_MOPS, BENCH_MBS };

struct bench_row {
	const char *name, *group, *label;
	enum bench_unit unit;
	size_t bytes; /* of one operation */
	int trips;    /* operations per count */
	void (*origin)(struct bench_memory *m, const struct bench_row *row, uint64_t count);
	/* NULL: waits for the end */
	void (*target)(struct bench_memory *m, const struct bench_row *row, uint64_t count);
};

extern const struct bench_row bench_rows[]; /* of two PEs */
extern const size_t bench_row_count;
/* Either collectives, for any number of PEs (shmem_rows_coll.c), or rows relevant between hosts (hosts_rows.c). */
extern const struct bench_row bench_more_rows[];
extern const size_t bench_more_row_count;

/* How samples are taken; set next to the second table. */
struct bench_rules {
	uint64_t sample_ns;
	uint64_t stream_ns; /* the same for rows in MB/s */
	int sleep_disturbs; /* a PE that slept was descheduled; between hosts sleeping is a way to wait */
};
extern const struct bench_rules bench_rules;

enum { BENCH_LINE = 64 / sizeof(long) };

/* Small blocks walk over 64 KiB, so that neither side uses only one line; long ones stay in place, as in rawtcp. */
static inline size_t bench_step(const struct bench_row *row, uint64_t i)
{
	return row->bytes >= 65536 ? 0 : i * row->bytes % 65536;
}

/* `count` nonblocking puts and a quiet; defined in shmem_rows.c, for the other tables too. */
void bench_put_nbi(struct bench_memory *m, const struct bench_row *row, uint64_t count);

#endif
