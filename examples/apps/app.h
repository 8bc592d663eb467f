/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * app.h: shared by the mini-apps: where data is, and when it is copied. The same program runs in three variants:
 *
 *	host       data is in the symmetric heap
 *	staged     data is in a partition, which may be device memory, but OpenSHMEM is used as if it did not know
 *	           that: data to send is copied by hand into a buffer of the heap, and at the other end copied back
 *	partition  data is in a partition, and OpenSHMEM calls work on it there
 *
 * No variant has device code: there is no language for all kinds of devices, emulated ones included. All arithmetic
 * happens in host buffers; in the variants staged and partition, a copy out of the partition, arithmetic and a copy
 * back replace what a kernel would do in place. That is the same in both and counts as arithmetic: compare "exchange",
 * the seconds spent in communication, including the copies for staging.
 */
#ifndef EXAMPLES_APP_H
#define EXAMPLES_APP_H

#define _POSIX_C_SOURCE 199309L /* clock_gettime, also with -std=c99 and -std=c11 */
#include <shmem.h>
#include <shmemx.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum variant { HOST, STAGED, PARTITION };

struct app {
	int me, n;
	enum variant variant;
	int id;          /* of the partition */
	double exchange; /* seconds of communication */
};

/*
 * home: where the data resides. wire: symmetric memory that may be passed to OpenSHMEM calls. host: where arithmetic
 * happens. Places that a variant does not distinguish are the same memory, and copies between them cost nothing.
 */
struct array {
	size_t bytes;
	char *home, *wire, *host;
};

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* All PEs find the same mistake: only PE 0 reports it. */
static void app_usage(const struct app *app, const char *text)
{
	if (app->me == 0)
		fprintf(stderr, "%s\n", text);
	shmem_finalize();
	exit(2);
}

/* Removes the options that all apps know from argv, and finds the first partition if no ID is given. */
static void app_start(struct app *app, int *argc, char **argv, const char *usage)
{
	static const char *const names[] = {"host", "staged", "partition"};
	int kept = 1;
	shmem_init();
	memset(app, 0, sizeof *app);
	app->me = shmem_my_pe();
	app->n = shmem_n_pes();
	app->id = -1;
	for (int i = 1; i < *argc; i++) {
		if (strcmp(argv[i], "--variant") == 0 && i + 1 < *argc) {
			int v = 0;
			i++;
			while (v < 3 && strcmp(argv[i], names[v]) != 0)
				v++;
			if (v == 3)
				app_usage(app, usage);
			app->variant = (enum variant)v;
		} else if (strcmp(argv[i], "--partition") == 0 && i + 1 < *argc) {
			app->id = atoi(argv[++i]);
		} else if (argv[i][0] == '-' && strcmp(argv[i], "--method") != 0) {
			app_usage(app, usage);
		} else {
			argv[kept++] = argv[i];
		}
	}
	*argc = kept;
	if (app->variant == HOST)
		return;
	if (app->id < 0)
		app->id = shmemx_partition_id(0);
	if (app->id < 0 || !shmemx_partition_kind(app->id))
		app_usage(app, "there is no such partition; example: SHMEM_SYMMETRIC_PARTITION0=256M:KIND=emulated");
}

/* A size in argv, or its default; 0 is never valid. */
static long app_number(const struct app *app, int argc, char **argv, int which, long fallback, const char *usage)
{
	char *end = NULL;
	const long value = argc > which ? strtol(argv[which], &end, 10) : fallback;
	if (value <= 0 || value > 1L << 40 || (end && *end))
		app_usage(app, usage);
	return value;
}

static void *app_memory(void *ptr, size_t bytes)
{
	if (!ptr) {
		fprintf(stderr, "no %zu bytes left: see SHMEM_SYMMETRIC_SIZE and SHMEM_SYMMETRIC_PARTITION<ID>\n",
			bytes);
		shmem_global_exit(1);
	}
	return ptr;
}

/* Memory that was touched, so that first accesses to pages are not measured. */
static char *app_touched(void *ptr, size_t bytes)
{
	return memset(app_memory(ptr, bytes), 0, bytes);
}

/* All PEs must call it with the same size. Its bytes are 0. */
static inline void array_open(const struct app *app, struct array *a, size_t bytes)
{
	a->bytes = bytes;
	if (app->variant == HOST) {
		a->home = a->wire = a->host = app_touched(shmem_malloc(bytes), bytes);
		return;
	}
	a->home = app_memory(shmem_partition_calloc(bytes, 1, app->id), bytes);
	a->host = app_touched(malloc(bytes), bytes);
	a->wire = app->variant == PARTITION ? a->home : app_touched(shmem_malloc(bytes), bytes);
}

static inline void array_close(const struct app *app, struct array *a)
{
	if (app->variant != PARTITION)
		shmem_free(a->wire);
	if (app->variant == HOST)
		return;
	shmem_partition_free(a->home);
	free(a->host);
}

static void app_copy(char *dst, const char *src, size_t off, size_t bytes)
{
	if (dst != src)
		shmemx_partition_copy(dst + off, src + off, bytes);
}

/* before and after arithmetic */
static inline void array_read(struct array *a, size_t off, size_t bytes)
{
	app_copy(a->host, a->home, off, bytes);
}
static inline void array_write(struct array *a, size_t off, size_t bytes)
{
	app_copy(a->home, a->host, off, bytes);
}
/* before and after communication: this is staging */
static inline void array_send(struct array *a, size_t off, size_t bytes)
{
	app_copy(a->wire, a->home, off, bytes);
}
static inline void array_received(struct array *a, size_t off, size_t bytes)
{
	app_copy(a->home, a->wire, off, bytes);
}

/*
 * Adds up the errors that PEs found and takes the longest times; PE 0 prints one line for people and scripts. Returns
 * the exit status of the program, the same on all PEs.
 */
static int app_finish(const struct app *app, const char *name, const char *sizes, double total, const char *unit,
		      double amount, double wrong)
{
	static const char *const names[] = {"host", "staged", "partition"};
	static double mine[2], longest[2], wrong_here, wrong_all;
	mine[0] = total;
	mine[1] = app->exchange;
	wrong_here = wrong;
	shmem_double_max_reduce(SHMEM_TEAM_WORLD, longest, mine, 2);
	shmem_double_sum_reduce(SHMEM_TEAM_WORLD, &wrong_all, &wrong_here, 1);
	if (app->me == 0) {
		printf("%s variant=%s kind=%s pes=%d %s seconds=%.6f exchange=%.6f %s=%.6g wrong=%.0f\n", name,
		       names[app->variant], app->variant == HOST ? "heap" : shmemx_partition_kind(app->id), app->n,
		       sizes, longest[0], longest[1], unit, amount / longest[0], wrong_all);
		fflush(stdout);
	}
	const int status = wrong_all != 0;
	shmem_finalize();
	return status;
}

/* The rows of a matrix that a PE has when they are distributed as evenly as possible. */
static inline long rows_of(long size, int n, int pe, long *first)
{
	const long each = size / n, more = size % n;
	*first = pe * each + (pe < more ? pe : more);
	return each + (pe < more);
}

#endif /* EXAMPLES_APP_H */
