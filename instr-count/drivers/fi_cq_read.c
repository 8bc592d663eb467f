/* SPDX-License-Identifier: BSD-3-Clause */
/* fi_cq_read.c: one read of an empty completion queue. */
#include "fi_driver.h"

static DRIVER_NOINLINE ssize_t op(struct fid_cq *cq, struct fi_cq_entry *entry)
{
	PGAS_MARK_BEGIN(op);
	ssize_t ret = fi_cq_read(cq, entry, 1);
	PGAS_MARK_USE(ret);
	PGAS_MARK_END(op);
	return ret;
}

static ssize_t call(struct fi_side *s)
{
	struct fi_cq_entry entry;
	return op(s->cq, &entry);
}

FI_DRIVER_MAIN(call, -FI_EAGAIN, 0)
