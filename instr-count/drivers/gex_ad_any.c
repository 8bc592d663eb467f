/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gex_ad_any.c: fetching add of a 64-bit integer by GASNet-EX, when the compiler does not know which operation it is:
 * in a function that passes on its arguments, as in a library between a program and GASNet-EX.
 */
#include "gasnet_driver.h"

#include <gasnet_ratomic.h>

static gex_AD_t domain;

static DRIVER_NOINLINE gex_Event_t op(gex_AD_t ad, uint64_t *result, gex_Rank_t rank, void *addr, gex_OP_t opcode,
				      uint64_t a, uint64_t b, gex_Flags_t flags)
{
	return gex_AD_OpNB_U64(ad, result, rank, addr, opcode, a, b, flags);
}

static void prepare(void)
{
	gex_TM_t tm;
	gasnet_QueryGexObjects(NULL, NULL, &tm, NULL);
	gex_AD_Create(&domain, tm, GEX_DT_U64, GEX_OP_FADD, 0);
}

static void call(gasnet_node_t peer, void *remote)
{
	static volatile gex_OP_t opcode = GEX_OP_FADD;
	static volatile gex_Flags_t flags = GEX_FLAG_RANK_IS_JOBRANK;
	static volatile uint64_t one = 1;
	uint64_t before;
	gex_Event_Wait(op(domain, &before, peer, remote, opcode, one, 0, flags));
}

GASNET_DRIVER_MAIN_PREPARED(prepare, call)
