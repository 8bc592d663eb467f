/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.h: the checks of all test programs, for C and C++, with CMocka and without it. A failed check prints one line
 *
 *	[rank 3] shmem/tests/rma.c:120: not true: dest[i] == left (long put)
 *
 * and ends the test. Before a program includes this header it may define
 *
 *	CHECK_RANK                  an int: the rank of this process in the job, -1 for none (the default)
 *	CHECK_END(file, line)       ends the test; the default is CMocka's own failure if cmocka.h was included before,
 *	                            and exit(1) otherwise
 *	CHECK_ERROR_TEXT(code)      the text for a code that a call returned; the default is "an error"
 *
 * check_doing, when it is not empty, is printed at the end of the line: what the program was about to test.
 * Single-process programs that use CMocka may use CMocka's assert_* just as well.
 */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef CHECK_RANK
#define CHECK_RANK (-1)
#endif
#ifndef CHECK_ERROR_TEXT
#define CHECK_ERROR_TEXT(code_arg) ((void)(code_arg), "an error")
#endif
#ifndef CHECK_END
#ifdef CMOCKA_H_
#define CHECK_END(file_arg, line_arg) _fail(file_arg, line_arg)
#else
#define CHECK_END(file_arg, line_arg) exit(1)
#endif
#endif

static const char *check_doing __attribute__((unused)) = "";

#define CHECK(cond_arg) ((cond_arg) ? (void)0 : check_failed(__FILE__, __LINE__, "not true: %s", #cond_arg))
/* integers and pointers; for a number with a fraction use CHECK(a == b) */
#define CHECK_EQ(a_arg, b_arg) check_equal((long long)(a_arg), (long long)(b_arg), #a_arg, #b_arg, __FILE__, __LINE__)
#define CHECK_OK(call_arg) check_ok((long long)(call_arg), #call_arg, __FILE__, __LINE__)
#define CHECK_STR(a_arg, b_arg) check_text((a_arg), (b_arg), #a_arg, __FILE__, __LINE__)
#define CHECK_MEM(a_arg, b_arg, len_arg) check_bytes((a_arg), (b_arg), (len_arg), __FILE__, __LINE__)

/* One write for the whole line, because the processes of a job share stderr. */
__attribute__((unused, noinline, cold, noreturn, format(printf, 3, 4))) static void
check_failed(const char *file, int line, const char *format, ...)
{
	char text[1024], who[32] = "";
	const int rank = CHECK_RANK;
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (rank >= 0)
		snprintf(who, sizeof who, "[rank %d] ", rank);
	fprintf(stderr, "%s%s:%d: %s%s%s%s\n", who, file, line, text, *check_doing ? " (" : "", check_doing,
		*check_doing ? ")" : "");
	CHECK_END(file, line);
	abort();
}

static inline void check_equal(long long a, long long b, const char *a_text, const char *b_text, const char *file,
			       int line)
{
	if (a != b)
		check_failed(file, line, "%s is %lld (0x%llx), expected %s = %lld (0x%llx)", a_text, a,
			     (unsigned long long)a, b_text, b, (unsigned long long)b);
}

static inline void check_ok(long long code, const char *call, const char *file, int line)
{
	if (code != 0)
		check_failed(file, line, "%s returns %lld (%s)", call, code, CHECK_ERROR_TEXT((int)code));
}

static inline void check_text(const char *a, const char *b, const char *a_text, const char *file, int line)
{
	if (!a || strcmp(a, b) != 0)
		check_failed(file, line, "%s is \"%s\", expected \"%s\"", a_text, a ? a : "(null)", b);
}

static inline void check_bytes(const void *a, const void *b, size_t len, const char *file, int line)
{
	const unsigned char *p = (const unsigned char *)a, *q = (const unsigned char *)b;
	for (size_t i = 0; i < len; i++)
		if (p[i] != q[i])
			check_failed(file, line, "byte %zu of %zu is %02x, expected %02x", i, len, p[i], q[i]);
}

#endif /* TESTS_CHECK_H */
