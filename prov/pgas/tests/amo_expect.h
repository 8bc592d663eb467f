/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an atomic must do, computed independently of the provider: one function per datatype, written from the formulas
 * of fi_atomic(3). Included by test_prov_amo.c only.
 */
#ifndef TESTS_AMO_EXPECT_H
#define TESTS_AMO_EXPECT_H

#include <complex.h>
#include "common.h"

/* Returns false when the datatype does not have the operation. *out: the location's value afterwards. */
typedef bool (*expect_fn)(enum fi_op op, const void *old, const void *input, const void *cmp, void *out);
typedef bool (*equal_fn)(const void *a, const void *b);
typedef void (*make_fn)(void *dst, int number); /* a small value, exact in every type */

#define EXPECT_COMMON(T_arg)                                                                                           \
	case FI_SUM:                                                                                                   \
		*r = (T_arg)(a + b);                                                                                   \
		return true;                                                                                           \
	case FI_PROD:                                                                                                  \
		*r = (T_arg)(a * b);                                                                                   \
		return true;                                                                                           \
	case FI_LOR:                                                                                                   \
		*r = (T_arg)(a != 0 || b != 0);                                                                        \
		return true;                                                                                           \
	case FI_LAND:                                                                                                  \
		*r = (T_arg)(a != 0 && b != 0);                                                                        \
		return true;                                                                                           \
	case FI_LXOR:                                                                                                  \
		*r = (T_arg)((a != 0) != (b != 0));                                                                    \
		return true;                                                                                           \
	case FI_ATOMIC_READ:                                                                                           \
		*r = a;                                                                                                \
		return true;                                                                                           \
	case FI_ATOMIC_WRITE:                                                                                          \
		*r = b;                                                                                                \
		return true;                                                                                           \
	case FI_CSWAP:                                                                                                 \
		*r = c == a ? b : a;                                                                                   \
		return true;                                                                                           \
	case FI_CSWAP_NE:                                                                                              \
		*r = c != a ? b : a;                                                                                   \
		return true;

#define EXPECT_ORDERED                                                                                                 \
	case FI_MIN:                                                                                                   \
		*r = b < a ? b : a;                                                                                    \
		return true;                                                                                           \
	case FI_MAX:                                                                                                   \
		*r = b > a ? b : a;                                                                                    \
		return true;                                                                                           \
	case FI_CSWAP_LE:                                                                                              \
		*r = c <= a ? b : a;                                                                                   \
		return true;                                                                                           \
	case FI_CSWAP_LT:                                                                                              \
		*r = c < a ? b : a;                                                                                    \
		return true;                                                                                           \
	case FI_CSWAP_GE:                                                                                              \
		*r = c >= a ? b : a;                                                                                   \
		return true;                                                                                           \
	case FI_CSWAP_GT:                                                                                              \
		*r = c > a ? b : a;                                                                                    \
		return true;

#define EXPECT_INTEGER(T_arg)                                                                                          \
	case FI_BOR:                                                                                                   \
		*r = (T_arg)(a | b);                                                                                   \
		return true;                                                                                           \
	case FI_BAND:                                                                                                  \
		*r = (T_arg)(a & b);                                                                                   \
		return true;                                                                                           \
	case FI_BXOR:                                                                                                  \
		*r = (T_arg)(a ^ b);                                                                                   \
		return true;                                                                                           \
	case FI_MSWAP:                                                                                                 \
		*r = (T_arg)((b & c) | (a & ~c));                                                                      \
		return true;

#define EXPECT_TYPE(name_arg, T_arg, cases_arg)                                                                        \
	static bool expect_##name_arg(enum fi_op op, const void *old, const void *operand, const void *cmp, void *out) \
	{                                                                                                              \
		T_arg a, b, c, *r = out;                                                                               \
		memcpy(&a, old, sizeof a);                                                                             \
		memcpy(&b, operand, sizeof b);                                                                         \
		memcpy(&c, cmp, sizeof c);                                                                             \
		switch ((int)op) {                                                                                     \
			EXPECT_COMMON(T_arg)                                                                           \
			cases_arg default : return false;                                                              \
		}                                                                                                      \
	}                                                                                                              \
	static bool equal_##name_arg(const void *a, const void *b)                                                     \
	{                                                                                                              \
		T_arg x, y;                                                                                            \
		memcpy(&x, a, sizeof x);                                                                               \
		memcpy(&y, b, sizeof y);                                                                               \
		return x == y;                                                                                         \
	}

#define MAKE_REAL(name_arg, T_arg)                                                                                     \
	static void make_##name_arg(void *dst, int number)                                                             \
	{                                                                                                              \
		const T_arg v = (T_arg)number;                                                                         \
		memcpy(dst, &v, sizeof v);                                                                             \
	}
#define MAKE_COMPLEX(name_arg, T_arg)                                                                                  \
	static void make_##name_arg(void *dst, int number)                                                             \
	{                                                                                                              \
		const T_arg v = (T_arg)number + (T_arg)(number / 2) * (T_arg)I;                                        \
		memcpy(dst, &v, sizeof v);                                                                             \
	}

#define INTEGER_TYPE(name_arg, T_arg)                                                                                  \
	EXPECT_TYPE(name_arg, T_arg, EXPECT_ORDERED EXPECT_INTEGER(T_arg))                                             \
	MAKE_REAL(name_arg, T_arg)
#define REAL_TYPE(name_arg, T_arg) EXPECT_TYPE(name_arg, T_arg, EXPECT_ORDERED) MAKE_REAL(name_arg, T_arg)
#define COMPLEX_TYPE(name_arg, T_arg) EXPECT_TYPE(name_arg, T_arg, ) MAKE_COMPLEX(name_arg, T_arg)

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;
INTEGER_TYPE(i8, int8_t)
INTEGER_TYPE(u8, uint8_t)
INTEGER_TYPE(i16, int16_t)
INTEGER_TYPE(u16, uint16_t)
INTEGER_TYPE(i32, int32_t)
INTEGER_TYPE(u32, uint32_t)
INTEGER_TYPE(i64, int64_t)
INTEGER_TYPE(u64, uint64_t)
REAL_TYPE(f, float)
REAL_TYPE(d, double)
COMPLEX_TYPE(cf, float complex)
COMPLEX_TYPE(cd, double complex)
REAL_TYPE(ld, long double)
COMPLEX_TYPE(cld, long double complex)
INTEGER_TYPE(i128, int128)
INTEGER_TYPE(u128, uint128)

static const struct amo_type {
	enum fi_datatype type;
	const char *name;
	size_t bytes;
	expect_fn expect;
	equal_fn equal;
	make_fn make;
} amo_types[] = {
#define ROW(type_arg, name_arg, T_arg)                                                                                 \
	{                                                                                                              \
		type_arg, #name_arg, sizeof(T_arg), expect_##name_arg, equal_##name_arg, make_##name_arg               \
	}
	ROW(FI_INT8, i8, int8_t),
	ROW(FI_UINT8, u8, uint8_t),
	ROW(FI_INT16, i16, int16_t),
	ROW(FI_UINT16, u16, uint16_t),
	ROW(FI_INT32, i32, int32_t),
	ROW(FI_UINT32, u32, uint32_t),
	ROW(FI_INT64, i64, int64_t),
	ROW(FI_UINT64, u64, uint64_t),
	ROW(FI_FLOAT, f, float),
	ROW(FI_DOUBLE, d, double),
	ROW(FI_FLOAT_COMPLEX, cf, float complex),
	ROW(FI_DOUBLE_COMPLEX, cd, double complex),
	ROW(FI_LONG_DOUBLE, ld, long double),
	ROW(FI_LONG_DOUBLE_COMPLEX, cld, long double complex),
	ROW(FI_INT128, i128, int128),
	ROW(FI_UINT128, u128, uint128),
#undef ROW
};

#endif /* TESTS_AMO_EXPECT_H */
