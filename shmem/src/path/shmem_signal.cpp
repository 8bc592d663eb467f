// SPDX-License-Identifier: BSD-3-Clause
//
// Puts with a signal that are not one or two stores.
#include "shmem_rma.hpp"

namespace shmem {

void put_signal_long(context *c, void *dest, const void *source, size_t bytes, uint64_t *sig_addr, uint64_t signal,
		     int sig_op, int pe, const char *name, until when)
{
	if (window_of(c, pe))
		put(c, dest, source, bytes, pe, name);
	else
		cold_put_more(c, dest, source, bytes, pe, name, when);
	signal_op(c, sig_addr, signal, sig_op, pe, name);
}

} // namespace shmem
