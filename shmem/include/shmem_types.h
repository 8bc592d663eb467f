/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmem_types.h: THE list of OpenSHMEM types.
 *
 * Every pair (TYPENAME, TYPE) of OpenSHMEM 1.6 is in exactly one group below; every list used by prototypes, generics,
 * overloads, bodies, man pages and tests is a sum of groups. A list is called as LIST(X, A) and yields X(NAME, TYPE, A)
 * for each of its types; A is passed through unchanged (a prefix, a suffix, another macro).
 *
 * This file owns lists only: no prototypes, no constants of the API.
 */
#ifndef SHMEM_TYPES_H
#define SHMEM_TYPES_H

/* clang-format off */

#include <stddef.h>
#include <stdint.h>

/* _Complex is an extension in C++; the __extension__ keeps -Wpedantic quiet there. */
__extension__ typedef double _Complex shmem_impl_complexd_t;
__extension__ typedef float _Complex shmem_impl_complexf_t;

/* --- groups: each pair once --------------------------------------------------------------------------------------- */
#define SHMEM_GROUP_REAL(X, A) X(float, float, A) X(double, double, A)
#define SHMEM_GROUP_LONGDOUBLE(X, A) X(longdouble, long double, A)
#define SHMEM_GROUP_CHAR(X, A) X(char, char, A) X(schar, signed char, A)
#define SHMEM_GROUP_SHORT(X, A) X(short, short, A)
#define SHMEM_GROUP_LONG(X, A) X(long, long, A)
#define SHMEM_GROUP_INT(X, A) X(int, int, A) X(longlong, long long, A)
#define SHMEM_GROUP_UCHAR(X, A) X(uchar, unsigned char, A)
#define SHMEM_GROUP_USHORT(X, A) X(ushort, unsigned short, A)
#define SHMEM_GROUP_UINT(X, A) \
	X(uint, unsigned int, A) X(ulong, unsigned long, A) X(ulonglong, unsigned long long, A)
#define SHMEM_GROUP_INT8(X, A) X(int8, int8_t, A) X(int16, int16_t, A)
#define SHMEM_GROUP_INT32(X, A) X(int32, int32_t, A) X(int64, int64_t, A)
#define SHMEM_GROUP_UINT8(X, A) X(uint8, uint8_t, A) X(uint16, uint16_t, A)
#define SHMEM_GROUP_UINT32(X, A) X(uint32, uint32_t, A) X(uint64, uint64_t, A)
#define SHMEM_GROUP_SIZE(X, A) X(size, size_t, A)
#define SHMEM_GROUP_PTRDIFF(X, A) X(ptrdiff, ptrdiff_t, A)
#define SHMEM_GROUP_COMPLEX(X, A) X(complexd, shmem_impl_complexd_t, A) X(complexf, shmem_impl_complexf_t, A)

#define SHMEM_GROUP_USMALL(X, A) SHMEM_GROUP_UCHAR(X, A) SHMEM_GROUP_USHORT(X, A)
#define SHMEM_GROUP_SIGNED(X, A) SHMEM_GROUP_INT(X, A) SHMEM_GROUP_LONG(X, A)

/* --- standard RMA types: 14 types of the language, 10 names for some of them -------------------------------------- */
#define SHMEM_BASE_TYPES(X, A)   \
	SHMEM_GROUP_REAL(X, A)       \
	SHMEM_GROUP_LONGDOUBLE(X, A) \
	SHMEM_GROUP_CHAR(X, A)       \
	SHMEM_GROUP_SHORT(X, A)      \
	SHMEM_GROUP_SIGNED(X, A)     \
	SHMEM_GROUP_USMALL(X, A)     \
	SHMEM_GROUP_UINT(X, A)
#define SHMEM_ALIAS_TYPES(X, A) \
	SHMEM_GROUP_INT8(X, A)      \
	SHMEM_GROUP_INT32(X, A)     \
	SHMEM_GROUP_UINT8(X, A)     \
	SHMEM_GROUP_UINT32(X, A)    \
	SHMEM_GROUP_SIZE(X, A)      \
	SHMEM_GROUP_PTRDIFF(X, A)
#define SHMEM_RMA_TYPES(X, A) SHMEM_BASE_TYPES(X, A) SHMEM_ALIAS_TYPES(X, A)

/* --- AMO types: BIT (7) within STD (12) within EXT (14) ----------------------------------------------------------- */
#define SHMEM_AMO_BIT_TYPES(X, A) SHMEM_GROUP_UINT(X, A) SHMEM_GROUP_INT32(X, A) SHMEM_GROUP_UINT32(X, A)
#define SHMEM_AMO_STD_TYPES(X, A) \
	SHMEM_AMO_BIT_TYPES(X, A)     \
	SHMEM_GROUP_SIGNED(X, A)      \
	SHMEM_GROUP_SIZE(X, A)        \
	SHMEM_GROUP_PTRDIFF(X, A)
#define SHMEM_AMO_EXT_TYPES(X, A) SHMEM_AMO_STD_TYPES(X, A) SHMEM_GROUP_REAL(X, A)
/* the names without "atomic", deprecated since 1.4 */
#define SHMEM_AMO_OLD_STD_TYPES(X, A) SHMEM_GROUP_SIGNED(X, A)
#define SHMEM_AMO_OLD_EXT_TYPES(X, A) SHMEM_GROUP_SIGNED(X, A) SHMEM_GROUP_REAL(X, A)

/* --- point-to-point synchronisation: STD; wait_until and test also short and ushort (deprecated since 1.5) -------- */
#define SHMEM_SYNC_OLD_TYPES(X, A) SHMEM_GROUP_SHORT(X, A) SHMEM_GROUP_USHORT(X, A)
#define SHMEM_SYNC_TYPES(X, A) SHMEM_AMO_STD_TYPES(X, A) SHMEM_SYNC_OLD_TYPES(X, A)
#define SHMEM_WAIT_TYPES(X, A) SHMEM_GROUP_SHORT(X, A) SHMEM_GROUP_SIGNED(X, A)

/* --- reductions over teams, and over active sets (to_all, deprecated since 1.5) ----------------------------------- */
#define SHMEM_REDUCE_BIT_TYPES(X, A) \
	SHMEM_GROUP_USMALL(X, A)         \
	SHMEM_GROUP_UINT(X, A)           \
	SHMEM_GROUP_INT8(X, A)           \
	SHMEM_GROUP_INT32(X, A)          \
	SHMEM_GROUP_UINT8(X, A)          \
	SHMEM_GROUP_UINT32(X, A)         \
	SHMEM_GROUP_SIZE(X, A)
#define SHMEM_REDUCE_CMP_TYPES(X, A) SHMEM_RMA_TYPES(X, A)
#define SHMEM_REDUCE_SUM_TYPES(X, A) SHMEM_RMA_TYPES(X, A) SHMEM_GROUP_COMPLEX(X, A)
#define SHMEM_TO_ALL_BIT_TYPES(X, A) SHMEM_GROUP_SHORT(X, A) SHMEM_GROUP_SIGNED(X, A)
#define SHMEM_TO_ALL_CMP_TYPES(X, A) \
	SHMEM_TO_ALL_BIT_TYPES(X, A) SHMEM_GROUP_REAL(X, A) SHMEM_GROUP_LONGDOUBLE(X, A)
#define SHMEM_TO_ALL_SUM_TYPES(X, A) SHMEM_TO_ALL_CMP_TYPES(X, A) SHMEM_GROUP_COMPLEX(X, A)

/* --- element sizes in bits of put8 .. put128: X(SIZE, A) ---------------------------------------------------------- */
#define SHMEM_SIZES(X, A) X(8, A) X(16, A) X(32, A) X(64, A) X(128, A)
/* the sizes of the active-set collectives */
#define SHMEM_COLL_SIZES(X, A) X(32, A) X(64, A)

/* --- the same lists with each distinct type once, for _Generic and overloads -------------------------------------- */
/*
 * An alias is the same type as one of the base types, so base types suffice where all of them are in the list. In the
 * two bitwise lists the signed types have no base name: there the signed aliases replace them; they differ from the
 * unsigned types and from one another on every platform.
 */
#define SHMEM_RMA_DISTINCT(X, A) SHMEM_BASE_TYPES(X, A)
#define SHMEM_AMO_BIT_DISTINCT(X, A) SHMEM_GROUP_UINT(X, A) SHMEM_GROUP_INT32(X, A)
#define SHMEM_AMO_STD_DISTINCT(X, A) SHMEM_GROUP_SIGNED(X, A) SHMEM_GROUP_UINT(X, A)
#define SHMEM_AMO_EXT_DISTINCT(X, A) SHMEM_AMO_STD_DISTINCT(X, A) SHMEM_GROUP_REAL(X, A)
#define SHMEM_AMO_OLD_STD_DISTINCT(X, A) SHMEM_AMO_OLD_STD_TYPES(X, A)
#define SHMEM_AMO_OLD_EXT_DISTINCT(X, A) SHMEM_AMO_OLD_EXT_TYPES(X, A)
#define SHMEM_SYNC_DISTINCT(X, A) SHMEM_AMO_STD_DISTINCT(X, A) SHMEM_SYNC_OLD_TYPES(X, A)
/* wait_until of long is a C function of the same name: C++ overloads omit it. */
#define SHMEM_SYNC_DISTINCT_BUT_LONG(X, A) \
	SHMEM_GROUP_INT(X, A) SHMEM_GROUP_UINT(X, A) SHMEM_SYNC_OLD_TYPES(X, A)
#define SHMEM_REDUCE_BIT_DISTINCT(X, A) \
	SHMEM_GROUP_USMALL(X, A) SHMEM_GROUP_UINT(X, A) SHMEM_GROUP_INT8(X, A) SHMEM_GROUP_INT32(X, A)
#define SHMEM_REDUCE_CMP_DISTINCT(X, A) SHMEM_BASE_TYPES(X, A)
#define SHMEM_REDUCE_SUM_DISTINCT(X, A) SHMEM_BASE_TYPES(X, A) SHMEM_GROUP_COMPLEX(X, A)
/* clang-format on */

#endif /* SHMEM_TYPES_H */
