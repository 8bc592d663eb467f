/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * deadlock_probe KIND FILE: four PEs that wait for one another in a known way, and never end.
 *   locks    PE 0 and 1 each hold a lock that the other one wants; the others wait in a barrier
 *   barrier  PE 2 waits for a word, the others in a barrier for PE 2
 *   word     all wait for a word that is 3
 *   busy     the others wait in a barrier for PE 3, which computes until FILE is there, and holds a lock that it tested
 *            for: that ends
 */
#include "shmem_test.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

static long first_lock, second_lock;
static int flag = 3;
static long words[8];

static void cross_locks(int me)
{
	long *const mine = me ? &second_lock : &first_lock;
	if (me < 2)
		shmem_set_lock(mine);
	shmem_sync_all();
	if (me < 2)
		shmem_set_lock(me ? &first_lock : &second_lock);
	shmem_barrier_all();
}

static void compute(int me, const char *file)
{
	if (me == 3) {
		CHECK(shmem_test_lock(&first_lock) == 0);
		shmem_sync_all();
		while (access(file, F_OK) != 0)
			sched_yield();
		shmem_clear_lock(&first_lock);
	} else {
		shmem_sync_all();
		if (me == 0) {
			shmem_set_lock(&first_lock);
			shmem_clear_lock(&first_lock);
		}
	}
	shmem_barrier_all();
}

int main(int argc, char **argv)
{
	shmem_init();
	const int me = shmem_my_pe();
	CHECK(argc == 3 && shmem_n_pes() == 4);
	if (strcmp(argv[1], "locks") == 0)
		cross_locks(me);
	else if (strcmp(argv[1], "busy") == 0)
		compute(me, argv[2]);
	else if (strcmp(argv[1], "barrier") == 0 && me != 2)
		shmem_barrier_all();
	else if (strcmp(argv[1], "barrier") == 0)
		shmem_long_wait_until(&words[3], SHMEM_CMP_GE, 9);
	else
		shmem_int_wait_until(&flag, SHMEM_CMP_EQ, 9);
	test_done("deadlock_probe");
	return 0;
}
