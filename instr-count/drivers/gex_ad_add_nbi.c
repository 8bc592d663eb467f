/* SPDX-License-Identifier: BSD-3-Clause */
/* gex_ad_add_nbi.c: add to a 64-bit integer without an event, by GASNet-EX. */
#include "gasnet_driver.h"

#include <gasnet_ratomic.h>

static gex_AD_t domain;

static DRIVER_NOINLINE void op(gex_AD_t ad, gasnet_node_t peer, void *remote)
{
	PGAS_MARK_BEGIN(op);
	gex_AD_OpNBI_U64(ad, NULL, peer, remote, GEX_OP_ADD, 1, 0, 0);
	PGAS_MARK_END(op);
}

static void prepare(void)
{
	gex_TM_t tm;
	gasnet_QueryGexObjects(NULL, NULL, &tm, NULL);
	gex_AD_Create(&domain, tm, GEX_DT_U64, GEX_OP_ADD, 0);
}

static void call(gasnet_node_t peer, void *remote)
{
	op(domain, peer, remote);
}

GASNET_DRIVER_MAIN_PREPARED(prepare, call)
