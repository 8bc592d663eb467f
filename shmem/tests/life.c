/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Library life: counted init and finalize, starting again, and leftovers. The first argument selects the test;
 * run_life.sh runs it under every launcher.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "shmem_test.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static long in_data = 42, in_bss, counter;
static int me, n;

static int initialized(void)
{
	int yes = -1;
	shmem_query_initialized(&yes);
	return yes;
}

/* puts, gets, an atomic, a reduction, a team, a context: everything that has state */
static void work(long salt)
{
	me = shmem_my_pe();
	n = shmem_n_pes();
	const int right = (me + 1) % n, left = (me + n - 1) % n;
	long *block = shmem_malloc(1000 * sizeof(long));
	CHECK(block);
	for (int i = 0; i < 1000; i++)
		block[i] = -1;
	counter = 0;
	shmem_barrier_all();
	shmem_long_p(&in_bss, salt + me, right);
	shmem_long_p(&block[999], salt * 2 + me, right);
	shmem_long_atomic_add(&counter, 1, 0);
	shmem_barrier_all();
	CHECK(in_bss == salt + left && block[999] == salt * 2 + left);
	CHECK(shmem_long_g(&counter, 0) == n);
	static long source, sum;
	source = me + salt;
	shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &source, 1);
	CHECK(sum == salt * n + (long)n * (n - 1) / 2);
	shmem_team_t team;
	CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &team) == 0);
	shmem_ctx_t ctx;
	CHECK(shmem_team_create_ctx(team, 0, &ctx) == 0);
	shmem_ctx_long_p(ctx, &block[1], salt, right);
	shmem_ctx_quiet(ctx);
	shmem_team_sync(team);
	CHECK(block[1] == salt);
	if (salt & 1) { /* otherwise finalize ends them */
		shmem_ctx_destroy(ctx);
		shmem_team_destroy(team);
		shmem_free(block);
	}
}

static void nested(void)
{
	int level = -1;
	CHECK(initialized() == 0);
	shmem_init();
	CHECK(initialized() == 1);
	CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level) == 0 && level == SHMEM_THREAD_SINGLE);
	shmem_query_thread(&level);
	CHECK(level == SHMEM_THREAD_SINGLE);
	shmem_init();
	work(1);
	shmem_finalize();
	CHECK(initialized() == 1);
	work(2);
	shmem_finalize();
	CHECK(initialized() == 1);
	work(3);
	/* every finalize is a barrier */
	in_bss = 0;
	shmem_barrier_all();
	shmem_init();
	shmem_long_p(&in_bss, 77, (me + 1) % n);
	shmem_finalize();
	CHECK(in_bss == 77);
	shmem_finalize();
	CHECK(initialized() == 0);
	shmem_finalize(); /* an extra call does nothing */
	CHECK(initialized() == 0);
}

static int count_fds(void)
{
	int count = 0;
	DIR *d = opendir("/proc/self/fd");
	while (readdir(d))
		count++;
	closedir(d);
	return count;
}

static int count_maps(void)
{
	int count = 0, c;
	FILE *f = fopen("/proc/self/maps", "r");
	while ((c = getc(f)) != EOF)
		count += c == '\n';
	fclose(f);
	return count;
}

/* Started again and again: the data is kept, including changes in between, and nothing accumulates. */
static void cycles(int count)
{
	int fds = 0, maps = 0, level = -1;
	for (int i = 0; i < count; i++) {
		const int wanted = i % 2 ? SHMEM_THREAD_MULTIPLE : SHMEM_THREAD_SINGLE;
		CHECK(shmem_init_thread(wanted, &level) == 0 && level == wanted);
		CHECK(in_data == 42 + i);
		CHECK(i == 0 || in_bss == 1000 + i - 1);
		work(10 + i);
		shmem_barrier_all();
		shmem_finalize();
		CHECK(initialized() == 0);
		in_data++;
		in_bss = 1000 + i;
		if (i == 4) {
			fds = count_fds();
			maps = count_maps();
		}
	}
	if (count > 5) {
		for (int i = 0; i < 1000 && count_fds() > fds; i++)
			usleep(10000); /* a thread of the provider ends asynchronously */
		CHECK(count_fds() <= fds);
		CHECK(count_maps() <= maps + 8); /* malloc may have grown */
	}
}

/* Threads that each use the library on their own. */
static void *user(void *arg)
{
	int level;
	for (int i = 0; i < 20; i++) {
		CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level) == 0 && level == SHMEM_THREAD_MULTIPLE);
		shmem_long_atomic_inc(&counter, shmem_my_pe());
		shmem_finalize();
	}
	return arg;
}

static void threads(void)
{
	pthread_t t[3];
	int level;
	CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level) == 0);
	me = shmem_my_pe();
	n = shmem_n_pes();
	for (int i = 0; i < 3; i++)
		CHECK(pthread_create(&t[i], NULL, user, NULL) == 0);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	CHECK(counter == 60);
	CHECK(initialized() == 1);
	shmem_finalize();
}

/* start_pes: a repeated call has no effect, one finalize is enough, and a child of fork() that exits is not a leaving
 * PE */
static void old_style(void)
{
	start_pes(0);
	start_pes(4);
	work(5);
	int status = -1;
	const pid_t child = fork();
	if (child == 0)
		exit(0);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	shmem_barrier_all();
	shmem_finalize();
	CHECK(initialized() == 0);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "nested";
	if (!strcmp(what, "nested"))
		nested();
	else if (!strcmp(what, "cycles"))
		cycles(argc > 2 ? atoi(argv[2]) : 50);
	else if (!strcmp(what, "threads"))
		threads();
	else if (!strcmp(what, "old"))
		old_style();
	else
		return 2;
	if (me == 0)
		printf("%s ok on %d\n", what, n ? n : 1);
	return 0;
}
