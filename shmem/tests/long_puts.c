/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * long_puts ROUNDS: long non-blocking puts to a PE on another host that makes no progress meanwhile (nor does a thread,
 * with FI_PGAS_NET_THREAD=0): more than the connection accepts, so that packets wait while puts arrive. quiet must
 * still return, and all data must have arrived.
 */
#include "shmem_test.h"

#include <unistd.h>

enum { LONG = 256 << 10, MANY = 600, PLACES = 4 };
static char blocks[PLACES][LONG], source[LONG];

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 10;
	shmem_init();
	for (int r = 1; r <= rounds; r++) {
		memset(source, r, sizeof source);
		for (int i = 0; shmem_my_pe() == 0 && i < MANY; i++)
			shmem_putmem_nbi(blocks[i % PLACES], source, LONG, 1);
		if (shmem_my_pe() == 1)
			usleep(20000);
		shmem_quiet();
		shmem_barrier_all();
		for (size_t i = 0; shmem_my_pe() == 1 && i < sizeof blocks; i++)
			CHECK(blocks[i / LONG][i % LONG] == (char)r);
		shmem_barrier_all();
	}
	test_done("long_puts");
	return 0;
}
