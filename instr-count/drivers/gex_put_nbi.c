/* SPDX-License-Identifier: BSD-3-Clause */
/* gex_put_nbi.c: put of 8 bytes without an event, by GASNet-EX. */
#include "gasnet_driver.h"

static DRIVER_NOINLINE void op(gex_TM_t tm, gasnet_node_t peer, void *remote)
{
	static long local = 7;
	PGAS_MARK_BEGIN(op);
	gex_RMA_PutNBI(tm, peer, remote, &local, 8, GEX_EVENT_NOW, 0);
	PGAS_MARK_END(op);
}

GASNET_DRIVER_MAIN_GEX(op)
