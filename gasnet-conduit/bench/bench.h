/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What gasnet_bench.c and gex_bench.c share: start, clock, meeting and the rows. Public names only, so that they
 * compile against any GASNet (see compare.sh). Each row is the best of several rounds, because a busy machine only
 * adds time.
 */
#ifndef GASNET_BENCH_H
#define GASNET_BENCH_H

#if defined(__GNUC__) && !defined(__clang__)
/* as other GASNets compile their clients, whatever CFLAGS says */
#pragma GCC optimize("O3")
/* a loop of one nanosecond takes two when its end lies across two lines of the cache, which chance decides else */
#pragma GCC optimize("align-loops=64")
#endif
#include <gasnet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SEGMENT (4u << 20)
#define ROUNDS 7

static gasnet_seginfo_t segments[1024];
static gasnet_node_t me, other;
/*
 * Buffer and target lie in different parts of a page, and neither at its beginning, where a linker puts variables:
 * processors compare the low bits of addresses first, and else chance decides which library's loads meet its own
 * stores. Variables behind the buffer are not where it begins, either.
 */
static struct {
	char before[2048], bytes[1 << 20], behind[512];
} local __attribute__((aligned(4096)));
#define buffer local.bytes
static char reply_buffer[65536];
#define TARGET ((char *)segments[other].addr + 1024)
static double scale = 1;
static const char *wanted = ""; /* rows whose names contain this */

/* A compiler may make one transfer of many, or none of them, where a library shows it plain copies. */
#define EACH() __asm__ volatile("" ::: "memory")

static double now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static void meet(void)
{
	gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
	gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

/* Node 0 measures; the others serve until the meeting, or take part. */
static void measure(const char *name, void (*work)(long), long n, int all, size_t per_call)
{
	double best = 1e9;
	if (!strstr(name, wanted))
		return;
	n = (long)((double)n * scale) + 1;
	for (int r = 0; r < ROUNDS; r++) {
		meet();
		if (me == 0 || all) {
			work(n / 4 + 1); /* processors switch wide registers on when they are used */
			const double t0 = now();
			work(n);
			const double t = (now() - t0) / (double)n;
			best = t < best ? t : best;
		}
		meet();
	}
	if (me != 0)
		return;
	if (per_call)
		printf("%-31s %10.3f GB/s\n", name, (double)per_call / best / 1e9);
	else
		printf("%-31s %10.2f ns\n", name, best * 1e9); /* an 8-byte put takes half a nanosecond */
	fflush(stdout);
}

/* A payload is sent to be read: lines that nobody reads never leave the sender's cache. */
static void read_payload(const void *buf, size_t n)
{
	uint64_t sum = 0, word;
	for (size_t i = 0; i + sizeof word <= n; i += sizeof word) {
		memcpy(&word, (const char *)buf + i, sizeof word);
		sum += word;
	}
	__asm__ volatile("" : : "r"(sum));
}

/* Ends the job for a wrong argument. */
static void bench_start(int argc, char **argv, gasnet_handlerentry_t *table, int count)
{
	if (gasnet_init(&argc, &argv) != GASNET_OK || gasnet_attach(table, count, SEGMENT, 0) != GASNET_OK)
		exit(1);
	if (argc > 1)
		scale = atof(argv[1]);
	if (argc > 2)
		wanted = argv[2];
	if (!(scale >= 0 && scale <= 1e6)) { /* more would not end, and has no count */
		fprintf(stderr, "%s: %s is no factor from 0 to 1000000\n", argv[0], argv[1]);
		gasnet_exit(2);
	}
	/* Pages that nobody wrote are all the kernel's page of zeroes, and some processors read a page slowly that has
	 * several addresses. */
	memset(buffer, 1, sizeof buffer);
	memset(reply_buffer, 2, sizeof reply_buffer);
	gasnet_getSegmentInfo(segments, 1024);
	me = gasnet_mynode();
	other = gasnet_nodes() - 1;
	meet();
}

#endif /* GASNET_BENCH_H */
