/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gex_poll_open.c: poll when nothing has arrived, while a barrier of GASNet-EX is pending, as a thread that waits for
 * one does repeatedly. The other node does not enter it before the end of the job.
 */
#include "gasnet_driver.h"

static DRIVER_NOINLINE void op(void)
{
	PGAS_MARK_BEGIN(op);
	gasnet_AMPoll();
	PGAS_MARK_END(op);
}

static void call(gex_TM_t tm, gasnet_node_t peer, void *remote)
{
	static gex_Event_t barrier = GEX_EVENT_INVALID;
	(void)peer, (void)remote;
	if (barrier == GEX_EVENT_INVALID)
		barrier = gex_Coll_BarrierNB(tm, 0);
	op();
	if (gex_Event_Test(barrier) == GASNET_OK) {
		fprintf(stderr, "gex_poll_open: the barrier is over\n");
		gasnet_exit(1);
	}
}

GASNET_DRIVER_MAIN_GEX(call)
