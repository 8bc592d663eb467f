/* SPDX-License-Identifier: BSD-3-Clause */
/* hand_copy.c: a byte loop, or a repeated string instruction. */
#include "driver.h"
#include "hand.h"

static char src[8] = "1234567", dst[8];

DRIVER_MAIN(hand_copy(dst, src))
