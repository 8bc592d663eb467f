/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uniqueid.c: one process of jobs that start without a launcher.
 *
 *	uniqueid WHAT RANK SIZE FILE
 *
 * Rank 0 makes the id and writes it to FILE, which appears as a whole; the others wait for it.
 */
#include "shmem_test.h"

#include <dirent.h>
#include <shmemx.h>
#include <signal.h>
#include <unistd.h>

static long counter, from_left;

static int read_id(const char *path, shmemx_uniqueid_t *id)
{
	FILE *file = fopen(path, "rb");
	const size_t got = file ? fread(id, 1, sizeof *id, file) : 0;
	if (file)
		fclose(file);
	return got == sizeof *id;
}

/* Exits with the code 2 if it cannot. */
static void write_id(const char *path, const shmemx_uniqueid_t *id)
{
	char fresh[600];
	snprintf(fresh, sizeof fresh, "%s.new", path);
	FILE *file = fopen(fresh, "wb");
	if (!file || fwrite(id, 1, sizeof *id, file) != sizeof *id || fclose(file) != 0 || rename(fresh, path) != 0) {
		perror(fresh);
		exit(2);
	}
}

static void get_id(const char *path, int rank, shmemx_uniqueid_t *id)
{
	if (rank != 0) {
		while (!read_id(path, id))
			usleep(10000);
	} else if (shmemx_get_uniqueid(id) == 0) {
		write_id(path, id);
	} else {
		exit(2);
	}
}

/* Static data, heap, atomics and collectives reach all the others. */
static void work(int rank, int size)
{
	CHECK_EQ(shmem_my_pe(), rank);
	CHECK_EQ(shmem_n_pes(), size);
	const int right = (rank + 1) % size, left = (rank + size - 1) % size;
	long *sum = shmem_calloc(2, sizeof(long)), start = shmem_long_g(&counter, 0);
	CHECK(sum);
	shmem_barrier_all();
	shmem_long_p(&from_left, rank + 1, right);
	shmem_long_atomic_inc(&counter, 0);
	sum[0] = rank;
	shmem_barrier_all();
	CHECK_EQ(from_left, left + 1);
	CHECK_EQ(shmem_long_g(&counter, 0), start + size);
	CHECK_EQ(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum[1], &sum[0], 1), 0);
	CHECK_EQ(sum[1], (long)size * (size - 1) / 2);
	shmem_barrier_all();
	shmem_free(sum);
}

static int count_entries(const char *folder)
{
	int count = 0;
	DIR *dir = opendir(folder);
	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count;
}

/* Joins one job after the other, with the ranks the other way round in every second one: this process is not always
 * the one that serves. After each it has the threads and descriptors that it had before. */
static void repeat(int rank, int size, const char *file)
{
	shmemx_uniqueid_t id;
	char path[500];
	int threads = 0, files = 0;
	for (int job = 0; job < 4; job++) {
		const int mine = job % 2 ? size - 1 - rank : rank;
		int level = -1, started = -1;
		snprintf(path, sizeof path, "%s.%d", file, job);
		get_id(path, mine, &id);
		CHECK_OK(shmemx_init_thread_uniqueid(&id, mine, size, SHMEM_THREAD_MULTIPLE, &level));
		CHECK_EQ(level, SHMEM_THREAD_MULTIPLE);
		work(mine, size);
		shmem_query_initialized(&started);
		CHECK_EQ(started, 1);
		shmem_finalize();
		if (job > 0 &&
		    (count_entries("/proc/self/task") != threads || count_entries("/proc/self/fd") != files)) {
			fprintf(stderr, "job %d left threads or descriptors\n", job);
			exit(3);
		}
		threads = count_entries("/proc/self/task");
		files = count_entries("/proc/self/fd");
	}
}

static void misuse(int rank, int size, const char *file)
{
	shmemx_uniqueid_t id;
	int level;
	CHECK(shmemx_get_uniqueid(NULL) != 0);
	CHECK(shmemx_init_uniqueid(NULL, 0, 1) != 0);
	memset(&id, 7, sizeof id);
	CHECK(shmemx_init_uniqueid(&id, 0, 1) != 0);
	get_id(file, rank, &id);
	CHECK(shmemx_init_uniqueid(&id, size, size) != 0);
	CHECK_OK(shmemx_init_uniqueid(&id, rank, size)); /* errors before have not hurt this job */
	CHECK(shmemx_init_uniqueid(&id, rank, size) != 0);
	CHECK(shmemx_init_thread_uniqueid(&id, rank, size, SHMEM_THREAD_SINGLE, &level) != 0);
	shmem_init(); /* counted, as always */
	shmem_finalize();
	work(rank, size);
	shmem_finalize();
}

/* The last PE joins one job alone before it joins the others': processes need not have the same past. */
static void newcomer(int rank, int size, const char *file)
{
	shmemx_uniqueid_t id;
	if (rank == size - 1) {
		CHECK_OK(shmemx_get_uniqueid(&id));
		CHECK_OK(shmemx_init_uniqueid(&id, 0, 1));
		work(0, 1);
		shmem_finalize();
		shmem_init(); /* and one of no launcher at all */
		CHECK_EQ(shmem_n_pes(), 1);
		shmem_finalize();
	}
	get_id(file, rank, &id);
	CHECK_OK(shmemx_init_uniqueid(&id, rank, size));
	work(rank, size);
	shmem_finalize();
}

int main(int argc, char **argv)
{
	shmemx_uniqueid_t id;
	if (argc < 5) {
		fprintf(stderr, "usage: uniqueid WHAT RANK SIZE FILE\n");
		return 2;
	}
	const char *what = argv[1], *file = argv[4];
	const int rank = atoi(argv[2]), size = atoi(argv[3]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (strcmp(what, "repeat") == 0) {
		repeat(rank, size, file);
	} else if (strcmp(what, "misuse") == 0) {
		misuse(rank, size, file);
	} else if (strcmp(what, "newcomer") == 0) {
		newcomer(rank, size, file);
	} else {
		get_id(file, rank, &id);
		if (shmemx_init_uniqueid(&id, rank, size) != 0)
			return 4;
		work(rank, size);
		printf("PE %d is running\n", rank);
		if (strcmp(what, "hang") == 0) /* until a signal comes, here or to another PE */
			for (;;)
				pause();
		if (strcmp(what, "exit") == 0)
			shmem_global_exit(rank == size - 1 ? 5 : 6);
		if (strcmp(what, "return") == 0)
			return 0; /* finalize is implied */
		shmem_finalize();
	}
	printf("PE %d of %d: all as it should be\n", rank, size);
	return 0;
}
