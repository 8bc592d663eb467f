/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * one_thread: a PE of one host has the threads that the program made, and no other: libc's allocator works without
 * locks then. Where oshrun did not start it, a thread may watch its peers.
 */
#include "shmem_test.h"

#include <dirent.h>

static int threads(void)
{
	int n = 0;
	DIR *tasks = opendir("/proc/self/task");
	CHECK(tasks);
	for (const struct dirent *d; (d = readdir(tasks));)
		n += d->d_name[0] != '.';
	closedir(tasks);
	return n;
}

int main(void)
{
	static long word;
	CHECK(threads() == 1);
	shmem_init();
	shmem_long_p(&word, 7, (shmem_my_pe() + 1) % shmem_n_pes());
	shmem_barrier_all();
	CHECK(word == 7);
	CHECK(threads() == 1);
	test_done("one_thread");
	return 0;
}
