/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmem_test.h: shared by the multi-PE test programs. A failed check ends the job with a line that names its place.
 */
#ifndef SHMEM_TESTS_SHMEM_TEST_H
#define SHMEM_TESTS_SHMEM_TEST_H

#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_RANK shmem_my_pe()
#define CHECK_END(file_arg, line_arg) shmem_global_exit(3)
#include "check.h"

/* Returns whether the PE's memory is mapped here, as far as a program can know without shmem_ptr. */
static inline int test_near(int pe)
{
	const char *map = getenv("FI_PGAS_MAP");
	if (pe == shmem_my_pe())
		return 1;
	return !(map && strcmp(map, "0") == 0) && shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, SHMEM_TEAM_SHARED) >= 0;
}

static inline void test_done(const char *what)
{
	shmem_barrier_all();
	if (shmem_my_pe() == 0)
		printf("%s: %d PEs: all as it should be\n", what, shmem_n_pes());
	shmem_finalize();
}

#endif
