/* SPDX-License-Identifier: BSD-3-Clause */
/* gasnet_tools.h, without a job: time, atomics, numbers as text, environment; and GASNet's own answers before
 * gasnet_init. */
#include <gasnet.h>
#include <gasnet_tools.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_ticks_advance_in_their_unit(void **state)
{
	(void)state;
	const gasnett_tick_t from = gasnett_ticks_now();
	const uint64_t clock = gasnett_gettimeofday_us();
	gasnett_nsleep(20000000);
	const uint64_t us = gasnett_ticks_to_us(gasnett_ticks_now() - from);
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

static void test_count0s_and_checksum(void **state)
{
	(void)state;
	char from[100], to[100];
	memset(from, 1, sizeof from);
	from[3] = from[77] = 0;
	assert_int_equal(gasnett_count0s(from, sizeof from), 2);
	assert_int_equal(gasnett_count0s_copy(to, from, sizeof from), 2);
	assert_memory_equal(to, from, sizeof from);
	assert_int_equal(gasnett_count0s_uint32_t(0x00ff00ff), 2);
	assert_int_equal(gasnett_count0s_uint64_t(1), 7);
	const uint64_t sum = gasnett_checksum(from, sizeof from);
	assert_true(sum == gasnett_checksum(to, sizeof to));
	to[50] ^= 1;
	assert_true(sum != gasnett_checksum(to, sizeof to));
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
		cmocka_unit_test(test_ticks_advance_in_their_unit),
		cmocka_unit_test(test_atomic_operations),
		cmocka_unit_test(test_atomic32_operations),
		cmocka_unit_test(test_atomic64_operations),
		cmocka_unit_test(test_strongatomic_operations),
		cmocka_unit_test(test_parse_int_units_multiply),
		cmocka_unit_test(test_parse_int_keeps_64_bits_and_saturates),
		cmocka_unit_test(test_format_number_parses_back),
		cmocka_unit_test(test_environment_defaults_and_values),
		cmocka_unit_test(test_count0s_and_checksum),
		cmocka_unit_test(test_threadkey_keeps_value),
		cmocka_unit_test(test_calls_before_init_say_so),
	};
	return cmocka_run_group_tests_name("gasnet tools", tests, NULL, NULL);
}
