/* SPDX-License-Identifier: BSD-3-Clause */
/* fi_inject.c: one 8-byte message. */
#include "fi_driver.h"

static DRIVER_NOINLINE ssize_t op(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest)
{
	FI_DRIVER_RETURN(fi_inject(ep, buf, FI_DRIVER_CONSTANT(len, 8), dest), 0);
}

static ssize_t call(struct fi_side *s)
{
	return op(s->ep, s->local, 8, s->peer);
}

FI_DRIVER_MAIN(call, 0, 1)
