/* SPDX-License-Identifier: BSD-3-Clause */
/* Many PEs that only start, meet, count one another and end: as little work as possible for as many PEs as possible. */
#include "shmem_test.h"

int main(void)
{
	static long count, sum;
	shmem_init();
	const long n = shmem_n_pes(), me = shmem_my_pe();
	shmem_long_atomic_inc(&count, 0);
	shmem_long_atomic_add(&sum, me, (int)(n - 1));
	shmem_barrier_all();
	CHECK(shmem_long_g(&count, 0) == n && shmem_long_g(&sum, (int)(n - 1)) == n * (n - 1) / 2);
	test_done("meet");
	return 0;
}
