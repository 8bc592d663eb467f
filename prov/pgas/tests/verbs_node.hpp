// SPDX-License-Identifier: BSD-3-Clause
//
// A user of the port over RDMA adapters, for test_port_verbs.cpp: keeps what it sent until the port reports it, once,
// and what it received.
#pragma once

#include "wire/net/port/verbs/port_verbs.hpp"
#include "fake_verbs.hpp"
#include "link_model.hpp"

#include <cstring>
#include <deque>

namespace fake_rdma {

using namespace pgas;

enum class fate : uint8_t { in_flight, good, bad, let_go };

struct work : port_work {
	fate is = fate::in_flight;
	int status = 0;
	std::unique_ptr<char[]> bytes;
	port_memory memory{};
};

// A received packet, and its line.
struct letter : std::string {
	uint64_t sender;
	letter(const char *bytes, size_t len, uint64_t by_arg) : std::string(bytes, len), sender(by_arg) {}
};

inline constexpr uint64_t kMs = 1'000'000, kSecond = 1000 * kMs;

struct node {
	host &h;
	port *p;
	std::string address;
	std::deque<std::unique_ptr<work>> works;
	std::deque<letter> came;
	std::vector<uint64_t> lost;
	std::vector<void *> kept; // buffers that are not returned
	bool keeps = false;
	uint64_t tick = kMs; // a poll advances the port's clock by this, besides the real time
	uint32_t room = verbs_of(*p).completions_left;

	explicit node(network &n, unsigned ip, size_t packet = 16384) : node(n, n.add(ip), packet) {}
	node(network &n, host &machine, size_t packet = 16384) : h(machine), p(n.open(machine, packet))
	{
		assert_non_null(p);
		char packed[kLinkAddressMost];
		address.assign(packed, p->ops->address(*p, packed));
	}
	node(const node &) = delete;
	~node() { close(); }

	void close()
	{
		if (!p)
			return;
		check();
		for (const auto &w : works)
			if (w->memory.handle)
				p->ops->conceal(*p, w->memory);
		p->ops->close(std::exchange(p, nullptr));
		assert_int_equal(h.memories, 0);
	}
	// The port's counts match its objects.
	void check()
	{
		const verbs_port &v = verbs_of(*p);
		uint32_t posted = 0, unsettled = 0, pairs = 0, unknown = 0;
		for (const auto &l : v.lines) {
			if (!l)
				continue;
			posted += l->next - l->first;
			pairs += l->qp != nullptr;
			unknown += l->unknown;
			unsettled += !l->unknown && l->state != line_state::idle && l->state != line_state::up &&
				     l->state != line_state::failed;
		}
		assert_int_equal(v.completions_left + posted, room);
		assert_int_equal(v.unsettled, unsettled);
		assert_int_equal(v.by_qp.size(), pairs);
		assert_int_equal(v.unknown.size(), unknown);
		assert_int_equal(h.net->qps_of(h).size(), pairs);
	}
	uint64_t to(const node &other)
	{
		uint64_t number = 0;
		assert_int_equal(p->ops->insert(*p, other.address.data(), other.address.size(), &number), 0);
		return number;
	}
	void trust(uint64_t number, const secret &key) { p->ops->trust(*p, number, key.data()); }
	// A work with `len` bytes of registered memory.
	work &make(size_t len)
	{
		works.push_back(std::make_unique<work>());
		work &w = *works.back();
		w.bytes = std::make_unique<char[]>(len);
		assert_int_equal(p->ops->expose(*p, w.bytes.get(), len, kPortLocal, &w.memory), 0);
		return w;
	}
	// Returns null for "not now" or "never".
	work *take(int rc)
	{
		if (rc == 0)
			return works.back().get();
		assert_true(rc < 0);
		p->ops->conceal(*p, works.back()->memory);
		works.pop_back();
		last = rc;
		return nullptr;
	}
	work *send(uint64_t number, const std::string &bytes)
	{
		work &w = make(bytes.size());
		memcpy(w.bytes.get(), bytes.data(), bytes.size());
		const port_sent s = p->ops->send(*p, number, w.bytes.get(), bytes.size(), w.memory.handle, &w);
		assert_true(s.packet == port_send::queued); // this port is never done at once
		return take(s.status);
	}
	work *write(uint64_t number, const std::string &bytes, const port_memory &there, size_t pos = 0)
	{
		work &w = make(bytes.size());
		memcpy(w.bytes.get(), bytes.data(), bytes.size());
		return take(p->ops->write(*p, number, w.bytes.get(), bytes.size(), w.memory.handle, there.addr + pos,
					  there.key, &w));
	}
	work *read(uint64_t number, size_t len, const port_memory &there, size_t pos = 0)
	{
		work &w = make(len);
		return take(
			p->ops->read(*p, number, w.bytes.get(), len, w.memory.handle, there.addr + pos, there.key, &w));
	}
	void look(int most = 16)
	{
		port_event e[16];
		verbs_of(*p).clock += tick;
		const int n = p->ops->poll(*p, e, most);
		for (int i = 0; i < n; i++)
			handle(e[i]);
	}
	size_t open() const
	{
		return static_cast<size_t>(std::count_if(works.begin(), works.end(),
							 [](const auto &w) { return w->is == fate::in_flight; }));
	}
	void forget() // removes finished work
	{
		while (!works.empty() && (works.front()->is == fate::good || works.front()->is == fate::bad)) {
			p->ops->conceal(*p, works.front()->memory);
			works.pop_front();
		}
	}
	void let_go(uint64_t number) // an address, whatever is pending; the link does not do that
	{
		p->ops->remove(*p, number);
		for (const auto &w : works)
			w->is = w->is == fate::in_flight ? fate::let_go : w->is;
	}
	std::string why(uint64_t number) { return p->ops->trouble(*p, number); }

	int last = 0;

private:
	void handle(const port_event &e)
	{
		switch (e.kind) {
		case port_event_kind::received:
			came.emplace_back(e.bytes, e.len, e.line);
			if (keeps)
				kept.push_back(e.buffer);
			else
				p->ops->give_back(*p, e.buffer);
			break;
		case port_event_kind::lost:
			lost.push_back(e.line);
			break;
		default: {
			work &w = *static_cast<work *>(e.work);
			if (w.is == fate::let_go)
				break;
			assert_true(w.is == fate::in_flight); // reported once
			w.is = e.kind == port_event_kind::failed ? fate::bad : fate::good;
			w.status = e.status;
			if (e.kind == port_event_kind::sent)
				w.bytes[0] = '!'; // the sender may reuse them
		}
		}
	}
};

template <class Done>
void look_until(std::vector<node *> nodes, Done &&done)
{
	const uint64_t end = link_model::hang_end();
	while (!done()) {
		for (node *n : nodes)
			n->look();
		assert_true(pgas_now_ns() < end);
	}
}

// a says hello on its own line, and then they trust each other, as links do. Returns b's number of the line.
inline uint64_t greet(node &a, node &b, uint64_t to_b)
{
	look_until({&a, &b}, [&] { return a.send(to_b, "hello"); });
	const auto is_hello = [](const letter &l) { return l == "hello"; };
	look_until({&a, &b}, [&] { return !a.open() && std::ranges::any_of(b.came, is_hello); });
	const auto it = std::ranges::find_if(b.came, is_hello);
	const uint64_t to_a = it->sender;
	b.came.erase(it);
	assert_true(b.p->ops->keep(*b.p, to_a));
	assert_true(b.p->ops->peer(*b.p, to_a) == a.address);
	const secret key{a.h.net->random(), a.h.net->random()};
	a.trust(to_b, key);
	b.trust(to_a, key);
	look_until({&a, &b}, [&] { return line_to(verbs_of(*b.p), to_a)->state == line_state::up; });
	return to_a;
}

struct both_ends {
	uint64_t to_b, to_a;
};
inline both_ends meet(node &a, node &b)
{
	const uint64_t to_b = a.to(b);
	return {to_b, greet(a, b, to_b)};
}

// Breaks a queue pair of h if both sides have made progress since it was connected: such a break must be repaired. Not
// while only one side trusts the other: the link cannot repair that.
inline bool break_with_mercy(network &n, host &h)
{
	for (fake_qp *q : n.qps_of(h)) {
		const fake_qp *peer = n.qp_at(q->dest);
		if (!peer || peer->dest != q->qp_num || !q->through || !peer->through || q->state != IBV_QPS_RTS ||
		    peer->state != IBV_QPS_RTS || !q->access != !peer->access || n.below(2))
			continue;
		n.break_qp(*q, n.below(2) ? n.below(12) : 0);
		return true;
	}
	return false;
}

} // namespace fake_rdma
