/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_boot_pmi1.c: the PMI-1 wire against our own launcher, a child process at the other end of a socket, that answers
 * as told: properly, in pieces, with nonsense, or not at all.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pgas_boot.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum manner { PROPER, IN_PIECES, NONSENSE, SILENT_END, OLD_VERSION };

static pid_t server;
static int client_fd;

static void answer(int fd, enum manner manner, const char *text)
{
	size_t length = strlen(text);
	for (size_t pos = 0; pos < length;) {
		size_t now = manner == IN_PIECES ? 1 : length - pos;
		if (write(fd, text + pos, now) < 0)
			_exit(1);
		pos += now;
		if (manner == IN_PIECES && pos % 16 == 0)
			usleep(100);
	}
}

/* One key-value space, one rank. */
static void serve(int fd, enum manner manner)
{
	static char keys[64][80], values[64][1100];
	int kept = 0;
	FILE *input = fdopen(fd, "r");
	char line[2048], key[80], value[1100], reply[1300];
	while (fgets(line, sizeof line, input)) {
		if (manner == SILENT_END)
			_exit(0);
		if (strlen(line) > 1000)
			_exit(2); /* no launcher need read more */
		if (manner == NONSENSE)
			answer(fd, manner, "what did you say?\n");
		else if (strncmp(line, "cmd=init ", 9) == 0)
			answer(fd, manner,
			       manner == OLD_VERSION ? "cmd=response_to_init rc=-1\n"
						     : "cmd=response_to_init pmi_version=1 rc=0\n");
		else if (strcmp(line, "cmd=get_maxes\n") == 0)
			answer(fd, manner, "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n");
		else if (strcmp(line, "cmd=get_my_kvsname\n") == 0)
			answer(fd, manner, "cmd=my_kvsname kvsname=kvs_1_2\n");
		else if (sscanf(line, "cmd=put kvsname=kvs_1_2 key=%79s value=%1099s", key, value) == 2 && kept < 64) {
			for (int i = 0; i < kept; i++)
				if (strcmp(keys[i], key) == 0)
					_exit(6); /* some launchers refuse that */
			strcpy(keys[kept], key);
			strcpy(values[kept++], value);
			answer(fd, manner, "cmd=put_result rc=0 msg=success\n");
		} else if (sscanf(line, "cmd=get kvsname=kvs_1_2 key=%79s", key) == 1) {
			const char *found = strcmp(key, "PMI_process_mapping") == 0 ? "(vector,(0,1,1))" : NULL;
			for (int i = 0; i < kept; i++)
				if (strcmp(keys[i], key) == 0)
					found = values[i];
			if (found)
				snprintf(reply, sizeof reply, "cmd=get_result rc=0 msg=success value=%.1099s\n", found);
			else
				snprintf(reply, sizeof reply,
					 "cmd=get_result rc=-1 msg=key_%s_not_found value=unknown\n", key);
			answer(fd, manner, reply);
		} else if (strcmp(line, "cmd=barrier_in\n") == 0)
			answer(fd, manner, "cmd=barrier_out rc=0\n");
		else if (strcmp(line, "cmd=finalize\n") == 0) {
			answer(fd, manner, "cmd=finalize_ack\n");
			_exit(0);
		} else if (strcmp(line, "cmd=abort exitcode=5\n") == 0)
			_exit(55);
		else if (strcmp(line, "cmd=abort exitcode=137\n") == 0)
			_exit(56);
		else
			_exit(3);
	}
	_exit(4);
}

static void start_server(enum manner manner)
{
	int ends[2];
	char text[16];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	server = fork();
	if (server == 0) {
		close(ends[0]);
		serve(ends[1], manner);
	}
	close(ends[1]);
	client_fd = ends[0];
	snprintf(text, sizeof text, "%d", client_fd);
	setenv("PMI_FD", text, 1);
	setenv("PMI_RANK", "0", 1);
	setenv("PMI_SIZE", "1", 1);
}

static int end_server(void)
{
	int how = 0;
	close(client_fd);
	waitpid(server, &how, 0);
	return WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

static int setup(void **state)
{
	(void)state;
	unsetenv("PGAS_BOOT");
	unsetenv("PMIX_NAMESPACE");
	unsetenv("SLURM_STEP_ID");
	setenv("PGAS_BOOT_LAUNCHER", "pmi1", 1);
	return 0;
}

static void exchange(void)
{
	unsigned char big[3000], got[3000];
	int local[1];
	assert_int_equal(pgas_boot_init(), 0);
	assert_string_equal(pgas_boot_launcher(), "pmi1");
	assert_int_equal(pgas_boot_local(local, 1), 1);
	for (size_t i = 0; i < sizeof big; i++)
		big[i] = (unsigned char)(i * 7);
	assert_int_equal(pgas_boot_put("big", big, sizeof big), 0);
	assert_int_equal(pgas_boot_put("none", "", 0), 0);
	assert_int_equal(pgas_boot_fence(), 0);
	assert_int_equal(pgas_boot_get(0, "big", NULL, 0), sizeof big);
	assert_int_equal(pgas_boot_get(0, "big", got, sizeof got), sizeof big);
	assert_memory_equal(big, got, sizeof big);
	assert_int_equal(pgas_boot_get(0, "none", got, sizeof got), 0);
	assert_int_equal(pgas_boot_get(0, "absent", got, sizeof got), -ENOENT);
	assert_int_equal(pgas_boot_allgather(big, 500, got), 0);
	assert_memory_equal(big, got, 500);
	assert_int_equal(pgas_boot_barrier(), 0);
	assert_int_equal(pgas_boot_finalize(), 0);
	assert_int_equal(pgas_boot_size(), 0);
	assert_int_equal(pgas_boot_barrier(), -EINVAL);
	/* again: the launcher would not accept a second init of this process, nor the same keys */
	assert_int_equal(pgas_boot_init(), 0);
	assert_int_equal(pgas_boot_size(), 1);
	assert_int_equal(pgas_boot_allgather(big + 1, 500, got), 0);
	assert_memory_equal(big + 1, got, 500);
	assert_int_equal(pgas_boot_finalize(), 0);
	pgas_boot_close();
}

static void test_pmi1_proper_launcher_exchanges(void **state)
{
	(void)state;
	start_server(PROPER);
	exchange();
	assert_int_equal(end_server(), 0);
}

static void test_pmi1_slow_launcher_exchanges(void **state)
{
	(void)state;
	start_server(IN_PIECES);
	exchange();
	assert_int_equal(end_server(), 0);
}

static void test_pmi1_nonsense_is_a_protocol_error(void **state)
{
	(void)state;
	start_server(NONSENSE);
	assert_int_equal(pgas_boot_init(), -EPROTO);
	end_server();
}

static void test_pmi1_closed_socket_is_an_error(void **state)
{
	(void)state;
	start_server(SILENT_END);
	assert_int_equal(pgas_boot_init(), -ECONNRESET);
	end_server();
}

static void test_pmi1_refused_version_is_an_error(void **state)
{
	(void)state;
	start_server(OLD_VERSION);
	assert_int_equal(pgas_boot_init(), -EPROTO);
	end_server();
}

static void test_pmi1_rank_outside_size_is_an_error(void **state)
{
	(void)state;
	start_server(PROPER);
	setenv("PMI_RANK", "1", 1);
	assert_int_equal(pgas_boot_init(), -EINVAL);
	end_server();
}

static void test_pmi1_abort_tells_the_launcher(void **state)
{
	(void)state;
	start_server(PROPER);
	pid_t pe = fork();
	if (pe == 0) {
		fclose(stderr);
		if (pgas_boot_init() == 0)
			pgas_boot_abort(5, "reason");
		_exit(1);
	}
	int how = 0;
	waitpid(server, &how, 0);
	assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 55);
	close(client_fd);
	kill(pe, SIGKILL); /* it waits for a launcher to do that */
	waitpid(pe, NULL, 0);
}

enum end { KILLED, KILLED_AGAIN, LEFT, LEFT_TWICE, ANOTHER_LAUNCHER };

/* A PE of two joins, and ends. What the launcher is told about that, as the exit status of the server. */
static int told_of(enum end end)
{
	start_server(PROPER);
	setenv("PMI_SIZE", "2", 1);
	if (end == ANOTHER_LAUNCHER)
		unsetenv("SLURM_STEP_ID");
	else
		setenv("SLURM_STEP_ID", "0", 1);
	const pid_t pe = fork();
	if (pe == 0) {
		if (pgas_boot_init() != 0)
			_exit(1);
		if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD)
			_exit(2); /* the program finds a child that it did not start */
		if (end != KILLED && end != ANOTHER_LAUNCHER && pgas_boot_finalize() != 0)
			_exit(3);
		if ((end == KILLED_AGAIN || end == LEFT_TWICE) && pgas_boot_init() != 0)
			_exit(4);
		if (end == LEFT_TWICE && pgas_boot_finalize() != 0)
			_exit(5);
		if (fork() == 0) { /* a child that lives longer, with all descriptors but the launcher's */
			close(client_fd);
			sleep(2);
			_exit(0);
		}
		raise(SIGKILL);
	}
	close(client_fd);
	int how = 0, ended = 0;
	waitpid(pe, &ended, 0);
	assert_true(WIFSIGNALED(ended));
	waitpid(server, &how, 0);
	return WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

static void test_pmi1_slurm_is_told_of_a_death(void **state)
{
	(void)state;
	assert_int_equal(told_of(KILLED), 56);
	assert_int_equal(told_of(KILLED_AGAIN), 56);
}

static void test_pmi1_slurm_is_not_told_of_a_proper_end(void **state)
{
	(void)state;
	assert_int_equal(told_of(LEFT), 4); /* the end of the stream */
	assert_int_equal(told_of(LEFT_TWICE), 4);
	assert_int_equal(told_of(ANOTHER_LAUNCHER), 4);
}

int main(void)
{
#define CASE(name_arg) cmocka_unit_test_setup(name_arg, setup)
	const struct CMUnitTest tests[] = {
		CASE(test_pmi1_proper_launcher_exchanges),         CASE(test_pmi1_slow_launcher_exchanges),
		CASE(test_pmi1_nonsense_is_a_protocol_error),      CASE(test_pmi1_closed_socket_is_an_error),
		CASE(test_pmi1_refused_version_is_an_error),       CASE(test_pmi1_rank_outside_size_is_an_error),
		CASE(test_pmi1_abort_tells_the_launcher),          CASE(test_pmi1_slurm_is_told_of_a_death),
		CASE(test_pmi1_slurm_is_not_told_of_a_proper_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
