/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that need a job on several hosts; the argument selects one:
 *	shape 2,1	this many PEs on each host, in this order: shmem_ptr and SHMEM_TEAM_SHARED agree
 *	ring SECONDS	every PE puts to, counts at and reads from the PE n/2 ranks further, and prints "running" once
 *	late SECONDS	the last PE of the first half prints "running", and after this time puts to the last of all, its
 *			first contact with that PE if hosts have more than one PE
 *	wait SECONDS	PE 0 prints "running" and computes; the others wait for a value that it puts only at the end
 *	barriers SECONDS, compute SECONDS, get SECONDS	prints "running", and then all PEs meet again and again, or
 *			compute and meet at the end, or read from the PE n/2 ranks further
 *	starve SECONDS	the last PE gets no CPU for so long, and PE 0 reads from it meanwhile
 *	alltoall	of 8 bytes, again and again, between barriers
 *	flood N		all PEs put and add N times to PE 0, without synchronisation in between
 * The second and third are also used for fault tests, which kill, stop and cut off PEs and hosts.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* affinity */
#endif
#include "shmem_test.h"

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long g_slot, g_count, g_never, g_word[1];
static int g_me, g_n;

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void say_running(void)
{
	if (g_me == 0) {
		printf("running\n");
		fflush(stdout);
	}
}

static void shape(const char *hosts)
{
	int first = 0, mine = 0, before = 0;
	for (const char *pos = hosts; pos; pos = strchr(pos, ',') ? strchr(pos, ',') + 1 : NULL) {
		const int pes = atoi(pos);
		CHECK(pes > 0);
		if (g_me >= first && g_me < first + pes)
			mine = pes, before = first;
		first += pes;
	}
	CHECK_EQ(first, g_n);
	for (int pe = 0; pe < g_n; pe++)
		CHECK_EQ(shmem_ptr(&g_slot, pe) != NULL, pe >= before && pe < before + mine);
	CHECK_EQ(shmem_team_n_pes(SHMEM_TEAM_SHARED), mine);
	CHECK_EQ(shmem_team_my_pe(SHMEM_TEAM_SHARED), g_me - before);
	CHECK(shmem_ptr(&g_slot, g_me) == (void *)&g_slot);
}

static void ring(double length)
{
	const int dest = (g_me + (g_n > 1 ? g_n / 2 : 0)) % g_n;
	const double end = seconds() + length;
	long rounds = 0;
	do {
		rounds++;
		shmem_long_p(&g_slot, rounds, dest);
		shmem_quiet();
		CHECK_EQ(shmem_long_g(&g_slot, dest), rounds);
		CHECK_EQ(shmem_long_atomic_fetch_add(&g_count, 1, dest), rounds - 1);
		if (rounds == 1) {
			shmem_barrier_all();
			say_running();
		}
	} while (seconds() < end);
	shmem_barrier_all();
	/* another PE writes to me; only it knows how often, but both of its numbers agree */
	CHECK_EQ(g_slot, g_count);
}

static void late(double length)
{
	const int source = g_n / 2 - 1, dest = g_n - 1;
	CHECK(source >= 0);
	shmem_barrier_all();
	if (g_me == source) {
		printf("running\n");
		fflush(stdout);
		for (const double end = seconds() + length; seconds() < end;)
			usleep(1000);
		shmem_long_p(&g_slot, 7, dest);
		shmem_quiet();
		CHECK_EQ(shmem_long_g(&g_slot, dest), 7);
	} else if (g_me == dest)
		shmem_long_wait_until(&g_slot, SHMEM_CMP_EQ, 7);
	shmem_barrier_all();
}

static void wait_for_end(double length)
{
	shmem_barrier_all();
	say_running();
	if (g_me == 0) {
		for (const double end = seconds() + length; seconds() < end;)
			;
		for (int pe = 1; pe < g_n; pe++)
			shmem_long_p(&g_never, 1, pe);
	} else {
		shmem_long_wait_until(&g_never, SHMEM_CMP_NE, 0);
	}
}

/* The end is PE 0's, so that all meet equally often. */
static void barriers(double length)
{
	const double end = seconds() + length;
	shmem_barrier_all();
	say_running();
	do {
		if (g_me == 0)
			g_word[0] = seconds() >= end;
		shmem_long_broadcast(SHMEM_TEAM_WORLD, &g_slot, g_word, 1, 0);
		shmem_barrier_all();
	} while (!g_slot);
}

static void compute(double length)
{
	shmem_barrier_all();
	say_running();
	for (const double end = seconds() + length; seconds() < end;) {}
	shmem_barrier_all();
}

static void get(double length)
{
	const int dest = (g_me + (g_n > 1 ? g_n / 2 : 0)) % g_n;
	shmem_barrier_all();
	say_running();
	for (const double end = seconds() + length; seconds() < end;)
		CHECK_EQ(shmem_long_g(&g_slot, dest), 0);
	shmem_barrier_all();
}

static void *spin(void *unused)
{
	for (volatile unsigned turns = 0;; turns++) {}
	return unused;
}

/* Sixteen threads on the only CPU of this one, whose scheduling class gets a thousandth of what each of them gets. */
static void starve(double length)
{
	const struct sched_param none = {0};
	cpu_set_t before, one;
	CHECK(sched_getaffinity(0, sizeof before, &before) == 0);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	shmem_barrier_all();
	if (g_me == g_n - 1) {
		CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
		const pid_t others = fork();
		if (others == 0) {
			pthread_t thread;
			alarm((unsigned)length);
			for (int i = 1; i < 16; i++)
				CHECK(pthread_create(&thread, NULL, spin, NULL) == 0);
			spin(NULL);
		}
		CHECK(sched_setscheduler(0, SCHED_IDLE, &none) == 0);
		while (waitpid(others, NULL, WNOHANG) == 0) /* whenever it does get a moment, it answers */
			CHECK(!shmem_long_test(&g_never, SHMEM_CMP_NE, 0));
		CHECK(sched_setaffinity(0, sizeof before, &before) == 0);
	} else if (g_me == 0) {
		const double begin = seconds();
		while (seconds() < begin + length)
			CHECK_EQ(shmem_long_g(&g_slot, g_n - 1), 0);
	}
	shmem_barrier_all();
}

static void all_to_all(void)
{
	long *src = shmem_malloc((size_t)g_n * sizeof *src), *dst = shmem_malloc((size_t)g_n * sizeof *dst);
	CHECK(src && dst);
	for (long round = 0; round < 20; round++) {
		for (int pe = 0; pe < g_n; pe++)
			src[pe] = round * 1000000 + g_me * 1000 + pe, dst[pe] = -1;
		shmem_barrier_all();
		CHECK_EQ(shmem_long_alltoall(SHMEM_TEAM_WORLD, dst, src, 1), 0);
		for (int pe = 0; pe < g_n; pe++)
			CHECK_EQ(dst[pe], round * 1000000 + pe * 1000 + g_me);
	}
	shmem_free(dst);
	shmem_free(src);
}

static void flood(long times)
{
	long *addr = shmem_calloc((size_t)g_n, sizeof *addr);
	CHECK(addr);
	for (long i = 1; i <= times; i++) {
		shmem_long_p(&addr[g_me], i, 0);
		shmem_long_atomic_add(&g_word[0], g_me + 1, 0);
	}
	shmem_barrier_all();
	if (g_me == 0) {
		CHECK_EQ(g_word[0], times * g_n * (g_n + 1) / 2);
		for (int pe = 0; pe < g_n; pe++)
			CHECK_EQ(addr[pe], times);
	}
	shmem_free(addr);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	const char *value = argc > 2 ? argv[2] : "1";
	check_doing = what;
	shmem_init();
	g_me = shmem_my_pe();
	g_n = shmem_n_pes();
	if (!strcmp(what, "shape"))
		shape(value);
	else if (!strcmp(what, "ring"))
		ring(atof(value));
	else if (!strcmp(what, "late"))
		late(atof(value));
	else if (!strcmp(what, "wait"))
		wait_for_end(atof(value));
	else if (!strcmp(what, "barriers"))
		barriers(atof(value));
	else if (!strcmp(what, "compute"))
		compute(atof(value));
	else if (!strcmp(what, "get"))
		get(atof(value));
	else if (!strcmp(what, "starve"))
		starve(atof(value));
	else if (!strcmp(what, "alltoall"))
		all_to_all();
	else if (!strcmp(what, "flood"))
		flood(atol(value));
	else
		CHECK(!"no such argument");
	test_done(what);
	return 0;
}
