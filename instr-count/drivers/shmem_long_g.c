/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_long_g.c: get of one long. */
#include "shmem_driver.h"

static void call(int peer)
{
	PGAS_MARK_USE(shmem_long_g(target, peer));
}

SHMEM_DRIVER_MAIN(call)
