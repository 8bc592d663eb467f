/* SPDX-License-Identifier: BSD-3-Clause */
/* gex_am_medium0.c: active message request with 64 gex_am_bytes, by GASNet-EX. */
#include "gasnet_driver.h"

size_t gex_am_bytes = 64; /* known only at run time, as in most calls */

static DRIVER_NOINLINE void op(gex_TM_t tm, gasnet_node_t peer, void *remote)
{
	static char local[64];
	PGAS_MARK_BEGIN(op);
	gex_AM_RequestMedium0(tm, peer, GASNET_DRIVER_HANDLER + 2, local, gex_am_bytes, GEX_EVENT_NOW, 0);
	PGAS_MARK_END(op);
	(void)remote;
}

GASNET_DRIVER_MAIN_GEX(op)
