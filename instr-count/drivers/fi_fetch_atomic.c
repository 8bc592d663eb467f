/* SPDX-License-Identifier: BSD-3-Clause */
/* fi_fetch_atomic.c: one fi_fetch_atomic, int64 sum. */
#include "fi_driver.h"

static DRIVER_NOINLINE ssize_t op(struct fid_ep *ep, long *operand, void *desc, fi_addr_t peer, uint64_t to)
{
	PGAS_MARK_BEGIN(op);
	ssize_t ret = fi_fetch_atomic(ep, operand, 1, desc, operand + 1, desc, peer, to, 0, FI_INT64, FI_SUM, NULL);
	PGAS_MARK_USE(ret);
	PGAS_MARK_END(op);
	return ret;
}

static ssize_t call(struct fi_side *s)
{
	return op(s->ep, s->local, s->desc, s->peer, 64);
}

FI_DRIVER_MAIN(call, 0, 1)
