/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Static data that the program never touches costs nothing: not at init, not in a child of fork(). Data that it did
 * touch is there in both, wherever in .bss it lies.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "shmem_test.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef HUGE_BYTES
#define HUGE_BYTES ((size_t)1 << 30)
#endif
enum { SPOTS = 40 };
static char huge[HUGE_BYTES];
static long filled[3000] = {1, 2, 3};
static long later;

static char *spot(int i)
{
	return &huge[(HUGE_BYTES - 1) / (SPOTS - 1) * (size_t)i];
}

static long kib(const char *name) /* of /proc/self/status */
{
	char line[256];
	long value = -1;
	FILE *f = fopen("/proc/self/status", "r");
	while (f && fgets(line, sizeof line, f))
		if (strncmp(line, name, strlen(name)) == 0)
			value = atol(line + strlen(name) + 1);
	if (f)
		fclose(f);
	return value;
}

static long data_kib(void) /* memory backing the static data */
{
	char path[300], dst[300];
	long blocks = -1;
	DIR *d = opendir("/proc/self/fd");
	for (struct dirent *e; (e = readdir(d));) {
		struct stat info;
		snprintf(path, sizeof path, "/proc/self/fd/%s", e->d_name);
		const ssize_t length = readlink(path, dst, sizeof dst - 1);
		dst[length > 0 ? length : 0] = '\0';
		if (strstr(dst, "memfd:shmem-data") && stat(path, &info) == 0)
			blocks = (long)info.st_blocks / 2;
	}
	closedir(d);
	return blocks;
}

static int as_left(void)
{
	for (int i = 0; i < SPOTS; i++)
		if (*spot(i) != (char)(i + 1))
			return 0;
	return filled[0] == 1 && filled[2] == 3 && filled[2999] == 4 && huge[HUGE_BYTES / 2 + 5] == 0;
}

/* The child's own changes must not reach the parent, nor be lost in its own child. */
static int child(void)
{
	const long before = kib("VmRSS:");
	if (!as_left() || later != 7)
		return 1;
	if (before < 0 || before > 300 * 1024)
		return 2;
	huge[12345] = 99;
	filled[1] = 55;
	const pid_t pid = fork();
	if (pid == 0)
		_exit(huge[12345] == 99 && filled[1] == 55 ? 0 : 1);
	int status = -1;
	return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 3;
}

int main(void)
{
	for (int i = 0; i < SPOTS; i++)
		*spot(i) = (char)(i + 1);
	filled[2999] = 4;
	const volatile char *looked_at = huge; /* read, hence mapped, but still no memory */
	long sum = 0;
	for (size_t i = 0; i < ((size_t)64 << 20); i += 4096)
		sum += looked_at[HUGE_BYTES / 4 + i];
	CHECK(sum >= 0);
	shmem_init();
	CHECK(as_left());
	/* the spots, a few megabytes of the program's own, and no more */
	CHECK(data_kib() > 0 && data_kib() < 40 * 1024);
	CHECK(kib("VmRSS:") < 300 * 1024);
	const int right = (shmem_my_pe() + 1) % shmem_n_pes();
	shmem_long_p(&later, 7, right);
	shmem_char_p(&huge[HUGE_BYTES / 3], 3, right);
	shmem_barrier_all();
	CHECK(later == 7 && huge[HUGE_BYTES / 3] == 3);
	fflush(stdout);
	const pid_t pid = fork();
	if (pid == 0)
		_exit(child());
	int status = -1;
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(status == 0);
	CHECK(huge[12345] == 0 && filled[1] == 2);
	CHECK(data_kib() < 40 * 1024);
	test_done("untouched static data");
	return 0;
}
