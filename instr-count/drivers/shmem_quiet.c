/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_quiet.c: quiet after a put that is already complete. */
#include "shmem_driver.h"

static void call(int peer)
{
	shmem_int_p((int *)cell, 7, peer);
	shmem_quiet();
}

SHMEM_DRIVER_MAIN(call)
