/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_wait_until.c: wait for a condition that already holds. */
#include "shmem_driver.h"

static void call(int peer)
{
	(void)peer;
	shmem_long_wait_until(cell, SHMEM_CMP_EQ, 0);
}

SHMEM_DRIVER_MAIN(call)
