// SPDX-License-Identifier: BSD-3-Clause
//
// Non-blocking collectives under a client that is not one of our libraries (forked.hpp): random programs, the same on
// all members, with many pending operations that each member waits for in its own order, against a model.
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include <teams/teams_fold.hpp>
#include <teams/teams_nb.hpp>

#include "forked.hpp"

extern "C" { // cmocka.h has no linkage of its own; last, since its macros have short names
#include <cmocka.h>
}

using namespace forked;
using teams::team;

namespace {

// A sequence that depends only on its seed.
struct dice {
	uint64_t state;
	uint32_t roll(uint32_t below)
	{
		state = state * 6364136223846793005u + 1442695040888963407u;
		return static_cast<uint32_t>(state >> 33) % below;
	}
};

constexpr teams::reduction kSum = teams::reduction_of<teams::op_sum, int64_t>();
constexpr teams::reduction kMax = teams::reduction_of<teams::op_max, double>();

// Affine maps x -> a x + b over the integers modulo 2^64, composed: associative and not commutative. Longer elements
// are such a pair and padding that must be carried along.
struct map_pair {
	uint64_t a, b;
};
void chain(const teams::folding &f, void *out, const void *left, void *right, size_t elements)
{
	for (size_t i = 0; i < elements; i++) {
		map_pair x, y;
		memcpy(&x, static_cast<const char *>(left) + i * f.size, sizeof x);
		memcpy(&y, static_cast<char *>(right) + i * f.size, sizeof y);
		y = {x.a * y.a, x.a * y.b + x.b};
		memcpy(static_cast<char *>(right) + i * f.size, &y, sizeof y);
	}
	memcpy(out, right, elements * f.size);
}

enum kind { barrier, broadcast, sum, highest, chained, scatter, gather, gather_all, exchange, kinds };

// One collective: its description, the same on all members, and my memory for it.
struct shot {
	kind what;
	int root;
	size_t bytes, count, size; // of a block; elements and their size
	bool in_place;
	unsigned seed;
	teams::bounds b;
	std::vector<char> src, dst;
	teams::folding f;
	teams::operation *op = nullptr;
	bool waited = false;
};

char byte_at(unsigned seed, int member, size_t i)
{
	return static_cast<char>(seed * 31 + static_cast<unsigned>(member) * 17 + static_cast<unsigned>(i % 253));
}
int64_t number_at(unsigned seed, int member, size_t i)
{
	return static_cast<int64_t>(seed % 1000) * (member + 1) + static_cast<int64_t>(i) * member;
}
map_pair pair_at(unsigned seed, int member, size_t i)
{
	return {seed + 2 * static_cast<uint64_t>(member) + 3, i * 7 + static_cast<uint64_t>(member)};
}

size_t some_bytes(dice &d, size_t most)
{
	constexpr size_t kinds_of[] = {1, 8, 56, 57, 1000, 8192, 8193, 33'000, 100'003};
	return std::min(most, kinds_of[d.roll(9)]);
}

void fill(shot &s, const team &t, size_t blocks_in, size_t blocks_out)
{
	s.src.resize(s.bytes * blocks_in);
	s.dst.assign(s.bytes * blocks_out + 1, 0x5a);
	for (size_t i = 0; i < s.src.size(); i++)
		s.src[i] = byte_at(s.seed, t.me, i);
}

template <class T, class Value>
void fill_elements(shot &s, const team &t, Value &&value)
{
	s.bytes = s.count * s.size;
	fill(s, t, 1, 1);
	for (size_t i = 0; i < s.count; i++) {
		const T v = value(s.seed, t.me, i);
		memcpy(&s.src[i * s.size], &v, sizeof v);
	}
	if (s.in_place)
		memcpy(s.dst.data(), s.src.data(), s.bytes);
}

void prepare(shot &s, dice &d, const team &t)
{
	const auto n = static_cast<size_t>(t.size);
	s.what = static_cast<kind>(d.roll(kinds));
	s.root = static_cast<int>(d.roll(static_cast<uint32_t>(t.size)));
	s.in_place = d.roll(3) == 0;
	s.seed = d.roll(1 << 20);
	s.b = {d.roll(4) == 0, d.roll(4) == 0};
	s.bytes = some_bytes(d, s.what == broadcast ? 200'000 : 20'000);
	s.count = some_bytes(d, 30'000);
	s.size = 8;
	switch (s.what) {
	case sum:
	case highest:
		s.f = teams::folding_of(s.what == sum ? kSum : kMax);
		if (s.what == sum)
			fill_elements<int64_t>(s, t, number_at);
		else
			fill_elements<double>(s, t, [](unsigned seed, int member, size_t i) {
				return static_cast<double>(number_at(seed * 7919, member, i) % 1013);
			});
		break;
	case chained:
		s.size = std::max(sizeof(map_pair), some_bytes(d, 40'000));
		s.count = std::clamp<size_t>(50'000 / s.size, 1, s.count);
		s.f = {chain, s.size, true, nullptr, nullptr};
		fill_elements<map_pair>(s, t, pair_at);
		break;
	case scatter:
		fill(s, t, s.root == t.me ? n : 1, 1);
		break;
	case exchange:
		fill(s, t, n, n);
		break;
	default:
		fill(s, t, 1, s.what == gather || s.what == gather_all ? n : 1);
	}
}

void start(shot &s, team &t)
{
	char *dst = s.dst.data();
	const char *src = s.src.data();
	const int where = s.seed % 2 ? s.root : teams::kEverywhere;
	switch (s.what) {
	case broadcast:
		s.op = teams::start_broadcast(t, dst, src, s.bytes, s.root, s.b);
		return;
	case sum:
	case highest:
	case chained:
		s.op = teams::start_reduce(t, s.f, dst, s.in_place ? dst : src, s.count, where);
		return;
	case scatter:
		s.op = teams::start_scatter(t, dst, src, s.bytes, s.root, s.b);
		return;
	case gather:
		s.op = teams::start_gather(t, dst, src, s.bytes, s.root, s.b);
		return;
	case gather_all:
		s.op = teams::start_gather_all(t, dst, src, s.bytes, s.b);
		return;
	case exchange:
		s.op = teams::start_exchange(t, dst, src, s.bytes, s.b);
		return;
	default:
		s.op = teams::start_barrier(t);
	}
}

void check_reduction(const shot &s, const team &t)
{
	if (s.seed % 2 && t.me != s.root)
		return;
	for (size_t i = 0; i < s.count; i++) {
		const char *pos = &s.dst[i * s.size];
		if (s.what == chained) {
			map_pair want = pair_at(s.seed, 0, i), got;
			for (int j = 1; j < t.size; j++) {
				const map_pair y = pair_at(s.seed, j, i);
				want = {want.a * y.a, want.a * y.b + want.b};
			}
			memcpy(&got, pos, sizeof got);
			EXPECT(got.a == want.a && got.b == want.b);
			continue;
		}
		int64_t sum_of = 0;
		double most = -1, real;
		for (int j = 0; j < t.size; j++) {
			sum_of += number_at(s.seed, j, i);
			most = std::max(most, static_cast<double>(number_at(s.seed * 7919, j, i) % 1013));
		}
		int64_t whole;
		memcpy(&whole, pos, sizeof whole);
		memcpy(&real, pos, sizeof real);
		EXPECT(s.what == sum ? whole == sum_of : real == most);
	}
}

void check(const shot &s, const team &t)
{
	EXPECT(s.dst.empty() || s.dst.back() == 0x5a);
	const auto me = static_cast<size_t>(t.me), n = static_cast<size_t>(t.size);
	const auto equal = [&](size_t block, int member, size_t theirs) {
		for (size_t i = 0; i < s.bytes; i++)
			if (s.dst[block * s.bytes + i] != byte_at(s.seed, member, theirs * s.bytes + i))
				return false;
		return true;
	};
	switch (s.what) {
	case broadcast:
		EXPECT(equal(0, s.root, 0));
		break;
	case sum:
	case highest:
	case chained:
		check_reduction(s, t);
		break;
	case scatter:
		EXPECT(equal(0, s.root, me));
		break;
	case exchange:
	case gather:
	case gather_all:
		for (size_t j = 0; j < n && (s.what != gather || t.me == s.root); j++)
			EXPECT(equal(j, static_cast<int>(j), s.what == exchange ? me : 0));
		break;
	default:
		break;
	}
}

void await(teams::operation *op)
{
	while (op && !teams::finished(op))
		sched_yield();
}

void random_program(team &t, unsigned seed, int rounds)
{
	dice d{seed}, own{seed * 77 + static_cast<uint64_t>(t.me)};
	for (int round = 0; round < rounds; round++) {
		std::vector<std::unique_ptr<shot>> shots(1 + d.roll(12));
		for (auto &s : shots) {
			s = std::make_unique<shot>();
			prepare(*s, d, t);
			start(*s, t);
			if (own.roll(3) == 0)
				teams::progress();
		}
		for (size_t left = shots.size(); left; left--) {
			size_t i = own.roll(static_cast<uint32_t>(shots.size()));
			while (shots[i]->waited)
				i = (i + 1) % shots.size();
			await(shots[i]->op);
			shots[i]->waited = true;
			check(*shots[i], t);
		}
		EXPECT(teams::operations_in_flight() == 0);
	}
}

// On the team of all and on teams made from it, whose memory later teams reuse.
void programs()
{
	random_program(g_world, 1, 30);
	for (unsigned life = 0; life < 3; life++) {
		team *t = nullptr;
		EXPECT(teams::split_color(g_world, g_rank % 2, -g_rank, &t) == 0 && t);
		random_program(*t, 100 + life, 12);
		teams::destroy(t);
	}
}

// Operations on several teams at a time, started in one order and completed in another.
void on_several_teams()
{
	team *half = nullptr, *turned = nullptr;
	EXPECT(teams::split_color(g_world, g_rank % 2, g_rank, &half) == 0);
	EXPECT(teams::split_color(g_world, 0, -g_rank, &turned) == 0);
	team *const all[] = {&g_world, half, turned};
	std::vector<std::unique_ptr<shot>> shots;
	for (int i = 0; i < 90; i++) {
		dice same{static_cast<uint64_t>(i) * 12345};
		shots.push_back(std::make_unique<shot>());
		prepare(*shots.back(), same, *all[i % 3]);
		start(*shots.back(), *all[i % 3]);
	}
	for (int i = 89; i >= 0; i--) {
		await(shots[static_cast<size_t>(i)]->op);
		check(*shots[static_cast<size_t>(i)], *all[i % 3]);
	}
	EXPECT(teams::operations_in_flight() == 0);
	teams::destroy(half);
	teams::destroy(turned);
}

// It does not complete before all have arrived, and does not delay the members that started it.
void not_before_all()
{
	auto *came = reinterpret_cast<uint64_t *>(data());
	for (int last = 0; last < g_world.size; last++) {
		teams::operation *op = nullptr;
		if (g_rank != last)
			op = teams::start_barrier(g_world);
		if (g_rank == last) {
			for (int i = 0; i < 1000; i++)
				sched_yield();
			pgas_store_relaxed(came, static_cast<uint64_t>(last) + 1);
			op = teams::start_barrier(g_world);
		}
		await(op);
		EXPECT(pgas_load_relaxed(reinterpret_cast<uint64_t *>(at_rank(came, last))) ==
		       static_cast<uint64_t>(last) + 1);
	}
	// a source that any member may still write until all have arrived
	teams::bounds b{true, true};
	for (int k = 1; k < 50; k++) {
		const int root = k % g_world.size, writer = (k + 1) % g_world.size;
		uint64_t *src = came + 8, got = 0;
		if (g_rank == writer)
			pgas_store_relaxed(reinterpret_cast<uint64_t *>(at_rank(src, root)), static_cast<uint64_t>(k));
		await(teams::start_broadcast(g_world, &got, src, sizeof got, root, b));
		EXPECT(got == static_cast<uint64_t>(k));
	}
}

job job_of(int size)
{
	job how;
	how.size = size;
	how.nonblocking = true;
	return how;
}

void test_nb_one_host(void **)
{
	for (const int size : {1, 2, 3, 5, 8})
		assert_int_equal(run(job_of(size), programs), 0);
	assert_int_equal(run(job_of(6), on_several_teams), 0);
	assert_int_equal(run(job_of(4), not_before_all), 0);
}

void test_nb_several_hosts(void **)
{
	for (const int per_host : {1, 2, 3}) {
		job how = job_of(7);
		how.per_host = per_host;
		assert_int_equal(run(how, programs), 0);
		assert_int_equal(run(how, on_several_teams), 0);
	}
	job how = job_of(4);
	how.per_host = 2;
	assert_int_equal(run(how, not_before_all), 0);
}

void test_nb_hosts_out_of_order(void **)
{
	for (const int hosts : {2, 3}) {
		job how = job_of(7);
		how.hosts_in_turn = hosts;
		assert_int_equal(run(how, programs), 0);
		assert_int_equal(run(how, on_several_teams), 0);
	}
}

void test_nb_memory_that_cannot_be_mapped(void **)
{
	job how = job_of(4);
	how.maps_nothing = true;
	assert_int_equal(run(how, programs), 0);
}

} // namespace

int main()
{
	const CMUnitTest tests[] = {
		cmocka_unit_test(test_nb_one_host),
		cmocka_unit_test(test_nb_several_hosts),
		cmocka_unit_test(test_nb_hosts_out_of_order),
		cmocka_unit_test(test_nb_memory_that_cannot_be_mapped),
	};
	return cmocka_run_group_tests_name("teams_nb", tests, nullptr, nullptr);
}
