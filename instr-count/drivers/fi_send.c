/* SPDX-License-Identifier: BSD-3-Clause */
/* fi_send.c: one 8-byte message that requests a completion entry. */
#include "fi_driver.h"

static DRIVER_NOINLINE ssize_t op(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t dest,
				  void *context)
{
	FI_DRIVER_RETURN(fi_send(ep, buf, FI_DRIVER_CONSTANT(len, 8), desc, dest, context), 0);
}

/* The endpoint writes entries only on request. */
static void want_entries(struct fid_ep *ep)
{
	static int done;
	uint64_t flags = FI_TRANSMIT | FI_COMPLETION;
	if (!done && fi_control(&ep->fid, FI_SETOPSFLAG, &flags) == 0)
		done = 1;
}

static ssize_t call(struct fi_side *s)
{
	want_entries(s->ep);
	return op(s->ep, s->local, 8, s->desc, s->peer, s->local);
}

FI_DRIVER_MAIN(call, 0, 1)
