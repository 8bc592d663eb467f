/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stats_probe [off | child | on-off | team]: a fixed number of calls of every family on each PE, all to the next PE,
 * whose figures run_stats.sh knows.  off: says whether the tool is loaded.  child: what a program that it starts finds
 * in its environment.  on-off: the same calls once more, between shmem_pcontrol(0) and shmem_pcontrol(1).  team:
 * one put more by a context of another team.
 */
#include "shmem_test.h"

static int words[64], more[64];
static long counter;
static uint64_t told;
static double parts[8], sums[8];

static void calls(int next)
{
	int src[64] = {0};
	for (int i = 0; i < 3; i++)
		shmem_int_put(words, src, 10, next); /* 40 bytes each */
	shmem_int_p(words, 1, next);
	for (int i = 0; i < 5; i++)
		(void)shmem_long_g(&counter, next);
	shmem_put64_nbi(words, src, 4, next); /* 32 bytes */
	shmem_quiet();
	shmem_long_atomic_inc(&counter, next);
	shmem_long_atomic_fetch_add(&counter, 2, next);
	shmem_barrier_all();
	shmem_int_put_signal(more, src, 2, &told, 1, SHMEM_SIGNAL_ADD, next); /* 8 bytes */
	shmem_signal_wait_until(&told, SHMEM_CMP_GE, 1);
	for (int i = 0; i < 8; i++)
		parts[i] = i;
	shmem_double_sum_reduce(SHMEM_TEAM_WORLD, sums, parts, 8); /* 64 bytes */
	CHECK_EQ(sums[7], 7.0 * shmem_n_pes());
	shmem_sync_all();
}

/* From another team: PE numbers are those of the world in the figures. */
static void from_team(void)
{
	shmem_team_t odd;
	shmem_ctx_t ctx;
	const int me = shmem_my_pe(), n = shmem_n_pes();
	CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 1, n - 1, NULL, 0, &odd), 0);
	if (me >= 1) {
		CHECK_EQ(shmem_team_create_ctx(odd, 0, &ctx), 0);
		shmem_ctx_int_p(ctx, words, 5, n - 2); /* the last PE of both */
		shmem_ctx_quiet(ctx);
		shmem_ctx_destroy(ctx);
	}
	shmem_barrier_all();
}

static int is_loaded(void)
{
	char line[512];
	int found = 0;
	FILE *maps = fopen("/proc/self/maps", "r");
	while (maps && fgets(line, sizeof line, maps))
		found |= strstr(line, "libsma-tools") != NULL;
	if (maps)
		fclose(maps);
	return found;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	shmem_init();
	const int me = shmem_my_pe(), next = (me + 1) % shmem_n_pes();
	if (strcmp(what, "off") == 0 && me == 0)
		puts(is_loaded() ? "the tool is loaded" : "the tool is not loaded");
	if (strcmp(what, "child") == 0 && me == 0) {
		fflush(stdout);
		/* grep finds none */
		CHECK_EQ(system("echo \"preload: ${LD_PRELOAD-none}\"; env | grep IMPL_AGAIN"), 256);
	}
	int *block = shmem_malloc(1000 * sizeof(int));
	CHECK(block != NULL);
	if (strcmp(what, "on-off") == 0) {
		shmem_pcontrol(0);
		calls(next);
		shmem_pcontrol(1);
		told = 0;
		shmem_barrier_all();
	}
	calls(next);
	if (strcmp(what, "team") == 0)
		from_team();
	shmem_free(block);
	test_done("stats_probe");
	return 0;
}
