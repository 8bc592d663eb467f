/* SPDX-License-Identifier: BSD-3-Clause */
/* gasnet_am_short0.c: active message request without arguments. */
#include "gasnet_driver.h"

static DRIVER_NOINLINE void op(gasnet_node_t peer, void *remote)
{
	PGAS_MARK_BEGIN(op);
	gasnet_AMRequestShort0(peer, GASNET_DRIVER_HANDLER);
	PGAS_MARK_END(op);
	(void)remote;
}

GASNET_DRIVER_MAIN(op)
