/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gex_am_prepare.c: active message request with as many bytes as the argument says (the default is 64), by GASNet-EX:
 * prepared and committed; the client writes one word of it.
 */
#include "gasnet_driver.h"

size_t gex_am_bytes = 64; /* known only at run time, as in most calls */

static DRIVER_NOINLINE void op(gex_TM_t tm, gasnet_node_t peer, void *remote)
{
	PGAS_MARK_BEGIN(op);
	const gex_AM_SrcDesc_t sd = gex_AM_PrepareRequestMedium(tm, peer, NULL, gex_am_bytes, gex_am_bytes, NULL, 0, 0);
	*(long *)gex_AM_SrcDescAddr(sd) = 7;
	gex_AM_CommitRequestMedium0(sd, GASNET_DRIVER_HANDLER + 2, gex_am_bytes);
	PGAS_MARK_END(op);
	(void)remote;
}

GASNET_DRIVER_CALL_GEX(op)

int main(int argc, char **argv)
{
	if (argc > 1 && atoi(argv[1]) > 0)
		gex_am_bytes = (size_t)atoi(argv[1]);
	return gasnet_driver_run(&argc, &argv, NULL, call_gex);
}
