/* SPDX-License-Identifier: BSD-3-Clause */
/* gex_nbi_wait.c: wait for all operations without an event when none is pending, by GASNet-EX. */
#include "gasnet_driver.h"

static DRIVER_NOINLINE void op(gex_TM_t tm, gasnet_node_t peer, void *remote)
{
	PGAS_MARK_BEGIN(op);
	gex_NBI_Wait(GEX_EC_ALL, 0);
	PGAS_MARK_END(op);
	(void)tm, (void)peer, (void)remote;
}

GASNET_DRIVER_MAIN_GEX(op)
