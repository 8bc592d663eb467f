// SPDX-License-Identifier: BSD-3-Clause
//
// Teams and collectives under a client that is not one of our libraries (forked.hpp): they need nothing else, and every
// path to a member and every algorithm gives the right result.
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include <teams/teams_fold.hpp>

#include "forked.hpp"

extern "C" { // cmocka.h has no linkage of its own; last, since its macros have short names
#include <cmocka.h>
}

using namespace forked;
using teams::team;

namespace {

// --- collectives on a team or set; dest and source are in the symmetric data -----------------------------------------

constexpr size_t kHalf = kDataBytes / 2;

char *dest()
{
	return data();
}
char *source()
{
	return data() + kHalf;
}
template <class T>
T *as(char *pos)
{
	return reinterpret_cast<T *>(pos);
}

// Byte i of member `count`.
char byte_of(int count, size_t i)
{
	return static_cast<char>(count * 37 + static_cast<int>(i % 251) + 1);
}

void fill_source(const team &t, size_t bytes)
{
	memset(dest(), 0x5a, kHalf / 4);
	for (size_t i = 0; i < bytes; i++)
		source()[i] = byte_of(t.me, i);
}

// All have written before any reads.
void check_sync(team &t)
{
	auto *mine = as<uint64_t>(data());
	for (uint64_t phase = 1; phase <= 3; phase++) {
		pgas_store_relaxed(mine, phase);
		teams::sync(t);
		for (int j = 0; j < t.size; j++)
			EXPECT(pgas_load_relaxed(as<uint64_t>(at_rank(mine, teams::world_rank(t, j)))) == phase);
		teams::sync(t);
	}
}

void check_broadcast(team &t)
{
	for (const size_t bytes : {size_t{4}, size_t{40}, size_t{1000}, size_t{100'001}, size_t{400'001}})
		for (const int root : {0, t.size - 1}) {
			fill_source(t, bytes);
			teams::sync(t);
			teams::broadcast(t, dest(), source(), bytes, root, true);
			for (size_t i = 0; i < bytes; i++)
				EXPECT(dest()[i] == byte_of(root, i));
			EXPECT(dest()[bytes] == 0x5a);
			teams::sync(t);
		}
	// many in a row, so that rings of lines and notes are reused; first from one root that runs ahead of the last
	for (int k = 0; k < 60; k++) {
		const int root = k < 40 ? 0 : k % t.size;
		auto *item = as<int>(dest()) + k; // the one before may still be read
		*as<int>(source()) = 1000 * t.me + k;
		if (k == 0 && t.me == t.size - 1)
			usleep(2000);
		teams::broadcast(t, item, source(), sizeof(int), root, true);
		EXPECT(*item == 1000 * root + k);
	}
	teams::sync(t);
}

void check_reduce(team &t)
{
	const auto n = static_cast<int64_t>(t.size);
	for (const size_t count : {size_t{1}, size_t{7}, size_t{1000}, size_t{20'003}, size_t{250'001}}) {
		auto *src = as<int64_t>(source()), *dst = as<int64_t>(dest());
		for (size_t i = 0; i < count; i++)
			src[i] = static_cast<int64_t>(i) * (t.me + 1);
		teams::sync(t);
		teams::reduce(t, teams::reduction_of<teams::op_sum, int64_t>(), dst, src, count);
		for (size_t i = 0; i < count; i++)
			EXPECT(dst[i] == static_cast<int64_t>(i) * n * (n + 1) / 2);
		teams::sync(t);
		teams::reduce(t, teams::reduction_of<teams::op_max, int64_t>(), src, src, count); // in place
		for (size_t i = 0; i < count; i++)
			EXPECT(src[i] == static_cast<int64_t>(i) * n);
		teams::sync(t);
	}
}

void check_scan(team &t)
{
	for (const size_t count : {size_t{2}, size_t{5000}})
		for (const bool exclusive : {false, true}) {
			auto *src = as<int32_t>(source()), *dst = as<int32_t>(dest());
			for (size_t i = 0; i < count; i++)
				src[i] = static_cast<int32_t>(i) + t.me;
			teams::sync(t);
			teams::scan(t, teams::reduction_of<teams::op_sum, int32_t>(), dst, src, count, exclusive);
			const int terms = exclusive ? t.me : t.me + 1;
			for (size_t i = 0; i < count; i++)
				EXPECT(dst[i] == static_cast<int32_t>(i) * terms + terms * (terms - 1) / 2);
			teams::sync(t);
		}
}

void check_collect(team &t)
{
	const auto n = static_cast<size_t>(t.size);
	for (const size_t bytes : {size_t{8}, size_t{3000}}) {
		fill_source(t, bytes);
		teams::sync(t);
		teams::fcollect(t, dest(), source(), bytes);
		for (size_t i = 0; i < n * bytes; i++)
			EXPECT(dest()[i] == byte_of(static_cast<int>(i / bytes), i % bytes));
		teams::sync(t);
		// member j has j times as many, member 0 none
		fill_source(t, static_cast<size_t>(t.me) * bytes);
		teams::sync(t);
		teams::collect(t, dest(), source(), static_cast<size_t>(t.me) * bytes);
		const char *pos = dest();
		for (int j = 0; j < t.size; j++)
			for (size_t i = 0; i < static_cast<size_t>(j) * bytes; i++)
				EXPECT(*pos++ == byte_of(j, i));
		EXPECT(*pos == 0x5a);
		teams::sync(t);
	}
}

void check_alltoall(team &t)
{
	const auto n = static_cast<size_t>(t.size), me = static_cast<size_t>(t.me);
	for (const size_t bytes : {size_t{16}, size_t{2000}}) {
		fill_source(t, n * bytes);
		teams::sync(t);
		teams::alltoall(t, dest(), source(), bytes);
		for (size_t i = 0; i < n * bytes; i++)
			EXPECT(dest()[i] == byte_of(static_cast<int>(i / bytes), me * bytes + i % bytes));
		teams::sync(t);
	}
	// every second element out of my source, into every third of dest
	constexpr size_t kCount = 5;
	auto *src = as<int>(source()), *dst = as<int>(dest());
	for (size_t i = 0; i < 2 * n * kCount; i++)
		src[i] = static_cast<int>(me * 1000 + i);
	teams::sync(t);
	teams::alltoalls(t, dst, src, 3, 2, kCount, sizeof(int));
	for (size_t j = 0; j < n; j++)
		for (size_t i = 0; i < kCount; i++)
			EXPECT(dst[3 * (j * kCount + i)] == static_cast<int>(j * 1000 + 2 * (me * kCount + i)));
	teams::sync(t);
}

void check_all(team &t)
{
	check_sync(t);
	check_broadcast(t);
	check_reduce(t);
	check_scan(t);
	check_collect(t);
	check_alltoall(t);
}

// --- splits ----------------------------------------------------------------------------------------------------------

// The members of t are these ranks.
void expect_members(const team *t, const std::vector<int> &ranks)
{
	EXPECT(t && t->magic == teams::kTeamLive && t->size == static_cast<int>(ranks.size()));
	EXPECT(static_cast<const own_team *>(t)->seal == own_team::kSeal);
	for (int j = 0; j < t->size; j++) {
		EXPECT(teams::world_rank(*t, j) == ranks[static_cast<size_t>(j)]);
		EXPECT(teams::member_of(*t, ranks[static_cast<size_t>(j)]) == j);
	}
	EXPECT(teams::world_rank(*t, t->me) == g_rank);
}

// Ranks from `first` on, below the size of the world.
std::vector<int> every(int first, int step, int end = g_world.size)
{
	std::vector<int> ranks;
	for (int rank = first; rank < end && rank >= 0; rank += step)
		ranks.push_back(rank);
	return ranks;
}

void try_strided()
{
	team *even;
	const int count = (g_world.size + 1) / 2;
	EXPECT(teams::split_strided(g_world, 0, 2, count, &even) == 0);
	if (g_rank % 2) {
		EXPECT(!even);
	} else {
		expect_members(even, every(0, 2));
		check_all(*even);
		team *last_first; // out of a team that is not the world
		EXPECT(teams::split_strided(*even, count - 1, -1, count, &last_first) == 0);
		expect_members(last_first, every(count * 2 - 2, -2));
		check_reduce(*last_first);
		teams::destroy(last_first);
		teams::destroy(even);
	}
	// not the same everywhere: no PE gets a team
	team *none;
	EXPECT(teams::split_strided(g_world, 0, 1, g_rank == 1 ? 1 : 2, &none) != 0);
	EXPECT(!none);
}

void try_list()
{
	const std::vector<int> list = every(g_world.size - 1, -1); // irregular: the last two change places
	std::vector<int> ranks = list;
	std::swap(ranks[ranks.size() - 1], ranks[ranks.size() - 2]);
	team *t;
	EXPECT(teams::split_list(g_world, ranks.data(), static_cast<int>(ranks.size()), &t) == 0);
	expect_members(t, ranks);
	check_broadcast(*t);
	check_collect(*t);
	teams::destroy(t);
}

void try_grid()
{
	constexpr int kWide = 2;
	team *row, *column;
	EXPECT(teams::split_grid(g_world, kWide, &row, &column) == 0);
	const int first = g_rank / kWide * kWide;
	expect_members(row, every(first, 1, std::min(first + kWide, g_world.size)));
	expect_members(column, every(g_rank % kWide, kWide));
	check_reduce(*row);
	check_scan(*column);
	teams::destroy(row);
	teams::destroy(column);
}

void try_color()
{
	team *t;
	// odd ranks, the last one first; even ones are in no team
	EXPECT(teams::split_color(g_world, g_rank % 2 ? 7 : teams::kColorNone, -g_rank, &t) == 0);
	if (g_rank % 2) {
		expect_members(t, every((g_world.size - 2) / 2 * 2 + 1, -2));
		check_collect(*t);
		teams::destroy(t);
	} else {
		EXPECT(!t);
	}
	EXPECT(teams::split_color(g_world, g_rank ? 1 : teams::kColorWrong, 0, &t) != 0);
	EXPECT(!t);
}

// --- job bodies ------------------------------------------------------------------------------------------------------

void everything()
{
	check_all(g_world);
	try_strided();
	try_list();
	try_grid();
	try_color();
	check_sync(g_world);
}

void without_far_calls()
{
	everything();
	EXPECT(g_calls.far == 0 && g_calls.mapped == static_cast<unsigned>(g_world.size) - 1);
}

void with_far_calls()
{
	everything();
	EXPECT(g_calls.far > 0);
}

void with_far_calls_only()
{
	everything();
	EXPECT(g_calls.far > 0 && g_calls.mapped == 0);
}

// Ended teams are reused, with their memory and numbers; a team with more members needs a new one.
void many_teams()
{
	for (int i = 0; i < 200; i++) {
		team *t;
		const int count = i % 2 ? g_world.size : 2;
		EXPECT(teams::split_strided(g_world, 0, 1, count, &t) == 0);
		if (!t)
			continue;
		*as<int>(source()) = t->me + i;
		teams::reduce(*t, teams::reduction_of<teams::op_sum, int>(), dest(), source(), 1);
		EXPECT(*as<int>(dest()) == count * i + count * (count - 1) / 2);
		teams::destroy(t);
	}
	EXPECT(g_calls.teams_new <= 4);
	EXPECT(g_calls.teams_ended == (g_rank < 2 ? 200 : 100));
}

// All members run out of memory in the same call, and it is available again when a team has ended.
void out_of_team_memory()
{
	std::vector<team *> made;
	for (;;) {
		team *t;
		if (teams::split_strided(g_world, 0, 1, g_world.size, &t) != 0) {
			EXPECT(!t);
			break;
		}
		made.push_back(t);
		EXPECT(made.size() < 10'000);
	}
	EXPECT(!made.empty());
	auto *count = as<uint64_t>(source()), *most = as<uint64_t>(dest());
	*count = made.size();
	teams::reduce(g_world, teams::reduction_of<teams::op_max, uint64_t>(), most, count, 1);
	EXPECT(*most == made.size());
	teams::destroy(made.back());
	EXPECT(teams::split_strided(g_world, 0, 1, g_world.size, &made.back()) == 0);
	check_reduce(*made.back());
	for (team *t : made)
		teams::destroy(t);
}

void no_room_for_the_world()
{
	EXPECT(open_teams() == teams::outcome::no_room);
}

// Sets have their flags in the client's memory, and leave them at zero.
void sets()
{
	auto *flags = as<uint64_t>(data() + kDataBytes - teams::kSetFlags * sizeof(uint64_t));
	if (g_rank % 2 == 0) {
		team t;
		EXPECT(teams::make_set(t, 0, 2, (g_world.size + 1) / 2));
		t.flags = flags;
		check_all(t);
		teams::release_set(t);
	}
	teams::sync(g_world);
	for (size_t i = 0; i < teams::kSetFlags; i++)
		EXPECT(flags[i] == 0);
}

// Rank 0 sees that others wait for it, and then arrives.
void awaited()
{
	teams::sync(g_world);
	if (g_rank == 0)
		while (!teams::is_awaited())
			sched_yield();
	teams::sync(g_world);
}

// A team of my rank alone, next to the world; and all of it twice in one process.
void opened_twice()
{
	for (unsigned life = 0; life < 2; life++) {
		own_team alone;
		EXPECT(open_teams(life) == teams::outcome::done);
		EXPECT(teams::predefine(alone, &g_rank, 1) == teams::outcome::done);
		check_reduce(alone);
		check_reduce(g_world);
		team *t;
		EXPECT(teams::split_strided(alone, 0, 1, 1, &t) == 0);
		expect_members(t, {g_rank});
		teams::sync(g_world);
		teams::close(); // ends that team too
		EXPECT(alone.ended == 1 && g_calls.teams_new == life + 1 && g_calls.teams_free == life + 1);
	}
}

// --- cases -----------------------------------------------------------------------------------------------------------

void test_teams_one_host_uses_mapped_memory_only(void **)
{
	job how;
	how.crowded = false;
	assert_int_equal(run(how, without_far_calls), 0);
	how.crowded = true;
	how.size = 5;
	assert_int_equal(run(how, without_far_calls), 0);
}

void test_teams_several_hosts_use_the_clients_calls(void **)
{
	job how;
	how.per_host = 2;
	assert_int_equal(run(how, with_far_calls), 0);
	how.per_host = 1;
	assert_int_equal(run(how, with_far_calls_only), 0);
}

void test_teams_memory_that_cannot_be_mapped_is_reached(void **)
{
	job how;
	how.size = 3;
	how.maps_nothing = true;
	assert_int_equal(run(how, with_far_calls), 0);
}

void test_teams_every_algorithm_gives_the_same(void **)
{
	using teams::barrier_algorithm, teams::reduce_algorithm, teams::bcast_algorithm, teams::fcollect_algorithm,
		teams::alltoall_algorithm;
	const teams::algorithms ways[] = {
		{barrier_algorithm::tree, reduce_algorithm::recursive, bcast_algorithm::tree,
		 fcollect_algorithm::recursive, alltoall_algorithm::pairwise},
		{barrier_algorithm::central, reduce_algorithm::ring, bcast_algorithm::scatter, fcollect_algorithm::ring,
		 alltoall_algorithm::two_level},
		{barrier_algorithm::two_level, reduce_algorithm::two_level, bcast_algorithm::two_level,
		 fcollect_algorithm::two_level, alltoall_algorithm::two_level},
		{barrier_algorithm::two_level, reduce_algorithm::shares, bcast_algorithm::two_level,
		 fcollect_algorithm::two_level, alltoall_algorithm::two_level},
		{barrier_algorithm::dissemination, reduce_algorithm::direct, bcast_algorithm::flat,
		 fcollect_algorithm::direct, alltoall_algorithm::direct},
	};
	for (const auto &forced : ways)
		for (const int per_host : {5, 3}) {
			job how;
			how.size = 5;
			how.per_host = per_host;
			how.forced = forced;
			assert_int_equal(run(how, everything), 0);
		}
	// more hosts than a chain of leaders has: pieces of a broadcast go along a tree
	job many;
	many.size = 7;
	many.per_host = 1;
	many.forced = ways[3];
	assert_true(many.forced.bcast == bcast_algorithm::two_level);
	assert_int_equal(run(many, everything), 0);
}

void test_teams_agreed_by_bitmask_are_the_same(void **)
{
	job how;
	how.agree = teams::agreement::bitmask;
	assert_int_equal(run(how, without_far_calls), 0);
}

void test_teams_ended_are_used_again(void **)
{
	assert_int_equal(run({}, many_teams), 0);
}

void test_teams_without_memory_fail_on_all_members(void **)
{
	job how;
	how.team_bytes = size_t{1} << 20;
	assert_int_equal(run(how, out_of_team_memory), 0);
	how.team_bytes = size_t{64} << 10;
	assert_int_equal(run_bare(how, no_room_for_the_world), 0);
}

void test_teams_sets_bring_their_own_flags(void **)
{
	job how;
	how.size = 5;
	assert_int_equal(run(how, sets), 0);
	how.per_host = 2;
	assert_int_equal(run(how, sets), 0);
}

void test_teams_member_that_is_awaited_sees_it(void **)
{
	job how;
	assert_int_equal(run(how, awaited), 0);
	how.crowded = false;
	assert_int_equal(run(how, awaited), 0);
}

void test_teams_can_be_opened_again(void **)
{
	assert_int_equal(run_bare({}, opened_twice), 0);
}

void wrong_result()
{
	EXPECT(g_rank != 2); // the others would wait for ever
	teams::sync(g_world);
}

// of the harness: a failed process is detected, and no process hangs
void test_teams_failure_in_one_process_is_seen(void **)
{
	assert_int_not_equal(run({}, wrong_result), 0);
}

} // namespace

int main()
{
	const CMUnitTest tests[] = {
		cmocka_unit_test(test_teams_one_host_uses_mapped_memory_only),
		cmocka_unit_test(test_teams_several_hosts_use_the_clients_calls),
		cmocka_unit_test(test_teams_memory_that_cannot_be_mapped_is_reached),
		cmocka_unit_test(test_teams_every_algorithm_gives_the_same),
		cmocka_unit_test(test_teams_agreed_by_bitmask_are_the_same),
		cmocka_unit_test(test_teams_ended_are_used_again),
		cmocka_unit_test(test_teams_without_memory_fail_on_all_members),
		cmocka_unit_test(test_teams_sets_bring_their_own_flags),
		cmocka_unit_test(test_teams_member_that_is_awaited_sees_it),
		cmocka_unit_test(test_teams_can_be_opened_again),
		cmocka_unit_test(test_teams_failure_in_one_process_is_seen),
	};
	return cmocka_run_group_tests_name("teams", tests, nullptr, nullptr);
}
