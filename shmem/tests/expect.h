/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * expect.h: what the multi-PE test programs share. A condition that does not hold ends the job with a line that says
 * where. TYPED(NAME, call) names a call on the default context: the typed name, or with TEST_GENERIC the type-generic
 * one.
 */
#ifndef SHMEM_TESTS_EXPECT_H
#define SHMEM_TESTS_EXPECT_H

#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT_AS(what_arg, cond_arg)                                                                                  \
	do {                                                                                                           \
		if (!(cond_arg)) {                                                                                     \
			fprintf(stderr, "PE %d: %s: line %d: not so: %s\n", shmem_my_pe(), what_arg, __LINE__,         \
				#cond_arg);                                                                            \
			shmem_global_exit(3);                                                                          \
		}                                                                                                      \
	} while (0)
#define EXPECT(cond_arg) EXPECT_AS(__FILE__, cond_arg)

/*
 * The types of a family. _Generic selections are made of the library's own lists, which the preprocessor does not
 * expand inside themselves: with TEST_GENERIC the distinct types stand here once more.
 */
#ifdef TEST_GENERIC
#define TEST_SIGNED_TYPES(X, A) X(int, int, A) X(long, long, A) X(longlong, long long, A)
#define TEST_BIT_TYPES(X, A)                                                                                           \
	X(uint, unsigned int, A)                                                                                       \
	X(ulong, unsigned long, A) X(ulonglong, unsigned long long, A) X(int32, int32_t, A) X(int64, int64_t, A)
#define TEST_STD_TYPES(X, A)                                                                                           \
	TEST_SIGNED_TYPES(X, A)                                                                                        \
	X(uint, unsigned int, A) X(ulong, unsigned long, A) X(ulonglong, unsigned long long, A)
#define TEST_EXT_TYPES(X, A) TEST_STD_TYPES(X, A) X(float, float, A) X(double, double, A)
#define TEST_RMA_TYPES(X, A)                                                                                           \
	TEST_EXT_TYPES(X, A)                                                                                           \
	X(longdouble, long double, A)                                                                                  \
	X(char, char, A)                                                                                               \
	X(schar, signed char, A) X(short, short, A) X(uchar, unsigned char, A) X(ushort, unsigned short, A)
#else
#define TEST_BIT_TYPES SHMEM_AMO_BIT_TYPES
#define TEST_STD_TYPES SHMEM_AMO_STD_TYPES
#define TEST_EXT_TYPES SHMEM_AMO_EXT_TYPES
#define TEST_RMA_TYPES SHMEM_RMA_TYPES
#endif

#ifdef TEST_GENERIC
#define TYPED(N, CALL, ...) shmem_##CALL(__VA_ARGS__)
#define TYPED_CTX(N, CALL, ...) shmem_##CALL(ctx, __VA_ARGS__)
#else
#define TYPED(N, CALL, ...) shmem_##N##_##CALL(__VA_ARGS__)
#define TYPED_CTX(N, CALL, ...) shmem_ctx_##N##_##CALL(ctx, __VA_ARGS__)
#endif

static inline void test_done(const char *what)
{
	shmem_barrier_all();
	if (shmem_my_pe() == 0)
		printf("%s: %d PEs: all as it should be\n", what, shmem_n_pes());
	shmem_finalize();
}

#endif
