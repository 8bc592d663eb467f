/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tests of death share: a victim that stands still at an exact place, and the living, who go on.
 *
 * To die at an exact place, the victim sends from a page that may not be read: the provider faults while it copies,
 * with the slot, the buffer or the lock already in its hands, the handler says so and waits for the kill.
 */
#ifndef TESTS_VICTIM_H
#define TESTS_VICTIM_H

#include "common.h"

#define LIMIT_S (3.0 * patience()) /* "about a second" on a machine that does something else too */

struct scene {
	uint32_t trapped; /* victims that stand at their place */
	uint32_t stop;
};

struct scene *scene(void);
char *trap_page(void);
void wait_trapped(struct node *n, uint32_t count);
void wait_for_death(void) __attribute__((noreturn));

/* Waits for the entry of one operation; entries of what was under way before go by. */
void wait_entry(struct node *n, struct fid_cq *cq, const void *context);
/* Rank `source` sends `count` numbered messages of len bytes to rank `dest`, which checks them. */
void converse(struct node *n, int rank, int source, int dest, int count, size_t len);
/* How much shared memory has a name; what the provider makes has none. */
int leftovers(void);
/* Returns when a call to the dead peer returns its error. */
void expect_reset(struct node *n, fi_addr_t dest);

#endif /* TESTS_VICTIM_H */
