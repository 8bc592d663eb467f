// SPDX-License-Identifier: BSD-3-Clause
//
// Calls of a link over sockets that are not answered: a caller that is dropped calls again, but not for ever. Two that
// call each other at once end with one channel, whichever is first.
#include "socket_node.hpp"

#include <rdma/fi_errno.h>

using namespace socket_test;
using namespace link_model;

namespace {

// A link that calls an address where only a plain socket listens.
struct called {
	node other;
	stranger s{other}; // for its listening socket
	side a;
	channel *c;

	explicit called(uint64_t patience = kNever)
		: a(open_port(), 1, settings(4, 1024, patience)), c(link_call(*a.l, s.address, 0, "an endpoint"))
	{
		c->users++;
	}
	~called()
	{
		channel_release(*c);
		a.close();
	}
	// Accepts the next call, up to its hello.
	void take_call()
	{
		pollfd f{s.listener.get(), POLLIN, 0};
		run_until({&a}, [&] { return poll(&f, 1, 0) == 1; });
		s.fd = unique_fd(accept(s.listener.get(), nullptr, nullptr));
		run_until({&a}, [&] {
			char one[sizeof(hello_record)];
			return recv(s.fd.get(), one, sizeof one, MSG_PEEK | MSG_DONTWAIT) ==
			       static_cast<ssize_t>(sizeof one);
		});
		hello_record h;
		assert_int_equal(recv(s.fd.get(), &h, sizeof h, 0), sizeof h);
		assert_memory_equal(h.address, a.address.data(), a.address.size());
	}
	bool over() const { return c->state == channel_state::over; }
};

void test_who_is_let_go_calls_again(void **)
{
	called c;
	for (int i = 0; i < 12; i++) {
		c.take_call();
		if (i % 2) { // after its welcome, as a peer with too many strangers does
			c.s.say(welcome_record{head_of(record_kind::welcome, 0), {}, 0});
			run_until({&c.a}, [&] { return c.a.l->stats.packets_out > static_cast<uint64_t>(i / 2); });
		}
		c.s.fd.reset();
		assert_false(c.over());
	}
}

void test_calls_come_to_an_end(void **)
{
	{ // when the timeout expires
		called c(kSoon);
		const uint64_t before = pgas_now_ns();
		while (!c.over()) {
			pollfd f{c.s.listener.get(), POLLIN, 0};
			if (poll(&f, 1, 0) == 1)
				c.s.fd = unique_fd(accept(c.s.listener.get(), nullptr, nullptr));
			link_progress(*c.a.l);
		}
		assert_true(pgas_now_ns() - before >= kSoon && c.c->lost.load());
	}
	{ // when there is no listener any more
		called c;
		c.take_call();
		c.s.listener.reset();
		c.s.fd.reset();
		run_until({&c.a}, [&] { return c.over(); });
		assert_non_null(strstr(c.c->reason.c_str(), strerror(ECONNREFUSED)));
	}
	{ // when something else listens there
		called c;
		c.take_call();
		c.s.say("HTTP/1.1 400 Bad Request\r\n\r\nwhatever.", 36);
		run_until({&c.a}, [&] { return c.over(); });
	}
}

// More call at once than may wait, and the hub does not poll for a while.
void test_crowd_of_callers(void **)
{
	side hub(open_port(), 1, settings());
	std::vector<std::unique_ptr<side>> callers;
	std::vector<side *> all{&hub};
	for (size_t i = 0; i < kCallersMost + 20; i++) {
		callers.push_back(std::make_unique<side>(open_port(), static_cast<uint16_t>(2 + i), settings()));
		all.push_back(callers.back().get());
		callers.back()->post(hub, 100);
	}
	run_until({&hub}, [&] { return socket_of(*hub.l->port).dropped >= 20; });
	run_until(all, [&] {
		size_t told = 0;
		for (const auto &c : callers) {
			assert_int_equal(c->failed[1], 0);
			if (!c->appended[1])
				c->post(hub, 100);
			told += c->told[1];
		}
		return told == callers.size();
	});
	for (side *s : all)
		s->close();
}

// Both call at the same moment, or one while it is being called: one channel each, and no more than one connection.
void test_two_calls_make_one_channel(void **)
{
	for (unsigned seed = 0; seed < 60; seed++) {
		dice d(seed);
		side a(open_port(), 1, settings()), b(open_port(), 2, settings());
		a.post(b, 100);
		for (unsigned i = d.below(20); i; i--)
			link_progress(*(d.below(2) ? a : b).l);
		b.post(a, 100);
		run_until({&a, &b}, [&] {
			if (a.told[2] < 20)
				a.post(b, 100);
			if (b.told[1] < 20)
				b.post(a, 100);
			return a.told[2] >= 20 && b.told[1] >= 20;
		});
		run_until({&a, &b}, [&] {
			return socket_of(*a.l->port).lines.size() == 1 && socket_of(*b.l->port).lines.size() == 1;
		});
		assert_int_equal(a.failed[2] + b.failed[1], 0);
		a.close();
		b.close();
	}
}

} // namespace

int socket_test::run_call_tests()
{
	const CMUnitTest tests[] = {
		cmocka_unit_test(test_who_is_let_go_calls_again),
		cmocka_unit_test(test_calls_come_to_an_end),
		cmocka_unit_test(test_crowd_of_callers),
		cmocka_unit_test(test_two_calls_make_one_channel),
	};
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
