// SPDX-License-Identifier: BSD-3-Clause
//
// The link against intruders, over an entirely fake port (fake_port.hpp): a packet is run if it came over the line that
// proved itself, unchanged, and as the next one; a false claim of an address does not block its owner.
#include "link_pair.hpp"
#include "test_link.hpp"

using namespace pgas;
using namespace link_model;

namespace {

link_settings signing(uint32_t window = 4, size_t packet = 1024)
{
	link_settings s = settings(window, packet);
	s.sign = true;
	return s;
}

// Sent packets, to inspect or to send again.
std::vector<std::string> *g_seen;
bool remember(fake::network &, std::string &bytes)
{
	g_seen->push_back(bytes);
	return true;
}

std::string with_head(std::string bytes, const packet_head &h)
{
	memcpy(bytes.data(), &h, sizeof h);
	return bytes;
}

// --- signatures ------------------------------------------------------------------------------------------------------

void test_signed_operations_run_once_and_in_order(void **)
{
	fake::network net;
	side a(net.open(1), 1, signing()), b(net.open(2), 2, signing());
	flood_of_all_to_all_ends({&a, &b}, 20'000, [] {});
	assert_true(a.channels[2]->signs && a.channels[2]->signed_out > 100);
}

// Any bit of any packet after the greeting: none of it is run, and both sides learn of it.
void test_changed_bit_ends_a_signed_channel(void **)
{
	for (unsigned seed = 0; seed < 400; seed++) {
		pair_of_links target(signing());
		target.net.random.seed(seed);
		target.net.change = [](fake::network &n, std::string &bytes) {
			bytes[n.below(static_cast<unsigned>(bytes.size()))] ^= static_cast<char>(1 << n.below(8));
			return true;
		};
		const uint64_t ran = target.b.ran[1];
		target.a.post(target.b, 40);
		run_until({&target.a, &target.b}, [&] { return target.a.ended || target.b.ended; });
		assert_int_equal(target.b.ran[1], ran);
	}
}

// A packet of this channel again, with the next number.
void test_signed_packet_is_good_once(void **)
{
	std::vector<std::string> seen;
	g_seen = &seen;
	pair_of_links target(signing());
	target.net.change = remember;
	assert_true(target.goes_on());
	target.net.change = nullptr;
	std::string data;
	for (const std::string &bytes : seen)
		if (head_in(bytes).flags & kPacketData)
			data = bytes;
	channel *c = target.of_b();
	packet_head h = head_in(data);
	h.seq = c->executed + 1; // as if it were the next
	packet_receive(*target.b.l, c->line, with_head(data, h).data(), data.size());
	assert_true(target.b.ended == 1 && c->state == channel_state::over);
	assert_non_null(strstr(c->reason.c_str(), "signature"));
}

void test_signing_is_agreed_on(void **)
{
	fake::network net;
	side a(net.open(1), 1, signing()), b(net.open(2), 2, settings());
	a.post(b, 8);
	run_until({&a, &b}, [&] { return a.channels[2]->state == channel_state::over; });
	assert_int_equal(a.channels[2]->why, -FI_ECONNREFUSED);
	assert_non_null(strstr(a.channels[2]->reason.c_str(), "FI_PGAS_NET_SIGN"));
}

// --- lines -----------------------------------------------------------------------------------------------------------

// An observer of a packet knows the number and the session. On another line they are useless, and only that line ends.
void test_packet_by_another_line_is_not_run(void **)
{
	std::vector<std::string> seen;
	g_seen = &seen;
	pair_of_links target;
	target.net.change = remember;
	assert_true(target.goes_on());
	target.net.change = nullptr;
	const channel &c = *target.of_b();
	const uint64_t ran = target.b.ran[1];
	for (const uint64_t line : {uint64_t{7}, 7 | fake::kOurs, c.line ^ fake::kOurs})
		for (const std::string &bytes : seen)
			for (const uint32_t seq : {c.executed, c.executed + 1}) {
				packet_head h = head_in(bytes);
				h.seq = seq;
				packet_receive(*target.b.l, line, with_head(bytes, h).data(), bytes.size());
			}
	assert_int_equal(target.b.ran[1], ran);
	assert_int_equal(target.b.ended, 0);
	assert_true(fake::of(*target.b.l->port).dropped > 0);
	assert_true(target.goes_on());
}

// One packet is lost: a side notices, or it was an acknowledgement, and the next one repeats it.
void test_hole_is_noticed(void **)
{
	unsigned ended = 0;
	for (unsigned which = 0; which < 12; which++) {
		pair_of_links target;
		static unsigned left;
		left = which;
		target.net.change = [](fake::network &, std::string &) { return left-- != 0; };
		const uint64_t enough = target.a.appended[2] + 50;
		run_until({&target.a, &target.b}, [&] {
			if (target.a.channels[2]->open() && target.a.appended[2] < enough)
				target.a.post(target.b, 40);
			return target.a.ended || target.b.ended || target.a.told[2] == enough;
		});
		ended += target.a.ended || target.b.ended;
	}
	assert_true(ended > 0);
}

// --- strangers -------------------------------------------------------------------------------------------------------

// A hello that claims to be from number 2.
std::string hello_of_two(const side &victim, uint64_t id)
{
	hello h{};
	h.machine = victim.l->machine;
	h.id = id;
	h.nonce = h.session = 5;
	h.channel = 1;
	h.packet = 1024;
	h.looks_for = 0;
	h.kind = 'f';
	h.address_len = 2;
	h.role = link_role::caller;
	const uint16_t two = 2;
	memcpy(h.address, &two, sizeof two);
	packet_head head{};
	head.magic = kPacketMagic;
	head.protocol = kProtocol;
	head.flags = kPacketHello;
	head.bytes = sizeof head + sizeof h;
	std::string bytes(head.bytes, '\0');
	memcpy(bytes.data(), &head, sizeof head);
	memcpy(bytes.data() + sizeof head, &h, sizeof h);
	return bytes;
}

// A stranger claims to be the peer before, while and after we call it; and again and again.
void test_claim_of_an_address_keeps_nobody_from_it(void **)
{
	for (unsigned seed = 0; seed < 60; seed++) {
		fake::network net;
		net.random.seed(seed);
		side a(net.open(1), 1, settings()), b(net.open(2), 2, settings());
		uint64_t line = 0x20002; // of a stranger on the peer's host
		const auto claim = [&] {
			const std::string bytes = hello_of_two(a, 77 + line);
			packet_receive(*a.l, line += 0x20000, bytes.data(), bytes.size());
		};
		const uint64_t begun = pgas_now_ns();
		for (unsigned i = net.below(3); i; i--)
			claim();
		run_until({&a, &b}, [&] {
			if (net.below(50) == 0 && pgas_now_ns() - begun < 1'000'000'000)
				claim();
			if (!a.told[2])
				a.post(b, 40);
			if (seed % 2 && !b.told[1])
				b.post(a, 40);
			for (channel *s : a.l->strangers) // two seconds pass for strangers without a proof
				s->born_at = s->line >> fake::kElse ? 1 : s->born_at;
			return a.told[2] && (seed % 2 == 0 || b.told[1]);
		});
		assert_int_equal(a.failed[2] + b.failed[1], 0);
	}
}

// There are never many strangers, the oldest is dropped first, and none stays.
void test_strangers_are_few_and_go(void **)
{
	fake::network net;
	side a(net.open(1), 1, settings());
	for (uint64_t i = 1; i <= 5000; i++) {
		const std::string bytes = hello_of_two(a, 1000 + i);
		packet_receive(*a.l, i << fake::kElse | 2, bytes.data(), bytes.size());
		if (i % 16 == 0)
			link_progress(*a.l);
		assert_true(a.l->strangers.size() <= 256);
	}
	const std::string again = hello_of_two(a, 9);
	const size_t strangers = a.l->strangers.size();
	packet_receive(*a.l, uint64_t{5000} << fake::kElse | 2, again.data(), again.size()); // one call per line
	assert_true(a.l->strangers.size() <= strangers);
	for (channel *s : a.l->strangers)
		s->born_at = 1;
	run_until({&a}, [&] { return a.l->strangers.empty(); });
	assert_true(a.l->channels.size() < 400);
	assert_int_equal(a.ended, 0); // the client was never notified of them
}

// Its own hello, sent back; and the peer's answer, sent to another call.
void test_reflections_and_replays_open_nothing(void **)
{
	std::vector<std::string> seen;
	g_seen = &seen;
	fake::network net;
	net.change = remember;
	side a(net.open(1), 1, settings()), b(net.open(2), 2, settings());
	run_until({&a, &b}, [&] { return a.told[2] || (a.post(b, 40), false); });
	net.change = nullptr;
	const std::vector<std::string> recorded = seen;
	side fresh(net.open(3), 3, settings()); // it calls no one, and then address 2, which does not answer now
	net.cut[2] = true;
	for (side *victim : {&a, &fresh})
		for (uint64_t line : {uint64_t{2}, uint64_t{1}, 2 | fake::kOurs})
			for (const std::string &bytes : recorded)
				packet_receive(*victim->l, line + (uint64_t{9} << 20), bytes.data(), bytes.size());
	assert_int_equal(fresh.frames, 0);
	for (const auto &c : fresh.l->channels)
		assert_true(!c || !c->open());
	fresh.post(b, 8);
	for (const std::string &bytes : recorded) {
		packet_head h = head_in(bytes);
		h.channel = fresh.channels[2]->number; // even if it knows these
		h.session = fresh.channels[2]->session_in;
		packet_receive(*fresh.l, fresh.channels[2]->line, with_head(bytes, h).data(), bytes.size());
	}
	assert_true(!fresh.channels[2]->open());
	assert_int_equal(fresh.frames, 0);
}

} // namespace

int run_safety_tests()
{
	const CMUnitTest tests[] = {
		cmocka_unit_test(test_signed_operations_run_once_and_in_order),
		cmocka_unit_test(test_changed_bit_ends_a_signed_channel),
		cmocka_unit_test(test_signed_packet_is_good_once),
		cmocka_unit_test(test_signing_is_agreed_on),
		cmocka_unit_test(test_packet_by_another_line_is_not_run),
		cmocka_unit_test(test_hole_is_noticed),
		cmocka_unit_test(test_claim_of_an_address_keeps_nobody_from_it),
		cmocka_unit_test(test_strangers_are_few_and_go),
		cmocka_unit_test(test_reflections_and_replays_open_nothing),
	};
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
