// SPDX-License-Identifier: BSD-3-Clause
// test_top_meet.cpp: who waits for whom, from the numbers that PEs leave in each other's memory, for each algorithm of
// sync; and nobody is said to wait while numbers move.
#include "top_meet.hpp"

#include <pgas/pgas_ranges.hpp>

// cmocka comes last: it has a macro with the name of one of our members
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
extern "C" {
#include <cmocka.h>
}

using namespace oshtop;

namespace {

sample make_sample(size_t pes, uint64_t ns)
{
	sample s;
	s.ns = ns;
	s.pes.resize(pes);
	for (size_t rank = 0; rank < pes; rank++) {
		s.pes[rank].rank = static_cast<int>(rank);
		s.pes[rank].is_here = true;
		s.pes[rank].memory.kind = &pgas::kShmemMemory;
	}
	return s;
}

// What a watch says of two samples that `fill` makes: "barrier: 0,2 for 1", or "" if nobody waits.
template <class Fill>
std::string meet(size_t pes, Fill &&fill)
{
	sample before = make_sample(pes, 100), now = make_sample(pes, 200);
	fill(before, 0);
	fill(now, 1);
	meeting_watch watch;
	std::string text;
	for (const meeting &one : watch.update(before, now)) {
		assert_int_equal(one.since_ns, 100);
		text += std::string(one.what) + ": " + pgas::ranges_of(one.waiting) + " for " +
			(one.awaited.empty() ? std::to_string(one.awaited_count) + " others"
					     : pgas::ranges_of(one.awaited));
	}
	return text;
}

void enter(sample &s, size_t rank, uint64_t number) // a dissemination
{
	s.pes[(rank + 1) % s.pes.size()].memory.team.from_previous = number;
}

void enter_tree(sample &s, size_t rank, uint64_t number)
{
	s.pes[(rank - 1) / 4].memory.team.from_children[(rank - 1) % 4] = number;
}

void test_dissemination(void **)
{
	const auto numbers = [](std::vector<uint64_t> list) {
		return [list](sample &s, int) {
			for (size_t rank = 0; rank < list.size(); rank++)
				enter(s, rank, list[rank]);
		};
	};
	assert_string_equal(meet(4, numbers({7, 6, 7, 7})).c_str(), "barrier: 0,2-3 for 1");
	assert_string_equal(meet(4, numbers({6, 6, 6, 7})).c_str(), "barrier: 3 for 0-2");
	assert_string_equal(meet(4, numbers({7, 7, 7, 7})).c_str(), "");
	assert_string_equal(meet(1, numbers({7})).c_str(), "");
	// the numbers move between the two samples, or one of them does
	assert_string_equal(meet(3,
				 [](sample &s, int step) {
					 for (size_t rank = 0; rank < 3; rank++)
						 enter(s, rank, rank + static_cast<uint64_t>(step));
				 }).c_str(),
			    "");
	assert_string_equal(meet(3, [](sample &s, int step) { enter(s, 0, static_cast<uint64_t>(1 + step)); }).c_str(),
			    "");
	// one of them has ended
	assert_string_equal(meet(3,
				 [](sample &s, int) {
					 enter(s, 0, 1);
					 s.pes[2].memory.kind = nullptr;
				 }).c_str(),
			    "");
}

void test_central(void **)
{
	const auto count = [](uint64_t arrived, uint64_t step_by) {
		return [=](sample &s, int step) {
			s.pes[0].memory.team.arrived = arrived + step_by * static_cast<uint64_t>(step);
			s.pes[0].memory.team.released = 9;
			enter(s, 1, 5); // of an older sync by another algorithm
			enter_tree(s, 2, 6);
		};
	};
	assert_string_equal(meet(5, count(3, 0)).c_str(), "barrier:  for 2 others");
	assert_string_equal(meet(5, count(0, 0)).c_str(), "");
	assert_string_equal(meet(5, count(3, 1)).c_str(), "");
	assert_string_equal(meet(5, count(77, 0)).c_str(), "");
}

// PE 0 has the children 1 to 4, and PE 1 has 5 and 6.
void test_tree(void **)
{
	const auto come = [](std::vector<size_t> ranks, bool is_left) {
		return [=](sample &s, int) {
			for (const size_t rank : ranks) {
				enter_tree(s, rank, 3);
				s.pes[rank].memory.team.from_parent = is_left ? 3 : 2;
			}
		};
	};
	assert_string_equal(meet(7, come({2, 3, 4, 5}, false)).c_str(), "barrier: 2-5 for 6");
	assert_string_equal(meet(7, come({2, 3, 4, 5, 6}, false)).c_str(), "barrier: 2-6 for 1");
	assert_string_equal(meet(7, come({1, 2, 3, 4, 5, 6}, false)).c_str(), "barrier: 1-6 for 0");
	assert_string_equal(meet(7, come({1, 2, 3, 4, 5, 6}, true)).c_str(), "");
}

// PEs 0 to 2 are here, and 3 to 5 on another host.
void test_two_levels(void **)
{
	const auto said = [](std::vector<uint64_t> numbers, uint64_t released) {
		return [=](sample &s, int) {
			for (size_t rank = 3; rank < 6; rank++) {
				s.pes[rank].is_here = false;
				s.pes[rank].host = 1;
				s.pes[rank].memory.kind = nullptr;
			}
			s.pes[0].memory.team.from_host = numbers;
			for (size_t rank = 1; rank < 3; rank++)
				s.pes[rank].memory.team.host_released = released;
		};
	};
	assert_string_equal(meet(6, said({0, 4, 3, 0, 0, 0}, 3)).c_str(), "barrier: 1 for 2");
	assert_string_equal(meet(6, said({0, 4, 4, 0, 0, 0}, 3)).c_str(), "barrier: 1-2 for 0 others");
	assert_string_equal(meet(6, said({0, 4, 4, 0, 0, 0}, 4)).c_str(), "");
	assert_string_equal(meet(6, said({}, 4)).c_str(), "");
	// both hosts are this machine, and their first PEs, 0 and 2, notify one another
	assert_string_equal(meet(4,
				 [](sample &s, int) {
					 s.has_hosts = true;
					 s.pes[2].host = s.pes[3].host = 1;
					 s.pes[0].memory.team.from_host = {0, 4, 0, 0};
					 s.pes[2].memory.team.from_host = {0, 0, 0, 3};
					 s.pes[1].memory.team.host_released = s.pes[3].memory.team.host_released = 3;
					 s.pes[2].memory.team.from_previous = 4;
				 }).c_str(),
			    "barrier: 1 for 3");
	sample s = make_sample(6, 1);
	said({0, 4, 4, 0, 0, 0}, 3)(s, 0);
	assert_int_equal(read_progress(s).syncs[1], 4);
	assert_int_equal(read_progress(s).syncs[0], 3); // as many as it has released
}

void test_collectives(void **)
{
	const auto post = [](std::vector<uint64_t> numbers) {
		return [=](sample &s, int) {
			for (size_t rank = 0; rank < numbers.size(); rank++)
				s.pes[rank].memory.team.exchange = numbers[rank];
			s.pes[0].memory.team.progress = 12;
		};
	};
	assert_string_equal(meet(3, post({8, 8, 5})).c_str(), "collective: 0-1 for 2");
	assert_string_equal(meet(3, post({8, 8, 8})).c_str(), "");
	sample s = make_sample(3, 1);
	post({8, 8, 5})(s, 0);
	assert_true(read_progress(s).collectives == (std::vector<uint64_t>{12, 8, 5}));
}

// It began when it was first seen, and begins anew when something moves.
void test_since(void **)
{
	std::vector<sample> all;
	for (uint64_t i = 0; i < 5; i++) {
		all.push_back(make_sample(2, 100 * (i + 1)));
		enter(all.back(), 0, i < 3 ? 1 : 2);
		enter(all.back(), 1, i < 3 ? 0 : 1);
	}
	meeting_watch watch;
	assert_int_equal(watch.update(all[0], all[1]).at(0).since_ns, 100);
	assert_int_equal(watch.update(all[1], all[2]).at(0).since_ns, 100);
	assert_true(watch.update(all[2], all[3]).empty());
	assert_int_equal(watch.update(all[3], all[4]).at(0).since_ns, 400);
}

} // namespace

int main()
{
	const CMUnitTest tests[] = {
		cmocka_unit_test(test_dissemination), cmocka_unit_test(test_central),     cmocka_unit_test(test_tree),
		cmocka_unit_test(test_two_levels),    cmocka_unit_test(test_collectives), cmocka_unit_test(test_since),
	};
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
