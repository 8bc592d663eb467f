/* SPDX-License-Identifier: BSD-3-Clause */
/* gex_ad_fadd.c: fetching add of a 64-bit integer, and the wait for it, by GASNet-EX. */
#include "gasnet_driver.h"

#include <gasnet_ratomic.h>

static gex_AD_t domain;

static DRIVER_NOINLINE void op(gex_AD_t ad, gasnet_node_t peer, void *remote)
{
	static uint64_t before;
	PGAS_MARK_BEGIN(op);
	gex_Event_Wait(gex_AD_OpNB_U64(ad, &before, peer, remote, GEX_OP_FADD, 1, 0, 0));
	PGAS_MARK_END(op);
}

static void prepare(void)
{
	gex_TM_t tm;
	gasnet_QueryGexObjects(NULL, NULL, &tm, NULL);
	gex_AD_Create(&domain, tm, GEX_DT_U64, GEX_OP_FADD, 0);
}

static void call(gasnet_node_t peer, void *remote)
{
	op(domain, peer, remote);
}

GASNET_DRIVER_MAIN_PREPARED(prepare, call)
