/* SPDX-License-Identifier: BSD-3-Clause */
/* The start of every test program of the provider. */
#include "common.h"

void common_init(void)
{
	/* some cases of a program only, as in TEST_CASES='*_every_call_arrives' */
	const char *cases = getenv("TEST_CASES");
	if (cases)
		cmocka_set_test_filter(cases);
	team_init();
	setenv("FI_PROVIDER_PATH", TEST_PROVIDER_PATH, 0);
	setenv("IPATH_NO_BACKTRACE", "1", 1);
	/* libfabric loads its providers once, here; none of them starts a thread for that, so children fork cleanly */
	struct fi_info *h = hints_new(), *i = NULL;
	const int rc = fi_getinfo(TEST_API, NULL, NULL, 0, h, &i);
	fi_freeinfo(h);
	if (rc) {
		fprintf(stderr, "provider pgas is not found in %s: %s\n", getenv("FI_PROVIDER_PATH"), fi_strerror(-rc));
		exit(1);
	}
	fi_freeinfo(i);
}
