/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two threads of each PE, with a team of their own each; both teams have all PEs. What one team orders must not be
 * taken for what the other one orders, although the threads run in any order. With an argument a synchronisation is
 * missing.
 */
#include <pthread.h>
#include <shmem.h>
#include <stdio.h>

enum { ROUNDS = 100, THREADS = 2 };
static long cells[THREADS];
static int g_is_wrong;

struct part {
	int number;
	shmem_team_t team;
	shmem_ctx_t ctx;
	long sum;
};

static void *run_part(void *arg)
{
	struct part *p = arg;
	long *cell = &cells[p->number];
	const int next = (shmem_team_my_pe(p->team) + 1) % shmem_team_n_pes(p->team);
	for (long round = 0; round < ROUNDS; round++) {
		shmem_ctx_long_p(p->ctx, cell, round, next); /* two_teams: one */
		shmem_ctx_quiet(p->ctx);
		shmem_team_sync(p->team);
		p->sum += shmem_ctx_long_g(p->ctx, cell, shmem_team_my_pe(p->team)); /* two_teams: two */
		if (!g_is_wrong || p->number == 0)
			shmem_team_sync(p->team);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct part parts[THREADS];
	pthread_t second;
	int level;
	(void)argv;
	g_is_wrong = argc > 1;
	shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level);
	for (int i = 0; i < THREADS; i++) {
		struct part *p = &parts[i];
		*p = (struct part){.number = i};
		if (shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, shmem_n_pes(), NULL, 0, &p->team) != 0 ||
		    shmem_team_create_ctx(p->team, SHMEM_CTX_PRIVATE, &p->ctx) != 0)
			return 1;
	}
	if (pthread_create(&second, NULL, run_part, &parts[1]) != 0)
		return 1;
	run_part(&parts[0]);
	pthread_join(second, NULL);
	shmem_barrier_all();
	printf("%ld\n", parts[0].sum + parts[1].sum);
	shmem_finalize();
	return 0;
}
