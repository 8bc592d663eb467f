/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomics and memory barriers of GASNet's tools. Part of gasnet_tools.h.
 *
 * Flags say which fences surround an operation; it uses the machine's weakest order that includes them.
 * gasnett_atomic_t is 32 bits wide. The strong kind is the same.
 */
#ifndef GASNET_PGAS_ATOMICS_H
#define GASNET_PGAS_ATOMICS_H

#ifdef __cplusplus
extern "C" {
#endif

static inline void gasnett_local_wmb(void)
{
	pgas_fence_stores();
}
static inline void gasnett_local_rmb(void)
{
	pgas_fence_acquire();
}
static inline void gasnett_local_mb(void)
{
	pgas_fence_full();
}
/* These order threads of this process only; under GASNET_SEQ there is one thread. */
static inline void gasnett_weak_wmb(void)
{
	pgas_fence_stores();
}
static inline void gasnett_weak_rmb(void)
{
	pgas_fence_acquire();
}
static inline void gasnett_weak_mb(void)
{
	pgas_fence_full();
}
static inline void gasnett_compiler_fence(void)
{
	pgas_fence_compiler();
}
static inline void gasnett_spinloop_hint(void)
{
	pgas_cpu_relax();
}
#define gasnett_spin_until(cond_arg)                                                                                   \
	do {                                                                                                           \
		while (!(cond_arg))                                                                                    \
			gasnett_spinloop_hint();                                                                       \
		gasnett_local_rmb();                                                                                   \
	} while (0)

#define GASNETT_ATOMIC_WMB_PRE 1
#define GASNETT_ATOMIC_RMB_PRE 2
#define GASNETT_ATOMIC_MB_PRE 3
#define GASNETT_ATOMIC_WMB_POST 4
#define GASNETT_ATOMIC_RMB_POST 8
#define GASNETT_ATOMIC_MB_POST 12
#define GASNETT_ATOMIC_RMB_POST_IF_TRUE 16
#define GASNETT_ATOMIC_RMB_POST_IF_FALSE 32
#define GASNETT_ATOMIC_NONE 0
#define GASNETT_ATOMIC_REL GASNETT_ATOMIC_WMB_PRE
#define GASNETT_ATOMIC_ACQ GASNETT_ATOMIC_RMB_POST
#define GASNETT_ATOMIC_ACQ_IF_TRUE GASNETT_ATOMIC_RMB_POST_IF_TRUE
#define GASNETT_ATOMIC_ACQ_IF_FALSE GASNETT_ATOMIC_RMB_POST_IF_FALSE

/* Flags are constants at every use, so a fence costs only where it is requested. */
PGAS_INLINE void gasneti_fence_before(int flags)
{
	if ((flags & GASNETT_ATOMIC_MB_PRE) == GASNETT_ATOMIC_MB_PRE)
		pgas_fence_full();
	else if (flags & GASNETT_ATOMIC_WMB_PRE)
		pgas_fence_stores();
	else if (flags & GASNETT_ATOMIC_RMB_PRE)
		pgas_fence_acquire();
}
PGAS_INLINE void gasneti_fence_after(int flags)
{
	if ((flags & GASNETT_ATOMIC_MB_POST) == GASNETT_ATOMIC_MB_POST || (flags & GASNETT_ATOMIC_WMB_POST))
		pgas_fence_full();
	else if (flags & (GASNETT_ATOMIC_RMB_POST | GASNETT_ATOMIC_RMB_POST_IF_TRUE | GASNETT_ATOMIC_RMB_POST_IF_FALSE))
		pgas_fence_acquire();
}

/* name, field, unsigned type, signed type */
#define GASNETI_ATOMIC(name_arg, field_arg, type_arg, signed_arg)                                                      \
	typedef struct {                                                                                               \
		volatile type_arg field_arg;                                                                           \
	} gasnett_##name_arg##_t;                                                                                      \
	PGAS_INLINE type_arg gasnett_##name_arg##_read(gasnett_##name_arg##_t *p, int flags)                           \
	{                                                                                                              \
		gasneti_fence_before(flags);                                                                           \
		const type_arg v = __atomic_load_n(&p->field_arg, __ATOMIC_RELAXED);                                   \
		gasneti_fence_after(flags);                                                                            \
		return v;                                                                                              \
	}                                                                                                              \
	PGAS_INLINE void gasnett_##name_arg##_set(gasnett_##name_arg##_t *p, type_arg v, int flags)                    \
	{                                                                                                              \
		gasneti_fence_before(flags);                                                                           \
		__atomic_store_n(&p->field_arg, v, __ATOMIC_RELAXED);                                                  \
		gasneti_fence_after(flags);                                                                            \
	}                                                                                                              \
	PGAS_INLINE type_arg gasnett_##name_arg##_add(gasnett_##name_arg##_t *p, type_arg v, int flags)                \
	{                                                                                                              \
		gasneti_fence_before(flags);                                                                           \
		v = (type_arg)(__atomic_fetch_add(&p->field_arg, v, __ATOMIC_RELAXED) + v);                            \
		gasneti_fence_after(flags);                                                                            \
		return v;                                                                                              \
	}                                                                                                              \
	PGAS_INLINE type_arg gasnett_##name_arg##_subtract(gasnett_##name_arg##_t *p, type_arg v, int flags)           \
	{                                                                                                              \
		return gasnett_##name_arg##_add(p, (type_arg)(0 - v), flags);                                          \
	}                                                                                                              \
	PGAS_INLINE void gasnett_##name_arg##_increment(gasnett_##name_arg##_t *p, int flags)                          \
	{                                                                                                              \
		(void)gasnett_##name_arg##_add(p, 1, flags);                                                           \
	}                                                                                                              \
	PGAS_INLINE void gasnett_##name_arg##_decrement(gasnett_##name_arg##_t *p, int flags)                          \
	{                                                                                                              \
		(void)gasnett_##name_arg##_subtract(p, 1, flags);                                                      \
	}                                                                                                              \
	PGAS_INLINE int gasnett_##name_arg##_decrement_and_test(gasnett_##name_arg##_t *p, int flags)                  \
	{                                                                                                              \
		return gasnett_##name_arg##_subtract(p, 1, flags) == 0;                                                \
	}                                                                                                              \
	PGAS_INLINE int gasnett_##name_arg##_compare_and_swap(gasnett_##name_arg##_t *p, type_arg old, type_arg v,     \
							      int flags)                                               \
	{                                                                                                              \
		gasneti_fence_before(flags);                                                                           \
		const int done =                                                                                       \
			__atomic_compare_exchange_n(&p->field_arg, &old, v, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);    \
		gasneti_fence_after(flags);                                                                            \
		return done;                                                                                           \
	}                                                                                                              \
	PGAS_INLINE type_arg gasnett_##name_arg##_swap(gasnett_##name_arg##_t *p, type_arg v, int flags)               \
	{                                                                                                              \
		gasneti_fence_before(flags);                                                                           \
		v = __atomic_exchange_n(&p->field_arg, v, __ATOMIC_RELAXED);                                           \
		gasneti_fence_after(flags);                                                                            \
		return v;                                                                                              \
	}                                                                                                              \
	PGAS_INLINE signed_arg gasnett_##name_arg##_signed(type_arg v)                                                 \
	{                                                                                                              \
		return (signed_arg)v;                                                                                  \
	}

typedef uint32_t gasnett_atomic_val_t;
typedef int32_t gasnett_atomic_sval_t;
GASNETI_ATOMIC(atomic, value_, uint32_t, int32_t)
GASNETI_ATOMIC(atomic32, value_, uint32_t, int32_t)
GASNETI_ATOMIC(atomic64, value_, uint64_t, int64_t)
GASNETI_ATOMIC(strongatomic, value_, uint32_t, int32_t)
GASNETI_ATOMIC(strongatomic32, value_, uint32_t, int32_t)
GASNETI_ATOMIC(strongatomic64, value_, uint64_t, int64_t)
typedef uint32_t gasnett_strongatomic_val_t;
typedef int32_t gasnett_strongatomic_sval_t;
#undef GASNETI_ATOMIC

#define gasnett_atomic_init(v_arg)                                                                                     \
	{                                                                                                              \
		(v_arg)                                                                                                \
	}
#define gasnett_atomic32_init(v_arg)                                                                                   \
	{                                                                                                              \
		(v_arg)                                                                                                \
	}
#define gasnett_atomic64_init(v_arg)                                                                                   \
	{                                                                                                              \
		(v_arg)                                                                                                \
	}
#define gasnett_strongatomic_init(v_arg)                                                                               \
	{                                                                                                              \
		(v_arg)                                                                                                \
	}
#define gasnett_strongatomic32_init(v_arg)                                                                             \
	{                                                                                                              \
		(v_arg)                                                                                                \
	}
#define gasnett_strongatomic64_init(v_arg)                                                                             \
	{                                                                                                              \
		(v_arg)                                                                                                \
	}

#define GASNETT_ATOMIC_MAX UINT32_MAX
#define GASNETT_ATOMIC_SIGNED_MIN INT32_MIN
#define GASNETT_ATOMIC_SIGNED_MAX INT32_MAX
#define GASNETT_STRONGATOMIC_MAX UINT32_MAX
#define GASNETT_STRONGATOMIC_SIGNED_MIN INT32_MIN
#define GASNETT_STRONGATOMIC_SIGNED_MAX INT32_MAX
#define GASNETT_HAVE_ATOMIC_CAS 1
#define GASNETT_HAVE_ATOMIC_ADD_SUB 1
#define GASNETT_HAVE_STRONGATOMIC_CAS 1
#define GASNETT_HAVE_STRONGATOMIC_ADD_SUB 1
#define GASNETT_ATOMIC_CONFIG builtin
#define GASNETT_ATOMIC32_CONFIG builtin
#define GASNETT_ATOMIC64_CONFIG builtin

#ifdef __cplusplus
}
#endif

#endif /* GASNET_PGAS_ATOMICS_H */
