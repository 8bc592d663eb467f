/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * partition_reduce ID: reductions and scans of every operation and many types on memory of partition ID, compared with
 * results that this PE computes from the known values of all PEs; aligned or not, in place or not. The kinds that have
 * kernels use them, the others the host.
 */
#include <complex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <shmem.h>
#include <shmemx.h>

#include "shmem_test.h"

enum { N = 333, ROOM = (N + 1) * 16 };
static int me, n;
static char *dest, *source; /* in the partition */
static char host[ROOM], got[ROOM];

/* A small number that differs by PE and element: products of a few stay exact in every type. */
static int value(int pe, int i)
{
	return (pe * 7 + i * 3) % 5 + 1;
}

#define SUM(a, b) ((a) + (b))
#define PROD(a, b) ((a) * (b))
#define MIN(a, b) ((b) < (a) ? (b) : (a))
#define MAX(a, b) ((a) < (b) ? (b) : (a))
#define AND(a, b) ((a) & (b))
#define OR(a, b) ((a) | (b))
#define XOR(a, b) ((a) ^ (b))

#define FILL(T, addr)                                                                                                  \
	do {                                                                                                           \
		for (int i = 0; i < N; i++)                                                                            \
			((T *)host)[i] = (T)value(me, i);                                                              \
		shmemx_partition_copy(addr, host, N * sizeof(T));                                                      \
	} while (0)

/* The result over the first `members` PEs; zeros for none. */
#define EXPECT(NAME, T, OP, addr, members)                                                                             \
	do {                                                                                                           \
		shmemx_partition_copy(got, addr, N * sizeof(T));                                                       \
		for (int i = 0; i < N; i++) {                                                                          \
			T want = (members) ? (T)value(0, i) : (T)0;                                                    \
			for (int pe = 1; pe < (members); pe++)                                                         \
				want = (T)OP(want, (T)value(pe, i));                                                   \
			if (((T *)got)[i] != want) {                                                                   \
				fprintf(stderr, "PE %d: %s: element %d is wrong\n", me, NAME, i);                      \
				abort();                                                                               \
			}                                                                                              \
		}                                                                                                      \
	} while (0)

/* Out of place and in place, from the beginning of the array and from its second element. */
#define TRY(CALL, T, OP, members)                                                                                      \
	for (int k = 0; k < 4; k++) {                                                                                  \
		T *src = (T *)source + k / 2, *dst = k % 2 ? src : (T *)dest + k / 2;                                  \
		FILL(T, src);                                                                                          \
		shmem_barrier_all();                                                                                   \
		CHECK(CALL(SHMEM_TEAM_WORLD, dst, src, N) == 0);                                                       \
		EXPECT(#CALL, T, OP, dst, members);                                                                    \
		shmem_barrier_all();                                                                                   \
	}

#define SUMS(NAME, T)                                                                                                  \
	static void sums_##NAME(void)                                                                                  \
	{                                                                                                              \
		TRY(shmem_##NAME##_sum_reduce, T, SUM, n)                                                              \
		TRY(shmem_##NAME##_prod_reduce, T, PROD, n)                                                            \
		TRY(shmem_##NAME##_sum_inscan, T, SUM, me + 1)                                                         \
		TRY(shmem_##NAME##_sum_exscan, T, SUM, me)                                                             \
	}
#define COMPARES(NAME, T)                                                                                              \
	static void compares_##NAME(void)                                                                              \
	{                                                                                                              \
		TRY(shmem_##NAME##_min_reduce, T, MIN, n)                                                              \
		TRY(shmem_##NAME##_max_reduce, T, MAX, n)                                                              \
	}
#define BITS(NAME, T)                                                                                                  \
	static void bits_##NAME(void)                                                                                  \
	{                                                                                                              \
		TRY(shmem_##NAME##_and_reduce, T, AND, n)                                                              \
		TRY(shmem_##NAME##_or_reduce, T, OR, n)                                                                \
		TRY(shmem_##NAME##_xor_reduce, T, XOR, n)                                                              \
	}
#define NUMBERS(X)                                                                                                     \
	X(schar, signed char)                                                                                          \
	X(short, short)                                                                                                \
	X(int, int)                                                                                                    \
	X(long, long)                                                                                                  \
	X(longlong, long long)                                                                                         \
	X(uint, unsigned int)                                                                                          \
	X(float, float)                                                                                                \
	X(double, double)                                                                                              \
	X(longdouble, long double)
#define COMPLEX(X) X(complexf, float complex) X(complexd, double complex)
#define BIT_TYPES(X) X(uint8, uint8_t) X(uint16, uint16_t) X(int32, int32_t) X(ulong, unsigned long)

NUMBERS(SUMS)
COMPLEX(SUMS)
NUMBERS(COMPARES)
BIT_TYPES(BITS)

int main(int argc, char **argv)
{
	shmem_init();
	me = shmem_my_pe();
	n = shmem_n_pes();
	const int id = argc > 1 ? atoi(argv[1]) : 1;
	dest = shmem_partition_malloc(ROOM, id);
	source = shmem_partition_malloc(ROOM, id);
	CHECK(dest != NULL && source != NULL);
#define DO_SUMS(NAME, T) sums_##NAME();
#define DO_COMPARES(NAME, T) compares_##NAME();
#define DO_BITS(NAME, T) bits_##NAME();
	NUMBERS(DO_SUMS)
	COMPLEX(DO_SUMS)
	NUMBERS(DO_COMPARES)
	BIT_TYPES(DO_BITS)
	/* negative numbers, which an unsigned comparison would take for large ones */
	const int minus = -1 - me;
	int least = 0;
	shmemx_partition_copy(source, &minus, sizeof minus);
	shmem_barrier_all();
	CHECK(shmem_int_min_reduce(SHMEM_TEAM_WORLD, (int *)dest, (const int *)source, 1) == 0);
	shmemx_partition_copy(&least, dest, sizeof least);
	CHECK(least == -n);
	shmem_barrier_all();
	if (me == 0)
		printf("reductions: ok\n");
	shmem_finalize();
	return 0;
}
