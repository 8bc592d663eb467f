/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hang_probe FILE: four PEs that wait in three places, until FILE is there.  PE 3 is in no call; then it ends the wait
 * of PE 2, and both come to the barrier where the others are.  hang_probe FILE get: PE 2 waits for a word of PE 3's
 * memory, which that must give to it where it is not mapped: a PE that makes no progress, and others that need it.
 */
#include "shmem_test.h"

#include <time.h>
#include <unistd.h>

static long word;

__attribute__((noinline)) static void until_there(const char *file)
{
	const struct timespec nap = {0, 10000000};
	while (access(file, F_OK) != 0)
		nanosleep(&nap, NULL);
}

int main(int argc, char **argv)
{
	shmem_init();
	CHECK(argc >= 2 && shmem_n_pes() == 4);
	if (shmem_my_pe() == 2 && argc == 2)
		shmem_long_wait_until(&word, SHMEM_CMP_EQ, 5);
	if (shmem_my_pe() == 2 && argc > 2)
		CHECK_EQ(shmem_long_g(&word, 3), 0);
	if (shmem_my_pe() == 3) {
		until_there(argv[1]);
		shmem_long_p(&word, 5, 2);
	}
	shmem_barrier_all();
	test_done("hang_probe");
	return 0;
}
