/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_put_signal.c: 8 bytes and a signal. */
#include "shmem_driver.h"

static uint64_t signal_cell;

static void call(int peer)
{
	static const long source = 7;
	shmem_long_put_signal(cell, &source, 1, &signal_cell, 1, SHMEM_SIGNAL_SET, peer);
}

SHMEM_DRIVER_MAIN(call)
