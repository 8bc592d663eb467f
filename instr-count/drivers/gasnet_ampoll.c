/* SPDX-License-Identifier: BSD-3-Clause */
/* gasnet_ampoll.c: poll when nothing has arrived. */
#include "gasnet_driver.h"

static DRIVER_NOINLINE void op(gasnet_node_t peer, void *remote)
{
	PGAS_MARK_BEGIN(op);
	gasnet_AMPoll();
	PGAS_MARK_END(op);
	(void)peer, (void)remote;
}

GASNET_DRIVER_MAIN(op)
