/* SPDX-License-Identifier: BSD-3-Clause */
/* fi_inject_write.c: one 8-byte fi_inject_write, constant length and key 0. */
#include "fi_driver.h"

static DRIVER_NOINLINE ssize_t op(struct fid_ep *ep, const void *from, fi_addr_t peer, uint64_t to)
{
	PGAS_MARK_BEGIN(op);
	ssize_t ret = fi_inject_write(ep, from, 8, peer, to, 0);
	PGAS_MARK_USE(ret);
	PGAS_MARK_END(op);
	return ret;
}

static ssize_t call(struct fi_side *s)
{
	return op(s->ep, s->local, s->peer, 64);
}

FI_DRIVER_MAIN(call, 0, 1)
