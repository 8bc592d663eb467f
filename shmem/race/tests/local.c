/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Races with loads and stores of the program itself, which oshcc --check makes visible; run_races.sh compiles it so.
 * As races.h has it: the marks say where, a second argument makes it right.
 */
#include <shmem.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long data[64], flag, sum;
static _Atomic long own;

/* The flag comes; what was put before it may not have. */
static void load_too_early(int me, int fixed)
{
	if (me == 0) {
		shmem_long_p(data + 5, 7, 1); /* load_too_early: one */
		if (fixed)
			shmem_fence();
		shmem_long_p(&flag, 1, 1);
	}
	if (me == 1) {
		shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
		for (int i = 0; i < 64; i++)
			sum += data[i]; /* load_too_early: two */
	}
}

/* PE 1 sets its data and says nothing. */
static void store_untold(int me, int fixed)
{
	if (me == 1)
		data[3] = 1; /* store_untold: one */
	if (fixed)
		shmem_sync_all();
	if (me == 0)
		sum += shmem_long_g(data + 3, 1); /* store_untold: two */
}

static void copy_untold(int me, int fixed)
{
	static char text[sizeof data];
	if (me == 0)
		shmem_long_p(data + 9, 1, 1); /* copy_untold: one */
	if (fixed)
		shmem_barrier_all();
	if (me == 1) {
		memcpy(text, data, sizeof text); /* copy_untold: two */
		sum += text[0];
	}
}

/* The source of a put that is under way. */
static void source_stored(int me, int fixed)
{
	shmem_ctx_t ctx;
	shmem_ctx_create(0, &ctx);
	if (me == 0)
		shmem_ctx_long_get_nbi(ctx, &sum, data, 1, 1); /* source_stored: one */
	if (fixed)
		shmem_ctx_quiet(ctx);
	shmem_sync_all();
	if (me == 1)
		data[0] = 4; /* source_stored: two */
	shmem_ctx_destroy(ctx);
}

/* A copy of a size that compilers make a load and a store of. */
static void word_untold(int me, int fixed)
{
	long mine;
	if (me == 0)
		shmem_long_p(data + 9, 1, 1); /* word_untold: one */
	if (fixed)
		shmem_barrier_all();
	if (me == 1) {
		memcpy(&mine, data + 9, sizeof mine); /* word_untold: two */
		sum += mine;
	}
}

/* Buffers of this PE's own operations, which are theirs until quiet. Elements of local arrays clang does not report. */
static void source_changed(int me, int fixed)
{
	long *mine = calloc(8, sizeof *mine);
	if (me == 0)
		shmem_long_put_nbi(data, mine, 8, 1); /* source_changed: one */
	if (fixed)
		shmem_quiet();
	mine[7] = me; /* source_changed: two */
	shmem_quiet();
	free(mine);
}

static void result_read(int me, int fixed)
{
	long *mine = calloc(8, sizeof *mine);
	if (me == 0)
		shmem_long_get_nbi(mine, data, 8, 1); /* result_read: one */
	if (fixed)
		shmem_quiet();
	sum += mine[3]; /* result_read: two */
	shmem_quiet();
	free(mine);
}

static void fetched_read(int me, int fixed)
{
	long mine = 0;
	if (me == 0)
		shmem_long_atomic_fetch_inc_nbi(&mine, data, 1); /* fetched_read: one */
	if (fixed)
		shmem_quiet();
	sum += mine; /* fetched_read: two */
	shmem_quiet();
}

/* Atomics of the program and of OpenSHMEM; that they order is believed, so the counterpart is the other way round. */
static void atomic_and_put(int me, int fixed)
{
	if (me == 1)
		atomic_fetch_add(&own, 1); /* atomic_and_put: one */
	if (me == 0 && fixed)
		shmem_long_atomic_inc((long *)&own, 1);
	else if (me == 0)
		shmem_long_p((long *)&own, 5, 1); /* atomic_and_put: two */
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(int me, int fixed);
	} cases[] = {{"load_too_early", load_too_early}, {"store_untold", store_untold},
		     {"copy_untold", copy_untold},       {"word_untold", word_untold},
		     {"source_changed", source_changed}, {"result_read", result_read},
		     {"fetched_read", fetched_read},     {"source_stored", source_stored},
		     {"atomic_and_put", atomic_and_put}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (argc < 2) {
			puts(cases[i].name);
		} else if (strcmp(argv[1], cases[i].name) == 0) {
			shmem_init();
			cases[i].run(shmem_my_pe(), argc > 2);
			shmem_barrier_all();
			shmem_finalize();
			return 0;
		}
	}
	return argc < 2 ? 0 : 2;
}
