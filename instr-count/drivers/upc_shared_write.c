/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * upc_shared_write.c: what a UPC compiler makes of "shared[i] = v; upc_fence;"
 * on GASNet, the paper's Pseudocode 1: a bulk put of the element, then a fence.
 */
#include "gasnet_driver.h"

static DRIVER_NOINLINE void op(gasnet_node_t peer, void *remote)
{
	static long value = 7;
	PGAS_MARK_BEGIN(op);
	gasnet_put_bulk(peer, remote, &value, sizeof(value));
	gasnet_wait_syncnbi_all();
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	PGAS_MARK_END(op);
}

GASNET_DRIVER_MAIN(op)
