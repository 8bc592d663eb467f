/* SPDX-License-Identifier: BSD-3-Clause */
/* hand_cas_miss.c: a compare that fails, leaving the exclusive block by its branch. */
#include "driver.h"
#include "hand.h"

static long cell = 1;

DRIVER_MAIN(hand_cas(&cell, 0, 2))
