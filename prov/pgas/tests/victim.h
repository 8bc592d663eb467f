/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the tests of death: a victim that stops at an exact point, and the living, which go on.
 *
 * To die at an exact point, the victim sends from a page that may not be read: the provider faults while it copies,
 * already holding the slot, the buffer or the lock; the handler reports this and waits for the kill.
 */
#ifndef TESTS_VICTIM_H
#define TESTS_VICTIM_H

#include "common.h"

#define LIMIT_S (3.0 * patience()) /* "about a second" on a machine with other load */

struct scene {
	uint32_t trapped; /* victims that have reached their point */
	uint32_t stop;
};

struct scene *scene(void);
char *trap_page(void);
void wait_trapped(struct node *n, uint32_t count);
void wait_for_death(void) __attribute__((noreturn));

/* Waits for the entry of one operation and skips entries of earlier pending ones. */
void wait_entry(struct node *n, struct fid_cq *cq, const void *context);
/* Rank `source` sends `count` numbered messages of len bytes to rank `dest`, which checks them. */
void converse(struct node *n, int rank, int source, int dest, int count, size_t len);
/* How many named shared memory objects are left; the provider's own have no name. */
int leftovers(void);
/* Returns when a call to the dead peer returns its error. */
void expect_reset(struct node *n, fi_addr_t dest);

#endif /* TESTS_VICTIM_H */
