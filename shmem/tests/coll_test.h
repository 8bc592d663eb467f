/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the programs that test teams and collectives: values that every PE can compute for every other.
 */
#ifndef COLL_TEST_H
#define COLL_TEST_H

#include "shmem_test.h"

#include <sched.h>
#include <shmemx.h>
#include <unistd.h>

/* Small positive numbers: sums over 8 PEs are exact in every type but the 8-bit ones, which wrap around. */
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

/* What a PE gives to a collective with this number in the sequence. */
static inline long word(int pe, int number, size_t i)
{
	return pe * 100003L + number * 31L + (long)i;
}

/* Pauses now and then, so that members run ahead of each other; own: a sequence of this PE's own. */
static inline void rest(unsigned *own)
{
	const unsigned r = next_random(own) % 64;
	if (r == 0)
		usleep(200);
	else if (r < 4)
		sched_yield();
}

#endif
