/* SPDX-License-Identifier: BSD-3-Clause */
/* What link_refused.c refuses a victim, in memory shared with link_refuse.cpp. */
#ifndef TESTS_ATTACK_LINK_REFUSE_H
#define TESTS_ATTACK_LINK_REFUSE_H

#include <stdint.h>

enum link_refusal { LINK_REFUSE_ACCEPT = 1, LINK_REFUSE_GETRANDOM = 2, LINK_REFUSE_URANDOM = 4 };

struct link_refuse {
	uint32_t refused; /* the sum of all that is refused now; written by the test */
	uint32_t count;   /* how often a call was refused; written by victims */
};

#endif /* TESTS_ATTACK_LINK_REFUSE_H */
