/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Named memory accesses and barriers, for C11 and C++20 alike.
 *
 * The memory order is part of the name, so a reader sees it at the place of use, and a use that needs another order
 * needs another name. Plain integers only: shared memory holds fixed-width fields, no _Atomic objects. Owns no state
 * and calls nothing.
 */
#ifndef PGAS_ATOMIC_H
#define PGAS_ATOMIC_H

#include <stdint.h>

#define PGAS_INLINE static inline __attribute__((always_inline))
#define PGAS_HOT static inline __attribute__((always_inline))
#define PGAS_COLD __attribute__((noinline, cold))
#define PGAS_LIKELY(x_arg) __builtin_expect(!!(x_arg), 1)
#define PGAS_UNLIKELY(x_arg) __builtin_expect(!!(x_arg), 0)
#define PGAS_EXPORT __attribute__((visibility("default")))
#define PGAS_CACHE_LINE 64
#ifdef __cplusplus
#define PGAS_NOEXCEPT noexcept
#else
#define PGAS_NOEXCEPT
#endif

/* One access, no order: for a value that only must not tear (a hint, a statistic, a pointer set before threads run). */
#define pgas_load_relaxed(p_arg) __atomic_load_n((p_arg), __ATOMIC_RELAXED)
#define pgas_store_relaxed(p_arg, v_arg) __atomic_store_n((p_arg), (v_arg), __ATOMIC_RELAXED)

/* Like load_relaxed, for an aligned word in the hot path: lets gcc use all addressing modes of the machine. */
#if defined(__SANITIZE_THREAD__)
#define pgas_load_word(p_arg) pgas_load_relaxed(p_arg)
#else
#define pgas_load_word(p_arg) (*(p_arg))
#endif

/* Like load_acquire, where those addressing modes matter: x86 keeps loads in order anyway. */
#if (defined(__x86_64__) || defined(__i386__)) && !defined(__SANITIZE_THREAD__)
#define pgas_load_word_acquire(p_arg) (*(p_arg))
#else
#define pgas_load_word_acquire(p_arg) pgas_load_acquire(p_arg)
#endif

/* Publication: everything written before store_release is visible after the load_acquire that reads its value. */
#define pgas_load_acquire(p_arg) __atomic_load_n((p_arg), __ATOMIC_ACQUIRE)
#define pgas_store_release(p_arg, v_arg) __atomic_store_n((p_arg), (v_arg), __ATOMIC_RELEASE)

/*
 * Like load_acquire, where the published data is accessed through one pointer: ready = load_to_depend(&x->ready); x =
 * depends_on(x, ready); use *x. The address of the later load then depends on the value, and aarch64 keeps dependent
 * loads in order without waiting for this thread's earlier releases, as its acquires do.
 */
#if defined(__aarch64__) && !defined(__SANITIZE_THREAD__)
#define pgas_load_to_depend(p_arg) pgas_load_relaxed(p_arg)
PGAS_INLINE const void *pgas_depends_on(const void *address, const void *value)
{
	uint64_t nothing;
	__asm__("eor %0, %1, %1" : "=r"(nothing) : "r"(value));
	return (const char *)address + nothing;
}
#else
#define pgas_load_to_depend(p_arg) pgas_load_acquire(p_arg)
PGAS_INLINE const void *pgas_depends_on(const void *address, const void *value)
{
	(void)value;
	return address;
}
#endif

/* Claim something that others compete for; on failure *e_arg holds the value found. */
#define pgas_claim(p_arg, e_arg, v_arg)                                                                                \
	__atomic_compare_exchange_n((p_arg), (e_arg), (v_arg), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

/*
 * The same for something that is only written to, and published later by a release: the branch on success orders the
 * stores after it, for compilers and machines (neither stores before it knows that it may). On aarch64 it waits neither
 * for earlier releases, as acquires do, nor for earlier stores.
 */
#if defined(__SANITIZE_THREAD__)
#define pgas_claim_to_write pgas_claim
#else
#define pgas_claim_to_write(p_arg, e_arg, v_arg)                                                                       \
	__atomic_compare_exchange_n((p_arg), (e_arg), (v_arg), 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
#endif

/* Count with several writers. release: a reader that sees the count sees the counted event. */
#define pgas_add_release(p_arg, v_arg) __atomic_fetch_add((p_arg), (v_arg), __ATOMIC_RELEASE)
#define pgas_add_relaxed(p_arg, v_arg) __atomic_fetch_add((p_arg), (v_arg), __ATOMIC_RELAXED)
#define pgas_swap_acq_rel(p_arg, v_arg) __atomic_exchange_n((p_arg), (v_arg), __ATOMIC_ACQ_REL)

/* Order a store before a load of another line: for both sides of a doorbell, and for shmem_quiet. */
PGAS_INLINE void pgas_fence_full(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Order earlier stores before later stores (put, then flag). Costs no instruction on x86. */
PGAS_INLINE void pgas_fence_stores(void)
{
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

/*
 * Like fence_stores, where no earlier load matters. It costs half as much on aarch64, where fence_stores waits for
 * loads too.
 */
PGAS_INLINE void pgas_fence_store_store(void)
{
#if defined(__aarch64__) && !defined(__SANITIZE_THREAD__)
	__asm__ volatile("dmb ishst" ::: "memory");
#else
	__atomic_thread_fence(__ATOMIC_RELEASE);
#endif
}

/* Order earlier loads before later accesses (after a relaxed poll succeeded). */
PGAS_INLINE void pgas_fence_acquire(void)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

/*
 * Several words at once, each of which publishes or takes something: one fence for all of them, and the accesses
 * overlap. On aarch64 a load_acquire lets no later access begin, and waits for earlier store_releases, which wait for
 * one another. ThreadSanitizer does not support fences.
 *   ready = load_before_fence(&a) && load_before_fence(&b); fence_acquire(); use what a and b publish
 *   done with what a and b publish; fence_stores(); store_after_fence(&a, free); store_after_fence(&b, free)
 */
#if defined(__SANITIZE_THREAD__)
#define pgas_load_before_fence(p_arg) pgas_load_acquire(p_arg)
#define pgas_store_after_fence(p_arg, v_arg) pgas_store_release((p_arg), (v_arg))
#else
#define pgas_load_before_fence(p_arg) pgas_load_relaxed(p_arg)
#define pgas_store_after_fence(p_arg, v_arg) pgas_store_relaxed((p_arg), (v_arg))
#endif

/* Keep the compiler from moving memory accesses; the other side pays the hardware barrier (membarrier). */
PGAS_INLINE void pgas_fence_compiler(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* In a spin loop: let the other hardware thread run. */
PGAS_INLINE void pgas_cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb" ::: "memory"); /* "yield" is a nop on most cores; isb gives a pause of x86's length */
#else
	pgas_fence_compiler();
#endif
}

#endif /* PGAS_ATOMIC_H */
