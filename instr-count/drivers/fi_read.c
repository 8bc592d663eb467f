/* SPDX-License-Identifier: BSD-3-Clause */
/* fi_read.c: one 8-byte fi_read without a completion entry. */
#include "fi_driver.h"

static DRIVER_NOINLINE ssize_t op(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t src, uint64_t addr,
				  uint64_t key, void *context)
{
	FI_DRIVER_RETURN(
		fi_read(ep, buf, FI_DRIVER_CONSTANT(len, 8), desc, src, addr, FI_DRIVER_CONSTANT(key, 0), context), 0);
}

static ssize_t call(struct fi_side *s)
{
	return op(s->ep, s->local, 8, s->desc, s->peer, 64, 0, NULL);
}

FI_DRIVER_MAIN(call, 0, 1)
