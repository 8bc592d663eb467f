// SPDX-License-Identifier: BSD-3-Clause
//
// The port over RDMA adapters against its contract (net_port.hpp), on fake adapters (fake_verbs.hpp): packets arrive
// whole, in order and once, or an event reports that they do not; every pending operation is reported once; a queue
// pair that breaks is reconnected. test_port_verbs_call.cpp has strangers and outages, test_port_verbs_link.cpp the
// link on it.
#include "wire/net/port/verbs/port_verbs.hpp"
#include "test_port_verbs.hpp"
#include "verbs_node.hpp"

#include <rdma/fi_errno.h>

namespace pgas {
fi_provider g_provider = {};
}
using namespace fake_rdma;
using link_model::hang_end;
using link_model::number_in;
using link_model::text;

namespace {

// Counts of what two nodes send to each other.
struct talk {
	node &a, &b;
	both_ends ends = meet(a, b);
	uint64_t to_b = ends.to_b, to_a = ends.to_a;
	uint64_t sent[2] = {0, 0}, got[2] = {0, 0};

	void send(network &n, uint64_t most, size_t longest = 600)
	{
		if (sent[0] < most && a.send(to_b, text(sent[0], 8 + n.below(static_cast<unsigned>(longest)))))
			sent[0]++;
		if (sent[1] < most && b.send(to_a, text(sent[1], 8 + n.below(static_cast<unsigned>(longest)))))
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
	void run(network &n, uint64_t most)
	{
		look_until({&a, &b}, [&] {
			send(n, most);
			receive();
			return got[0] == most && got[1] == most && !a.open() && !b.open();
		});
		assert_true(a.lost.empty() && b.lost.empty());
	}
};

// --- packets and transfers -------------------------------------------------------------------------------------------

void test_packets_arrive_whole_and_in_order(void **)
{
	for (unsigned seed = 0; seed < 120; seed++) {
		network n;
		n.seed(seed);
		const unsigned ip = seed % 3 ? 1 : 201; // IPv6, too
		node a(n, ip + seed % 2), b(n, ip + 1 - seed % 2);
		talk t{a, b};
		t.run(n, 1 + n.below(200));
	}
}

void test_only_one_sends(void **)
{
	for (unsigned seed = 0; seed < 50; seed++) {
		network n;
		n.seed(seed);
		node a(n, 1), b(n, 2);
		const uint64_t line = meet(a, b).to_b;
		uint64_t sent = 0, got = 0;
		look_until({&a, &b}, [&] {
			sent += sent < 300 && a.send(line, text(sent, 8 + n.below(16000)));
			for (; !b.came.empty(); b.came.pop_front())
				assert_int_equal(number_in(b.came.front()), got++);
			return got == 300 && !a.open();
		});
	}
}

struct shared_memory {
	node &owner;
	std::vector<char> bytes;
	port_memory m;
	explicit shared_memory(node &n, size_t len = 1 << 16, int rights = kPortRead | kPortWrite)
		: owner(n), bytes(len)
	{
		assert_int_equal(
			owner.p->ops->expose(*owner.p, bytes.data(), len, static_cast<port_rights>(rights), &m), 0);
	}
	~shared_memory() { owner.p->ops->conceal(*owner.p, m); }
};

// In both directions: the caller must allow access to its memory, too.
void test_transfers_go_both_ways(void **)
{
	for (unsigned seed = 0; seed < 20; seed++) {
		network n;
		n.seed(seed);
		node a(n, 1), b(n, 2);
		const auto [to_b, to_a] = meet(a, b);
		shared_memory of_a(a), of_b(b);
		of_a.bytes[100] = 'A';
		of_b.bytes[100] = 'B';
		const std::string big(50000, 'x');
		work *w[4] = {};
		look_until({&a, &b}, [&] { return w[0] || (w[0] = a.write(to_b, big, of_b.m, 1000)); });
		look_until({&a, &b}, [&] { return w[1] || (w[1] = a.read(to_b, 200, of_b.m)); });
		look_until({&a, &b}, [&] { return w[2] || (w[2] = b.write(to_a, big, of_a.m, 1000)); });
		look_until({&a, &b}, [&] { return w[3] || (w[3] = b.read(to_a, 200, of_a.m)); });
		look_until({&a, &b}, [&] { return !a.open() && !b.open(); });
		for (const work *one : w)
			assert_true(one->is == fate::good);
		assert_int_equal(w[1]->bytes[100], 'B');
		assert_int_equal(w[3]->bytes[100], 'A');
		assert_memory_equal(of_a.bytes.data() + 1000, big.data(), big.size());
		assert_memory_equal(of_b.bytes.data() + 1000, big.data(), big.size());
	}
}

// For each number: a reads it, overwrites it with the next, writes that to a separate place, and tells b, which then
// overwrites the place.
struct numbers {
	static constexpr uint64_t kAll = 300;
	node &a, &b;
	both_ends ends = meet(a, b);
	uint64_t to_b = ends.to_b, to_a = ends.to_a;
	shared_memory m{b};
	std::deque<std::pair<work *, uint64_t>> reads{};
	uint64_t step = 0, seen = 0, back = 0;

	char *place(uint64_t i) { return &m.bytes[8 + 8 * i]; }
	work *next()
	{
		const uint64_t i = step / 4;
		const std::string value = text(i + 1, 8);
		work *w = nullptr;
		if (i == kAll)
			return nullptr;
		switch (step % 4) {
		case 0:
			if ((w = a.read(to_b, 8, m.m, 8)))
				reads.emplace_back(w, i);
			return w;
		case 1:
			return a.write(to_b, value, m.m, 8);
		case 2:
			return a.write(to_b, value, m.m, 8 + 8 * (i + 1));
		default:
			return a.send(to_b, value);
		}
	}
	void take()
	{
		for (; !b.came.empty(); b.came.pop_front()) {
			assert_int_equal(number_in(b.came.front()), ++seen);
			uint64_t there;
			memcpy(&there, place(seen), 8);
			assert_int_equal(there, seen);
			memset(place(seen), 'z', 8);
		}
		back += back < 200 && b.send(to_a, text(back, 8));
	}
	bool over() const { return step == 4 * kAll && seen == kAll && !a.open() && !b.open(); }
};

// Later operations must not change what an earlier read returns; queue pairs break now and then. Data that a packet
// after the write has announced is not written again.
void test_order_of_transfers_and_packets(void **)
{
	for (unsigned seed = 0; seed < 40; seed++) {
		network n;
		n.seed(seed);
		node a(n, 1), b(n, 2);
		numbers all{a, b};
		look_until({&a, &b}, [&] {
			all.step += all.next() != nullptr;
			all.take();
			if (n.below(100) == 0)
				break_with_mercy(n, n.below(2) ? a.h : b.h);
			return all.over();
		});
		for (const auto &[w, i] : all.reads) {
			uint64_t got;
			memcpy(&got, w->bytes.get(), 8);
			assert_true(w->is == fate::good);
			assert_int_equal(got, i);
		}
		for (uint64_t i = 1; i <= numbers::kAll; i++)
			assert_memory_equal(all.place(i), "zzzzzzzz", 8);
	}
}

void test_no_rights_no_transfer(void **)
{
	for (unsigned which = 0; which < 4; which++) {
		network n;
		n.seed(which);
		node a(n, 1), b(n, 2);
		const uint64_t line = meet(a, b).to_b;
		shared_memory m(b, 100, which == 0 ? kPortRead : which == 1 ? kPortWrite : kPortRead | kPortWrite);
		work *w = nullptr;
		look_until({&a, &b}, [&] {
			w = which == 1 ? a.read(line, 50, m.m)
				       : a.write(line, std::string(50, 'x'), m.m, which == 2 ? 80 : 0);
			return w;
		});
		look_until({&a, &b}, [&] { return !a.open() && (which == 3 || !a.lost.empty()); });
		assert_true(w->is == (which == 3 ? fate::good : fate::bad));
		if (which != 3)
			assert_true(!a.why(line).empty());
	}
}

// --- room ------------------------------------------------------------------------------------------------------------

// A receiver accepts nothing: the others wait, and lose nothing.
void test_receiver_without_buffers(void **)
{
	network n;
	node a(n, 1), b(n, 2), c(n, 3);
	const uint64_t from_a = meet(a, b).to_b, from_c = meet(c, b).to_b;
	b.keeps = true;
	uint64_t sent = 0, most = 600;
	for (unsigned i = 0; i < 20000; i++) {
		sent += sent < most && a.send(from_a, text(0, 300));
		sent += sent < most && c.send(from_c, text(0, 30));
		a.look();
		b.look();
		c.look();
	}
	assert_true(n.rnr > 0);
	assert_true(b.came.size() <= 128);
	b.keeps = false;
	for (void *buffer : b.kept)
		b.p->ops->give_back(*b.p, buffer);
	look_until({&a, &b, &c}, [&] {
		sent += sent < most && a.send(from_a, text(0, 300));
		sent += sent < most && c.send(from_c, text(0, 30));
		return b.came.size() == most && !a.open() && !c.open();
	});
}

// Many lines share a short completion queue, and all break together: the queue never overflows.
void test_completion_queue_is_never_overrun(void **)
{
	for (unsigned seed = 0; seed < 12; seed++) {
		network n;
		n.seed(seed);
		host &h = n.add(1);
		h.max_cqe = 256;
		node a(n, h);
		std::deque<node> others;
		std::vector<node *> all{&a};
		std::vector<uint64_t> dest;
		for (unsigned i = 0; i < 6; i++) {
			others.emplace_back(n, 10 + i);
			all.push_back(&others.back());
			dest.push_back(meet(a, others.back()).to_b);
		}
		uint64_t sent = 0;
		unsigned breaks = 0;
		look_until(all, [&] {
			for (uint64_t one : dest)
				while (sent < 6000 && a.send(one, text(sent, 300)))
					sent++;
			uint64_t came = 0;
			for (node *o : all)
				came += o->came.size();
			if (n.below(150) == 0 && breaks < 20)
				for (fake_qp *q : n.qps_of(a.h))
					if (q->through && q->state == IBV_QPS_RTS) {
						n.break_qp(*q, n.below(20));
						breaks++;
					}
			return came == 6000 && !a.open();
		});
		assert_true(a.lost.empty());
	}
}

// --- queue pairs break -----------------------------------------------------------------------------------------------

void test_broken_queue_pairs_are_made_again(void **)
{
	for (unsigned seed = 0; seed < 60; seed++) {
		network n;
		n.seed(seed);
		node a(n, 1 + seed % 2), b(n, 2 - seed % 2);
		talk t{a, b};
		look_until({&a, &b}, [&] {
			t.send(n, 1000);
			t.receive();
			if (n.below(60) == 0)
				break_with_mercy(n, n.below(2) ? a.h : b.h);
			return t.got[0] == 1000 && t.got[1] == 1000 && !a.open() && !b.open();
		});
		assert_true(a.lost.empty() && b.lost.empty());
	}
}

// At any time, even during a reconnect.
void test_broken_at_any_time_nothing_is_lost(void **)
{
	for (unsigned seed = 0; seed < 150; seed++) {
		network n;
		n.seed(seed);
		node a(n, 1 + seed % 2), b(n, 2 - seed % 2);
		talk t{a, b};
		look_until({&a, &b}, [&] {
			t.send(n, 300);
			t.receive();
			if (n.below(40) == 0 && !n.qps.empty() && n.breaks < 15) {
				auto it = n.qps.begin();
				std::advance(it, n.below(static_cast<unsigned>(n.qps.size())));
				if (it->second->state == IBV_QPS_RTS)
					n.break_qp(*it->second, n.below(6));
			}
			return t.got[0] == 300 && t.got[1] == 300 && !a.open() && !b.open();
		});
		assert_true(a.lost.empty() && b.lost.empty());
	}
}

// A side that only receives counts as having made progress, too.
void test_receiver_survives_more_than_one_break(void **)
{
	network n;
	node a(n, 1), b(n, 2);
	const uint64_t to_b = meet(a, b).to_b;
	uint64_t sent = 0;
	for (unsigned round = 1; round <= 5; round++) {
		look_until({&a, &b}, [&] {
			sent += sent < round * 10 && a.send(to_b, text(sent, 8));
			return b.came.size() == round * 10 && !a.open();
		});
		const uint32_t old = n.qps_of(b.h)[0]->qp_num;
		n.break_qp(*n.qps_of(b.h)[0], 0);
		n.tell(b.h, IBV_EVENT_QP_FATAL, n.qps_of(b.h)[0]);
		look_until({&a, &b}, [&] {
			return !n.qp_at(old) && n.qps_of(b.h).size() == 1 && n.qps_of(b.h)[0]->state == IBV_QPS_RTS &&
			       n.qps_of(a.h).size() == 1 && n.qps_of(a.h)[0]->state == IBV_QPS_RTS;
		});
		n.steps(100);
		b.look();
		a.look();
	}
	assert_true(a.lost.empty() && b.lost.empty());
}

// Completions that were not polled yet precede the break: they are no sign of life of the next queue pair.
void test_break_behind_completions_that_nobody_saw(void **)
{
	for (unsigned seed = 0; seed < 20; seed++) {
		network n;
		n.seed(seed);
		node a(n, 1 + seed % 2), b(n, 2 - seed % 2);
		talk t{a, b};
		t.run(n, 10);
		n.steps_most = 0;
		for (unsigned i = 0; i < 60; i++)
			t.send(n, 100, 30);
		n.steps(3000);
		fake_qp &q = *n.qps_of(a.h)[0];
		assert_true(q.queue.empty());
		n.break_qp(q, 0);
		n.tell(a.h, IBV_EVENT_QP_FATAL, &q);
		assert_false(a.p->ops->arm(*a.p)); // sees the event first
		n.steps_most = 3;
		t.run(n, 100);
	}
}

// An error that is not an outage occurs twice without progress in between: the line is given up, with a reason, and
// other lines continue.
void test_second_error_gives_up(void **)
{
	network n;
	node a(n, 1), b(n, 2), c(n, 3);
	talk t{a, b}, u{a, c};
	t.run(n, 20);
	u.run(n, 20);
	n.still = true;
	work *w = a.send(t.to_b, text(20, 300));
	assert_non_null(w);
	for (unsigned i = 21; i < 40; i++)
		assert_non_null(a.send(t.to_b, text(i, 300)));
	const uint64_t breaks = n.breaks;
	look_until({&a, &b, &c}, [&] {
		for (fake_qp *q : n.qps_of(a.h, &b.h))
			if (q->state == IBV_QPS_RTS && !q->queue.empty() && n.breaks < breaks + 2)
				n.break_qp(*q, 0, IBV_WC_REM_INV_REQ_ERR);
		return !a.lost.empty();
	});
	assert_true(w->is == fate::bad && w->status == -FI_ECONNRESET);
	assert_int_equal(a.lost[0], t.to_b);
	assert_int_equal(a.open(), 0);
	assert_non_null(strstr(a.why(t.to_b).c_str(), "bad completion"));
	assert_null(a.send(t.to_b, text(0, 8)));
	assert_int_equal(a.last, -FI_ECONNRESET);
	n.still = false;
	look_until({&a, &b, &c}, [&] { return !b.lost.empty(); });
	a.lost.clear();
	u.run(n, 100);
}

// --- refusals --------------------------------------------------------------------------------------------------------

line_call *call_in(message &m)
{
	return m.kind == message_kind::req ? reinterpret_cast<line_call *>(m.words.data()) : nullptr;
}

// The contents of a call or an answer are changed in flight.
void test_nonsense_is_refused(void **)
{
	static const struct {
		void (*change)(network &, message &);
		const char *why;
	} all[] = {
		{[](network &, message &m) { call_in(m) ? void(call_in(m)->magic++) : void(); }, "another version"},
		{[](network &, message &m) { call_in(m) ? void(call_in(m)->protocol++) : void(); }, "another version"},
		{[](network &, message &m) { call_in(m) ? void(call_in(m)->address_len = 255) : void(); },
		 "another version"},
		{[](network &, message &m) { call_in(m) ? void(call_in(m)->address_len = 18) : void(); },
		 "another version"},
		{[](network &, message &m) { call_in(m) ? void(call_in(m)->address[3]++) : void(); },
		 "another version"},
		{[](network &, message &m) { call_in(m) ? void(call_in(m)->again = 1) : void(); },
		 "let the connection go"},
		{[](network &, message &m) { call_in(m) ? m.words.clear() : void(); }, "another version"},
		{[](network &, message &m) { m.kind == message_kind::rep ? void(m.words[0]++) : void(); }, "malformed"},
		{[](network &, message &m) { m.kind == message_kind::rep ? void(m.words[8]++) : void(); }, "malformed"},
		{[](network &, message &m) { m.kind == message_kind::rep ? void(m.words[4]++) : void(); },
		 "never sent"},
		{[](network &, message &m) { m.kind == message_kind::rep ? m.words.clear() : void(); }, "malformed"},
	};
	for (const auto &one : all) {
		network n;
		node a(n, 1), b(n, 2);
		n.change = one.change;
		const uint64_t line = a.to(b);
		look_until({&a, &b}, [&] { return !a.send(line, "hello") && a.last != -FI_EAGAIN; });
		assert_non_null(strstr(a.why(line).c_str(), one.why));
		look_until({&a, &b}, [&] { return !a.lost.empty(); });
		n.change = nullptr;
		a.p->ops->remove(*a.p, line);
		for (unsigned i = 0; i < 300; i++)
			b.look();
		talk t{a, b}; // and then they communicate
		a.lost.clear();
		t.run(n, 10);
	}
}

// Random calls at full speed: nothing happens, and a good one gets through.
void test_random_calls_do_no_harm(void **)
{
	for (unsigned seed = 0; seed < 80; seed++) {
		network n;
		n.seed(seed);
		node a(n, 1), b(n, 2), c(n, 3);
		talk good{b, c};
		n.change = [](network &net, message &m) {
			for (char &c : m.words)
				if (net.below(8) == 0)
					c = static_cast<char>(net.random());
		};
		for (unsigned i = 0; i < 5; i++) {
			const uint64_t line = a.to(b);
			for (unsigned k = 0; k < 30; k++) {
				a.send(line, "hello");
				a.look();
				b.look();
			}
			a.p->ops->remove(*a.p, line);
		}
		n.change = nullptr;
		for (unsigned k = 0; k < 100; k++) {
			a.look();
			b.look();
		}
		b.came.clear();
		good.run(n, 10);
	}
}

const CMUnitTest kTests[] = {
	cmocka_unit_test(test_packets_arrive_whole_and_in_order),
	cmocka_unit_test(test_only_one_sends),
	cmocka_unit_test(test_transfers_go_both_ways),
	cmocka_unit_test(test_order_of_transfers_and_packets),
	cmocka_unit_test(test_no_rights_no_transfer),
	cmocka_unit_test(test_receiver_without_buffers),
	cmocka_unit_test(test_completion_queue_is_never_overrun),
	cmocka_unit_test(test_broken_queue_pairs_are_made_again),
	cmocka_unit_test(test_broken_at_any_time_nothing_is_lost),
	cmocka_unit_test(test_receiver_survives_more_than_one_break),
	cmocka_unit_test(test_break_behind_completions_that_nobody_saw),
	cmocka_unit_test(test_second_error_gives_up),
	cmocka_unit_test(test_nonsense_is_refused),
	cmocka_unit_test(test_random_calls_do_no_harm),
};

} // namespace

int main(int, char **argv)
{
	if (argv[1])
		cmocka_set_test_filter(argv[1]);
	const int failed = cmocka_run_group_tests(kTests, nullptr, nullptr);
	return failed + run_call_tests() + run_end_tests() + run_link_tests();
}
