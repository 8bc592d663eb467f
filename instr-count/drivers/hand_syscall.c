/* SPDX-License-Identifier: BSD-3-Clause */
/* hand_syscall.c: two system calls. */
#include "driver.h"
#include "hand.h"

DRIVER_MAIN(hand_syscall())
