/* SPDX-License-Identifier: BSD-3-Clause */
/* fi_cntr_read.c: one read of a counter. */
#include "fi_driver.h"

static DRIVER_NOINLINE ssize_t op(struct fid_cntr *cntr)
{
	PGAS_MARK_BEGIN(op);
	ssize_t ret = (ssize_t) fi_cntr_read(cntr);
	PGAS_MARK_USE(ret);
	PGAS_MARK_END(op);
	return ret;
}

static ssize_t call(struct fi_side *s)
{
	return op(s->writes) < 0;
}

FI_DRIVER_MAIN(call, 0, 0)
