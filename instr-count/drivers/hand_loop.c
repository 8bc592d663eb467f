/* SPDX-License-Identifier: BSD-3-Clause */
/* hand_loop.c: a loop of ten. */
#include "driver.h"
#include "hand.h"

DRIVER_MAIN(hand_loop())
