// SPDX-License-Identifier: BSD-3-Clause
//
// Peers that violate the protocol of the port over sockets: the connection is closed, nothing else is touched, and
// well-behaved peers continue. And bytes at random, for FUZZ_MS milliseconds.
#include "socket_node.hpp"

#include <rdma/fi_errno.h>

using namespace socket_test;

namespace {

// Two nodes that talk to each other, and memory of which only a part is exposed.
struct scene {
	node a, good;
	uint64_t to_a = good.to(a);
	shared_memory open{a, 4096}, readable{a, 4096, kPortRead}, writable{a, 4096, kPortWrite};

	// a and its friend still communicate, and its memory is unchanged
	void check()
	{
		a.came.clear();
		look_until({&a, &good}, [&] { return good.send(to_a, "still here") != nullptr; });
		look_until({&a, &good}, [&] { return !a.came.empty(); });
		assert_string_equal(a.came.front().c_str(), "still here");
		for (const shared_memory *m : {&open, &readable, &writable})
			assert_true(m->bytes == std::string(m->bytes.size(), '.'));
		assert_true(good.lost.empty());
	}
};

// The port must drop a stranger that sends this, after a proof or without one.
template <class Say>
void is_dropped(scene &target, Say &&say, bool proven = true)
{
	stranger s(target.a);
	s.hello();
	assert_true(s.welcome(target.a));
	if (proven)
		assert_int_not_equal(target.a.back(s.address), 0);
	say(s);
	assert_true(s.closed(target.a));
	target.check();
}

write_record write_of(size_t len, uint64_t key, uint64_t addr)
{
	return {head_of(record_kind::write, len), key, addr, len};
}

answer_record answer_of(size_t len, uint64_t number)
{
	return {head_of(record_kind::answer, len), number, len};
}

record_head bent(record_kind kind, size_t bytes, uint16_t magic, uint8_t version)
{
	record_head h = head_of(kind, bytes);
	h.magic = magic;
	h.version = version;
	return h;
}

void test_heads_that_cannot_be(void **)
{
	scene target;
	target.check();
	for (const record_head h :
	     {bent(record_kind::packet, 8, 0x1234, kRecordVersion), bent(record_kind::packet, 8, kRecordMagic, 99),
	      head_of(record_kind{0}, 8), head_of(record_kind{200}, 8), head_of(record_kind::hello, 6),
	      head_of(record_kind::welcome, 0), head_of(record_kind::refuse, 1), head_of(record_kind::packet, 0),
	      head_of(record_kind::packet, kPacket + 1), head_of(record_kind::packet, 0xffffffff)})
		is_dropped(target, [h](stranger &s) { s.say(h); });
}

void test_memory_that_is_not_for_it(void **)
{
	scene target;
	target.check();
	const uint64_t keys[] = {0, 1, target.open.m.key + 1, target.readable.m.key};
	for (const uint64_t key : keys)
		is_dropped(target, [key](stranger &s) {
			s.say(write_of(8, key, 0));
			s.say("evil....", 8);
		});
	for (const uint64_t key : {uint64_t{0}, uint64_t{1}, target.open.m.key + 1, target.writable.m.key})
		is_dropped(target, [key](stranger &s) {
			s.say(read_record{head_of(record_kind::read, 8), key, 0, 1});
		});
	struct {
		uint64_t addr;
		uint32_t len;
	} const spans[] = {{4096, 1},          {4095, 2},       {0, 4097}, {uint64_t(-1), 1}, {uint64_t(-8), 16},
			   {1ull << 63, 4096}, {0, 0xffffffff}, {0, 0},    {4097, 0}};
	for (const auto span : spans) {
		is_dropped(target, [&](stranger &s) {
			s.say(write_of(span.len, target.open.m.key, span.addr));
			s.say("evil....", 8);
		});
		is_dropped(target, [&](stranger &s) {
			s.say(read_record{head_of(record_kind::read, span.len), target.open.m.key, span.addr, 1});
		});
	}
}

// An observer of packets learns keys: a key is valid only on a connection that proved itself.
void test_keys_do_not_prove_anything(void **)
{
	scene target;
	target.check();
	is_dropped(
		target,
		[&](stranger &s) {
			s.say(write_of(8, target.open.m.key, 0));
			s.say("evil....", 8);
		},
		false);
	is_dropped(
		target,
		[&](stranger &s) {
			s.say(read_record{head_of(record_kind::read, 8), target.open.m.key, 0, 1});
		},
		false);
	is_dropped(
		target, [&](stranger &s) { s.say(answer_of(8, 1)); }, false);
	// nor on connections we open: the listener there may know the keys, too
	node a;
	stranger s(a);
	shared_memory m(a, 4096);
	const uint64_t line = a.insert(s.address);
	a.send(line, "hello?");
	look_until({&a}, [&] { return line_of(line).state == line_state::greeting; });
	s.fd = unique_fd(accept(s.listener.get(), nullptr, nullptr));
	s.say(welcome_record{head_of(record_kind::welcome, 0), {}, 0});
	s.say(write_of(8, m.m.key, 0));
	s.say("evil....", 8);
	look_until({&a}, [&] { return a.lost.size() == 1; });
	assert_true(m.bytes == std::string(m.bytes.size(), '.'));
}

// One flipped bit must not make the bytes after it part of the bulk.
void test_bulk_of_two_lengths(void **)
{
	scene target;
	target.check();
	for (const uint64_t len : {uint64_t{0}, uint64_t{7}, uint64_t{9}, uint64_t{1} << 32 | 8})
		is_dropped(target, [&](stranger &s) {
			s.say(write_record{head_of(record_kind::write, 8), target.open.m.key, 0, len});
			s.say("evil....", 8);
		});
}

void test_memory_that_is_closed_while_it_is_written(void **)
{
	scene target;
	target.check();
	for (const bool closed : {false, true}) {
		auto m = std::make_unique<shared_memory>(target.a, 4096);
		stranger s(target.a);
		s.hello();
		assert_true(s.welcome(target.a));
		const uint64_t line = target.a.back(s.address);
		s.say(write_of(16, m->m.key, 0));
		s.say("evil....", 8);
		look_until({&target.a}, [&] { return line_of(line).bulk.left == 8; });
		std::string bytes = m->bytes;
		if (closed)
			m.reset();
		s.say("evil....", 8);
		if (closed)
			assert_true(s.closed(target.a));
		else
			look_until({&target.a}, [&] { return m->bytes.starts_with("evil....evil...."); });
		target.a.p->ops->remove(*target.a.p, line);
		target.a.lost.clear();
		target.check();
	}
}

void test_answers_and_too_many_questions(void **)
{
	scene target;
	target.check();
	is_dropped(target, [](stranger &s) { s.say(answer_of(8, 1)); });
	// asked by us, and answered with another length or number
	for (const int what : {0, 1, 3, 2}) {
		stranger s(target.a);
		s.hello();
		assert_true(s.welcome(target.a));
		const uint64_t line = target.a.back(s.address);
		work *const r = target.a.read(line, 8, port_memory{0, 5, nullptr});
		assert_non_null(r);
		assert_int_equal(s.hear(target.a, sizeof(read_record)).size(), sizeof(read_record));
		answer_record a = answer_of(what == 0 ? 9 : 8, what == 1 ? 2u : 1u);
		a.len += what == 3;
		s.say(a);
		s.say("12345678", 8);
		if (what != 2)
			assert_true(s.closed(target.a));
		else
			look_until({&target.a}, [&] { return r->is != fate::in_flight; });
		assert_true(what != 2 ? r->is == fate::bad && r->bytes == "????????"
				      : r->is == fate::good && r->bytes == "12345678");
		target.a.p->ops->remove(*target.a.p, line);
		target.check();
	}
	shared_memory large(target.a, 8 << 20);
	stranger s(target.a);
	s.hello();
	assert_true(s.welcome(target.a));
	assert_int_not_equal(target.a.back(s.address), 0);
	for (unsigned i = 0; i < kReadsMost + 2; i++) // and reads none of the answers
		s.say(read_record{head_of(record_kind::read, large.bytes.size()), large.m.key, 0, i});
	look_until({&target.a}, [&] { return !target.a.lost.empty(); });
	target.check();
}

void test_greetings_that_cannot_be(void **)
{
	scene target;
	target.check();
	const auto is_turned_away = [&](auto &&say) {
		stranger s(target.a);
		say(s);
		assert_true(s.closed(target.a));
		target.check();
	};
	is_turned_away([](stranger &s) { s.say("GET / HTTP/1.1\r\nHost: somewhere\r\n\r\n", 35); });
	is_turned_away([](stranger &s) { s.say(bent(record_kind::hello, 6, kRecordMagic, 99)); });
	is_turned_away([](stranger &s) { s.say(head_of(record_kind::packet, 8)); });
	is_turned_away([](stranger &s) { s.say(head_of(record_kind::hello, kLinkAddressMost + 1)); });
	is_turned_away([](stranger &s) { s.hello(""); });
	is_turned_away([](stranger &s) { s.hello(std::string("\x0a\x01\x01\x01\x20\x20", 6)); }); // of another host
	is_turned_away([](stranger &s) { s.hello(s.address.substr(0, 4) + std::string(2, '\0')); });
	is_turned_away([](stranger &s) { s.hello(std::string(18, '\1')); });
	is_turned_away([&](stranger &s) { s.hello(target.a.address); });
	is_turned_away([](stranger &s) {
		s.say("sk", 2);
		shutdown(s.fd.get(), SHUT_WR);
	});
	// byte by byte it is one
	stranger slow(target.a);
	hello_record h{};
	h.head = head_of(record_kind::hello, slow.address.size());
	memcpy(h.address, slow.address.data(), slow.address.size());
	for (size_t i = 0; i < sizeof h; i++) {
		slow.say(reinterpret_cast<char *>(&h) + i, 1);
		target.a.look();
	}
	assert_true(slow.welcome(target.a));
	target.check();
}

// Any number of strangers that send nothing, or only hello.
void test_crowds(void **)
{
	scene target;
	target.check();
	constexpr size_t kFew = 64; // as many as it accepts would need more descriptors than a process has everywhere
	target.a.inner().unknown_most = kFew;
	std::vector<std::unique_ptr<stranger>> silent, polite;
	for (size_t i = 0; i < 2 * kCallersMost; i++) {
		silent.push_back(std::make_unique<stranger>(target.a));
		for (int k = 0; k < 40; k++)
			target.a.look();
		polite.push_back(std::make_unique<stranger>(target.a));
		polite.back()->hello();
		assert_true(polite.back()->welcome(target.a));
	}
	assert_true(target.a.inner().callers.size() <= kCallersMost);
	assert_true(target.a.inner().unknown.size() <= kFew);
	assert_true(target.a.inner().lines.size() <= kFew + 2);
	target.check();
	// and none of them stays connected
	for (int i = 0; i < 2; i++) {
		for (const auto &l : target.a.inner().unknown)
			l->born_at = 1;
		for (const auto &c : target.a.inner().callers)
			c->born_at = 1;
		expire_strangers(target.a.inner());
	}
	assert_true(target.a.inner().callers.empty() && target.a.inner().unknown.empty());
	target.check();
}

// Answers from a stranger that listens where we connect.
void test_bad_answers_to_our_greeting(void **)
{
	for (const record_head h :
	     {head_of(record_kind::packet, 8), head_of(record_kind::welcome, 8),
	      bent(record_kind::welcome, 0, kRecordMagic, 99), bent(record_kind::welcome, 0, 0, 0)}) {
		node a, other;
		stranger s(other); // for its listening socket
		const uint64_t line = a.to(s.address);
		a.send(line, "hello?");
		look_until({&a}, [&] { return line_of(line).state == line_state::greeting; });
		s.fd = unique_fd(accept(s.listener.get(), nullptr, nullptr));
		s.say(h);
		s.say(std::string(sizeof(welcome_record), '8').data(), sizeof(welcome_record) - sizeof h);
		look_until({&a}, [&] { return a.lost.size() == 1; });
		assert_true(a.came.empty());
	}
}

// --- bytes at random -------------------------------------------------------------------------------------------------

// Random but well-formed records, one after the other, for a port with this memory and these questions.
std::string stream_of(dice &d, uint64_t key, std::deque<std::pair<uint64_t, size_t>> &questions)
{
	std::string s;
	const auto add = [&s](const auto &r) { s.append(reinterpret_cast<const char *>(&r), sizeof r); };
	for (unsigned i = 1 + d.below(12); i; i--) {
		const size_t len = 1 + d.below(d.below(3) ? 40 : 4096);
		switch (d.below(4)) {
		case 0:
			add(write_of(len, key, d.below(1000)));
			s.append(len, 'w');
			break;
		case 1:
			add(read_record{head_of(record_kind::read, len), key, d.below(1000), d.below(9)});
			break;
		case 2:
			if (!questions.empty()) {
				const auto [number, n] = questions.front();
				questions.pop_front();
				add(answer_of(n, number));
				s.append(n, 'a');
			}
			break;
		default:
			add(head_of(record_kind::packet, len));
			s.append(round_up(len, 8), 'p');
		}
	}
	return s;
}

void bend(dice &d, std::string &s)
{
	for (unsigned i = d.below(4); i && !s.empty(); i--) {
		const size_t pos = d.below(static_cast<unsigned>(s.size()));
		switch (d.below(4)) {
		case 0:
			s[pos] = static_cast<char>(d.below(256));
			break;
		case 1:
			s[pos] = static_cast<char>(s[pos] ^ (1 << d.below(8)));
			break;
		case 2:
			s.erase(pos, 1 + d.below(16));
			break;
		default:
			s.insert(pos, std::string(1 + d.below(16), static_cast<char>(d.below(256))));
		}
	}
}

// A connection to a port, without a greeting; what the port reads goes into guarded memory.
void one_stream(dice &d, node &a, uint64_t key)
{
	int both[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, both), 0);
	const unique_fd mine(both[0]);
	const uint64_t line = a.to(std::string("\x7f\0\0\1\x12\x34", 6));
	socket_line &l = line_of(line);
	l.fd = unique_fd(both[1]);
	line_watch(socket_of(*a.p), l, POLLIN);
	line_answered(socket_of(*a.p), l, {head_of(record_kind::welcome, 0), {}, 0});
	line_trust(socket_of(*a.p), l);
	std::deque<std::pair<uint64_t, size_t>> questions;
	struct guarded : work {
		std::string room;
		size_t len = 0;
	};
	std::vector<std::unique_ptr<guarded>> asked;
	for (unsigned i = d.below(6); i; i--) {
		auto g = std::make_unique<guarded>();
		g->len = 1 + d.below(2000);
		g->room.assign(g->len + 16, '#');
		questions.emplace_back(l.next_read, g->len);
		assert_int_equal(a.p->ops->read(*a.p, line, g->room.data() + 8, g->len, nullptr, 0, 77, g.get()), 0);
		asked.push_back(std::move(g));
	}
	std::string s = stream_of(d, key, questions);
	const bool straight = d.below(8) == 0;
	if (!straight)
		bend(d, s);
	for (size_t pos = 0; pos < s.size();) {
		const ssize_t n = ::send(mine.get(), s.data() + pos,
					 std::min<size_t>(s.size() - pos, 1 + d.below(6000)),
					 MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN)
			break; // it was closed
		pos += n > 0 ? static_cast<size_t>(n) : 0;
		a.look(1 + static_cast<int>(d.below(16)));
		char rest[65536];
		while (recv(mine.get(), rest, sizeof rest, MSG_DONTWAIT) > 0)
			;
	}
	for (int i = 0; i < 4; i++)
		a.look();
	assert_true(!straight || l.state == line_state::up);
	if (l.state == line_state::up)
		line_lost(socket_of(*a.p), l, -FI_ECONNRESET, "over");
	while (a.lost.empty())
		a.look();
	for (const auto &g : asked) {
		assert_true(g->is != fate::in_flight);
		assert_true(g->room.substr(0, 8) == "########" && g->room.substr(8 + g->len) == "########");
	}
	a.lost.clear();
	a.came.clear();
	a.p->ops->remove(*a.p, line);
}

} // namespace

int socket_test::run_fuzz()
{
	const auto fuzz = [](void **) {
		const char *ms = getenv("FUZZ_MS");
		const uint64_t end = pgas_now_ns() + 1'000'000 * (ms ? strtoull(ms, nullptr, 10) : 2000);
		const unsigned first = getenv("FUZZ_SEED") ? static_cast<unsigned>(atoi(getenv("FUZZ_SEED"))) : 1;
		node a;
		std::string guarded(8192 + 64, '#');
		port_memory m;
		a.p->ops->expose(*a.p, guarded.data() + 32, 8192, static_cast<port_rights>(kPortRead | kPortWrite), &m);
		unsigned seed = first;
		for (; pgas_now_ns() < end; seed++) {
			dice d(seed);
			one_stream(d, a, m.key);
			if (guarded.substr(0, 32) != std::string(32, '#') ||
			    guarded.substr(32 + 8192) != std::string(32, '#')) {
				fprintf(stderr, "FUZZ_SEED=%u writes beyond its memory\n", seed);
				_fail(__FILE__, __LINE__);
			}
		}
		assert_true(a.inner().dropped > 0);
		assert_int_equal(a.inner().spare.size(), a.inner().chunks.size()); // all were returned
		printf("%u streams of bytes\n", seed - first);
	};
	const CMUnitTest tests[] = {{"test_bytes_at_random", fuzz, nullptr, nullptr, nullptr}};
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}

int socket_test::run_bad_tests()
{
	const CMUnitTest tests[] = {
		cmocka_unit_test(test_heads_that_cannot_be),
		cmocka_unit_test(test_memory_that_is_not_for_it),
		cmocka_unit_test(test_keys_do_not_prove_anything),
		cmocka_unit_test(test_bulk_of_two_lengths),
		cmocka_unit_test(test_memory_that_is_closed_while_it_is_written),
		cmocka_unit_test(test_answers_and_too_many_questions),
		cmocka_unit_test(test_greetings_that_cannot_be),
		cmocka_unit_test(test_crowds),
		cmocka_unit_test(test_bad_answers_to_our_greeting),
	};
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
