/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A shared library with static data, which is not symmetric: for shmem_wrong.c. Accessed through a function: the linker
 * copies a variable that the program names itself into the program's own data.
 */
long *outside(void);

long *outside(void)
{
	static long cells[4];
	return cells;
}
