/* SPDX-License-Identifier: BSD-3-Clause */
/* fi_inject.c: one 8-byte message. */
#include "fi_driver.h"

static DRIVER_NOINLINE ssize_t op(struct fid_ep *ep, const void *from, fi_addr_t peer)
{
	PGAS_MARK_BEGIN(op);
	ssize_t ret = fi_inject(ep, from, 8, peer);
	PGAS_MARK_USE(ret);
	PGAS_MARK_END(op);
	return ret;
}

static ssize_t call(struct fi_side *s)
{
	return op(s->ep, s->local, s->peer);
}

FI_DRIVER_MAIN(call, 0, 1)
