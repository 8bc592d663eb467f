// SPDX-License-Identifier: BSD-3-Clause
//
// The link against a model, over a port that delays, refuses, cuts, kills and corrupts (fake_port.hpp): every frame
// runs once and in order, every operation is reported once, a flood ends, nothing from a stranger is run.
#include "fake_port.hpp"
#include "link_model.hpp"
#include "test_link.hpp"

namespace pgas {
fi_provider g_provider = {};
}
using namespace pgas;
using namespace link_model;

namespace {

// --- the model -------------------------------------------------------------------------------------------------------

void test_random_operations_run_once_and_in_order(void **)
{
	fake::network net;
	side a(net.open(1), 1, settings()), b(net.open(2), 2, settings());
	side c(net.open(3), 3, settings(64, 16384));
	random_operations_run_once_and_in_order(
		{&a, &b, &c}, operations(1'000'000), [&](unsigned n) { return net.below(n); }, [] {});
	assert_true(a.lengthened && b.lengthened && c.lengthened);
}

void test_flood_of_all_to_all_with_a_window_of_one_ends(void **)
{
	fake::network net;
	net.refuse_every = 3;
	std::vector<std::unique_ptr<side>> sides;
	std::vector<side *> all;
	for (uint16_t i = 1; i <= 6; i++) {
		sides.push_back(std::make_unique<side>(net.open(i), i, settings(1)));
		all.push_back(sides.back().get());
	}
	flood_of_all_to_all_ends(all, 500, [] {});
}

void test_what_cannot_be_run_is_told_exactly(void **)
{
	fake::network net;
	side a(net.open(1), 1, settings()), b(net.open(2), 2, settings());
	b.refuse_odd = true;
	constexpr uint64_t kAll = 2000;
	run_until({&a, &b}, [&] {
		while (a.appended[2] < kAll && a.post(b, 40))
			;
		return a.told[2] + a.failed[2] == kAll;
	});
	assert_int_equal(a.told[2], kAll / 2);
	assert_int_equal(a.failed[2], kAll / 2);
}

// --- ends ------------------------------------------------------------------------------------------------------------

// The peer is killed after `when` rounds of progress: while it greets, proves, receives or sends. Every operation is
// reported, once.
void test_death_in_every_state_tells_everybody(void **)
{
	for (unsigned when = 0; when < 60; when++) {
		fake::network net;
		net.random.seed(when);
		auto b = std::make_unique<side>(net.open(2), 2, settings(4, 1024, kSoon));
		side a(net.open(1), 1, settings(4, 1024, kSoon));
		for (unsigned i = 0; i < when; i++) {
			const size_t bytes = when % 3 ? 64 : 16; // 16: several in a run
			a.post(*b, bytes);
			a.post(*b, bytes);
			b->post(a, bytes);
			link_progress(*a.l);
			link_progress(*b->l);
		}
		b->l.reset(); // without a farewell
		run_until({&a}, [&] {
			a.post(*b, 64); // a side with nothing pending notices nothing
			return a.channels[2]->state == channel_state::over;
		});
		assert_true(a.channels[2]->lost.load());
		assert_int_equal(a.told[2] + a.failed[2], a.appended[2]);
	}
}

void test_silence_is_noticed_and_a_bye_is_no_death(void **)
{
	fake::network net;
	side a(net.open(1), 1, settings()), b(net.open(2), 2, settings()), c(net.open(3), 3, settings());
	run_until({&a, &b, &c},
		  [&] { return (a.told[2] || a.post(b, 8)) && (a.told[3] || a.post(c, 8)) && a.told[2] && a.told[3]; });
	c.close();
	run_until({&a}, [&] { return a.channels[3]->state == channel_state::over; });
	assert_false(a.channels[3]->lost.load());
	a.l->set.timeout_ns = kSoon;
	net.cut[2] = true;
	const uint64_t before = pgas_now_ns();
	while (!a.post(b, 8))
		link_progress(*a.l);
	run_until({&a}, [&] { return a.channels[2]->state == channel_state::over; });
	assert_true(a.channels[2]->lost.load());
	assert_true(pgas_now_ns() - before >= kSoon);
}

// A peer that is stopped while it is called or later: only the client's answer distinguishes it from a lost one.
void test_peer_that_is_stopped_is_waited_for(void **)
{
	for (const bool in_greeting : {true, false})
		for (const bool says_so : {true, false}) {
			fake::network net;
			side a(net.open(1), 1, settings()), b(net.open(2), 2, settings());
			if (!in_greeting)
				run_until({&a, &b}, [&] { return a.told[2] || (a.post(b, 8), false); });
			a.l->set.timeout_ns = kSoon;
			a.says_stopped = says_so;
			a.post(b, 8);
			const uint64_t before = pgas_now_ns();
			const channel &c = *a.channels[2];
			run_until({&a}, [&] { // b does not run
				return (says_so && pgas_now_ns() - before > 3'000'000'000) ||
				       c.state == channel_state::over;
			});
			assert_true(a.stop_questions > 0);
			if (!says_so) {
				assert_true(c.state == channel_state::over && c.lost.load());
				continue;
			}
			assert_true(c.state == (in_greeting ? channel_state::greeting : channel_state::open));
			const uint64_t questions = a.stop_questions;
			a.l->set.timeout_ns = kNever;
			const uint64_t told = a.told[2];
			run_until({&a, &b}, [&] { return a.told[2] > told || (in_greeting && (a.post(b, 8), false)); });
			assert_int_equal(a.stop_questions, questions); // none about a peer that is not silent
			assert_int_equal(a.failed[2], 0);
		}
}

bool lose_proofs(fake::network &, std::string &bytes)
{
	packet_head h;
	memcpy(&h, bytes.data(), sizeof h);
	return h.flags != kPacketProof;
}

void lose_line(net_link &l, uint64_t line)
{
	port_event e{port_event_kind::lost, -ECONNRESET};
	e.line = line;
	fake::of(*l.port).events.push_back(e);
	fake::of(*l.port).inbox.clear(); // what was on its way is lost, too
}

// The line breaks when the peer has answered and has not accepted yet: nothing of that answer is in the next call.
void test_call_that_is_lost_after_its_answer_is_repeated(void **)
{
	for (unsigned seed = 0; seed < 20; seed++) {
		fake::network net;
		net.random.seed(seed);
		net.change = lose_proofs;
		side a(net.open(1), 1, settings()), b(net.open(2), 2, settings());
		a.post(b, 8);
		const channel &c = *a.channels[2];
		for (uint32_t lost = 0; lost < 3; lost++) {
			run_until({&a, &b}, [&] { return c.greeting->proven; });
			assert_int_equal(c.calls, lost);
			lose_line(*b.l, b.l->strangers.at(0)->line);
			run_until({&b}, [&] { return b.l->by_address.empty(); });
			lose_line(*a.l, c.line);
			run_until({&a, &b}, [&] { return c.calls > lost; });
		}
		net.change = nullptr;
		run_until({&a, &b}, [&] { return a.told[2] || (a.post(b, 8), false); });
		assert_int_equal(a.failed[2], 0);
	}
}

// --- transfers -------------------------------------------------------------------------------------------------------

// A peer that cannot see transfers is told in advance, one that can is not; a link whose port moved bulk stays awake.
void test_who_takes_part_in_transfers_stays_awake(void **)
{
	for (const bool unseen : {false, true}) {
		fake::network net;
		side a(net.open(1), 1, settings()), b(net.open(2), 2, settings());
		a.l->port->limits.unseen = unseen;
		run_until({&a, &b}, [&] { return a.told[2] || (a.post(b, 8), false); });
		const uint64_t out = a.l->stats.packets_out;
		channel_rouse(*a.channels[2]);
		assert_int_equal(a.l->stats.packets_out - out, unseen);
		channel_rouse(*a.channels[2]); // once is enough for a while
		assert_int_equal(a.l->stats.packets_out - out, unseen);
		if (unseen)
			run_until({&b}, [&] { return b.l->awake_until != 0; });
		b.l->awake_until = 0;
		b.l->port->bulk_moved = true;
		link_progress(*b.l);
		assert_false(b.l->port->bulk_moved);
		assert_true(link_awake(*b.l));
	}
}

// A frame that finds nothing in flight leaves at once; while the link is held it waits for others.
void test_a_hold_gathers_lone_frames(void **)
{
	fake::network net;
	side a(net.open(1), 1, settings(4, 16384)), b(net.open(2), 2, settings(4, 16384));
	run_until({&a, &b}, [&] { return a.told[2] || (a.post(b, 40), false); });
	const channel &c = *a.channels[2];
	const auto is_quiet = [&] { return c.clear() && !c.filling && a.told[2] == a.appended[2]; };
	for (const bool held : {false, true}) {
		run_until({&a, &b}, is_quiet);
		a.l->holds = held;
		for (int i = 0; i < 3; i++)
			assert_true(a.post(b, 40));
		assert_int_equal(c.unacked.size(), !held);
	}
	for (uint32_t bytes = 0; bytes < kHeldBytes; bytes += 40) // until there are enough
		assert_true(a.post(b, 40));
	assert_int_equal(c.unacked.size(), 1);
	run_until({&a, &b}, is_quiet);
	assert_true(a.post(b, 40));
	assert_non_null(c.filling);
	link_progress(*a.l); // sends what waits
	assert_null(c.filling);
	run_until({&a, &b}, is_quiet);
	a.l->holds = 0;
}

// --- admission -------------------------------------------------------------------------------------------------------

void test_without_the_secret_nothing_is_run(void **)
{
	fake::network net;
	side a(net.open(1), 1, settings()), stranger(net.open(2), 2, settings(), false);
	stranger.post(a, 8);
	run_until({&a, &stranger}, [&] { return stranger.channels[1]->state == channel_state::over; });
	assert_int_equal(stranger.channels[1]->why, -FI_ECONNREFUSED);
	assert_int_equal(a.frames, 0);
	side guest(net.open(3), 3, settings()); // knows the secret, but not the address
	channel *c = link_call(*guest.l, a.l->address, 0, "another address");
	c->users++;
	run_until({&a, &guest}, [&] { return c->state == channel_state::over; });
	assert_int_equal(c->why, -FI_ECONNREFUSED);
	assert_int_equal(a.frames, 0);
}

// Forged packets, from random ones to real ones with a few bits changed: none of them is run, and an honest pair
// continues alongside.
void test_corrupt_packets_touch_nothing(void **)
{
	fake::network net;
	side a(net.open(1), 1, settings()), b(net.open(2), 2, settings());
	std::vector<std::string> seen;
	static std::vector<std::string> *g_seen;
	g_seen = &seen;
	net.change = [](fake::network &, std::string &bytes) {
		if (g_seen->size() < 64)
			g_seen->push_back(bytes);
		return true;
	};
	run_until({&a, &b}, [&] {
		a.post(b, 40);
		return a.told[2] > 50;
	});
	net.change = nullptr;
	run_until({&a, &b}, [&] { return a.told[2] == a.appended[2]; });
	side victim(net.open(9), 9, settings());
	const char *seconds = getenv("LINK_FUZZ_SECONDS");
	const uint64_t end = pgas_now_ns() + (seconds ? strtoull(seconds, nullptr, 10) : 3) * 1'000'000'000;
	while (pgas_now_ns() < end) {
		std::string bytes = seen[net.below(static_cast<unsigned>(seen.size()))];
		switch (net.below(4)) {
		case 0:
			bytes.resize(net.below(static_cast<unsigned>(bytes.size() + 1)));
			break;
		case 1:
			for (char &c : bytes)
				c = static_cast<char>(net.random());
			break;
		default:
			for (unsigned i = net.below(6) + 1; i; i--)
				bytes[net.below(static_cast<unsigned>(bytes.size()))] ^=
					static_cast<char>(1 << net.below(8));
		}
		packet_receive(*victim.l, net.below(4) | (net.below(2) ? fake::kOurs : 0), bytes.data(), bytes.size());
		if (net.below(64) == 0)
			link_progress(*victim.l);
	}
	assert_int_equal(victim.frames, 0);
	const uint64_t told = a.told[2];
	run_until({&a, &b, &victim}, [&] {
		a.post(b, 40);
		return a.told[2] > told;
	});
}

// A proven peer that goes mad: its channel ends, and memory stays intact (run it with ASan).
void test_nonsense_of_a_proven_peer_ends_its_channel(void **)
{
	for (unsigned seed = 0; seed < 300; seed++) {
		fake::network net;
		net.random.seed(seed);
		side a(net.open(1), 1, settings()), b(net.open(2), 2, settings());
		run_until({&a, &b}, [&] { return a.told[2] || (a.post(b, 8) && false); });
		net.change = [](fake::network &n, std::string &bytes) {
			const size_t begin = sizeof(packet_head);
			if (bytes.size() > begin + 8 && n.below(3) == 0) { // the first frame's head
				bytes[begin + n.below(8)] ^= static_cast<char>(1 << n.below(8));
				uint64_t wrong = n.random();
				memcpy(&bytes[begin + 8], &wrong, std::min<size_t>(8, bytes.size() - begin - 8));
				bytes[begin] = static_cast<char>(n.below(20) + 20); // not a valid kind
			}
			return true;
		};
		run_until({&a, &b}, [&] {
			if (a.channels[2]->open())
				a.post(b, 8);
			bool over = false;
			for (auto &c : b.l->channels)
				over = over || (c && c->state == channel_state::over);
			return over || b.ended;
		});
	}
}

// --- the hash --------------------------------------------------------------------------------------------------------

// From the paper's reference implementation: key 00..0f, messages 00 01 02 ... of increasing length.
void test_siphash_has_the_reference_values(void **)
{
	const secret key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
	const struct {
		size_t len;
		const char *mac;
	} wanted[] = {
		{0, "a3817f04ba25a8e66df67214c7550293"},  {1, "da87c1d86b99af44347659119b22fc45"},
		{2, "8177228da4a45dc7fca38bdef60affe4"},  {3, "9c70b60c5267a94e5f33b6b02985ed51"},
		{7, "a1f1ebbed8dbc153c0b84aa61ff08239"},  {8, "3b62a9ba6258f5610f83e264f31497b4"},
		{15, "5493e99933b0a8117e08ec0f97cfc3d9"}, {16, "6ee2a4ca67b054bbfd3315bf85230577"},
		{63, "5150d1772f50834a503e069a973fbd7c"},
	};
	unsigned char text[63];
	for (size_t i = 0; i < sizeof text; i++)
		text[i] = static_cast<unsigned char>(i);
	for (const auto &w : wanted) {
		const secret mac = mac_of(key, text, w.len);
		char hex[33];
		for (size_t i = 0; i < 16; i++)
			snprintf(hex + 2 * i, 3, "%02x", reinterpret_cast<const unsigned char *>(mac.data())[i]);
		assert_string_equal(hex, w.mac);
	}
}

std::string word_text(uint64_t word)
{
	return {reinterpret_cast<const char *>(&word), sizeof word};
}

// As described at the top of net_sign.cpp, with the plain function: the packet holds the session in its place.
uint64_t expected_signature(const secret &key, uint64_t number, const std::string &packet)
{
	if (packet.size() < 512) {
		const std::string all = word_text(number) + packet;
		return mac_of(key, all.data(), all.size())[0];
	}
	constexpr uint64_t kLane = 0xffffffffffffff00;
	const size_t whole = packet.size() / 64 * 64;
	std::string first, second;
	for (uint64_t lane = 0; lane < 8; lane++) {
		std::string text = word_text(kLane + lane) + word_text(number);
		for (size_t pos = 8 * lane; pos < whole; pos += 64)
			text += packet.substr(pos, 8);
		const secret mac = mac_of(key, text.data(), text.size());
		first += word_text(mac[0]);
		second += word_text(mac[1]);
	}
	const std::string last = word_text(kLane + 8) + word_text(number) + word_text(packet.size()) + first + second +
				 packet.substr(whole);
	return mac_of(key, last.data(), last.size())[0];
}

void test_signature_is_the_hash_of_number_and_packet(void **)
{
	const secret key{7, 8};
	for (const size_t len : {32, 33, 39, 40, 47, 504, 511, 512, 513, 520, 575, 576, 1000, 16384})
		for (const uint64_t number : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
			const uint64_t session = 0x1234567890abcdef;
			const size_t hole = offsetof(packet_head, session);
			std::string packet(len, '\0');
			for (size_t i = 0; i < len; i++)
				packet[i] = static_cast<char>(i * 7 + i / 100);
			const uint64_t signature = sign_packet(key, number, packet.data(), len, hole, session);
			memcpy(packet.data() + hole, &session, 8);
			assert_true(signature == expected_signature(key, number, packet));
		}
}

} // namespace

int main()
{
	const CMUnitTest tests[] = {
		cmocka_unit_test(test_siphash_has_the_reference_values),
		cmocka_unit_test(test_signature_is_the_hash_of_number_and_packet),
		cmocka_unit_test(test_random_operations_run_once_and_in_order),
		cmocka_unit_test(test_flood_of_all_to_all_with_a_window_of_one_ends),
		cmocka_unit_test(test_what_cannot_be_run_is_told_exactly),
		cmocka_unit_test(test_death_in_every_state_tells_everybody),
		cmocka_unit_test(test_silence_is_noticed_and_a_bye_is_no_death),
		cmocka_unit_test(test_peer_that_is_stopped_is_waited_for),
		cmocka_unit_test(test_call_that_is_lost_after_its_answer_is_repeated),
		cmocka_unit_test(test_who_takes_part_in_transfers_stays_awake),
		cmocka_unit_test(test_a_hold_gathers_lone_frames),
		cmocka_unit_test(test_without_the_secret_nothing_is_run),
		cmocka_unit_test(test_corrupt_packets_touch_nothing),
		cmocka_unit_test(test_nonsense_of_a_proven_peer_ends_its_channel),
	};
	return cmocka_run_group_tests(tests, nullptr, nullptr) + run_safety_tests() + run_shape_tests();
}
