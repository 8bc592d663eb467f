// SPDX-License-Identifier: BSD-3-Clause
//
// The link against a model, over any port: every frame runs once and in order, every operation is reported once, a
// flood ends. For test_link.cpp (an entirely fake port), test_port_verbs.cpp (a real one over fake adapters) and
// test_port_socket.cpp (over sockets).
#pragma once

#include "wire/net/link/net_link.hpp"
#include "support/pgas_util.hpp"

#include <pgas/pgas_counter.h>

#include <algorithm>
#include <csetjmp>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>
extern "C" {
#include <cmocka.h> // after all other headers: it has a macro `fail`
}

namespace link_model {

using namespace pgas;

inline constexpr size_t kWords = 256; // more than an adapter accepts without the peer: it has 128 receives

// A packet that shows its number, and the number in one that arrived whole.
inline std::string text(uint64_t n, size_t len)
{
	std::string s(std::max<size_t>(len, 8), static_cast<char>('a' + n % 26));
	memcpy(s.data(), &n, 8);
	return s;
}
inline uint64_t number_in(const std::string &s)
{
	uint64_t n;
	memcpy(&n, s.data(), 8);
	assert_true(s == text(n, s.size()));
	return n;
}

// A frame that was appended, and may still be the last of its packet.
struct appended_frame {
	frame_place place;
	uint64_t number = 0;
	size_t bytes = 0;
};

// One process: a link, and everything it saw and was notified of.
struct side {
	uint16_t number;
	std::unique_ptr<pgas::net_link> l;
	std::string name, address;
	std::map<uint16_t, uint64_t> ran;          // frames, by sender
	std::map<uint16_t, uint64_t> told, failed; // operations, by receiver
	std::map<uint16_t, uint64_t> sent, appended;
	std::map<uint16_t, channel *> channels;
	std::map<uint16_t, appended_frame> last; // by receiver
	uint64_t lengthened = 0;
	std::map<uint16_t, word_run> runs;   // by receiver
	uint64_t words[16][kWords] = {};     // put directly by others, by sender: a frame's number plus 1
	port_memory exposed;                 // exposes `words`
	std::map<uint16_t, port_put *> puts; // for direct puts, by receiver
	uint64_t straight = 0, came = 0;     // out, in
	uint32_t in_runs = 0, counted = 0;   // frames appended to a run, and how many of them the link counted
	uint64_t frames = 0;
	int ended = 0;
	bool refuse_odd = false;   // as bad frames
	bool says_stopped = false; // notify the link of stopped peers
	uint64_t stop_questions = 0;

	side(port *over, uint16_t number_arg, link_settings set, bool with_secret = true);
	~side();
	bool post(side &other, size_t bytes);
	bool post_in_run(side &other, size_t bytes);
	bool post_straight(side &other);
	void open_straight(channel &c);
	void open_run(side &other);
	void lengthen_last(side &other);
	void close() { link_close(*l); }
};

// Several may have arrived before the notification of the first: the sender does not wait for us.
inline void on_written(void *self)
{
	side &s = *static_cast<side *>(self);
	for (uint16_t source = 0; source < std::size(s.words); source++) {
		uint64_t &ran = s.ran[source];
		while (s.words[source][ran % kWords] == ran + 1) {
			s.words[source][ran % kWords] = 0;
			ran++;
			s.came++;
		}
	}
}

inline void on_cleared(void *self, channel &c)
{
	static_cast<side *>(self)->open_straight(c);
}

// A frame holds its number between that sender and that receiver, and noise derived from it.
inline bool on_frame(void *self, channel &c, const frame_head &h, const char *bytes, size_t len, uint32_t index)
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
		const failed_frame f{c.executed + 1, index, -FI_EACCES, 0};
		char *pos = frame_begin(c, sizeof f);
		if (!pos)
			pos = frame_begin_slow(c, sizeof f, true);
		assert_non_null(pos);
		memcpy(pos, &f, sizeof f);
		frame_end(c, frame_kind::failed, 0, 0, 0, sizeof f);
		c.urgent = true;
	}
	return true;
}

inline void on_over(void *self, const notice &n, uint32_t good, uint32_t bad, int status)
{
	side &s = *static_cast<side *>(self);
	assert_int_equal(good + bad, n.operations);
	assert_true(bad == 0 || status < 0);
	s.told[static_cast<uint16_t>(n.target)] += good;
	s.failed[static_cast<uint16_t>(n.target)] += bad;
}

inline side::side(port *over, uint16_t number_arg, link_settings set, bool with_secret) : number(number_arg)
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
		on_written,
		on_cleared,
		[](void *self, const channel &) {
			static_cast<side *>(self)->stop_questions++;
			return static_cast<side *>(self)->says_stopped;
		},
	};
	l = link_open(over, client, set);
	address = l->address;
	assert_int_equal(over->ops->expose(*over, words, sizeof words, static_cast<port_rights>(kPortWrite | kPortRead),
					   &exposed),
			 0);
}

inline side::~side()
{
	if (l)
		l->port->ops->conceal(*l->port, exposed);
}

// `channel::again` points to the other side.
inline void side::open_straight(channel &c)
{
	const side &other = *static_cast<side *>(c.again);
	if (!l->port->ops->put_ready || c.run || !channel_idle(c) || !c.backlog.empty())
		return;
	puts[other.number] = l->port->ops->put_ready(*l->port, c.line, other.exposed.key);
	if (!puts[other.number])
		return;
	puts[other.number]->owner = c.number;
	notice about;
	about.who = this;
	about.operations = 1;
	about.target = other.number;
	run_open_straight(c, runs[other.number], 1, about);
}

inline bool side::post_straight(side &other)
{
	if (!runs[other.number].span)
		return false;
	const uint64_t n = appended[other.number];
	if (!straight_leave(*channels[other.number], l->port->ops->put, *puts[other.number],
			    other.exposed.addr + (number * kWords + n % kWords) * sizeof(uint64_t), n + 1,
			    sizeof(uint64_t)))
		return false;
	appended[other.number]++;
	straight++;
	return true;
}

inline void noise(char *pos, uint64_t n, size_t begin, size_t end)
{
	for (size_t i = begin; i < end; i++)
		pos[i - begin] = static_cast<char>(n * 31 + i);
}

// A short frame after one of 16 bytes, without a call. Returns false if there is no run.
inline bool side::post_in_run(side &other, size_t bytes)
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

inline void side::open_run(side &other)
{
	channel &c = *channels[other.number];
	const frame_head h{frame_kind::put, 0, number, 0, 2};
	memcpy(&runs[other.number].head, &h, sizeof h);
	run_open(c, runs[other.number], counted);
}

// If it is no longer the last, or has left, it must not become longer: the receiver checks all bytes.
inline void side::lengthen_last(side &other)
{
	appended_frame &f = last[other.number];
	char *pos = f.bytes % 8 ? nullptr : frame_lengthen(*channels[other.number], f.place, 8);
	if (!pos)
		return;
	noise(pos, f.number, f.bytes, f.bytes + 8);
	f.bytes += 8;
	lengthened++;
}

// Appends the next frame to another side. Returns false if it cannot now.
inline bool side::post(side &other, size_t bytes)
{
	channel *&c = channels[other.number];
	if (!c) {
		c = link_call(*l, other.address, 0, other.name);
		c->users++;
		c->again = &other;
	}
	if (!c->open())
		return false;
	if (bytes % 7 == 0)
		lengthen_last(other);
	if (post_in_run(other, bytes) || (bytes < 12 && post_straight(other)))
		return true;
	char *pos = frame_begin(*c, bytes);
	if (!pos)
		return false;
	const uint64_t n = appended[other.number]++;
	memcpy(pos, &n, 8);
	noise(pos + 8, n, 8, bytes);
	frame_end(*c, frame_kind::put, 0, number, 0, bytes);
	last[other.number] = {frame_last(*c, bytes), n, bytes};
	notice about;
	about.who = this;
	about.frames = about.operations = 1;
	about.target = other.number;
	packet_notice(*c, about);
	frame_push(*c);
	if (bytes == 16 && c->filling)
		open_run(other);
	return true;
}

// On a busy machine any process may be silent for a while: only tests that ask for it take that for a death.
inline constexpr uint64_t kNever = 86'400'000'000'000, kSoon = 200'000'000;

inline link_settings settings(uint32_t window = 4, size_t packet = 1024, uint64_t timeout_ns = kNever)
{
	link_settings s;
	s.window = window;
	s.packet = packet;
	s.timeout_ns = timeout_ns;
	return s;
}

// Against hangs only: a minute and more, or as TEST_SLOW requires.
inline uint64_t hang_end()
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

inline uint64_t operations(uint64_t otherwise)
{
	const char *text = getenv("LINK_OPERATIONS");
	return text ? strtoull(text, nullptr, 10) : otherwise;
}

// Posts at random between all sides, and polls now and then. below: a random number; disturb: any disturbance to add.
template <class Below, class Disturb>
void post_at_random(const std::vector<side *> &all, uint64_t most, Below &&below, Disturb &&disturb)
{
	uint64_t posted = 0;
	const uint64_t end = hang_end();
	const auto any = [&] { return all[below(static_cast<unsigned>(all.size()))]; };
	while (posted < most) {
		assert_true(pgas_now_ns() < end);
		side &source = *any(), &dest = *any();
		if (&source != &dest)
			posted += source.post(dest, 8 + below(below(8) ? 16 : 600));
		if (below(8) == 0)
			link_progress(*any()->l);
		for (unsigned i = below(1000) == 0 ? 20 : 0; i; i--) // a lull, after which puts go straight
			for (side *s : all)
				for (unsigned k = 0; k < 20; k++)
					link_progress(*s->l);
		disturb();
	}
}

// Everything runs once and in order, is reported once, and nothing fails.
template <class Below, class Disturb>
void random_operations_run_once_and_in_order(const std::vector<side *> &all, uint64_t most, Below &&below,
					     Disturb &&disturb)
{
	post_at_random(all, most, below, disturb);
	const auto all_told = [&] {
		for (side *s : all)
			for (auto [dest, n] : s->appended)
				if (s->told[dest] != n)
					return false;
		return true;
	};
	run_until(all, all_told);
	for (side *s : all)
		for (side *t : all)
			assert_int_equal(t->ran[s->number], s->appended[t->number]);
	for (side *s : all)
		for (auto [dest, n] : s->failed)
			assert_int_equal(n, 0);
	uint64_t straight = 0, came = 0;
	for (side *s : all) {
		assert_true(s->in_runs > 0);
		assert_int_equal(s->in_runs, s->counted);
		straight += s->straight;
		came += s->came;
	}
	assert_true((straight > 0) == (all[0]->l->port->ops->put != nullptr));
	assert_int_equal(came, straight);
	for (side *s : all)
		for (const auto &of_sender : s->words)
			for (const uint64_t word : of_sender)
				assert_int_equal(word, 0); // no word was written twice
}

// All sides send to all others as fast as they can.
template <class Disturb>
void flood_of_all_to_all_ends(const std::vector<side *> &all, uint64_t each, Disturb &&disturb)
{
	run_until(all, [&] {
		bool over = true;
		disturb();
		for (side *s : all)
			for (side *t : all) {
				if (s == t)
					continue;
				while (s->appended[t->number] < each && s->post(*t, 200))
					;
				over = over && s->told[t->number] == each;
			}
		return over;
	});
}

} // namespace link_model
