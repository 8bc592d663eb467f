// SPDX-License-Identifier: BSD-3-Clause
//
// test_teams_stream.cpp: copies that bypass the caches: that they copy, and from how many bytes on collectives use
// them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

extern "C" { // cmocka.h has no linkage of its own
#include <cmocka.h>
}

#include <vector>

#include <teams/teams_stream.hpp>

using namespace pgas::teams;

namespace {

constexpr size_t kMiB = size_t{1} << 20;

size_t limit(const stream_limits &l, streamer who)
{
	return l.bytes[static_cast<unsigned>(who)];
}

// Bytes that the members of a team read and write together, as the collectives count them.
size_t fcollect_of(size_t n, size_t bytes)
{
	return n * (n + 1) * bytes;
}

void test_stream_small_share_of_the_cache_stays_in_it(void **)
{
	const stream_limits desktop = stream_limits_of(0, 36 * kMiB), server = stream_limits_of(0, 300 * kMiB);
	for (const streamer who : {streamer::fcollect, streamer::collect}) {
		// measured: three times as slow without the caches
		assert_true(fcollect_of(2, kMiB) < limit(desktop, who));
		assert_true(fcollect_of(4, kMiB) < limit(server, who));
	}
	assert_true(2 * 2 * 2 * kMiB < limit(desktop, streamer::alltoall));
	assert_true(2 * 2 * 8 * kMiB < limit(desktop, streamer::reduce)); // measured: 1.2 times as slow
}

#ifdef __x86_64__
void test_stream_more_than_the_cache_goes_around_it(void **)
{
	const stream_limits desktop = stream_limits_of(0, 36 * kMiB), server = stream_limits_of(0, 300 * kMiB);
	for (const streamer who : {streamer::fcollect, streamer::collect, streamer::alltoall}) {
		assert_true(fcollect_of(16, kMiB) >= limit(server, who)); // measured: twice as fast without the caches
		assert_true(fcollect_of(2, 16 * kMiB) >= limit(desktop, who));
	}
}

void test_stream_limit_of_the_user_counts_for_all(void **)
{
	const stream_limits asked = stream_limits_of(4096, 300 * kMiB);
	for (const size_t begin : asked.bytes)
		assert_int_equal(begin, 4096);
}

void test_stream_last_level_is_counted_once_per_cache(void **)
{
	cpu_set_t all, one;
	CPU_ZERO(&one);
	assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
	for (size_t cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &one);
	const size_t single = last_level_bytes(one), several = last_level_bytes(all);
	assert_true(single > 0 && several % single == 0);
	assert_true(several / single <= static_cast<size_t>(CPU_COUNT(&all)));
}
#endif

void test_stream_copies_at_every_alignment_and_length(void **)
{
	std::vector<char> source(4096), dest(4096), want(4096);
	for (size_t i = 0; i < source.size(); i++)
		source[i] = static_cast<char>(i * 31 + i / 256);
	for (size_t skip = 0; skip < 70; skip += 3)
		for (size_t bytes = 0; bytes < 600; bytes += bytes < 70 ? 1 : 37) {
			memset(dest.data(), 0x55, dest.size());
			want = dest;
			memmove(want.data() + 64 + skip, source.data() + 5, bytes);
			copy_streamed(dest.data() + 64 + skip, source.data() + 5, bytes);
			assert_memory_equal(dest.data(), want.data(), dest.size());
		}
}

void test_stream_overlapping_copies_as_memmove(void **)
{
	for (const size_t to_at : {0, 100, 200, 1000}) {
		std::vector<char> bytes(4096);
		for (size_t i = 0; i < bytes.size(); i++)
			bytes[i] = static_cast<char>(i * 7);
		std::vector<char> want = bytes;
		memmove(want.data() + to_at, want.data() + 100, 2000);
		copy_streamed(bytes.data() + to_at, bytes.data() + 100, 2000);
		assert_memory_equal(bytes.data(), want.data(), want.size());
	}
}

} // namespace

int main()
{
	const CMUnitTest tests[] = {
		cmocka_unit_test(test_stream_small_share_of_the_cache_stays_in_it),
#ifdef __x86_64__
		cmocka_unit_test(test_stream_more_than_the_cache_goes_around_it),
		cmocka_unit_test(test_stream_limit_of_the_user_counts_for_all),
		cmocka_unit_test(test_stream_last_level_is_counted_once_per_cache),
#endif
		cmocka_unit_test(test_stream_copies_at_every_alignment_and_length),
		cmocka_unit_test(test_stream_overlapping_copies_as_memmove),
	};
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
