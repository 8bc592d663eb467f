/* SPDX-License-Identifier: BSD-3-Clause */
/* fi_fetch_atomic.c: one fi_fetch_atomic, int64 sum. */
#include "fi_driver.h"

static DRIVER_NOINLINE ssize_t op(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result,
				  void *result_desc, fi_addr_t dest, uint64_t addr, uint64_t key, enum fi_datatype type,
				  enum fi_op what, void *context)
{
	FI_DRIVER_RETURN(fi_fetch_atomic(ep, buf, FI_DRIVER_CONSTANT(count, 1), desc, result, result_desc, dest, addr,
					 FI_DRIVER_CONSTANT(key, 0), FI_DRIVER_CONSTANT(type, FI_INT64),
					 FI_DRIVER_CONSTANT(what, FI_SUM), context),
			 0);
}

static ssize_t call(struct fi_side *s)
{
	return op(s->ep, s->local, 1, s->desc, s->local + 1, s->desc, s->peer, 64, 0, FI_INT64, FI_SUM, NULL);
}

FI_DRIVER_MAIN(call, 0, 1)
