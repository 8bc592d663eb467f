/* SPDX-License-Identifier: BSD-3-Clause */
/* hand_atomic.c: an exclusive load/store loop, or a locked add. */
#include "driver.h"
#include "hand.h"

static long cell;

DRIVER_MAIN(hand_atomic(&cell))
