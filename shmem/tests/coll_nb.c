/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Non-blocking collectives: of all kinds in random order on several overlapping teams, many at a time. Every PE starts
 * the same sequence, ends the requests in an order of its own, by test or wait, and runs blocking collectives between.
 * Then requests that other calls must advance. Arguments: `one` or `threads`, where each thread has a team of its own,
 * and a number of batches. `late`: the last PE starts three seconds after the others, for a hang report.
 */
#include "coll_test.h"

#include <pthread.h>

enum { kBatch = 24, kWords = 20000, kTeams = 4, kThreads = 3 };
static int g_me;

/* One collective: what was drawn, the same on all PEs, and its memory. */
struct shot {
	shmem_team_t team;
	unsigned kind;
	size_t n;
	int root, number;
	long *source, *dest;
	shmemx_req_h request;
	int ended;
};

static size_t given(const struct shot *s, int member) /* to collect */
{
	return s->n / (1 + (size_t)(member + s->number) % 3);
}

static void start(struct shot *s)
{
	const int members = shmem_team_n_pes(s->team), mine = shmem_team_my_pe(s->team);
	const size_t m = (size_t)members, room = kWords / m;
	shmemx_req_h *r = &s->request;
	s->ended = 0;
	if (s->kind != 0 && s->kind != 1 && s->kind != 6 && s->n > room)
		s->n = room;
	if (s->kind == 4)
		s->n = s->n > room / 2 ? room / 2 : s->n;
	for (size_t i = 0; i < (s->n * m < kWords ? s->n * m : kWords); i++)
		s->source[i] = word(g_me, s->number, i);
	memset(s->dest, 0x55, sizeof(long) * kWords);
	shmem_team_sync(s->team); /* dest is ready everywhere */
	*r = SHMEMX_REQ_INVALID;
	switch (s->kind) {
	case 0:
		CHECK(shmemx_long_broadcast_nb(s->team, s->dest, s->source, s->n, s->root, r) == 0);
		break;
	case 1:
		CHECK(shmemx_long_sum_reduce_nb(s->team, s->dest, s->source, s->n, r) == 0);
		break;
	case 2:
		CHECK(shmemx_long_fcollect_nb(s->team, s->dest, s->source, s->n, r) == 0);
		break;
	case 3:
		CHECK(shmemx_long_alltoall_nb(s->team, s->dest, s->source, s->n, r) == 0);
		break;
	case 4:
		CHECK(shmemx_long_alltoalls_nb(s->team, s->dest, s->source, 2, 1, s->n, r) == 0);
		break;
	case 5:
		CHECK(shmemx_long_collect_nb(s->team, s->dest, s->source, given(s, mine), r) == 0);
		break;
	case 6: /* in place */
		memcpy(s->dest, s->source, s->n * sizeof(long));
		shmem_team_sync(s->team);
		CHECK(shmemx_long_max_reduce_nb(s->team, s->dest, s->dest, s->n, r) == 0);
		break;
	default:
		CHECK(shmemx_team_sync_nb(s->team, r) == 0);
	}
	CHECK(*r != SHMEMX_REQ_INVALID);
}

static void compare(const struct shot *s)
{
	const int members = shmem_team_n_pes(s->team), mine = shmem_team_my_pe(s->team);
	const size_t all = s->n * (size_t)members;
	const long *dest = s->dest;
	size_t index = 0;
	long highest = 0;
	switch (s->kind) {
	case 0:
		for (size_t i = 0; i < s->n; i++)
			CHECK(dest[i] == word(world_pe_of(s->team, s->root), s->number, i));
		break;
	case 1:
		for (size_t i = 0; i < s->n; i++) {
			long sum = 0;
			for (int j = 0; j < members; j++)
				sum += word(world_pe_of(s->team, j), s->number, i);
			CHECK(dest[i] == sum);
		}
		break;
	case 2:
		for (size_t i = 0; i < all; i++)
			CHECK(dest[i] == word(world_pe_of(s->team, (int)(i / s->n)), s->number, i % s->n));
		break;
	case 3:
	case 4:
		for (size_t i = 0; i < all; i++)
			CHECK(dest[i * (s->kind - 2)] ==
			      word(world_pe_of(s->team, (int)(i / s->n)), s->number, (size_t)mine * s->n + i % s->n));
		break;
	case 5:
		for (int j = 0; j < members; j++)
			for (size_t i = 0; i < given(s, j); i++, index++)
				CHECK(dest[index] == word(world_pe_of(s->team, j), s->number, i));
		break;
	case 6:
		for (int j = 0; j < members; j++)
			highest = world_pe_of(s->team, j) > highest ? world_pe_of(s->team, j) : highest;
		for (size_t i = 0; i < s->n; i++)
			CHECK(dest[i] == word((int)highest, s->number, i));
	}
}

/* Ends one request in the way that `draw` says: waits for it, or tests it once. */
static void end(struct shot *s, unsigned draw)
{
	if (s->ended)
		return;
	const int got = draw % 2 ? shmemx_req_wait(&s->request) : shmemx_req_test(&s->request);
	CHECK(got == 0 || (draw % 2 == 0 && got == 1));
	if (got)
		return;
	CHECK(s->request == SHMEMX_REQ_INVALID);
	CHECK(shmemx_req_test(&s->request) < 0 && shmemx_req_wait(&s->request) < 0);
	s->ended = 1;
	compare(s);
}

static void batch(const shmem_team_t *teams, int count, long *sources, long *dests, unsigned *shared, unsigned *own)
{
	static const size_t sizes[] = {0, 1, 7, 8, 30, 600, 4500, kWords};
	struct shot shots[kBatch];
	int started = 0;
	for (int i = 0; i < kBatch; i++) {
		struct shot *s = &shots[started];
		const unsigned which = next_random(shared), kind = next_random(shared), size = next_random(shared),
			       root = next_random(shared);
		s->team = teams[which % (unsigned)count];
		s->number = i;
		s->kind = kind % 8;
		s->n = sizes[size % 8];
		if (s->team == SHMEM_TEAM_INVALID)
			continue;
		s->root = (int)(root % (unsigned)shmem_team_n_pes(s->team));
		s->source = sources + (size_t)i * kWords;
		s->dest = dests + (size_t)i * kWords;
		start(s);
		started++;
		rest(own);
		for (unsigned k = next_random(own) % 4; k > 0; k--)
			end(&shots[next_random(own) % (unsigned)started], 0);
	}
	for (int left = 4 * started; left > 0; left--)
		end(&shots[next_random(own) % (unsigned)started], next_random(own));
	for (int i = 0; i < started; i++)
		end(&shots[i], 1);
}

/* A member of a tree is not in a call of ours when others need it: each kind of wait must act for them. */
static void advanced_by_others(void)
{
	static long source[kWords], dest[4][kWords], flag;
	const int n = shmem_n_pes(), next = (g_me + 1) % n;
	shmemx_req_h r[4];
	check_doing = "progress in other calls";
	for (int round = 1; round <= 20; round++) {
		for (size_t i = 0; i < kWords; i++)
			source[i] = g_me + round;
		shmem_barrier_all();
		for (int k = 0; k < 4; k++)
			CHECK(shmemx_long_sum_reduce_nb(SHMEM_TEAM_WORLD, dest[k], source, k % 2 ? 3 : kWords, &r[k]) ==
			      0);
		/* each waits first for another one; in between for a word that comes after the neighbour's wait */
		CHECK(shmemx_req_wait(&r[g_me % 4]) == 0);
		shmem_long_p(&flag, round, next);
		if (round % 2)
			shmem_long_wait_until(&flag, SHMEM_CMP_EQ, round);
		else
			while (!shmem_long_test(&flag, SHMEM_CMP_EQ, round))
				;
		if (round % 3 == 0)
			shmem_barrier_all();
		for (int k = 0; k < 4; k++) {
			CHECK(k == g_me % 4 || shmemx_req_wait(&r[k]) == 0);
			for (size_t i = 0; i < (k % 2 ? 3 : kWords); i++)
				CHECK(dest[k][i] == n * (n - 1) / 2 + (long)n * round);
		}
		shmem_barrier_all();
	}
	/* the barrier completes puts; and a request that nobody has waited for when all leave does no harm */
	static long ring;
	shmem_long_p(&ring, g_me + 1, next);
	CHECK(shmemx_barrier_all_nb(&r[0]) == 0 && shmemx_req_wait(&r[0]) == 0);
	CHECK(ring == (g_me + n - 1) % n + 1);
	CHECK(shmemx_sync_all_nb(&r[1]) == 0);
	CHECK(shmemx_sync_all_nb(&r[2]) == 0 && shmemx_req_wait(&r[2]) == 0);
}

/* Two PEs: one sends its part of an alltoall before it can send that of the collect that it started earlier. */
static void later_overtakes_nothing(void)
{
	static long source[2 * kWords], dest[2 * kWords], pieces[2 * kWords];
	shmemx_req_h first, second;
	check_doing = "an alltoall behind a collect";
	for (int round = 0; round < 5 && shmem_n_pes() == 2; round++) {
		for (size_t i = 0; i < 2 * kWords; i++)
			source[i] = word(g_me, round, i);
		shmem_barrier_all();
		if (g_me == 1)
			usleep(20000);
		CHECK(shmemx_long_collect_nb(SHMEM_TEAM_WORLD, dest, source, kWords, &first) == 0);
		CHECK(shmemx_long_alltoall_nb(SHMEM_TEAM_WORLD, pieces, source, kWords, &second) == 0);
		if (g_me == 0)
			usleep(60000); /* not in a call while the other waits */
		CHECK(shmemx_req_wait(&first) == 0);
		for (size_t i = 0; i < 2 * kWords; i++)
			CHECK(dest[i] == word((int)(i / kWords), round, i % kWords));
		CHECK(shmemx_req_wait(&second) == 0);
		for (size_t i = 0; i < 2 * kWords; i++)
			CHECK(pieces[i] == word((int)(i / kWords), round, (size_t)g_me * kWords + i % kWords));
	}
}

struct worker {
	pthread_t thread;
	shmem_team_t team;
	long *sources, *dests;
	unsigned seed;
	int batches;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	unsigned shared = w->seed, own = w->seed * 77u + (unsigned)g_me;
	for (int b = 0; b < w->batches; b++)
		batch(&w->team, 1, w->sources, w->dests, &shared, &own);
	return NULL;
}

static void by_threads(int batches)
{
	struct worker w[kThreads];
	check_doing = "threads";
	for (unsigned i = 0; i < kThreads; i++) {
		CHECK(shmemx_team_split_color(SHMEM_TEAM_WORLD, 0, i % 2 ? -g_me : g_me, NULL, 0, &w[i].team) == 0);
		w[i].sources = shmem_malloc(sizeof(long) * kBatch * kWords);
		w[i].dests = shmem_malloc(sizeof(long) * kBatch * kWords);
		w[i].seed = 5 + i;
		w[i].batches = batches;
		CHECK(w[i].sources && w[i].dests);
	}
	for (int i = 0; i < kThreads; i++)
		CHECK(pthread_create(&w[i].thread, NULL, work, &w[i]) == 0);
	for (int i = 0; i < kThreads; i++)
		pthread_join(w[i].thread, NULL);
	shmem_barrier_all();
	for (int i = 0; i < kThreads; i++)
		shmem_team_destroy(w[i].team);
}

static void by_one(int batches)
{
	static long sources[kBatch * kWords], dests[kBatch * kWords];
	const int n = shmem_n_pes();
	shmem_team_t teams[kTeams] = {SHMEM_TEAM_WORLD};
	unsigned shared = 12345, own = 99u * (unsigned)g_me + 7;
	CHECK(shmemx_team_split_color(SHMEM_TEAM_WORLD, g_me % 2, -g_me, NULL, 0, &teams[1]) == 0);
	CHECK(shmemx_team_split_color(SHMEM_TEAM_WORLD, 0, g_me * 5 % 7, NULL, 0, &teams[2]) == 0);
	CHECK(shmemx_team_split_color(SHMEM_TEAM_WORLD, g_me == n - 1 && n > 1 ? -1 : 0, 0, NULL, 0, &teams[3]) == 0);
	check_doing = "mixed non-blocking collectives";
	for (int b = 0; b < batches; b++) {
		batch(teams, kTeams, sources, dests, &shared, &own);
		shmem_barrier_all(); /* all dests have been checked */
	}
	for (int k = 1; k < kTeams; k++)
		shmem_team_destroy(teams[k]);
	advanced_by_others();
	later_overtakes_nothing();
}

static void start_late(void)
{
	static long source[100], dest[100];
	shmemx_req_h r;
	check_doing = "a PE that is late";
	if (g_me == shmem_n_pes() - 1)
		sleep(3);
	CHECK(shmemx_long_sum_reduce_nb(SHMEM_TEAM_WORLD, dest, source, 100, &r) == 0);
	CHECK(shmemx_req_wait(&r) == 0);
}

int main(int argc, char **argv)
{
	const int threads = argc > 1 && strcmp(argv[1], "threads") == 0, batches = argc > 2 ? atoi(argv[2]) : 10;
	int provided;
	shmem_init_thread(threads ? SHMEM_THREAD_MULTIPLE : SHMEM_THREAD_SINGLE, &provided);
	g_me = shmem_my_pe();
	if (argc > 1 && strcmp(argv[1], "late") == 0)
		start_late();
	else if (threads)
		by_threads(batches);
	else
		by_one(batches);
	shmem_barrier_all();
	if (g_me == 0)
		printf("%d PEs: %d non-blocking collectives\n", shmem_n_pes(),
		       batches * kBatch * (threads ? kThreads : 1));
	shmem_finalize();
	return 0;
}
