/* SPDX-License-Identifier: BSD-3-Clause */
/* hand_leaf.c: calls the weak alias, because that is what libraries export. */
#include "driver.h"
#include "hand.h"

DRIVER_MAIN(hand_leaf_alias(1))
