/* SPDX-License-Identifier: BSD-3-Clause */
/* gex_event_test.c: test of a completed event, by GASNet-EX. */
#include "gasnet_driver.h"

static DRIVER_NOINLINE void op(gex_Event_t event)
{
	PGAS_MARK_BEGIN(op);
	const int answer = gex_Event_Test(event);
	PGAS_MARK_USE(answer);
	PGAS_MARK_END(op);
	if (answer != GASNET_OK) {
		fprintf(stderr, "gex_event_test: the put is not over\n");
		gasnet_exit(1);
	}
}

static void call(gex_TM_t tm, gasnet_node_t peer, void *remote)
{
	static long local = 7;
	op(gex_RMA_PutNB(tm, peer, remote, &local, 8, GEX_EVENT_NOW, 0));
}

GASNET_DRIVER_MAIN_GEX(call)
