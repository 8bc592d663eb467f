// SPDX-License-Identifier: BSD-3-Clause
//
// Calls of the port over sockets that are not answered: who is let go of calls again, and not for ever.
#include "socket_node.hpp"

#include <rdma/fi_errno.h>

using namespace socket_test;

namespace {

// Somebody who listens, and one who calls there: what is called at is up to the test.
struct called {
	node other, a;
	stranger s{other}; // for its listening socket
	uint64_t to = a.to(s.address);

	called()
	{
		a.inner().rest_most_ns = 2'000'000;
		a.send(to, "hello?");
	}
	// The next call, up to its hello.
	void take_call()
	{
		pollfd f{s.listener.get(), POLLIN, 0};
		look_until({&a}, [&] {
			assert_true(a.lost.empty());
			return poll(&f, 1, 0) == 1;
		});
		s.fd = unique_fd(accept(s.listener.get(), nullptr, nullptr));
		const std::string hello = s.hear(a, sizeof(hello_record));
		assert_int_equal(hello.size(), sizeof(hello_record));
		assert_memory_equal(hello.data() + sizeof(record_head), a.address.data(), a.address.size());
	}
	void welcome()
	{
		take_call();
		s.say(head_of(record_kind::welcome, 0));
		look_until({&a}, [&] { return a.send(to, "now") != nullptr; });
		assert_int_equal(s.hear(a, sizeof(record_head) + 8).size(), sizeof(record_head) + 8);
		assert_true(a.lost.empty());
		assert_true(a.inner().resting.empty() && a.inner().unsettled == 0);
	}
};

void test_who_is_let_go_calls_again(void **)
{
	called c;
	for (int i = 0; i < 5; i++) {
		c.take_call();
		c.s.fd.reset();
	}
	c.welcome();
}

void test_who_waits_for_a_call_calls_again(void **)
{
	called c;
	for (int i = 0; i < 3; i++) {
		c.take_call();
		c.s.say(head_of(record_kind::crossed, 0));
	}
	c.welcome();
}

void test_calls_come_to_an_end(void **)
{
	for (const record_kind answer : {record_kind::packet, record_kind::crossed}) {
		called c;
		for (uint32_t i = 0; i < kCallsMost; i++) {
			assert_true(c.a.lost.empty());
			c.take_call();
			if (answer == record_kind::crossed)
				c.s.say(head_of(answer, 0));
			else
				c.s.fd.reset();
		}
		look_until({&c.a}, [&] { return c.a.lost.size() == 1; });
		assert_false(c.a.why(c.to).empty());
		assert_null(c.a.send(c.to, "more"));
		assert_int_equal(c.a.last, -FI_ECONNRESET);
	}
	// nobody listens there any more
	called c;
	c.take_call();
	c.s.listener.reset();
	c.s.fd.reset();
	look_until({&c.a}, [&] { return c.a.lost.size() == 1; });
	assert_string_equal(c.a.why(c.to).c_str(), strerror(ECONNREFUSED));
}

// More call at once than may wait, and say nothing for a while: they do not poll.
void test_crowd_of_callers(void **)
{
	node hub;
	std::vector<std::unique_ptr<node>> callers;
	std::vector<node *> all{&hub};
	for (size_t i = 0; i < kCallersMost + 20; i++) {
		callers.push_back(std::make_unique<node>());
		all.push_back(callers.back().get());
		callers.back()->send(callers.back()->to(hub), "early");
	}
	look_until({&hub}, [&] { return hub.inner().dropped >= 20; });
	size_t sent = 0;
	look_until(all, [&] {
		for (const auto &c : callers) {
			assert_true(c->lost.empty());
			if (c->works.empty() && c->send(number_of(*c->inner().lines[0]), "here"))
				sent++;
		}
		return hub.came.size() == callers.size();
	});
	assert_int_equal(sent, callers.size());
}

} // namespace

int socket_test::run_call_tests()
{
	const CMUnitTest tests[] = {
		cmocka_unit_test(test_who_is_let_go_calls_again),
		cmocka_unit_test(test_who_waits_for_a_call_calls_again),
		cmocka_unit_test(test_calls_come_to_an_end),
		cmocka_unit_test(test_crowd_of_callers),
	};
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
