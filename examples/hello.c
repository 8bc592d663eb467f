/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hello: every PE greets, in order, and sends its number to its right neighbour.
 *
 *	oshcc hello.c -o hello && oshrun -n 4 ./hello
 */
#include <shmem.h>
#include <stdio.h>

static int from_left = -1; /* static data is symmetric: every PE has one, and all can reach it */
static long turn;

int main(void)
{
	shmem_init();
	const int me = shmem_my_pe(), n = shmem_n_pes();

	shmem_int_p(&from_left, me, (me + 1) % n);
	shmem_barrier_all();

	/* The PEs print one after the other: my turn comes when the PE before me has printed. */
	shmem_long_wait_until(&turn, SHMEM_CMP_GE, me);
	printf("hello from PE %d of %d; PE %d is on my left\n", me, n, from_left);
	fflush(stdout);
	if (me + 1 < n)
		shmem_long_p(&turn, me + 1, me + 1);

	const int good = from_left == (me + n - 1) % n;
	shmem_finalize();
	return good ? 0 : 1;
}
