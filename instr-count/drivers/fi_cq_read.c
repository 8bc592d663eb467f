/* SPDX-License-Identifier: BSD-3-Clause */
/* fi_cq_read.c: one read of an empty completion queue. */
#include "fi_driver.h"

static DRIVER_NOINLINE ssize_t op(struct fid_cq *cq, void *entry, size_t count)
{
	FI_DRIVER_RETURN(fi_cq_read(cq, entry, FI_DRIVER_CONSTANT(count, 1)), -FI_EAGAIN);
}

static ssize_t call(struct fi_side *s)
{
	return op(s->cq, s->local, 1);
}

FI_DRIVER_MAIN(call, -FI_EAGAIN, 0)
