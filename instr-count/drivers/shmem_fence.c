/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_fence.c: fence after a put. */
#include "shmem_driver.h"

static void call(int peer)
{
	shmem_int_p((int *)cell, 7, peer);
	shmem_fence();
}

SHMEM_DRIVER_MAIN(call)
