/* SPDX-License-Identifier: BSD-3-Clause */
/* fi_cntr_read.c: one read of a counter of writes. */
#include "fi_driver.h"

static DRIVER_NOINLINE uint64_t op(struct fid_cntr *cntr)
{
#ifdef FABRIC_DIRECT
	PGAS_MARK_BEGIN(op);
	uint64_t value = fi_cntr_read(cntr);
	PGAS_MARK_USE(value);
	PGAS_MARK_END(op);
	return value;
#else
	return fi_cntr_read(cntr);
#endif
}

static ssize_t call(struct fi_side *s)
{
	return op(s->writes) != 0;
}

FI_DRIVER_MAIN(call, 0, 0)
