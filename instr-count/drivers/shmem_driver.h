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

#include "driver.h"

/* Symmetric because static; a page of it for the larger puts. */
static long cell[512];

/* The hosts are as the argument says, and the link is open. */
static inline void shmem_driver_open_link(enum driver_place place, int peer)
{
	int far = place == DRIVER_LINKED ? 1 : peer;
	if (place == DRIVER_HERE || shmem_my_pe() != 0)
		return;
	if (shmem_ptr(cell, far) || (place == DRIVER_LINKED && !shmem_ptr(cell, peer))) {
		fprintf(stderr, "shmem_driver: the PEs are not on the hosts that they play\n");
		shmem_global_exit(1);
	}
	/* over an adapter the first words go in packets, until it is known where they lie; nobody counts this call */
	for (int n = place == DRIVER_VERBS ? 100 : 1; n > 0; n--) {
		shmem_double_p((double *)&cell[8], 1, far);
		shmem_quiet();
	}
}

/* call(peer) runs as often as the engine wants. everyone: all PEs call. */
static inline int shmem_driver_run(int argc, char **argv, void (*call)(int peer), int everyone)
{
	enum driver_place place = driver_place(argc, argv);
	driver_take_place(place, driver_rank());
	shmem_init();
	int peer = shmem_n_pes() - 1;
	memset(cell, 0, sizeof(cell));
	shmem_barrier_all();
	shmem_driver_open_link(place, peer);
	if (everyone || shmem_my_pe() == 0)
		for (unsigned n = driver_calls(); n > 0; n--) {
			call(peer);
			if (place == DRIVER_VERBS)
				shmem_quiet();
		}
	shmem_barrier_all();
	shmem_finalize();
	return 0;
}

#define SHMEM_DRIVER_MAIN(_call)                                                                                       \
	int main(int argc, char **argv)                                                                                \
	{                                                                                                              \
		return shmem_driver_run(argc, argv, _call, 0);                                                         \
	}

#endif /* INSTR_COUNT_SHMEM_DRIVER_H */
