/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * start_probe: an OpenSHMEM program that reports how many copies of libfabric are in the process. It may use libfabric
 * itself, like a program that loads a library linked with it:
 *
 *	start_probe [early | late] [close]    before or after shmem_init; close: releases it before shmem_finalize
 *
 * PE n prints "PE n: C copies", after a round of puts.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fabric.h>
#include <shmem.h>

static long from_left;

static int copies(void)
{
	char line[4096], seen[4096] = "";
	int count = 0;
	FILE *maps = fopen("/proc/self/maps", "re");
	while (maps && fgets(line, sizeof line, maps)) {
		const char *path = strchr(line, '/');
		if (!path || !strstr(path, "/libfabric.so") || strcmp(path, seen) == 0)
			continue;
		strcpy(seen, path);
		count++;
	}
	if (maps)
		fclose(maps);
	return maps ? count : -1;
}

static void require(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "start_probe: %s\n", what);
	exit(1);
}

/* Local, as a third party's plug-in loads it; selects our provider by its module. */
static void *use_libfabric(void)
{
	void *library = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
	require(library != NULL, "no libfabric.so.1");
	__typeof__(&fi_getinfo) getinfo = (__typeof__(&fi_getinfo))dlsym(library, "fi_getinfo");
	__typeof__(&fi_dupinfo) dupinfo = (__typeof__(&fi_dupinfo))dlsym(library, "fi_dupinfo");
	__typeof__(&fi_freeinfo) freeinfo = (__typeof__(&fi_freeinfo))dlsym(library, "fi_freeinfo");
	require(getinfo && dupinfo && freeinfo, "libfabric without its calls");
	struct fi_info *hints = dupinfo(NULL), *found = NULL;
	require(hints != NULL, "no memory");
	hints->fabric_attr->prov_name = strdup("pgas");
	require(getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &found) == 0, "libfabric does not find the provider");
	require(strcmp(found->fabric_attr->prov_name, "pgas") == 0, "another provider");
	freeinfo(found);
	freeinfo(hints);
	return library;
}

int main(int argc, char **argv)
{
	const char *when = argc > 1 ? argv[1] : "";
	void *library = strcmp(when, "early") == 0 ? use_libfabric() : NULL;
	shmem_init();
	if (strcmp(when, "late") == 0)
		library = use_libfabric();
	const int me = shmem_my_pe(), n = shmem_n_pes();
	shmem_long_p(&from_left, me + 1, (me + 1) % n);
	shmem_barrier_all();
	require(from_left == (me + n - 1) % n + 1, "a put did not arrive");
	printf("PE %d: %d copies\n", me, copies());
	if (argc > 2 && library)
		dlclose(library);
	shmem_barrier_all();
	shmem_finalize();
	return 0;
}
