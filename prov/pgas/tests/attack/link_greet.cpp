// SPDX-License-Identifier: BSD-3-Clause
//
// Whom the link believes: relays, reflections, replays, changed hellos, mixed-up roles, downgrades. Nothing from an
// attacker without the secret may be run, and nothing may be written to it.
//
// Before proofs included roles and addresses, an attacker at an address that two processes of a job called could give
// each the other's hello and proof, was believed by both, read what they wrote and wrote into their memory. The first
// cases show that these programs get that far if they do know the secret.
#include "link_scene.hpp"

using namespace attack;

namespace {

// Calls of dead victims may still be waiting there.
bool called_by_it(session &s, const listener &server, victim &v)
{
	for (int i = 0; i < 20; i++) {
		s = session();
		if (called_by(s, server) && s.conn.theirs == v.at().address)
			return true;
	}
	return false;
}

bool is_error(const std::string &said)
{
	return said.rfind("error ", 0) == 0;
}

// --- with the secret: everything works -------------------------------------------------------------------------------

void who_knows_the_secret_is_believed_when_it_calls()
{
	victim a(quick());
	listener own;
	session s;
	CHECK(open_to(s, a.at(), own.address));
	CHECK(s.say_frames(put_of(0xabc)) && s.answers());
	CHECK_SAYS(a.ask("word"), "abc");
	CHECK_EQ(a.end(), 0);
}

void who_knows_the_secret_is_believed_when_it_is_called()
{
	victim a(quick());
	const place c = place_of_dead();
	listener server(unpack(c.address));
	a.at();
	a.tell("put " + c.name + " 77");
	session s;
	CHECK(called_by(s, server));
	s.said.name = c.name;
	CHECK(answer_call(s, s.said.callee, s.said.by(link_role::callee)));
	CHECK(head_in(s.conn.hear_packet()).flags & kPacketProof);
	CHECK(s.say_frames(put_of(0xdead)));
	std::string said;
	CHECK(serve(s, a, said) > 0);
	CHECK_STR(said.c_str(), "done");
	CHECK_SAYS(a.ask("word"), "dead");
}

void a_job_without_a_secret_believes_who_knows_its_addresses_only()
{
	victim_options o = quick();
	o.with_secret = false;
	victim a(o);
	listener own;
	session s, t;
	s.said.key = {};
	CHECK(open_to(s, a.at(), own.address));
	t.said.key = {};
	place wrong = a.at();
	wrong.name = name_at(wrong.address, wrong.endpoint); // the address and number alone
	listener other;
	CHECK(!open_to(t, wrong, other.address));
	CHECK(prove_as_caller(t));
	CHECK(!t.answers());
}

// --- relays and reflections ------------------------------------------------------------------------------------------

// Both call the address of a dead process, where the attacker listens. strategy gets both once both have said hello.
template <class Strategy>
void relay(Strategy &&strategy)
{
	victim a(quick()), b(quick());
	const place c = place_of_dead();
	listener server(unpack(c.address));
	CHECK_EQ(server.address.size(), 6);
	for (victim *v : {&a, &b}) {
		v->at();
		v->tell("put " + c.name + " 4711");
	}
	std::string said[2];
	std::unique_ptr<session> owner[2];
	int rounds = 0, data = 0;
	while (said[0].empty() || said[1].empty()) {
		auto s = std::make_unique<session>();
		if (called_by(*s, server, 20))
			owner[s->conn.theirs == b.at().address] = std::move(s);
		if (owner[0] && owner[1]) {
			rounds++;
			strategy(*owner[0], *owner[1], a.at(), b.at(), c);
			for (auto &one : owner) {
				std::string p;
				while (!(p = one->conn.hear_packet(300)).empty())
					data += (head_in(p).flags & (kPacketData | kPacketProof)) != 0;
				one.reset();
			}
		}
		if (said[0].empty())
			said[0] = a.hear(1);
		if (said[1].empty())
			said[1] = b.hear(1);
	}
	CHECK(rounds > 0);
	CHECK_EQ(data, 0); // neither proves itself to it, nor writes to it
	for (int i = 0; i < 2; i++) {
		CHECK(is_error(said[i]));
		CHECK_SAYS((i ? b : a).ask("word"), "0");
		CHECK_SAYS((i ? b : a).ask("check"), "sound");
	}
}

void each_gets_the_hello_of_the_other()
{
	relay([](session &a, session &b, const place &, const place &, const place &) {
		answer_call(a, b.said.caller, {});
		answer_call(b, a.said.caller, {});
	});
}

void each_gets_the_hello_of_the_other_as_if_it_answered()
{
	relay([](session &a, session &b, const place &, const place &, const place &c) {
		hello from_b = b.said.caller, from_a = a.said.caller;
		for (hello *h : {&from_a, &from_b}) {
			h->role = link_role::callee;
			h->looks_for = kNoEndpoint;
			memcpy(h->address, c.address.data(), c.address.size());
		}
		answer_call(a, from_b, {});
		answer_call(b, from_a, {});
	});
}

// The attacker calls B in A's name with A's own hello, and passes B's answer to A: B's true hello and proof. First
// unchanged, then with the address that A called.
template <bool Changed>
void hello_and_proof_of_the_other_are_passed_on()
{
	relay([](session &a, session &b, const place &at_a, const place &at_b, const place &c) {
		const auto pass_on = [&](session &source, session &dest, const place &p_from, const place &p_to) {
			session call;
			proof its{};
			if (!line_call(call.conn, p_to.address, p_from.address))
				return;
			call.conn.say_packet(packet_of(kPacketHello, 0, 0, bytes_of(source.said.caller)));
			const std::string answer = call.conn.hear_packet(500);
			(void)dest;
			if (!(head_in(answer).flags & kPacketHello))
				return;
			auto h = body_in<hello>(answer);
			its = body_in<proof>(answer, sizeof h);
			if (Changed)
				memcpy(h.address, c.address.data(), c.address.size());
			answer_call(source, h, its);
			// and its proof where a caller's is expected
			call.conn.say_packet(packet_of(kPacketProof, h.channel, h.session, bytes_of(its)));
		};
		pass_on(a, b, at_a, at_b);
		pass_on(b, a, at_b, at_a);
	});
}

void its_own_hello_and_proof_come_back()
{
	for (const bool changed : {false, true}) {
		// the one with the higher address answers calls from the other, even while it calls itself
		auto own = std::make_unique<victim>(quick()), dead = std::make_unique<victim>(quick());
		if (own->at().address < dead->at().address)
			own.swap(dead);
		const place c = dead->at();
		dead.reset();
		victim &a = *own;
		listener server(unpack(c.address));
		a.tell("put " + c.name + " 4711");
		session s, call;
		CHECK(called_by(s, server));
		// its own proof, made for a call that came from the address that it calls
		s.said.name = c.name;
		CHECK(line_call(call.conn, a.at().address, c.address));
		hello mine = s.said.caller;
		mine.id ^= 1; // its own id would reveal it
		memcpy(mine.address, c.address.data(), c.address.size());
		call.conn.say_packet(packet_of(kPacketHello, 0, 0, bytes_of(mine)));
		const std::string answer = call.conn.hear_packet();
		CHECK(head_in(answer).flags & kPacketHello);
		hello h = body_in<hello>(answer);
		const auto its = body_in<proof>(answer, sizeof h);
		if (changed) {
			h.id ^= 1;
			memcpy(h.address, c.address.data(), c.address.size());
		}
		answer_call(s, h, its);
		std::string said;
		CHECK_EQ(serve(s, a, said), 0);
		call.conn.say_packet(packet_of(kPacketProof, h.channel, h.session, bytes_of(its)));
		CHECK(call.conn.closed());
		if (said.empty())
			said = a.hear();
		CHECK(is_error(said));
		CHECK_SAYS(a.ask("word"), "0");
	}
}

// --- roles -----------------------------------------------------------------------------------------------------------

void proof_of_a_caller_does_not_fit_a_callee()
{
	for (const bool flipped : {false, true}) {
		victim a(quick());
		const place c = place_of_dead();
		listener server(unpack(c.address));
		a.at();
		a.tell("put " + c.name + " 4711");
		session s;
		CHECK(called_by(s, server));
		s.said.name = c.name;
		if (flipped)
			s.said.callee.role = link_role::caller;
		answer_call(s, s.said.callee, s.said.by(flipped ? link_role::callee : link_role::caller));
		std::string said;
		CHECK_EQ(serve(s, a, said), 0);
		s.conn.fd.reset();
		server.fd.reset();
		if (said.empty())
			said = a.hear();
		CHECK(is_error(said));
	}
}

void proof_of_a_callee_does_not_fit_a_caller()
{
	victim a(quick());
	listener own;
	session s;
	proof its{};
	CHECK(hello_to(s, a.at(), own.address, &its));
	s.conn.say_packet(s.packet(kPacketProof, bytes_of(its)));
	CHECK(!s.answers());
	session t;
	listener other;
	CHECK(line_call(t.conn, a.at().address, other.address));
	t.said.name = a.at().name;
	t.said.caller = hello_as(link_role::callee, other.address, a.at().endpoint, 0);
	t.conn.say_packet(packet_of(kPacketHello, 0, 0, bytes_of(t.said.caller)));
	CHECK(t.conn.closed());
}

// --- replays ---------------------------------------------------------------------------------------------------------

void recorded_calls_are_not_believed_again()
{
	victim a(quick());
	listener own;
	session s;
	CHECK(open_to(s, a.at(), own.address));
	CHECK(s.say_frames(put_of(0x1)) && s.answers());
	CHECK_SAYS(a.ask("word"), "1");
	const std::string hello_said = packet_of(kPacketHello, 0, 0, bytes_of(s.said.caller));
	const std::string proof_said = s.packet(kPacketProof, bytes_of(s.said.by(link_role::caller)));
	const std::string data_said = s.packet(kPacketData, put_of(0x1));
	CHECK(s.say_frames(put_of(0)) && s.answers());
	for (const bool still_open : {true, false}) {
		if (!still_open)
			s.conn.fd.reset();
		for (const bool at_once : {false, true}) {
			line l;
			CHECK(line_call(l, a.at().address, own.address));
			l.say_packet(hello_said);
			if (!at_once)
				l.hear_packet(500);
			l.say_packet(proof_said);
			l.say_packet(data_said);
			CHECK(l.closed());
			CHECK_SAYS(a.ask("word"), "0");
		}
		CHECK(!still_open || s.answers());
	}
}

void recorded_data_is_not_run_again()
{
	victim a(quick());
	listener own, other;
	session s, t;
	CHECK(open_to(s, a.at(), own.address));
	const std::string first = (s.sent = 1, s.packet(kPacketData, put_of(0x1)));
	CHECK(s.conn.say_packet(first) && s.answers());
	CHECK(s.say_frames(put_of(0)) && s.answers());
	CHECK(open_to(t, a.at(), other.address));
	t.conn.say_packet(first); // on another channel's line
	CHECK(t.conn.closed());
	CHECK_SAYS(a.ask("word"), "0");
	CHECK(s.answers());
	s.conn.say_packet(first); // on its own line, once more
	CHECK(s.conn.closed());
	CHECK_SAYS(a.ask("word"), "0");
}

void recorded_answers_are_not_believed_again()
{
	const place c = place_of_dead();
	listener server(unpack(c.address));
	hello said{};
	proof its{};
	for (int i = 0; i < 2; i++) {
		victim a(quick());
		a.at();
		a.tell("put " + c.name + " 1");
		session s;
		CHECK(called_by_it(s, server, a));
		s.said.name = c.name;
		if (i == 0) {
			said = s.said.callee;
			its = s.said.by(link_role::callee);
		}
		answer_call(s, said, its);
		const uint8_t flags = head_in(s.conn.hear_packet()).flags;
		CHECK_EQ((flags & kPacketProof) != 0, i == 0);
		CHECK_EQ((flags & kPacketRefuse) != 0, i == 1);
	}
}

// --- changes in flight, downgrades -----------------------------------------------------------------------------------

// The sender knows the secret, and its hello arrives with one bit changed: for every bit.
void every_bit_of_a_callers_hello_counts()
{
	victim a(quick());
	listener own;
	for (size_t bit = 0; bit < 8 * sizeof(hello); bit++) {
		session s;
		s.said.name = a.at().name;
		s.said.caller = hello_as(link_role::caller, own.address, a.at().endpoint, 0);
		hello changed = s.said.caller;
		reinterpret_cast<unsigned char *>(&changed)[bit / 8] ^= static_cast<unsigned char>(1 << bit % 8);
		CHECK(line_call(s.conn, a.at().address, own.address));
		s.conn.say_packet(packet_of(kPacketHello, 0, 0, bytes_of(changed)));
		const std::string answer = s.conn.hear_packet();
		if (!(head_in(answer).flags & kPacketHello))
			continue;
		s.said.callee = body_in<hello>(answer);
		prove_as_caller(s);
		s.say_frames(put_of(bit + 1));
		CHECK(!s.answers());
	}
	CHECK_SAYS(a.ask("word"), "0");
	session s; // an unchanged hello is still accepted
	CHECK(open_to(s, a.at(), own.address));
	CHECK_EQ(a.end(), 0);
}

void every_field_of_a_callees_hello_counts()
{
	const place c = place_of_dead();
	listener server(unpack(c.address));
	for (const size_t byte : {0, 4, 6, 7, 8, 16, 24, 32, 37, 41, 43, 44, 45, 46, 47, 48, 52, 60, 79}) {
		victim a(quick());
		a.at();
		a.tell("put " + c.name + " 1");
		session s;
		CHECK(called_by_it(s, server, a));
		s.said.name = c.name;
		hello changed = s.said.callee;
		reinterpret_cast<unsigned char *>(&changed)[byte] ^= 1;
		answer_call(s, changed, s.said.by(link_role::callee));
		const std::string p = s.conn.hear_packet();
		CHECK(p.empty() || (head_in(p).flags & kPacketRefuse));
	}
}

void other_versions_are_refused_in_their_own()
{
	victim a(quick());
	listener own;
	for (const uint8_t version : {0, 1, kProtocol + 1, 255}) {
		line l;
		CHECK(line_call(l, a.at().address, own.address));
		const hello h = hello_as(link_role::caller, own.address, a.at().endpoint, 0);
		l.say_packet(packet_of(kPacketHello, 0, 0, bytes_of(h), 0, 0, version));
		const std::string answer = l.hear_packet();
		CHECK_EQ(head_in(answer).flags, kPacketRefuse);
		CHECK_EQ(head_in(answer).protocol, version);
		CHECK(answer.find("version") != std::string::npos);
	}
	session s; // of another version from the proof on
	CHECK(hello_to(s, a.at(), own.address));
	s.conn.say_packet(packet_of(kPacketProof, s.said.callee.channel, s.said.callee.session,
				    bytes_of(s.said.by(link_role::caller)), 0, 0, 1));
	CHECK(s.conn.closed());
}

// A line belongs to one channel. A caller that said hello twice, the first time such that it was refused, once got two
// channels: the line was freed twice, before any proof.
void who_is_refused_and_says_hello_again()
{
	victim a(quick());
	for (int i = 0; i < 200; i++) {
		const std::string own = pack(loopback(static_cast<uint16_t>(20000 + i)));
		const hello good = hello_as(link_role::caller, own, a.at().endpoint, 0);
		hello other = good, nobody = good;
		other.machine.architecture ^= 3;
		nobody.looks_for = 77;
		const std::string said[] = {
			packet_of(kPacketHello, 0, 0, bytes_of(good)),
			packet_of(kPacketHello, 0, 0, bytes_of(good), 0, 0, 1),
			packet_of(kPacketHello, 0, 0, bytes_of(other)),
			packet_of(kPacketHello, 0, 0, bytes_of(nobody)),
		};
		line l;
		l.fd = connect_to(a.at().address);
		l.say(bytes_of(hello_record_of(own)) + record_of(said[i % 4]) + record_of(said[i / 4 % 4]) +
		      record_of(said[i / 16 % 4]));
		if (i % 3)
			l.closed(20);
	}
	CHECK_SAYS(a.ask("check"), "sound");
	listener own;
	session s;
	CHECK(open_to(s, a.at(), own.address));
	CHECK_EQ(a.end(), 0);
}

// The same from a callee.
void who_answers_in_another_version()
{
	const place c = place_of_dead();
	listener server(unpack(c.address));
	for (int i = 0; i < 8; i++) {
		victim a(quick());
		a.at();
		a.tell("put " + c.name + " 1");
		session s;
		CHECK(called_by_it(s, server, a));
		const hello &h = s.said.callee;
		std::string all;
		for (int n = 0; n <= i % 3; n++)
			all += record_of(packet_of(kPacketHello | (i & 1 ? kPacketProof : 0),
						   i & 4 ? 0 : s.said.caller.channel, s.said.caller.session,
						   bytes_of(h), 0, 0, 1));
		s.conn.say(all);
		s.conn.closed(100);
		s.conn.fd.reset();
		const uint64_t end = now_ms() + 60'000 * slowness();
		std::string said;
		while ((said = a.hear(1)).empty() && now_ms() < end) { // until it gives up
			session again;
			called_by(again, server, 10);
		}
		CHECK(is_error(said));
		CHECK_EQ(a.end(), 0);
	}
}

void signing_cannot_be_talked_away()
{
	for (const bool signs : {false, true}) {
		victim a(quick({signs ? "FI_PGAS_NET_SIGN=1" : "FI_PGAS_NET_SIGN=0"}));
		listener own;
		session s;
		CHECK(line_call(s.conn, a.at().address, own.address));
		hello h = hello_as(link_role::caller, own.address, a.at().endpoint, 0);
		h.features = signs ? 0 : kFeatureSigned;
		s.conn.say_packet(packet_of(kPacketHello, 0, 0, bytes_of(h)));
		CHECK(head_in(s.conn.hear_packet()).flags & kPacketRefuse);
		if (!signs)
			continue;
		// it signs, but its peer does not sign later packets
		session t;
		listener other;
		t.said.name = a.at().name;
		t.said.caller = hello_as(link_role::caller, other.address, a.at().endpoint, 0);
		t.said.caller.features = kFeatureSigned;
		CHECK(line_call(t.conn, a.at().address, other.address));
		t.conn.say_packet(packet_of(kPacketHello, 0, 0, bytes_of(t.said.caller)));
		t.said.callee = body_in<hello>(t.conn.hear_packet());
		CHECK(prove_as_caller(t));
		CHECK(t.say_frames(put_of(0xbad)));
		CHECK(t.conn.closed());
		CHECK_SAYS(a.ask("word"), "0");
	}
}

void encryption_cannot_be_talked_into_or_away()
{
	victim a(quick());
	listener own;
	for (const uint64_t features : {uint64_t{kRecordTls}, uint64_t{2}, ~uint64_t{0}}) {
		line l;
		CHECK(!line_call(l, a.at().address, own.address, features));
		CHECK(l.welcomed.head.kind == record_kind::refuse);
		CHECK(l.closed());
	}
	const place c = place_of_dead();
	listener server(unpack(c.address));
	a.tell("put " + c.name + " 1");
	line l;
	CHECK(line_accept(l, server, kRecordTls));
	CHECK(l.hear_packet().empty()); // not a packet to a peer that it does not understand
	server.fd.reset();
	CHECK(is_error(a.hear()));
}

} // namespace

int main(int argc, char **argv)
{
	own_network();
	return run_cases(
		{
			{"who_knows_the_secret_is_believed_when_it_calls",
			 who_knows_the_secret_is_believed_when_it_calls},
			{"who_knows_the_secret_is_believed_when_it_is_called",
			 who_knows_the_secret_is_believed_when_it_is_called},
			{"a_job_without_a_secret_believes_who_knows_its_addresses_only",
			 a_job_without_a_secret_believes_who_knows_its_addresses_only},
			{"each_gets_the_hello_of_the_other", each_gets_the_hello_of_the_other},
			{"each_gets_the_hello_of_the_other_as_if_it_answered",
			 each_gets_the_hello_of_the_other_as_if_it_answered},
			{"hello_and_proof_of_the_other_are_passed_on",
			 hello_and_proof_of_the_other_are_passed_on<false>},
			{"hello_and_proof_of_the_other_are_passed_on_changed",
			 hello_and_proof_of_the_other_are_passed_on<true>},
			{"its_own_hello_and_proof_come_back", its_own_hello_and_proof_come_back},
			{"proof_of_a_caller_does_not_fit_a_callee", proof_of_a_caller_does_not_fit_a_callee},
			{"proof_of_a_callee_does_not_fit_a_caller", proof_of_a_callee_does_not_fit_a_caller},
			{"recorded_calls_are_not_believed_again", recorded_calls_are_not_believed_again},
			{"recorded_data_is_not_run_again", recorded_data_is_not_run_again},
			{"recorded_answers_are_not_believed_again", recorded_answers_are_not_believed_again},
			{"every_bit_of_a_callers_hello_counts", every_bit_of_a_callers_hello_counts},
			{"every_field_of_a_callees_hello_counts", every_field_of_a_callees_hello_counts},
			{"other_versions_are_refused_in_their_own", other_versions_are_refused_in_their_own},
			{"who_is_refused_and_says_hello_again", who_is_refused_and_says_hello_again},
			{"who_answers_in_another_version", who_answers_in_another_version},
			{"signing_cannot_be_talked_away", signing_cannot_be_talked_away},
			{"encryption_cannot_be_talked_into_or_away", encryption_cannot_be_talked_into_or_away},
		},
		argc, argv);
}
