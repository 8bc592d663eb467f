/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_int_p.c: put of one int. */
#include "shmem_driver.h"

static void call(int peer)
{
	shmem_int_p((int *)cell, 7, peer);
}

SHMEM_DRIVER_MAIN(call)
