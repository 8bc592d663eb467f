/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What both interfaces of this library share: modes, constants, types, job control, locks, polling. C11 and C++. Part
 * of gasnetex.h.
 *
 * A client defines exactly one of GASNET_SEQ, GASNET_PAR and GASNET_PARSYNC before it includes this file, and links
 * the library of that name; the makefile fragments (pgas-conduit/pgas-*.mak) and pkg-config files do both. Inline
 * functions here read struct gasneti_front and the provider's fronts (pgas/pgas_types.h), whose magic words carry
 * the layout's version: a client compiled against another layout makes library calls instead. See gasnet-pgas(7).
 */
#ifndef GASNET_PGAS_BASE_H
#define GASNET_PGAS_BASE_H

#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <pgas/pgas_hot.h>
#include <gasnet_config.h>
#include <gasnet_fwd.h>

#if defined(GASNET_SEQ) + defined(GASNET_PAR) + defined(GASNET_PARSYNC) != 1
#error define exactly one of GASNET_SEQ, GASNET_PAR and GASNET_PARSYNC before including gasnet.h or gasnetex.h
#endif
#ifdef GASNET_SEQ
#undef GASNET_SEQ
#define GASNET_SEQ 1
#define GASNETI_MODE seq
#define GASNETI_MODE_STR "SEQ"
#define GASNETI_THREADS 0
#elif defined(GASNET_PAR)
#undef GASNET_PAR
#define GASNET_PAR 1
#define GASNETI_MODE par
#define GASNETI_MODE_STR "PAR"
#define GASNETI_THREADS 1
#include <pthread.h>
#else
#undef GASNET_PARSYNC
#define GASNET_PARSYNC 1
#define GASNETI_MODE parsync
#define GASNETI_MODE_STR "PARSYNC"
#define GASNETI_THREADS 0
#include <pthread.h>
#endif
#define GASNETI_PASTE_(a_arg, b_arg) a_arg##b_arg
#define GASNETI_PASTE(a_arg, b_arg) GASNETI_PASTE_(a_arg, b_arg)

/* --- constants ---------------------------------------------------------------------------------------------------- */

#define GASNET_SPEC_VERSION_MAJOR GASNETI_SPEC_VERSION_MAJOR
#define GASNET_SPEC_VERSION_MINOR GASNETI_SPEC_VERSION_MINOR
#define GASNET_VERSION GASNET_SPEC_VERSION_MAJOR
#define GEX_SPEC_VERSION_MAJOR GASNETI_EX_SPEC_VERSION_MAJOR
#define GEX_SPEC_VERSION_MINOR GASNETI_EX_SPEC_VERSION_MINOR

#define GASNET_CONDUIT_PGAS 1
#ifdef GASNETI_FACE_SMP /* for clients that know a fixed list of conduits: smp/README */
#define GASNET_CONDUIT_SMP 1
#define GASNET_CONDUIT_NAME SMP
#define GASNET_CONDUIT_NAME_STR "SMP"
#else
#define GASNET_CONDUIT_NAME PGAS
#define GASNET_CONDUIT_NAME_STR "PGAS"
#endif
/* Launchers search executables for this string. */
static const char gasneti_conduit_ident[] __attribute__((used)) = "$GASNetConduitName: " GASNET_CONDUIT_NAME_STR " $";
#define GASNET_CORE_PGAS 1
#define GASNET_CORE_NAME PGAS
#define GASNET_CORE_NAME_STR "PGAS"
#define GASNET_CORE_VERSION 1.0
#define GASNET_CORE_VERSION_STR "1.0"
#define GASNET_EXTENDED_PGAS 1
#define GASNET_EXTENDED_NAME PGAS
#define GASNET_EXTENDED_NAME_STR "PGAS"
#define GASNET_EXTENDED_VERSION 1.0
#define GASNET_EXTENDED_VERSION_STR "1.0"

#define GASNET_NDEBUG 1
#define GASNET_SEGMENT_FAST 1
#define GASNET_ALIGNED_SEGMENTS 1
#define GASNET_PSHM 1
#define GASNET_NULL_ARGV_OK 1
#define GASNET_MAXNODES 65536
#define GASNET_MAXEPS 33
/* Memory kinds (gasnet_mk.h). Their drivers are located at run time, so all kinds are defined. */
#define GASNET_HAVE_MK_CLASS_HOST 1
#define GASNET_HAVE_MK_CLASS_MULTIPLE 1
#define GASNET_HAVE_MK_CLASS_CUDA_UVA 1
#define GASNET_HAVE_MK_CLASS_HIP 1
#ifdef __has_include /* programs name devices of Level Zero by types of its header */
#if __has_include(<level_zero/ze_api.h>)
#define GASNET_HAVE_MK_CLASS_ZE 1
#endif
#endif
#define GASNET_HIDDEN_AM_CONCURRENCY_LEVEL 0
#define GASNET_SOCKLEN_T socklen_t
#if defined(__x86_64__) || defined(__i386__)
#define GASNET_PAGESIZE 4096
#else
#define GASNET_PAGESIZE 65536 /* the largest page size of these machines, a multiple of all others */
#endif

/* What a client was compiled against; the library compares it with its own. */
#define GASNET_CONFIG_STRING                                                                                           \
	"RELEASE=" GASNETI_RELEASE ",SPEC=" GASNETI_VERSION_2(                                                         \
		GEX_SPEC_VERSION) ",CONDUIT=PGAS,THREADMODEL=" GASNETI_MODE_STR                                        \
				  ",SEGMENT=FAST,PTR=64bit,ALIGN,PSHM,NODEBUG,LAYOUT=" GASNETI_STRING(GASNETI_LAYOUT)
#define GASNETI_LAYOUT 6 /* of struct gasneti_front, of teams, of atomic domains and their calls, and of the messages */

#define GASNET_OK 0
#define GASNET_ERR_NOT_INIT 10001
#define GASNET_ERR_BAD_ARG 10002
#define GASNET_ERR_RESOURCE 10003
#define GASNET_ERR_NOT_READY 10004 /* Realm compiles this in */
#define GASNET_ERR_BARRIER_MISMATCH 10005

#define GASNET_BARRIERFLAG_ANONYMOUS 1
#define GASNET_BARRIERFLAG_MISMATCH 2
#define GASNET_BARRIERFLAG_UNNAMED 4 /* anonymous, with the promise that it is anonymous on all nodes */
#define GASNET_BARRIERFLAG_IMAGES 8  /* gasnet_coll_barrier*: every image calls it, not one thread of each node */

#define GASNET_WAIT_SPIN 0
#define GASNET_WAIT_BLOCK 1
#define GASNET_WAIT_SPINBLOCK 2

/* --- types -------------------------------------------------------------------------------------------------------- */

typedef uint32_t gasnet_node_t;
typedef uint8_t gasnet_handler_t;
typedef int32_t gasnet_handlerarg_t;
typedef struct gasneti_token *gasnet_token_t;
typedef gex_Event_t gasnet_handle_t;
#define GASNET_INVALID_HANDLE GEX_EVENT_INVALID
typedef uintptr_t gasnet_register_value_t;
#define SIZEOF_GASNET_REGISTER_VALUE_T 8
typedef gasnet_register_value_t gasnet_valget_handle_t; /* the value itself: such a get is complete when it returns */
typedef void *gasnet_threadinfo_t;

/* The same in C and C++: clients cast their handlers to this type. */
typedef void (*gasneti_handler_fn)();
typedef struct {
	gasnet_handler_t index; /* 0: any */
	gasneti_handler_fn fnptr;
} gasnet_handlerentry_t;

typedef struct {
	void *addr;
	uintptr_t size;
} gasnet_seginfo_t;

typedef struct {
	gasnet_node_t host;      /* nodes on one host have the same number, from 0 */
	gasnet_node_t supernode; /* nodes that access each other's segments by load and store */
	uintptr_t offset;        /* add it to an address of that node's segment to get the local one */
} gasnet_nodeinfo_t;

/* A handler-safe lock. It is a real lock under PARSYNC too, where a thread may hold it while another one polls. */
typedef struct {
#ifdef GASNET_SEQ
	int held_;
#else
	pthread_mutex_t mutex_;
#endif
} gasnet_hsl_t;
#ifdef GASNET_SEQ
#define GASNET_HSL_INITIALIZER                                                                                         \
	{                                                                                                              \
		0                                                                                                      \
	}
#else
#define GASNET_HSL_INITIALIZER                                                                                         \
	{                                                                                                              \
		PTHREAD_MUTEX_INITIALIZER                                                                              \
	}
#endif

/*
 * What inline calls read. Only gasnet_init and gasnet_attach write it, apart from `arrivals`, which the library also
 * changes later (progress_update). Before that all pointers lead to fronts whose magic words and windows are zero, so
 * that every call takes its cold exit, which reports what is wrong.
 */
struct gasneti_front {
	struct pgas_ep *am; /* active messages */
	const struct pgas_cq *arrivals;
	uint64_t word;       /* the start of every message from this node: its rank, in the upper half */
	uint64_t max_medium; /* bytes of payload */
	gasnet_node_t mynode, nodes;
};

#ifdef __cplusplus
extern "C" {
#endif

extern PGAS_EXPORT struct gasneti_front gasneti_front;
/*
 * By node: what to add to an address in its segment to get the local address; 0 if it is not mapped, or there is no
 * such node. gasnet_init writes it; later an entry changes only to 0, when the node's first segment is memory of the
 * client. It is an array and not a pointer to one, so that a compiler sees that nothing else is in it, and keeps values
 * that it has read across a loop.
 */
extern PGAS_EXPORT uint64_t gasneti_windows[GASNET_MAXNODES];
/* Transfers with an implicit handle that went over a wire since the last sync. 0 while all segments are mapped. */
extern PGAS_EXPORT uint64_t gasneti_pending;

/* --- job control -------------------------------------------------------------------------------------------------- */

/* The mode is part of the name, so that a client and a library of different modes do not link. */
#define gasneti_init_mode GASNETI_PASTE(gasneti_init_, GASNETI_MODE)
PGAS_EXPORT int gasneti_init_mode(int *argc, char ***argv, const char *config) PGAS_NOEXCEPT;
PGAS_EXPORT void gasnet_exit(int exitcode) PGAS_NOEXCEPT __attribute__((noreturn));
PGAS_EXPORT uintptr_t gasnet_getMaxLocalSegmentSize(void) PGAS_NOEXCEPT;
PGAS_EXPORT uintptr_t gasnet_getMaxGlobalSegmentSize(void) PGAS_NOEXCEPT;
PGAS_EXPORT int gasnet_getSegmentInfo(gasnet_seginfo_t *table, int numentries) PGAS_NOEXCEPT;
PGAS_EXPORT int gasnet_getNodeInfo(gasnet_nodeinfo_t *table, int numentries) PGAS_NOEXCEPT;
PGAS_EXPORT char *gasnet_getenv(const char *name) PGAS_NOEXCEPT;
PGAS_EXPORT char *gasnet_ErrorName(int errval) PGAS_NOEXCEPT;
PGAS_EXPORT char *gasnet_ErrorDesc(int errval) PGAS_NOEXCEPT;
PGAS_EXPORT int gasnet_set_waitmode(int wait_mode) PGAS_NOEXCEPT;

static inline gasnet_node_t gasnet_mynode(void)
{
	return gasneti_front.mynode;
}
static inline gasnet_node_t gasnet_nodes(void)
{
	return gasneti_front.nodes;
}

/* --- threads and atomicity ---------------------------------------------------------------------------------------- */

/* No thread metadata is needed. BEGIN_FUNCTION is a declaration, because clients place it among theirs. */
#define GASNET_BEGIN_FUNCTION() struct gasneti_no_threadinfo
#define GASNET_GET_THREADINFO() ((gasnet_threadinfo_t)0)
#define GASNET_POST_THREADINFO(info_arg) (void)(info_arg)

/* Handlers run inside calls only, never in a signal or a library thread: there is nothing to hold off. */
static inline void gasnet_hold_interrupts(void)
{
}
static inline void gasnet_resume_interrupts(void)
{
}

#ifdef GASNET_SEQ
static inline void gasnet_hsl_init(gasnet_hsl_t *hsl)
{
	hsl->held_ = 0;
}
static inline void gasnet_hsl_destroy(gasnet_hsl_t *hsl)
{
	(void)hsl;
}
static inline void gasnet_hsl_lock(gasnet_hsl_t *hsl)
{
	hsl->held_ = 1;
	pgas_fence_compiler();
}
static inline void gasnet_hsl_unlock(gasnet_hsl_t *hsl)
{
	pgas_fence_compiler();
	hsl->held_ = 0;
}
static inline int gasnet_hsl_trylock(gasnet_hsl_t *hsl)
{
	if (hsl->held_)
		return GASNET_ERR_NOT_READY;
	hsl->held_ = 1;
	return GASNET_OK;
}
#else
static inline void gasnet_hsl_init(gasnet_hsl_t *hsl)
{
	pthread_mutex_init(&hsl->mutex_, NULL);
}
static inline void gasnet_hsl_destroy(gasnet_hsl_t *hsl)
{
	pthread_mutex_destroy(&hsl->mutex_);
}
static inline void gasnet_hsl_lock(gasnet_hsl_t *hsl)
{
	pthread_mutex_lock(&hsl->mutex_);
}
static inline void gasnet_hsl_unlock(gasnet_hsl_t *hsl)
{
	pthread_mutex_unlock(&hsl->mutex_);
}
static inline int gasnet_hsl_trylock(gasnet_hsl_t *hsl)
{
	return pthread_mutex_trylock(&hsl->mutex_) == 0 ? GASNET_OK : GASNET_ERR_NOT_READY;
}
#endif

/* --- polling ------------------------------------------------------------------------------------------------------ */

PGAS_EXPORT int gasneti_poll(void) PGAS_NOEXCEPT;
/* The same, before a message is sent: a tool that counts polls ignores it. */
PGAS_EXPORT int gasneti_poll_first(void) PGAS_NOEXCEPT;
/* One turn of a waiting loop: polls, spins, and gives up the core when nothing has arrived for long. */
PGAS_EXPORT void gasneti_wait_turn(struct pgas_backoff *wait) PGAS_NOEXCEPT;

/* True if there is nothing to poll for. With threads, another one may poll, or pass a barrier on, at the same time. */
PGAS_HOT int gasneti_nothing_arrived(void)
{
	return GASNETI_THREADS ? pgas_hot_cq_empty_shared(pgas_load_relaxed(&gasneti_front.arrivals))
			       : pgas_hot_cq_empty(gasneti_front.arrivals);
}

/* budget: 10 instructions when nothing is there, 13 with threads (paths.def: gasnet_ampoll, gasnet_ampoll_par) */
static inline int gasnet_AMPoll(void)
{
	if (PGAS_LIKELY(gasneti_nothing_arrived()))
		return GASNET_OK;
	return gasneti_poll();
}

#define GASNET_BLOCKUNTIL(cond_arg)                                                                                    \
	do {                                                                                                           \
		struct pgas_backoff gasneti_wait_ = {0};                                                               \
		while (!(cond_arg))                                                                                    \
			gasneti_wait_turn(&gasneti_wait_);                                                             \
		pgas_fence_acquire(); /* pairs with store_release in pgas_hot_publish(), or of a handler */            \
	} while (0)

#ifdef __cplusplus
}
#endif

#endif /* GASNET_PGAS_BASE_H */
