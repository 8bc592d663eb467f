/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_ctx_long_p.c: put of one long on a private context. */
#include "shmem_driver.h"

static shmem_ctx_t ctx = SHMEM_CTX_INVALID;

static void call(int peer)
{
	if (ctx == SHMEM_CTX_INVALID && shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) != 0)
		exit(1);
	shmem_ctx_long_p(ctx, cell, 7, peer);
}

SHMEM_DRIVER_MAIN(call)
