// SPDX-License-Identifier: BSD-3-Clause
//
// The link's model on the port over RDMA adapters, whose queue pairs break.
#include "test_port_verbs.hpp"
#include "verbs_node.hpp"

using namespace fake_rdma;
using namespace link_model;

namespace {

struct party {
	network n;
	std::vector<std::unique_ptr<side>> sides;
	std::vector<side *> all;
	std::vector<host *> hosts;

	explicit party(unsigned seed) { n.seed(seed); }
	~party()
	{
		for (size_t i = 0; i < sides.size(); i++)
			if (!hosts[i]->dead)
				link_close(*sides[i]->l);
	}
	side &add(link_settings set)
	{
		const auto number = static_cast<uint16_t>(sides.size() + 1);
		host &h = n.add(number);
		hosts.push_back(&h);
		sides.push_back(std::make_unique<side>(n.open(h), number, set));
		all.push_back(sides.back().get());
		return *all.back();
	}
	void hurry() // advances the ports' clocks: reconnects pause between two tries
	{
		for (size_t i = 0; i < sides.size(); i++)
			if (!hosts[i]->dead)
				verbs_of(*sides[i]->l->port).clock += kMs;
	}
	void break_one(unsigned count)
	{
		hurry();
		if (n.below(count) == 0)
			break_with_mercy(n, *hosts[n.below(static_cast<unsigned>(hosts.size()))]);
	}
};

void test_random_operations_survive_broken_queue_pairs(void **)
{
	for (unsigned seed = 0; seed < 4; seed++) {
		party p(seed);
		p.add(settings());
		p.add(settings());
		p.add(settings(64, 16384));
		random_operations_run_once_and_in_order(
			p.all, operations(50'000), [&](unsigned n) { return p.n.below(n); },
			[&] { p.break_one(1000); });
		assert_true(p.n.breaks > 5);
	}
}

void test_flood_with_a_window_of_one_survives_broken_queue_pairs(void **)
{
	party p(7);
	for (unsigned i = 0; i < 5; i++)
		p.add(settings(1));
	flood_of_all_to_all_ends(p.all, 200, [&] { p.break_one(20); });
	assert_true(p.n.breaks > 5);
}

// Both call each other at once, for every pair; none is lost, and each pair keeps one channel.
void test_calls_that_cross_end_with_one_channel(void **)
{
	for (unsigned seed = 0; seed < 40; seed++) {
		party p(seed);
		side &a = p.add(settings()), &b = p.add(settings());
		run_until(p.all, [&] {
			if (a.appended[2] < 10)
				a.post(b, 64);
			if (b.appended[1] < 10)
				b.post(a, 64);
			return a.told[2] == 10 && b.told[1] == 10;
		});
		run_until(p.all,
			  [&] { return p.n.qps_of(*p.hosts[0]).size() == 1 && p.n.qps_of(*p.hosts[1]).size() == 1; });
		assert_true(a.channels[2]->open() && b.channels[1]->open());
	}
}

// Breaks at any time, even during a reconnect: nothing is lost, and nothing runs twice or out of order.
void test_random_operations_without_mercy(void **)
{
	for (unsigned seed = 0; seed < 40; seed++) {
		party p(seed);
		side &a = p.add(settings()), &b = p.add(settings());
		const uint64_t end = hang_end();
		uint64_t posted = 0;
		while (posted < 3000) {
			assert_true(pgas_now_ns() < end);
			posted += a.post(b, 8 + p.n.below(300));
			posted += b.post(a, 8 + p.n.below(300));
			p.hurry();
			link_progress(*p.all[p.n.below(2)]->l);
			if (p.n.below(300) == 0)
				for (fake_qp *q : p.n.qps_of(*p.hosts[p.n.below(2)]))
					if (q->state == IBV_QPS_RTS && a.channels[2]->open() && b.channels[1]->open())
						p.n.break_qp(*q, p.n.below(6));
		}
		run_until(p.all, [&] {
			p.hurry();
			return a.told[2] == a.appended[2] && b.told[1] == b.appended[1];
		});
		assert_int_equal(b.ran[1], a.appended[2]);
		assert_int_equal(a.ran[2], b.appended[1]);
		assert_true(a.channels[2]->open() && b.channels[1]->open());
	}
}

void test_death_in_every_state_tells_everybody(void **)
{
	for (unsigned when = 0; when < 80; when++) {
		party p(when);
		side &a = p.add(settings()), &b = p.add(settings());
		for (unsigned i = 0; i < when; i++) {
			a.post(b, 64);
			a.post(b, 16);
			b.post(a, 64);
			link_progress(*a.l);
			link_progress(*b.l);
			a.post(b, 8); // direct, when nothing is in flight
		}
		p.n.kill(*p.hosts[1]);
		run_until({&a}, [&] {
			a.post(b, 64);
			return a.channels[2]->state == channel_state::over;
		});
		assert_true(a.channels[2]->lost.load());
		assert_int_equal(a.told[2] + a.failed[2], a.appended[2]);
		assert_false(a.channels[2]->reason.empty());
	}
}

} // namespace

int run_link_tests()
{
	const CMUnitTest tests[] = {
		cmocka_unit_test(test_random_operations_survive_broken_queue_pairs),
		cmocka_unit_test(test_flood_with_a_window_of_one_survives_broken_queue_pairs),
		cmocka_unit_test(test_calls_that_cross_end_with_one_channel),
		cmocka_unit_test(test_random_operations_without_mercy),
		cmocka_unit_test(test_death_in_every_state_tells_everybody),
	};
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
