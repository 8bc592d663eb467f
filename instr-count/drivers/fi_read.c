/* SPDX-License-Identifier: BSD-3-Clause */
/* fi_read.c: one 8-byte fi_read without a completion entry. */
#include "fi_driver.h"

static DRIVER_NOINLINE ssize_t op(struct fid_ep *ep, void *into, void *desc, fi_addr_t peer, uint64_t from)
{
	PGAS_MARK_BEGIN(op);
	ssize_t ret = fi_read(ep, into, 8, desc, peer, from, 0, NULL);
	PGAS_MARK_USE(ret);
	PGAS_MARK_END(op);
	return ret;
}

static ssize_t call(struct fi_side *s)
{
	return op(s->ep, s->local, s->desc, s->peer, 64);
}

FI_DRIVER_MAIN(call, 0, 1)
