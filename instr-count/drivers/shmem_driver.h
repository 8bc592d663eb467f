/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmem_driver.h: for drivers of one OpenSHMEM call. PE 0 makes the calls, the
 * last PE is the target; the others wait in a barrier. Public names only, so
 * the same source builds against any OpenSHMEM and measures peers, too.
 */
#ifndef INSTR_COUNT_SHMEM_DRIVER_H
#define INSTR_COUNT_SHMEM_DRIVER_H

#ifdef INSTR_COUNT_PEER
#include <dlfcn.h>
#endif
#include <shmem.h>
#include <stdint.h>

#include "driver.h"

/* Symmetric because static; a page of it for the larger puts. */
static long cell[512];
/*
 * The target of some drivers: cell, or memory of the symmetric heap with the argument "heap". Peers may differ there.
 */
static long *target = cell;

/* The report labels a peer with its own description: its version, that of its underlying library, and where the target
 * is. These names are looked up at run time because only that peer has them. */
static inline void shmem_driver_tell(int heap)
{
#ifdef INSTR_COUNT_PEER
	char version[8192] = "", words[9000];
	int bytes = 0;
	int (*get_version)(char *, int *) = (int (*)(char *, int *))dlsym(RTLD_DEFAULT, "MPI_Get_library_version");
	void *ucp = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
	const char *(*ucp_version)(void) = ucp ? (const char *(*)(void))dlsym(ucp, "ucp_get_version_string") : NULL;
	const char *transport = getenv("UCX_TLS");
	if (get_version && get_version(version, &bytes) == 0)
		version[strcspn(version, ",")] = '\0';
	transport = transport ? transport : "";
	int bytes_used = snprintf(words, sizeof(words), "%s", *version ? version : INSTR_COUNT_PEER);
	if (ucp_version)
		bytes_used += snprintf(words + bytes_used, sizeof(words) - (size_t)bytes_used, ", UCX %s %.*s",
				       ucp_version(), (int)strcspn(transport, ","), transport);
	snprintf(words + bytes_used, sizeof(words) - (size_t)bytes_used, ", %s", heap ? "heap" : "static data");
	if (shmem_my_pe() == 0)
		driver_tell("setting", words);
#else
	(void)heap;
#endif
}

/* Checks that the hosts are as the argument says, and opens the link. */
static inline void shmem_driver_open_link(enum driver_place place, int peer)
{
	int far = place == DRIVER_LINKED ? 1 : peer;
	if (place == DRIVER_HERE || shmem_my_pe() != 0)
		return;
	if (shmem_ptr(cell, far) || (place == DRIVER_LINKED && !shmem_ptr(cell, peer))) {
		fprintf(stderr, "shmem_driver: the PEs are not on the hosts that they play\n");
		shmem_global_exit(1);
	}
	/*
	 * over an adapter the first puts go in packets, until the place of their target is known; this call is not
	 * counted
	 */
	for (int n = place == DRIVER_VERBS ? 100 : 1; n > 0; n--) {
		shmem_double_p((double *)&cell[8], 1, far);
		shmem_quiet();
	}
}

/* Runs call(peer) as often as the engine requires. everyone: all PEs call. */
static inline int shmem_driver_run(int argc, char **argv, void (*call)(int peer), int everyone)
{
	enum driver_place place = driver_place(argc, argv);
	driver_take_place(place, driver_rank());
	shmem_init();
	int peer = shmem_n_pes() - 1;
	memset(cell, 0, sizeof(cell));
	if (driver_has(argc, argv, "heap") && !(target = shmem_calloc(512, sizeof(long))))
		shmem_global_exit(1);
	shmem_barrier_all();
	shmem_driver_open_link(place, peer);
	if (everyone || shmem_my_pe() == 0)
		for (unsigned n = driver_calls(); n > 0; n--) {
			call(peer);
			if (place == DRIVER_VERBS)
				shmem_quiet();
		}
	if (everyone || shmem_my_pe() == 0)
		DRIVER_TIME(shmem_my_pe() == 0, call(peer));
	shmem_driver_tell(target != cell);
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
