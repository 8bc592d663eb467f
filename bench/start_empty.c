/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The empty program of start_bench: shmem_init and shmem_finalize, and with any argument not even these. */
#include <shmem.h>

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return 0;
	shmem_init();
	shmem_finalize();
	return 0;
}
