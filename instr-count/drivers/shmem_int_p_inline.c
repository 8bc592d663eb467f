/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_int_p_inline.c: put of one int through the inline functions of shmem.h. */
#define SHMEM_INLINE 1
#include "shmem_driver.h"

static DRIVER_NOINLINE void op(int *dst, int value, int peer)
{
	PGAS_MARK_BEGIN(op);
	shmem_int_p(dst, value, peer);
	PGAS_MARK_END(op);
}

static void call(int peer)
{
	op((int *)cell, 7, peer);
}

SHMEM_DRIVER_MAIN(call)
