/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_putmem.c: put of as many bytes as the argument says, which the compiler does not know. */
#include "shmem_driver.h"

static char src[sizeof(cell)];
static size_t bytes = 8;

static void call(int peer)
{
	shmem_putmem(cell, src, bytes, peer);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		bytes = strtoul(argv[1], NULL, 0);
	if (bytes == 0 || bytes > sizeof(cell)) {
		fprintf(stderr, "shmem_putmem: 1 to %zu bytes\n", sizeof(cell));
		return 2;
	}
	return shmem_driver_run(argc, argv, call, 0);
}
