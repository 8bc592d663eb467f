/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * partition ID [WHAT...]: everything that takes symmetric addresses, on memory of partition ID, whatever its kind: the
 * program itself accesses it with shmemx_partition_copy() only. WHAT: memory rma strided amo signal coll sets threads;
 * all but threads if none is given.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <shmem.h>
#include <shmemx.h>

#include "shmem_test.h"

enum { N = 1000 };
static int id, me, n;
static long host_buf[N], static_buf[N];

static void *in(size_t bytes)
{
	void *p = shmem_partition_malloc(bytes, id);
	CHECK(p != NULL);
	CHECK(shmemx_partition_of(p) == id);
	return p;
}

static void set(void *dest, const void *source, size_t bytes)
{
	shmemx_partition_copy(dest, source, bytes);
}

static long value_at(const long *p)
{
	long v;
	shmemx_partition_copy(&v, p, sizeof v);
	return v;
}

static void memory(void)
{
	const size_t total = shmemx_partition_size(id), free_before = shmemx_partition_free_bytes(id);
	CHECK(total > 0 && free_before <= total);
	CHECK(shmemx_partition_kind(id) != NULL && shmemx_partition_kind(12345) == NULL);
	CHECK(shmem_partition_malloc(0, id) == NULL);
	CHECK(shmem_partition_malloc(total + 1, id) == NULL);
	CHECK(shmem_partition_malloc(SIZE_MAX, id) == NULL);
	CHECK(shmem_partition_calloc(SIZE_MAX / 2, 4, id) == NULL);
	CHECK(shmem_partition_align(3, 64, id) == NULL);
	char *a = in(100), *b = in(5000), *c = shmem_partition_align(4096, 10, id);
	CHECK(c != NULL && (uintptr_t)c % 4096 == 0);
	CHECK(a + 100 <= b || b + 5000 <= a);
	char dirt[64];
	memset(dirt, 7, sizeof dirt);
	set(a, dirt, sizeof dirt);
	shmem_partition_free(a);
	char *z = shmem_partition_calloc(25, 4, id), got[100];
	CHECK(z != NULL);
	shmemx_partition_copy(got, z, 100);
	for (int i = 0; i < 100; i++)
		CHECK(got[i] == 0);
	CHECK(shmem_addr_accessible(b, 0) && shmem_addr_accessible(b, n - 1));
	shmem_partition_free(b);
	shmem_partition_free(c);
	shmem_partition_free(z);
	shmem_partition_free(NULL);
	CHECK(shmemx_partition_free_bytes(id) == free_before);
	CHECK(shmemx_partition_of(&total) == -1);
}

/* The value that PE `source` writes into element i in round r. */
static long mark(int source, int i, int r)
{
	return source * 1000000L + r * 10000L + i;
}

static void expect(const long *p, int count, int source, int r, const char *what)
{
	long got[N];
	shmemx_partition_copy(got, p, (size_t)count * sizeof *got);
	for (int i = 0; i < count; i++)
		if (got[i] != mark(source, i, r)) {
			fprintf(stderr, "PE %d: %s: element %d is %ld, not %ld\n", me, what, i, got[i],
				mark(source, i, r));
			abort();
		}
}

static void rma(void)
{
	const int right = (me + 1) % n, left = (me + n - 1) % n;
	long *x = in(N * sizeof *x), *y = in(N * sizeof *y), *host = shmem_malloc(N * sizeof *host);
	long mine[N], got[N];
	int r = 0;
	/* from host memory, of several kinds */
	const struct {
		long *addr;
		const char *name;
	} src[] = {{mine, "from the stack"},
		   {host_buf, "from static data"},
		   {host, "from the heap"},
		   {y, "from the partition"}};
	for (unsigned k = 0; k < sizeof src / sizeof *src; k++) {
		r++;
		for (int i = 0; i < N; i++)
			got[i] = mark(me, i, r);
		set(src[k].addr, got, sizeof got);
		shmem_long_put(x, src[k].addr, N, right);
		shmem_barrier_all();
		expect(x, N, left, r, src[k].name);
		memset(got, 0, sizeof got);
		shmem_long_get(got, x, N, right);
		for (int i = 0; i < N; i++)
			CHECK(got[i] == mark(me, i, r));
		shmem_barrier_all();
		r++;
		for (int i = 0; i < N; i++)
			got[i] = mark(me, i, r);
		set(src[k].addr, got, sizeof got);
		shmem_long_put_nbi(x, src[k].addr, N, right);
		shmem_quiet();
		shmem_barrier_all();
		expect(x, N, left, r, src[k].name);
		/* into the other's host memory, from the partition */
		set(y, got, sizeof got);
		shmem_long_put(host, y, N, right);
		shmem_long_put(static_buf, y, N, right);
		shmem_barrier_all();
		for (int i = 0; i < N; i++)
			CHECK(host[i] == mark(left, i, r) && static_buf[i] == mark(left, i, r));
		/* and back: got from the other's host memory into the partition */
		shmem_barrier_all();
		r++;
		for (int i = 0; i < N; i++)
			host[i] = mark(me, i, r);
		shmem_barrier_all();
		shmem_long_get_nbi(y, host, N, right);
		shmem_quiet();
		expect(y, N, right, r, "get_nbi into the partition");
		shmem_barrier_all();
	}
	for (int pe = 0; pe < n; pe++)
		shmem_long_p(&x[me], 100 + me, pe);
	shmem_int_p((int *)&x[n], me, right);
	shmem_short_p((short *)&x[n + 1], (short)(me + 5), right);
	shmem_char_p((char *)&x[n + 2], (char)(me + 7), right);
	shmem_double_p((double *)&x[n + 3], me + 0.5, right);
	shmem_long_p(&host[3], 77 + me, right);
	shmem_barrier_all();
	for (int pe = 0; pe < n; pe++)
		CHECK(value_at(&x[pe]) == 100 + pe);
	CHECK(shmem_int_g((int *)&x[n], right) == me && shmem_short_g((short *)&x[n + 1], right) == me + 5);
	CHECK(shmem_char_g((char *)&x[n + 2], right) == me + 7 &&
	      shmem_double_g((double *)&x[n + 3], right) == me + 0.5);
	CHECK(shmem_long_g(&host[3], right) == 77 + me && host[3] == 77 + left);
	CHECK(shmem_long_g(&x[me], me) == 100 + me);
	/* unaligned lengths and places, long doubles */
	shmem_barrier_all();
	shmem_putmem((char *)x + 3, "partition", 9, right);
	shmem_barrier_all();
	char text[10] = "";
	shmem_getmem(text, (char *)x + 3, 9, me);
	CHECK(strcmp(text, "partition") == 0);
	long double wide = me + 0.25L;
	shmem_longdouble_p((long double *)(x + 10), wide, right);
	shmem_barrier_all();
	CHECK(shmem_longdouble_g((long double *)(x + 10), me) == left + 0.25L);
	shmem_ctx_t ctx;
	CHECK(shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) == 0);
	for (int i = 0; i < 100; i++)
		shmem_ctx_long_put_nbi(ctx, x + 100 + i, mine + i, 1, right);
	shmem_ctx_quiet(ctx);
	shmem_barrier_all();
	shmem_ctx_destroy(ctx);
	shmem_barrier_all();
	shmem_free(host);
	shmem_partition_free(x);
	shmem_partition_free(y);
}

static void strided(void)
{
	const int right = (me + 1) % n, left = (me + n - 1) % n;
	long *x = in(N * sizeof *x), *y = in(N * sizeof *y), all[N];
	for (int i = 0; i < N; i++)
		all[i] = mark(me, i, 1);
	set(y, all, sizeof all);
	shmem_barrier_all();
	shmem_long_iput(x, y, 2, 3, 50, right);
	shmem_long_ibput(x + 200, all, 10, 7, 5, 20, right);
	shmem_barrier_all();
	for (int i = 0; i < 50; i++)
		CHECK(value_at(&x[2 * i]) == mark(left, 3 * i, 1));
	for (int i = 0; i < 20; i++)
		for (int k = 0; k < 5; k++)
			CHECK(value_at(&x[200 + 10 * i + k]) == mark(left, 7 * i + k, 1));
	long got[N];
	shmem_long_iget(got, x, 1, 2, 50, right);
	for (int i = 0; i < 50; i++)
		CHECK(got[i] == mark(me, 3 * i, 1));
	shmem_long_ibget(y, x + 200, 5, 10, 5, 20, right);
	for (int i = 0; i < 100; i++)
		CHECK(value_at(&y[i]) == mark(me, i / 5 * 7 + i % 5, 1));
	shmem_barrier_all();
	shmem_partition_free(x);
	shmem_partition_free(y);
}

static void amo(void)
{
	enum { TIMES = 50 };
	const long zeros[8] = {0};
	long *x = in(sizeof zeros);
	int *w = (int *)(x + 4);
	set(x, zeros, sizeof zeros);
	shmem_barrier_all();
	for (int i = 0; i < TIMES; i++)
		for (int pe = 0; pe < n; pe++) {
			shmem_long_atomic_add(x, 1, pe);
			shmem_int_atomic_inc(w, pe);
			shmem_long_atomic_fetch_add(x + 1, me + 1, pe);
		}
	shmem_barrier_all();
	CHECK(shmem_long_atomic_fetch(x, (me + 1) % n) == (long)TIMES * n);
	CHECK(shmem_int_atomic_fetch(w, (me + 1) % n) == TIMES * n);
	CHECK(value_at(x + 1) == (long)TIMES * n * (n + 1) / 2);
	shmem_barrier_all();
	/* a lock made of compare-and-swap */
	for (int i = 0; i < 10; i++) {
		while (shmem_long_atomic_compare_swap(x + 2, 0, me + 1, 0) != 0)
			;
		const long was = shmem_long_g(x + 3, 0);
		shmem_long_p(x + 3, was + 1, 0);
		shmem_quiet();
		CHECK(shmem_long_atomic_swap(x + 2, 0, 0) == me + 1);
	}
	shmem_barrier_all();
	CHECK(shmem_long_g(x + 3, 0) == 10L * n);
	shmem_barrier_all();
	shmem_long_atomic_set(x + 2, 0xf0, me);
	CHECK(shmem_ulong_atomic_fetch_or((unsigned long *)x + 2, 0x0f, me) == 0xf0);
	CHECK(shmem_ulong_atomic_fetch_and((unsigned long *)x + 2, 0x3c, me) == 0xff);
	CHECK(shmem_ulong_atomic_fetch_xor((unsigned long *)x + 2, 0xff, me) == 0x3c);
	CHECK(value_at(x + 2) == 0xc3);
	shmem_double_atomic_set((double *)x + 2, 2.5, me);
	CHECK(shmem_double_atomic_swap((double *)x + 2, 3.5, me) == 2.5);
	CHECK(shmem_double_atomic_fetch((double *)x + 2, me) == 3.5);
	unsigned u = 1;
	set(w + 1, &u, sizeof u);
	shmem_uint_atomic_xor((unsigned *)w + 1, 0xffffffffu, me);
	CHECK(shmem_uint_atomic_fetch((unsigned *)w + 1, me) == 0xfffffffeu);
	shmem_barrier_all();
	shmem_partition_free(x);
}

static void signals(void)
{
	const int right = (me + 1) % n, left = (me + n - 1) % n;
	static uint64_t host_sig;
	long *x = in(N * sizeof *x), mine[N];
	uint64_t *sig = in(3 * sizeof *sig), zero[3] = {0};
	int *flags = in(8 * sizeof *flags), none[8] = {0};
	set(sig, zero, sizeof zero);
	set(flags, none, sizeof none);
	host_sig = 0;
	shmem_barrier_all();
	for (int r = 1; r <= 3; r++) {
		for (int i = 0; i < N; i++)
			mine[i] = mark(me, i, r);
		/* data and signal in the partition; then the signal in host memory; blocking and not */
		shmem_long_put_signal(x, mine, N, sig, (uint64_t)r, SHMEM_SIGNAL_SET, right);
		CHECK(shmem_signal_wait_until(sig, SHMEM_CMP_GE, (uint64_t)r) == (uint64_t)r);
		expect(x, N, left, r, "put_signal");
		CHECK(shmem_signal_fetch(sig) == (uint64_t)r);
		shmem_barrier_all();
		for (int i = 0; i < N; i++)
			mine[i] = mark(me, i, r + 10);
		shmem_long_put_signal_nbi(x, mine, N, &host_sig, 1, SHMEM_SIGNAL_ADD, right);
		shmem_signal_wait_until(&host_sig, SHMEM_CMP_EQ, (uint64_t)r);
		expect(x, N, left, r + 10, "put_signal_nbi with a signal of the host");
		shmem_quiet();
		shmem_barrier_all();
	}
	/* puts of data and flag with a fence between, and waits for arrays */
	for (int i = 0; i < N; i++)
		mine[i] = mark(me, i, 20);
	shmem_long_put_nbi(x, mine, N, right);
	shmem_fence();
	shmem_int_p(flags + 2, 5, right);
	shmem_int_wait_until(flags + 2, SHMEM_CMP_EQ, 5);
	expect(x, N, left, 20, "put_nbi, fence, p");
	CHECK(shmem_int_test(flags + 2, SHMEM_CMP_EQ, 5) && !shmem_int_test(flags + 3, SHMEM_CMP_NE, 0));
	CHECK(shmem_int_test_any(flags, 4, NULL, SHMEM_CMP_EQ, 5) == 2);
	shmem_barrier_all();
	for (int i = 0; i < 8; i++)
		shmem_int_p(flags + i, 9, right);
	shmem_int_wait_until_all(flags, 8, NULL, SHMEM_CMP_EQ, 9);
	size_t which[8];
	CHECK(shmem_int_wait_until_some(flags, 8, which, NULL, SHMEM_CMP_EQ, 9) == 8);
	shmem_barrier_all();
	shmem_partition_free(x);
	shmem_partition_free(sig);
	shmem_partition_free(flags);
}

/* Member i sends (i + j) % block elements to member j, from block j of its source into block i of dest. */
static void vector_of(shmem_team_t team, long *dest, const long *src, size_t block)
{
	const size_t rank = (size_t)shmem_team_my_pe(team), size = (size_t)shmem_team_n_pes(team);
	size_t *const counts = malloc(2 * size * sizeof *counts), *const displs = counts + size;
	long *const none = calloc(size * block, sizeof *none), *const got = malloc(size * block * sizeof *got);
	for (size_t j = 0; j < size; j++) {
		counts[j] = (rank + j) % block;
		displs[j] = j * block;
	}
	set(dest, none, size * block * sizeof *none);
	shmem_team_sync(team);
	CHECK(shmemx_long_alltoallv(team, dest, counts, displs, src, counts, displs) == 0);
	shmemx_partition_copy(got, dest, size * block * sizeof *got);
	for (size_t i = 0; i < size * block; i++)
		CHECK(got[i] ==
		      (i % block < counts[i / block] ? (long)(i / block * 1000 + rank * block + i % block) : 0));
	shmem_team_sync(team);
	free(counts);
	free(none);
	free(got);
}

static void colls_of(shmem_team_t team, const char *what)
{
	const int rank = shmem_team_my_pe(team), size = shmem_team_n_pes(team);
	enum { BLOCK = 9 };
	const size_t all = (size_t)size * BLOCK, room = (size_t)n * BLOCK; /* the same on all PEs, whatever the team */
	long *dest = in(room * 2 * sizeof *dest), *source = in(room * sizeof *source),
	     *host = shmem_malloc(room * sizeof *host);
	long *got = malloc(all * 2 * sizeof *got), *fill = malloc(all * sizeof *fill);
	for (size_t i = 0; i < all; i++)
		fill[i] = rank * 1000L + (long)i;
	set(source, fill, all * sizeof *fill);
	memcpy(host, fill, all * sizeof *fill);
	memset(got, 0, all * 2 * sizeof *got);
	set(dest, got, all * 2 * sizeof *got);
	shmem_barrier_all();
	for (int mixed = 0; mixed < 2; mixed++) { /* the source in host memory the second time */
		const long *src = mixed ? host : source;
		CHECK(shmem_long_broadcast(team, dest, src, BLOCK, size - 1) == 0);
		shmemx_partition_copy(got, dest, BLOCK * sizeof *got);
		for (int i = 0; i < BLOCK; i++)
			CHECK(got[i] == (size - 1) * 1000L + i);
		shmem_team_sync(team);
		CHECK(shmem_long_fcollect(team, dest, src, BLOCK) == 0);
		shmemx_partition_copy(got, dest, all * sizeof *got);
		for (size_t i = 0; i < all; i++)
			CHECK(got[i] == (long)(i / BLOCK) * 1000 + (long)(i % BLOCK));
		shmem_team_sync(team);
		CHECK(shmem_long_collect(team, dest, src, (size_t)rank + 1) == 0);
		shmemx_partition_copy(got, dest, (size_t)(size * (size + 1) / 2) * sizeof *got);
		for (int r = 0, pos = 0; r < size; r++)
			for (int i = 0; i <= r; i++, pos++)
				CHECK(got[pos] == r * 1000L + i);
		shmem_team_sync(team);
		CHECK(shmem_long_alltoall(team, dest, src, BLOCK) == 0);
		shmemx_partition_copy(got, dest, all * sizeof *got);
		for (size_t i = 0; i < all; i++)
			CHECK(got[i] == (long)(i / BLOCK) * 1000 + rank * BLOCK + (long)(i % BLOCK));
		shmem_team_sync(team);
		CHECK(shmem_long_alltoalls(team, dest, src, 2, 1, BLOCK) == 0);
		shmemx_partition_copy(got, dest, all * 2 * sizeof *got);
		for (size_t i = 0; i < all; i++)
			CHECK(got[2 * i] == (long)(i / BLOCK) * 1000 + rank * BLOCK + (long)(i % BLOCK));
		shmem_team_sync(team);
		CHECK(shmemx_long_gather(team, dest, src, BLOCK, size - 1) == 0);
		shmemx_partition_copy(got, dest, all * sizeof *got);
		for (size_t i = 0; i < all && rank == size - 1; i++)
			CHECK(got[i] == (long)(i / BLOCK) * 1000 + (long)(i % BLOCK));
		shmem_team_sync(team);
		CHECK(shmemx_long_scatter(team, dest, src, BLOCK, 0) == 0);
		shmemx_partition_copy(got, dest, BLOCK * sizeof *got);
		for (int i = 0; i < BLOCK; i++)
			CHECK(got[i] == rank * BLOCK + i);
		shmem_team_sync(team);
		vector_of(team, dest, src, BLOCK);
		CHECK(shmem_long_sum_reduce(team, dest, src, all) == 0);
		shmemx_partition_copy(got, dest, all * sizeof *got);
		for (size_t i = 0; i < all; i++)
			CHECK(got[i] == (long)size * (long)i + 1000L * size * (size - 1) / 2);
		shmem_team_sync(team);
		CHECK(shmem_long_max_reduce(team, dest, src, 1) == 0);
		CHECK(value_at(dest) == (size - 1) * 1000L);
		shmem_team_sync(team);
		CHECK(shmem_long_sum_inscan(team, dest, src, all) == 0);
		shmemx_partition_copy(got, dest, all * sizeof *got);
		for (size_t i = 0; i < all; i++)
			CHECK(got[i] == (rank + 1L) * (long)i + 1000L * rank * (rank + 1) / 2);
		shmem_team_sync(team);
		CHECK(shmem_long_sum_exscan(team, dest, src, all) == 0);
		shmemx_partition_copy(got, dest, all * sizeof *got);
		for (size_t i = 0; i < all; i++)
			CHECK(got[i] == rank * (long)i + 1000L * rank * (rank - 1) / 2);
		shmem_team_sync(team);
	}
	/* the result in host memory, and in place */
	CHECK(shmem_long_sum_reduce(team, host, source, all) == 0);
	for (size_t i = 0; i < all; i++)
		CHECK(host[i] == (long)size * (long)i + 1000L * size * (size - 1) / 2);
	shmem_team_sync(team);
	CHECK(shmem_long_sum_reduce(team, source, source, all) == 0);
	shmemx_partition_copy(got, source, all * sizeof *got);
	for (size_t i = 0; i < all; i++)
		CHECK(got[i] == (long)size * (long)i + 1000L * size * (size - 1) / 2);
	shmem_barrier_all();
	if (me == 0)
		printf("collectives of %s: ok\n", what);
	free(got);
	free(fill);
	shmem_free(host);
	shmem_partition_free(dest);
	shmem_partition_free(source);
}

static void coll(void)
{
	colls_of(SHMEM_TEAM_WORLD, "the world");
	/* every other PE; the rest form another team, so that all make the same allocations */
	shmem_team_t half = SHMEM_TEAM_INVALID;
	const int first = me % 2;
	for (int k = 0; k < 2 && k < n; k++) {
		shmem_team_t made;
		shmem_team_split_strided(SHMEM_TEAM_WORLD, k, 2, (n - k + 1) / 2, NULL, 0, &made);
		if (k == first)
			half = made;
	}
	colls_of(half, "half of them");
	shmem_team_destroy(half);
	/* more than one turn of a fold: 2 MiB */
	const size_t many = 262144;
	double *big = in(many * sizeof *big), *buf = malloc(many * sizeof *buf);
	for (size_t i = 0; i < many; i++)
		buf[i] = me + (double)i;
	set(big, buf, many * sizeof *buf);
	CHECK(shmem_double_sum_reduce(SHMEM_TEAM_WORLD, big, big, many) == 0);
	shmemx_partition_copy(buf, big, many * sizeof *buf);
	for (size_t i = 0; i < many; i++)
		CHECK(buf[i] == n * (double)i + n * (n - 1) / 2.0);
	free(buf);
	shmem_barrier_all();
	shmem_partition_free(big);
}

static long sync_words[SHMEM_REDUCE_SYNC_SIZE], sync_more[SHMEM_REDUCE_SYNC_SIZE], work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];

/* Active sets: PEs 0, 2, ... */
static void sets(void)
{
	const int count = (n + 1) / 2;
	long *dest = in(64 * 64 * sizeof *dest), *source = in(64 * sizeof *source), got[64], fill[64];
	for (int i = 0; i < 64; i++)
		fill[i] = me * 100L + i;
	set(source, fill, sizeof fill);
	for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
		sync_words[i] = sync_more[i] = SHMEM_SYNC_VALUE;
	shmem_barrier_all();
	if (me % 2 == 0) {
		shmem_broadcast64(dest, source, 8, 0, 0, 1, count, sync_words);
		if (me != 0) {
			shmemx_partition_copy(got, dest, 8 * sizeof *got);
			for (int i = 0; i < 8; i++)
				CHECK(got[i] == i);
		}
		shmem_collect64(dest, source, (size_t)(me / 2 + 1), 0, 1, count, sync_more);
		for (int r = 0, pos = 0; r < count && pos < 64; r++)
			for (int i = 0; i <= r; i++, pos++)
				CHECK(value_at(dest + pos) == r * 200L + i);
		shmem_barrier(0, 1, count, sync_words);
		shmem_long_sum_to_all(dest, source, 8, 0, 1, count, work, sync_more);
		for (int i = 0; i < 8; i++)
			CHECK(value_at(dest + i) == (long)count * i + 100L * count * (count - 1));
	}
	shmem_barrier_all();
	shmem_partition_free(dest);
	shmem_partition_free(source);
}

/* Several threads, each with its own words. */
static long *thread_words;
static void *work_of_thread(void *arg)
{
	const long t = (long)(intptr_t)arg;
	for (int i = 0; i < 30; i++) {
		shmem_long_put_nbi(thread_words + t * 8, &(long){t * 100 + i}, 1, (me + 1) % n);
		shmem_quiet();
		shmem_long_atomic_inc(thread_words + 64, 0);
	}
	return NULL;
}

static void threads(void)
{
	thread_words = in(72 * sizeof *thread_words);
	const long zero[72] = {0};
	set(thread_words, zero, sizeof zero);
	shmem_barrier_all();
	pthread_t t[4];
	for (intptr_t i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, work_of_thread, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	shmem_barrier_all();
	for (long i = 0; i < 4; i++)
		CHECK(value_at(thread_words + i * 8) == i * 100 + 29);
	CHECK(shmem_long_g(thread_words + 64, 0) == 4L * 30 * n);
	shmem_barrier_all();
	shmem_partition_free(thread_words);
}

/* Longer than one part of a transfer, between all kinds of memory, at unaligned places. */
static void long_ones(void)
{
	enum { BYTES = 3000001, SHIFT = 3 };
	const int right = (me + 1) % n, left = (me + n - 1) % n;
	unsigned char *device = in(BYTES + SHIFT), *back = in(BYTES + SHIFT), *host = shmem_malloc(BYTES + SHIFT),
		      *want = malloc(BYTES), *got = malloc(BYTES);
	for (int enable = 0; enable < 4; enable++) { /* here, there */
		unsigned char *dest = (enable & 1 ? device : host) + SHIFT, *source = enable >> 1 ? back : got;
		for (int i = 0; i < BYTES; i++)
			want[i] = (unsigned char)(i * 7 + i / 251 + 31 * enable + me);
		set(source, want, BYTES);
		shmem_barrier_all();
		shmem_putmem(dest, source, BYTES, right);
		shmem_barrier_all();
		shmemx_partition_copy(got, dest, BYTES);
		for (int i = 0; i < BYTES; i++)
			CHECK(got[i] == (unsigned char)(i * 7 + i / 251 + 31 * enable + left));
		memset(got, 0, BYTES);
		set(source, got, BYTES);
		shmem_getmem(source, dest, BYTES, right);
		shmemx_partition_copy(got, source, BYTES);
		CHECK(memcmp(got, want, BYTES) == 0);
		shmem_barrier_all();
	}
	free(want);
	free(got);
	shmem_free(host);
	shmem_partition_free(device);
	shmem_partition_free(back);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} parts[] = {{"memory", memory}, {"rma", rma},         {"long", long_ones},
		     {"amo", amo},       {"strided", strided}, {"signal", signals},
		     {"coll", coll},     {"sets", sets},       {"threads", threads}};
	const int count = sizeof parts / sizeof *parts;
	int level;
	if (argc < 2)
		return 2;
	id = atoi(argv[1]);
	const int with_threads = argc > 2 && strcmp(argv[2], "threads") == 0;
	if (shmem_init_thread(with_threads ? SHMEM_THREAD_MULTIPLE : SHMEM_THREAD_SINGLE, &level) != 0)
		return 2;
	me = shmem_my_pe();
	n = shmem_n_pes();
	for (int k = 0; k < count; k++) {
		int wanted = argc == 2 && parts[k].run != threads;
		for (int a = 2; a < argc; a++)
			wanted |= strcmp(argv[a], parts[k].name) == 0;
		if (!wanted)
			continue;
		parts[k].run();
		shmem_barrier_all();
		if (me == 0)
			printf("%s: ok\n", parts[k].name);
	}
	shmem_finalize();
	return 0;
}
