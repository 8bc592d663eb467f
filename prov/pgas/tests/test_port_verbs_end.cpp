// SPDX-License-Identifier: BSD-3-Clause
//
// The port over RDMA adapters: processes, hosts and adapters that disappear, memory that is refused, lines that are
// released in every state, and sleeping.
#include "test_port_verbs.hpp"
#include "verbs_node.hpp"

#include <rdma/fi_errno.h>

#include <poll.h>

using namespace fake_rdma;

namespace {

// a sends, and both poll this many times.
void talk_for(node &a, node &b, uint64_t line, unsigned looks)
{
	for (unsigned i = 0; i < looks; i++) {
		a.send(line, std::string(1 + i % 300, 'x'));
		a.look();
		b.look();
	}
}

void open_up(node &a, node &b, uint64_t line)
{
	look_until({&a, &b}, [&] { return a.send(line, "hello"); });
	look_until({&a, &b}, [&] { return !a.open() && !b.came.empty(); });
}

// --- deaths ----------------------------------------------------------------------------------------------------------

// The peer's process or machine dies, while it is looked up, called, answered, sent to.
void test_death_in_every_state(void **)
{
	for (unsigned when = 0; when < 120; when++) {
		network n;
		n.seed(when);
		n.steps_most = 1;
		node a(n, 1 + when % 2), b(n, 2 - when % 2);
		a.tick = 20 * kMs;
		const uint64_t line_a = a.to(b),
			       line_b = when < 60 ? b.to(a) : greet(a, b, line_a); // a stranger, or not
		for (unsigned i = 0; i < when / 2; i++) {
			talk_for(a, b, line_a, 1);
			if (when % 3 == 0)
				b.send(line_b, "back");
		}
		if (when % 5)
			n.kill(b.h);
		else
			n.silence(b.h);
		look_until({&a}, [&] {
			a.send(line_a, "are you there?");
			return !a.lost.empty();
		});
		assert_int_equal(a.lost[0], line_a);
		assert_int_equal(a.open(), 0);
		assert_false(a.why(line_a).empty());
		a.p->ops->remove(*a.p, line_a);
		look_until({&a}, [&] { return n.qps_of(a.h).empty(); }); // that of the peer's call, too
	}
}

// A read that is pending when the line breaks for good fails, once, and its memory is left alone.
void test_read_under_way_when_the_peer_goes(void **)
{
	network n;
	node a(n, 1), b(n, 2);
	const uint64_t line = meet(a, b).to_b;
	std::vector<char> bytes(100, 'r');
	port_memory m;
	assert_int_equal(b.p->ops->expose(*b.p, bytes.data(), bytes.size(), kPortRead, &m), 0);
	n.steps_most = 0;
	work *r = a.read(line, 100, m);
	work *s = a.send(line, "behind it");
	assert_true(r && s);
	n.kill(b.h);
	n.steps_most = 3;
	look_until({&a}, [&] { return !a.lost.empty() && !a.open(); });
	assert_true(r->is == fate::bad && s->is == fate::bad);
	assert_int_equal(r->bytes[0], 0);
	b.p->ops->conceal(*b.p, m);
}

// Lines are released in every state, by one node or by both, again and again, and their numbers are reused.
void test_lines_are_let_go_in_every_state(void **)
{
	for (unsigned seed = 0; seed < 120; seed++) {
		network n;
		n.seed(seed);
		n.steps_most = 1 + n.below(3);
		node a(n, 1 + seed % 2), b(n, 2 - seed % 2), c(n, 3);
		for (unsigned round = 0; round < 6; round++) {
			const uint64_t line_a = a.to(b), line_b = n.below(2) ? b.to(a) : greet(a, b, line_a);
			const unsigned looks = n.below(30);
			for (unsigned i = 0; i < looks; i++) {
				talk_for(a, b, line_a, 1);
				if (n.below(2))
					b.send(line_b, "back");
				if (n.below(20) == 0)
					for (fake_qp *q : n.qps_of(a.h))
						if (q->state == IBV_QPS_RTS)
							n.break_qp(*q, n.below(3));
			}
			a.let_go(line_a);
			a.lost.clear();
			const uint64_t other = a.to(c);
			const unsigned more = n.below(10);
			for (unsigned i = 0; i < more; i++)
				talk_for(a, c, other, 1);
			b.let_go(line_b);
			a.let_go(other);
		}
		for (unsigned i = 0; i < 400; i++)
			for (node *one : {&a, &b, &c})
				one->look();
	}
}

// b releases its line and calls again at once, while a tries to repair the old line: that one is lost, the new one
// works.
void test_called_anew(void **)
{
	for (unsigned seed = 0; seed < 100; seed++) {
		network n;
		n.seed(seed);
		node a(n, 1 + seed % 2), b(n, 2 - seed % 2);
		const bool turned = seed % 4 < 2; // which node made the old line
		const auto [one, other] = turned ? meet(b, a) : meet(a, b);
		const uint64_t line_a = turned ? other : one, line_b = turned ? one : other;
		open_up(a, b, line_a);
		open_up(b, a, line_b);
		if (seed % 3)
			for (fake_qp *q : n.qps_of(seed % 3 == 1 ? a.h : b.h))
				n.break_qp(*q, 0);
		b.let_go(line_b);
		const unsigned looks = n.below(10);
		for (unsigned i = 0; i < looks; i++)
			a.look();
		const uint64_t anew = b.to(a);
		a.came.clear();
		look_until({&a, &b}, [&] { return b.send(anew, "it is me"); });
		look_until({&a, &b}, [&] { return !a.came.empty() && !a.lost.empty() && !b.open(); });
		assert_int_equal(a.came.size(), 1);
		assert_int_equal(a.lost[0], line_a);
		assert_true(b.lost.empty());
	}
}

// Completions of a removed line must not be taken for those of the line that reused its number.
void test_number_of_a_line_is_used_again(void **)
{
	for (unsigned seed = 0; seed < 40; seed++) {
		network n;
		n.seed(seed);
		n.steps_most = 1;
		node a(n, 1), b(n, 2), c(n, 3);
		a.h.purges = false;
		const uint64_t to_b = a.to(b);
		open_up(a, b, to_b);
		for (unsigned i = 0; i < 40; i++)
			a.send(to_b, "never told");
		a.let_go(to_b);
		const uint64_t to_c = a.to(c);
		open_up(a, c, to_c);
		assert_true(a.lost.empty());
	}
}

// A line failed, and its owner released it before it learned of that: the next one with its number is not lost.
void test_old_loss_is_not_told_of_a_new_line(void **)
{
	network n;
	node a(n, 1), b(n, 2), c(n, 3);
	const uint64_t to_b = a.to(b);
	open_up(a, b, to_b);
	n.kill(b.h);
	look_until({}, [&] {
		port_event e;
		a.send(to_b, "x");
		// one at a time: failed work is reported before the loss
		return a.p->ops->poll(*a.p, &e, 1) == 1 && e.kind == port_event_kind::failed;
	});
	a.let_go(to_b);
	const uint64_t to_c = a.to(c);
	for (unsigned i = 0; i < 50; i++) {
		port_event e[16];
		const int k = a.p->ops->poll(*a.p, e, 16);
		for (int j = 0; j < k; j++)
			assert_false(e[j].kind == port_event_kind::lost && e[j].line == to_c);
	}
}

// A process dies silently, and another starts at its address and calls: it gets its own line. The old one is lost when
// it is used.
void test_another_process_at_the_same_address(void **)
{
	for (unsigned seed = 0; seed < 40; seed++) {
		network n;
		n.seed(seed);
		node a(n, 1 + 2 * (seed % 2));
		host &first = n.add(2, 5000);
		host &second = n.add(2, 5000);
		node b(n, first);
		const uint64_t line = meet(a, b).to_b;
		n.silence(b.h);
		node again(n, second);
		const auto [back, anew] = meet(again, a);
		assert_int_not_equal(anew, line);
		assert_true(a.lost.empty());
		open_up(a, again, anew);
		assert_true(a.lost.empty());
		look_until({&a, &again}, [&] {
			a.send(line, "are you there?");
			return !a.lost.empty();
		});
		assert_int_equal(a.lost[0], line);
		open_up(again, a, back);
		assert_int_equal(a.lost.size(), 1);
		assert_true(again.lost.empty());
	}
}

// --- adapters --------------------------------------------------------------------------------------------------------

void test_adapter_goes(void **)
{
	for (unsigned which = 0; which < 3; which++) {
		network n;
		node a(n, 1), b(n, 2), c(n, 3);
		const uint64_t to_b = meet(a, b).to_b;
		meet(a, c);
		work *w = a.send(to_b, "under way");
		if (which == 0)
			n.remove_device(a.h);
		else
			n.tell(a.h, which == 1 ? IBV_EVENT_DEVICE_FATAL : IBV_EVENT_CQ_ERR);
		look_until({&a}, [&] { return a.lost.size() == 2; });
		assert_true(w->is != fate::in_flight);
		assert_false(a.why(to_b).empty());
		if (which == 0) {
			const uint64_t anew = a.to(b); // another try fails, too
			look_until({&a}, [&] { return !a.send(anew, "x") && a.last != -FI_EAGAIN; });
		}
	}
}

void test_only_another_adapter_leads_there(void **)
{
	network n;
	node a(n, 1), b(n, 2);
	a.h.other_adapter = true;
	const uint64_t line = a.to(b);
	look_until({&a, &b}, [&] { return !a.send(line, "x") && a.last == -EADDRNOTAVAIL; });
	assert_non_null(strstr(a.why(line).c_str(), "another adapter"));
}

void test_no_more_queue_pairs(void **)
{
	for (unsigned who = 0; who < 2; who++) {
		network n;
		node a(n, 1), b(n, 2);
		const uint64_t line = a.to(b);
		host &poor = who ? b.h : a.h;
		poor.queue_pairs_left = 0;
		look_until({&a, &b}, [&] { return !a.send(line, "x") && a.last != -FI_EAGAIN; });
		poor.queue_pairs_left = -1;
		a.p->ops->remove(*a.p, line);
		const uint64_t anew = a.to(b);
		open_up(a, b, anew);
	}
}

// A queue that is full for a moment, or an adapter that accepts nothing any more.
void test_postings_are_refused(void **)
{
	network n;
	node a(n, 1), b(n, 2);
	const uint64_t line = meet(a, b).to_b;
	open_up(a, b, line);
	a.h.post_error = ENOMEM;
	assert_null(a.send(line, "x"));
	assert_int_equal(a.last, -FI_EAGAIN);
	a.h.post_error = 0;
	open_up(a, b, line);
	a.h.post_error = EIO; // the line breaks; it is reconnected
	assert_null(a.send(line, "x"));
	assert_int_equal(a.last, -FI_EAGAIN);
	a.h.post_error = 0;
	b.came.clear();
	open_up(a, b, line);
	assert_true(a.lost.empty());
	a.h.post_error = EIO; // this time it is not
	look_until({&a, &b}, [&] { return !a.send(line, "x") && a.last == -FI_ECONNRESET; });
	assert_non_null(strstr(a.why(line).c_str(), strerror(EIO)));
}

// The peer's kernel remembers the broken queue pair and refuses calls because of it at first: later it accepts them.
void test_stale_connection(void **)
{
	network n;
	node a(n, 1), b(n, 2);
	const uint64_t line = meet(a, b).to_b;
	b.h.stale_calls = 2;
	n.break_qp(*n.qps_of(a.h)[0], 0);
	b.came.clear();
	look_until({&a, &b}, [&] { return a.send(line, "still here"); });
	look_until({&a, &b}, [&] { return !b.came.empty() && !a.open(); });
	assert_true(a.lost.empty());
}

void test_two_lines_to_one_address(void **)
{
	network n;
	node a(n, 1), b(n, 2);
	const uint64_t one = a.to(b), two = a.to(b);
	assert_int_not_equal(one, two);
	open_up(a, b, one);
	b.came.clear();
	open_up(a, b, two);
	a.p->ops->remove(*a.p, one);
	b.came.clear();
	open_up(a, b, two);
	assert_null(a.send(one, "x"));
	assert_int_equal(a.last, -FI_ECONNRESET);
	a.p->ops->remove(*a.p, two);
	assert_true(n.qps_of(a.h).empty());
}

void test_nobody_has_that_address(void **)
{
	network n;
	node a(n, 1);
	uint64_t line = 0;
	const char nobody[6] = {10, 0, 0, 99, 1, 2};
	assert_int_equal(a.p->ops->insert(*a.p, nobody, 6, &line), 0);
	look_until({&a}, [&] { return !a.send(line, "x") && a.last == -FI_ENETUNREACH; });
	assert_int_equal(a.p->ops->insert(*a.p, nobody, 5, &line), -FI_EINVAL);
	const char no_port[6] = {10, 0, 0, 99, 0, 0};
	assert_int_equal(a.p->ops->insert(*a.p, no_port, 6, &line), -FI_EINVAL);
	assert_int_equal(a.p->ops->insert(*a.p, a.address.data(), 6, &line), -FI_EINVAL);
}

// --- memory ----------------------------------------------------------------------------------------------------------

void test_memory_is_refused(void **)
{
	network n;
	host &h = n.add(1);
	h.registrations_left = 0;
	std::string why;
	assert_null(n.open(h, 16384, &why));
	assert_non_null(strstr(why.c_str(), "fake1"));
	assert_false(h.opened);
	assert_int_equal(h.ids, 0);
	h.registrations_left = -1;
	node a(n, h), b(n, 2);
	const uint64_t line = a.to(b);
	open_up(a, b, line);
	h.registrations_left = 0;
	port_memory m;
	char bytes[100];
	assert_int_equal(a.p->ops->expose(*a.p, bytes, sizeof bytes, kPortRead, &m), -FI_ENOMEM);
	assert_null(m.handle);
	h.registrations_left = -1;
	assert_int_equal(a.p->ops->expose(*a.p, bytes, sizeof bytes, kPortRead, &m), 0);
	a.p->ops->conceal(*a.p, m);
	open_up(a, b, line);
}

void test_on_demand_paging_needs_no_registration(void **)
{
	network n;
	n.on_demand = true;
	node a(n, 1), b(n, 2);
	assert_false(a.p->limits.pins);
	const unsigned before = a.h.memories;
	const uint64_t line = a.to(b);
	look_until({&a, &b}, [&] { return a.send(line, std::string(5000, 'x')); });
	assert_int_equal(a.h.memories, before);
	look_until({&a, &b}, [&] { return !a.open(); });
	assert_true(a.works[0]->is == fate::good);
}

// --- sleeping --------------------------------------------------------------------------------------------------------

bool asleep(node &a)
{
	const uint64_t before = pgas_now_ns();
	a.p->ops->wait(*a.p, 20);
	return pgas_now_ns() - before >= 20'000'000;
}

void come_to_rest(std::vector<node *> nodes)
{
	for (unsigned i = 0; i < 300; i++)
		for (node *n : nodes) {
			n->look();
			n->p->ops->wait(*n->p, 0); // clears an old ring
		}
}
// Polls until the port is ready to sleep.
void arm(node &a)
{
	while (!a.p->ops->arm(*a.p))
		a.look();
}

// Every event wakes a sleeper: calls, packets, completions, the device, a ring.
void test_sleepers_are_woken(void **)
{
	network n;
	n.steps_most = 0;
	node a(n, 1), b(n, 2);
	assert_true(b.p->ops->arm(*b.p));
	assert_true(asleep(b));
	b.p->ops->ring(*b.p);
	assert_false(asleep(b));
	assert_true(asleep(b));
	const uint64_t line = a.to(b);
	for (unsigned i = 0; i < 10; i++) { // the call
		a.send(line, "x");
		a.look();
		n.steps(20);
	}
	assert_false(asleep(b));
	n.steps_most = 3;
	open_up(a, b, line);
	come_to_rest({&a, &b});
	n.steps_most = 0;
	for (unsigned round = 0; round < 5; round++) {
		arm(b);
		arm(a);
		assert_true(asleep(b));
		assert_non_null(a.send(line, "wake up"));
		n.steps(200);
		assert_false(asleep(b));
		assert_false(asleep(a)); // its send completed
		b.look();
		a.look();
	}
	arm(b);
	n.tell(b.h, IBV_EVENT_PORT_ERR);
	assert_false(asleep(b));
	assert_true(b.p->ops->arm(*b.p)); // that event was consumed
	assert_true(asleep(b));
}

// Completions of removed lines are queued before a packet: a node that goes to sleep must find the packet.
void test_nobody_falls_asleep_over_a_packet(void **)
{
	network n;
	node a(n, 1), b(n, 2), c(n, 3);
	const uint64_t to_b = a.to(b), from_c = c.to(a);
	open_up(a, b, to_b);
	open_up(c, a, from_c);
	come_to_rest({&a, &b, &c});
	n.steps_most = 0;
	for (unsigned i = 0; i < 40; i++)
		a.send(to_b, "x");
	a.came.clear();
	n.steps(1000); // they complete, and no node polls
	c.send(from_c, "do not sleep");
	n.steps(1000);
	unsigned looks = 0;
	while (!a.p->ops->arm(*a.p) && looks++ < 100)
		a.look();
	assert_int_equal(a.came.size(), 1);
}

} // namespace

int run_end_tests()
{
	const CMUnitTest tests[] = {
		cmocka_unit_test(test_death_in_every_state),
		cmocka_unit_test(test_read_under_way_when_the_peer_goes),
		cmocka_unit_test(test_lines_are_let_go_in_every_state),
		cmocka_unit_test(test_called_anew),
		cmocka_unit_test(test_number_of_a_line_is_used_again),
		cmocka_unit_test(test_old_loss_is_not_told_of_a_new_line),
		cmocka_unit_test(test_another_process_at_the_same_address),
		cmocka_unit_test(test_adapter_goes),
		cmocka_unit_test(test_only_another_adapter_leads_there),
		cmocka_unit_test(test_no_more_queue_pairs),
		cmocka_unit_test(test_postings_are_refused),
		cmocka_unit_test(test_stale_connection),
		cmocka_unit_test(test_two_lines_to_one_address),
		cmocka_unit_test(test_nobody_has_that_address),
		cmocka_unit_test(test_memory_is_refused),
		cmocka_unit_test(test_on_demand_paging_needs_no_registration),
		cmocka_unit_test(test_sleepers_are_woken),
		cmocka_unit_test(test_nobody_falls_asleep_over_a_packet),
	};
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
