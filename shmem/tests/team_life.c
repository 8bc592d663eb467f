/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Teams: shapes and queries, wrong arguments, contexts, random trees of teams, many live ones, many made and destroyed,
 * and overlapping teams that reduce at the same time, from one thread and from several. The argument selects the test.
 */
#include "coll_test.h"

#include <pthread.h>
#include <unistd.h>

#define TEST_PES_MOST 4096

static long g_cell, g_sum;
static int g_me, g_n;

/* Every member of the team sees the same shape. */
static void check_team(shmem_team_t team, int members)
{
	const int mine = shmem_team_my_pe(team);
	static long source, dest;
	CHECK(shmem_team_n_pes(team) == members);
	CHECK(mine >= 0 && mine < members && world_pe_of(team, mine) == g_me);
	source = g_me + 1;
	CHECK(shmem_long_sum_reduce(team, &dest, &source, 1) == 0);
	long expected = 0;
	for (int j = 0; j < members; j++)
		expected += world_pe_of(team, j) + 1;
	CHECK(dest == expected);
	CHECK(shmem_team_sync(team) == 0);
}

static void strided(void)
{
	check_doing = "split_strided";
	for (int start = 0; start < g_n; start++)
		for (int stride = -2; stride <= 3; stride++)
			for (int size = 1; size <= g_n; size++) {
				const int last = start + (size - 1) * stride;
				const int valid = last >= 0 && last < g_n && (stride != 0 || size == 1);
				shmem_team_t team = SHMEM_TEAM_WORLD;
				CHECK((shmem_team_split_strided(SHMEM_TEAM_WORLD, start, stride, size, NULL, 0,
								&team) == 0) == valid);
				int input = 0, pos = -1;
				for (int i = 0; valid && i < size; i++)
					if (start + i * stride == g_me)
						input = 1, pos = i;
				CHECK(input == (team != SHMEM_TEAM_INVALID));
				CHECK(shmem_team_my_pe(team) == pos);
				if (input)
					check_team(team, size);
				shmem_team_destroy(team);
			}
}

static void grid(void)
{
	check_doing = "split_2d";
	for (int wide = 1; wide <= g_n + 1; wide++) {
		shmem_team_t x, y;
		const int w = wide < g_n ? wide : g_n, row = g_me / w, column = g_me % w;
		const int row_len = (row + 1) * w <= g_n ? w : g_n - row * w;
		const int column_len = g_n / w + (column < g_n % w);
		CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, wide, NULL, 0, &x, NULL, 0, &y) == 0);
		CHECK(shmem_team_my_pe(x) == column && shmem_team_my_pe(y) == row);
		check_team(x, row_len);
		check_team(y, column_len);
		CHECK(shmem_team_translate_pe(x, 0, y) == (column == 0 ? row : -1));
		shmem_team_destroy(y);
		shmem_team_destroy(x);
	}
}

static void wrong(void)
{
	shmem_team_t team = SHMEM_TEAM_WORLD, other = SHMEM_TEAM_WORLD;
	shmem_team_config_t config = {7};
	shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
	const int far[] = {0, g_n}, twice[] = {0, 0}, fine[] = {0};
	check_doing = "wrong arguments";
	CHECK(shmem_team_my_pe(SHMEM_TEAM_INVALID) == -1 && shmem_team_n_pes(SHMEM_TEAM_INVALID) == -1);
	CHECK(shmem_team_translate_pe(SHMEM_TEAM_INVALID, 0, SHMEM_TEAM_WORLD) == -1);
	CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, SHMEM_TEAM_INVALID) == -1);
	CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, g_n, SHMEM_TEAM_WORLD) == -1);
	CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, -1, SHMEM_TEAM_WORLD) == -1);
	CHECK(shmem_team_get_config(SHMEM_TEAM_INVALID, 0, &config) != 0);
	CHECK(shmem_team_get_config(SHMEM_TEAM_WORLD, 1L << 20, &config) != 0 && config.num_contexts == 7);
	CHECK(shmem_team_split_strided(SHMEM_TEAM_INVALID, 0, 1, 1, NULL, 0, &team) != 0 && team == SHMEM_TEAM_INVALID);
	CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 0, NULL, 0, &team) != 0);
	CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, g_n + 1, NULL, 0, &team) != 0);
	CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, -1, 1, 1, NULL, 0, &team) != 0);
	CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, &config, 1L << 9, &team) != 0);
	CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, SHMEM_TEAM_NUM_CONTEXTS, &team) != 0);
	CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, 0, NULL, 0, &team, NULL, 0, &other) != 0);
	CHECK(team == SHMEM_TEAM_INVALID && other == SHMEM_TEAM_INVALID);
	CHECK(shmemx_team_create_group(SHMEM_TEAM_WORLD, far, 2, NULL, 0, &team) != 0);
	CHECK(shmemx_team_create_group(SHMEM_TEAM_WORLD, twice, 2, NULL, 0, &team) != 0);
	CHECK(shmemx_team_create_group(SHMEM_TEAM_INVALID, fine, 1, NULL, 0, &team) != 0);
	CHECK(shmemx_team_split_color(SHMEM_TEAM_INVALID, 0, 0, NULL, 0, &team) != 0);
	/* one wrong argument: no PE gets a team */
	CHECK(shmemx_team_split_color(SHMEM_TEAM_WORLD, g_me == g_n - 1 ? -5 : 0, 0, NULL, 0, &team) != 0);
	CHECK(team == SHMEM_TEAM_INVALID);
	if (g_n > 1) { /* members disagree: all learn it */
		CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, g_me == 0 ? 1 : 2, NULL, 0, &team) != 0);
		CHECK(team == SHMEM_TEAM_INVALID);
	}
	CHECK(shmem_team_create_ctx(SHMEM_TEAM_INVALID, 0, &ctx) != 0 && ctx == SHMEM_CTX_INVALID);
	CHECK(shmem_ctx_get_team(SHMEM_CTX_INVALID, &team) != 0 && team == SHMEM_TEAM_INVALID);
	CHECK(shmem_team_ptr(SHMEM_TEAM_INVALID, &g_cell, 0) == NULL &&
	      shmem_team_ptr(SHMEM_TEAM_WORLD, &g_cell, g_n) == NULL);
	CHECK(shmem_team_sync(SHMEM_TEAM_INVALID) != 0);
	CHECK(shmem_long_sum_reduce(SHMEM_TEAM_INVALID, &g_sum, &g_cell, 1) != 0);
	CHECK(shmem_long_broadcast(SHMEM_TEAM_INVALID, &g_sum, &g_cell, 1, 0) != 0);
	CHECK(shmem_long_fcollect(SHMEM_TEAM_INVALID, &g_sum, &g_cell, 1) != 0);
	CHECK(shmem_long_collect(SHMEM_TEAM_INVALID, &g_sum, &g_cell, 1) != 0);
	CHECK(shmem_long_alltoall(SHMEM_TEAM_INVALID, &g_sum, &g_cell, 1) != 0);
	CHECK(shmem_long_alltoalls(SHMEM_TEAM_INVALID, &g_sum, &g_cell, 1, 1, 1) != 0);
	CHECK(shmem_long_sum_inscan(SHMEM_TEAM_INVALID, &g_sum, &g_cell, 1) != 0);
	shmem_team_destroy(SHMEM_TEAM_INVALID);
}

/* PE numbers of a context are its team's. */
static void contexts(void)
{
	shmem_team_t back, owner;
	shmem_team_config_t config = {3};
	shmem_ctx_t ctx, again;
	check_doing = "contexts of teams";
	CHECK(shmemx_team_split_color(SHMEM_TEAM_WORLD, g_me % 2, -g_me, &config, SHMEM_TEAM_NUM_CONTEXTS, &back) == 0);
	config.num_contexts = 0;
	CHECK(shmem_team_get_config(back, SHMEM_TEAM_NUM_CONTEXTS, &config) == 0 && config.num_contexts == 3);
	const int mine = shmem_team_my_pe(back), members = shmem_team_n_pes(back), right = (mine + 1) % members;
	CHECK(shmem_team_create_ctx(back, 0, &ctx) == 0 && shmem_team_create_ctx(back, SHMEM_CTX_PRIVATE, &again) == 0);
	CHECK(shmem_ctx_get_team(ctx, &owner) == 0 && owner == back);
	CHECK(shmem_ctx_get_team(SHMEM_CTX_DEFAULT, &owner) == 0 && owner == SHMEM_TEAM_WORLD);
	for (int round = 0; round < 2; round++) {
		const shmem_ctx_t use = round ? again : ctx;
		g_cell = -1;
		g_sum = 0;
		shmem_team_sync(back);
		shmem_ctx_long_p(use, &g_cell, g_me, right);
		shmem_ctx_long_atomic_add(use, &g_sum, 5, right);
		shmem_ctx_quiet(use);
		shmem_team_sync(back);
		CHECK(g_cell == world_pe_of(back, (mine + members - 1) % members));
		CHECK(g_sum == 5);
		CHECK(shmem_ctx_long_g(use, &g_cell, right) == g_me);
		shmem_team_sync(back);
	}
	long *there = shmem_team_ptr(back, &g_cell, right);
	CHECK(there ? *there == g_me : !test_near(world_pe_of(back, right)));
	shmem_team_sync(back);
	shmem_ctx_destroy(again);
	shmem_team_destroy(back); /* destroys the shareable context as well */
	CHECK(shmem_team_create_ctx(SHMEM_TEAM_WORLD, SHMEM_CTX_SERIALIZED, &ctx) == 0);
	shmem_ctx_destroy(ctx);
}

/* Counts them by the namespaces that distinguish hosts. */
static int pes_on_my_host(void)
{
	static const char *const spaces[] = {"net", "uts", "ipc", "pid", "user"};
	static uint64_t mine, all[TEST_PES_MOST];
	CHECK(g_n <= TEST_PES_MOST);
	mine = 0;
	for (size_t i = 0; i < sizeof spaces / sizeof spaces[0]; i++) {
		char path[64], text[64] = "";
		snprintf(path, sizeof path, "/proc/self/ns/%s", spaces[i]);
		CHECK(readlink(path, text, sizeof text - 1) > 0);
		for (const char *c = text; *c; c++)
			mine = mine * 31 + (unsigned char)*c;
	}
	CHECK(shmem_uint64_fcollect(SHMEM_TEAM_WORLD, all, &mine, 1) == 0);
	int same = 0;
	for (int pe = 0; pe < g_n; pe++)
		same += all[pe] == mine;
	return same;
}

static void shared(void)
{
	check_doing = "SHMEM_TEAM_SHARED";
	const int members = shmem_team_n_pes(SHMEM_TEAM_SHARED);
	check_team(SHMEM_TEAM_SHARED, members);
	for (int j = 0; j < members; j++)
		CHECK(shmem_team_ptr(SHMEM_TEAM_SHARED, &g_cell, j) != NULL ||
		      !test_near(world_pe_of(SHMEM_TEAM_SHARED, j)));
	const char *fake = getenv("SHMEM_FAKE_HOSTS");
	unsigned hosts, each;
	if (fake && sscanf(fake, "%ux%u", &hosts, &each) == 2) {
		const int first = g_me / (int)each * (int)each;
		CHECK(members == (first + (int)each <= g_n ? (int)each : g_n - first));
		CHECK(shmem_team_translate_pe(SHMEM_TEAM_SHARED, 0, SHMEM_TEAM_WORLD) == first);
	} else {
		CHECK(members == pes_on_my_host());
	}
}

/* Splits the team at random, again and again, and uses all teams on the way down and up. */
static void tree(shmem_team_t parent, unsigned seed, int depth)
{
	if (depth == 0)
		return;
	for (int k = 0; k < 3; k++) {
		shmem_team_t child;
		unsigned s = seed * 7 + (unsigned)k;
		const int colors = 1 + (int)(next_random(&s) % 3);
		unsigned mine = s + 977u * (unsigned)g_me;
		const int color = (int)(next_random(&mine) % (unsigned)(colors + 1)) - 1;
		const int key = (int)(next_random(&mine) % 5);
		CHECK(shmemx_team_split_color(parent, color, key, NULL, 0, &child) == 0);
		CHECK((child == SHMEM_TEAM_INVALID) == (color < 0));
		if (child != SHMEM_TEAM_INVALID) {
			check_team(child, shmem_team_n_pes(child));
			tree(child, s, depth - 1);
			check_team(child, shmem_team_n_pes(child));
			shmem_team_destroy(child);
		}
		check_team(parent, shmem_team_n_pes(parent));
	}
}

enum { kLive = 1000 };
static void many_live(int count)
{
	static shmem_team_t teams[kLive];
	check_doing = "many live teams";
	for (int i = 0; i < count; i++)
		CHECK(shmemx_team_split_color(SHMEM_TEAM_WORLD, (g_me + i) % 2, i % 3 ? g_me : -g_me, NULL, 0,
					      &teams[i]) == 0);
	for (int i = 0; i < count; i++)
		check_team(teams[i], shmem_team_n_pes(teams[i]));
	for (int i = count - 1; i >= 0; i -= 2)
		shmem_team_destroy(teams[i]);
	for (int i = count - 2; i >= 0; i -= 2) {
		check_team(teams[i], shmem_team_n_pes(teams[i]));
		shmem_team_destroy(teams[i]);
	}
}

/* SHMEM_TEAM_AGREE=bitmask has 64 places; one too many fails on all PEs alike, and destroyed teams return their
 * places. */
static void pool(void)
{
	shmem_team_t teams[65];
	check_doing = "pool of 64";
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 64; i++)
			CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, g_n, NULL, 0, &teams[i]) == 0);
		CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, g_n, NULL, 0, &teams[64]) != 0);
		CHECK(teams[64] == SHMEM_TEAM_INVALID);
		for (int i = 63; i >= 0; i--) {
			check_team(teams[i], g_n);
			shmem_team_destroy(teams[i]);
		}
	}
}

static long resident_kib(void)
{
	long kib = -1;
	char line[128];
	FILE *f = fopen("/proc/self/status", "r");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "VmRSS: %ld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

/* Sizes change, so that memory of one team becomes memory of teams of other shapes. */
static void cycles(long count)
{
	long before = 0;
	check_doing = "make and destroy";
	for (long i = 0; i < count; i++) {
		shmem_team_t team;
		const int size = 1 + (int)(i % g_n);
		if (i == count / 2)
			before = resident_kib();
		CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, (int)(i % (g_n - size + 1)), 1, size, NULL, 0,
					       &team) == 0);
		if (team != SHMEM_TEAM_INVALID && i % 7 == 0)
			check_team(team, size);
		shmem_team_destroy(team);
	}
	CHECK(resident_kib() - before < 512); /* does not grow */
}

/* --- overlapping teams -------------------------------------------------------------------------------------------- */
enum { kLong = 16384, kTeams = 5 };
static long double *g_from, *g_to[kTeams];
static shmem_team_t g_overlap[kTeams];

static long double element(int pe, int team, int round, size_t i)
{
	return (long double)(pe + 1) * 0.5L + (long double)((i + (size_t)team * 3 + (size_t)round) % 17);
}

static void reduce_on(int k, int round)
{
	const shmem_team_t team = g_overlap[k];
	if (team == SHMEM_TEAM_INVALID)
		return;
	long double *src = g_from + (size_t)k * kLong;
	for (size_t i = 0; i < kLong; i++)
		src[i] = element(g_me, k, round, i);
	CHECK(shmem_longdouble_sum_reduce(team, g_to[k], src, kLong) == 0);
	for (size_t i = 0; i < kLong; i += 5) {
		long double sum = 0;
		for (int j = 0; j < shmem_team_n_pes(team); j++)
			sum += element(world_pe_of(team, j), k, round, i);
		CHECK(g_to[k][i] == sum);
	}
	shmem_team_sync(team); /* all have read their dest before the next result is written there */
}

/* Threads also make and destroy teams at the same time, each from its own parent. */
static void *reduce_thread(void *arg)
{
	const int k = (int)(intptr_t)arg;
	for (int round = 0; round < 4; round++) {
		reduce_on(k, round);
		for (int i = 0; i < 50 && g_overlap[k] != SHMEM_TEAM_INVALID; i++) {
			shmem_team_t copy;
			CHECK(shmem_team_split_strided(g_overlap[k], 0, 1, shmem_team_n_pes(g_overlap[k]), NULL, 0,
						       &copy) == 0);
			CHECK(shmem_team_sync(copy) == 0);
			shmem_team_destroy(copy);
		}
	}
	return NULL;
}

static void overlap(int threads)
{
	check_doing = "overlapping teams";
	g_from = shmem_malloc(kTeams * kLong * sizeof *g_from);
	for (int k = 0; k < kTeams; k++)
		g_to[k] = shmem_malloc(kLong * sizeof **g_to);
	/* neighbours in a ring share a PE; two teams of all; all but one */
	CHECK(shmemx_team_split_color(SHMEM_TEAM_WORLD, g_me / 2, g_me, NULL, 0, &g_overlap[0]) == 0);
	CHECK(shmemx_team_split_color(SHMEM_TEAM_WORLD, (g_me + 1) % g_n / 2, -g_me, NULL, 0, &g_overlap[1]) == 0);
	CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, g_n, NULL, 0, &g_overlap[2]) == 0);
	CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, g_n - 1, -1, g_n, NULL, 0, &g_overlap[3]) == 0);
	CHECK(shmemx_team_split_color(SHMEM_TEAM_WORLD, g_me == g_n / 2 && g_n > 1 ? -1 : 0, 0, NULL, 0,
				      &g_overlap[4]) == 0);
	if (threads) {
		pthread_t ids[kTeams];
		for (int k = 0; k < kTeams; k++)
			CHECK(pthread_create(&ids[k], NULL, reduce_thread, (void *)(intptr_t)k) == 0);
		for (int k = 0; k < kTeams; k++)
			pthread_join(ids[k], NULL);
	} else {
		for (int round = 0; round < 4; round++)
			for (int k = 0; k < kTeams; k++)
				reduce_on(k, round);
	}
	shmem_barrier_all();
	for (int k = 0; k < kTeams; k++)
		shmem_team_destroy(g_overlap[k]);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "shapes";
	const long count = argc > 2 ? atol(argv[2]) : 0;
	int level;
	if (!strcmp(what, "threads"))
		shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level);
	else
		shmem_init();
	g_me = shmem_my_pe();
	g_n = shmem_n_pes();
	if (!strcmp(what, "shapes")) {
		strided();
		grid();
		wrong();
		contexts();
		shared();
	} else if (!strcmp(what, "tree")) {
		check_doing = "random tree";
		for (unsigned seed = 1; seed <= (unsigned)count; seed++)
			tree(SHMEM_TEAM_WORLD, seed, 3);
	} else if (!strcmp(what, "live")) {
		many_live(count ? (int)count : kLive);
	} else if (!strcmp(what, "pool")) {
		pool();
	} else if (!strcmp(what, "cycles")) {
		cycles(count);
	} else {
		overlap(!strcmp(what, "threads"));
	}
	shmem_barrier_all();
	if (g_me == 0)
		printf("%d PEs: %s as it should be\n", g_n, what);
	shmem_finalize();
	return 0;
}
