// SPDX-License-Identifier: BSD-3-Clause
//
// The link against a model, over a port that delays, refuses, cuts, kills and corrupts (fake_port.hpp): every frame
// runs once and in order, everybody hears of every operation once, a flood ends, nothing of a stranger is run.
#include "../prov/pgas/src/net/net_link.hpp"
#include "../prov/pgas/src/pgas_util.hpp"
#include "fake_port.hpp"

#include <pgas/pgas_counter.h>

#include <algorithm>
#include <csetjmp>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
extern "C" {
#include <cmocka.h> // behind all others: it has a macro `fail`
}

namespace pgas {
fi_provider g_provider = {};
}
using namespace pgas;

namespace {

// One process: a link, and what it saw and was told.
struct side {
	fake::network *net;
	uint16_t number;
	std::unique_ptr<pgas::link> l;
	std::string name;
	std::map<uint16_t, uint64_t> ran;          // frames, by sender
	std::map<uint16_t, uint64_t> told, failed; // operations, by receiver
	std::map<uint16_t, uint64_t> sent, appended;
	std::map<uint16_t, channel *> to;
	std::map<uint16_t, word_run> runs; // by receiver
	uint32_t in_runs = 0, counted = 0; // what was appended to one, and what the link counted of it
	uint64_t frames = 0;
	int ended = 0;
	bool refuse_odd = false; // as bad frames

	side(fake::network &n, uint16_t number_arg, link_settings set, bool with_secret = true);
	bool post(side &other, size_t bytes);
	bool post_in_run(side &other, size_t bytes);
	void open_run(side &other);
	void close() { link_close(*l); }
};

// A frame is the number of the frame from that sender to that receiver, and noise that follows from it.
bool on_frame(void *self, channel &c, const frame_head &h, const char *bytes, size_t len, uint32_t index)
{
	side &s = *static_cast<side *>(self);
	if (h.kind == frame_kind::failed) {
		failed_frame f;
		if (len != sizeof f)
			return false;
		memcpy(&f, bytes, sizeof f);
		for (packet *p : c.unacked)
			if (p->seq == f.seq)
				p->failures.push_back({f.frame, f.status});
		return true;
	}
	if (h.kind != frame_kind::put || len < 8)
		return false;
	uint64_t n;
	memcpy(&n, bytes, 8);
	s.frames++;
	if (n != s.ran[h.src]) {
		fprintf(stderr, "frame %llu of %u came, %llu was expected\n", static_cast<unsigned long long>(n), h.src,
			static_cast<unsigned long long>(s.ran[h.src]));
		_fail(__FILE__, __LINE__);
	}
	for (size_t i = 8; i < len; i++)
		assert_int_equal(static_cast<unsigned char>(bytes[i]), static_cast<unsigned char>(n * 31 + i));
	s.ran[h.src]++;
	if (s.refuse_odd && n % 2) {
		const failed_frame f{c.ran + 1, index, -FI_EACCES, 0};
		char *at = frame_begin(c, sizeof f);
		if (!at)
			at = frame_begin_slow(c, sizeof f, true);
		assert_non_null(at);
		memcpy(at, &f, sizeof f);
		frame_end(c, frame_kind::failed, 0, 0, 0, sizeof f);
		c.urgent = true;
	}
	return true;
}

void on_over(void *self, const notice &n, uint32_t good, uint32_t bad, int status)
{
	side &s = *static_cast<side *>(self);
	assert_int_equal(good + bad, n.operations);
	assert_true(bad == 0 || status < 0);
	s.told[static_cast<uint16_t>(n.to)] += good;
	s.failed[static_cast<uint16_t>(n.to)] += bad;
}

side::side(fake::network &n, uint16_t number_arg, link_settings set, bool with_secret) : net(&n), number(number_arg)
{
	name = "endpoint of " + std::to_string(number);
	if (with_secret)
		set.key = {1, 2};
	const link_client client{
		this,
		on_frame,
		on_over,
		[](void *, port_work *, int) {},
		[](void *, channel &) {},
		[](void *self, channel &) { static_cast<side *>(self)->ended++; },
		[](void *self, uint16_t ep) { return ep == 0 ? static_cast<side *>(self)->name.c_str() : nullptr; },
		[](void *, const channel &) { return false; },
	};
	l = link_open(n.open(number, 16384), client, set);
}

void noise(char *at, uint64_t n, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		at[i - from] = static_cast<char>(n * 31 + i);
}

// A short frame behind one of 16 bytes, without a call; false: there is no run.
bool side::post_in_run(side &other, size_t bytes)
{
	word_run &run = runs[other.number];
	if (bytes <= 8 || bytes > 16 || !run.open())
		return false;
	const uint64_t n = appended[other.number]++;
	uint64_t value = 0;
	noise(reinterpret_cast<char *>(&value), n, 8, bytes);
	run_append(run, n, value, bytes - 8);
	in_runs++;
	return true;
}

void side::open_run(side &other)
{
	channel &c = *to[other.number];
	const frame_head h{frame_kind::put, 0, number, 0, 2};
	memcpy(&runs[other.number].head, &h, sizeof h);
	run_open(c, runs[other.number], counted);
}

// Appends the next frame to another side; false: not now.
bool side::post(side &other, size_t bytes)
{
	channel *&c = to[other.number];
	if (!c) {
		std::string address(reinterpret_cast<const char *>(&other.number), 2);
		c = link_call(*l, address, 0, other.name);
		c->users++;
	}
	if (!c->open())
		return false;
	if (post_in_run(other, bytes))
		return true;
	char *at = frame_begin(*c, bytes);
	if (!at)
		return false;
	const uint64_t n = appended[other.number]++;
	memcpy(at, &n, 8);
	noise(at + 8, n, 8, bytes);
	frame_end(*c, frame_kind::put, 0, number, 0, bytes);
	notice about;
	about.who = this;
	about.frames = about.operations = 1;
	about.to = other.number;
	packet_notice(*c, about);
	frame_push(*c);
	if (bytes == 16 && c->filling)
		open_run(other);
	return true;
}

// On a busy machine anybody may be silent for a while: only where a test wants it is that taken for a death.
constexpr uint64_t kNever = 86'400'000'000'000, kSoon = 200'000'000;

link_settings settings(uint32_t window = 4, size_t packet = 1024, uint64_t timeout_ns = kNever)
{
	link_settings s;
	s.window = window;
	s.packet = packet;
	s.timeout_ns = timeout_ns;
	return s;
}

// Against hangs only: a minute and more, or what TEST_SLOW says.
uint64_t hang_end()
{
	const char *slow = getenv("TEST_SLOW");
	return pgas_now_ns() + 60'000'000'000 * std::max(1ul, slow ? strtoul(slow, nullptr, 10) : 5);
}

template <class Done>
void run_until(std::vector<side *> sides, Done &&done)
{
	const uint64_t end = hang_end();
	while (!done()) {
		for (side *s : sides)
			link_progress(*s->l);
		assert_true(pgas_now_ns() < end);
	}
}

uint64_t operations(uint64_t otherwise)
{
	const char *text = getenv("LINK_OPERATIONS");
	return text ? strtoull(text, nullptr, 10) : otherwise;
}

// --- the model -------------------------------------------------------------------------------------------------------

void test_random_operations_run_once_and_in_order(void **)
{
	fake::network net;
	side a(net, 1, settings()), b(net, 2, settings()), c(net, 3, settings(64, 16384));
	std::vector<side *> all{&a, &b, &c};
	const uint64_t most = operations(1'000'000);
	uint64_t posted = 0;
	const uint64_t end = hang_end();
	while (posted < most) {
		assert_true(pgas_now_ns() < end);
		side &from = *all[net.below(3)], &to = *all[net.below(3)];
		if (&from != &to)
			posted += from.post(to, 8 + net.below(net.below(8) ? 16 : 600));
		if (net.below(8) == 0)
			link_progress(*all[net.below(3)]->l);
	}
	const auto all_told = [&] {
		for (side *s : all)
			for (auto [to, n] : s->appended)
				if (s->told[to] != n)
					return false;
		return true;
	};
	run_until(all, all_told);
	for (side *s : all)
		for (side *t : all)
			assert_int_equal(t->ran[s->number], s->appended[t->number]);
	for (side *s : all)
		for (auto [to, n] : s->failed)
			assert_int_equal(n, 0);
	for (side *s : all) {
		assert_true(s->in_runs > 0);
		assert_int_equal(s->in_runs, s->counted);
	}
}

void test_flood_of_all_to_all_with_a_window_of_one_ends(void **)
{
	fake::network net;
	net.refuse_every = 3;
	std::vector<std::unique_ptr<side>> sides;
	std::vector<side *> all;
	for (uint16_t i = 1; i <= 6; i++) {
		sides.push_back(std::make_unique<side>(net, i, settings(1)));
		all.push_back(sides.back().get());
	}
	constexpr uint64_t kEach = 500;
	run_until(all, [&] {
		bool over = true;
		for (side *s : all)
			for (side *t : all) {
				if (s == t)
					continue;
				while (s->appended[t->number] < kEach && s->post(*t, 200))
					;
				over = over && s->told[t->number] == kEach;
			}
		return over;
	});
}

void test_what_cannot_be_run_is_told_exactly(void **)
{
	fake::network net;
	side a(net, 1, settings()), b(net, 2, settings());
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

// The peer is killed after so many looks: while it greets, proves, receives or sends. Everything is told, once.
void test_death_in_every_state_tells_everybody(void **)
{
	for (unsigned when = 0; when < 60; when++) {
		fake::network net;
		net.random.seed(when);
		auto b = std::make_unique<side>(net, 2, settings(4, 1024, kSoon));
		side a(net, 1, settings(4, 1024, kSoon));
		for (unsigned i = 0; i < when; i++) {
			const size_t bytes = when % 3 ? 64 : 16; // 16: several in a run
			a.post(*b, bytes);
			a.post(*b, bytes);
			b->post(a, bytes);
			link_progress(*a.l);
			link_progress(*b->l);
		}
		b->l.reset(); // without a word
		run_until({&a}, [&] {
			a.post(*b, 64); // what is owed nothing notices nothing
			return a.to[2]->state == channel_state::over;
		});
		assert_true(a.to[2]->lost.load());
		assert_int_equal(a.told[2] + a.failed[2], a.appended[2]);
	}
}

void test_silence_is_noticed_and_a_bye_is_no_death(void **)
{
	fake::network net;
	side a(net, 1, settings()), b(net, 2, settings()), c(net, 3, settings());
	run_until({&a, &b, &c},
		  [&] { return (a.told[2] || a.post(b, 8)) && (a.told[3] || a.post(c, 8)) && a.told[2] && a.told[3]; });
	c.close();
	run_until({&a}, [&] { return a.to[3]->state == channel_state::over; });
	assert_false(a.to[3]->lost.load());
	a.l->set.timeout_ns = kSoon;
	net.cut[2] = true;
	const uint64_t before = pgas_now_ns();
	while (!a.post(b, 8))
		link_progress(*a.l);
	run_until({&a}, [&] { return a.to[2]->state == channel_state::over; });
	assert_true(a.to[2]->lost.load());
	assert_true(pgas_now_ns() - before >= kSoon);
}

// --- who may come in -------------------------------------------------------------------------------------------------

void test_without_the_secret_nothing_is_run(void **)
{
	fake::network net;
	side a(net, 1, settings()), stranger(net, 2, settings(), false);
	stranger.post(a, 8);
	run_until({&a, &stranger}, [&] { return stranger.to[1]->state == channel_state::over; });
	assert_int_equal(stranger.to[1]->why, -FI_ECONNREFUSED);
	assert_int_equal(a.frames, 0);
	side guest(net, 3, settings()); // knows the secret, but not the address
	std::string address("\1\0", 2);
	channel *c = link_call(*guest.l, address, 0, "another address");
	c->users++;
	run_until({&a, &guest}, [&] { return c->state == channel_state::over; });
	assert_int_equal(c->why, -FI_ECONNREFUSED);
	assert_int_equal(a.frames, 0);
}

// Packets that somebody made up, from random ones to real ones with a few bits changed: nothing of them is run, and an
// honest pair goes on beside it.
void test_corrupt_packets_touch_nothing(void **)
{
	fake::network net;
	side a(net, 1, settings()), b(net, 2, settings());
	std::vector<std::string> seen;
	static std::vector<std::string> *g_seen;
	g_seen = &seen;
	net.change = [](fake::network &, std::string &bytes) {
		if (g_seen->size() < 64)
			g_seen->push_back(bytes);
		return true;
	};
	run_until({&a, &b}, [&] { return (a.post(b, 40) || true) && a.told[2] > 50; });
	net.change = nullptr;
	run_until({&a, &b}, [&] { return a.told[2] == a.appended[2]; });
	side victim(net, 9, settings());
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
		packet_receive(*victim.l, bytes.data(), bytes.size());
		if (net.below(64) == 0)
			link_progress(*victim.l);
	}
	assert_int_equal(victim.frames, 0);
	const uint64_t told = a.told[2];
	run_until({&a, &b, &victim}, [&] { return a.post(b, 40) || true ? a.told[2] > told : false; });
}

// A proven peer that goes mad: its channel ends, and memory stays whole (run it with ASan).
void test_nonsense_of_a_proven_peer_ends_its_channel(void **)
{
	for (unsigned seed = 0; seed < 300; seed++) {
		fake::network net;
		net.random.seed(seed);
		side a(net, 1, settings()), b(net, 2, settings());
		run_until({&a, &b}, [&] { return a.told[2] || (a.post(b, 8) && false); });
		net.change = [](fake::network &n, std::string &bytes) {
			const size_t from = sizeof(packet_head);
			if (bytes.size() > from + 8 && n.below(3) == 0) { // the first frame's head
				bytes[from + n.below(8)] ^= static_cast<char>(1 << n.below(8));
				uint64_t wrong = n.random();
				memcpy(&bytes[from + 8], &wrong, std::min<size_t>(8, bytes.size() - from - 8));
				bytes[from] = static_cast<char>(n.below(20) + 20); // no kind there is
			}
			return true;
		};
		run_until({&a, &b}, [&] {
			if (a.to[2]->open())
				a.post(b, 8);
			bool over = false;
			for (auto &c : b.l->channels)
				over = over || (c && c->state == channel_state::over);
			return over || b.ended;
		});
	}
}

// --- the hash --------------------------------------------------------------------------------------------------------

// Of the paper's reference implementation: key 00..0f, messages of 0 to 3 bytes 00 01 02.
void test_siphash_has_the_reference_values(void **)
{
	const secret key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
	const unsigned char text[] = {0, 1, 2};
	const unsigned char want[][16] = {
		{0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02, 0x93},
		{0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc, 0x45},
		{0x81, 0x77, 0x22, 0x8d, 0xa4, 0xa4, 0x5d, 0xc7, 0xfc, 0xa3, 0x8b, 0xde, 0xf6, 0x0a, 0xff, 0xe4},
	};
	for (size_t n = 0; n < 3; n++) {
		const secret mac = mac_of(key, text, n);
		assert_memory_equal(mac.data(), want[n], 16);
	}
}

} // namespace

int main()
{
	const CMUnitTest tests[] = {
		cmocka_unit_test(test_siphash_has_the_reference_values),
		cmocka_unit_test(test_random_operations_run_once_and_in_order),
		cmocka_unit_test(test_flood_of_all_to_all_with_a_window_of_one_ends),
		cmocka_unit_test(test_what_cannot_be_run_is_told_exactly),
		cmocka_unit_test(test_death_in_every_state_tells_everybody),
		cmocka_unit_test(test_silence_is_noticed_and_a_bye_is_no_death),
		cmocka_unit_test(test_without_the_secret_nothing_is_run),
		cmocka_unit_test(test_corrupt_packets_touch_nothing),
		cmocka_unit_test(test_nonsense_of_a_proven_peer_ends_its_channel),
	};
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
