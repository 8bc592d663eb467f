/* SPDX-License-Identifier: BSD-3-Clause */
/* One kind of wrong use of teams and collectives per run: run_coll_wrong.sh checks the line that the library prints. */
#include "coll_test.h"

static long g_from[64], g_to[64], g_psync[SHMEM_SYNC_SIZE];

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long stack[4] = {0};
	shmem_team_t team;
	if (!strcmp(what, "before"))
		shmem_long_sum_reduce(SHMEM_TEAM_WORLD, g_to, g_from, 1);
	shmem_init();
	const int me = shmem_my_pe(), n = shmem_n_pes();
	if (!strcmp(what, "root"))
		shmem_long_broadcast(SHMEM_TEAM_WORLD, g_to, g_from, 1, n);
	else if (!strcmp(what, "dest"))
		shmem_long_sum_reduce(SHMEM_TEAM_WORLD, stack, g_from, 1);
	else if (!strcmp(what, "source"))
		shmem_long_fcollect(SHMEM_TEAM_WORLD, g_to, stack, 1);
	else if (!strcmp(what, "stride"))
		shmem_long_alltoalls(SHMEM_TEAM_WORLD, g_to, g_from, 1, 0, 1);
	else if (!strcmp(what, "gather-root"))
		shmemx_long_gather(SHMEM_TEAM_WORLD, g_to, g_from, 1, -1);
	else if (!strcmp(what, "gather-dest"))
		shmemx_long_gather(SHMEM_TEAM_WORLD, stack, g_from, 1, 0);
	else if (!strcmp(what, "scatter-source"))
		shmemx_long_scatter(SHMEM_TEAM_WORLD, g_to, stack, 1, 0);
	else if (!strcmp(what, "scatter-huge"))
		shmemx_long_scatter(SHMEM_TEAM_WORLD, g_to, g_from, SIZE_MAX / 2, 0);
	else if (!strncmp(what, "v-", 2)) {
		size_t ones[8] = {1, 1, 1, 1, 1, 1, 1, 1}, twos[8] = {2, 2, 2, 2, 2, 2, 2, 2};
		size_t places[8] = {0, 2, 4, 6, 8, 10, 12, 14};
		if (!strcmp(what, "v-null"))
			shmemx_long_alltoallv(SHMEM_TEAM_WORLD, g_to, ones, NULL, g_from, ones, places);
		else if (!strcmp(what, "v-counts"))
			shmemx_long_alltoallv(SHMEM_TEAM_WORLD, g_to, me ? ones : twos, places, g_from, ones, places);
		else if (!strcmp(what, "v-beyond")) {
			places[1] = (size_t)1 << 50;
			shmemx_long_alltoallv(SHMEM_TEAM_WORLD, g_to, ones, places, g_from, ones, places);
		} else if (!strcmp(what, "v-huge")) {
			places[1] = SIZE_MAX;
			shmemx_long_alltoallv(SHMEM_TEAM_WORLD, g_to, ones, places, g_from, ones, places);
		} else { /* blocks of dest overlap */
			places[1] = 1;
			shmemx_long_alltoallv(SHMEM_TEAM_WORLD, g_to, twos, places, g_from, twos, places);
		}
	} else if (!strcmp(what, "huge"))
		shmem_long_fcollect(SHMEM_TEAM_WORLD, g_to, g_from, SIZE_MAX / 4);
	else if (!strcmp(what, "nelems"))
		shmem_long_sum_reduce(SHMEM_TEAM_WORLD, g_to, g_from, me ? 5 : 6);
	else if (!strcmp(what, "roots"))
		shmem_long_broadcast(SHMEM_TEAM_WORLD, g_to, g_from, 1, me ? 1 : 0);
	else if (!strcmp(what, "routines")) {
		if (me)
			shmem_long_sum_reduce(SHMEM_TEAM_WORLD, g_to, g_from, 1);
		else
			shmem_long_max_reduce(SHMEM_TEAM_WORLD, g_to, g_from, 1);
	} else if (!strcmp(what, "objects"))
		shmem_long_sum_reduce(SHMEM_TEAM_WORLD, g_to + (me ? 1 : 0), g_from, 1);
	else if (!strncmp(what, "nb-", 3)) {
		shmemx_req_h request, copy;
		if (!strcmp(what, "nb-null"))
			shmemx_long_sum_reduce_nb(SHMEM_TEAM_WORLD, g_to, g_from, 1, NULL);
		else if (!strcmp(what, "nb-dest"))
			shmemx_long_sum_reduce_nb(SHMEM_TEAM_WORLD, stack, g_from, 1, &request);
		else if (!strcmp(what, "nb-root"))
			shmemx_long_broadcast_nb(SHMEM_TEAM_WORLD, g_to, g_from, 1, n, &request);
		else if (!strcmp(what, "nb-stride"))
			shmemx_long_alltoalls_nb(SHMEM_TEAM_WORLD, g_to, g_from, 0, 1, 1, &request);
		else if (!strcmp(what, "nb-stale")) {
			shmemx_long_fcollect_nb(SHMEM_TEAM_WORLD, g_to, g_from, 1, &request);
			copy = request;
			shmemx_req_wait(&request);
			shmemx_req_wait(&copy);
		} else if (!strcmp(what, "nb-collect")) { /* together they are too long for any object */
			shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &team);
			shmemx_collectmem_nb(team, g_to, shmem_malloc(1 << 20), 1 << 20, &request);
			shmemx_req_wait(&request);
		} else { /* nb-destroy: PE 0 starts what the others do not */
			shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &team);
			if (me == 0)
				shmemx_team_sync_nb(team, &request);
			shmem_team_destroy(team);
		}
	} else if (!strcmp(what, "world"))
		shmem_team_destroy(SHMEM_TEAM_WORLD);
	else if (!strcmp(what, "twice")) {
		shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &team);
		shmem_team_destroy(team);
		shmem_team_destroy(team);
	} else if (!strcmp(what, "outside"))
		shmem_barrier(0, 0, 1, g_psync);
	else if (!strcmp(what, "triplet"))
		shmem_barrier(0, 3, n, g_psync);
	else if (!strcmp(what, "psync")) {
		if (me < n - 1)
			shmem_barrier(0, 0, n - 1, stack);
	} else if (!strcmp(what, "context")) {
		shmem_ctx_t ctx;
		shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, 1, 1, NULL, 0, &team);
		if (team != SHMEM_TEAM_INVALID) {
			shmem_team_create_ctx(team, 0, &ctx);
			shmem_ctx_long_p(ctx, g_to, 1, 1);
		}
	}
	shmem_barrier_all();
	fprintf(stderr, "nothing happened\n");
	shmem_finalize();
	return 0;
}
