/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PEs that end in the wrong way, named by the argument, while the others wait for something that will never come:
 * run_ends.sh checks how the job ends. "hang" prints a line and waits for ever.
 */
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static long never;
	const char *what = argc > 1 ? argv[1] : "";
	shmem_init();
	shmem_barrier_all();
	if (shmem_my_pe() == 1) {
		if (!strcmp(what, "crash"))
			*(volatile int *)(uintptr_t)argc = 1; /* an address near zero */
		else if (!strcmp(what, "exit"))
			exit(9);
		else if (!strcmp(what, "leave"))
			_exit(0);
		else if (!strcmp(what, "kill"))
			raise(SIGKILL);
		else if (!strcmp(what, "abort"))
			abort();
		else if (!strcmp(what, "global-exit"))
			shmem_global_exit(5);
	}
	if (!strcmp(what, "hang") && shmem_my_pe() == 0) {
		printf("waiting\n");
		fflush(stdout);
	}
	shmem_long_wait_until(&never, SHMEM_CMP_NE, 0);
	return 0;
}
