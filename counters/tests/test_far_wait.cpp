// SPDX-License-Identifier: BSD-3-Clause
// test_far_wait.cpp: how long a wait sleeps while peers are on other hosts.
#include <pgas/pgas_far_wait.hpp>

#include <initializer_list>

#include "tests/check.h"

namespace {

constexpr uint64_t kShortest = 100'000, kLongest = 3'200'000; // nanoseconds

// The sleep that follows so many polls; `polls` is then what the wait goes on with.
uint64_t sleep_after(uint32_t &polls, bool crowded, bool arrived = false)
{
	uint64_t slept = 0;
	pgas::far_nap(polls, crowded, [&](uint64_t ns) {
		slept = ns;
		return arrived;
	});
	return slept;
}

void test_sleeps_grow_where_cores_are_shared()
{
	uint32_t polls = pgas::far_polls(true);
	uint64_t last = sleep_after(polls, true);
	CHECK_EQ(last, kShortest);
	for (int i = 0; i < 100; i++) {
		const uint64_t next = sleep_after(polls, true);
		CHECK(next == last || next == 2 * last);
		last = next;
	}
	CHECK_EQ(last, kLongest);
	polls = pgas::far_polls(false);
	for (int i = 0; i < 100; i++)
		CHECK_EQ(sleep_after(polls, false), kShortest);
}

void test_an_arrival_begins_anew()
{
	uint32_t polls = pgas::far_polls(true);
	for (int i = 0; i < 50; i++)
		(void)sleep_after(polls, true);
	CHECK_EQ(sleep_after(polls, true, true), kLongest);
	CHECK_EQ(polls, pgas::far_polls(true));
	CHECK_EQ(sleep_after(polls, true), kShortest);
}

// A wait that polled memory of its host counts up to 10,000 before it hears of the first far peer.
void test_a_wait_that_began_near_sleeps_no_longer()
{
	for (const bool crowded : {true, false}) {
		for (const uint32_t begin : {41u, 100u, 5759u, 10'000u, 12'000u, UINT32_MAX}) {
			uint32_t polls = begin > pgas::far_polls(crowded) ? begin : pgas::far_polls(crowded);
			for (int i = 0; i < 100; i++) {
				const uint64_t slept = sleep_after(polls, crowded);
				CHECK(slept >= kShortest && slept <= kLongest);
				CHECK(polls >= pgas::far_polls(crowded));
			}
		}
	}
}

} // namespace

int main()
{
	test_sleeps_grow_where_cores_are_shared();
	test_an_arrival_begins_anew();
	test_a_wait_that_began_near_sleeps_no_longer();
	return 0;
}
