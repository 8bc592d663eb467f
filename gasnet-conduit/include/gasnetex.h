/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GASNet-EX (specification 0.19) over the pgas provider: clients, endpoints, segments, teams, events, system queries.
 * Messages and transfers are in the files at the end; atomics, vector transfers and collectives in gasnet_ratomic.h,
 * gasnet_vis.h and gasnet_coll.h, which a client includes itself. C11 and C++.
 *
 * A client first defines exactly one of GASNET_SEQ, GASNET_PAR and GASNET_PARSYNC; see gasnet-pgas(7).
 *
 * Objects are pointers. All but a team are opaque; inline calls read a team's first words: by rank, what to add to
 * an address of that member to get the local address (0: call the library), and the member's rank in the job. So a
 * transfer through a team costs the same as one by the rank in the job.
 */
#ifndef GASNETEX_H
#define GASNETEX_H
#define _INCLUDED_GASNETEX_H

#include <gasnet_pgas_base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- types -------------------------------------------------------------------------------------------------------- */

typedef struct gasneti_client *gex_Client_t;
typedef struct gasneti_endpoint *gex_EP_t;
typedef struct gasneti_segment *gex_Segment_t;
typedef struct gasneti_team *gex_TM_t;
typedef struct gasneti_kind *gex_MK_t; /* memory kind: gasnet_mk.h */
#define GEX_CLIENT_INVALID ((gex_Client_t)0)
#define GEX_EP_INVALID ((gex_EP_t)0)
#define GEX_SEGMENT_INVALID ((gex_Segment_t)0)
#define GEX_TM_INVALID ((gex_TM_t)0)
#define GEX_MK_INVALID ((gex_MK_t)0)
#define GEX_MK_HOST ((gex_MK_t)(uintptr_t)1)

typedef gasnet_token_t gex_Token_t;
typedef gasnet_handler_t gex_AM_Index_t;
typedef gasnet_handlerarg_t gex_AM_Arg_t;
typedef gasneti_handler_fn gex_AM_Fn_t;
typedef gasnet_register_value_t gex_RMA_Value_t;
#define SIZEOF_GEX_RMA_VALUE_T SIZEOF_GASNET_REGISTER_VALUE_T

typedef struct {
	void *gex_addr;
	size_t gex_len;
} gex_Memvec_t;

typedef struct {
	gex_Rank_t gex_rank;
	gex_EP_Index_t gex_ep_index;
} gex_EP_Location_t;

#define GEX_AM_INDEX_BASE 128 /* the lowest index of a client's handler */
typedef struct {
	gex_AM_Index_t gex_index; /* 0: any */
	gex_AM_Fn_t gex_fnptr;
	gex_Flags_t gex_flags; /* GEX_FLAG_AM_*: how it may be called */
	unsigned int gex_nargs;
	const void *gex_cdata;
	const char *gex_name;
} gex_AM_Entry_t;

typedef struct {
	gex_Rank_t gex_srcrank; /* in the job */
	gex_EP_t gex_ep;
	const gex_AM_Entry_t *gex_entry;
	uint8_t gex_is_req, gex_is_long;
} gex_Token_Info_t;
typedef uint32_t gex_TI_t;
#define GEX_TI_SRCRANK ((gex_TI_t)1)
#define GEX_TI_EP ((gex_TI_t)2)
#define GEX_TI_ENTRY ((gex_TI_t)4)
#define GEX_TI_IS_REQ ((gex_TI_t)8)
#define GEX_TI_IS_LONG ((gex_TI_t)16)
#define GEX_TI_ALL ((gex_TI_t)31)
/* Part of gasnet_tools.h, but for these types: writes the names in a value as zero-terminated text into buf, unless
 * that is NULL. Returns the number of bytes needed. */
PGAS_EXPORT size_t gasnett_format_dt(char *buf, gex_DT_t dt) PGAS_NOEXCEPT;
PGAS_EXPORT size_t gasnett_format_op(char *buf, gex_OP_t op) PGAS_NOEXCEPT;
PGAS_EXPORT size_t gasnett_format_ti(char *buf, gex_TI_t ti) PGAS_NOEXCEPT;
#define GASNET_SUPPORTS_TI_SRCRANK 1
#define GASNET_SUPPORTS_TI_EP 1
#define GASNET_SUPPORTS_TI_ENTRY 1
#define GASNET_SUPPORTS_TI_IS_REQ 1
#define GASNET_SUPPORTS_TI_IS_LONG 1

typedef const struct {
	gex_Rank_t gex_jobrank;
} gex_RankInfo_t;

typedef struct {
	const char *gex_device_list;
	unsigned int gex_thread_roles;
	void *(*gex_progress_fn)(void *);
	void *gex_progress_arg;
} gex_ProgressThreadInfo_t;
#define GEX_THREAD_ROLE_RCV 1U
#define GEX_THREAD_ROLE_SND 2U

/* What inline calls read of a team; the library's own part lies in front of it. */
struct gasneti_team {
	const gasnet_node_t *jobranks; /* by rank */
	gex_Rank_t rank, size;
	__extension__ uint64_t windows[]; /* by rank; as gasneti_windows, which is by rank in the job */
};

/* --- clients ------------------------------------------------------------------------------------------------------ */

/* The mode is part of the name, so that a client and a library of different modes do not link. */
#define gasneti_client_init_mode GASNETI_PASTE(gasneti_client_init_, GASNETI_MODE)
PGAS_EXPORT int gasneti_client_init_mode(gex_Client_t *client, gex_EP_t *ep, gex_TM_t *tm, const char *name,
					 gex_Flags_t flags, const char *config) PGAS_NOEXCEPT;
static inline int gex_Client_Init(gex_Client_t *client_p, gex_EP_t *ep_p, gex_TM_t *tm_p, const char *clientName,
				  int *argc, char ***argv, gex_Flags_t flags)
{
	(void)argc, (void)argv;
	return gasneti_client_init_mode(client_p, ep_p, tm_p, clientName, flags, GASNET_CONFIG_STRING);
}
PGAS_EXPORT gex_Flags_t gex_Client_QueryFlags(gex_Client_t client) PGAS_NOEXCEPT;
PGAS_EXPORT const char *gex_Client_QueryName(gex_Client_t client) PGAS_NOEXCEPT;
PGAS_EXPORT void gex_Client_SetCData(gex_Client_t client, const void *val) PGAS_NOEXCEPT;
PGAS_EXPORT void *gex_Client_QueryCData(gex_Client_t client) PGAS_NOEXCEPT;

/* --- segments ----------------------------------------------------------------------------------------------------- */

PGAS_EXPORT int gex_Segment_Attach(gex_Segment_t *segment_p, gex_TM_t tm, uintptr_t size) PGAS_NOEXCEPT;
PGAS_EXPORT int gex_Segment_Create(gex_Segment_t *segment_p, gex_Client_t client, gex_Addr_t address, uintptr_t length,
				   gex_MK_t kind, gex_Flags_t flags) PGAS_NOEXCEPT;
PGAS_EXPORT void gex_Segment_Destroy(gex_Segment_t seg, gex_Flags_t flags) PGAS_NOEXCEPT;
PGAS_EXPORT gex_Client_t gex_Segment_QueryClient(gex_Segment_t seg) PGAS_NOEXCEPT;
PGAS_EXPORT gex_Flags_t gex_Segment_QueryFlags(gex_Segment_t seg) PGAS_NOEXCEPT;
PGAS_EXPORT void *gex_Segment_QueryAddr(gex_Segment_t seg) PGAS_NOEXCEPT;
PGAS_EXPORT uintptr_t gex_Segment_QuerySize(gex_Segment_t seg) PGAS_NOEXCEPT;
PGAS_EXPORT void gex_Segment_SetCData(gex_Segment_t seg, const void *val) PGAS_NOEXCEPT;
PGAS_EXPORT void *gex_Segment_QueryCData(gex_Segment_t seg) PGAS_NOEXCEPT;
PGAS_EXPORT int gex_Segment_QueryBound(gex_TM_t tm, gex_Rank_t rank, void **owneraddr_p, void **localaddr_p,
				       uintptr_t *size_p) PGAS_NOEXCEPT;

/* --- endpoints ---------------------------------------------------------------------------------------------------- */

PGAS_EXPORT int gex_EP_Create(gex_EP_t *ep_p, gex_Client_t client, gex_EP_Capabilities_t capabilities,
			      gex_Flags_t flags) PGAS_NOEXCEPT;
PGAS_EXPORT int gex_EP_RegisterHandlers(gex_EP_t ep, gex_AM_Entry_t *table, size_t numentries) PGAS_NOEXCEPT;
PGAS_EXPORT int gex_EP_BindSegment(gex_EP_t ep, gex_Segment_t segment, gex_Flags_t flags) PGAS_NOEXCEPT;
PGAS_EXPORT int gex_EP_PublishBoundSegment(gex_TM_t tm, gex_EP_t *eps, size_t num_eps, gex_Flags_t flags) PGAS_NOEXCEPT;
PGAS_EXPORT gex_Event_t gex_EP_QueryBoundSegmentNB(gex_TM_t tm, gex_Rank_t rank, void **owneraddr_p, void **localaddr_p,
						   uintptr_t *size_p, gex_Flags_t flags) PGAS_NOEXCEPT;
PGAS_EXPORT gex_Client_t gex_EP_QueryClient(gex_EP_t ep) PGAS_NOEXCEPT;
PGAS_EXPORT gex_Flags_t gex_EP_QueryFlags(gex_EP_t ep) PGAS_NOEXCEPT;
PGAS_EXPORT gex_Segment_t gex_EP_QuerySegment(gex_EP_t ep) PGAS_NOEXCEPT;
PGAS_EXPORT gex_EP_Index_t gex_EP_QueryIndex(gex_EP_t ep) PGAS_NOEXCEPT;
PGAS_EXPORT void gex_EP_SetCData(gex_EP_t ep, const void *val) PGAS_NOEXCEPT;
PGAS_EXPORT void *gex_EP_QueryCData(gex_EP_t ep) PGAS_NOEXCEPT;

/* --- teams -------------------------------------------------------------------------------------------------------- */

static inline gex_Rank_t gex_TM_QueryRank(gex_TM_t tm)
{
	return tm->rank;
}
static inline gex_Rank_t gex_TM_QuerySize(gex_TM_t tm)
{
	return tm->size;
}
static inline gex_Rank_t gex_TM_TranslateRankToJobrank(gex_TM_t tm, gex_Rank_t rank)
{
	return tm->jobranks[rank];
}
PGAS_EXPORT gex_Rank_t gex_TM_TranslateJobrankToRank(gex_TM_t tm, gex_Rank_t jobrank) PGAS_NOEXCEPT;
PGAS_EXPORT gex_EP_Location_t gex_TM_TranslateRankToEP(gex_TM_t tm, gex_Rank_t rank, gex_Flags_t flags) PGAS_NOEXCEPT;
PGAS_EXPORT gex_Client_t gex_TM_QueryClient(gex_TM_t tm) PGAS_NOEXCEPT;
PGAS_EXPORT gex_EP_t gex_TM_QueryEP(gex_TM_t tm) PGAS_NOEXCEPT;
PGAS_EXPORT gex_Flags_t gex_TM_QueryFlags(gex_TM_t tm) PGAS_NOEXCEPT;
PGAS_EXPORT void gex_TM_SetCData(gex_TM_t tm, const void *val) PGAS_NOEXCEPT;
PGAS_EXPORT void *gex_TM_QueryCData(gex_TM_t tm) PGAS_NOEXCEPT;
PGAS_EXPORT gex_TM_t gex_TM_Pair(gex_EP_t local_ep, gex_EP_Index_t remote_ep_index) PGAS_NOEXCEPT;
PGAS_EXPORT size_t gex_TM_Split(gex_TM_t *new_tm_p, gex_TM_t parent_tm, int color, int key, void *scratch_addr,
				size_t scratch_size, gex_Flags_t flags) PGAS_NOEXCEPT;
PGAS_EXPORT size_t gex_TM_Create(gex_TM_t *new_tms, size_t num_new_tms, gex_TM_t parent_tm, gex_EP_Location_t *args,
				 size_t numargs, gex_Addr_t *scratch_addrs, size_t scratch_size,
				 gex_Flags_t flags) PGAS_NOEXCEPT;
PGAS_EXPORT int gex_TM_Destroy(gex_TM_t tm, gex_Memvec_t *scratch_p, gex_Flags_t flags) PGAS_NOEXCEPT;

PGAS_EXPORT gex_Event_t gex_Coll_BarrierNB(gex_TM_t tm, gex_Flags_t flags) PGAS_NOEXCEPT;
PGAS_EXPORT void gex_Coll_BarrierBlocking(gex_TM_t tm, gex_Flags_t flags) PGAS_NOEXCEPT;

/* --- messages that arrived ---------------------------------------------------------------------------------------- */

PGAS_EXPORT gex_TI_t gex_Token_Info(gex_Token_t token, gex_Token_Info_t *info, gex_TI_t mask) PGAS_NOEXCEPT;

/* --- the job and its hosts ---------------------------------------------------------------------------------------- */

static inline gex_Rank_t gex_System_QueryJobRank(void)
{
	return gasneti_front.mynode;
}
static inline gex_Rank_t gex_System_QueryJobSize(void)
{
	return gasneti_front.nodes;
}
PGAS_EXPORT int gex_System_GetVerboseErrors(void) PGAS_NOEXCEPT;
PGAS_EXPORT void gex_System_SetVerboseErrors(int enable) PGAS_NOEXCEPT;
static inline uint64_t gex_System_QueryMaxThreads(void)
{
	return GASNETI_THREADS ? 65535 : 1; /* threads have no state here: there is no limit */
}
static inline int gex_System_QueryHiddenAMConcurrencyLevel(void)
{
	return GASNET_HIDDEN_AM_CONCURRENCY_LEVEL;
}
PGAS_EXPORT int gex_System_QueryProgressThreads(gex_Client_t client, unsigned int *count_p,
						const gex_ProgressThreadInfo_t **info_p,
						gex_Flags_t flags) PGAS_NOEXCEPT;
PGAS_EXPORT void gex_System_QueryNbrhdInfo(gex_RankInfo_t **info_p, gex_Rank_t *info_count_p,
					   gex_Rank_t *my_info_index_p) PGAS_NOEXCEPT;
PGAS_EXPORT void gex_System_QueryHostInfo(gex_RankInfo_t **info_p, gex_Rank_t *info_count_p,
					  gex_Rank_t *my_info_index_p) PGAS_NOEXCEPT;
PGAS_EXPORT void gex_System_QueryMyPosition(gex_Rank_t *nbrhd_set_size_p, gex_Rank_t *nbrhd_set_rank_p,
					    gex_Rank_t *host_set_size_p, gex_Rank_t *host_set_rank_p) PGAS_NOEXCEPT;

/* --- split barriers of all nodes, with or without a name: of GASNet-1, and part of GASNet-EX ---------------------- */

PGAS_EXPORT void gasnet_barrier_notify(int id, int flags) PGAS_NOEXCEPT;
PGAS_EXPORT int gasnet_barrier_wait(int id, int flags) PGAS_NOEXCEPT;
PGAS_EXPORT int gasnet_barrier_try(int id, int flags) PGAS_NOEXCEPT;
PGAS_EXPORT int gasnet_barrier(int id, int flags) PGAS_NOEXCEPT; /* notify and wait in one */
/* Returns non-zero if no node named the last completed barrier, else 0 and the name in *id. */
PGAS_EXPORT int gasnet_barrier_result(int *id) PGAS_NOEXCEPT;

/* --- handler-safe locks ------------------------------------------------------------------------------------------- */

typedef gasnet_hsl_t gex_HSL_t;
#define GEX_HSL_INITIALIZER GASNET_HSL_INITIALIZER
static inline void gex_HSL_Init(gex_HSL_t *hsl)
{
	gasnet_hsl_init(hsl);
}
static inline void gex_HSL_Destroy(gex_HSL_t *hsl)
{
	gasnet_hsl_destroy(hsl);
}
static inline void gex_HSL_Lock(gex_HSL_t *hsl)
{
	gasnet_hsl_lock(hsl);
}
static inline void gex_HSL_Unlock(gex_HSL_t *hsl)
{
	gasnet_hsl_unlock(hsl);
}
static inline int gex_HSL_Trylock(gex_HSL_t *hsl)
{
	return gasnet_hsl_trylock(hsl);
}

#ifdef __cplusplus
}
#endif

#include <gasnet_pgas_am.h>
#include <gasnet_pgas_copy.h>
#include <gasnet_pgas_gex_am.h>
#include <gasnet_pgas_gex_rma.h>
#include <gasnet_tools.h>

#endif /* GASNETEX_H */
