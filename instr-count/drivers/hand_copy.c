/* SPDX-License-Identifier: BSD-3-Clause */
/* hand_copy.c: a byte loop, or a repeated string instruction. */
#include "driver.h"
#include "hand.h"

static char from[8] = "1234567", to[8];

DRIVER_MAIN(hand_copy(to, from))
