// SPDX-License-Identifier: BSD-3-Clause
//
// test_shmem_env.cpp: the environment table: sizes as the specification writes them, old names, wrong values, printing.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern "C" { // cmocka.h has no linkage of its own
#include <cmocka.h>
}

#include "core/shmem_env.hpp"

#include <pgas/pgas_variables.hpp>

using namespace shmem;

namespace {

env_values g_values;
char g_message[kEnvMessage];

int clear(void **)
{
	for (size_t i = 0; i < env_count(); i++) {
		unsetenv(env_get(i).name);
		if (env_get(i).old_name)
			unsetenv(env_get(i).old_name);
	}
	g_values = env_values{};
	return 0;
}

void test_env_nothing_set_gives_defaults(void **)
{
	assert_int_equal(env_load(g_values, g_message), 0);
	assert_false(g_values.version);
	assert_false(g_values.debug);
	assert_int_equal(g_values.symmetric_size, size_t{512} << 20);
	assert_int_equal(g_values.fake_hosts.hosts, 0);
	assert_true(g_values.barrier_algorithm == barrier_algorithm_kind::automatic);
	assert_string_equal(g_message, "");
}

void test_env_sizes_are_read_as_specified(void **)
{
	static const struct {
		const char *text;
		size_t bytes;
	} good[] = {
		{"0", 0},
		{"1", 1},
		{"20m", 20971520},
		{"3.1M", 3250586},
		{"20kk", 20480},
		{"20mb", 20971520},
		{".5m", 524288},
		{"0.5m", 524288},
		{"1.", 1},
		{"0.1", 1},
		{"1.0", 1},
		{"+4k", 4096},
		{"2G", size_t{2} << 30},
		{"1.5t", size_t{3} << 39},
		{"16777215t", 16777215ull << 40},
		{"18446744073709551615", SIZE_MAX},
		{"0.0000000000000000000000001", 1},
		{"1.00000000000000000000000001k", 1025},
		{"1e9", 1000000000},
		{"1.5e3k", 1536000},
		{"25e-1", 3},
		{"1e-300", 1},
		{"0e99999", 0},
		{"1E+2", 100},
	};
	for (const auto &g : good) {
		size_t bytes = 77;
		if (!env_parse_size(g.text, bytes) || bytes != g.bytes)
			fail_msg("%s gives %zu, not %zu", g.text, bytes, g.bytes);
	}
	static const char *const bad[] = {"",
					  " ",
					  ".",
					  "m",
					  "-1",
					  "-1m",
					  "x",
					  "1x",
					  "1 m",
					  "0x10",
					  "1e",
					  "1e+",
					  "1e20",
					  "1e99999999999",
					  "inf",
					  "nan",
					  "1.2.3",
					  "16777216t",
					  "18446744073709551616",
					  "99999999999999999999999999"};
	for (const char *text : bad) {
		size_t bytes = 77;
		if (env_parse_size(text, bytes))
			fail_msg("\"%s\" was taken for %zu", text, bytes);
		assert_int_equal(bytes, 77);
	}
}

void test_env_old_names_count_unless_new_ones_set(void **)
{
	setenv("SMA_SYMMETRIC_SIZE", "1m", 1);
	setenv("SMA_DEBUG", "", 1);
	assert_int_equal(env_load(g_values, g_message), 0);
	assert_int_equal(g_values.symmetric_size, 1 << 20);
	assert_true(g_values.debug);
	setenv("SHMEM_SYMMETRIC_SIZE", "2m", 1);
	assert_int_equal(env_load(g_values, g_message), 0);
	assert_int_equal(g_values.symmetric_size, 2 << 20);
}

void test_env_values_of_each_kind(void **)
{
	setenv("SHMEM_DEBUG", "0", 1); // the specification allows any value
	setenv("SHMEM_BACKTRACE", "Yes", 1);
	setenv("SHMEM_FAKE_HOSTS", "2x4", 1);
	setenv("SHMEM_TEAM_AGREE", "bitmask", 1);
	setenv("SHMEM_REDUCE_ALGORITHM", "RING", 1);
	setenv("SHMEM_BARRIER_ALGORITHM", "two-level", 1);
	assert_int_equal(env_load(g_values, g_message), 0);
	assert_true(g_values.debug);
	assert_true(g_values.backtrace);
	assert_int_equal(g_values.fake_hosts.hosts, 2);
	assert_int_equal(g_values.fake_hosts.pes_per_host, 4);
	assert_true(g_values.team_agree == team_agree_kind::bitmask);
	assert_true(g_values.reduce_algorithm == reduce_algorithm_kind::ring);
	assert_true(g_values.barrier_algorithm == barrier_algorithm_kind::two_level);
}

void test_env_wrong_value_names_variable_value_expectation(void **)
{
	static const struct {
		const char *name, *value, *expected;
	} bad[] = {
		{"SHMEM_SYMMETRIC_SIZE", "lots", "bytes"},
		{"SMA_SYMMETRIC_SIZE", "-5", "bytes"},
		{"SHMEM_BACKTRACE", "maybe", "yes or no"},
		{"SHMEM_FAKE_HOSTS", "2x", "hosts x PEs"},
		{"SHMEM_FAKE_HOSTS", "0x4", "hosts x PEs"},
		{"SHMEM_FAKE_HOSTS", "2x4x2", "hosts x PEs"},
		{"SHMEM_BARRIER_ALGORITHM", "fast", "auto, central, tree, dissemination, two-level"},
		{"SHMEM_BARRIER_ALGORITHM", "", "auto, central"},
		{"SHMEM_HUGE_PAGES", "of", "off, advise"},
	};
	for (const auto &b : bad) {
		clear(nullptr);
		setenv(b.name, b.value, 1);
		assert_int_not_equal(env_load(g_values, g_message), 0);
		if (!strstr(g_message, b.name) || !strstr(g_message, b.value) || !strstr(g_message, b.expected))
			fail_msg("%s=%s: message is: %s", b.name, b.value, g_message);
	}
	// an endless value does not flood the message
	static char endless[100000];
	memset(endless, 'x', sizeof(endless) - 1);
	clear(nullptr);
	setenv("SHMEM_SYMMETRIC_SIZE", endless, 1);
	assert_int_not_equal(env_load(g_values, g_message), 0);
	assert_non_null(strstr(g_message, "..."));
	assert_non_null(strstr(g_message, "bytes"));
}

void test_env_print_tells_all(void **)
{
	setenv("SMA_SYMMETRIC_SIZE", "3m", 1);
	setenv("SHMEM_TEAM_AGREE", "bitmask", 1);
	setenv("SHMEM_SYMETRIC_SIZE", "1g", 1); // typing error
	char *text = nullptr;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	env_print(out);
	fclose(out);
	unsetenv("SHMEM_SYMETRIC_SIZE");
	for (size_t i = 0; i < env_count(); i++)
		assert_non_null(strstr(text, env_get(i).name));
	assert_non_null(strstr(text, "SHMEM_SYMMETRIC_SIZE=3m (from SMA_SYMMETRIC_SIZE, deprecated)"));
	assert_non_null(strstr(text, "SHMEM_TEAM_AGREE=bitmask\n"));
	assert_non_null(strstr(text, "SHMEM_SYMETRIC_SIZE is set, but no such variable is known; did "
				     "you mean SHMEM_SYMMETRIC_SIZE?"));
	free(text);
}

void test_env_misspelt_names_find_the_nearest(void **)
{
	static const char *const misspelt[][2] = {
		{"SHMEM_SYMETRIC_SIZE", "SHMEM_SYMMETRIC_SIZE"},
		{"SHMEM_SYMMETRIC_SZIE", "SHMEM_SYMMETRIC_SIZE"},
		{"SHMEM_STAT", "SHMEM_STATS"},
		{"SHMEM_DEBGU", "SHMEM_DEBUG"},
		{"SHMEM_REDUCE_ALGORYTHM", "SHMEM_REDUCE_ALGORITHM"},
		{"SHMEM_HUGEPAGES", "SHMEM_HUGE_PAGES"},
		{"SMA_SYMMETRICSIZE", "SMA_SYMMETRIC_SIZE"},
		{"FI_PGAS_EAGERSIZE", "FI_PGAS_EAGER_SIZE"},
		{"FI_PGAS_NETWORK", "FI_PGAS_NET"},
		{"PGAS_BOOT_LAUNCHR", "PGAS_BOOT_LAUNCHER"},
	};
	for (const auto &m : misspelt) {
		const char *meant = pgas::meant_variable(m[0]);
		assert_non_null(meant);
		assert_string_equal(meant, m[1]);
	}
}

void test_env_names_of_others_are_left_alone(void **)
{
	for (size_t i = 0; i < env_count(); i++)
		assert_null(pgas::meant_variable(env_get(i).name));
	for (const char *theirs : pgas::variables::kTheirs)
		assert_null(pgas::meant_variable(theirs));
	// variables of launchers, of other implementations, of a user
	for (const char *other :
	     {"SHMEM_COLLECT_ALGORITHM", "SHMEM_OFI_STX_AUTO", "SHMEM_UCX_ALL_CONFIG", "OSHMEM_SYMMETRIC_SIZE",
	      "NVSHMEM_SYMMETRIC_SIZE", "OMPI_MCA_shmem", "PMIX_RANK", "SHMEM_DIR", "SHMEM_HOME", "SHMEM_ROOT",
	      "SHMEM_INSTALL_DIR", "SHMEM_LAUNCHER", "PGAS_HOME", "PGAS_TEST_LIBSMA", "SHMEM_", "PATH", "FI_PROVIDER",
	      "SHMEM_A_NAME_THAT_IS_LONGER_THAN_ANY_VARIABLE_THAT_WE_HAVE_OR_SHALL_EVER_HAVE"})
		if (const char *meant = pgas::meant_variable(other))
			fail_msg("%s is taken for %s", other, meant);
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_env_nothing_set_gives_defaults, clear, clear),
		cmocka_unit_test_setup_teardown(test_env_sizes_are_read_as_specified, clear, clear),
		cmocka_unit_test_setup_teardown(test_env_old_names_count_unless_new_ones_set, clear, clear),
		cmocka_unit_test_setup_teardown(test_env_values_of_each_kind, clear, clear),
		cmocka_unit_test_setup_teardown(test_env_wrong_value_names_variable_value_expectation, clear, clear),
		cmocka_unit_test_setup_teardown(test_env_print_tells_all, clear, clear),
		cmocka_unit_test(test_env_misspelt_names_find_the_nearest),
		cmocka_unit_test(test_env_names_of_others_are_left_alone),
	};
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
