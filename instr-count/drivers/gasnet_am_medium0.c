/* SPDX-License-Identifier: BSD-3-Clause */
/* gasnet_am_medium0.c: active message request with 8 bytes. */
#include "gasnet_driver.h"

static DRIVER_NOINLINE void op(gasnet_node_t peer, void *remote)
{
	static long local = 7;
	PGAS_MARK_BEGIN(op);
	gasnet_AMRequestMedium0(peer, GASNET_DRIVER_HANDLER + 2, &local, 8);
	PGAS_MARK_END(op);
	(void)remote;
}

GASNET_DRIVER_MAIN(op)
