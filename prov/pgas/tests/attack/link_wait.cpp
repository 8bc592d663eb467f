// SPDX-License-Identifier: BSD-3-Clause
//
// Attacks on the link between hosts: peers that end a call, or stay silent, when a victim waits for them.
#include "link_scene.hpp"

#include <chrono>

using namespace attack;

namespace {

// A callee that gives up waiting for a proof ends the connection: the caller calls again, and nothing is lost.
void a_call_that_was_given_up_is_made_again()
{
	victim a(quick());
	const place c = place_of_dead();
	listener server(unpack(c.address));
	a.at();
	a.tell("put " + c.name + " 77");
	for (int i = 0; i < 4; i++) {
		session s;
		CHECK(called_by(s, server));
		s.said.name = c.name;
		if (i == 2)
			continue; // before it was answered
		CHECK(answer_call(s, s.said.callee, s.said.by(link_role::callee)));
		CHECK(head_in(s.conn.hear_packet()).flags & kPacketProof);
		if (i < 3)
			continue; // before it was believed
		CHECK(s.conn.say_packet(s.packet(0, "")));
		std::string said;
		CHECK(serve(s, a, said) > 0);
		CHECK_STR(said.c_str(), "done");
	}
	CHECK_EQ(a.end(), 0);
}

// A silent listener at the address of a dead process is not waited for forever; the kernel's acknowledgements are no
// proof.
void who_is_silent_when_it_is_called_is_given_up()
{
	victim_options o;
	o.env = {"FI_PGAS_PEER_TIMEOUT=6", "LINK_VICTIM_SECONDS=60"}; // the kernel probes more often than that
	const place c = place_of_dead(), d = place_of_dead();
	listener at_c(unpack(c.address)), at_d(unpack(d.address));
	victim a(o), b(o);
	a.at(), b.at();
	const auto began = std::chrono::steady_clock::now();
	a.tell("put " + c.name + " 77");
	b.tell("put " + d.name + " 77");
	line welcomed;
	CHECK(line_accept(welcomed, at_c));
	for (victim *v : {&a, &b}) {
		CHECK(v->hear(40000).rfind("error put", 0) == 0);
		const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
		printf("# given up after %.1f s\n", took.count());
		CHECK(took.count() > 5);
	}
}

} // namespace

int main(int argc, char **argv)
{
	own_network();
	return run_cases(
		{
			{"a_call_that_was_given_up_is_made_again", a_call_that_was_given_up_is_made_again},
			{"who_is_silent_when_it_is_called_is_given_up", who_is_silent_when_it_is_called_is_given_up},
		},
		argc, argv);
}
