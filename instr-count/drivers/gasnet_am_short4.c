/* SPDX-License-Identifier: BSD-3-Clause */
/* gasnet_am_short4.c: active message request with four arguments. */
#include "gasnet_driver.h"

static DRIVER_NOINLINE void op(gasnet_node_t peer, void *remote)
{
	PGAS_MARK_BEGIN(op);
	gasnet_AMRequestShort4(peer, GASNET_DRIVER_HANDLER + 1, 1, 2, 3, 4);
	PGAS_MARK_END(op);
	(void)remote;
}

GASNET_DRIVER_MAIN(op)
