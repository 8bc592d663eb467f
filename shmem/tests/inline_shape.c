/* SPDX-License-Identifier: BSD-3-Clause */
/* One function per inlined call, for check_inline.sh, which disassembles this object. */
#define SHMEM_INLINE 1
#include <shmem.h>

void shape_int_p(int *dest, int value, int pe)
{
	shmem_int_p(dest, value, pe);
}

long shape_long_g(const long *source, int pe)
{
	return shmem_long_g(source, pe);
}

void shape_long_put(long *dest, const long *source, int pe)
{
	shmem_long_put(dest, source, 1, pe);
}

void shape_putmem(void *dest, const void *source, int pe)
{
	shmem_putmem(dest, source, 32, pe);
}

void shape_get(double *dest, const double *source, int pe)
{
	shmem_double_get(dest, source, 4, pe);
}

long shape_fetch_add(long *dest, long value, int pe)
{
	return shmem_long_atomic_fetch_add(dest, value, pe);
}

void shape_fence(void)
{
	shmem_fence();
}

void shape_quiet(void)
{
	shmem_quiet();
}
