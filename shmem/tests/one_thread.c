/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * one_thread: a PE of a single-host job has the threads that the program made, and no others: then libc's allocator
 * works without locks. If oshrun did not start it, a thread may watch its peers.
 */
#include "shmem_test.h"
#include "threads_here.h"

int main(void)
{
	static long word;
	CHECK(threads_here() == 1);
	shmem_init();
	shmem_long_p(&word, 7, (shmem_my_pe() + 1) % shmem_n_pes());
	shmem_barrier_all();
	CHECK(word == 7);
	CHECK(threads_here() == 1);
	test_done("one_thread");
	return 0;
}
