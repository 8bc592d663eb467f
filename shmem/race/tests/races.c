/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs one of the cases; see races.h. Without arguments it prints their names. */
#include "races.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

long data[ROOM], result[ROOM], flags[8], counters[8], locks[4];
uint64_t signals[4];

static const struct race_case *const lists[] = {cases_put, cases_order, cases_sync, cases_coll};

static const struct race_case *next_case(const struct race_case *c, size_t *list)
{
	if (c && c[1].name)
		return c + 1;
	if (c)
		++*list;
	return *list < sizeof lists / sizeof *lists ? lists[*list] : NULL;
}

int main(int argc, char **argv)
{
	size_t list = 0;
	for (const struct race_case *c = next_case(NULL, &list); c; c = next_case(c, &list)) {
		if (argc < 2) {
			puts(c->name);
		} else if (strcmp(c->name, argv[1]) == 0) {
			int level = getenv("RACES_THREADS") ? SHMEM_THREAD_MULTIPLE : SHMEM_THREAD_SINGLE;
			shmem_init_thread(level, &level);
			const struct race_job job = {shmem_my_pe(), shmem_n_pes(), argc > 2};
			c->run(&job);
			shmem_barrier_all();
			shmem_finalize();
			return 0;
		}
	}
	if (argc < 2)
		return 0;
	fprintf(stderr, "races: there is no case %s\n", argv[1]);
	return 2;
}
