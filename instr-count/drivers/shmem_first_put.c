/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmem_first_put.c: the first put to a PE, which connects to it and maps its memory. There is one such put per start
 * of the library, so each call starts it anew. With more PEs than shmem_init connects by itself.
 */
#include "shmem_driver.h"

static DRIVER_NOINLINE void op(int peer)
{
	PGAS_MARK_BEGIN(op);
	shmem_long_p(cell, 7, peer);
	PGAS_MARK_END(op);
}

int main(void)
{
	for (unsigned n = driver_calls(); n > 0; n--) {
		shmem_init();
		if (shmem_my_pe() == 0)
			op(shmem_n_pes() - 1);
		shmem_finalize();
	}
	return 0;
}
