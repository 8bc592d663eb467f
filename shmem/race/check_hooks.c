/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What oshcc --check adds to a program, as libsma-check.a: the functions that a compiler calls at loads and stores
 * under -fsanitize=thread, and copies by memcpy and similar functions. They report address and size if the program runs
 * with SHMEM_CHECK=race; otherwise each is a load and a branch. None of it comes from the compiler's own thread
 * checker.
 *
 * An archive: the program's own names have precedence, so a library could not interpose these.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HERE __builtin_return_address(0)

enum { LOADS, STORES, LOADS_ATOMICALLY, STORES_ATOMICALLY };
typedef void hook(const void *addr, size_t bytes, int how, const void *where);
static hook *g_hook;

__attribute__((constructor)) static void find_hook(void)
{
	*(void **)&g_hook = dlsym(RTLD_DEFAULT, "shmem_impl_check_access");
}

static inline void tell(const void *addr, size_t bytes, int how, const void *where)
{
	if (__builtin_expect(g_hook != NULL, 0))
		g_hook(addr, bytes, how, where);
}

/* --- loads and stores --------------------------------------------------------------------------------------------- */

void __tsan_init(void);
void __tsan_func_entry(void *caller);
void __tsan_func_exit(void);
void __tsan_init(void)
{
}
void __tsan_func_entry(void *caller)
{
	(void)caller;
}
void __tsan_func_exit(void)
{
}

/* clang-format off */
#define ACCESS(name_arg, bytes_arg, how_arg) \
	void name_arg(void *addr); \
	void name_arg(void *addr) \
	{ \
		tell(addr, bytes_arg, how_arg, HERE); \
	}
#define SIZE(n_arg) \
	ACCESS(__tsan_read##n_arg, n_arg, LOADS) \
	ACCESS(__tsan_write##n_arg, n_arg, STORES) \
	ACCESS(__tsan_read_write##n_arg, n_arg, STORES) \
	ACCESS(__tsan_unaligned_read##n_arg, n_arg, LOADS) \
	ACCESS(__tsan_unaligned_write##n_arg, n_arg, STORES) \
	ACCESS(__tsan_unaligned_read_write##n_arg, n_arg, STORES) \
	ACCESS(__tsan_volatile_read##n_arg, n_arg, LOADS) \
	ACCESS(__tsan_volatile_write##n_arg, n_arg, STORES) \
	ACCESS(__tsan_unaligned_volatile_read##n_arg, n_arg, LOADS) \
	ACCESS(__tsan_unaligned_volatile_write##n_arg, n_arg, STORES)
SIZE(1)
SIZE(2)
SIZE(4)
SIZE(8)
SIZE(16)
/* clang-format on */

void __tsan_read_range(void *addr, size_t bytes);
void __tsan_write_range(void *addr, size_t bytes);
void __tsan_vptr_update(void **addr, void *value);
void __tsan_vptr_read(void **addr);
void __tsan_read_range(void *addr, size_t bytes)
{
	tell(addr, bytes, LOADS, HERE);
}
void __tsan_write_range(void *addr, size_t bytes)
{
	tell(addr, bytes, STORES, HERE);
}
void __tsan_vptr_update(void **addr, void *value)
{
	(void)value;
	tell(addr, sizeof *addr, STORES, HERE);
}
void __tsan_vptr_read(void **addr)
{
	tell(addr, sizeof *addr, LOADS, HERE);
}

/* --- copies: the linker sends calls of these names here (--wrap) -------------------------------------------------- */

void *__real_memcpy(void *dst, const void *src, size_t bytes);
void *__real_memmove(void *dst, const void *src, size_t bytes);
void *__real_memset(void *dst, int value, size_t bytes);
void *__wrap_memcpy(void *dst, const void *src, size_t bytes);
void *__wrap_memmove(void *dst, const void *src, size_t bytes);
void *__wrap_memset(void *dst, int value, size_t bytes);
void *__tsan_memcpy(void *dst, const void *src, size_t bytes);
void *__tsan_memmove(void *dst, const void *src, size_t bytes);
void *__tsan_memset(void *dst, int value, size_t bytes);

#define COPY(name_arg, real_arg)                                                                                       \
	void *name_arg(void *dst, const void *src, size_t bytes)                                                       \
	{                                                                                                              \
		tell(src, bytes, LOADS, HERE);                                                                         \
		tell(dst, bytes, STORES, HERE);                                                                        \
		return real_arg(dst, src, bytes);                                                                      \
	}
#define FILL(name_arg)                                                                                                 \
	void *name_arg(void *dst, int value, size_t bytes)                                                             \
	{                                                                                                              \
		tell(dst, bytes, STORES, HERE);                                                                        \
		return __real_memset(dst, value, bytes);                                                               \
	}
COPY(__wrap_memcpy, __real_memcpy)
COPY(__wrap_memmove, __real_memmove)
FILL(__wrap_memset)
/* names that newer compilers use */
COPY(__tsan_memcpy, __real_memcpy)
COPY(__tsan_memmove, __real_memmove)
FILL(__tsan_memset)
#undef COPY
#undef FILL

/* --- the program's own atomics: done here, always in the strongest order ------------------------------------------ */

/* clang-format off */
#define FETCH(bits_arg, T, name_arg) \
	T __tsan_atomic##bits_arg##_##name_arg(volatile T *addr, T value, int order); \
	T __tsan_atomic##bits_arg##_##name_arg(volatile T *addr, T value, int order) \
	{ \
		(void)order; \
		tell((const void *)addr, sizeof *addr, STORES_ATOMICALLY, HERE); \
		return __atomic_##name_arg(addr, value, __ATOMIC_SEQ_CST); \
	}
#define COMPARE(bits_arg, T, name_arg) \
	bool __tsan_atomic##bits_arg##_compare_exchange_##name_arg(volatile T *addr, T *expected, T value, int good, \
								   int bad); \
	bool __tsan_atomic##bits_arg##_compare_exchange_##name_arg(volatile T *addr, T *expected, T value, int good, \
								   int bad) \
	{ \
		(void)good; \
		(void)bad; \
		tell((const void *)addr, sizeof *addr, STORES_ATOMICALLY, HERE); \
		return __atomic_compare_exchange_n(addr, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
	}
#define ATOMICS(bits_arg, T) \
	T __tsan_atomic##bits_arg##_load(const volatile T *addr, int order); \
	T __tsan_atomic##bits_arg##_load(const volatile T *addr, int order) \
	{ \
		(void)order; \
		const T value = __atomic_load_n(addr, __ATOMIC_SEQ_CST); \
		tell((const void *)addr, sizeof *addr, LOADS_ATOMICALLY, HERE); \
		return value; \
	} \
	void __tsan_atomic##bits_arg##_store(volatile T *addr, T value, int order); \
	void __tsan_atomic##bits_arg##_store(volatile T *addr, T value, int order) \
	{ \
		(void)order; \
		tell((const void *)addr, sizeof *addr, STORES_ATOMICALLY, HERE); \
		__atomic_store_n(addr, value, __ATOMIC_SEQ_CST); \
	} \
	T __tsan_atomic##bits_arg##_exchange(volatile T *addr, T value, int order); \
	T __tsan_atomic##bits_arg##_exchange(volatile T *addr, T value, int order) \
	{ \
		(void)order; \
		tell((const void *)addr, sizeof *addr, STORES_ATOMICALLY, HERE); \
		return __atomic_exchange_n(addr, value, __ATOMIC_SEQ_CST); \
	} \
	FETCH(bits_arg, T, fetch_add) \
	FETCH(bits_arg, T, fetch_sub) \
	FETCH(bits_arg, T, fetch_and) \
	FETCH(bits_arg, T, fetch_or) \
	FETCH(bits_arg, T, fetch_xor) \
	FETCH(bits_arg, T, fetch_nand) \
	COMPARE(bits_arg, T, strong) \
	COMPARE(bits_arg, T, weak) \
	T __tsan_atomic##bits_arg##_compare_exchange_val(volatile T *addr, T expected, T value, int good, int bad); \
	T __tsan_atomic##bits_arg##_compare_exchange_val(volatile T *addr, T expected, T value, int good, int bad) \
	{ \
		(void)good; \
		(void)bad; \
		tell((const void *)addr, sizeof *addr, STORES_ATOMICALLY, HERE); \
		__atomic_compare_exchange_n(addr, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
		return expected; \
	}
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)
/* clang-format on */

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
	(void)order;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void __tsan_atomic_signal_fence(int order)
{
	(void)order;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}
