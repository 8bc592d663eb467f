/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_fetch_add.c: fetching add. */
#include "shmem_driver.h"

static void call(int peer)
{
	PGAS_MARK_USE(shmem_long_atomic_fetch_add(cell, 1, peer));
}

SHMEM_DRIVER_MAIN(call)
