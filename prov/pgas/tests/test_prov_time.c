/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A peer in another time namespace (unshare --time). The provider uses a process's start time to tell it from a later
 * process with the same pid; it looks different from another namespace, so such processes do not count as being on one
 * host: the link connects them, and without a link they learn that they cannot reach each other.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* unshare */
#endif
#include "common.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

enum { ROUNDS = 200, LONG = 1 << 20 };

/* For children of this process the clocks are 1000 s ahead. */
static bool leave_time(void)
{
	static const char later[] = "boottime 1000 0\nmonotonic 1000 0\n";
	if (unshare(CLONE_NEWTIME) != 0)
		return false;
	const int fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
	const bool done = fd >= 0 && write(fd, later, sizeof later - 1) == (ssize_t)sizeof later - 1;
	close(fd);
	return done;
}

static bool may_leave_time(void)
{
	int status = 1;
	const pid_t pid = fork();
	if (pid == 0)
		_exit(!leave_time());
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* Rank 1 runs its part in a child, in the other namespace. */
static void in_two_times(int rank, void (*part)(int))
{
	int status = -1;
	if (rank == 0) {
		part(0);
		return;
	}
	CHECK(leave_time());
	const pid_t pid = fork();
	if (pid == 0) {
		part(1);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

static void take(struct node *n, void *buf, size_t len)
{
	struct fi_cq_tagged_entry e;
	CHECK_OK(fi_recv(n->ep, buf, len, NULL, FI_ADDR_UNSPEC, buf));
	wait_cq(n, n->rx_cq, &e);
}

static void ping_pong(int rank)
{
	const struct node_opts o = {.two_cqs = true};
	struct node n;
	char *buf = malloc(LONG);
	node_open(&n, &o);
	node_connect(&n);
	for (uint64_t i = 0, input = 0; i < ROUNDS; i++) {
		if (rank == 0) {
			sleep_ms(10); /* in total, long enough for some checks of whether the peer lives */
			CHECK_OK(RETRY(&n, fi_inject(n.ep, &i, 8, n.peer[1])));
		}
		take(&n, &input, 8);
		CHECK_EQ(input, i);
		if (rank == 1)
			CHECK_OK(RETRY(&n, fi_inject(n.ep, &i, 8, n.peer[0])));
	}
	fill(buf, LONG, 4 + (uint64_t)rank);
	CHECK_OK(RETRY(&n, fi_send(n.ep, buf, LONG, NULL, n.peer[1 - rank], buf)));
	char *input = calloc(1, LONG);
	take(&n, input, LONG);
	CHECK(filled(input, LONG, 5 - (uint64_t)rank));
	wait_tx(&n, 1);
	team_barrier(&n);
	node_close(&n);
	free(input);
	free(buf);
}

static void joined(int rank, void *arg)
{
	(void)arg;
	in_two_times(rank, ping_pong);
}

static void refusal(int rank)
{
	const struct node_opts o = {.two_cqs = true};
	struct node n;
	uint64_t word = 1;
	node_open(&n, &o);
	node_connect(&n);
	CHECK_EQ(fi_inject(n.ep, &word, 8, n.peer[1 - rank]), -FI_EHOSTUNREACH);
	team_barrier(&n);
	node_close(&n);
}

static void apart(int rank, void *arg)
{
	(void)arg;
	in_two_times(rank, refusal);
}

#define NEEDS_TIME_NAMESPACES()                                                                                        \
	do {                                                                                                           \
		if (!may_leave_time()) {                                                                               \
			print_message("not run: no time namespace to be had here\n");                                  \
			skip();                                                                                        \
		}                                                                                                      \
	} while (0)

static void test_time_namespaces_are_joined_by_the_link(void **state)
{
	static const char *const env[] = {"FI_PGAS_NET=socket:lo", NULL};
	(void)state;
	NEEDS_TIME_NAMESPACES();
	team_run_env(2, joined, NULL, env);
}

static void test_time_namespaces_without_a_link_are_refused(void **state)
{
	static const char *const env[] = {"FI_PGAS_NET=off", NULL};
	(void)state;
	NEEDS_TIME_NAMESPACES();
	team_run_env(2, apart, NULL, env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_time_namespaces_are_joined_by_the_link),
		cmocka_unit_test(test_time_namespaces_without_a_link_are_refused),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
