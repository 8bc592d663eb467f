/* SPDX-License-Identifier: BSD-3-Clause */
/* threads_here.h: how many threads this process has; negative if /proc does not tell. */
#ifndef TESTS_THREADS_HERE_H
#define TESTS_THREADS_HERE_H

#include <dirent.h>

static inline int threads_here(void)
{
	int n = 0;
	DIR *tasks = opendir("/proc/self/task");
	if (!tasks)
		return -1;
	for (const struct dirent *d; (d = readdir(tasks));)
		n += d->d_name[0] != '.';
	closedir(tasks);
	return n;
}

#endif
