/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmem_driver.h: for drivers of one OpenSHMEM call. PE 0 makes the calls, the
 * last PE is the target; the others wait in a barrier. Public names only, so
 * the same source builds against any OpenSHMEM and measures peers, too.
 */
#ifndef INSTR_COUNT_SHMEM_DRIVER_H
#define INSTR_COUNT_SHMEM_DRIVER_H

#include <shmem.h>
#include <stdint.h>
#include <string.h>

#include "driver.h"

/* Symmetric because static; a page of it for the larger puts. */
static long cell[512];

/* call(peer) runs as often as the engine wants. everyone: all PEs call. */
static inline int shmem_driver_run(void (*call)(int peer), int everyone)
{
	shmem_init();
	int peer = shmem_n_pes() - 1;
	memset(cell, 0, sizeof(cell));
	shmem_barrier_all();
	if (everyone || shmem_my_pe() == 0)
		for (unsigned n = driver_calls(); n > 0; n--)
			call(peer);
	shmem_barrier_all();
	shmem_finalize();
	return 0;
}

#define SHMEM_DRIVER_MAIN(_call)                                                                                       \
	int main(void)                                                                                                 \
	{                                                                                                              \
		return shmem_driver_run(_call, 0);                                                                     \
	}

#endif /* INSTR_COUNT_SHMEM_DRIVER_H */
