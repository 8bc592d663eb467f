/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What oshcc --check puts into a program, as libsma-check.a: the calls that a compiler makes at loads and stores when
 * it is told -fsanitize=thread, and copies by memcpy and its like. They pass on where and how much, if the program runs
 * with SHMEM_CHECK=race; else each is a load and a branch. Nothing of the compiler's own thread checker is in it.
 *
 * An archive: the program's own names come first, so a library could not take these over.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HERE __builtin_return_address(0)

enum { LOADS, STORES, LOADS_ATOMICALLY, STORES_ATOMICALLY };
typedef void hook(const void *at, size_t bytes, int how, const void *where);
static hook *g_hook;

__attribute__((constructor)) static void find_hook(void)
{
	*(void **)&g_hook = dlsym(RTLD_DEFAULT, "shmem_impl_check_access");
}

static inline void tell(const void *at, size_t bytes, int how, const void *where)
{
	if (__builtin_expect(g_hook != NULL, 0))
		g_hook(at, bytes, how, where);
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
	void name_arg(void *at); \
	void name_arg(void *at) \
	{ \
		tell(at, bytes_arg, how_arg, HERE); \
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

void __tsan_read_range(void *at, size_t bytes);
void __tsan_write_range(void *at, size_t bytes);
void __tsan_vptr_update(void **at, void *value);
void __tsan_vptr_read(void **at);
void __tsan_read_range(void *at, size_t bytes)
{
	tell(at, bytes, LOADS, HERE);
}
void __tsan_write_range(void *at, size_t bytes)
{
	tell(at, bytes, STORES, HERE);
}
void __tsan_vptr_update(void **at, void *value)
{
	(void)value;
	tell(at, sizeof *at, STORES, HERE);
}
void __tsan_vptr_read(void **at)
{
	tell(at, sizeof *at, LOADS, HERE);
}

/* --- copies: the linker sends calls of these names here (--wrap) -------------------------------------------------- */

void *__real_memcpy(void *to, const void *from, size_t bytes);
void *__real_memmove(void *to, const void *from, size_t bytes);
void *__real_memset(void *to, int value, size_t bytes);
void *__wrap_memcpy(void *to, const void *from, size_t bytes);
void *__wrap_memmove(void *to, const void *from, size_t bytes);
void *__wrap_memset(void *to, int value, size_t bytes);
void *__tsan_memcpy(void *to, const void *from, size_t bytes);
void *__tsan_memmove(void *to, const void *from, size_t bytes);
void *__tsan_memset(void *to, int value, size_t bytes);

#define COPY(name_arg, real_arg)                                                                                       \
	void *name_arg(void *to, const void *from, size_t bytes)                                                       \
	{                                                                                                              \
		tell(from, bytes, LOADS, HERE);                                                                        \
		tell(to, bytes, STORES, HERE);                                                                         \
		return real_arg(to, from, bytes);                                                                      \
	}
#define FILL(name_arg)                                                                                                 \
	void *name_arg(void *to, int value, size_t bytes)                                                              \
	{                                                                                                              \
		tell(to, bytes, STORES, HERE);                                                                         \
		return __real_memset(to, value, bytes);                                                                \
	}
COPY(__wrap_memcpy, __real_memcpy)
COPY(__wrap_memmove, __real_memmove)
FILL(__wrap_memset)
/* newer compilers name them so */
COPY(__tsan_memcpy, __real_memcpy)
COPY(__tsan_memmove, __real_memmove)
FILL(__tsan_memset)
#undef COPY
#undef FILL

/* --- the program's own atomics: done here, always in the strongest order ------------------------------------------ */

/* clang-format off */
#define FETCH(bits_arg, T, name_arg) \
	T __tsan_atomic##bits_arg##_##name_arg(volatile T *at, T value, int order); \
	T __tsan_atomic##bits_arg##_##name_arg(volatile T *at, T value, int order) \
	{ \
		(void)order; \
		tell((const void *)at, sizeof *at, STORES_ATOMICALLY, HERE); \
		return __atomic_##name_arg(at, value, __ATOMIC_SEQ_CST); \
	}
#define COMPARE(bits_arg, T, name_arg) \
	bool __tsan_atomic##bits_arg##_compare_exchange_##name_arg(volatile T *at, T *expected, T value, int good, \
								   int bad); \
	bool __tsan_atomic##bits_arg##_compare_exchange_##name_arg(volatile T *at, T *expected, T value, int good, \
								   int bad) \
	{ \
		(void)good; \
		(void)bad; \
		tell((const void *)at, sizeof *at, STORES_ATOMICALLY, HERE); \
		return __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
	}
#define ATOMICS(bits_arg, T) \
	T __tsan_atomic##bits_arg##_load(const volatile T *at, int order); \
	T __tsan_atomic##bits_arg##_load(const volatile T *at, int order) \
	{ \
		(void)order; \
		const T value = __atomic_load_n(at, __ATOMIC_SEQ_CST); \
		tell((const void *)at, sizeof *at, LOADS_ATOMICALLY, HERE); \
		return value; \
	} \
	void __tsan_atomic##bits_arg##_store(volatile T *at, T value, int order); \
	void __tsan_atomic##bits_arg##_store(volatile T *at, T value, int order) \
	{ \
		(void)order; \
		tell((const void *)at, sizeof *at, STORES_ATOMICALLY, HERE); \
		__atomic_store_n(at, value, __ATOMIC_SEQ_CST); \
	} \
	T __tsan_atomic##bits_arg##_exchange(volatile T *at, T value, int order); \
	T __tsan_atomic##bits_arg##_exchange(volatile T *at, T value, int order) \
	{ \
		(void)order; \
		tell((const void *)at, sizeof *at, STORES_ATOMICALLY, HERE); \
		return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST); \
	} \
	FETCH(bits_arg, T, fetch_add) \
	FETCH(bits_arg, T, fetch_sub) \
	FETCH(bits_arg, T, fetch_and) \
	FETCH(bits_arg, T, fetch_or) \
	FETCH(bits_arg, T, fetch_xor) \
	FETCH(bits_arg, T, fetch_nand) \
	COMPARE(bits_arg, T, strong) \
	COMPARE(bits_arg, T, weak) \
	T __tsan_atomic##bits_arg##_compare_exchange_val(volatile T *at, T expected, T value, int good, int bad); \
	T __tsan_atomic##bits_arg##_compare_exchange_val(volatile T *at, T expected, T value, int good, int bad) \
	{ \
		(void)good; \
		(void)bad; \
		tell((const void *)at, sizeof *at, STORES_ATOMICALLY, HERE); \
		__atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
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
