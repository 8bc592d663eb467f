/* SPDX-License-Identifier: BSD-3-Clause */
/* gasnet_wait_all.c: wait for all implicit operations, none pending. */
#include "gasnet_driver.h"

static DRIVER_NOINLINE void op(gasnet_node_t peer, void *remote)
{
	PGAS_MARK_BEGIN(op);
	gasnet_wait_syncnbi_all();
	PGAS_MARK_END(op);
	(void)peer, (void)remote;
}

GASNET_DRIVER_MAIN(op)
