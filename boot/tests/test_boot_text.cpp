// SPDX-License-Identifier: BSD-3-Clause
// test_boot_text.cpp: the text forms of PMI: the placement of ranks, and bytes as keys and values.
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
extern "C" {
#include <cmocka.h>
}

#include "boot.hpp"

#include <cstring>
#include <map>

using pgas::boot::parse_process_mapping;
using pgas::boot::text_kvs;

namespace {

// "0 1 4" for the ranks on rank's node, or "?"
const char *local(const char *mapping, int rank, int size)
{
	static char text[256];
	std::vector<int> ranks;
	if (!parse_process_mapping(mapping, rank, size, ranks))
		return "?";
	text[0] = '\0';
	for (int r : ranks)
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", text[0] ? " " : "", r);
	return text;
}

void test_mapping_blocks_and_rounds(void **)
{
	assert_string_equal(local("(vector,(0,1,4))", 2, 4), "0 1 2 3");
	assert_string_equal(local("(vector,(0,2,2))", 1, 4), "0 1");
	assert_string_equal(local("(vector,(0,2,2))", 2, 4), "2 3");
	assert_string_equal(local("(vector,(0,2,1))", 0, 5), "0 2 4"); // wraps around
	assert_string_equal(local("(vector,(0,2,1))", 3, 5), "1 3");
	assert_string_equal(local("(vector,(0,1,3),(1,1,1))", 3, 4), "3");
	assert_string_equal(local("(vector,(0,1,1),(1,1,2),(0,1,1))", 0, 4), "0 3");
	assert_string_equal(local("(vector,(0,1,8))", 0, 2), "0 1"); // more slots than ranks
}

void test_mapping_nonsense_is_refused(void **)
{
	for (const char *text : {"", "vector", "(vector)", "(vector,)", "(vector,(0,0,1))", "(vector,(0,1,0))",
				 "(vector,(0,1,-1))", "(hosts,(0,1,1))"})
		assert_string_equal(local(text, 0, 2), "?");
}

std::map<std::string, std::string> g_space;
size_t g_longest_key, g_longest_value;

int put_text(const char *key, const char *value)
{
	g_longest_key = std::max(g_longest_key, strlen(key));
	g_longest_value = std::max(g_longest_value, strlen(value));
	return g_space.emplace(key, value).second ? 0 : -EEXIST;
}
int get_text(int, const char *key, char *value, size_t room)
{
	auto found = g_space.find(key);
	if (found == g_space.end())
		return -ENOENT;
	if (found->second.size() >= room)
		return -EPROTO;
	strcpy(value, found->second.c_str());
	return 0;
}

void test_kvs_any_length_comes_back(void **)
{
	for (size_t value_room : {64, 255, 1023}) {
		text_kvs kvs = {value_room, put_text, get_text};
		g_space.clear();
		g_longest_key = g_longest_value = 0;
		for (size_t bytes : {0, 1, 19, 20, 21, 115, 116, 499, 500, 501, 4096}) {
			std::string value(bytes, '\0'), got(bytes + 1, 'x');
			for (size_t i = 0; i < bytes; i++)
				value[i] = static_cast<char>(i * 37 + bytes);
			std::string key = "u" + std::to_string(bytes);
			assert_int_equal(kvs_put(kvs, 12345, key.c_str(), value.data(), bytes), 0);
			assert_int_equal(kvs_get(kvs, 12345, key.c_str(), got.data(), got.size()), bytes);
			assert_memory_equal(got.data(), value.data(), bytes);
			assert_int_equal(got[bytes], 'x'); // nothing is written past the end
			assert_int_equal(kvs_get(kvs, 12345, key.c_str(), nullptr, 0), bytes);
			assert_int_equal(kvs_get(kvs, 1, key.c_str(), nullptr, 0), -ENOENT);
		}
		assert_true(g_longest_value <= value_room);
		assert_true(g_longest_key < 64);
	}
}

void test_kvs_short_room_gets_the_beginning(void **)
{
	text_kvs kvs = {64, put_text, get_text};
	g_space.clear();
	char got[8] = "-------";
	assert_int_equal(kvs_put(kvs, 0, "ukey", "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", 52), 0);
	assert_int_equal(kvs_get(kvs, 0, "ukey", got, 3), 52);
	assert_string_equal(got, "abc----");
}

void test_kvs_spoiled_value_is_refused(void **)
{
	text_kvs kvs = {64, put_text, get_text};
	for (const char *spoiled : {"", "4", "x.6161", "4.61zz6161", "4."}) {
		g_space.clear();
		g_space["pg0.ukey.0"] = spoiled;
		char got[8];
		assert_int_equal(kvs_get(kvs, 0, "ukey", got, sizeof got), -EPROTO);
	}
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mapping_blocks_and_rounds),
		cmocka_unit_test(test_mapping_nonsense_is_refused),
		cmocka_unit_test(test_kvs_any_length_comes_back),
		cmocka_unit_test(test_kvs_short_room_gets_the_beginning),
		cmocka_unit_test(test_kvs_spoiled_value_is_refused),
	};
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
