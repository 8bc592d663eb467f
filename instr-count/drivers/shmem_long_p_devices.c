/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_long_p_devices.c: put of one long into host memory, in a job that also has device memory. */
#include "shmem_driver.h"

#include <stdlib.h>

__attribute__((constructor)) static void ask_for_device_memory(void)
{
	setenv("SHMEM_SYMMETRIC_PARTITION0", "1M:KIND=emulated", 1);
}

static void call(int peer)
{
	shmem_long_p(cell, 7, peer);
}

SHMEM_DRIVER_MAIN(call)
