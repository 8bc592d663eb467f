/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmem_inline.h: the inlined face of OpenSHMEM. Included by shmem.h when SHMEM_INLINE is set (oshcc --inline).
 *
 * p, g, put and get of constant size, atomics, fence and quiet of the default context are compiled into the program: a
 * load of the peer's window, one test, and the access. In all other cases (first access to a PE, threads that share the
 * context, a wrong PE, before init, after finalize) they make one call of the library's own function, which does the
 * work or reports the error. Results are those of the calls. Like the calls, the inlined puts increment no counter: a
 * store to mapped memory is complete for quiet as soon as it is ordered.
 *
 * Profiling tools that interpose shmem_* names do not see inlined calls.
 */
#ifndef SHMEM_INLINE_H
#define SHMEM_INLINE_H

/* With -Wpedantic, compilers warn of gnu_inline functions that use static ones (pgas_copy.h); here that is intended. */
#pragma GCC system_header

#include "pshmem.h"
#include "shmem_face.h"
#include <pgas/pgas_copy.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * gnu_inline: the definition is for inlining only; the address of a call, and every other use, refer to the library's.
 */
#define SHMEM_IMPL_HOT extern inline __attribute__((gnu_inline, always_inline))

PGAS_HOT uint64_t shmem_impl_window(int pe)
{
	return pgas_load_word(&shmem_impl_face1.window[pe]);
}
#define SHMEM_IMPL_AT(T, base_arg, ptr_arg) ((T *)(uintptr_t)((base_arg) + (uintptr_t)(ptr_arg)))

/* --- p and g: budget 7 instructions in the caller (paths.def: shmem_int_p_inline) --------------------------------- */
#define SHMEM_IMPL_RMA_TYPE(N, T, A)                                                                                   \
	SHMEM_IMPL_HOT void shmem_##N##_p(T *dest, T value, int pe)                                                    \
	{                                                                                                              \
		const uint64_t base_ = shmem_impl_window(pe);                                                          \
		if (PGAS_LIKELY(base_ != 0))                                                                           \
			pgas_copy_out(SHMEM_IMPL_AT(T, base_, dest), &value, sizeof value);                            \
		else                                                                                                   \
			pshmem_##N##_p(dest, value, pe);                                                               \
	}                                                                                                              \
	SHMEM_IMPL_HOT T shmem_##N##_g(const T *source, int pe)                                                        \
	{                                                                                                              \
		const uint64_t base_ = shmem_impl_window(pe);                                                          \
		T value_;                                                                                              \
		if (PGAS_UNLIKELY(base_ == 0))                                                                         \
			return pshmem_##N##_g(source, pe);                                                             \
		pgas_copy_in(&value_, SHMEM_IMPL_AT(const T, base_, source), sizeof value_);                           \
		return value_;                                                                                         \
	}
SHMEM_RMA_TYPES(SHMEM_IMPL_RMA_TYPE, )
#undef SHMEM_IMPL_RMA_TYPE

/* --- put and get, when the compiler knows the size and it is small; else the library's copy loops are better ------ */
#define SHMEM_IMPL_SMALL(bytes_arg) (__builtin_constant_p(bytes_arg) && (bytes_arg) <= 128)
#define SHMEM_IMPL_PUT(name_arg, bytes_arg)                                                                            \
	const uint64_t base_ = shmem_impl_window(pe);                                                                  \
	if (SHMEM_IMPL_SMALL(bytes_arg) && PGAS_LIKELY(base_ != 0))                                                    \
		pgas_copy_out(SHMEM_IMPL_AT(void, base_, dest), source, (bytes_arg));                                  \
	else                                                                                                           \
		p##name_arg(dest, source, nelems, pe);
#define SHMEM_IMPL_GET(name_arg, bytes_arg)                                                                            \
	const uint64_t base_ = shmem_impl_window(pe);                                                                  \
	if (SHMEM_IMPL_SMALL(bytes_arg) && PGAS_LIKELY(base_ != 0))                                                    \
		pgas_copy_in(dest, SHMEM_IMPL_AT(const void, base_, source), (bytes_arg));                             \
	else                                                                                                           \
		p##name_arg(dest, source, nelems, pe);

#define SHMEM_IMPL_COPY(name_arg, T, move_arg, bytes_arg)                                                              \
	SHMEM_IMPL_HOT void name_arg(T *dest, const T *source, size_t nelems, int pe)                                  \
	{                                                                                                              \
		move_arg(name_arg, bytes_arg)                                                                          \
	}
#define SHMEM_IMPL_COPIES(N, T, A)                                                                                     \
	SHMEM_IMPL_COPY(shmem_##N##_put, T, SHMEM_IMPL_PUT, nelems * sizeof(T))                                        \
	SHMEM_IMPL_COPY(shmem_##N##_put_nbi, T, SHMEM_IMPL_PUT, nelems * sizeof(T))                                    \
	SHMEM_IMPL_COPY(shmem_##N##_get, T, SHMEM_IMPL_GET, nelems * sizeof(T))                                        \
	SHMEM_IMPL_COPY(shmem_##N##_get_nbi, T, SHMEM_IMPL_GET, nelems * sizeof(T))
SHMEM_RMA_TYPES(SHMEM_IMPL_COPIES, )
#undef SHMEM_IMPL_COPIES
#define SHMEM_IMPL_SIZED(S, A)                                                                                         \
	SHMEM_IMPL_COPY(shmem_put##S, void, SHMEM_IMPL_PUT, nelems *(S / 8))                                           \
	SHMEM_IMPL_COPY(shmem_put##S##_nbi, void, SHMEM_IMPL_PUT, nelems *(S / 8))                                     \
	SHMEM_IMPL_COPY(shmem_get##S, void, SHMEM_IMPL_GET, nelems *(S / 8))                                           \
	SHMEM_IMPL_COPY(shmem_get##S##_nbi, void, SHMEM_IMPL_GET, nelems *(S / 8))
SHMEM_SIZES(SHMEM_IMPL_SIZED, )
#undef SHMEM_IMPL_SIZED
SHMEM_IMPL_COPY(shmem_putmem, void, SHMEM_IMPL_PUT, nelems)
SHMEM_IMPL_COPY(shmem_putmem_nbi, void, SHMEM_IMPL_PUT, nelems)
SHMEM_IMPL_COPY(shmem_getmem, void, SHMEM_IMPL_GET, nelems)
SHMEM_IMPL_COPY(shmem_getmem_nbi, void, SHMEM_IMPL_GET, nelems)
#undef SHMEM_IMPL_COPY
#undef SHMEM_IMPL_PUT
#undef SHMEM_IMPL_GET
#undef SHMEM_IMPL_SMALL

/* --- atomics: one instruction of the machine, acquire-release as in pgas_hot.h ------------------------------------ */
/*
 * at_ is the peer's copy; a misaligned one goes to the library, which reports it. The columns OBJECT, OPERATION and
 * RESULT of shmem_calls.h select the operation.
 */
#define SHMEM_IMPL_TYPED_AMO(R, N, T, CALL, P, A, ON, OP, RESULT)                                                      \
	SHMEM_IMPL_HOT R shmem_##N##_##CALL P                                                                          \
	{                                                                                                              \
		const uint64_t base_ = shmem_impl_window(pe);                                                          \
		T *const at_ = SHMEM_IMPL_AT(T, base_, ON);                                                            \
		if (PGAS_LIKELY(base_ != 0 && ((uintptr_t)ON & (sizeof(T) - 1)) == 0)) {                               \
			SHMEM_IMPL_DO_##OP(T) SHMEM_IMPL_GIVE_##RESULT                                                 \
		}                                                                                                      \
		SHMEM_IMPL_ELSE_##RESULT pshmem_##N##_##CALL A;                                                        \
	}
#define SHMEM_IMPL_DO_load(T)                                                                                          \
	T old_;                                                                                                        \
	__atomic_load(at_, &old_, __ATOMIC_ACQUIRE);
#define SHMEM_IMPL_DO_store(T) __atomic_store(at_, &value, __ATOMIC_RELEASE);
#define SHMEM_IMPL_DO_swap(T)                                                                                          \
	T old_;                                                                                                        \
	__atomic_exchange(at_, &value, &old_, __ATOMIC_ACQ_REL);
#define SHMEM_IMPL_DO_cswap(T)                                                                                         \
	T old_ = cond;                                                                                                 \
	__atomic_compare_exchange_n(at_, &old_, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
#define SHMEM_IMPL_FETCH(T, op_arg, value_arg)                                                                         \
	const T old_ __attribute__((unused)) = __atomic_fetch_##op_arg(at_, (T)(value_arg), __ATOMIC_ACQ_REL);
#define SHMEM_IMPL_DO_inc(T) SHMEM_IMPL_FETCH(T, add, 1)
#define SHMEM_IMPL_DO_add(T) SHMEM_IMPL_FETCH(T, add, value)
#define SHMEM_IMPL_DO_band(T) SHMEM_IMPL_FETCH(T, and, value)
#define SHMEM_IMPL_DO_bor(T) SHMEM_IMPL_FETCH(T, or, value)
#define SHMEM_IMPL_DO_bxor(T) SHMEM_IMPL_FETCH(T, xor, value)
#define SHMEM_IMPL_GIVE_returned return old_;
#define SHMEM_IMPL_GIVE_fetched                                                                                        \
	*fetch = old_;                                                                                                 \
	return;
#define SHMEM_IMPL_GIVE_none return;
#define SHMEM_IMPL_ELSE_returned return
#define SHMEM_IMPL_ELSE_fetched
#define SHMEM_IMPL_ELSE_none
SHMEM_EACH_AMO_WHOLE(SHMEM_IMPL_TYPED_AMO)
#undef SHMEM_IMPL_TYPED_AMO
#undef SHMEM_IMPL_FETCH
#undef SHMEM_IMPL_DO_load
#undef SHMEM_IMPL_DO_store
#undef SHMEM_IMPL_DO_swap
#undef SHMEM_IMPL_DO_cswap
#undef SHMEM_IMPL_DO_inc
#undef SHMEM_IMPL_DO_add
#undef SHMEM_IMPL_DO_band
#undef SHMEM_IMPL_DO_bor
#undef SHMEM_IMPL_DO_bxor
#undef SHMEM_IMPL_GIVE_returned
#undef SHMEM_IMPL_GIVE_fetched
#undef SHMEM_IMPL_GIVE_none
#undef SHMEM_IMPL_ELSE_returned
#undef SHMEM_IMPL_ELSE_fetched
#undef SHMEM_IMPL_ELSE_none

/* --- order: fence costs no instruction of its own on x86_64, quiet one full fence --------------------------------- */
SHMEM_IMPL_HOT void shmem_fence(void)
{
	pgas_fence_stores();
	if (PGAS_UNLIKELY(pgas_load_word(shmem_impl_face1.pending) != 0))
		pshmem_fence();
}
SHMEM_IMPL_HOT void shmem_quiet(void)
{
	pgas_fence_full();
	if (PGAS_UNLIKELY(pgas_load_word(shmem_impl_face1.pending) != 0))
		pshmem_quiet();
}

#undef SHMEM_IMPL_AT
#undef SHMEM_IMPL_HOT

#ifdef __cplusplus
}
#endif

#endif /* SHMEM_INLINE_H */
