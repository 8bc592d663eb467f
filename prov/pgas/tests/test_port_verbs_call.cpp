// SPDX-License-Identifier: BSD-3-Clause
//
// The port over RDMA adapters: permission to call and the cost of strangers, rights, lines that only their two ends can
// reconnect, and outages.
#include "test_port_verbs.hpp"
#include "verbs_node.hpp"

#include <rdma/fi_errno.h>

using namespace fake_rdma;

namespace {

constexpr port_rights kAll = static_cast<port_rights>(kPortRead | kPortWrite);

verbs_line &line(node &a, uint64_t line)
{
	verbs_line *l = line_to(verbs_of(*a.p), line);
	assert_non_null(l);
	return *l;
}

line_call *call_in(message &m)
{
	return m.kind == message_kind::req ? reinterpret_cast<line_call *>(m.words.data()) : nullptr;
}

void look_for(std::vector<node *> nodes, unsigned looks)
{
	for (unsigned i = 0; i < looks; i++)
		for (node *n : nodes)
			n->look();
}

// Sends a packet on a line, and waits until it arrives.
void say(node &a, node &b, uint64_t line, const std::string &what)
{
	look_until({&a, &b}, [&] { return a.send(line, what); });
	look_until({&a, &b}, [&] { return !a.open() && std::erase(b.came, what); });
}

// In both directions.
void talk(node &a, node &b, const both_ends &ends)
{
	say(a, b, ends.to_b, "there");
	say(b, a, ends.to_a, "and back");
	assert_true(a.lost.empty() && b.lost.empty());
}

// --- strangers -------------------------------------------------------------------------------------------------------

// More nodes call at once than a port keeps as strangers: all get through, some after another call, which the link
// makes.
void test_many_strangers_get_there(void **)
{
	network n;
	n.steps_most = 30;
	node a(n, 1);
	std::deque<node> others;
	std::vector<node *> all{&a};
	std::vector<uint64_t> dest;
	for (unsigned i = 0; i < 90; i++) {
		others.emplace_back(n, 10 + i, 1024);
		all.push_back(&others.back());
		dest.push_back(others.back().to(a));
	}
	std::vector<char> sent(90);
	uint64_t known = 0, again = 0;
	look_until(all, [&] {
		for (unsigned i = 0; i < 90; i++) {
			node &o = others[i];
			if (!o.lost.empty()) {
				again++;
				o.lost.clear();
				o.let_go(dest[i]);
				dest[i] = o.to(a);
				sent[i] = false;
			}
			sent[i] = sent[i] || o.send(dest[i], link_model::text(i, 8));
		}
		for (; !a.came.empty(); a.came.pop_front()) {
			const unsigned i = static_cast<unsigned>(link_model::number_in(a.came.front()));
			if (!a.p->ops->keep(*a.p, a.came.front().sender))
				continue;
			a.trust(a.came.front().sender, {1, i});
			others[i].trust(dest[i], {1, i});
			known++;
		}
		assert_true(verbs_of(*a.p).unknown.size() <= kStrangersMost);
		return known == 90;
	});
	assert_true(again > 0);
}

// Strangers do not keep others out: the oldest is dropped.
void test_oldest_stranger_makes_room(void **)
{
	network n;
	n.steps_most = 30;
	node a(n, 1);
	a.tick = 0;
	std::deque<node> others;
	std::vector<uint64_t> dest;
	for (unsigned i = 0; i < kStrangersMost; i++) {
		others.emplace_back(n, 10 + i, 1024);
		dest.push_back(others.back().to(a));
		say(others.back(), a, dest.back(), "hello");
	}
	assert_int_equal(n.qps_of(a.h).size(), kStrangersMost);
	verbs_of(*a.p).clock = line(a, verbs_of(*a.p).unknown.front()->to()).born_at; // a slow machine
	node last(n, 99, 1024);
	const auto [to_a, known] = meet(last, a);
	assert_int_equal(verbs_of(*a.p).unknown.size(), kStrangersMost - 1);
	look_until({&a, &others[0]}, [&] { return !others[0].lost.empty(); });
	for (unsigned i = 1; i < kStrangersMost; i++)
		assert_true(others[i].lost.empty());
	say(a, last, known, "welcome");
	say(last, a, to_a, "thanks");
}

// Three seconds are enough for a proof. Time between polls does not count.
void test_stranger_goes_after_a_while(void **)
{
	for (const bool kept : {false, true}) {
		network n;
		node a(n, 1), b(n, 2);
		const uint64_t line = a.to(b);
		look_until({&a, &b}, [&] { return a.send(line, "hello"); });
		look_until({&a, &b}, [&] { return !b.came.empty(); });
		const uint64_t step = b.came[0].sender;
		if (kept)
			assert_true(b.p->ops->keep(*b.p, step));
		b.tick = 0;
		for (unsigned i = 0; i < 8; i++) { // it was stopped for an hour, eight times
			verbs_of(*b.p).checked_at = pgas_now_ns() - 3600 * kSecond;
			look_for({&b}, 100);
		}
		assert_non_null(line_to(verbs_of(*b.p), step));
		b.tick = kMs;
		look_for({&b}, 3100);
		assert_int_equal(b.lost.size(), kept);
		assert_int_equal(n.qps_of(b.h).size(), 0);
		look_until({&a}, [&] { return !a.lost.empty(); });
		assert_false(a.send(line, "x"));
		assert_int_equal(a.last, -FI_ECONNRESET); // the link takes this as a reason to call again
	}
}

// Another process on the peer's host claims to listen where the peer does: while we talk to the peer, while we call it,
// and whichever of us has the lower address. It gets its own line, and nothing else happens.
void test_stranger_claims_the_address_of_a_peer(void **)
{
	for (unsigned seed = 0; seed < 80; seed++) {
		network n;
		n.seed(seed);
		node a(n, 1 + 2 * (seed % 2)), b(n, 2), evil(n, 2);
		n.change = [&](network &, message &m) {
			if (call_in(m) && m.sender == &evil.h)
				memcpy(call_in(m)->address, b.address.data(), b.address.size());
		};
		const bool up = seed % 4 < 2;
		const uint64_t to_b = a.to(b);
		uint64_t to_a = up ? greet(a, b, to_b) : 0;
		const uint64_t bad = evil.to(a);
		for (unsigned i = up ? 0 : n.below(60); i; i--) {
			a.send(to_b, "hello");
			a.look();
		}
		for (unsigned i = n.below(60); i; i--) {
			evil.send(bad, "I am b");
			evil.look();
			a.look();
		}
		look_until({&a, &b, &evil}, [&] { return evil.send(bad, "I am b"); });
		look_until({&a, &b, &evil}, [&] { return !a.came.empty(); });
		assert_true(a.came[0].sender != to_b && a.p->ops->peer(*a.p, a.came[0].sender) == b.address);
		a.came.clear();
		b.came.clear();
		to_a = up ? to_a : greet(a, b, to_b);
		a.came.clear();
		talk(a, b, {to_b, to_a});
		look_for({&a, &b, &evil}, 3100);
		talk(a, b, {to_b, to_a});
		assert_int_equal(evil.lost.size(), 1);
		assert_int_equal(n.qps_of(a.h).size(), 1);
	}
}

// Two nodes that call each other at once have two lines, whichever has the lower address.
void test_calls_that_cross_make_two_lines(void **)
{
	for (unsigned seed = 0; seed < 100; seed++) {
		network n;
		n.seed(seed);
		node a(n, 1 + seed % 2), b(n, 2 - seed % 2);
		const uint64_t to_b = a.to(b), to_a = b.to(a);
		bool by_a = false, by_b = false;
		look_until({&a, &b}, [&] {
			by_a = by_a || a.send(to_b, "from a");
			by_b = by_b || b.send(to_a, "from b");
			return !a.came.empty() && !b.came.empty() && !a.open() && !b.open();
		});
		assert_true(a.came[0] == "from b" && a.came[0].sender != to_b);
		assert_true(b.came[0] == "from a" && b.came[0].sender != to_a);
		assert_true(a.lost.empty() && b.lost.empty());
		assert_int_equal(n.qps_of(a.h).size(), 2);
	}
}

// --- rights ----------------------------------------------------------------------------------------------------------

// A peer that guesses a key has no access before it is trusted, not even at the node that called it. The attempt costs
// it the line.
void test_no_rights_before_trust(void **)
{
	for (unsigned which = 0; which < 8; which++) {
		const bool reads = which & 1, of_caller = which & 2, trusted = which & 4;
		network n;
		n.seed(which);
		node a(n, 1), b(n, 2);
		char bytes[64] = "secret";
		port_memory m;
		node &victim = of_caller ? a : b, &actor = of_caller ? b : a;
		assert_int_equal(victim.p->ops->expose(*victim.p, bytes, sizeof bytes, kAll, &m), 0);
		const uint64_t to_b = a.to(b);
		say(a, b, to_b, "hello");
		const uint64_t to_a = verbs_of(*b.p).unknown[0]->to();
		assert_true(b.p->ops->keep(*b.p, to_a));
		if (trusted)
			victim.trust(of_caller ? to_b : to_a, {1, 2});
		for (const fake_qp *q : n.qps_of(victim.h))
			assert_int_equal(q->access, trusted ? IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ : 0);
		const uint64_t line = of_caller ? to_a : to_b;
		work *w = nullptr;
		look_until({&a, &b},
			   [&] { return (w = reads ? actor.read(line, 6, m) : actor.write(line, "gotcha", m)); });
		look_until({&a, &b}, [&] { return !actor.open() && (trusted || !victim.lost.empty()); });
		assert_true(w->is == (trusted ? fate::good : fate::bad));
		assert_string_equal(bytes, trusted && !reads ? "gotcha" : "secret");
		assert_int_equal(memcmp(w->bytes.get(), "secret", 6) == 0, reads && trusted);
		victim.p->ops->conceal(*victim.p, m);
	}
}

// A reconnected queue pair has its rights once it is up, on both sides.
void test_rights_when_made_again(void **)
{
	for (unsigned seed = 0; seed < 40; seed++) {
		network n;
		n.seed(seed);
		node a(n, 1), b(n, 2);
		const both_ends ends = meet(a, b);
		char of_a[8] = "a", of_b[8] = "b";
		port_memory at_a, at_b;
		assert_int_equal(a.p->ops->expose(*a.p, of_a, sizeof of_a, kAll, &at_a), 0);
		assert_int_equal(b.p->ops->expose(*b.p, of_b, sizeof of_b, kAll, &at_b), 0);
		n.break_qp(*n.qps_of(seed % 2 ? a.h : b.h)[0], 0);
		n.tell(seed % 2 ? a.h : b.h, IBV_EVENT_QP_FATAL, n.qps_of(seed % 2 ? a.h : b.h)[0]);
		look_for({&a, &b}, 1);
		look_until({&a, &b}, [&] { return a.write(ends.to_b, "from a", at_b); });
		look_until({&a, &b}, [&] { return b.write(ends.to_a, "from b", at_a); });
		look_until({&a, &b}, [&] { return !a.open() && !b.open(); });
		assert_memory_equal(of_a, "from b", 6);
		assert_memory_equal(of_b, "from a", 6);
		talk(a, b, ends);
		a.p->ops->conceal(*a.p, at_a);
		b.p->ops->conceal(*b.p, at_b);
	}
}

// --- again -----------------------------------------------------------------------------------------------------------

// A line that a lost and calls again, but the call is intercepted and read by an attacker.
struct stopped_call {
	network n;
	node a{n, 1}, b{n, 2}, evil{n, 1};
	both_ends ends = meet(a, b);
	std::string words;
	uint32_t qpn = 0;

	stopped_call()
	{
		talk(a, b, ends);
		n.change = [this](network &, message &m) {
			if (call_in(m) && call_in(m)->again && m.sender == &a.h) {
				words = m.words;
				qpn = m.qpn;
				a.h.cut = true;
			}
		};
		n.break_qp(*n.qps_of(a.h)[0], 0);
		n.tell(a.h, IBV_EVENT_QP_FATAL, n.qps_of(a.h)[0]);
		b.tick = 0;
		look_until({&a, &b}, [&] { return a.h.cut; });
		verbs_line &of_a = line(a, ends.to_b), &of_b = line(b, ends.to_a);
		look_until({&a, &b}, [&] { return of_a.state == line_state::resting; });
		look_for({&b}, 200);
		look_until({&b}, [&] { return of_b.state == line_state::resting || of_b.state == line_state::up; });
		of_b.retry_at = UINT64_MAX; // it leaves calling to the peer
	}
	// The attacker calls with these words: it is refused, and b's line is unchanged.
	void expect_refused(const std::string &say, uint32_t as_qp = 0)
	{
		const verbs_line &l = line(b, ends.to_a);
		const uint64_t seen = l.calls_seen;
		const ibv_qp *const qp = l.qp;
		const line_state state = l.state;
		n.change = [&](network &, message &m) {
			if (call_in(m) && m.sender == &evil.h) {
				m.words = say;
				m.qpn = as_qp ? as_qp : m.qpn;
			}
		};
		const uint64_t bad = evil.to(b);
		look_until({&evil, &b}, [&] { return !evil.send(bad, "x") && evil.last != -FI_EAGAIN; });
		assert_non_null(strstr(evil.why(bad).c_str(), "let the connection go"));
		assert_int_equal(l.calls_seen, seen);
		assert_true(l.qp == qp && l.state == state);
		evil.p->ops->remove(*evil.p, bad);
		evil.lost.clear();
	}
};

// No third party can reconnect a line: with a made-up MAC, with the MAC of the peer's call and another count, or with
// the unchanged call from another queue pair.
void test_forged_call_again_is_refused(void **)
{
	stopped_call s;
	s.expect_refused(s.words);
	for (size_t pos = offsetof(line_call, id); pos < offsetof(line_call, address) + offsetof(line_proof, pad_);
	     pos++) {
		std::string other = s.words;
		other[pos] = static_cast<char>(other[pos] ^ 1);
		if (pos < offsetof(line_call, pad2_) || pos >= offsetof(line_call, address))
			s.expect_refused(other, s.qpn);
	}
	s.n.change = nullptr;
	s.a.h.cut = false;
	talk(s.a, s.b, s.ends);
}

// A call that did its work, or whose line was reconnected by another one, does nothing the second time.
void test_replayed_call_again_is_refused(void **)
{
	for (const bool by_callee : {false, true}) {
		stopped_call s;
		std::string worked;
		uint32_t qpn = 0;
		s.n.change = [&](network &, message &m) {
			if (!call_in(m))
				return;
			assert_true(call_in(m)->again && (m.sender == &s.b.h) == by_callee);
			worked = m.words;
			qpn = m.qpn;
		};
		s.a.h.cut = false;
		if (by_callee) {
			line(s.a, s.ends.to_b).retry_at = UINT64_MAX;
			line(s.b, s.ends.to_a).retry_at = 0;
			if (line(s.b, s.ends.to_a).state == line_state::up)
				line_broke(verbs_of(*s.b.p), line(s.b, s.ends.to_a), "a test", false);
			s.b.tick = kMs;
		}
		talk(s.a, s.b, s.ends);
		look_for({&s.a, &s.b}, 100);
		assert_true(line(s.b, s.ends.to_a).state == line_state::up);
		s.expect_refused(s.words, s.qpn);
		s.expect_refused(worked, qpn);
		s.n.change = nullptr;
		talk(s.a, s.b, s.ends);
	}
}

// The node that answers a reconnecting call must know the key, too. Until then it has no rights and gets no packet.
void test_forged_answer_is_not_believed(void **)
{
	for (const size_t pos :
	     {offsetof(line_answer, received), offsetof(line_answer, counter), offsetof(line_answer, mac)}) {
		network n;
		node a(n, 1), b(n, 2);
		const both_ends ends = meet(a, b);
		unsigned answers = 0;
		n.change = [&](network &, message &m) {
			if (m.kind == message_kind::rep && ++answers <= 3)
				m.words[pos] = static_cast<char>(m.words[pos] ^ 1);
		};
		n.break_qp(*n.qps_of(a.h)[0], 0);
		n.tell(a.h, IBV_EVENT_QP_FATAL, n.qps_of(a.h)[0]);
		look_until({&a, &b}, [&] { return answers > 0; });
		look_until({&a, &b}, [&] {
			for (const fake_qp *q : n.qps_of(a.h))
				assert_true(answers > 3 || !q->access);
			return answers > 3;
		});
		talk(a, b, ends);
	}
}

// A line that is not trusted is not reconnected: our own is lost, so that the link calls anew, and a stranger's is
// gone.
void test_line_that_is_not_trusted_is_not_made_again(void **)
{
	for (unsigned seed = 0; seed < 40; seed++) {
		network n;
		n.seed(seed);
		node a(n, 1 + seed % 2), b(n, 2 - seed % 2);
		const uint64_t line = a.to(b);
		say(a, b, line, "who I am");
		host &h = seed % 4 < 2 ? a.h : b.h;
		n.break_qp(*n.qps_of(h)[0], 0);
		n.tell(h, IBV_EVENT_QP_FATAL, n.qps_of(h)[0]);
		const uint64_t calls = n.calls;
		look_until({&a, &b}, [&] { return !a.lost.empty() && n.qps_of(b.h).empty(); });
		look_for({&a, &b}, 2000);
		assert_int_equal(n.calls, calls);
		assert_int_equal(verbs_of(*b.p).unknown.size(), 0);
		a.send(line, "x");
		assert_int_equal(a.last, -FI_ECONNRESET);
	}
}

// The proof of a stranger arrived before its line broke, and is read after that: the line is reconnected.
void test_trust_behind_a_break(void **)
{
	for (unsigned seed = 0; seed < 40; seed++) {
		network n;
		n.seed(seed);
		node a(n, 1), b(n, 2);
		const uint64_t to_b = a.to(b);
		say(a, b, to_b, "who I am");
		const uint64_t to_a = verbs_of(*b.p).unknown[0]->to();
		assert_true(b.p->ops->keep(*b.p, to_a));
		a.trust(to_b, {1, 2});
		host &h = seed % 4 < 2 ? a.h : b.h;
		n.break_qp(*n.qps_of(h)[0], 0);
		n.tell(h, IBV_EVENT_QP_FATAL, n.qps_of(h)[0]);
		look_for({&a, &b}, n.below(200));
		b.trust(to_a, {1, 2});
		talk(a, b, {to_b, to_a});
	}
}

// --- outages ---------------------------------------------------------------------------------------------------------

port_life life(node &a, uint64_t line)
{
	return a.p->ops->life(*a.p, line, 0, 30 * kSecond);
}

// The network is down for `ns`, by the ports' clock.
void cut_for(node &a, node &b, bool there, uint64_t ns)
{
	host &h = there ? b.h : a.h;
	h.cut = true;
	const uint64_t until = verbs_of(*a.p).clock + ns;
	while (verbs_of(*a.p).clock < until && a.lost.empty())
		look_for({&a, &b}, 1);
	h.cut = false;
}

// Nothing is lost in an outage that is shorter than the patience, whichever node has something to send then.
void test_outage_is_survived(void **)
{
	for (unsigned seed = 0; seed < 48; seed++) {
		network n;
		n.seed(seed);
		node a(n, 1), b(n, 2);
		a.tick = b.tick = 5 * kMs;
		const both_ends ends = meet(a, b);
		for (const uint64_t seconds : {1, 7, 29}) {
			work *w[2] = {};
			n.steps(200); // all remaining steps
			if (seed % 3 != 1)
				w[0] = a.send(ends.to_b, "into the dark");
			if (seed % 3)
				w[1] = b.send(ends.to_a, "likewise");
			cut_for(a, b, seed % 2, seconds * kSecond);
			assert_true(a.lost.empty() && b.lost.empty());
			const uint64_t back = verbs_of(*a.p).clock;
			look_until({&a, &b}, [&] { return !a.open() && !b.open(); });
			assert_true(verbs_of(*a.p).clock - back < 4 * kSecond);
			for (int i = 0; i < 2; i++)
				assert_true(!w[i] || w[i]->is == fate::good);
			look_until({&a, &b}, [&] { return b.came.size() == !!w[0] && a.came.size() == !!w[1]; });
			a.came.clear();
			b.came.clear();
			talk(a, b, ends);
		}
	}
}

// A longer outage ends the line, on both sides, with a reason.
void test_longer_outage_is_not(void **)
{
	for (unsigned seed = 0; seed < 8; seed++) {
		network n;
		n.seed(seed);
		node a(n, 1), b(n, 2);
		verbs_of(*a.p).patience_ns = verbs_of(*b.p).patience_ns = 5 * kSecond;
		const both_ends ends = meet(a, b);
		node &who = seed % 2 ? a : b;
		const uint64_t line = seed % 2 ? ends.to_b : ends.to_a;
		const uint64_t since = verbs_of(*who.p).clock;
		work *w = who.send(line, "into the dark");
		a.h.cut = true;
		look_until({&a, &b}, [&] { return !who.lost.empty(); });
		assert_in_range(verbs_of(*who.p).clock - since, 8 * kSecond, 12 * kSecond);
		assert_true(w->is == fate::bad && w->status == -FI_ECONNRESET);
		assert_non_null(strstr(who.why(line).c_str(), "FI_PGAS_PEER_TIMEOUT"));
		a.h.cut = false;
		node &other = seed % 2 ? b : a;
		look_until({&a, &b}, [&] {
			other.send(seed % 2 ? ends.to_a : ends.to_b, "anybody?");
			return !other.lost.empty();
		});
	}
}

// A peer whose process ended is not waited for.
void test_ended_process_is_lost_at_once(void **)
{
	for (unsigned seed = 0; seed < 20; seed++) {
		network n;
		n.seed(seed);
		node a(n, 1), b(n, 2);
		const auto [one, other] = seed % 2 ? meet(a, b) : meet(b, a);
		const uint64_t since = verbs_of(*a.p).clock;
		n.kill(b.h);
		look_until({&a}, [&] { return !a.lost.empty(); });
		assert_int_equal(a.lost[0], seed % 2 ? one : other);
		assert_true(verbs_of(*a.p).clock - since < kSecond);
		assert_non_null(strstr(a.why(a.lost[0]).c_str(), "its process ended"));
	}
}

void test_life_is_known(void **)
{
	network n;
	node a(n, 1), b(n, 2);
	const uint64_t line = a.to(b);
	assert_true(life(a, line) == port_life::unknown);
	assert_false(a.send(line, "x"));
	assert_true(life(a, line) == port_life::retrying);
	greet(a, b, line);
	assert_true(life(a, line) == port_life::reachable);
	a.tick = 20 * kMs;
	look_for({&a}, 1600); // no requests for half a minute
	assert_true(life(a, line) == port_life::unknown);
	say(a, b, line, "x");
	assert_true(life(a, line) == port_life::reachable);
	for (unsigned i = 0; i < 20000 && n.rnr < 10; i++) { // b is stopped: its adapter answers as long as it can
		a.send(line, "x");
		a.look();
	}
	look_for({&a}, 1600);
	assert_true(n.rnr >= 10 && life(a, line) == port_life::reachable);
	a.h.cut = true;
	look_until({&a}, [&] { return life(a, line) == port_life::retrying; });
	look_until({&a}, [&] { return !a.lost.empty(); });
	assert_true(life(a, line) == port_life::lost);
}

} // namespace

int run_call_tests()
{
	const CMUnitTest tests[] = {
		cmocka_unit_test(test_many_strangers_get_there),
		cmocka_unit_test(test_oldest_stranger_makes_room),
		cmocka_unit_test(test_stranger_goes_after_a_while),
		cmocka_unit_test(test_stranger_claims_the_address_of_a_peer),
		cmocka_unit_test(test_calls_that_cross_make_two_lines),
		cmocka_unit_test(test_no_rights_before_trust),
		cmocka_unit_test(test_rights_when_made_again),
		cmocka_unit_test(test_forged_call_again_is_refused),
		cmocka_unit_test(test_replayed_call_again_is_refused),
		cmocka_unit_test(test_forged_answer_is_not_believed),
		cmocka_unit_test(test_line_that_is_not_trusted_is_not_made_again),
		cmocka_unit_test(test_trust_behind_a_break),
		cmocka_unit_test(test_outage_is_survived),
		cmocka_unit_test(test_longer_outage_is_not),
		cmocka_unit_test(test_ended_process_is_lost_at_once),
		cmocka_unit_test(test_life_is_known),
	};
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
