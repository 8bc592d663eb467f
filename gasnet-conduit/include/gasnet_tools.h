/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GASNet tools: what programs use in addition to gasnet.h. Timers, atomics, memory barriers, locks, thread keys,
 * environment, small helpers. C11 and C++. Does not need gasnet_init; include with or without gasnet.h.
 */
#ifndef GASNET_TOOLS_H
#define GASNET_TOOLS_H

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h> /* MIN and MAX, which clients assume */
#include <time.h>

#ifndef PRIuSZ /* for printf: a size_t */
#define PRIuSZ "zu"
#define PRIdSZ "zd"
#define PRIxSZ "zx"
#endif
#include <unistd.h>

#include <pgas/pgas_atomic.h>

#include <gasnet_config.h>
#include <gasnet_pgas_platform.h>
#include <gasnet_pgas_atomics.h>

#define GASNETT_SPEC_VERSION_MAJOR GASNETI_TOOLS_SPEC_VERSION_MAJOR
#define GASNETT_SPEC_VERSION_MINOR GASNETI_TOOLS_SPEC_VERSION_MINOR
#define GASNETT_RELEASE_VERSION_MAJOR GASNET_RELEASE_VERSION_MAJOR
#define GASNETT_RELEASE_VERSION_MINOR GASNET_RELEASE_VERSION_MINOR
#define GASNETT_RELEASE_VERSION_PATCH GASNET_RELEASE_VERSION_PATCH
#define GASNETT_CONFIG_STRING                                                                                          \
	"RELEASE=" GASNETI_RELEASE ",SPEC=" GASNETI_VERSION_2(                                                         \
		GASNETT_SPEC_VERSION) ",PTR=64bit,nodebug,timers_posix,membars_builtin,atomics_builtin"
#define GASNETT_SYSTEM_TUPLE GASNETI_MACHINE "-unknown-linux-gnu"
#define GASNETT_SYSTEM_NAME "linux"
#define GASNETT_CACHE_LINE_BYTES 64
#if defined(__x86_64__) || defined(__i386__)
#define GASNETT_PAGESIZE 4096
#define GASNETT_PAGESHIFT 12
#else
#define GASNETT_PAGESIZE 65536
#define GASNETT_PAGESHIFT 16
#endif
#define GASNETT_MAX_THREADS 1024
/* Programs without gasnet.h may define one of GASNETT_LITE_MODE, GASNETT_THREAD_SAFE and GASNETT_THREAD_SINGLE. */
#if defined(GASNETT_LITE_MODE) + defined(GASNETT_THREAD_SAFE) + defined(GASNETT_THREAD_SINGLE) > 1
#error define at most one of GASNETT_LITE_MODE, GASNETT_THREAD_SAFE and GASNETT_THREAD_SINGLE
#endif
#if defined(GASNETT_THREAD_SAFE) && defined(GASNET_SEQ)
#error GASNETT_THREAD_SAFE needs GASNET_PAR or GASNET_PARSYNC: with GASNET_SEQ locks are none
#endif
#if defined(GASNETT_LITE_MODE)
#undef GASNETT_LITE_MODE
#define GASNETT_LITE_MODE 1
#define GASNETT_THREAD_MODEL LITE
#elif defined(GASNETT_THREAD_SINGLE) || defined(GASNET_SEQ)
#undef GASNETT_THREAD_SINGLE
#define GASNETT_THREAD_SINGLE 1
#define GASNETT_THREAD_MODEL SEQ
#else
#undef GASNETT_THREAD_SAFE
#define GASNETT_THREAD_SAFE 1
#define GASNETT_THREAD_MODEL PAR
#endif
#define GASNETT_PTR_CONFIG 64bit
#define GASNETT_DEBUG_CONFIG nodebug
#define GASNETT_MEMBAR_CONFIG builtin
#define GASNETT_CONFIGURE_ARGS ""
#define GASNETT_USE_GCC_ATTRIBUTE_WARN_UNUSED_RESULT 1

/* A string that can be found by its label in the program file. */
#define GASNETT_IDENT(name_arg, text_arg)                                                                              \
	extern char volatile name_arg[];                                                                               \
	char volatile name_arg[] = text_arg

#ifdef __cplusplus
extern "C" {
#endif

/* --- time: a tick is a nanosecond --------------------------------------------------------------------------------- */

typedef uint64_t gasnett_tick_t;
#define GASNETT_TICK_MIN ((gasnett_tick_t)0)
#define GASNETT_TICK_MAX UINT64_MAX

static inline gasnett_tick_t gasnett_ticks_now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}
static inline uint64_t gasnett_ticks_to_ns(gasnett_tick_t ticks)
{
	return ticks;
}
static inline uint64_t gasnett_ticks_to_us(gasnett_tick_t ticks)
{
	return ticks / 1000;
}
static inline uint64_t gasnett_gettimeofday_us(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000u + (uint64_t)ts.tv_nsec / 1000;
}
static inline double gasnett_tick_granularity(void) /* seconds */
{
	struct timespec ts;
	clock_getres(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}
static inline double gasnett_tick_overhead(void)
{
	const gasnett_tick_t begin = gasnett_ticks_now();
	for (int i = 0; i < 999; i++)
		(void)gasnett_ticks_now();
	return 1e-9 * (double)(gasnett_ticks_now() - begin) / 1000;
}
#define gasnett_tick_granularityus() (1e6 * gasnett_tick_granularity())
#define gasnett_tick_overheadus() (1e6 * gasnett_tick_overhead())
#define GASNETT_TIMER_CONFIG posix
static inline int gasnett_nsleep(uint64_t ns)
{
	const struct timespec ts = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
	return nanosleep(&ts, NULL);
}
static inline void gasnett_sched_yield(void)
{
	sched_yield();
}

/* --- locks; nothing to lock under GASNET_SEQ ---------------------------------------------------------------------- */

#if defined(GASNET_SEQ)
typedef char gasnett_mutex_t;
typedef char gasnett_cond_t;
typedef char gasnett_rwlock_t;
#define GASNETT_MUTEX_INITIALIZER 0
#define GASNETT_COND_INITIALIZER 0
#define GASNETT_RWLOCK_INITIALIZER 0
#define gasnett_mutex_init(m_arg) ((void)(m_arg))
#define gasnett_mutex_destroy(m_arg) ((void)(m_arg), 0)
#define gasnett_mutex_destroy_ignoreerr(m_arg) ((void)(m_arg))
#define gasnett_mutex_lock(m_arg) ((void)(m_arg))
#define gasnett_mutex_unlock(m_arg) ((void)(m_arg))
#define gasnett_mutex_trylock(m_arg) ((void)(m_arg), 0)
#define gasnett_mutex_assertlocked(m_arg) ((void)(m_arg))
#define gasnett_mutex_assertunlocked(m_arg) ((void)(m_arg))
#define gasnett_cond_init(c_arg) ((void)(c_arg))
#define gasnett_cond_destroy(c_arg) ((void)(c_arg))
#define gasnett_cond_signal(c_arg) ((void)(c_arg))
#define gasnett_cond_broadcast(c_arg) ((void)(c_arg))
#define gasnett_cond_wait(c_arg, m_arg)                                                                                \
	((void)(c_arg), (void)(m_arg), gasnett_fatalerror("gasnett_cond_wait without threads"))
#define gasnett_rwlock_init(l_arg) ((void)(l_arg))
#define gasnett_rwlock_destroy(l_arg) ((void)(l_arg))
#define gasnett_rwlock_rdlock(l_arg) ((void)(l_arg))
#define gasnett_rwlock_wrlock(l_arg) ((void)(l_arg))
#define gasnett_rwlock_tryrdlock(l_arg) ((void)(l_arg), 0)
#define gasnett_rwlock_trywrlock(l_arg) ((void)(l_arg), 0)
#define gasnett_rwlock_unlock(l_arg) ((void)(l_arg))
#else
typedef pthread_mutex_t gasnett_mutex_t;
typedef pthread_cond_t gasnett_cond_t;
typedef pthread_rwlock_t gasnett_rwlock_t;
#define GASNETT_MUTEX_INITIALIZER PTHREAD_MUTEX_INITIALIZER
#define GASNETT_COND_INITIALIZER PTHREAD_COND_INITIALIZER
#define GASNETT_RWLOCK_INITIALIZER PTHREAD_RWLOCK_INITIALIZER
#define gasnett_mutex_init(m_arg) ((void)pthread_mutex_init((m_arg), NULL))
#define gasnett_mutex_destroy(m_arg) pthread_mutex_destroy(m_arg)
#define gasnett_mutex_destroy_ignoreerr(m_arg) ((void)pthread_mutex_destroy(m_arg))
#define gasnett_mutex_lock(m_arg) ((void)pthread_mutex_lock(m_arg))
#define gasnett_mutex_unlock(m_arg) ((void)pthread_mutex_unlock(m_arg))
#define gasnett_mutex_trylock(m_arg) pthread_mutex_trylock(m_arg)
#define gasnett_mutex_assertlocked(m_arg) ((void)(m_arg))
#define gasnett_mutex_assertunlocked(m_arg) ((void)(m_arg))
#define gasnett_cond_init(c_arg) ((void)pthread_cond_init((c_arg), NULL))
#define gasnett_cond_destroy(c_arg) ((void)pthread_cond_destroy(c_arg))
#define gasnett_cond_signal(c_arg) ((void)pthread_cond_signal(c_arg))
#define gasnett_cond_broadcast(c_arg) ((void)pthread_cond_broadcast(c_arg))
#define gasnett_cond_wait(c_arg, m_arg) ((void)pthread_cond_wait((c_arg), (m_arg)))
#define gasnett_rwlock_init(l_arg) ((void)pthread_rwlock_init((l_arg), NULL))
#define gasnett_rwlock_destroy(l_arg) ((void)pthread_rwlock_destroy(l_arg))
#define gasnett_rwlock_rdlock(l_arg) ((void)pthread_rwlock_rdlock(l_arg))
#define gasnett_rwlock_wrlock(l_arg) ((void)pthread_rwlock_wrlock(l_arg))
#define gasnett_rwlock_tryrdlock(l_arg) pthread_rwlock_tryrdlock(l_arg)
#define gasnett_rwlock_trywrlock(l_arg) pthread_rwlock_trywrlock(l_arg)
#define gasnett_rwlock_unlock(l_arg) ((void)pthread_rwlock_unlock(l_arg))
#endif
/* Locks do not know their owners here. */
#define gasnett_rwlock_assertlocked(l_arg) ((void)(l_arg))
#define gasnett_rwlock_assertrdlocked(l_arg) ((void)(l_arg))
#define gasnett_rwlock_assertwrlocked(l_arg) ((void)(l_arg))
#define gasnett_rwlock_assertunlocked(l_arg) ((void)(l_arg))

/* One void * per thread and key; initially NULL. */
#if defined(GASNET_SEQ)
#define GASNETI_THREAD
#else
#define GASNETI_THREAD __thread
#endif
#define GASNETT_THREADKEY_DECLARE(key_arg) extern GASNETI_THREAD void *GASNETT_CONCAT(gasneti_key_, key_arg)
#define GASNETT_THREADKEY_DEFINE(key_arg) GASNETI_THREAD void *GASNETT_CONCAT(gasneti_key_, key_arg)
#define gasnett_threadkey_get(key_arg) (GASNETT_CONCAT(gasneti_key_, key_arg))
#define gasnett_threadkey_set(key_arg, value_arg) ((void)(GASNETT_CONCAT(gasneti_key_, key_arg) = (value_arg)))
#define gasnett_threadkey_init(key_arg) ((void)0)
static inline void __attribute__((unused)) _gasneti_threadkey_init(void *key) /* for programs that use this name */
{
	(void)key;
}
#define gasnett_threadkey_get_noinit(key_arg) gasnett_threadkey_get(key_arg)
#define gasnett_threadkey_set_noinit(key_arg, value_arg) gasnett_threadkey_set(key_arg, value_arg)

/* --- bits --------------------------------------------------------------------------------------------------------- */

/* Returns how many of n bytes are zero; the second function also copies them. */
static inline size_t gasnett_count0s(const void *src, size_t n)
{
	const unsigned char *p = (const unsigned char *)src;
	size_t zeros = 0;
	for (size_t i = 0; i < n; i++)
		zeros += p[i] == 0;
	return zeros;
}
static inline size_t gasnett_count0s_copy(void *dst, const void *src, size_t n)
{
	memcpy(dst, src, n);
	return gasnett_count0s(src, n);
}
static inline int gasnett_count0s_uint32_t(uint32_t v)
{
	return (int)gasnett_count0s(&v, sizeof v);
}
static inline int gasnett_count0s_uint64_t(uint64_t v)
{
	return (int)gasnett_count0s(&v, sizeof v);
}
static inline int gasnett_count0s_uintptr_t(uintptr_t v)
{
	return (int)gasnett_count0s(&v, sizeof v);
}
#define GASNETT_HAVE_COUNT0S 1

/* --- process, environment, text: in the library ------------------------------------------------------------------- */

typedef void (*gasnett_sighandlerfn_t)(int);
typedef struct {
	uint64_t allocated_bytes;
	uint64_t allocated_objects;
} gasnett_heapstats_t;

PGAS_EXPORT void gasnett_fatalerror(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
PGAS_EXPORT void gasnett_fatalerror_nopos(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
PGAS_EXPORT void gasnett_killmyprocess(int exitcode) __attribute__((noreturn));
PGAS_EXPORT void gasnett_flush_streams(void);
PGAS_EXPORT void gasnett_close_streams(void);
PGAS_EXPORT gasnett_sighandlerfn_t gasnett_reghandler(int sig, gasnett_sighandlerfn_t handler);
PGAS_EXPORT int gasnett_maximize_rlimits(void);
PGAS_EXPORT int gasnett_maximize_rlimit(int resource, const char *text);
PGAS_EXPORT int gasnett_cpu_count(void);
PGAS_EXPORT int gasnett_set_affinity(int rank); /* 0, or 1 if the system refuses */
#define GASNETT_SET_AFFINITY_SUPPORT 1
#define GASNETT_SET_AFFINITY(rank_arg) gasnett_set_affinity(rank_arg)
PGAS_EXPORT const char *gasnett_exe_name(void); /* the program's file */
PGAS_EXPORT const char *gasnett_release_version_str(void);
PGAS_EXPORT uint64_t gasnett_release_version(void); /* major * 1000000 + minor * 10000 + patch */
PGAS_EXPORT const char *gasnett_gethostname(void);
PGAS_EXPORT uint64_t gasnett_getPhysMemSz(int failure_is_fatal);
PGAS_EXPORT int gasnett_isLittleEndian(void);
PGAS_EXPORT uint64_t gasnett_checksum(const void *src, size_t n);
PGAS_EXPORT char *gasnett_getenv(const char *name);
PGAS_EXPORT void gasnett_setenv(const char *name, const char *value);
PGAS_EXPORT void gasnett_unsetenv(const char *name);
PGAS_EXPORT char *gasnett_getenv_withdefault(const char *name, const char *fallback);
PGAS_EXPORT int gasnett_getenv_yesno_withdefault(const char *name, int fallback);
PGAS_EXPORT int64_t gasnett_getenv_int_withdefault(const char *name, int64_t fallback, uint64_t unit);
PGAS_EXPORT double gasnett_getenv_dbl_withdefault(const char *name, double fallback);
/* Printed once each on the first node, if GASNET_VERBOSEENV is set. The calls above print what they return. */
PGAS_EXPORT int gasnett_verboseenv(void);
PGAS_EXPORT void gasnett_envstr_display(const char *name, const char *value, int is_default);
PGAS_EXPORT void gasnett_envint_display(const char *name, int64_t value, int is_default, int is_memory);
PGAS_EXPORT void gasnett_envdbl_display(const char *name, double value, int is_default);
PGAS_EXPORT int64_t gasnett_parse_int(const char *text, uint64_t unit);
PGAS_EXPORT char *gasnett_format_number(int64_t value, char *dst, size_t room, int is_memory);
PGAS_EXPORT const char *gasnett_performance_warning_str(void);
PGAS_EXPORT void gasnett_backtrace_init(const char *program);
PGAS_EXPORT int gasnett_print_backtrace(int fd);
PGAS_EXPORT int gasnett_print_backtrace_ifenabled(int fd);
/* Waits until a debugger or SIGCONT sets *flag to 0; the second one only with GASNET_FREEZE_ON_ERROR. */
PGAS_EXPORT void gasnett_freezeForDebuggerNow(volatile int *flag, const char *flagsymname);
PGAS_EXPORT void gasnett_freezeForDebuggerErr(void);
extern PGAS_EXPORT volatile int gasnet_frozen; /* the flag of GASNET_FREEZE and GASNET_FREEZE_ON_ERROR */
PGAS_EXPORT int gasnett_getheapstats(gasnett_heapstats_t *stats);
PGAS_EXPORT void *gasnett_mmap(uintptr_t bytes);

typedef struct {
	const char *name;
	int (*fnp)(int fd); /* returns 0 if it has printed a backtrace */
	int threadsupport;
} gasnett_backtrace_type_t;
/* A program that defines this prints its own backtraces. */
extern gasnett_backtrace_type_t gasnett_backtrace_user;

/* Debug allocation: plain in this library. */
#define gasnett_debug_malloc(n_arg) malloc(n_arg)
#define gasnett_debug_calloc(n_arg, s_arg) calloc((n_arg), (s_arg))
#define gasnett_debug_realloc(p_arg, n_arg) realloc((p_arg), (n_arg))
#define gasnett_debug_free(p_arg) free(p_arg)
#define gasnett_debug_strdup(s_arg) strdup(s_arg)
#define gasnett_debug_strndup(s_arg, n_arg) strndup((s_arg), (n_arg))
#define gasnett_debug_memcheck(p_arg) ((void)(p_arg))
#define gasnett_debug_memcheck_one() ((void)0)
#define gasnett_debug_memcheck_all() ((void)0)

/* --- tracing: none; arguments are not evaluated ------------------------------------------------------------------- */

static inline void gasneti_no_trace(const char *format, ...) __attribute__((format(printf, 1, 2), unused));
static inline void gasneti_no_trace(const char *format, ...)
{
	(void)format;
}
/* Programs use these names to avoid warnings about unused symbols. */
#define _gasnett_trace_printf_noop gasneti_no_trace
#define GASNETT_TRACE_ENABLED 0
#define GASNETT_TRACE_SETSOURCELINE(file_arg, line_arg) ((void)0)
#define GASNETT_TRACE_GETSOURCELINE(file_arg, line_arg) ((void)0)
#define GASNETT_TRACE_FREEZESOURCELINE() ((void)0)
#define GASNETT_TRACE_UNFREEZESOURCELINE() ((void)0)
#define GASNETT_TRACE_PRINTF (1) ? (void)0 : gasneti_no_trace
#define GASNETT_TRACE_PRINTF_FORCE (1) ? (void)0 : gasneti_no_trace
#define GASNETT_TRACE_GETMASK() ""
#define GASNETT_TRACE_SETMASK(mask_arg) ((void)0)
#define GASNETT_TRACE_GET_TRACELOCAL() (0)
#define GASNETT_TRACE_SET_TRACELOCAL(on_arg) ((void)0)
#define GASNETT_STATS_GETMASK() ""
#define GASNETT_STATS_SETMASK(mask_arg) ((void)0)
#define GASNETT_STATS_INIT(fn_arg, format_arg) ((void)0)
#define GASNETT_STATS_PRINTF (1) ? (void)0 : gasneti_no_trace
#define GASNETT_STATS_PRINTF_FORCE (1) ? (void)0 : gasneti_no_trace
#define GASNETT_STATS_DUMP(reset_arg) ((void)(reset_arg))

#ifdef __cplusplus
}
#endif

#endif /* GASNET_TOOLS_H */
