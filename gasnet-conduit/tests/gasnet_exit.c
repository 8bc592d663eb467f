/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ways a job can end; run_end.sh compares the exit status of the job, its duration and its leftovers.
 *
 *	gasnet_exit WAY
 */
#include "gasnet_test.h"
#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t got_quit;

static void on_quit(int sig)
{
	(void)sig;
	got_quit = 1;
	static const char text[] = "caught SIGQUIT\n";
	if (write(1, text, sizeof text - 1) < 0)
		_exit(99);
}

static void leave_on_quit(int sig)
{
	(void)sig;
	gasnet_exit(23);
}

static void leave_late_on_quit(int sig)
{
	(void)sig;
	gasnet_exit(4);
}

static void leave_from_handler(gasnet_token_t t)
{
	(void)t;
	gasnet_exit(21);
}

/* Waits, on the first node, until all others are out of the barrier: a node still in it would leave from there. */
static int nodes_out;
static void is_out(gasnet_token_t t)
{
	(void)t;
	__atomic_fetch_add(&nodes_out, 1, __ATOMIC_RELAXED);
}
static void await_all_out(void)
{
	if (gasnet_mynode())
		CHECK_OK(gasnet_AMRequestShort0(0, 202));
	else
		GASNET_BLOCKUNTIL(__atomic_load_n(&nodes_out, __ATOMIC_RELAXED) == (int)gasnet_nodes() - 1);
}

static void computing(void)
{
	for (volatile int forever = 1; forever;)
		usleep(1000);
}

#ifdef GASNET_PAR
/* All threads of all nodes send to the last one, which dies in the middle of it, or leaves. */
static void *storm(void *way)
{
	static char payload[3000];
	const gasnet_node_t last = gasnet_nodes() - 1;
	for (size_t i = 0;; i++) {
		if (i % 3)
			gasnet_AMRequestShort0(last, 202);
		else
			gasnet_AMRequestMedium0(last, 203, payload, i % sizeof payload);
		if (gasnet_mynode() != last || i < 3000)
			continue;
		if (!strcmp(way, "storm-killed"))
			kill(getpid(), SIGKILL);
		gasnet_exit(27);
	}
	return NULL;
}

/* One thread of the first node leaves and is held up; the others leave, and another thread still sends to them. */
static volatile sig_atomic_t leaver_runs, leaver_held;

static void *leaves(void *unused)
{
	(void)unused;
	leaver_runs = 1;
	gasnet_exit(0); /* with another code the launcher would kill this node when it learns of the others */
	return NULL;
}

static void hold_up(int sig)
{
	(void)sig;
	leaver_held = 1;
	usleep(1500000);
}

static void slow_to_leave(void)
{
	if (gasnet_mynode()) {
		/* the first node reports when its thread is held up */
		GASNET_BLOCKUNTIL(__atomic_load_n(&nodes_out, __ATOMIC_RELAXED) > 0);
		gasnet_exit(0);
	}
	pthread_t leaver;
	signal(SIGUSR1, hold_up);
	CHECK(pthread_create(&leaver, NULL, leaves, NULL) == 0);
	while (!leaver_runs)
		usleep(1000);
	CHECK(pthread_kill(leaver, SIGUSR1) == 0);
	while (!leaver_held)
		usleep(1000);
	for (gasnet_node_t i = 1; i < gasnet_nodes(); i++)
		CHECK_OK(gasnet_AMRequestShort0(i, 202));
	for (;;)
		gasnet_AMRequestShort0(gasnet_nodes() - 1, 202);
}

static void threads(const char *way)
{
	if (!strcmp(way, "storm-when-left"))
		slow_to_leave();
	pthread_t list[4];
	for (int i = 0; i < 4; i++)
		CHECK(pthread_create(&list[i], NULL, storm, (void *)(uintptr_t)way) == 0);
	for (int i = 0; i < 4; i++)
		pthread_join(list[i], NULL);
}
#else
static void threads(const char *way)
{
	(void)way;
}
#endif

static void take(gasnet_token_t t, void *buf, size_t n)
{
	(void)t, (void)buf, (void)n;
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	gasnet_handlerentry_t table[] = {{200, (gasneti_handler_fn)(void *)leave_from_handler},
					 {202, (gasneti_handler_fn)(void *)is_out},
					 {203, (gasneti_handler_fn)(void *)take}};
	CHECK_OK(gasnet_init(&argc, &argv));
	const int first = gasnet_mynode() == 0, last = gasnet_mynode() == gasnet_nodes() - 1;
	if (!strcmp(way, "before-attach"))
		gasnet_exit(11); /* all together */
	if (!strcmp(way, "one-before-attach") && last)
		gasnet_exit(12); /* the others wait in attach */
	CHECK_OK(gasnet_attach(table, 3, 1u << 20, 0));
	test_barrier();
	if (!strcmp(way, "all"))
		gasnet_exit(0);
	/* the first to leave gives the others time to finish their work */
	if (!strcmp(way, "work-after-barrier")) {
		if (first) {
			usleep(50000);
			gasnet_AMPoll();
			printf("said something\n");
		}
		gasnet_exit(0);
	}
	if (!strcmp(way, "one-with-success")) { /* but not for ever */
		if (first)
			gasnet_exit(0);
		GASNET_BLOCKUNTIL(0);
	}
	if (!strcmp(way, "all-with-code"))
		gasnet_exit(13);
	if (!strcmp(way, "return"))
		return 14;
	if (!strcmp(way, "exit"))
		exit(15);
	if (!strcmp(way, "one-in-barrier")) {
		if (last)
			gasnet_exit(16);
		test_barrier();
		CHECK(!"the barrier completed without the last node");
	}
	if (!strcmp(way, "one-polling")) {
		if (last)
			gasnet_exit(17);
		for (;;)
			gasnet_AMPoll();
	}
	if (!strcmp(way, "quit-handler")) {
		signal(SIGQUIT, on_quit);
		await_all_out();
		if (first)
			gasnet_exit(18);
		GASNET_BLOCKUNTIL(0);
	}
	/* another node's code stays, whatever the client's handler returns when it is notified */
	if (!strcmp(way, "first-code")) {
		signal(SIGQUIT, leave_late_on_quit);
		await_all_out();
		if (first)
			gasnet_exit(25);
		GASNET_BLOCKUNTIL(0);
	}
	if (!strcmp(way, "first-code-of-handler")) {
		signal(SIGQUIT, leave_late_on_quit);
		await_all_out();
		if (first)
			CHECK_OK(gasnet_AMRequestShort0(gasnet_nodes() - 1, 200));
		GASNET_BLOCKUNTIL(0);
	}
	if (!strcmp(way, "first-code-of-main")) {
		signal(SIGQUIT, leave_late_on_quit);
		test_barrier();
		if (last)
			return 26;
		test_barrier();
	}
	if (!strcmp(way, "fault")) {
		test_barrier();
		if (last)
			*(volatile int *)NULL = 1;
		GASNET_BLOCKUNTIL(0);
	}
	if (!strncmp(way, "storm", 5))
		threads(way);
	if (!strcmp(way, "interrupted")) { /* the client gets any signal that would end it as SIGQUIT */
		signal(SIGQUIT, leave_on_quit);
		if (last)
			raise(SIGINT);
		GASNET_BLOCKUNTIL(0);
	}
	if (!strcmp(way, "terminated")) {
		if (last)
			raise(SIGTERM);
		GASNET_BLOCKUNTIL(0);
	}
	if (!strcmp(way, "one-computing")) {
		if (first)
			gasnet_exit(19);
		computing();
	}
	if (!strcmp(way, "slow")) { /* nodes that leave in time are not killed */
		await_all_out();
		if (first)
			gasnet_exit(24);
		usleep(100000);
		if (last)
			printf("came by itself\n");
		fflush(stdout);
		GASNET_BLOCKUNTIL(0);
	}
	if (!strcmp(way, "in-handler")) {
		if (first)
			CHECK_OK(gasnet_AMRequestShort0(gasnet_nodes() - 1, 200));
		GASNET_BLOCKUNTIL(0);
	}
	if (!strcmp(way, "killed")) {
		if (last)
			kill(getpid(), SIGKILL);
		test_barrier();
		CHECK(!"the barrier completed without the last node");
	}
	if (!strcmp(way, "aborted")) {
		if (last)
			abort();
		GASNET_BLOCKUNTIL(0);
	}
	if (!strcmp(way, "returned-alone")) { /* main returns on one node only */
		if (last)
			return 22;
		GASNET_BLOCKUNTIL(0);
	}
	if (!strcmp(way, "unregistered")) {
		CHECK_OK(gasnet_AMRequestShort0(gasnet_nodes() - 1, 201));
		GASNET_BLOCKUNTIL(0);
	}
	if (!strcmp(way, "barrier-twice")) {
		gasnet_barrier_notify(0, 0);
		gasnet_barrier_notify(0, 0);
	}
	if (!strcmp(way, "outside")) /* a node that does not exist */
		gasnet_put_val(gasnet_nodes() + 5, test_segments, 1, 8);
	fprintf(stderr, "no such way: %s\n", way);
	gasnet_exit(98);
}
