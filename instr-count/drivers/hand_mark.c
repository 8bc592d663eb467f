/* SPDX-License-Identifier: BSD-3-Clause */
/* hand_mark.c: code between marks: an empty pair, three instructions, and three around a call. */
#include "driver.h"
#include "hand.h"

static DRIVER_NOINLINE void marked(void)
{
	PGAS_MARK_BEGIN(empty);
	PGAS_MARK_END(empty);
	__asm__ volatile("nop");
	PGAS_MARK_BEGIN(three);
	__asm__ volatile("nop\n\tnop\n\tnop");
	PGAS_MARK_END(three);
	__asm__ volatile("nop");
}

DRIVER_MAIN(marked())
