// SPDX-License-Identifier: BSD-3-Clause
//
// The port over TCP sockets against its contract (net_port.hpp), on the loopback interface: packets arrive whole, in
// order and once, or an event reports that they do not; transfers land in the right place, in order with packets; every
// pending operation is reported once. test_port_socket_call.cpp has calls that are not answered,
// test_port_socket_bad.cpp peers that violate the protocol.
#include "socket_node.hpp"

#include <rdma/fi_errno.h>

#include <sys/resource.h>

#include <thread>

namespace pgas {
fi_provider g_provider = {};
}
using namespace socket_test;
using namespace link_model;

namespace {

// The kernel buffers as little as it can: less than a segment of the loopback interface would make it wait for timers.
void make_narrow(node &n)
{
	const int least = 1, little = 65536;
	for (const auto &l : n.inner().lines) {
		setsockopt(l->fd.get(), SOL_SOCKET, SO_SNDBUF, &least, sizeof least);
		setsockopt(l->fd.get(), SOL_SOCKET, SO_RCVBUF, &little, sizeof little);
	}
}

// Counts of what two nodes send to each other.
struct talk {
	node &a, &b;
	uint64_t to_b = a.to(b), to_a = 0;
	uint64_t sent[2] = {0, 0}, got[2] = {0, 0};

	talk(node &caller, node &callee) : a(caller), b(callee)
	{
		look_until({&a, &b}, [this] { return a.send(to_b, "here") != nullptr; });
		look_until({&a, &b}, [this] { return !b.came.empty(); });
		b.came.clear();
		to_a = b.back(a.address);
	}
	void send(dice &d, uint64_t most, unsigned longest = kPacket)
	{
		if (sent[0] < most && a.send(to_b, text(sent[0], 1 + d.below(longest))))
			sent[0]++;
		if (sent[1] < most && b.send(to_a, text(sent[1], 1 + d.below(longest))))
			sent[1]++;
	}
	void receive()
	{
		node *all[] = {&b, &a};
		for (int i = 0; i < 2; i++) {
			for (; !all[i]->came.empty(); all[i]->came.pop_front())
				assert_int_equal(number_in(all[i]->came.front()), got[i]++);
			all[i]->forget();
		}
	}
	bool over(uint64_t most) const { return got[0] == most && got[1] == most && !a.open() && !b.open(); }
	void run(dice &d, uint64_t most)
	{
		const uint64_t end = hang_end();
		while (!over(most)) {
			send(d, most);
			if (d.below(2))
				a.look(1 + static_cast<int>(d.below(16)));
			if (d.below(2))
				b.look(1 + static_cast<int>(d.below(16)));
			receive();
			assert_true(pgas_now_ns() < end);
		}
		assert_true(a.lost.empty() && b.lost.empty());
	}
};

// --- packets and transfers -------------------------------------------------------------------------------------------

// Over one node's line, which both use.
void test_packets_arrive_whole_and_in_order(void **)
{
	const bool six = has_six();
	for (unsigned seed = 0; seed < 60; seed++) {
		dice d(seed);
		node a(six && seed % 3 == 0), b(six && seed % 3 == 0);
		talk t{a, b};
		t.run(d, 1 + d.below(300));
		assert_int_equal(a.inner().up.size(), 1);
		assert_int_equal(b.inner().up.size(), 1);
		assert_true(a.inner().callers.empty() && b.inner().callers.empty());
	}
}

// Both call at once: each has its own line, which neither the other's call nor a third party's touches.
void test_calls_cross(void **)
{
	node a, b;
	a.believes = b.believes = false;
	const uint64_t to_b = a.to(b), to_a = b.to(a);
	assert_null(a.send(to_b, "from a"));
	assert_null(b.send(to_a, "from b"));
	assert_int_equal(a.last, -FI_EAGAIN);
	stranger s(b); // claims to be a
	s.hello(a.address);
	assert_true(s.welcome(b));
	look_until({&a, &b},
		   [&] { return line_of(to_b).state == line_state::up && line_of(to_a).state == line_state::up; });
	assert_non_null(a.send(to_b, "from a"));
	assert_non_null(b.send(to_a, "from b"));
	look_until({&a, &b}, [&] { return a.came.size() == 1 && b.came.size() == 1; });
	assert_string_equal(a.came[0].c_str(), "from b");
	assert_string_equal(b.came[0].c_str(), "from a");
	assert_int_equal(a.inner().up.size(), 2);
	assert_true(a.lost.empty() && b.lost.empty());
	assert_int_equal(b.inner().unknown.size(), 1); // received nothing, and is not believed
}

void test_only_one_calls(void **)
{
	dice d(1);
	node a, b;
	const uint64_t line = a.to(b);
	uint64_t sent = 0, got = 0;
	look_until({&a, &b}, [&] {
		sent += sent < 2000 && a.send(line, text(sent, 8 + d.below(kPacket - 8)));
		for (; !b.came.empty(); b.came.pop_front())
			assert_int_equal(number_in(b.came.front()), got++);
		return got == 2000 && !a.open();
	});
	assert_true(a.at_once > 0);
}

// Through sockets that accept next to nothing at a time: records are cut everywhere, and both fill up.
void test_narrow_sockets(void **)
{
	dice d(2);
	node a, b;
	talk t{a, b};
	t.run(d, 1);
	make_narrow(a);
	make_narrow(b);
	for (int i = 0; i < 3000; i++) // neither side polls
		t.send(d, 3000);
	assert_true(a.open() && b.open()); // both are full
	assert_int_equal(a.last, -FI_EAGAIN);
	t.run(d, 3000);
}

// Writes and reads of all lengths both ways, among packets; each packet follows the writes that it reports.
void transfers(unsigned seed, bool narrow)
{
	dice d(seed);
	node a, b;
	talk t{a, b};
	t.run(d, 1);
	if (narrow) {
		make_narrow(a);
		make_narrow(b);
	}
	constexpr size_t kLen = 1 << 18;
	shared_memory of_b(b, kLen), source(b, kLen);
	for (size_t i = 0; i < kLen; i++)
		source.bytes[i] = static_cast<char>(i * 7 + i / 256);
	std::string want(kLen, '.');
	std::vector<std::pair<work *, size_t>> reads;
	std::deque<std::pair<size_t, size_t>> told; // writes, reported by packets
	uint64_t packets = 1;
	for (int i = 0; i < 400; i++) {
		const size_t len = 1 + d.below(d.below(4) ? 3000 : 60000),
			     pos = d.below(static_cast<unsigned>(kLen - len));
		const std::string bytes(len, static_cast<char>('A' + i % 50));
		look_until({&a, &b}, [&] { return a.write(t.to_b, bytes, of_b.m, pos) != nullptr; });
		want.replace(pos, len, bytes);
		look_until({&a, &b}, [&] { return a.send(t.to_b, text(packets, 1 + d.below(600))) != nullptr; });
		told.emplace_back(pos, len);
		packets++;
		if (d.below(2)) {
			work *r = nullptr;
			look_until({&a, &b}, [&] { return (r = a.read(t.to_b, len, source.m, pos)) != nullptr; });
			reads.emplace_back(r, pos);
		}
		for (; !b.came.empty(); b.came.pop_front()) {
			const auto [begin, n] = told.front();
			told.pop_front();
			number_in(b.came.front());
			if (told.empty()) // no later write has touched these bytes
				assert_true(of_b.bytes.compare(begin, n, want, begin, n) == 0);
		}
	}
	look_until({&a, &b}, [&] { return !a.open() && told.size() == b.came.size(); });
	assert_true(of_b.bytes == want);
	for (const auto &[r, pos] : reads)
		assert_true(r->is == fate::good && source.bytes.compare(pos, r->bytes.size(), r->bytes) == 0);
	assert_true(reads.size() > 50 && a.lost.empty() && b.lost.empty());
}

void test_transfers(void **)
{
	for (unsigned seed = 0; seed < 5; seed++)
		transfers(seed, false);
	transfers(9, true);
}

// Both read from each other as much as they may, and write as well: neither waits for the other to read.
void test_transfers_both_ways_at_once(void **)
{
	dice d(3);
	node a, b;
	talk t{a, b};
	t.run(d, 1);
	make_narrow(a);
	make_narrow(b);
	shared_memory of_a(a), of_b(b);
	const std::string bytes(50'000, 'w');
	unsigned reads[2] = {0, 0}, refused = 0;
	for (unsigned i = 0; i < 2 * kReadsMost; i++) {
		reads[0] += a.read(t.to_b, 50'000, of_b.m) != nullptr;
		refused += a.last == -FI_EAGAIN;
		reads[1] += b.read(t.to_a, 50'000, of_a.m) != nullptr;
		a.write(t.to_b, bytes, of_b.m);
		b.write(t.to_a, bytes, of_a.m);
	}
	assert_true(reads[0] > 10 && reads[1] > 10 && refused > 0);
	look_until({&a, &b}, [&] { return !a.open() && !b.open(); });
	for (node *n : {&a, &b})
		for (const auto &w : n->works)
			assert_true(w->is == fate::good);
	look_until({&a, &b}, [&] { return of_a.bytes[49'999] == 'w' && of_b.bytes[49'999] == 'w'; });
}

// A node that reads or is written to is notified that more may come. A node that completes one long write after the
// other still polls for arrivals, if not each time.
void test_transfers_are_noticed(void **)
{
	dice d(12);
	node a, b;
	talk t{a, b};
	t.run(d, 1);
	shared_memory of_b(b, 1 << 16);
	assert_false(a.p->bulk_moved || b.p->bulk_moved);
	assert_non_null(a.write(t.to_b, std::string(50'000, 'w'), of_b.m));
	look_until({&a, &b}, [&] { return b.p->bulk_moved && of_b.bytes[49'999] == 'w'; });
	b.p->bulk_moved = false;
	assert_non_null(a.read(t.to_b, 50'000, of_b.m));
	look_until({&a, &b}, [&] { return b.p->bulk_moved; });
	look_until({&a, &b}, [&] { return !a.open(); });
	assert_non_null(b.send(t.to_a, text(0, 8)));
	a.came.clear();
	for (int i = 0; i < 20 && a.came.empty(); i++) {
		assert_non_null(a.write(t.to_b, std::string(8, 'x'), of_b.m));
		a.look();
		assert_int_equal(a.open(), 0); // notified at once, each time
	}
	assert_int_equal(a.came.size(), 1);
}

// More connections than are polled one by one.
void test_many_peers(void **)
{
	dice d(4);
	node hub;
	std::vector<std::unique_ptr<node>> others;
	std::vector<node *> all{&hub};
	std::vector<uint64_t> dest, back;
	for (int i = 0; i < 12; i++) {
		others.push_back(std::make_unique<node>());
		all.push_back(others.back().get());
		dest.push_back(hub.to(*others.back()));
		back.push_back(others.back()->to(hub));
	}
	size_t sent = 0, answered = 0, came = 0;
	look_until(all, [&] {
		for (size_t i = 0; i < others.size(); i++) {
			if (sent < 600 && hub.send(dest[i], text(i, 50)))
				sent++;
			if (!others[i]->came.empty() && others[i]->send(back[i], others[i]->came.front())) {
				assert_int_equal(number_in(others[i]->came.front()), i);
				others[i]->came.pop_front();
				answered++;
			}
		}
		came += hub.came.size();
		hub.came.clear();
		return came == 600 && answered == 600;
	});
	assert_int_equal(hub.inner().up.size(), 24); // each called the other
}

// Its line has nothing to read.
bool line_empty(node &n)
{
	for (const socket_line *l : n.inner().up) {
		char one;
		if (l->has_more || recv(l->fd.get(), &one, 1, MSG_PEEK | MSG_DONTWAIT) > 0)
			return false;
	}
	return true;
}

// One peer never stops sending. Others, before or after it among the connections, have something to send, and a
// stranger calls: all of them are received soon.
void flood_beside(size_t before, size_t behind)
{
	node hub, loud, late;
	std::vector<std::unique_ptr<node>> others;
	std::vector<node *> all{&hub};
	const auto join = [&](node &n) {
		const size_t had = hub.came.size();
		all.push_back(&n);
		const uint64_t line = n.to(hub);
		look_until(all, [&] { return n.send(line, "here") != nullptr; });
		look_until(all, [&] { return hub.came.size() == had + 1; });
		return line;
	};
	uint64_t to_hub = 0;
	for (size_t i = 0; i < before + 1 + behind; i++) {
		if (i == before)
			to_hub = join(loud);
		else
			join(*others.emplace_back(std::make_unique<node>()));
	}
	const auto heard = [&](const char *word, auto &&meanwhile) {
		for (int looks = 0;; looks++) {
			while (loud.send(to_hub, "loud"))
				loud.forget();
			hub.look();
			for (; !hub.came.empty(); hub.came.pop_front())
				if (hub.came.front() == word)
					return;
			loud.look();
			meanwhile();
			assert_true(looks < 400);
		}
	};
	for (const auto &n : others)
		for (const bool first : {false, true}) { // whichever epoll reports first
			look_until({&loud, &hub}, [&] {
				hub.came.clear();
				return !first || (!loud.open() && line_empty(hub));
			});
			assert_non_null(n->send(number_of(*n->inner().lines[0]), "quiet"));
			heard("quiet", [] {});
		}
	const uint64_t from_late = late.to(hub);
	bool said = false;
	heard("late", [&] {
		late.look();
		said = said || late.send(from_late, "late");
	});
}

void test_flood_keeps_nobody_out(void **)
{
	const size_t around[][2] = {{0, 0}, {0, 1}, {1, 0}, {0, 4}, {2, 2}, {4, 0}};
	for (const auto &n : around)
		flood_beside(n[0], n[1]);
}

// --- ends ------------------------------------------------------------------------------------------------------------

void test_peer_that_ends_is_noticed(void **)
{
	dice d(5);
	node a, b;
	talk t{a, b};
	t.run(d, 3);
	shared_memory of_b(b);
	assert_non_null(b.send(t.to_a, "the last"));
	assert_non_null(a.read(t.to_b, 100, of_b.m));
	b.close();
	look_until({&a}, [&] { return !a.lost.empty(); });
	assert_int_equal(a.came.size(), 1); // what arrived before the end is delivered
	assert_int_equal(a.open(), 0);
	assert_true(a.works.back()->is == fate::bad);
	assert_int_equal(a.lost.size(), 1);
	assert_true(a.lost[0] == t.to_b && !a.why(t.to_b).empty());
	assert_null(a.send(t.to_b, "to nobody"));
	assert_int_equal(a.last, -FI_ECONNRESET);
	assert_true(a.p->ops->gone(*a.p, t.to_b, b.address.data(), b.address.size()));
	// a new call is a new line, and is refused
	const uint64_t again = a.to(b.address);
	assert_true(again != t.to_b);
	a.send(again, "anybody?");
	look_until({&a}, [&] { return a.lost.size() == 2; });
	assert_true(a.lost[1] == again && a.why(again) == strerror(ECONNREFUSED));
	a.p->ops->remove(*a.p, t.to_b);
	a.p->ops->remove(*a.p, again);
	assert_int_equal(a.inner().lines.size(), 0);
}

void test_half_closed_is_closed(void **)
{
	dice d(6);
	node a, b;
	talk t{a, b};
	t.run(d, 3);
	shutdown(line_of(t.to_a).fd.get(), SHUT_WR);
	look_until({&a, &b}, [&] { return !a.lost.empty() && !b.lost.empty(); });
}

// Each caller has its own line, and ends only that one.
void test_lines_are_not_shared(void **)
{
	dice d(7);
	node a, b;
	talk t{a, b};
	t.run(d, 3);
	const uint64_t other = a.to(b);
	assert_true(other != t.to_b);
	look_until({&a, &b}, [&] { return a.send(other, "by another one") != nullptr; });
	look_until({&a, &b}, [&] { return b.came.size() == 1; });
	a.p->ops->remove(*a.p, t.to_b);
	look_until({&a, &b}, [&] { return b.lost.size() == 1; });
	assert_true(b.lost[0] == t.to_a);
	assert_non_null(a.send(other, "still there"));
	look_until({&a, &b}, [&] { return b.came.size() == 2; });
}

// Concealing memory in use costs the connection, and nothing is written there any more.
void test_conceal_ends_transfers(void **)
{
	dice d(8);
	node a, b;
	talk t{a, b};
	t.run(d, 1);
	make_narrow(a);
	make_narrow(b);
	for (const bool reads : {false, true}) {
		node c;
		const uint64_t line = c.to(b);
		look_until({&c, &b}, [&] { return c.send(line, "here") != nullptr; });
		make_narrow(c);
		make_narrow(b);
		shared_memory of_b(b, 4 << 20);
		if (reads)
			c.read(line, of_b.bytes.size(), of_b.m);
		else
			c.write(line, std::string(of_b.bytes.size(), 'w'), of_b.m);
		socket_line *input = nullptr;
		look_until({&c, &b}, [&] {
			for (socket_line *l : b.inner().up)
				if (l->bulk.left || l->answers)
					input = l;
			return input != nullptr;
		});
		b.p->ops->conceal(*b.p, of_b.m);
		const std::string before = of_b.bytes;
		look_until({&c, &b}, [&] { return !c.lost.empty(); });
		assert_true(of_b.bytes == before);
		assert_true(c.works.back()->is != fate::in_flight);
	}
}

void test_no_descriptors(void **)
{
	node a, b;
	const uint64_t line = a.to(b);
	rlimit was, none;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = was;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_null(a.send(line, "x"));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(a.last, -FI_ECONNRESET);
	assert_true(a.why(line) == strerror(EMFILE));
	look_until({&a}, [&] { return a.lost.size() == 1; });
	// a caller is refused, and may call again
	stranger s(b);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	for (int i = 0; i < 100; i++)
		b.look();
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_true(b.inner().callers.empty());
	if (b.inner().reserve) // otherwise this process could not get it back at once
		assert_true(s.closed(b));
	const uint64_t again = a.to(b);
	look_until({&a, &b}, [&] { return a.send(again, "now") != nullptr; });
	look_until({&a, &b}, [&] { return b.came.size() == 1; });
}

// --- waiting ---------------------------------------------------------------------------------------------------------

void test_waiting(void **)
{
	dice d(10);
	node a, b;
	talk t{a, b};
	t.run(d, 1);
	const auto sleep = [](node &n) {
		const uint64_t before = pgas_now_ns();
		n.p->ops->wait(*n.p, 20'000);
		return pgas_now_ns() - before < 10'000'000'000;
	};
	look_until({&b}, [&] { return b.p->ops->arm(*b.p); }); // it may expect more
	std::thread rings([&] { b.p->ops->ring(*b.p); });
	assert_true(sleep(b));
	rings.join();
	const uint64_t before = pgas_now_ns();
	b.p->ops->wait(*b.p, 50); // the bell was consumed: nothing wakes it now
	assert_true(pgas_now_ns() - before > 40'000'000);
	assert_non_null(a.send(t.to_b, "wake up"));
	assert_true(sleep(b));
	look_until({&b}, [&] { return b.came.size() == 1; });
	// pending output wakes the port when there is room
	make_narrow(a);
	make_narrow(b);
	while (a.send(t.to_b, text(0, kPacket)))
		;
	a.p->ops->arm(*a.p);
	std::atomic<bool> woke{false};
	std::thread reads([&] {
		while (!woke)
			b.look();
	});
	assert_true(sleep(a));
	woke = true;
	reads.join();
}

// --- the link on it --------------------------------------------------------------------------------------------------

void test_link_random_operations(void **)
{
	dice d(11);
	side a(open_port(false, 16384), 1, settings()), b(open_port(false, 16384), 2, settings());
	side c(open_port(false, 16384), 3, settings(64, 16384));
	random_operations_run_once_and_in_order(
		{&a, &b, &c}, operations(100'000), [&](unsigned n) { return d.below(n); }, [] {});
	for (side *s : {&a, &b, &c})
		s->close();
}

void test_link_flood_with_a_window_of_one(void **)
{
	std::vector<std::unique_ptr<side>> sides;
	std::vector<side *> all;
	for (uint16_t i = 1; i <= 6; i++) {
		sides.push_back(std::make_unique<side>(open_port(), i, settings(1)));
		all.push_back(sides.back().get());
	}
	flood_of_all_to_all_ends(all, 200, [] {});
	for (side *s : all)
		s->close();
}

void test_link_death_and_bye(void **)
{
	for (const bool orderly : {true, false}) {
		side a(open_port(), 1, settings());
		{
			side b(open_port(), 2, settings());
			run_until({&a, &b}, [&] { return a.told[2] >= 5 || (a.post(b, 100), false); });
			if (orderly)
				b.close();
		}
		run_until({&a}, [&] { return a.ended > 0; });
		assert_true(a.channels[2]->lost.load() != orderly);
		channel_release(*a.channels[2]);
		a.close();
	}
}

const CMUnitTest kTests[] = {
	cmocka_unit_test(test_packets_arrive_whole_and_in_order),
	cmocka_unit_test(test_calls_cross),
	cmocka_unit_test(test_only_one_calls),
	cmocka_unit_test(test_narrow_sockets),
	cmocka_unit_test(test_transfers),
	cmocka_unit_test(test_transfers_both_ways_at_once),
	cmocka_unit_test(test_transfers_are_noticed),
	cmocka_unit_test(test_many_peers),
	cmocka_unit_test(test_flood_keeps_nobody_out),
	cmocka_unit_test(test_peer_that_ends_is_noticed),
	cmocka_unit_test(test_half_closed_is_closed),
	cmocka_unit_test(test_lines_are_not_shared),
	cmocka_unit_test(test_conceal_ends_transfers),
	cmocka_unit_test(test_no_descriptors),
	cmocka_unit_test(test_waiting),
	cmocka_unit_test(test_link_random_operations),
	cmocka_unit_test(test_link_flood_with_a_window_of_one),
	cmocka_unit_test(test_link_death_and_bye),
};

} // namespace

int main(int, char **argv)
{
	if (argv[1])
		cmocka_set_test_filter(argv[1]);
	const int failed = cmocka_run_group_tests(kTests, nullptr, nullptr);
	if (getenv("TEST_TLS")) // the other tests use plain text
		return failed;
	return failed + run_call_tests() + run_bad_tests() + run_fuzz() + run_tls_tests();
}
