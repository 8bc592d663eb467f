/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_long_p.c: put of one long. */
#include "shmem_driver.h"

static void call(int peer)
{
	shmem_long_p(cell, 7, peer);
}

SHMEM_DRIVER_MAIN(call)
