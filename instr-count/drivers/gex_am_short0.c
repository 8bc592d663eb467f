/* SPDX-License-Identifier: BSD-3-Clause */
/* gex_am_short0.c: active message request without arguments, by GASNet-EX. */
#include "gasnet_driver.h"

static DRIVER_NOINLINE void op(gex_TM_t tm, gasnet_node_t peer, void *remote)
{
	PGAS_MARK_BEGIN(op);
	gex_AM_RequestShort0(tm, peer, GASNET_DRIVER_HANDLER, 0);
	PGAS_MARK_END(op);
	(void)remote;
}

GASNET_DRIVER_MAIN_GEX(op)
