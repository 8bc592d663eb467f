/* SPDX-License-Identifier: BSD-3-Clause */
/* gasnet_put.c: blocking put of 8 bytes. */
#include "gasnet_driver.h"

static DRIVER_NOINLINE void op(gasnet_node_t peer, void *remote)
{
	static long local = 7;
	PGAS_MARK_BEGIN(op);
	gasnet_put(peer, remote, &local, 8);
	PGAS_MARK_END(op);
}

GASNET_DRIVER_MAIN(op)
