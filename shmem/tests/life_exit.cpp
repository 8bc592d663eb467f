// SPDX-License-Identifier: BSD-3-Clause
//
// Programs that end without shmem_finalize, rightly and wrongly; the first argument selects how, run_life.sh knows the
// required outcome.
#include <shmem.h>

#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

long g_word, g_sum, g_one = 1, g_arrived;
const char *g_what = "";

bool running()
{
	int yes = -1;
	shmem_query_initialized(&yes);
	return yes == 1;
}

void require(bool held, int line)
{
	if (held)
		return;
	fprintf(stderr, "line %d: not so\n", line);
	_exit(3);
}
#define MUST(cond_arg) require(cond_arg, __LINE__)

// constructed before the library: destroyed after it
struct before {
	~before()
	{
		if (strcmp(g_what, "order") == 0) {
			MUST(!running() && g_word == 2);
			puts("destructor after");
		}
	}
} g_before;

// a program that wraps the library in an object
struct wrapper {
	explicit wrapper(bool enabled) : on_(enabled)
	{
		if (on_)
			shmem_init();
	}
	~wrapper()
	{
		if (on_) {
			MUST(running());
			shmem_barrier_all();
			shmem_finalize();
		}
	}
	const bool on_;
} g_wrapper(getenv("LIFE_WRAP") != nullptr);

// registered after shmem_init: may still communicate
void late_handler()
{
	MUST(running());
	shmem_long_atomic_inc(&g_word, (shmem_my_pe() + 1) % shmem_n_pes());
	shmem_barrier_all();
	MUST(g_word == 2);
}

void *leave_by_thread(void *)
{
	usleep(50'000);
	exit(0);
}

// The others use this PE's memory long after it left main.
void use_those_who_left()
{
	if (shmem_my_pe() == 0)
		return;
	for (int i = 0; i < 20; i++) {
		usleep(10'000);
		shmem_long_atomic_inc(&g_word, 0);
		shmem_quiet();
		MUST(shmem_long_atomic_fetch(&g_word, 0) >= i + 1);
	}
}

// PE 0 returns when all but PE 1, which leaves, have called this
void gather_at_first()
{
	if (shmem_my_pe() == 0)
		shmem_long_wait_until(&g_arrived, SHMEM_CMP_GE, shmem_n_pes() - 2);
	else
		shmem_long_atomic_inc(&g_arrived, 0);
}

// PE 1 leaves; any later action of the others is wrong, or ends the job
void others_wait()
{
	if (shmem_my_pe() == 1)
		return;
	if (strcmp(g_what, "barrier") == 0)
		shmem_barrier_all();
	else if (strcmp(g_what, "wait") == 0) {
		if (shmem_my_pe() == 0) {
			sleep(15); // longer than the leaver stays silent
			shmem_global_exit(5);
		}
		shmem_long_wait_until(&g_word, SHMEM_CMP_NE, 0);
	} else if (strcmp(g_what, "reduce") == 0)
		shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &g_sum, &g_one, 1);
	else if (strcmp(g_what, "broadcast") == 0) {
		shmem_long_broadcast(SHMEM_TEAM_WORLD, &g_sum, &g_one, 1, 0);
		shmem_barrier_all();
	} else if (strcmp(g_what, "global-exit") == 0) {
		gather_at_first();
		if (shmem_my_pe() == 0)
			shmem_global_exit(5);
		shmem_barrier_all();
	} else if (strcmp(g_what, "kill") == 0) {
		gather_at_first();
		if (shmem_my_pe() == 0)
			abort();
		pause();
	}
}

} // namespace

int main(int argc, char **argv)
{
	g_what = argc > 1 ? argv[1] : "return";
	if (g_wrapper.on_)
		return 0;
	if (strcmp(g_what, "pes") == 0)
		start_pes(0);
	else
		shmem_init();
	shmem_barrier_all();
	if (shmem_my_pe() == 0)
		printf("said before the end\n"); // only exit() flushes it
	if (strcmp(g_what, "return") == 0 || strcmp(g_what, "pes") == 0) {
		use_those_who_left();
	} else if (strcmp(g_what, "mixed") == 0) {
		shmem_init();
		if (shmem_my_pe() % 2) {
			shmem_finalize();
			shmem_finalize();
		} else {
			shmem_finalize();
		}
	} else if (strcmp(g_what, "order") == 0) {
		g_word = 1;
		shmem_barrier_all();
		atexit(late_handler);
	} else if (strcmp(g_what, "thread") == 0) {
		pthread_t t;
		MUST(pthread_create(&t, nullptr, leave_by_thread, nullptr) == 0);
		for (;;)
			pause(); // the other thread ends the process
	} else if (strcmp(g_what, "again") == 0) {
		shmem_finalize();
		shmem_init();
		use_those_who_left();
	} else if (strcmp(g_what, "fails") == 0) {
		if (shmem_my_pe() == 1)
			exit(7);
	} else if (strcmp(g_what, "quick") == 0) {
		if (shmem_my_pe() == 1)
			_exit(0);
	} else {
		others_wait();
	}
	return 0;
}
