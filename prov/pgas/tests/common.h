/* SPDX-License-Identifier: BSD-3-Clause */
/* The header of the provider's test programs: checks, a team of processes, libfabric objects, and main(). */
#ifndef TESTS_COMMON_H
#define TESTS_COMMON_H

#include "node.h"
#include "team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

/* Sets FI_PROVIDER_PATH for a program started by hand, loads libfabric once, runs the group. */
#define TEST_MAIN(tests_arg)                                                                                           \
	int main(void)                                                                                                 \
	{                                                                                                              \
		common_init();                                                                                         \
		return cmocka_run_group_tests(tests_arg, NULL, NULL);                                                  \
	}
void common_init(void);

#endif /* TESTS_COMMON_H */
