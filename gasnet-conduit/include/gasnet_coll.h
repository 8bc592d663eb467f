/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives: GASNet-EX's broadcast and reductions over teams (barriers are in gasnetex.h), and those of GASNet-1's
 * draft, which never became part of the specification. A client includes this file itself.
 *
 * None of them waits, except those whose name lacks the _nb of the others. Every poll, wait and test of their
 * members advances them. dst and src may be any memory. Several may be in progress; all members start those of one
 * team in the same order.
 */
#ifndef GASNET_COLL_H
#define GASNET_COLL_H

#include <gasnetex.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- GASNet-EX ---------------------------------------------------------------------------------------------------- */

/* arg2_and_out[i] = arg1[i] op arg2_and_out[i]; may make only those library calls that are allowed under a
 * handler-safe lock. */
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
#define GASNET_TEAM_ALL ((gasnet_team_handle_t)0)

/*
 * An image is a node, or one of the threads of a node that gasnet_coll_init makes images (PAR): they are numbered
 * consecutively, node by node. Every image of every node calls a collective of GASNET_TEAM_ALL, and has a handle of
 * its own. In teams that the client creates, nodes are the images, and one thread of each calls.
 */
typedef uint32_t gasnet_image_t;

/*
 * NOSYNC acts as MYSYNC: an image's memory is accessed only while it is in the collective. Where addresses lie, and
 * whether they are the same everywhere, makes no difference; SINGLE means that lists of addresses have an entry for
 * every image of the team, LOCAL that they have one for every image of the caller's node.
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
#define GASNET_COLL_NO_IMAGES (1 << 10) /* nodes are the images in this call */

/*
 * results[i] = left[i] op right[i]; results may be left, and left_count is result_count. May make only those library
 * calls that are allowed under a handler-safe lock.
 */
typedef void (*gasnet_coll_reduce_fn_t)(void *results, size_t result_count, const void *left, size_t left_count,
					const void *right, size_t elem_size, int flags, int arg);
typedef struct {
	gasnet_coll_reduce_fn_t fnptr;
	unsigned flags;
} gasnet_coll_fn_entry_t;
#define GASNET_COLL_AMSAFE (1 << 0)  /* all functions are assumed to be */
#define GASNET_COLL_NONCOMM (1 << 1) /* operands are taken in the order of images; the function gets it in its flags */
typedef gasnet_handlerarg_t gasnet_coll_fn_handle_t; /* index in the table of gasnet_coll_init */

/*
 * Called by every image, once, before its first collective. images: how many each node has, the same everywhere;
 * null: one each. functions are copied.
 */
PGAS_EXPORT void gasnet_coll_init(const gasnet_image_t images[], gasnet_image_t my_image,
				  gasnet_coll_fn_entry_t functions[], size_t count, int init_flags) PGAS_NOEXCEPT;

/*
 * Creates a team for each color, with nodes in the order of relrank; called by one thread of each node of the
 * parent. scratch may be null: it is not used. gex_TM_Destroy ends the team.
 */
PGAS_EXPORT gasnet_team_handle_t gasnet_coll_team_split(gasnet_team_handle_t parent, gasnet_node_t color,
							gasnet_node_t relrank, void *scratch) PGAS_NOEXCEPT;
PGAS_EXPORT gasnet_node_t gasnet_coll_team_size(gasnet_team_handle_t team) PGAS_NOEXCEPT;
/* convert between a node of the job and its rank in the team; (gasnet_node_t)-1: not a member */
PGAS_EXPORT gasnet_node_t gasnet_coll_team_rank2node(gasnet_team_handle_t team, int rank) PGAS_NOEXCEPT;
PGAS_EXPORT gasnet_node_t gasnet_coll_team_node2rank(gasnet_team_handle_t team, gasnet_node_t node) PGAS_NOEXCEPT;

/* copies nbytes at src of image root to dst of every image, root included */
PGAS_EXPORT gasnet_coll_handle_t gasnet_coll_broadcast_nb(gasnet_team_handle_t team, void *dst, gasnet_image_t root,
							  void *src, size_t nbytes, int flags) PGAS_NOEXCEPT;
PGAS_EXPORT gasnet_coll_handle_t gasnet_coll_broadcastM_nb(gasnet_team_handle_t team, void *const dstlist[],
							   gasnet_image_t root, void *src, size_t nbytes,
							   int flags) PGAS_NOEXCEPT;
/* copies block i of nbytes at src of image root to dst of image i */
PGAS_EXPORT gasnet_coll_handle_t gasnet_coll_scatter_nb(gasnet_team_handle_t team, void *dst, gasnet_image_t root,
							void *src, size_t nbytes, int flags) PGAS_NOEXCEPT;
PGAS_EXPORT gasnet_coll_handle_t gasnet_coll_scatterM_nb(gasnet_team_handle_t team, void *const dstlist[],
							 gasnet_image_t root, void *src, size_t nbytes,
							 int flags) PGAS_NOEXCEPT;
/* copies nbytes at src of image i to block i at dst of image root */
PGAS_EXPORT gasnet_coll_handle_t gasnet_coll_gather_nb(gasnet_team_handle_t team, gasnet_image_t root, void *dst,
						       void *src, size_t nbytes, int flags) PGAS_NOEXCEPT;
PGAS_EXPORT gasnet_coll_handle_t gasnet_coll_gatherM_nb(gasnet_team_handle_t team, gasnet_image_t root, void *dst,
							void *const srclist[], size_t nbytes, int flags) PGAS_NOEXCEPT;
/* the same, to dst of every image */
PGAS_EXPORT gasnet_coll_handle_t gasnet_coll_gather_all_nb(gasnet_team_handle_t team, void *dst, void *src,
							   size_t nbytes, int flags) PGAS_NOEXCEPT;
PGAS_EXPORT gasnet_coll_handle_t gasnet_coll_gather_allM_nb(gasnet_team_handle_t team, void *const dstlist[],
							    void *const srclist[], size_t nbytes,
							    int flags) PGAS_NOEXCEPT;
/* copies block j at src of image i to block i at dst of image j */
PGAS_EXPORT gasnet_coll_handle_t gasnet_coll_exchange_nb(gasnet_team_handle_t team, void *dst, void *src, size_t nbytes,
							 int flags) PGAS_NOEXCEPT;
PGAS_EXPORT gasnet_coll_handle_t gasnet_coll_exchangeM_nb(gasnet_team_handle_t team, void *const dstlist[],
							  void *const srclist[], size_t nbytes,
							  int flags) PGAS_NOEXCEPT;
/* reduces elem_count elements of elem_size bytes, one by one, of all images to dst of image root. src_blksz,
 * src_offset: 0 */
PGAS_EXPORT gasnet_coll_handle_t gasnet_coll_reduce_nb(gasnet_team_handle_t team, gasnet_image_t root, void *dst,
						       void *src, size_t src_blksz, size_t src_offset, size_t elem_size,
						       size_t elem_count, gasnet_coll_fn_handle_t func, int func_arg,
						       int flags) PGAS_NOEXCEPT;
PGAS_EXPORT gasnet_coll_handle_t gasnet_coll_reduceM_nb(gasnet_team_handle_t team, gasnet_image_t root, void *dst,
							void *const srclist[], size_t src_blksz, size_t src_offset,
							size_t elem_size, size_t elem_count,
							gasnet_coll_fn_handle_t func, int func_arg,
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

static inline void gasnet_coll_broadcastM(gasnet_team_handle_t team, void *const dstlist[], gasnet_image_t root,
					  void *src, size_t nbytes, int flags)
{
	gex_Event_Wait(gasnet_coll_broadcastM_nb(team, dstlist, root, src, nbytes, flags));
}
static inline void gasnet_coll_scatterM(gasnet_team_handle_t team, void *const dstlist[], gasnet_image_t root,
					void *src, size_t nbytes, int flags)
{
	gex_Event_Wait(gasnet_coll_scatterM_nb(team, dstlist, root, src, nbytes, flags));
}
static inline void gasnet_coll_gatherM(gasnet_team_handle_t team, gasnet_image_t root, void *dst, void *const srclist[],
				       size_t nbytes, int flags)
{
	gex_Event_Wait(gasnet_coll_gatherM_nb(team, root, dst, srclist, nbytes, flags));
}
static inline void gasnet_coll_gather_allM(gasnet_team_handle_t team, void *const dstlist[], void *const srclist[],
					   size_t nbytes, int flags)
{
	gex_Event_Wait(gasnet_coll_gather_allM_nb(team, dstlist, srclist, nbytes, flags));
}
static inline void gasnet_coll_exchangeM(gasnet_team_handle_t team, void *const dstlist[], void *const srclist[],
					 size_t nbytes, int flags)
{
	gex_Event_Wait(gasnet_coll_exchangeM_nb(team, dstlist, srclist, nbytes, flags));
}
static inline void gasnet_coll_reduce(gasnet_team_handle_t team, gasnet_image_t root, void *dst, void *src,
				      size_t src_blksz, size_t src_offset, size_t elem_size, size_t elem_count,
				      gasnet_coll_fn_handle_t func, int func_arg, int flags)
{
	gex_Event_Wait(gasnet_coll_reduce_nb(team, root, dst, src, src_blksz, src_offset, elem_size, elem_count, func,
					     func_arg, flags));
}
static inline void gasnet_coll_reduceM(gasnet_team_handle_t team, gasnet_image_t root, void *dst, void *const srclist[],
				       size_t src_blksz, size_t src_offset, size_t elem_size, size_t elem_count,
				       gasnet_coll_fn_handle_t func, int func_arg, int flags)
{
	gex_Event_Wait(gasnet_coll_reduceM_nb(team, root, dst, srclist, src_blksz, src_offset, elem_size, elem_count,
					      func, func_arg, flags));
}

/*
 * Split-phase barriers, one at a time per team, as gasnet_barrier_notify and _wait; that of GASNET_TEAM_ALL is the
 * same barrier. Called by one thread of each node, or with GASNET_BARRIERFLAG_IMAGES by every image.
 */
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
