/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_atomic_add.c: non-fetching add. */
#include "shmem_driver.h"

static void call(int peer)
{
	shmem_long_atomic_add(cell, 1, peer);
}

SHMEM_DRIVER_MAIN(call)
