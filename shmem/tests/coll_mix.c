/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of all kinds in random order on several overlapping teams, one after the other without a barrier between
 * them, while PEs pause at random: members run ahead of each other as far as the library lets them. Every result is
 * compared. Every PE draws the same sequence. Results go to separate places, so that dest is ready when the standard
 * requires it.
 */
#include "coll_test.h"

enum { kBatch = 40, kWords = 300, kTeams = 4, kMostPes = 16 };
static long g_source[kWords * kMostPes];
static long g_dest[kBatch][kWords * kMostPes];
static int g_me;

/* Runs one collective; the two random numbers select it. */
static void step(shmem_team_t team, int pos, unsigned kind, unsigned draw)
{
	static const size_t sizes[] = {1, 7, 8, 30, kWords};
	const size_t n = sizes[draw % 5];
	const int members = shmem_team_n_pes(team), mine = shmem_team_my_pe(team),
		  root = (int)(draw / 5 % (unsigned)members);
	long *dest = g_dest[pos];
	for (size_t i = 0; i < n * (size_t)members; i++)
		g_source[i] = word(g_me, pos, i);
	switch (kind % 11) {
	case 0:
	case 1:
	case 2: /* often: in these no PE waits for the others */
		CHECK(shmem_long_broadcast(team, dest, g_source, n, root) == 0);
		for (size_t i = 0; i < n; i++)
			CHECK(dest[i] == word(world_pe_of(team, root), pos, i));
		break;
	case 3:
		CHECK(shmem_long_sum_reduce(team, dest, g_source, n) == 0);
		for (size_t i = 0; i < n; i++) {
			long sum = 0;
			for (int j = 0; j < members; j++)
				sum += word(world_pe_of(team, j), pos, i);
			CHECK(dest[i] == sum);
		}
		break;
	case 4:
		CHECK(shmem_long_fcollect(team, dest, g_source, n) == 0);
		for (size_t i = 0; i < n * (size_t)members; i++)
			CHECK(dest[i] == word(world_pe_of(team, (int)(i / n)), pos, i % n));
		break;
	case 5:
		CHECK(shmem_long_alltoall(team, dest, g_source, n) == 0);
		for (size_t i = 0; i < n * (size_t)members; i++)
			CHECK(dest[i] == word(world_pe_of(team, (int)(i / n)), pos, (size_t)mine * n + i % n));
		break;
	case 6: {
		const size_t give = n / (1 + (size_t)(mine + pos) % 3);
		CHECK(shmem_long_collect(team, dest, g_source, give) == 0);
		size_t index = 0;
		for (int j = 0; j < members; j++)
			for (size_t i = 0; i < n / (1 + (size_t)(j + pos) % 3); i++, index++)
				CHECK(dest[index] == word(world_pe_of(team, j), pos, i));
		break;
	}
	case 7:
		CHECK(shmemx_long_gather(team, dest, g_source, n, root) == 0);
		for (size_t i = 0; i < n * (size_t)members && mine == root; i++)
			CHECK(dest[i] == word(world_pe_of(team, (int)(i / n)), pos, i % n));
		break;
	case 8:
		CHECK(shmemx_long_scatter(team, dest, g_source, n, root) == 0);
		for (size_t i = 0; i < n; i++)
			CHECK(dest[i] == word(world_pe_of(team, root), pos, (size_t)mine * n + i));
		break;
	case 9: { /* member i sends n / (1 + i) elements to each */
		size_t dst[kMostPes], src[kMostPes], displs[kMostPes];
		for (int j = 0; j < members; j++) {
			dst[j] = n / (size_t)(1 + j);
			src[j] = n / (size_t)(1 + mine);
			displs[j] = (size_t)j * n;
		}
		CHECK(shmemx_long_alltoallv(team, dest, dst, displs, g_source, src, displs) == 0);
		for (int j = 0; j < members; j++)
			for (size_t i = 0; i < dst[j]; i++)
				CHECK(dest[displs[j] + i] == word(world_pe_of(team, j), pos, (size_t)mine * n + i));
		break;
	}
	default:
		if (draw % 2)
			CHECK(shmem_long_sum_exscan(team, dest, g_source, n) == 0);
		else
			CHECK(shmem_team_sync(team) == 0);
		for (size_t i = 0; i < n && draw % 2; i++) {
			long sum = 0;
			for (int j = 0; j < mine; j++)
				sum += word(world_pe_of(team, j), pos, i);
			CHECK(dest[i] == sum);
		}
	}
}

/* A root that runs ahead of the others as far as it can, with varying sizes: no unread data is overwritten. */
static void streams(shmem_team_t team, unsigned *own)
{
	enum { kStream = 150 };
	static long source[kWords], dest[kStream][kWords];
	check_doing = "streams of broadcasts";
	const int members = shmem_team_n_pes(team), mine = shmem_team_my_pe(team);
	for (int round = 0; round < 12; round++) {
		const int root = round % members;
		for (int i = 0; i < kStream; i++) {
			const size_t n = round % 3 == 0   ? 1
					 : round % 3 == 1 ? (size_t)(i % 7 + 1)
							  : (i % 50 ? 1 : kWords);
			for (size_t k = 0; k < n; k++)
				source[k] = word(root, i, k); /* the root may modify its source at once */
			if (mine != root && i % 40 == 39)
				rest(own);
			CHECK(shmem_long_broadcast(team, dest[i], source, n, root) == 0);
			for (size_t k = 0; k < n; k++)
				CHECK(dest[i][k] == word(root, i, k));
		}
		shmem_team_sync(team); /* all dests have been checked */
	}
}

/* Sums whose rounding depends on the order: the same bits on every member and every time. */
static void reproducible(shmem_team_t team)
{
	enum { kReals = 1500 };
	static double source[kReals], dest[2][kReals], all[kReals * kMostPes];
	check_doing = "reproducible sums";
	for (size_t n = 3; n <= kReals; n = n * 4 + 1) {
		for (size_t i = 0; i < n; i++)
			source[i] = 1.0 / (double)(g_me * 7 + (int)i + 3);
		for (int k = 0; k < 2; k++)
			CHECK(shmem_double_sum_reduce(team, dest[k], source, n) == 0);
		CHECK(memcmp(dest[0], dest[1], n * sizeof(double)) == 0);
		CHECK(shmem_double_fcollect(team, all, dest[0], n) == 0);
		for (int j = 0; j < shmem_team_n_pes(team); j++)
			CHECK(memcmp(all + (size_t)j * n, dest[0], n * sizeof(double)) == 0);
		shmem_team_sync(team);
	}
}

int main(int argc, char **argv)
{
	shmem_init();
	g_me = shmem_my_pe();
	const int n = shmem_n_pes(), batches = argc > 1 ? atoi(argv[1]) : 50;
	CHECK(n <= kMostPes);
	shmem_team_t teams[kTeams] = {SHMEM_TEAM_WORLD};
	CHECK(shmemx_team_split_color(SHMEM_TEAM_WORLD, g_me % 2, -g_me, NULL, 0, &teams[1]) == 0);
	CHECK(shmemx_team_split_color(SHMEM_TEAM_WORLD, g_me / 3, g_me, NULL, 0, &teams[2]) == 0);
	CHECK(shmemx_team_split_color(SHMEM_TEAM_WORLD, g_me == n - 1 && n > 1 ? -1 : 0, 0, NULL, 0, &teams[3]) == 0);
	for (int k = 0; k < kTeams; k++)
		if (teams[k] != SHMEM_TEAM_INVALID)
			reproducible(teams[k]);
	unsigned shared = 12345, own = 99u * (unsigned)g_me + 7;
	for (int k = 0; k < kTeams; k++) {
		if (teams[k] != SHMEM_TEAM_INVALID)
			streams(teams[k], &own);
		shmem_barrier_all(); /* the teams overlap, and use the same dests */
	}
	check_doing = "mixed collectives";
	for (int b = 0; b < batches; b++) {
		for (int pos = 0; pos < kBatch; pos++) {
			const unsigned which = next_random(&shared), kind = next_random(&shared),
				       draw = next_random(&shared);
			rest(&own);
			if (teams[which % kTeams] != SHMEM_TEAM_INVALID)
				step(teams[which % kTeams], pos, kind, draw);
		}
		shmem_barrier_all(); /* all dests have been checked */
	}
	for (int k = 1; k < kTeams; k++)
		shmem_team_destroy(teams[k]);
	shmem_barrier_all();
	if (g_me == 0)
		printf("%d PEs: %d mixed collectives\n", n, batches * kBatch);
	shmem_finalize();
	return 0;
}
