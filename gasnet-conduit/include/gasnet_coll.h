/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives: GASNet-EX's broadcast and reductions over teams (barriers are in gasnetex.h), and those of GASNet-1's
 * draft, which never became part of the specification, over all nodes. A client includes it itself.
 *
 * None of them waits, but for those whose name says so by what it lacks (_nb). They go on in every poll, wait and test
 * of their members. dst and src are any memory. Several may be under way; all members start those of one team in the
 * same order.
 */
#ifndef GASNET_COLL_H
#define GASNET_COLL_H

#include <gasnetex.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- GASNet-EX ---------------------------------------------------------------------------------------------------- */

/* arg2_and_out[i] = arg1[i] op arg2_and_out[i]; no call of this library but those allowed under a handler-safe lock. */
typedef void (*gex_Coll_ReduceFn_t)(const void *arg1, void *arg2_and_out, size_t count, const void *cdata);

PGAS_EXPORT gex_Event_t gex_Coll_BroadcastNB(gex_TM_t tm, gex_Rank_t root, void *dst, const void *src, size_t nbytes,
					     gex_Flags_t flags) PGAS_NOEXCEPT;
PGAS_EXPORT gex_Event_t gex_Coll_ReduceToOneNB(gex_TM_t tm, gex_Rank_t root, void *dst, const void *src, gex_DT_t dt,
					       size_t dt_sz, size_t dt_cnt, gex_OP_t op, gex_Coll_ReduceFn_t user_op,
					       void *user_cdata, gex_Flags_t flags) PGAS_NOEXCEPT;
PGAS_EXPORT gex_Event_t gex_Coll_ReduceToAllNB(gex_TM_t tm, void *dst, const void *src, gex_DT_t dt, size_t dt_sz,
					       size_t dt_cnt, gex_OP_t op, gex_Coll_ReduceFn_t user_op,
					       void *user_cdata, gex_Flags_t flags) PGAS_NOEXCEPT;

/* --- GASNet-1's draft --------------------------------------------------------------------------------------------- */

typedef gex_TM_t gasnet_team_handle_t;
typedef gex_Event_t gasnet_coll_handle_t;
#define GASNET_COLL_INVALID_HANDLE GEX_EVENT_INVALID
typedef struct {
	void (*fnptr)(void *results, size_t result_count, const void *left, size_t left_count, const void *right,
		      size_t element, int flags, int argument);
	unsigned flags;
} gasnet_coll_fn_entry_t;
typedef uint32_t gasnet_image_t; /* a node: one image each */
#define GASNET_TEAM_ALL ((gasnet_team_handle_t)0)

/*
 * NOSYNC gives what MYSYNC does: a node's memory is touched by that node alone, while it is in the collective. Where
 * addresses lie, and whether they are the same everywhere, makes no difference.
 */
#define GASNET_COLL_IN_NOSYNC (1 << 0)
#define GASNET_COLL_IN_MYSYNC (1 << 1)
#define GASNET_COLL_IN_ALLSYNC (1 << 2)
#define GASNET_COLL_OUT_NOSYNC (1 << 3)
#define GASNET_COLL_OUT_MYSYNC (1 << 4)
#define GASNET_COLL_OUT_ALLSYNC (1 << 5)
#define GASNET_COLL_SINGLE (1 << 6)
#define GASNET_COLL_LOCAL (1 << 7)
#define GASNET_COLL_SRC_IN_SEGMENT (1 << 8)
#define GASNET_COLL_DST_IN_SEGMENT (1 << 9)

/* Images and functions are not used. */
PGAS_EXPORT void gasnet_coll_init(const gasnet_image_t images[], gasnet_image_t my_image,
				  gasnet_coll_fn_entry_t functions[], size_t count, int init_flags) PGAS_NOEXCEPT;

/* nbytes at src of node root to dst of every node, root included */
PGAS_EXPORT gasnet_coll_handle_t gasnet_coll_broadcast_nb(gasnet_team_handle_t team, void *dst, gasnet_image_t root,
							  void *src, size_t nbytes, int flags) PGAS_NOEXCEPT;
/* block i of nbytes at src of node root to dst of node i */
PGAS_EXPORT gasnet_coll_handle_t gasnet_coll_scatter_nb(gasnet_team_handle_t team, void *dst, gasnet_image_t root,
							void *src, size_t nbytes, int flags) PGAS_NOEXCEPT;
/* nbytes at src of node i to block i at dst of node root */
PGAS_EXPORT gasnet_coll_handle_t gasnet_coll_gather_nb(gasnet_team_handle_t team, gasnet_image_t root, void *dst,
						       void *src, size_t nbytes, int flags) PGAS_NOEXCEPT;
/* the same, and of all nodes */
PGAS_EXPORT gasnet_coll_handle_t gasnet_coll_gather_all_nb(gasnet_team_handle_t team, void *dst, void *src,
							   size_t nbytes, int flags) PGAS_NOEXCEPT;
/* block j at src of node i to block i at dst of node j */
PGAS_EXPORT gasnet_coll_handle_t gasnet_coll_exchange_nb(gasnet_team_handle_t team, void *dst, void *src, size_t nbytes,
							 int flags) PGAS_NOEXCEPT;

static inline int gasnet_coll_try_sync(gasnet_coll_handle_t handle)
{
	return gex_Event_Test(handle);
}
static inline int gasnet_coll_try_sync_some(gasnet_coll_handle_t *handles, size_t count)
{
	return gex_Event_TestSome(handles, count, 0);
}
static inline int gasnet_coll_try_sync_all(gasnet_coll_handle_t *handles, size_t count)
{
	return gex_Event_TestAll(handles, count, 0);
}
static inline void gasnet_coll_wait_sync(gasnet_coll_handle_t handle)
{
	gex_Event_Wait(handle);
}
static inline void gasnet_coll_wait_sync_some(gasnet_coll_handle_t *handles, size_t count)
{
	gex_Event_WaitSome(handles, count, 0);
}
static inline void gasnet_coll_wait_sync_all(gasnet_coll_handle_t *handles, size_t count)
{
	gex_Event_WaitAll(handles, count, 0);
}

static inline void gasnet_coll_broadcast(gasnet_team_handle_t team, void *dst, gasnet_image_t root, void *src,
					 size_t nbytes, int flags)
{
	gex_Event_Wait(gasnet_coll_broadcast_nb(team, dst, root, src, nbytes, flags));
}
static inline void gasnet_coll_scatter(gasnet_team_handle_t team, void *dst, gasnet_image_t root, void *src,
				       size_t nbytes, int flags)
{
	gex_Event_Wait(gasnet_coll_scatter_nb(team, dst, root, src, nbytes, flags));
}
static inline void gasnet_coll_gather(gasnet_team_handle_t team, gasnet_image_t root, void *dst, void *src,
				      size_t nbytes, int flags)
{
	gex_Event_Wait(gasnet_coll_gather_nb(team, root, dst, src, nbytes, flags));
}
static inline void gasnet_coll_gather_all(gasnet_team_handle_t team, void *dst, void *src, size_t nbytes, int flags)
{
	gex_Event_Wait(gasnet_coll_gather_all_nb(team, dst, src, nbytes, flags));
}
static inline void gasnet_coll_exchange(gasnet_team_handle_t team, void *dst, void *src, size_t nbytes, int flags)
{
	gex_Event_Wait(gasnet_coll_exchange_nb(team, dst, src, nbytes, flags));
}

/* The barrier of all nodes: GASNET_TEAM_ALL is the only team that has names in it. */
PGAS_EXPORT void gasnet_coll_barrier_notify(gasnet_team_handle_t team, int id, int flags) PGAS_NOEXCEPT;
PGAS_EXPORT int gasnet_coll_barrier_try(gasnet_team_handle_t team, int id, int flags) PGAS_NOEXCEPT;
PGAS_EXPORT int gasnet_coll_barrier_wait(gasnet_team_handle_t team, int id, int flags) PGAS_NOEXCEPT;
PGAS_EXPORT int gasnet_coll_barrier(gasnet_team_handle_t team, int id, int flags) PGAS_NOEXCEPT;
PGAS_EXPORT int gasnet_coll_barrier_result(gasnet_team_handle_t team, int *id) PGAS_NOEXCEPT;

/* There is nothing to tune, and so nothing to write. */
static inline void gasnet_coll_dumpTuningState(char *filename, gasnet_team_handle_t team)
{
	(void)filename, (void)team;
}
static inline void gasnet_coll_dumpProfile(char *filename, gasnet_team_handle_t team)
{
	(void)filename, (void)team;
}

#ifdef __cplusplus
}
#endif

#endif /* GASNET_COLL_H */
