/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the programs that test teams and collectives share: a check that ends the job with a line, values that every PE
 * can compute for every other, and arrays in symmetric memory.
 */
#ifndef COLL_TEST_H
#define COLL_TEST_H

#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(cond)                                                                                                   \
	do {                                                                                                           \
		if (!(cond)) {                                                                                         \
			fprintf(stderr, "PE %d: %s:%d: not so: %s (%s)\n", shmem_my_pe(), __FILE__, __LINE__, #cond,   \
				g_doing);                                                                              \
			shmem_global_exit(3);                                                                          \
		}                                                                                                      \
	} while (0)

static const char *g_doing __attribute__((unused)) = "";

/* Small positive numbers: sums over 8 PEs are exact in every type but the 8-bit ones, which wrap. */
static inline int value_of(int world_pe, size_t i)
{
	return (int)((unsigned)world_pe * 3u + (unsigned)i * 7u) % 11 + 1;
}

static inline int world_pe_of(shmem_team_t team, int member)
{
	return shmem_team_translate_pe(team, member, SHMEM_TEAM_WORLD);
}

/* A repeatable sequence, the same on every PE. */
static inline unsigned next_random(unsigned *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

#endif
