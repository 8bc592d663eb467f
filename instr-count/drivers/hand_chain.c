/* SPDX-License-Identifier: BSD-3-Clause */
/* hand_chain.c: two calls below the counted one. */
#include "driver.h"
#include "hand.h"

DRIVER_MAIN(hand_chain(1))
