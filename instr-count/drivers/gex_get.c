/* SPDX-License-Identifier: BSD-3-Clause */
/* gex_get.c: blocking get of 8 bytes, by GASNet-EX. */
#include "gasnet_driver.h"

static DRIVER_NOINLINE void op(gex_TM_t tm, gasnet_node_t peer, void *remote)
{
	static long local = 7;
	PGAS_MARK_BEGIN(op);
	gex_RMA_GetBlocking(tm, &local, peer, remote, 8, 0);
	PGAS_MARK_END(op);
}

GASNET_DRIVER_MAIN_GEX(op)
