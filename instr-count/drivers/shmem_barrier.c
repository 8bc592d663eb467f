/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_barrier.c: barrier over all PEs, called by all of them. */
#include "shmem_driver.h"

static void call(int peer)
{
	(void)peer;
	shmem_barrier_all();
}

int main(int argc, char **argv)
{
	return shmem_driver_run(argc, argv, call, 1);
}
