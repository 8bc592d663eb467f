/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plain MPI program that knows nothing of the provider, run by run_openmpi.sh over it. Every part checks every byte
 * it received and ends the job on an error. Rank 0 prints one line per part.
 *   mpi_client two-sided   ring, reductions, messages of 1 B to 8 MiB, any-source and any-tag order, probe
 *   mpi_client one-sided   put, get, accumulate, fetch-and-op with fences and locks
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, all;

#define CHECK_RANK me
#define CHECK_END(file_arg, line_arg) MPI_Abort(MPI_COMM_WORLD, 1)
#include "check.h"

static void passed(const char *part)
{
	MPI_Barrier(MPI_COMM_WORLD);
	if (me == 0) {
		printf("passed %s\n", part);
		fflush(stdout);
	}
}

static unsigned char byte_at(size_t i, int seed)
{
	return (unsigned char)((i * 2654435761u + (size_t)seed * 40503u) >> 7);
}

static void fill(unsigned char *p, size_t n, int seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = byte_at(i, seed);
}

static int filled(const unsigned char *p, size_t n, int seed)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != byte_at(i, seed))
			return 0;
	return 1;
}

static void ring(void)
{
	const int next = (me + 1) % all, before = (me + all - 1) % all;
	long token = me;
	for (int lap = 0; lap < 100 * all; lap++)
		MPI_Sendrecv_replace(&token, 1, MPI_LONG, next, 7, before, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	CHECK(token == me);
	passed("ring");
}

static void reductions(void)
{
	for (int n = 1; n <= 1 << 17; n *= 16) {
		double *received = malloc((size_t)n * sizeof *received), *out = malloc((size_t)n * sizeof *out);
		for (int i = 0; i < n; i++)
			received[i] = me + i;
		MPI_Allreduce(received, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		for (int i = 0; i < n; i++)
			CHECK(out[i] == (double)all * i + (double)all * (all - 1) / 2);
		free(received);
		free(out);
	}
	passed("allreduce");
}

/* Every pair of neighbours exchanges each size in both directions at once, sends posted before receives and after. */
static void sizes(void)
{
	const size_t most = 8u << 20;
	unsigned char *out = malloc(most), *received = malloc(most);
	for (size_t n = 1; n <= most; n *= 8) {
		for (int late = 0; late < 2; late++) {
			MPI_Request r[2];
			const int next = (me + 1) % all, before = (me + all - 1) % all;
			fill(out, n, me + (int)n);
			memset(received, 0, n);
			if (!late)
				MPI_Irecv(received, (int)n, MPI_BYTE, before, 3, MPI_COMM_WORLD, &r[1]);
			MPI_Isend(out, (int)n, MPI_BYTE, next, 3, MPI_COMM_WORLD, &r[0]);
			if (late) {
				MPI_Barrier(MPI_COMM_WORLD);
				MPI_Irecv(received, (int)n, MPI_BYTE, before, 3, MPI_COMM_WORLD, &r[1]);
			}
			MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
			CHECK(filled(received, n, before + (int)n));
		}
	}
	free(out);
	free(received);
	passed("sizes");
}

/* Rank 0 receives from any source; each sender's messages must arrive in its order. */
static void anybody(void)
{
	enum { EACH = 200 };
	if (me) {
		for (int i = 0; i < EACH; i++)
			MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
	} else {
		int *next = calloc((size_t)all, sizeof *next);
		for (int i = 0; i < EACH * (all - 1); i++) {
			MPI_Status s;
			int v, n;
			MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
			MPI_Get_count(&s, MPI_INT, &n);
			CHECK(n == 1);
			MPI_Recv(&v, 1, MPI_INT, s.MPI_SOURCE, s.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			CHECK(v == s.MPI_TAG && v == next[s.MPI_SOURCE]);
			next[s.MPI_SOURCE]++;
		}
		free(next);
	}
	passed("any-source");
}

static void one_sided(void)
{
	enum { WORDS = 20000 };
	int64_t *mem;
	MPI_Win win;
	MPI_Win_allocate((WORDS + 2) * sizeof *mem, sizeof *mem, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
	int64_t *out = malloc(WORDS * sizeof *out), *received = malloc(WORDS * sizeof *received);
	const int next = (me + 1) % all, before = (me + all - 1) % all;
	memset(mem, 0, (WORDS + 2) * sizeof *mem);
	for (int i = 0; i < WORDS; i++)
		out[i] = (int64_t)me << 32 | i;
	MPI_Win_fence(0, win);
	MPI_Put(out, WORDS, MPI_INT64_T, next, 0, WORDS, MPI_INT64_T, win);
	MPI_Win_fence(0, win);
	for (int i = 0; i < WORDS; i++)
		CHECK(mem[i] == ((int64_t)before << 32 | i));
	passed("put");
	MPI_Win_fence(0, win);
	MPI_Get(received, WORDS, MPI_INT64_T, next, 0, WORDS, MPI_INT64_T, win);
	MPI_Win_fence(0, win);
	for (int i = 0; i < WORDS; i++)
		CHECK(received[i] == out[i]);
	passed("get");
	enum { ADDS = 300 };
	const int64_t one = 1;
	int64_t seen, last = -1;
	MPI_Win_lock_all(0, win);
	for (int i = 0; i < ADDS; i++) {
		MPI_Fetch_and_op(&one, &seen, MPI_INT64_T, 0, WORDS, MPI_SUM, win);
		MPI_Win_flush(0, win);
		CHECK(seen > last && seen < (int64_t)ADDS * all);
		last = seen;
		MPI_Accumulate(&one, 1, MPI_INT64_T, next, WORDS + 1, 1, MPI_INT64_T, MPI_SUM, win);
	}
	MPI_Win_flush_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
	int64_t sum = 0, mine = 0;
	MPI_Fetch_and_op(&one, &sum, MPI_INT64_T, 0, WORDS, MPI_NO_OP, win);
	MPI_Fetch_and_op(&one, &mine, MPI_INT64_T, me, WORDS + 1, MPI_NO_OP, win);
	MPI_Win_flush_all(win);
	CHECK(sum == (int64_t)ADDS * all);
	CHECK(mine == ADDS);
	MPI_Win_unlock_all(win);
	passed("atomics");
	free(out);
	free(received);
	MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &all);
	if (argc > 1 && strcmp(argv[1], "one-sided") == 0) {
		one_sided();
	} else {
		ring();
		reductions();
		sizes();
		anybody();
	}
	MPI_Finalize();
	return 0;
}
