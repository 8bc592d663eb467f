/* SPDX-License-Identifier: BSD-3-Clause */
/* hand_recursion.c: a function that calls itself three deep. */
#include "driver.h"
#include "hand.h"

DRIVER_MAIN(hand_recursion(3))
