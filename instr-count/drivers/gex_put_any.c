/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gex_put_any.c: put of 8 bytes by GASNet-EX, when the compiler does not know the size: in a function that passes on
 * its arguments, as in a library between a program and GASNet-EX.
 */
#include "gasnet_driver.h"

static DRIVER_NOINLINE gex_Event_t op(gex_TM_t tm, gex_Rank_t rank, void *dest, void *src, size_t bytes)
{
	return gex_RMA_PutNB(tm, rank, dest, src, bytes, GEX_EVENT_DEFER, 0);
}

static void call(gex_TM_t tm, gasnet_node_t peer, void *remote)
{
	static volatile size_t bytes = 8;
	static long local = 7;
	gex_Event_Wait(op(tm, peer, remote, &local, bytes));
}

GASNET_DRIVER_MAIN_GEX(call)
