/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nvshmem_rows FILE [ROW MOST]: rows of device_rows with the host calls of NVSHMEM, whose library FILE is opened at run
 * time; building this needs nothing of NVSHMEM. Without ROW it only reports by its status whether FILE can be opened: 3
 * if not. bench/device_compare runs it, one job for each row, because NVSHMEM ends the process when it does not support
 * a call (collectives between processes that share a device).
 *
 * A job of our OpenSHMEM starts the processes, passes NVSHMEM's id around, and lets idle processes wait: on the CPU, as
 * in device_rows.
 */
#include "device_sample.h"

#include <dlfcn.h>
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NVSHMEM's ABI of version 3: structures begin with (version << 16) + their size. */
struct unique_id {
	int version;
	char internal[124];
};
struct init_attributes {
	int version;
	void *mpi_comm;
	struct {
		int version;
		struct {
			int version;
			struct unique_id *id;
			int rank, ranks;
		} by_id;
		char content[96];
	} args;
};
#define ABI_VERSION(struct_arg) ((1 << 16) + (int)sizeof(struct_arg))
enum { WITH_UNIQUE_ID = 1 << 3, TEAM_WORLD = 0 };
_Static_assert(sizeof(struct unique_id) == 128 && sizeof(struct init_attributes) == 144, "NVSHMEM's sizes");

static int (*get_id)(struct unique_id *);
static int (*set_id)(int rank, int ranks, const struct unique_id *, struct init_attributes *);
static int (*init)(unsigned flags, struct init_attributes *);
static void (*finalize)(void);
static void *(*allocate)(size_t);
static void (*put)(void *, const void *, size_t, int), (*get)(void *, const void *, size_t, int), (*quiet)(void);
static int (*alltoall)(int32_t, void *, const void *, size_t), (*fcollect)(int32_t, void *, const void *, size_t);
static int (*broadcast)(int32_t, void *, const void *, size_t, int);
static int (*sum)(int32_t, double *, const double *, size_t);

static const struct {
	const char *name;
	void *dst;
} calls[] = {
	{"nvshmemx_get_uniqueid", &get_id},
	{"nvshmemx_set_attr_uniqueid_args", &set_id},
	{"nvshmemx_hostlib_init_attr", &init},
	{"nvshmemx_hostlib_finalize", &finalize},
	{"nvshmem_malloc", &allocate},
	{"nvshmem_putmem", &put},
	{"nvshmem_getmem", &get},
	{"nvshmem_quiet", &quiet},
	{"nvshmem_alltoallmem", &alltoall},
	{"nvshmem_fcollectmem", &fcollect},
	{"nvshmem_broadcastmem", &broadcast},
	{"nvshmem_double_sum_reduce", &sum},
};

static int me, n;
static char *src, *dst;

static size_t block(size_t bytes) /* as in device_rows */
{
	return bytes / (size_t)n ? bytes / (size_t)n : 1;
}
static void do_put(size_t bytes)
{
	put(dst, src, bytes, 1);
	quiet();
}
static void do_get(size_t bytes)
{
	get(dst, src, bytes, 1);
}
static void require(int rc, const char *what)
{
	if (rc == 0)
		return;
	fprintf(stderr, "nvshmem_rows: PE %d: %s failed (%d)\n", me, what, rc);
	shmem_global_exit(1);
}
static void do_alltoall(size_t bytes)
{
	require(alltoall(TEAM_WORLD, dst, src, block(bytes)), "nvshmem_alltoallmem");
}
static void do_broadcast(size_t bytes)
{
	require(broadcast(TEAM_WORLD, dst, src, bytes, 0), "nvshmem_broadcastmem");
}
static void do_fcollect(size_t bytes)
{
	require(fcollect(TEAM_WORLD, dst, src, block(bytes)), "nvshmem_fcollectmem");
}
static void do_sum(size_t bytes)
{
	require(sum(TEAM_WORLD, (double *)dst, (const double *)src, bytes / 8), "nvshmem_double_sum_reduce");
}

static const struct row rows[] = {
	{"put-nvshmem", do_put, FIRST, BYTES},         {"get-nvshmem", do_get, FIRST, BYTES},
	{"alltoall-nvshmem", do_alltoall, ALL, WORDS}, {"broadcast-nvshmem", do_broadcast, ALL, BYTES},
	{"fcollect-nvshmem", do_fcollect, ALL, WORDS}, {"sum-nvshmem", do_sum, ALL, WORDS},
};

static int open_library(const char *file)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
	if (!library) {
		fprintf(stderr, "nvshmem_rows: %s\n", dlerror());
		return -1;
	}
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		void *found = dlsym(library, calls[i].name);
		if (!found) {
			fprintf(stderr, "nvshmem_rows: %s has no %s\n", file, calls[i].name);
			return -1;
		}
		memcpy(calls[i].dst, &found, sizeof found);
	}
	return 0;
}

/* NVSHMEM needs a current device: PEs take devices in turn, as partitions do. */
static void choose_device(void)
{
	const char *file = getenv("PGAS_CUDA_DRIVER");
	void *driver = dlopen(file ? file : "libcuda.so.1", RTLD_NOW | RTLD_GLOBAL), *context = NULL;
	int count = 0, device = 0;
	if (!driver)
		require(-1, "opening the CUDA driver");
	require(((int (*)(unsigned))dlsym(driver, "cuInit"))(0), "cuInit");
	require(((int (*)(int *))dlsym(driver, "cuDeviceGetCount"))(&count), "cuDeviceGetCount");
	require(count < 1, "finding a CUDA device");
	require(((int (*)(int *, int))dlsym(driver, "cuDeviceGet"))(&device, me % count), "cuDeviceGet");
	require(((int (*)(void **, int))dlsym(driver, "cuDevicePrimaryCtxRetain"))(&context, device),
		"cuDevicePrimaryCtxRetain");
	require(((int (*)(void *))dlsym(driver, "cuCtxSetCurrent"))(context), "cuCtxSetCurrent");
}

static void open_nvshmem(void)
{
	static struct unique_id id; /* symmetric: the others read PE 0's */
	static struct init_attributes attributes;
	id.version = ABI_VERSION(id);
	attributes.version = ABI_VERSION(attributes);
	attributes.args.version = ABI_VERSION(attributes.args);
	attributes.args.by_id.version = ABI_VERSION(attributes.args.by_id);
	if (me == 0)
		require(get_id(&id), "nvshmemx_get_uniqueid");
	shmem_barrier_all();
	if (me != 0)
		shmem_getmem(&id, &id, sizeof id, 0);
	shmem_barrier_all();
	require(set_id(me, n, &id, &attributes), "nvshmemx_set_attr_uniqueid_args");
	require(init(WITH_UNIQUE_ID, &attributes), "nvshmemx_hostlib_init_attr");
}

int main(int argc, char **argv)
{
	if (argc != 2 && argc != 4) {
		fprintf(stderr, "usage: nvshmem_rows FILE [ROW MOST]\n");
		return 2;
	}
	if (open_library(argv[1]) != 0)
		return 3;
	if (argc == 2)
		return 0;
	const size_t most = strtoull(argv[3], NULL, 10);
	const struct row *row = NULL;
	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
		if (strcmp(rows[r].name, argv[2]) == 0)
			row = &rows[r];
	shmem_init();
	me = shmem_my_pe();
	n = shmem_n_pes();
	if (!row || n < 2 || n > SAMPLE_MOST_PES)
		require(-1, "finding the row, or a job of 2 to 256 PEs");
	choose_device();
	open_nvshmem();
	src = allocate(most + 4096);
	dst = allocate(most + 4096);
	require(!src || !dst, "nvshmem_malloc");
	sample_row(row, most);
	finalize();
	shmem_finalize();
	return 0;
}
