/* SPDX-License-Identifier: BSD-3-Clause */
/* hand_cas.c: a compare that succeeds each time. */
#include "driver.h"
#include "hand.h"

static long cell;

DRIVER_MAIN(hand_cas(&cell, 0, 0))
