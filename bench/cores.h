/* SPDX-License-Identifier: BSD-3-Clause */
/* The cores that this process may use, in order, and how to stay on one of them. Needs _GNU_SOURCE. */
#ifndef BENCH_CORES_H
#define BENCH_CORES_H

#include <sched.h>
#include <sys/resource.h>
#include <sys/types.h>

/* Returns the number of the core that is the n-th of the process `pid` (0: this one), or -1 if there is none. */
__attribute__((unused)) static int bench_core(pid_t pid, int n)
{
	cpu_set_t all;
	if (sched_getaffinity(pid, sizeof all, &all) != 0 || CPU_COUNT(&all) < 2)
		return -1;
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && n-- == 0)
			return (int)cpu;
	return -1;
}

/* The same, but beyond the last core it begins again with the first. */
__attribute__((unused)) static int bench_core_around(pid_t pid, int n)
{
	cpu_set_t all;
	if (sched_getaffinity(pid, sizeof all, &all) != 0)
		return -1;
	return bench_core(pid, n % CPU_COUNT(&all));
}

/* -1: nothing happens. A refusal only costs accuracy. */
__attribute__((unused)) static void bench_stay_on(int cpu)
{
	cpu_set_t one;
	CPU_ZERO(&one);
	if (cpu < 0)
		return;
	CPU_SET((size_t)cpu, &one);
	sched_setaffinity(0, sizeof one, &one);
}

/* How often this thread lost its core; with sleeps, also how often it gave it away. */
__attribute__((unused)) static long bench_switches(int sleeps)
{
	struct rusage use;
	getrusage(RUSAGE_THREAD, &use); /* a library's own threads may sleep and wake freely */
	return use.ru_nivcsw + (sleeps ? use.ru_nvcsw : 0);
}

#endif /* BENCH_CORES_H */
