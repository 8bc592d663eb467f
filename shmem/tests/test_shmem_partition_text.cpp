// SPDX-License-Identifier: BSD-3-Clause
//
// test_shmem_partition_text.cpp: the variables of symmetric partitions: every form, every wrong value, random bytes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern "C" { // cmocka.h has no linkage of its own
#include <cmocka.h>
}

#include <devices/devices_kind.hpp>

#include "device/shmem_partition_text.hpp"

using namespace shmem;

namespace {

constexpr size_t kMiB = size_t{1} << 20, kGiB = size_t{1} << 30;

std::vector<partition_wish> *g_wishes; // ended by teardown, because a failed assertion jumps out of the test
char g_why[kEnvMessage];

int clear(void **)
{
	bool again = true;
	while (again) {
		again = false;
		for (char **pos = environ; *pos && !again; pos++) {
			char name[64] = "";
			if (sscanf(*pos, "%63[^=]", name) == 1 && strncmp(name, "SHMEM_", 6) == 0) {
				unsetenv(name);
				again = true;
			}
		}
	}
	delete g_wishes;
	g_wishes = new std::vector<partition_wish>;
	return 0;
}

int end(void **)
{
	clear(nullptr);
	delete g_wishes;
	g_wishes = nullptr;
	return 0;
}

void read_good()
{
	g_wishes->clear();
	if (!partition_wishes(*g_wishes, g_why))
		fail_msg("refused: %s", g_why);
}

// the message is one line that contains name, value and these words
void read_bad(const char *name, const char *value, const char *expected)
{
	g_wishes->clear();
	memset(g_why, 'x', sizeof g_why);
	if (partition_wishes(*g_wishes, g_why))
		fail_msg("%s=%s was taken", name, value);
	if (!memchr(g_why, '\0', sizeof g_why) || strchr(g_why, '\n'))
		fail_msg("%s=%s: the message is not one line", name, value);
	if (!strstr(g_why, name) || !strstr(g_why, value) || !strstr(g_why, expected))
		fail_msg("%s=%s: \"%s\" is not in the message: %s", name, value, expected, g_why);
}

void test_nothing_set_gives_nothing(void **)
{
	read_good();
	assert_int_equal(g_wishes->size(), 0);
	setenv("SHMEM_DEVICE_SYMMETRIC_SIZE", "0", 1);
	setenv("SHMEM_SYMMETRIC_PARTITIONS", "nonsense", 1); // plural: not our variable
	read_good();
	assert_int_equal(g_wishes->size(), 0);
}

void test_every_form(void **)
{
	static const struct {
		const char *text;
		size_t bytes, page;
		const char *kind;
		numa_mode mode;
		uint64_t nodes;
	} good[] = {
		{"8G", 8 * kGiB, 0, "host", numa_mode::none, 0},
		{"SIZE=8G", 8 * kGiB, 0, "host", numa_mode::none, 0},
		{"size=1.5m", kMiB + kMiB / 2, 0, "host", numa_mode::none, 0},
		{"1", 1, 0, "host", numa_mode::none, 0},
		{"64MiB", 64 * kMiB, 0, "host", numa_mode::none, 0},
		{"64mb", 64 * kMiB, 0, "host", numa_mode::none, 0},
		{"9223372036854775807", SIZE_MAX / 2, 0, "host", numa_mode::none, 0},
		{"2G:KIND=EMULATED", 2 * kGiB, 0, "emulated", numa_mode::none, 0},
		{"2G:kind=auto", 2 * kGiB, 0, "auto", numa_mode::none, 0},
		{"KIND=emulated:SIZE=2G", 2 * kGiB, 0, "emulated", numa_mode::none, 0},
		{"SIZE=1G:PGSIZE=2M:KIND=Host:POLICY=local", kGiB, 2 * kMiB, "host", numa_mode::local, 0},
		{"policy=bind=0-2,5:Size=4k:pgsize=4096", 4096, 4096, "host", numa_mode::bind, 0x27},
		{"1G:POLICY=bind=63", kGiB, 0, "host", numa_mode::bind, uint64_t{1} << 63},
		{"1G:POLICY=bind=0-63", kGiB, 0, "host", numa_mode::bind, ~uint64_t{0}},
		{"1G:POLICY=Interleave", kGiB, 0, "host", numa_mode::interleave, 0},
		{"1G:POLICY=interleave=1,3", kGiB, 0, "host", numa_mode::interleave, 0xa},
		{"1G:POLICY=default:PGSIZE=1G", kGiB, kGiB, "host", numa_mode::none, 0},
		{"1G:POLICY=default:KIND=emulated:PGSIZE=2m", kGiB, 2 * kMiB, "emulated", numa_mode::none, 0},
	};
	for (const auto &g : good) {
		setenv("SHMEM_SYMMETRIC_PARTITION3", g.text, 1);
		read_good();
		assert_int_equal(g_wishes->size(), 1);
		const partition_wish &w = g_wishes->front();
		if (w.id != 3 || w.bytes != g.bytes || w.page_bytes != g.page || strcmp(w.kind, g.kind) != 0 ||
		    w.policy.mode != g.mode || w.policy.nodes != g.nodes)
			fail_msg("%s: read as partition %d of %zu bytes, kind %s, pages of %zu, policy %d of %llx",
				 g.text, w.id, w.bytes, w.kind, w.page_bytes, static_cast<int>(w.policy.mode),
				 static_cast<unsigned long long>(w.policy.nodes));
	}
}

void test_every_kind_that_there_is(void **)
{
	char names[128];
	snprintf(names, sizeof names, "%s", pgas::devices::kind_names());
	unsigned count = 0;
	char *rest = nullptr;
	for (char *name = strtok_r(names, ", ", &rest); name; name = strtok_r(nullptr, ", ", &rest)) {
		char value[64];
		snprintf(value, sizeof value, "1G:KIND=%s", name);
		setenv("SHMEM_SYMMETRIC_PARTITION0", value, 1);
		read_good();
		assert_string_equal(g_wishes->front().kind, name);
		count++;
	}
	assert_true(count > 0);
}

void test_several_come_in_order(void **)
{
	setenv("SHMEM_MAX_PARTITIONS", "64", 1);
	setenv("SHMEM_SYMMETRIC_PARTITION63", "63", 1);
	setenv("SHMEM_SYMMETRIC_PARTITION1", "2G:KIND=emulated", 1);
	setenv("SHMEM_SYMMETRIC_PARTITION00", "8G", 1);
	setenv("SHMEM_DEVICE_SYMMETRIC_SIZE", "16M", 1);
	setenv("SHMEM_GPU_SYMMETRIC_SIZE", "16384k", 1); // the same
	read_good();
	static const struct {
		int id;
		const char *kind;
		size_t bytes;
	} expected[] = {{0, "host", 8 * kGiB}, {1, "emulated", 2 * kGiB}, {2, "auto", 16 * kMiB}, {63, "host", 63}};
	assert_int_equal(g_wishes->size(), 4);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal((*g_wishes)[i].id, expected[i].id);
		assert_int_equal((*g_wishes)[i].bytes, expected[i].bytes);
		assert_string_equal((*g_wishes)[i].kind, expected[i].kind);
	}
	clear(nullptr);
	setenv("SHMEM_MAX_PARTITIONS", "1", 1); // as the authors of the first implementation set it
	setenv("SHMEM_SYMMETRIC_PARTITION0", "SIZE=8G:KIND=emulated", 1);
	read_good();
	assert_int_equal(g_wishes->size(), 1);
	clear(nullptr);
	setenv("SHMEM_GPU_SYMMETRIC_SIZE", "1g", 1);
	read_good();
	assert_int_equal(g_wishes->size(), 1);
	assert_string_equal(g_wishes->front().kind, "auto");
}

void test_wrong_values_are_named(void **)
{
	static const struct {
		const char *value, *expected;
	} bad[] = {
		{"", "expected [SIZE=]<bytes>"},
		{":", "SIZE is not"},
		{"0", "SIZE is not"},
		{"SIZE=0k", "SIZE is not"},
		{"SIZE=", "SIZE is not"},
		{"-1", "SIZE is not"},
		{"lots", "SIZE is not"},
		{"8Gx", "SIZE is not"},
		{"8G,KIND=emulated", "is not one of: SIZE="},
		{"SIZE=8G,KIND=emulated", "SIZE is not"},
		{"SIZE=8 G", "SIZE is not"},
		{" 8G", "SIZE is not"},
		{"9223372036854775808", "SIZE is not"},
		{"18446744073709551616", "SIZE is not"},
		{"99999999t", "SIZE is not"},
		{"KIND=host", "no SIZE="},
		{"8G:", "\"\" is not one of: SIZE="},
		{"8G::KIND=host", "\"\" is not one of: SIZE="},
		{"8G:emulated", "\"emulated\" is not one of"},
		{"KIND=host:8G", "\"8G\" is not one of"},
		{"8G:SIZE=8G", "SIZE is there twice"},
		{"SIZE=1:size=1", "SIZE is there twice"},
		{"8G:KIND=host:kind=host", "KIND is there twice"},
		{"8G:COLOUR=red", "\"COLOUR=red\" is not one of"},
		{"8G:=red", "\"=red\" is not one of"},
		{"8G:KIND=", "KIND is not one of: host, auto, emulated"},
		{"8G:KIND=hos", "KIND is not one of"},
		{"8G:KIND=host, auto", "KIND is not one of"},
		{"8G:KIND=host,", "KIND is not one of"},
		{"8G:PGSIZE=3M", "PGSIZE is not a power of two"},
		{"8G:PGSIZE=2K", "PGSIZE is not"},
		{"8G:PGSIZE=2G", "PGSIZE is not"},
		{"8G:PGSIZE=0", "PGSIZE is not"},
		{"8G:PGSIZE=", "PGSIZE is not"},
		{"8G:POLICY=", "POLICY is not one of: default, local"},
		{"8G:POLICY=bind", "POLICY is not one of"},
		{"8G:POLICY=local=1", "POLICY is not one of"},
		{"8G:POLICY=preferred", "POLICY is not one of"},
		{"8G:POLICY=bind=", "nodes of POLICY"},
		{"8G:POLICY=bind=64", "nodes of POLICY"},
		{"8G:POLICY=bind=3-1", "nodes of POLICY"},
		{"8G:POLICY=bind=1-", "nodes of POLICY"},
		{"8G:POLICY=bind=-1", "nodes of POLICY"},
		{"8G:POLICY=bind=1,,2", "nodes of POLICY"},
		{"8G:POLICY=bind=1,2,", "nodes of POLICY"},
		{"8G:POLICY=bind=4294967296", "nodes of POLICY"},
		{"8G:POLICY=interleave=all", "nodes of POLICY"},
		{"8G:POLICY=local:KIND=emulated", "POLICY is for KIND=host"},
	};
	for (const auto &b : bad) {
		setenv("SHMEM_SYMMETRIC_PARTITION2", b.value, 1);
		read_bad("SHMEM_SYMMETRIC_PARTITION2", b.value, b.expected);
	}
}

void test_wrong_names_are_named(void **)
{
	static const struct {
		const char *name, *expected;
	} bad[] = {
		{"SHMEM_SYMMETRIC_PARTITION", "must end in the number"},
		{"SHMEM_SYMMETRIC_PARTITION_1", "must end in the number"},
		{"SHMEM_SYMMETRIC_PARTITION-1", "must end in the number"},
		{"SHMEM_SYMMETRIC_PARTITION1a", "must end in the number"},
		{"SHMEM_SYMMETRIC_PARTITION8", "below SHMEM_MAX_PARTITIONS (SHMEM_MAX_PARTITIONS is 8, 64 at most)"},
		{"SHMEM_SYMMETRIC_PARTITION4294967296", "below SHMEM_MAX_PARTITIONS"},
		{"SHMEM_SYMMETRIC_PARTITION99999999999", "below SHMEM_MAX_PARTITIONS"},
	};
	for (const auto &b : bad) {
		clear(nullptr);
		setenv(b.name, "1G", 1);
		read_bad(b.name, "", b.expected);
	}
	clear(nullptr);
	setenv("SHMEM_SYMMETRIC_PARTITION1", "1G", 1);
	setenv("SHMEM_SYMMETRIC_PARTITION01", "1G", 1);
	read_bad("SHMEM_SYMMETRIC_PARTITION", "1", "another variable describes");
	for (const char *limit : {"0", "65", "", "x", "-1", "8 ", "99999999999999999999"}) {
		clear(nullptr);
		setenv("SHMEM_MAX_PARTITIONS", limit, 1);
		read_bad("SHMEM_MAX_PARTITIONS", limit, "a number from 1 to 64");
	}
	for (const char *name : {"SHMEM_DEVICE_SYMMETRIC_SIZE", "SHMEM_GPU_SYMMETRIC_SIZE"})
		for (const char *size : {"", "lots", "-1", "9223372036854775808", "18446744073709551616"}) {
			clear(nullptr);
			setenv(name, size, 1);
			read_bad(name, size, "bytes below 2^6");
		}
	clear(nullptr);
	setenv("SHMEM_DEVICE_SYMMETRIC_SIZE", "1G", 1);
	setenv("SHMEM_GPU_SYMMETRIC_SIZE", "2G", 1);
	read_bad("SHMEM_DEVICE_SYMMETRIC_SIZE", "1G", "differs from SHMEM_GPU_SYMMETRIC_SIZE");
	clear(nullptr);
	setenv("SHMEM_MAX_PARTITIONS", "1", 1);
	setenv("SHMEM_SYMMETRIC_PARTITION0", "1G", 1);
	setenv("SHMEM_GPU_SYMMETRIC_SIZE", "2G", 1);
	read_bad("SHMEM_GPU_SYMMETRIC_SIZE", "", "no number left");
}

void test_spaces_and_the_device_heap(void **)
{
	static const struct {
		const char *cpu, *gpu, *space, *heap, *cpu_size, *gpu_size,
			*partition; // of the environment; null: not set
		bool asked;
		bool has_cpu, has_gpu, gpu_default;
		size_t heap_bytes, device_bytes; // device_bytes 0: no device heap
		bool if_there;
	} good[] = {
		{nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, false, true, true, false, 512 * kMiB, 0,
		 false},
		{nullptr, nullptr, nullptr, "64M", nullptr, nullptr, nullptr, true, true, true, false, 64 * kMiB,
		 512 * kMiB, true},
		{nullptr, "1", nullptr, "64M", "32M", nullptr, nullptr, false, true, true, false, 32 * kMiB, 512 * kMiB,
		 true},
		{"", "", nullptr, "64M", nullptr, nullptr, nullptr, false, true, true, false, 64 * kMiB, 0, false},
		{nullptr, "yes", nullptr, nullptr, nullptr, "2M", nullptr, false, true, true, false, 512 * kMiB,
		 2 * kMiB, false},
		{nullptr, nullptr, nullptr, nullptr, nullptr, "0", nullptr, true, true, true, false, 512 * kMiB, 0,
		 false},
		{nullptr, "no", nullptr, nullptr, nullptr, "2M", nullptr, false, true, false, false, 512 * kMiB,
		 2 * kMiB, false},
		{nullptr, nullptr, "GPU", "64M", nullptr, nullptr, nullptr, false, true, true, true, 512 * kMiB,
		 64 * kMiB, false},
		{nullptr, nullptr, "gpu", "64M", "16M", "2M", nullptr, false, true, true, true, 16 * kMiB, 2 * kMiB,
		 false},
		{"off", nullptr, nullptr, "64M", nullptr, nullptr, "3M:KIND=emulated", false, false, true, true,
		 64 * kMiB, 3 * kMiB, false},
		{nullptr, nullptr, "cpu", "64M", nullptr, nullptr, "3M:KIND=emulated", true, true, true, false,
		 64 * kMiB, 3 * kMiB, false},
		// the size with its own variable comes before a partition of a lower number
		{nullptr, "1", nullptr, "64M", nullptr, "2M", "3M:KIND=emulated", true, true, true, false, 64 * kMiB,
		 2 * kMiB, false},
	};
	for (const auto &one : good) {
		clear(nullptr);
		const char *const set[][2] = {
			{"SHMEM_ENABLE_CPU_SPACE", one.cpu},          {"SHMEM_ENABLE_GPU_SPACE", one.gpu},
			{"SHMEM_DEFAULT_SPACE", one.space},           {"SHMEM_SYMMETRIC_SIZE", one.heap},
			{"SHMEM_CPU_SYMMETRIC_SIZE", one.cpu_size},   {"SHMEM_GPU_SYMMETRIC_SIZE", one.gpu_size},
			{"SHMEM_SYMMETRIC_PARTITION0", one.partition}};
		for (const auto &variable : set)
			if (variable[1])
				setenv(variable[0], variable[1], 1);
		const auto row = static_cast<int>(&one - good);
		space_wish spaces;
		if (!partition_wishes(*g_wishes, g_why, &spaces, one.asked))
			fail_msg("row %d: refused: %s", row, g_why);
		size_t device = 0, heaps = 0;
		bool if_there = false;
		for (const partition_wish &w : *g_wishes)
			if (w.device_heap) {
				device = w.bytes;
				if_there = w.if_there;
				heaps++;
			}
		if (heaps > 1 || spaces.cpu != one.has_cpu || spaces.gpu != one.has_gpu ||
		    spaces.gpu_default != one.gpu_default || spaces.heap_bytes != one.heap_bytes ||
		    device != one.device_bytes || if_there != one.if_there)
			fail_msg("row %d: cpu %d gpu %d default %d heap %zu device %zu (%zu) if_there %d", row,
				 spaces.cpu, spaces.gpu, spaces.gpu_default, spaces.heap_bytes, device, heaps,
				 if_there);
	}
}

void test_wrong_spaces_are_named(void **)
{
	setenv("SHMEM_ENABLE_CPU_SPACE", "no", 1);
	setenv("SHMEM_ENABLE_GPU_SPACE", "0", 1);
	read_bad("SHMEM_ENABLE_CPU_SPACE", "no", "one of them must be there");
	clear(nullptr);
	setenv("SHMEM_DEFAULT_SPACE", "CPU", 1);
	setenv("SHMEM_ENABLE_CPU_SPACE", "no", 1);
	read_bad("SHMEM_DEFAULT_SPACE", "CPU", "SHMEM_ENABLE_CPU_SPACE says no");
	clear(nullptr);
	setenv("SHMEM_DEFAULT_SPACE", "GPU", 1);
	setenv("SHMEM_ENABLE_GPU_SPACE", "off", 1);
	read_bad("SHMEM_DEFAULT_SPACE", "GPU", "SHMEM_ENABLE_GPU_SPACE says no");
	setenv("SHMEM_DEFAULT_SPACE", "memory", 1);
	read_bad("SHMEM_DEFAULT_SPACE", "memory", "is not one of: auto, CPU, GPU");
	clear(nullptr);
	setenv("SHMEM_DEFAULT_SPACE", "GPU", 1);
	setenv("SHMEM_GPU_SYMMETRIC_SIZE", "0", 1);
	read_bad("SHMEM_GPU_SYMMETRIC_SIZE", "0", "needs a size");
	clear(nullptr);
	setenv("SHMEM_DEFAULT_SPACE", "GPU", 1);
	setenv("SHMEM_SYMMETRIC_SIZE", "0", 1);
	read_bad("SHMEM_SYMMETRIC_SIZE", "0", "no size of a GPU space");
	clear(nullptr);
	setenv("SHMEM_MAX_PARTITIONS", "1", 1);
	setenv("SHMEM_SYMMETRIC_PARTITION0", "1G", 1);
	setenv("SHMEM_ENABLE_GPU_SPACE", "1", 1);
	read_bad("SHMEM_ENABLE_GPU_SPACE", "", "no number left");
}

void test_endless_values_do_not_flood_the_message(void **)
{
	static char name[4000], value[100000];
	memset(value, 'x', sizeof value - 1);
	strcpy(name, "SHMEM_SYMMETRIC_PARTITION");
	memset(name + strlen(name), '0', sizeof name - 1 - strlen(name));
	setenv(name, value, 1);
	read_bad("SHMEM_SYMMETRIC_PARTITION00", "xxx...", "SIZE is not");
	memcpy(value, "8G:", 3);
	setenv(name, value, 1);
	read_bad("SHMEM_SYMMETRIC_PARTITION00", "8G:xxx", "SIZE=, KIND=, PGSIZE=, POLICY=");
	unsetenv(name);
	setenv("SHMEM_SYMMETRIC_PARTITION0", "8G:KIND=a\nb\033[31m\xff", 1);
	read_bad("SHMEM_SYMMETRIC_PARTITION0", "8G:KIND=a?b?[31m?", "KIND is not one of");
}

// random bytes, and random words of the language: a valid value or a one-line error, and a valid value is within its
// bounds
void test_random_values(void **)
{
	static const char *const words[] = {"SIZE=", "KIND=", "PGSIZE=", "POLICY=", ":",    "=",          "8G",   "0",
					    "1.5",   "k",     "m",       "host",    "auto", "emulated",   "bind", "0-3",
					    "local", ",",     "-",       "4096",    "2M",   "interleave", " ",    "e9"};
	uint64_t seed = 99;
	const auto random = [&seed](uint64_t bound) {
		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		return seed % bound;
	};
	unsigned taken = 0;
	for (unsigned i = 0; i < 50000; i++) {
		char value[256] = "";
		if (i % 4 == 0) {
			const size_t length = random(80);
			for (size_t pos = 0; pos < length; pos++)
				value[pos] = static_cast<char>(1 + random(255));
		} else {
			for (size_t count = 1 + random(8); count > 0; count--)
				strcat(value, words[random(sizeof words / sizeof words[0])]);
		}
		setenv("SHMEM_SYMMETRIC_PARTITION5", value, 1);
		g_wishes->clear();
		memset(g_why, 'x', sizeof g_why);
		if (!partition_wishes(*g_wishes, g_why)) {
			assert_non_null(memchr(g_why, '\0', sizeof g_why));
			assert_non_null(strstr(g_why, "SHMEM_SYMMETRIC_PARTITION5: \""));
			for (const char *c = g_why; *c; c++)
				assert_true(*c >= ' ' && *c <= '~');
			continue;
		}
		taken++;
		assert_int_equal(g_wishes->size(), 1);
		const partition_wish &w = g_wishes->front();
		assert_int_equal(w.id, 5);
		assert_true(w.bytes > 0 && w.bytes <= SIZE_MAX / 2);
		assert_true(w.page_bytes == 0 ||
			    (w.page_bytes >= 4096 && w.page_bytes <= kGiB && !(w.page_bytes & (w.page_bytes - 1))));
		assert_non_null(memchr(w.kind, '\0', sizeof w.kind));
		assert_true(w.policy.mode != numa_mode::bind || w.policy.nodes != 0);
		assert_true(w.policy.mode == numa_mode::none || strcmp(w.kind, "host") == 0);
	}
	assert_true(taken > 100);
}

void test_they_are_known_and_printed(void **)
{
	setenv("SHMEM_SYMMETRIC_PARTITION1", "2G:KIND=emulated", 1);
	setenv("SHMEM_SYMMETRIC_PARTITION02", "1G", 1);
	setenv("SHMEM_SYMMETRIC_PARTITION_3", "1G", 1);
	setenv("SHMEM_SYMMETRIC_PARTITION", "1G", 1);
	setenv("SHMEM_MAX_PARTITIONS", "9", 1);
	setenv("SHMEM_GPU_SYMMETRIC_SIZE", "3G", 1);
	static char unknown[256];
	unknown[0] = '\0';
	env_unknown([](const char *name, void *) { strcat(strcat(unknown, name), " "); }, nullptr);
	assert_non_null(strstr(unknown, "SHMEM_SYMMETRIC_PARTITION_3 "));
	assert_non_null(strstr(unknown, "SHMEM_SYMMETRIC_PARTITION "));
	assert_int_equal(strlen(unknown), strlen("SHMEM_SYMMETRIC_PARTITION_3 SHMEM_SYMMETRIC_PARTITION "));
	char *text = nullptr;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	env_print(out);
	fclose(out);
	assert_non_null(strstr(text, "  SHMEM_SYMMETRIC_PARTITION1=2G:KIND=emulated\n"));
	assert_non_null(strstr(text, "  SHMEM_SYMMETRIC_PARTITION02=1G\n"));
	assert_non_null(strstr(text, "  SHMEM_MAX_PARTITIONS=9\n"));
	assert_non_null(strstr(text, "  SHMEM_GPU_SYMMETRIC_SIZE=3G\n"));
	assert_null(strstr(text, "PARTITION1 is set, but"));
	free(text);
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nothing_set_gives_nothing, clear, end),
		cmocka_unit_test_setup_teardown(test_every_form, clear, end),
		cmocka_unit_test_setup_teardown(test_every_kind_that_there_is, clear, end),
		cmocka_unit_test_setup_teardown(test_several_come_in_order, clear, end),
		cmocka_unit_test_setup_teardown(test_wrong_values_are_named, clear, end),
		cmocka_unit_test_setup_teardown(test_wrong_names_are_named, clear, end),
		cmocka_unit_test_setup_teardown(test_spaces_and_the_device_heap, clear, end),
		cmocka_unit_test_setup_teardown(test_wrong_spaces_are_named, clear, end),
		cmocka_unit_test_setup_teardown(test_endless_values_do_not_flood_the_message, clear, end),
		cmocka_unit_test_setup_teardown(test_random_values, clear, end),
		cmocka_unit_test_setup_teardown(test_they_are_known_and_printed, clear, end),
	};
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
