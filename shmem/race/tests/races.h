/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * races.h: small programs with one mistake each, and what they would be without it.
 *
 * A case is a function of one file, `races NAME` runs it as it is, `races NAME fixed` as it should be.  The two places
 * that race are marked "NAME: one" and "NAME: two" at the ends of their lines, or both on one; run_races.sh compares
 * the report with these lines.  The PEs have ROOM longs each, and a few flags, counters, locks and signals.
 */
#ifndef SHMEM_TESTS_RACES_H
#define SHMEM_TESTS_RACES_H

#include <shmem.h>
#include <unistd.h>

/* clang makes one call of two in the branches of an if, and that one has no line. */
#ifdef __clang__
#pragma clang optimize off
#endif

#define ROOM 64

struct race_job {
	int me, n;
	int fixed; /* without the mistake */
};

extern long data[ROOM], result[ROOM], flags[8], counters[8], locks[4];
extern uint64_t signals[4];

/* Time for another PE to go first; a detector by order of events may miss a race when it goes the other way round. */
static inline void let_others_go_first(void)
{
	usleep(100000);
}

struct race_case {
	const char *name;
	void (*run)(const struct race_job *job);
};
extern const struct race_case cases_put[], cases_order[], cases_sync[], cases_coll[];

#endif
