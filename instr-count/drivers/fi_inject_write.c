/* SPDX-License-Identifier: BSD-3-Clause */
/* fi_inject_write.c: one 8-byte fi_inject_write, constant length and key 0. */
#include "fi_driver.h"

static DRIVER_NOINLINE ssize_t op(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest, uint64_t addr,
				  uint64_t key)
{
	FI_DRIVER_RETURN(fi_inject_write(ep, buf, FI_DRIVER_CONSTANT(len, 8), dest, addr, FI_DRIVER_CONSTANT(key, 0)),
			 0);
}

static ssize_t call(struct fi_side *s)
{
	return op(s->ep, s->local, 8, s->peer, 64, 0);
}

FI_DRIVER_MAIN(call, 0, 1)
