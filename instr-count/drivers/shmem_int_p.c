/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_int_p.c: put of one int, into static data or the heap. */
#include "shmem_driver.h"

static void call(int peer)
{
	shmem_int_p((int *)target, 7, peer);
}

SHMEM_DRIVER_MAIN(call)
