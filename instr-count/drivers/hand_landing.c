/* SPDX-License-Identifier: BSD-3-Clause */
/* hand_landing.c: landing pads and pointer signing count as instructions. */
#include "driver.h"
#include "hand.h"

DRIVER_MAIN(hand_landing())
