/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_boot_single.c: the bootstrap without a launcher: a job of one, whatever variables other jobs left in the
 * environment.
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const kLaunchers[] = {
	"PGAS_BOOT", "PGAS_BOOT_LAUNCHER", "PMIX_NAMESPACE", "PMIX_RANK",           "PMI_FD",
	"PMI_RANK",  "PMI_SIZE",           "SLURM_STEP_ID",  "SLURM_STEP_NUM_TASKS"};

static int setup(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof kLaunchers / sizeof *kLaunchers; i++)
		unsetenv(kLaunchers[i]);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	while (pgas_boot_finalize() == 0) {}
	return setup(state);
}

static void assert_single(void)
{
	assert_int_equal(pgas_boot_init(), 0);
	assert_int_equal(pgas_boot_rank(), 0);
	assert_int_equal(pgas_boot_size(), 1);
	assert_string_equal(pgas_boot_launcher(), "single");
}

static void test_single_before_init_refuses(void **state)
{
	(void)state;
	char byte = 0;
	assert_int_equal(pgas_boot_rank(), -1);
	assert_int_equal(pgas_boot_size(), 0);
	assert_string_equal(pgas_boot_launcher(), "");
	assert_int_equal(pgas_boot_put("key", "", 0), -EINVAL);
	assert_int_equal(pgas_boot_get(0, "key", &byte, 1), -EINVAL);
	assert_int_equal(pgas_boot_commit(), -EINVAL);
	assert_int_equal(pgas_boot_fence(), -EINVAL);
	assert_int_equal(pgas_boot_barrier(), -EINVAL);
	assert_int_equal(pgas_boot_allgather(&byte, 1, &byte), -EINVAL);
	assert_int_equal(pgas_boot_local(NULL, 0), -EINVAL);
	assert_int_equal(pgas_boot_env_share("X_"), -EINVAL);
	assert_int_equal(pgas_boot_finalize(), -EINVAL);
}

static void test_single_exchanges_with_itself(void **state)
{
	(void)state;
	char got[8] = "", all[8] = "";
	int local[2] = {-1, -1};
	assert_single();
	assert_int_equal(pgas_boot_put("key", "first", 6), 0);
	assert_int_equal(pgas_boot_put("key", "second", 7), 0);
	assert_int_equal(pgas_boot_fence(), 0);
	assert_int_equal(pgas_boot_get(0, "key", got, sizeof got), 7);
	assert_string_equal(got, "second");
	assert_int_equal(pgas_boot_get(0, "key", NULL, 0), 7);
	assert_int_equal(pgas_boot_get(0, "other", got, sizeof got), -ENOENT);
	assert_int_equal(pgas_boot_get(1, "key", got, sizeof got), -EINVAL);
	assert_int_equal(pgas_boot_allgather("abc", 4, all), 0);
	assert_string_equal(all, "abc");
	assert_int_equal(pgas_boot_allgather(all, 4, all), 0);
	assert_int_equal(pgas_boot_barrier(), 0);
	assert_int_equal(pgas_boot_local(local, 2), 1);
	assert_int_equal(local[0], 0);
	assert_int_equal(pgas_boot_env_share("X_"), 0);
}

static void test_single_init_is_counted(void **state)
{
	(void)state;
	assert_single();
	assert_single();
	assert_int_equal(pgas_boot_finalize(), 0);
	assert_int_equal(pgas_boot_size(), 1);
	assert_int_equal(pgas_boot_finalize(), 0);
	assert_int_equal(pgas_boot_size(), 0);
	assert_single();
}

static void test_single_keys_have_bounds(void **state)
{
	(void)state;
	char key[64];
	assert_single();
	memset(key, 'k', sizeof key);
	key[PGAS_BOOT_KEY_MAX] = '\0';
	assert_int_equal(pgas_boot_put(key, "", 0), 0);
	key[PGAS_BOOT_KEY_MAX] = 'k';
	key[PGAS_BOOT_KEY_MAX + 1] = '\0';
	assert_int_equal(pgas_boot_put(key, "", 0), -EINVAL);
	assert_int_equal(pgas_boot_put("", "", 0), -EINVAL);
	assert_int_equal(pgas_boot_put(NULL, "", 0), -EINVAL);
}

/* The pid of a process that has certainly ended. */
static int dead_pid(void)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	return (int)pid;
}

static void test_single_leftover_board_is_ignored(void **state)
{
	(void)state;
	char text[96];
	snprintf(text, sizeof text, "2:%d:77:0:0123456789abcdef:fedcba9876543210", dead_pid());
	setenv("PGAS_BOOT", text, 1);
	setenv("PMIX_NAMESPACE", "oshrun-fedcba9876543210", 1); /* left by the same job as the board */
	setenv("PMIX_RANK", "0", 1);
	assert_single();
}

static void test_single_other_file_is_no_board(void **state)
{
	(void)state;
	char text[96];
	FILE *file = tmpfile();
	assert_non_null(file);
	snprintf(text, sizeof text, "2:%d:%d:0:0123456789abcdef:fedcba9876543210", (int)getpid(), fileno(file));
	setenv("PGAS_BOOT", text, 1);
	assert_single();
	fclose(file);
}

static void test_single_leftover_pmi_is_ignored(void **state)
{
	(void)state;
	setenv("PMI_FD", "777", 1);
	setenv("PMI_RANK", "3", 1);
	setenv("PMI_SIZE", "4", 1);
	setenv("PGAS_BOOT_LAUNCHER", "single", 1); /* otherwise libpmi2 would be tried next */
	assert_single();
}

static void test_single_nonsense_is_an_error(void **state)
{
	(void)state;
	setenv("PGAS_BOOT", "nonsense", 1);
	assert_int_equal(pgas_boot_init(), -EINVAL);
	unsetenv("PGAS_BOOT");
	setenv("PGAS_BOOT_LAUNCHER", "nonsense", 1);
	assert_int_equal(pgas_boot_init(), -EINVAL);
	setenv("PGAS_BOOT_LAUNCHER", "oshrun", 1); /* requested, but not present */
	assert_int_equal(pgas_boot_init(), -EINVAL);
}

static int status_of_abort(int status, int with_init)
{
	pid_t pid = fork();
	if (pid == 0) {
		fclose(stderr);
		if (with_init && pgas_boot_init() != 0)
			_exit(99);
		pgas_boot_abort(status, "reason");
	}
	int how = 0;
	waitpid(pid, &how, 0);
	return WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

static void test_single_abort_exits_with_status(void **state)
{
	(void)state;
	assert_int_equal(status_of_abort(5, 1), 5);
	assert_int_equal(status_of_abort(0, 1), 0);
	assert_int_equal(status_of_abort(256 + 3, 1), 3);
	assert_int_equal(status_of_abort(4, 0), 4);
}

static void test_single_environment(void **state)
{
	(void)state;
	setenv("BOOT_TEST_EMPTY", "", 1);
	setenv("BOOT_TEST_SET", "x", 1);
	assert_null(pgas_boot_getenv("BOOT_TEST_EMPTY"));
	assert_null(pgas_boot_getenv("BOOT_TEST_UNSET"));
	assert_string_equal(pgas_boot_getenv("BOOT_TEST_SET"), "x");
}

static void test_single_task_of_srun_without_mpi_refuses(void **state)
{
	(void)state;
	setenv("SLURM_STEP_NUM_TASKS", "4", 1); /* not a step: a batch script */
	assert_single();
	assert_int_equal(pgas_boot_finalize(), 0);
	setenv("SLURM_STEP_ID", "0", 1);
	assert_int_equal(pgas_boot_init(), -ENOTCONN);
	assert_int_equal(pgas_boot_size(), 0);
	setenv("PGAS_BOOT_LAUNCHER", "single", 1);
	assert_single();
	assert_int_equal(pgas_boot_finalize(), 0);
	unsetenv("PGAS_BOOT_LAUNCHER");
	setenv("SLURM_STEP_NUM_TASKS", "1", 1);
	assert_single();
}

int main(void)
{
#define CASE(name_arg) cmocka_unit_test_setup_teardown(name_arg, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_single_before_init_refuses),
		CASE(test_single_exchanges_with_itself),
		CASE(test_single_init_is_counted),
		CASE(test_single_keys_have_bounds),
		CASE(test_single_leftover_board_is_ignored),
		CASE(test_single_other_file_is_no_board),
		CASE(test_single_leftover_pmi_is_ignored),
		CASE(test_single_nonsense_is_an_error),
		CASE(test_single_abort_exits_with_status),
		CASE(test_single_environment),
		CASE(test_single_task_of_srun_without_mpi_refuses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
