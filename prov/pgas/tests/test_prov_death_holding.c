/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A peer that dies while it holds a slot of another's ring, an eager buffer or the lock of the wide atomics: the others
 * reclaim it, and the living go on. Built twice.
 */
#include "victim.h"

#include <pgas/pgas_types.h>

#include <signal.h>
#include <stdio.h>

static const char *const env_tiny[] = {"FI_PGAS_RX_SLOTS=16", "FI_PGAS_EAGER_COUNT=2", NULL};

/* --- holding something -------------------------------------------------------------------------------------------- */

enum hold { HOLD_SLOT, HOLD_SLOT_INJECT, HOLD_EAGER, HOLD_LOCK, HOLD_LOCK_FETCH };

struct holding {
	enum hold what;
	int victims; /* all of them hold one at the same time */
};

/* The victim's part: faults while it holds the resource, and is killed there. */
static void __attribute__((noreturn)) hold(struct node *n, enum hold what)
{
	char *trap = trap_page();
	long double *ld = (long double *)trap, one = 1;
	uint64_t v = 1;
	if (what != HOLD_LOCK && what != HOLD_LOCK_FETCH) /* connected, the path is open */
		CHECK_OK(RETRY(n, fi_tinject(n->ep, &v, 8, n->peer[0], 99)));
	switch (what) {
	case HOLD_SLOT:
		fi_tsend(n->ep, trap, 64, NULL, n->peer[0], 99, NULL);
		break;
	case HOLD_SLOT_INJECT:
		fi_tinject(n->ep, trap, 8, n->peer[0], 99);
		break;
	case HOLD_EAGER:
		fi_tsend(n->ep, trap, 3000, NULL, n->peer[0], 99, NULL);
		break;
	case HOLD_LOCK:
		fi_atomic(n->ep, ld, 1, NULL, n->peer[0], 0, 7, FI_LONG_DOUBLE, FI_SUM, NULL);
		break;
	default: /* the value is exchanged already, but the result cannot be stored */
		fi_fetch_atomic(n->ep, &one, 1, NULL, ld, NULL, n->peer[0], 0, 7, FI_LONG_DOUBLE, FI_SUM, NULL);
	}
	CHECK(!"the trap did not hold"); /* all calls above fault */
	abort();
}

/* Messages after the dead peer's slot, and with enough buffers: more than the ring has in total. */
static void messages_go_on(struct node *n, int rank)
{
	for (int i = 0; i < 40; i++) {
		unsigned char buf[3000];
		const size_t len = i % 2 ? 3000 : 40;
		struct iovec iov = {buf, rank == 1 ? len : sizeof buf};
		struct fi_msg_tagged t = {.msg_iov = &iov, .iov_count = 1, .addr = n->peer[rank != 1], .tag = 5};
		if (rank == 1) {
			fill(buf, len, (uint64_t)i);
			CHECK_OK(RETRY(n, fi_tsendmsg(n->ep, &t, FI_COMPLETION)));
			wait_tx(n, 1);
		} else {
			struct fi_cq_tagged_entry e;
			CHECK_OK(fi_trecvmsg(n->ep, &t, FI_COMPLETION));
			wait_cq(n, n->rx_cq, &e);
			CHECK_EQ(e.len, len);
			CHECK(filled(buf, len, (uint64_t)i));
		}
	}
}

/* Wide atomics of both survivors continue, and are exact from the value that the dead peer left. */
static void atomics_go_on(struct node *n, struct mem *m, int rank, int victims)
{
	long double one = 1, now;
	if (rank == 0) {
		/* Each operation happened or not, never half. Victims are killed one after the other: one that waited
		 * for the lock may take it over from a dead one, and add as well. */
		memcpy(&now, m->base, sizeof now);
		CHECK(now >= 0 && now <= victims && now == (int)now);
		memset(m->base, 0, 32);
	}
	team_barrier(n);
	for (int i = 0; i < 100; i++) {
		CHECK_OK(RETRY(n, fi_atomic(n->ep, &one, 1, NULL, n->peer[0], 32, 7, FI_LONG_DOUBLE, FI_SUM, NULL)));
		wait_tx(n, 1);
	}
	team_barrier(n);
	if (rank == 0) {
		memcpy(&now, m->base + 32, sizeof now);
		CHECK(now == 200);
	}
}

/* Ranks 0 and 1 live; the others acquire a resource of rank 0 and die holding it. */
static void hold_and_die(int rank, void *arg)
{
	const struct holding *h = arg;
	const struct node_opts o = {.two_cqs = true, .selective = h->what == HOLD_SLOT_INJECT, .counters = FI_WRITE};
	const bool lock = h->what == HOLD_LOCK || h->what == HOLD_LOCK_FETCH;
	struct node n;
	struct mem m;
	struct remote_mem r[TEAM_MAX];
	node_open(&n, &o);
	mem_open(&n, &m, MEM_MEMFD, 4096, 7);
	node_connect(&n);
	mem_exchange(&n, &m, r);
	const int fds = open_fds();
	if (rank >= 2)
		hold(&n, h->what);
	/* only one can hold the lock: the others wait for it, which is another point to die at */
	wait_trapped(&n, lock ? 1 : (uint32_t)h->victims);
	if (rank == 0)
		for (int i = 0; i < h->victims; i++)
			team_kill(2 + i);
	team_barrier(&n);
	const double start = now_s();
	if (lock)
		atomics_go_on(&n, &m, rank, h->victims);
	else
		messages_go_on(&n, rank);
	CHECK(now_s() - start < LIMIT_S + 2);
	if (rank == 0)
		for (int i = 0; i < h->victims; i++)
			expect_reset(&n, n.peer[2 + i]);
	CHECK(open_fds() <= fds + 1);
	team_barrier(&n);
	mem_close(&m);
	node_close(&n);
	CHECK_EQ(leftovers(), 0);
}

/* --- between the claim of a slot and the store of the hint -------------------------------------------------------- */

/* The attach table of the endpoint that has this ring: after a page with the number of the first entry to try. */
static uint32_t *first_entry_of(const struct pgas_ring *ring)
{
	char line[512];
	uint32_t *found = NULL;
	FILE *f = fopen("/proc/self/maps", "re");
	CHECK(f != NULL);
	while (!found && fgets(line, sizeof line, f)) {
		unsigned long begin, end;
		char rights[8];
		if (sscanf(line, "%lx-%lx %7s", &begin, &end, rights) == 3 && strcmp(rights, "rw-s") == 0 &&
		    (uintptr_t)ring >= begin && (uintptr_t)ring < end)
			found = (uint32_t *)begin;
	}
	fclose(f);
	CHECK(found != NULL);
	return found;
}

/*
 * Ranks 1 and 2 know rank 0. Rank 2 dies holding a slot; rank 1 sets the ring's hint back, as if rank 2 had died before
 * it stored it, and lets the next newcomer try the dead sender's entry first. Rank 3 comes before rank 0 looks.
 */
static void die_before_hint(int rank, void *arg)
{
	const struct node_opts o = {.two_cqs = true};
	struct node n;
	uint64_t v = 7;
	(void)arg;
	node_open(&n, &o);
	node_connect(&n);
	if (rank == 1)
		CHECK_OK(RETRY(&n, fi_tinject(n.ep, &v, 8, n.peer[0], 99)));
	team_barrier(&n);
	if (rank == 2)
		hold(&n, HOLD_SLOT);
	wait_trapped(&n, 1);
	team_mark_victim(2);
	node_poll(&n);
	team_barrier(NULL);
	if (rank == 1) {
		const struct pgas_peer_hot *dest = &((const struct pgas_ep *)n.ep)->peer[n.peer[0]];
		CHECK(dest->ring && dest->meta < 2); /* our entry; the other one is rank 2's */
		dest->ring->tail_hint--;
		*first_entry_of(dest->ring) = 1 - dest->meta;
		team_kill(2);
	}
	team_barrier(NULL);
	if (rank == 3)
		CHECK_OK(RETRY(&n, fi_tinject(n.ep, &v, 8, n.peer[0], 5)));
	team_barrier(NULL);
	if (rank == 0) {
		struct fi_cq_tagged_entry e;
		uint64_t got = 0;
		CHECK_OK(fi_trecv(n.ep, &got, sizeof got, NULL, n.peer[3], 5, 0, NULL));
		wait_cq(&n, n.rx_cq, &e);
		CHECK_EQ(got, 7);
	}
	team_barrier(&n);
	node_close(&n);
}

static void run_holding(enum hold what, int victims, const char *const *env)
{
	struct holding h = {what, victims};
	team_run_env(2 + victims, hold_and_die, &h, env);
}

static void test_death_holding_a_ring_slot_is_stepped_over(void **state)
{
	(void)state;
	run_holding(HOLD_SLOT, 1, NULL);
	run_holding(HOLD_SLOT, 3, env_tiny);
	run_holding(HOLD_SLOT_INJECT, 1, NULL);
	run_holding(HOLD_SLOT_INJECT, 3, env_tiny);
}

static void test_death_holding_an_eager_buffer_gives_it_back(void **state)
{
	(void)state;
	run_holding(HOLD_EAGER, 1, NULL);
	run_holding(HOLD_EAGER, 2, env_tiny); /* all buffers */
}

static void test_death_holding_the_wide_atomic_lock_frees_it(void **state)
{
	(void)state;
	run_holding(HOLD_LOCK, 1, NULL);
	run_holding(HOLD_LOCK_FETCH, 2, NULL);
}

static void test_death_before_the_hint_leaves_no_slot_to_the_next_sender(void **state)
{
	(void)state;
	ONLY_AT_ONCE();
	team_run(4, die_before_hint, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_death_holding_a_ring_slot_is_stepped_over),
		cmocka_unit_test(test_death_before_the_hint_leaves_no_slot_to_the_next_sender),
		cmocka_unit_test(test_death_holding_an_eager_buffer_gives_it_back),
		cmocka_unit_test(test_death_holding_the_wide_atomic_lock_frees_it),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
