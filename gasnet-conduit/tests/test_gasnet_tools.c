/* SPDX-License-Identifier: BSD-3-Clause */
/* gasnet_tools.h, without a job: time, atomics, numbers as text, environment; and what GASNet itself returns before
 * gasnet_init. */
#include <gasnet_portable_platform.h> /* first: it needs no other header */
#include <gasnet.h>
#include <gasnet_tools.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void test_names_that_clients_take_for_granted(void **state)
{
	(void)state;
	assert_true(strlen(PLATFORM_COMPILER_IDSTR) > 0);
	assert_true(MIN(2, 3) == 2 && MAX(2, 3) == 3);
}

static void test_ticks_advance_in_their_unit(void **state)
{
	(void)state;
	const gasnett_tick_t source = gasnett_ticks_now();
	const uint64_t clock = gasnett_gettimeofday_us();
	gasnett_nsleep(20000000);
	const uint64_t us = gasnett_ticks_to_us(gasnett_ticks_now() - source);
	assert_true(us >= 20000);
	assert_true(gasnett_ticks_to_ns(5000) == 5 * gasnett_ticks_to_ns(1000) && gasnett_ticks_to_us(5000) == 5);
	assert_true(gasnett_gettimeofday_us() - clock >= 15000); /* another clock, which may be set */
	assert_true(gasnett_tick_granularityus() > 0 && gasnett_tick_overheadus() > 0);
}

#define ATOMICS(name_arg, type_arg, bits_arg)                                                                          \
	static void test_##name_arg##_operations(void **state)                                                         \
	{                                                                                                              \
		(void)state;                                                                                           \
		gasnett_##name_arg##_t a = gasnett_##name_arg##_init(5);                                               \
		assert_int_equal(gasnett_##name_arg##_read(&a, 0), 5);                                                 \
		gasnett_##name_arg##_set(&a, 7, GASNETT_ATOMIC_REL);                                                   \
		gasnett_##name_arg##_increment(&a, GASNETT_ATOMIC_MB_PRE);                                             \
		gasnett_##name_arg##_decrement(&a, GASNETT_ATOMIC_MB_POST);                                            \
		assert_int_equal(gasnett_##name_arg##_add(&a, 3, GASNETT_ATOMIC_ACQ), 10);                             \
		assert_int_equal(gasnett_##name_arg##_subtract(&a, 9, 0), 1);                                          \
		assert_true(gasnett_##name_arg##_decrement_and_test(&a, 0));                                           \
		assert_false(gasnett_##name_arg##_decrement_and_test(&a, 0));                                          \
		assert_int_equal(gasnett_##name_arg##_signed(gasnett_##name_arg##_read(&a, 0)), -1);                   \
		assert_false(gasnett_##name_arg##_compare_and_swap(&a, 1, 2, 0));                                      \
		assert_true(gasnett_##name_arg##_compare_and_swap(&a, (type_arg)-1, 2, 0));                            \
		assert_int_equal(gasnett_##name_arg##_swap(&a, 4, GASNETT_ATOMIC_WMB_POST), 2);                        \
		assert_int_equal(gasnett_##name_arg##_read(&a, GASNETT_ATOMIC_RMB_PRE), 4);                            \
		assert_int_equal(sizeof(a) * 8, bits_arg);                                                             \
	}
ATOMICS(atomic, uint32_t, 32)
ATOMICS(atomic32, uint32_t, 32)
ATOMICS(atomic64, uint64_t, 64)
ATOMICS(strongatomic, uint32_t, 32)

static void test_parse_int_units_multiply(void **state)
{
	(void)state;
	assert_int_equal(gasnett_parse_int("123", 0), 123);
	assert_int_equal(gasnett_parse_int("-5", 0), -5);
	assert_int_equal(gasnett_parse_int("0x100", 0), 256);
	assert_int_equal(gasnett_parse_int("64K", 1), 65536);
	assert_int_equal(gasnett_parse_int("1.5MB", 1), 1572864);
	assert_int_equal(gasnett_parse_int("2 GB", 1), 2147483648);
	assert_int_equal(gasnett_parse_int("3", 1024), 3072);
	assert_int_equal(gasnett_parse_int("3B", 1024), 3);
	assert_int_equal(gasnett_parse_int("+7", 0), 7);
	assert_int_equal(gasnett_parse_int("010", 0), 10); /* GASNet knows no octal numbers */
	assert_int_equal(gasnett_parse_int("64K", 0), 64);
	assert_int_equal(gasnett_parse_int("0xFFK", 1), 255 * 1024);
	assert_int_equal(gasnett_parse_int(".5K", 1), 512);
	assert_int_equal(gasnett_parse_int("-0.25 kb", 1), -256);
	assert_int_equal(gasnett_parse_int("0.123456789012345678901234567890T", 1), 135742175046);
	assert_int_equal(gasnett_parse_int("", 1), 0);
	assert_int_equal(gasnett_parse_int("K", 1), 0);
	assert_int_equal(gasnett_parse_int("--5", 0), 0);
	assert_int_equal(gasnett_parse_int(NULL, 1), 0);
}

static void test_parse_int_keeps_64_bits_and_saturates(void **state)
{
	(void)state;
	assert_true(gasnett_parse_int("9223372036854775807", 0) == INT64_MAX);
	assert_true(gasnett_parse_int("9223372036854775806", 1) == INT64_MAX - 1);
	assert_true(gasnett_parse_int("-9223372036854775808", 0) == INT64_MIN);
	assert_true(gasnett_parse_int("-9223372036854775807", 0) == -INT64_MAX);
	assert_true(gasnett_parse_int("0x7fffffffffffffff", 0) == INT64_MAX);
	assert_true(gasnett_parse_int("9007199254740993", 0) == 9007199254740993); /* 2^53 + 1, which no double holds */
	assert_true(gasnett_parse_int("8191P", 1) == (int64_t)8191 << 50);
	assert_true(gasnett_parse_int("8192P", 1) == INT64_MAX);
	assert_true(gasnett_parse_int("-8192P", 1) == INT64_MIN);
	assert_true(gasnett_parse_int("99999999999999999999999", 0) == INT64_MAX);
	assert_true(gasnett_parse_int("-99999999999999999999999", 0) == INT64_MIN);
	assert_true(gasnett_parse_int("18446744073709551615.999999999999999", UINT64_MAX) == INT64_MAX);
}

static void test_format_number_parses_back(void **state)
{
	(void)state;
	const int64_t values[] = {0, 1, 1000, 1024, 65536, 1572864, 1ll << 40, -4096};
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		char text[64];
		assert_int_equal(gasnett_parse_int(gasnett_format_number(values[i], text, sizeof text, 1), 1),
				 values[i]);
		assert_int_equal(gasnett_parse_int(gasnett_format_number(values[i], text, sizeof text, 0), 0),
				 values[i]);
	}
}

static void test_environment_defaults_and_values(void **state)
{
	(void)state;
	gasnett_unsetenv("GASNET_TEST_X");
	assert_null(gasnett_getenv("GASNET_TEST_X"));
	assert_string_equal(gasnett_getenv_withdefault("GASNET_TEST_X", "abc"), "abc");
	assert_int_equal(gasnett_getenv_yesno_withdefault("GASNET_TEST_X", 1), 1);
	assert_int_equal(gasnett_getenv_int_withdefault("GASNET_TEST_X", 17, 1), 17);
	gasnett_setenv("GASNET_TEST_X", "0");
	assert_int_equal(gasnett_getenv_yesno_withdefault("GASNET_TEST_X", 1), 0);
	gasnett_setenv("GASNET_TEST_X", "yes");
	assert_int_equal(gasnett_getenv_yesno_withdefault("GASNET_TEST_X", 0), 1);
	gasnett_setenv("GASNET_TEST_X", "2K");
	assert_int_equal(gasnett_getenv_int_withdefault("GASNET_TEST_X", 17, 1), 2048);
	gasnett_setenv("GASNET_TEST_X", "3/4");
	assert_true(gasnett_getenv_dbl_withdefault("GASNET_TEST_X", 0) == 0.75);
}

/* Returns what a call prints to standard error. */
static char *printed(void (*call)(void))
{
	static char text[2048];
	FILE *file = tmpfile();
	assert_non_null(file);
	fflush(stderr);
	const int kept = dup(STDERR_FILENO);
	dup2(fileno(file), STDERR_FILENO);
	call();
	fflush(stderr);
	dup2(kept, STDERR_FILENO);
	close(kept);
	rewind(file);
	text[fread(text, 1, sizeof text - 1, file)] = 0;
	fclose(file);
	return text;
}

static void show_settings(void)
{
	gasnett_envint_display("GASNET_TEST_SIZE", 65536, 0, 1);
	gasnett_envint_display("GASNET_TEST_SIZE", 65536, 0, 1); /* printed once only */
	gasnett_envstr_display("GASNET_TEST_NONE", NULL, 1);
	gasnett_envdbl_display("GASNET_TEST_PART", 0.5, 0);
	gasnett_getenv_int_withdefault("GASNET_TEST_COUNT", 17, 0);
}

static void test_verboseenv_shows_each_setting_once(void **state)
{
	(void)state;
	gasnett_unsetenv("GASNET_VERBOSEENV");
	assert_string_equal(printed(show_settings), "");
	gasnett_setenv("GASNET_VERBOSEENV", "1");
	const char *text = printed(show_settings);
	gasnett_unsetenv("GASNET_VERBOSEENV");
	const char *size = strstr(text, "GASNET_TEST_SIZE = 64 KB");
	assert_non_null(size);
	assert_null(strstr(size + 1, "GASNET_TEST_SIZE"));
	assert_non_null(strstr(text, "GASNET_TEST_NONE = *not set*"));
	assert_non_null(strstr(text, "GASNET_TEST_PART = 0.5"));
	assert_non_null(strstr(text, "GASNET_TEST_COUNT = 17"));
	assert_non_null(strstr(text, "(default)"));
}

static void test_lists_and_strides_fit_their_buffers(void **state)
{
	(void)state;
	char bytes[256];
	gasnet_memvec_t vector[50];
	void *list[50];
	size_t total = 0;
	for (size_t i = 0; i < 50; i++) {
		vector[i].addr = list[i] = (void *)(UINTPTR_MAX - 4096 * (i + 1)); /* addresses of maximum length */
		vector[i].len = i + 1;
		total += i + 1;
	}
	vector[7].addr = bytes;
	char *text = malloc(gasnett_format_memveclist_bufsz(50));
	const gasnett_memveclist_stats_t s = gasnett_format_memveclist(text, 50, vector);
	assert_true(s.totalsz == total && s.minsz == 1 && s.maxsz == 50 && s.minaddr == bytes);
	assert_ptr_equal(s.maxaddr, (char *)vector[0].addr);
	assert_true(strlen(text) < gasnett_format_memveclist_bufsz(50) && text[strlen(text) - 1] == '}');
	gasnett_format_memveclist(text, 0, NULL);
	free(text);
	text = malloc(gasnett_format_addrlist_bufsz(50));
	assert_ptr_equal(gasnett_format_addrlist(text, 50, list, 9).minaddr, list[49]);
	assert_true(strlen(text) < gasnett_format_addrlist_bufsz(50) && text[strlen(text) - 1] == '}');
	free(text);
	const size_t strides[] = {SIZE_MAX, SIZE_MAX - 1}, count[] = {8, 3, 2};
	text = malloc(gasnett_format_putsgets_bufsz(2));
	assert_int_equal(gasnett_format_putsgets(text, NULL, 4, bytes, strides, bytes, strides, count, 2), 48);
	assert_non_null(strstr(text, "node 4"));
	assert_non_null(strstr(text, "[8, 3, 2]"));
	free(text);
	text = malloc(gasnett_format_putvgetv_bufsz(50, 1));
	assert_int_equal(gasnett_format_putvgetv(text, 1, 50, vector, 1, vector), total);
	assert_true(strlen(text) < gasnett_format_putvgetv_bufsz(50, 1) && text[strlen(text) - 1] == '}');
	free(text);
	text = malloc(gasnett_format_putigeti_bufsz(50, 1));
	assert_int_equal(gasnett_format_putigeti(text, 1, 50, list, 2, 1, list, 100), 100);
	free(text);
	text = malloc(gasnett_format_strides_bufsz(2));
	gasnett_format_strides(text, 2, count);
	assert_string_equal(text, "[8, 3]");
	free(text);
}

static void test_unused_arguments_are_evaluated_once(void **state)
{
	(void)state;
	int n[8] = {0};
	GASNETT_UNUSED_ARGS1(n[0]++);
	GASNETT_UNUSED_ARGS2(n[0]++, n[1]++);
	GASNETT_UNUSED_ARGS8(n[0]++, n[1]++, n[2]++, n[3]++, n[4]++, n[5]++, n[6]++, n[7]++);
	assert_true(n[0] == 3 && n[1] == 2 && n[2] == 1 && n[7] == 1);
	assert_int_equal(gasnett_set_affinity(0), 0);
}

static void test_names_of_masks(void **state)
{
	(void)state;
	char text[80];
	assert_int_equal(gasnett_format_dt(NULL, GEX_DT_I32 | GEX_DT_USER), strlen("GEX_DT_I32|GEX_DT_USER") + 1);
	const size_t bytes = gasnett_format_dt(text, GEX_DT_I32 | GEX_DT_USER);
	assert_int_equal(bytes, strlen(text) + 1);
	assert_string_equal(text, "GEX_DT_I32|GEX_DT_USER");
	gasnett_format_op(text, GEX_OP_FCAS | GEX_OP_GET | 0x8000);
	assert_string_equal(text, "GEX_OP_FCAS|GEX_OP_GET|0x8000");
	gasnett_format_ti(text, GEX_TI_EP);
	assert_string_equal(text, "GEX_TI_EP");
	gasnett_format_op(text, 0);
	assert_string_equal(text, "0x0");
}

/* The versions of GASNet-EX 2025.8.0, whose interface we provide: clients decide by them what they may call. */
static void test_versions_are_those_of_the_interface(void **state)
{
	(void)state;
	const int release = GASNET_RELEASE_VERSION_MAJOR * 10000 + GASNET_RELEASE_VERSION_MINOR * 100 +
			    GASNET_RELEASE_VERSION_PATCH;
	assert_int_equal(release, 20250800);
	assert_int_equal(100 * GEX_SPEC_VERSION_MAJOR + GEX_SPEC_VERSION_MINOR, 19);
	assert_int_equal(100 * GASNET_SPEC_VERSION_MAJOR + GASNET_SPEC_VERSION_MINOR, 108);
	assert_int_equal(100 * GASNETT_SPEC_VERSION_MAJOR + GASNETT_SPEC_VERSION_MINOR, 120);
	assert_int_equal(GASNET_VERSION, 1);
}

/* Clients compare them, and search for parts of them. */
static void test_configurations_say_the_same_versions(void **state)
{
	(void)state;
	const char *const tools = "RELEASE=2025.8.0,SPEC=1.20,PTR=64bit,";
	const char *const library = "RELEASE=2025.8.0,SPEC=0.19,CONDUIT=PGAS,THREADMODEL=SEQ,";
	assert_int_equal(strncmp(GASNETT_CONFIG_STRING, tools, strlen(tools)), 0);
	assert_int_equal(strncmp(GASNET_CONFIG_STRING, library, strlen(library)), 0);
	assert_string_equal(gasnett_release_version_str(), "2025.8.0");
}

static void test_version_and_program(void **state)
{
	(void)state;
	char text[64];
	snprintf(text, sizeof text, "%d.%d.%d", GASNETT_RELEASE_VERSION_MAJOR, GASNETT_RELEASE_VERSION_MINOR,
		 GASNETT_RELEASE_VERSION_PATCH);
	assert_string_equal(gasnett_release_version_str(), text);
	assert_int_equal(gasnett_release_version(), GASNETT_RELEASE_VERSION_MAJOR * 1000000 +
							    GASNETT_RELEASE_VERSION_MINOR * 10000 +
							    GASNETT_RELEASE_VERSION_PATCH);
	assert_non_null(strstr(gasnett_exe_name(), "test_gasnet_tools"));
	assert_int_equal(gasnet_AMMaxLongRequest(), INT_MAX);
	assert_int_equal(gasnet_AMMaxLongReply(), INT_MAX);
}

static void test_count0s_and_checksum(void **state)
{
	(void)state;
	char src[100], dst[100];
	memset(src, 1, sizeof src);
	src[3] = src[77] = 0;
	assert_int_equal(gasnett_count0s(src, sizeof src), 2);
	assert_int_equal(gasnett_count0s_copy(dst, src, sizeof src), 2);
	assert_memory_equal(dst, src, sizeof src);
	assert_int_equal(gasnett_count0s_uint32_t(0x00ff00ff), 2);
	assert_int_equal(gasnett_count0s_uint64_t(1), 7);
	const uint64_t sum = gasnett_checksum(src, sizeof src);
	assert_true(sum == gasnett_checksum(dst, sizeof dst));
	dst[50] ^= 1;
	assert_true(sum != gasnett_checksum(dst, sizeof dst));
}

GASNETT_THREADKEY_DEFINE(some_key);
static int some_value;

static void test_threadkey_keeps_value(void **state)
{
	(void)state;
	gasnett_threadkey_init(some_key);
	assert_null(gasnett_threadkey_get(some_key));
	gasnett_threadkey_set(some_key, &some_value);
	assert_ptr_equal(gasnett_threadkey_get(some_key), &some_value);
}

static void test_calls_before_init_say_so(void **state)
{
	(void)state;
	gasnet_seginfo_t segment;
	gasnet_nodeinfo_t node;
	assert_int_equal(gasnet_AMPoll(), GASNET_ERR_NOT_INIT);
	assert_int_equal(gasnet_AMRequestShort0(0, 200), GASNET_ERR_NOT_INIT);
	assert_int_equal(gasnet_AMRequestMedium2(0, 200, &segment, 8, 1, 2), GASNET_ERR_NOT_INIT);
	assert_int_equal(gasnet_attach(NULL, 0, 0, 0), GASNET_ERR_NOT_INIT);
	assert_int_equal(gasnet_getSegmentInfo(&segment, 1), GASNET_ERR_NOT_INIT);
	assert_int_equal(gasnet_getNodeInfo(&node, 1), GASNET_ERR_NOT_INIT);
	assert_string_equal(gasnet_ErrorName(GASNET_ERR_NOT_INIT), "GASNET_ERR_NOT_INIT");
	assert_int_equal(gasnet_nodes(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_that_clients_take_for_granted),
		cmocka_unit_test(test_ticks_advance_in_their_unit),
		cmocka_unit_test(test_atomic_operations),
		cmocka_unit_test(test_atomic32_operations),
		cmocka_unit_test(test_atomic64_operations),
		cmocka_unit_test(test_strongatomic_operations),
		cmocka_unit_test(test_parse_int_units_multiply),
		cmocka_unit_test(test_parse_int_keeps_64_bits_and_saturates),
		cmocka_unit_test(test_format_number_parses_back),
		cmocka_unit_test(test_environment_defaults_and_values),
		cmocka_unit_test(test_verboseenv_shows_each_setting_once),
		cmocka_unit_test(test_lists_and_strides_fit_their_buffers),
		cmocka_unit_test(test_names_of_masks),
		cmocka_unit_test(test_unused_arguments_are_evaluated_once),
		cmocka_unit_test(test_versions_are_those_of_the_interface),
		cmocka_unit_test(test_configurations_say_the_same_versions),
		cmocka_unit_test(test_version_and_program),
		cmocka_unit_test(test_count0s_and_checksum),
		cmocka_unit_test(test_threadkey_keeps_value),
		cmocka_unit_test(test_calls_before_init_say_so),
	};
	return cmocka_run_group_tests_name("gasnet tools", tests, NULL, NULL);
}
