/* SPDX-License-Identifier: BSD-3-Clause */
/* hand_image.c: leaves the program for libc. */
#include "driver.h"
#include "hand.h"

DRIVER_MAIN(hand_image())
