/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies by size class, for memory that another process may be reading.
 *
 * 1, 2, 4 and 8 bytes move as one access (never torn when aligned, never split by the compiler), 16 as two; the rest is
 * memcpy, whose large sizes libc already tunes per machine. Nothing here implies ordering: the caller provides it.
 */
#ifndef PGAS_COPY_H
#define PGAS_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <pgas/pgas_atomic.h>

typedef uint16_t __attribute__((may_alias)) pgas_u16_alias;
typedef uint32_t __attribute__((may_alias)) pgas_u32_alias;
typedef uint64_t __attribute__((may_alias)) pgas_u64_alias;

/*
 * memcpy from a private buffer of any alignment into a register, then one store. The store is a relaxed atomic: the
 * same instruction as a plain store, but never torn.
 */
#define PGAS_MOVE(type_arg, dst_arg, src_arg, load_arg, store_arg)                                                     \
	do {                                                                                                           \
		type_arg v_;                                                                                           \
		load_arg(v_, src_arg, type_arg);                                                                       \
		store_arg(dst_arg, v_, type_arg);                                                                      \
	} while (0)
#define PGAS_LOAD_PRIVATE(v_arg, p_arg, type_arg) __builtin_memcpy(&(v_arg), (p_arg), sizeof(type_arg))
#define PGAS_STORE_PRIVATE(p_arg, v_arg, type_arg) __builtin_memcpy((p_arg), &(v_arg), sizeof(type_arg))
#define PGAS_LOAD_SHARED(v_arg, p_arg, type_arg) ((v_arg) = pgas_load_relaxed((const type_arg *)(p_arg)))
#define PGAS_STORE_SHARED(p_arg, v_arg, type_arg) pgas_store_relaxed((type_arg *)(p_arg), (v_arg))

/* Private buffer -> shared memory. budget: 2 instructions for a constant 1, 2, 4, 8 */
PGAS_HOT void pgas_copy_out(void *shared, const void *src, size_t len)
{
	switch (len) {
	case 8:
		PGAS_MOVE(pgas_u64_alias, shared, src, PGAS_LOAD_PRIVATE, PGAS_STORE_SHARED);
		return;
	case 4:
		PGAS_MOVE(pgas_u32_alias, shared, src, PGAS_LOAD_PRIVATE, PGAS_STORE_SHARED);
		return;
	case 2:
		PGAS_MOVE(pgas_u16_alias, shared, src, PGAS_LOAD_PRIVATE, PGAS_STORE_SHARED);
		return;
	case 1:
		PGAS_MOVE(uint8_t, shared, src, PGAS_LOAD_PRIVATE, PGAS_STORE_SHARED);
		return;
	case 16:
		PGAS_MOVE(pgas_u64_alias, shared, src, PGAS_LOAD_PRIVATE, PGAS_STORE_SHARED);
		PGAS_MOVE(pgas_u64_alias, (char *)shared + 8, (const char *)src + 8, PGAS_LOAD_PRIVATE,
			  PGAS_STORE_SHARED);
		return;
	default:
		__builtin_memcpy(shared, src, len);
	}
}

/*
 * Copies a small, variable number of bytes: fewer than a slot has (128). On x86_64, compilers that know the bound turn
 * memcpy, and a loop, into "rep movs", whose startup alone takes as long as claiming the slot. On other machines they
 * call memcpy, which is shorter than the moves here.
 */
PGAS_HOT void pgas_copy_few(void *dst, const void *src, size_t len)
{
#if defined(__x86_64__)
	char *t = (char *)dst;
	const char *f = (const char *)src;
	if (len & 64) {
		__builtin_memcpy(t, f, 64);
		t += 64, f += 64;
	}
	if (len & 32) {
		__builtin_memcpy(t, f, 32);
		t += 32, f += 32;
	}
	if (len & 16) {
		__builtin_memcpy(t, f, 16);
		t += 16, f += 16;
	}
	if (len & 8) {
		__builtin_memcpy(t, f, 8);
		t += 8, f += 8;
	}
	if (len & 4) {
		__builtin_memcpy(t, f, 4);
		t += 4, f += 4;
	}
	if (len & 2) {
		__builtin_memcpy(t, f, 2);
		t += 2, f += 2;
	}
	if (len & 1)
		*t = *f;
#else
	__builtin_memcpy(dst, src, len);
#endif
}

/*
 * Copies a variable number of bytes, up to 96: a piece from the beginning and one from the end, which may overlap.
 * Needs fewer instructions than a call of memcpy, and the same number whichever memcpy libc picks for the processor.
 */
PGAS_HOT void pgas_copy_ends(void *dst, const void *src, size_t len)
{
	char *t = (char *)dst;
	const char *f = (const char *)src;
	if (len > 64)
		__builtin_memcpy(t + 32, f + 32, 32);
	if (len > 32) {
		__builtin_memcpy(t, f, 32);
		__builtin_memcpy(t + len - 32, f + len - 32, 32);
	} else if (len >= 16) {
		__builtin_memcpy(t, f, 16);
		__builtin_memcpy(t + len - 16, f + len - 16, 16);
	} else if (len >= 8) {
		__builtin_memcpy(t, f, 8);
		__builtin_memcpy(t + len - 8, f + len - 8, 8);
	} else if (len >= 4) {
		__builtin_memcpy(t, f, 4);
		__builtin_memcpy(t + len - 4, f + len - 4, 4);
	} else if (len) {
		t[0] = f[0];
		t[len / 2] = f[len / 2];
		t[len - 1] = f[len - 1];
	}
}

/* Shared memory -> private buffer. budget: 2 instructions for a constant 1, 2, 4, 8 */
PGAS_HOT void pgas_copy_in(void *dst, const void *shared, size_t len)
{
	switch (len) {
	case 8:
		PGAS_MOVE(pgas_u64_alias, dst, shared, PGAS_LOAD_SHARED, PGAS_STORE_PRIVATE);
		return;
	case 4:
		PGAS_MOVE(pgas_u32_alias, dst, shared, PGAS_LOAD_SHARED, PGAS_STORE_PRIVATE);
		return;
	case 2:
		PGAS_MOVE(pgas_u16_alias, dst, shared, PGAS_LOAD_SHARED, PGAS_STORE_PRIVATE);
		return;
	case 1:
		PGAS_MOVE(uint8_t, dst, shared, PGAS_LOAD_SHARED, PGAS_STORE_PRIVATE);
		return;
	case 16:
		PGAS_MOVE(pgas_u64_alias, dst, shared, PGAS_LOAD_SHARED, PGAS_STORE_PRIVATE);
		PGAS_MOVE(pgas_u64_alias, (char *)dst + 8, (const char *)shared + 8, PGAS_LOAD_SHARED,
			  PGAS_STORE_PRIVATE);
		return;
	default:
		__builtin_memcpy(dst, shared, len);
	}
}

#endif /* PGAS_COPY_H */
