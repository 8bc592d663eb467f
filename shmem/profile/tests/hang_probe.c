/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hang_probe FILE: four PEs that wait in three places, until FILE is there.  PE 3 is in no call; then it ends the wait
 * of PE 2, and both come to the barrier where the others are.  hang_probe FILE get: PE 2 waits for a word of PE 3's
 * memory, which that must give to it where it is not mapped: a PE that makes no progress, and others that need it.
 * hang_probe FILE sleep: PE 3 sleeps for some seconds, and nothing shortens that.
 */
#include "shmem_test.h"

#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long word;

__attribute__((noinline)) static void until_there(const char *file)
{
	while (access(file, F_OK) != 0)
		sched_yield();
}

static void sleep_undisturbed(void)
{
	const struct timespec whole = {5, 0};
	struct timespec left = {0, 0};
	CHECK(nanosleep(&whole, &left) == 0);
}

int main(int argc, char **argv)
{
	shmem_init();
	CHECK(argc >= 2 && shmem_n_pes() == 4);
	const char *mode = argc > 2 ? argv[2] : "";
	if (shmem_my_pe() == 2 && strcmp(mode, "get") != 0)
		shmem_long_wait_until(&word, SHMEM_CMP_EQ, 5);
	if (shmem_my_pe() == 2 && strcmp(mode, "get") == 0)
		CHECK_EQ(shmem_long_g(&word, 3), 0);
	if (shmem_my_pe() == 3) {
		if (strcmp(mode, "sleep") == 0)
			sleep_undisturbed();
		else
			until_there(argv[1]);
		shmem_long_p(&word, 5, 2);
	}
	shmem_barrier_all();
	test_done("hang_probe");
	return 0;
}
