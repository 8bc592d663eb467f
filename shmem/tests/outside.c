/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A shared library with static data, which is not symmetric: for shmem_wrong.c. By a function: a variable that the
 * program names itself is copied into the program's own data by the linker.
 */
long *outside(void);

long *outside(void)
{
	static long cells[4];
	return cells;
}
