/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GASNet-EX: simple types and constants that a client may use in its own headers. Part of gasnetex.h; it needs no
 * mode and defines only GEX_ and gex_ names.
 */
#ifndef GASNET_FWD_H
#define GASNET_FWD_H

#include <stddef.h>
#include <stdint.h>

typedef uint32_t gex_Rank_t;
#define GEX_RANK_INVALID ((gex_Rank_t)UINT32_MAX)
typedef uint16_t gex_EP_Index_t;
typedef void *gex_Addr_t; /* or an offset, if a flag says so */

/* Events: a word that is zero if there is nothing to wait for. The same as gasnet_handle_t. */
typedef struct gasneti_op *gex_Event_t;
#define GEX_EVENT_INVALID ((gex_Event_t)(uintptr_t)0)
#define GEX_EVENT_NO_OP ((gex_Event_t)(uintptr_t)1)
#define GEX_EVENT_NOW ((gex_Event_t *)(uintptr_t)1)
#define GEX_EVENT_DEFER ((gex_Event_t *)(uintptr_t)2)
#define GEX_EVENT_GROUP ((gex_Event_t *)(uintptr_t)3)

/* --- data types and operations of atomics and reductions; each is one bit ----------------------------------------- */

typedef uint32_t gex_DT_t;
#define GEX_DT_I32 0x01U
#define GEX_DT_U32 0x02U
#define GEX_DT_I64 0x04U
#define GEX_DT_U64 0x08U
#define GEX_DT_FLT 0x10U
#define GEX_DT_DBL 0x20U
#define GEX_DT_USER 0x40U

/* A fetching operation is the plain one, 16 bits higher. Realm hard-codes GEX_OP_ADD as 8. */
typedef uint32_t gex_OP_t;
#define GEX_OP_AND 0x00000001U
#define GEX_OP_OR 0x00000002U
#define GEX_OP_XOR 0x00000004U
#define GEX_OP_ADD 0x00000008U
#define GEX_OP_SUB 0x00000010U
#define GEX_OP_INC 0x00000020U
#define GEX_OP_DEC 0x00000040U
#define GEX_OP_MULT 0x00000080U
#define GEX_OP_MIN 0x00000100U
#define GEX_OP_MAX 0x00000200U
#define GEX_OP_SET 0x00000400U
#define GEX_OP_CAS 0x00000800U
#define GEX_OP_USER 0x00001000U
#define GEX_OP_USER_NC 0x00002000U
#define GEX_OP_TO_FETCHING(op_arg) ((op_arg) << 16)
#define GEX_OP_TO_NONFETCHING(op_arg) ((op_arg) >> 16)
#define GEX_OP_FADD GEX_OP_TO_FETCHING(GEX_OP_ADD)
#define GEX_OP_FSUB GEX_OP_TO_FETCHING(GEX_OP_SUB)
#define GEX_OP_FINC GEX_OP_TO_FETCHING(GEX_OP_INC)
#define GEX_OP_FDEC GEX_OP_TO_FETCHING(GEX_OP_DEC)
#define GEX_OP_FMULT GEX_OP_TO_FETCHING(GEX_OP_MULT)
#define GEX_OP_FMIN GEX_OP_TO_FETCHING(GEX_OP_MIN)
#define GEX_OP_FMAX GEX_OP_TO_FETCHING(GEX_OP_MAX)
#define GEX_OP_FAND GEX_OP_TO_FETCHING(GEX_OP_AND)
#define GEX_OP_FOR GEX_OP_TO_FETCHING(GEX_OP_OR)
#define GEX_OP_FXOR GEX_OP_TO_FETCHING(GEX_OP_XOR)
#define GEX_OP_SWAP GEX_OP_TO_FETCHING(GEX_OP_SET)
#define GEX_OP_FCAS GEX_OP_TO_FETCHING(GEX_OP_CAS)
#define GEX_OP_GET 0x40000000U
#define GEX_OP_CSWAP GEX_OP_FCAS /* its old name */

/* --- flags: those that one call takes together are different bits ------------------------------------------------- */

typedef uint32_t gex_Flags_t;
#define GEX_FLAG_IMMEDIATE 0x00000001U
/* where local and remote addresses lie: accepted, but not used */
#define GEX_FLAG_SELF_SEG_UNKNOWN 0x00000002U
#define GEX_FLAG_SELF_SEG_SOME 0x00000004U
#define GEX_FLAG_SELF_SEG_BOUND 0x00000008U
#define GEX_FLAG_SELF_SEG_OFFSET 0x00000010U
#define GEX_FLAG_PEER_SEG_UNKNOWN 0x00000020U
#define GEX_FLAG_PEER_SEG_SOME 0x00000040U
#define GEX_FLAG_PEER_SEG_BOUND 0x00000080U
#define GEX_FLAG_PEER_SEG_OFFSET 0x00000100U
#define GEX_FLAG_PEER_NEVER_SELF 0x00000200U
#define GEX_FLAG_PEER_NEVER_NBRHD 0x00000400U
#define GEX_FLAG_ENABLE_LEAF_LC 0x00002000U
#define GEX_FLAG_RANK_IS_JOBRANK 0x00004000U
#define GEX_FLAG_GLOBALLY_QUIESCED 0x00008000U
#define GEX_FLAG_LC_COPY_YES 0x00010000U
#define GEX_FLAG_LC_COPY_NO 0x00020000U
/* Realm hard-codes these values. */
#define GEX_FLAG_AM_PREPARE_LEAST_CLIENT 0x00000800U
#define GEX_FLAG_AM_PREPARE_LEAST_ALLOC 0x00001000U
/* gex_AD_Op* */
#define GEX_FLAG_AD_MY_RANK 0x00010000U
#define GEX_FLAG_AD_MY_NBRHD 0x00020000U
#define GEX_FLAG_AD_REL 0x00040000U
#define GEX_FLAG_AD_ACQ 0x00080000U
/* gex_AD_Create */
#define GEX_FLAG_AD_FAVOR_MY_RANK 0x00100000U
#define GEX_FLAG_AD_FAVOR_MY_NBRHD 0x00200000U
#define GEX_FLAG_AD_FAVOR_REMOTE 0x00400000U
/* handlers: one of each group */
#define GEX_FLAG_AM_SHORT 0x00000001U
#define GEX_FLAG_AM_MEDIUM 0x00000002U
#define GEX_FLAG_AM_LONG 0x00000004U
#define GEX_FLAG_AM_MEDLONG (GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_LONG)
#define GEX_FLAG_AM_REQUEST 0x00000008U
#define GEX_FLAG_AM_REPLY 0x00000010U
#define GEX_FLAG_AM_REQREP (GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_REPLY)
/* gex_Client_Init */
#define GEX_FLAG_USES_GASNET1 0x00000001U
#define GEX_FLAG_DEFER_THREADS 0x00000002U
/* gex_TM_Split, gex_TM_Create */
#define GEX_FLAG_TM_SCRATCH_SIZE_MIN 0x00000001U
#define GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED 0x00000002U
#define GEX_FLAG_TM_GLOBAL_SCRATCH 0x00000004U
#define GEX_FLAG_TM_LOCAL_SCRATCH 0x00000008U
#define GEX_FLAG_TM_SYMMETRIC_SCRATCH 0x00000010U
#define GEX_FLAG_TM_NO_SCRATCH 0x00000020U
#define GEX_FLAG_SCRATCH_SEG_OFFSET 0x00000040U
/* gex_EP_Create */
#define GEX_FLAG_HINT_ACCEL_AD 0x00000001U
#define GEX_FLAG_HINT_ACCEL_COLL 0x00000002U
#define GEX_FLAG_HINT_ACCEL_ALL (GEX_FLAG_HINT_ACCEL_AD | GEX_FLAG_HINT_ACCEL_COLL)

typedef uint32_t gex_EP_Capabilities_t;
#define GEX_EP_CAPABILITY_RMA 0x01U
#define GEX_EP_CAPABILITY_AM 0x02U
#define GEX_EP_CAPABILITY_VIS 0x04U
#define GEX_EP_CAPABILITY_COLL 0x08U
#define GEX_EP_CAPABILITY_AD 0x10U
#define GEX_EP_CAPABILITY_ALL 0x1fU

#endif /* GASNET_FWD_H */
