/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmem.h: OpenSHMEM 1.6 for C99, C11 and later, C++11 and later.
 *
 * Owns the constants, types and handles. Prototypes come from shmem_proto.h, type-generic names from shmem_c11.h (C11
 * _Generic) or shmem_cxx.h (C++ overloads). C99 gets only the typed names.
 *
 * Macros that select what is declared:
 *   SHMEM_INLINE           hot calls are compiled into the application (shmem_inline.h); oshcc --inline
 *   SHMEM_IMPL_BUILD       set by the library's own sources: prototypes are noexcept, no type-generic names
 */
#ifndef SHMEM_H
#define SHMEM_H

#include <stddef.h>
#include <stdint.h>

#include "shmem_types.h"

/* --- version ------------------------------------------------------------------------------------------------------ */
#define SHMEM_MAJOR_VERSION 1
#define SHMEM_MINOR_VERSION 6
#define SHMEM_MAX_NAME_LEN 256
#define SHMEM_VENDOR_STRING "PGAS OpenSHMEM"

/* --- options, flags, operators: integer constant expressions ------------------------------------------------------ */
#define SHMEM_THREAD_SINGLE 0
#define SHMEM_THREAD_FUNNELED 1
#define SHMEM_THREAD_SERIALIZED 2
#define SHMEM_THREAD_MULTIPLE 3

#define SHMEM_TEAM_NUM_CONTEXTS (1L << 0)

#define SHMEM_CTX_SERIALIZED (1L << 0)
#define SHMEM_CTX_PRIVATE (1L << 1)
#define SHMEM_CTX_NOSTORE (1L << 2)

#define SHMEM_CTX_SESSION_TOTAL_OPS (1L << 0)
#define SHMEM_CTX_SESSION_BATCH (1L << 0)

#define SHMEM_SIGNAL_SET 0
#define SHMEM_SIGNAL_ADD 1

#define SHMEM_MALLOC_ATOMICS_REMOTE (1L << 0)
#define SHMEM_MALLOC_SIGNAL_REMOTE (1L << 1)

#define SHMEM_CMP_EQ 0
#define SHMEM_CMP_NE 1
#define SHMEM_CMP_GT 2
#define SHMEM_CMP_GE 3
#define SHMEM_CMP_LT 4
#define SHMEM_CMP_LE 5

/*
 * Work arrays of the active-set collectives, in longs. 128 longs are 16 cache lines: enough for one line per round of a
 * dissemination over 65,536 PEs. Part of the ABI: programs allocate these arrays.
 */
#define SHMEM_SYNC_VALUE 0L
#define SHMEM_SYNC_SIZE 128
#define SHMEM_BARRIER_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_BCAST_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_REDUCE_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_COLLECT_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_ALLTOALL_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_ALLTOALLS_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_REDUCE_MIN_WRKDATA_SIZE 16

/* --- the names of constants before 1.3 (deprecated) --------------------------------------------------------------- */
#define _SHMEM_MAJOR_VERSION SHMEM_MAJOR_VERSION
#define _SHMEM_MINOR_VERSION SHMEM_MINOR_VERSION
#define _SHMEM_MAX_NAME_LEN SHMEM_MAX_NAME_LEN
#define _SHMEM_VENDOR_STRING SHMEM_VENDOR_STRING
#define _SHMEM_CMP_EQ SHMEM_CMP_EQ
#define _SHMEM_CMP_NE SHMEM_CMP_NE
#define _SHMEM_CMP_GT SHMEM_CMP_GT
#define _SHMEM_CMP_GE SHMEM_CMP_GE
#define _SHMEM_CMP_LT SHMEM_CMP_LT
#define _SHMEM_CMP_LE SHMEM_CMP_LE
#define _SHMEM_SYNC_VALUE SHMEM_SYNC_VALUE
#define _SHMEM_BARRIER_SYNC_SIZE SHMEM_BARRIER_SYNC_SIZE
#define _SHMEM_BCAST_SYNC_SIZE SHMEM_BCAST_SYNC_SIZE
#define _SHMEM_REDUCE_SYNC_SIZE SHMEM_REDUCE_SYNC_SIZE
#define _SHMEM_COLLECT_SYNC_SIZE SHMEM_COLLECT_SYNC_SIZE
#define _SHMEM_REDUCE_MIN_WRKDATA_SIZE SHMEM_REDUCE_MIN_WRKDATA_SIZE

/* --- handles ------------------------------------------------------------------------------------------------------ */
/*
 * A handle is an offset in bytes from a base inside the library, stored in a pointer type of its own so that the
 * compiler keeps contexts and teams apart. The library finds the object with one addition, `base + handle`, and no
 * test; predefined handles are plain numbers, so they are constants in every initializer, need no relocation, and the
 * linker cannot copy any object of the library into the executable for them. Applications never dereference a handle.
 *   base_ctx  + SHMEM_IMPL_CTX_DEFAULT  == the default context
 *   base_team + SHMEM_IMPL_TEAM_WORLD   == the world team; the shared team follows SHMEM_IMPL_TEAM_STRIDE bytes later
 * Zero is the invalid handle of both kinds.
 */
typedef struct shmem_ctx_impl *shmem_ctx_t;
typedef struct shmem_team_impl *shmem_team_t;

#define SHMEM_IMPL_CTX_DEFAULT 64
#define SHMEM_IMPL_TEAM_STRIDE 1024
#define SHMEM_IMPL_TEAM_WORLD 64
#define SHMEM_IMPL_TEAM_SHARED (SHMEM_IMPL_TEAM_WORLD + SHMEM_IMPL_TEAM_STRIDE)

#ifdef __cplusplus
#define SHMEM_IMPL_HANDLE(TYPE, N) (reinterpret_cast<TYPE>(static_cast<uintptr_t>(N)))
#else
#define SHMEM_IMPL_HANDLE(TYPE, N) ((TYPE)(uintptr_t)(N))
#endif

#define SHMEM_CTX_INVALID SHMEM_IMPL_HANDLE(shmem_ctx_t, 0)
#define SHMEM_CTX_DEFAULT SHMEM_IMPL_HANDLE(shmem_ctx_t, SHMEM_IMPL_CTX_DEFAULT)
#define SHMEM_TEAM_INVALID SHMEM_IMPL_HANDLE(shmem_team_t, 0)
#define SHMEM_TEAM_WORLD SHMEM_IMPL_HANDLE(shmem_team_t, SHMEM_IMPL_TEAM_WORLD)
#define SHMEM_TEAM_SHARED SHMEM_IMPL_HANDLE(shmem_team_t, SHMEM_IMPL_TEAM_SHARED)

typedef struct {
	int num_contexts;
} shmem_team_config_t;

typedef struct {
	size_t total_ops;
} shmem_ctx_session_config_t;

/* --- prototypes --------------------------------------------------------------------------------------------------- */
#if defined(SHMEM_IMPL_BUILD) && defined(__cplusplus)
#define SHMEM_IMPL_NOEXCEPT noexcept
#else
#define SHMEM_IMPL_NOEXCEPT
#endif
#if defined(__cplusplus)
#define SHMEM_IMPL_NORETURN [[noreturn]]
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define SHMEM_IMPL_NORETURN _Noreturn
#else
#define SHMEM_IMPL_NORETURN
#endif

#include "shmem_calls.h"

#ifdef __cplusplus
extern "C" {
#endif
#define SHMEM_FN(name) name
#include "shmem_proto.h"
#undef SHMEM_FN
#ifdef __cplusplus
}
#endif

/*
 * The inlined face. It may define typed names as `extern inline` with gnu_inline, or redirect them with object-like
 * macros; the type-generic names below pick up both, since they only ever name shmem_<TYPENAME>_<call>.
 */
#if defined(SHMEM_INLINE) && !defined(SHMEM_IMPL_BUILD)
#include "shmem_inline.h"
#endif

/* --- type-generic names ------------------------------------------------------------------------------------------- */
#if defined(SHMEM_IMPL_BUILD)
/* none: the library defines the typed names */
#elif defined(__cplusplus)
#include "shmem_cxx.h"
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#include "shmem_c11.h"
#endif

#endif /* SHMEM_H */
