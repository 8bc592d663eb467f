// SPDX-License-Identifier: BSD-3-Clause
//
// For test_port_socket*.cpp: a user of the port over sockets, which keeps what it sent until the port reports it, once,
// and what it received; and a stranger that speaks to a port through a plain socket.
#pragma once

#include "wire/net/port/port_address.hpp"
#include "wire/net/port/socket/port_socket.hpp"
#include "link_model.hpp"

#include <poll.h>

#include <cstring>
#include <map>
#include <random>
#include <set>

namespace socket_test {

using namespace pgas;

inline constexpr size_t kPacket = 4096;
inline constexpr uint64_t kAnyKey[2] = {};
inline std::set<std::string> g_nodes; // all nodes' addresses: they believe each other at once, as links do in the end

int run_call_tests(); // test_port_socket_call.cpp
int run_bad_tests();  // test_port_socket_bad.cpp
int run_fuzz();       // test_port_socket_bad.cpp
int run_tls_tests();  // test_port_socket_tls.cpp

struct dice {
	std::mt19937 engine;
	explicit dice(unsigned seed) : engine(seed) {}
	unsigned below(unsigned n) { return static_cast<unsigned>(engine() % n); }
};

enum class fate : uint8_t { in_flight, good, bad };

struct work : port_work {
	fate is = fate::in_flight;
	int status = 0;
	std::string bytes; // sent, or read
};

inline ip_interface loopback(bool six)
{
	ip_interface interface;
	interface.name = "lo";
	if (six) {
		auto &a = reinterpret_cast<sockaddr_in6 &>(interface.addr);
		a.sin6_family = AF_INET6;
		a.sin6_addr = in6addr_loopback;
		interface.len = sizeof a;
	} else {
		auto &a = reinterpret_cast<sockaddr_in &>(interface.addr);
		a.sin_family = AF_INET;
		a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		interface.len = sizeof a;
	}
	return interface;
}

// Not every host has IPv6.
inline bool has_six()
{
	std::string why;
	port *p = port_socket_at(loopback(true), {.packet = kPacket}, why);
	if (p)
		p->ops->close(p);
	return p != nullptr;
}

inline port *open_port(const port_options &options, bool six = false)
{
	std::string why;
	port *p = port_socket_at(loopback(six), options, why);
	assert_non_null(p);
	return p;
}
// TEST_TLS=1: all nodes that follow the protocol are encrypted.
inline port *open_port(bool six = false, size_t packet = kPacket)
{
	static const bool tls = getenv("TEST_TLS") != nullptr;
	return open_port({.packet = packet, .tls = tls, .secret = {1, 2}}, six);
}

struct node {
	port *p;
	std::string address;
	std::deque<std::unique_ptr<work>> works;
	std::deque<std::string> came;
	std::vector<uint64_t> lost;
	std::map<std::string, uint64_t> callers; // lines of peers that called and sent something: all are trusted
	int last = 0;
	bool believes = true; // any other node; else only senders of a packet
	size_t at_once = 0;   // packets that the call accepted in full

	explicit node(bool six = false, size_t packet = kPacket) : node(open_port(six, packet)) {}
	explicit node(const port_options &options) : node(open_port(options)) {}
	explicit node(port *open) : p(open)
	{
		char packed[kLinkAddressMost];
		address.assign(packed, p->ops->address(*p, packed));
		g_nodes.insert(address);
	}
	node(const node &) = delete;
	~node() { close(); }
	void close()
	{
		g_nodes.erase(address);
		if (p)
			p->ops->close(std::exchange(p, nullptr));
	}
	socket_port &inner() { return socket_of(*p); }
	uint64_t insert(const std::string &other)
	{
		uint64_t number = 0;
		assert_int_equal(p->ops->insert(*p, other.data(), other.size(), &number), 0);
		return number;
	}
	// Opens our own line, whose peer is believed. back(): the line of the peer's own call, if any
	uint64_t to(const std::string &other)
	{
		const uint64_t number = insert(other);
		p->ops->trust(*p, number, kAnyKey);
		return number;
	}
	uint64_t to(const node &other) { return to(other.address); }
	uint64_t back(const std::string &other)
	{
		for (const auto &l : inner().lines)
			if (l->address == other && !l->kept && trust(number_of(*l)))
				return number_of(*l);
		return callers.contains(other) ? callers.at(other) : 0;
	}
	bool trust(uint64_t line)
	{
		if (!p->ops->keep(*p, line))
			return false;
		p->ops->trust(*p, line, kAnyKey);
		callers[p->ops->peer(*p, line)] = line;
		return true;
	}
	// Returns null for "not now" or "never", with the code in `last`.
	work *take(std::unique_ptr<work> w, port_sent s)
	{
		last = s.status;
		if (s.status)
			return nullptr;
		works.push_back(std::move(w));
		if (s.packet == port_send::done) {
			at_once++;
			works.back()->is = fate::good;
			works.back()->bytes.assign(works.back()->bytes.size(), '!'); // the port may not use them now
		}
		return works.back().get();
	}
	std::unique_ptr<work> make(std::string bytes)
	{
		auto w = std::make_unique<work>();
		w->bytes = std::move(bytes);
		return w;
	}
	work *send(uint64_t number, std::string bytes)
	{
		auto w = make(std::move(bytes));
		work *const raw = w.get();
		return take(std::move(w), p->ops->send(*p, number, raw->bytes.data(), raw->bytes.size(), nullptr, raw));
	}
	work *write(uint64_t number, std::string bytes, const port_memory &there, size_t pos = 0)
	{
		auto w = make(std::move(bytes));
		work *const raw = w.get();
		const int rc = p->ops->write(*p, number, raw->bytes.data(), raw->bytes.size(), nullptr,
					     there.addr + pos, there.key, raw);
		assert_true(rc <= 0); // `done` reports it
		return take(std::move(w), {rc});
	}
	work *read(uint64_t number, size_t len, const port_memory &there, size_t pos = 0)
	{
		auto w = make(std::string(len, '?'));
		work *const raw = w.get();
		const int rc =
			p->ops->read(*p, number, raw->bytes.data(), len, nullptr, there.addr + pos, there.key, raw);
		assert_true(rc <= 0);
		return take(std::move(w), {rc});
	}
	void look(int most = 16)
	{
		port_event e[16];
		const std::vector<socket_line *> unknown = inner().unknown;
		for (const socket_line *l : unknown)
			if (believes && g_nodes.contains(l->address))
				trust(number_of(*l));
		const int n = p->ops->poll(*p, e, most);
		assert_true(n >= 0 && n <= most);
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
		while (!works.empty() && works.front()->is != fate::in_flight)
			works.pop_front();
	}
	std::string why(uint64_t number) { return p->ops->trouble(*p, number); }

private:
	void handle(const port_event &e)
	{
		switch (e.kind) {
		case port_event_kind::received:
			assert_true(e.len && e.len <= p->limits.packet);
			assert_int_equal(reinterpret_cast<uintptr_t>(e.bytes) % 8, 0);
			came.emplace_back(e.bytes, e.len);
			p->ops->give_back(*p, e.buffer);
			if (line_of(e.line).unknown)
				trust(e.line);
			break;
		case port_event_kind::lost:
			lost.push_back(e.line);
			break;
		default: {
			work &w = *static_cast<work *>(e.work);
			assert_true(w.is == fate::in_flight); // reported once
			w.is = e.kind == port_event_kind::failed ? fate::bad : fate::good;
			w.status = e.status;
			if (e.kind == port_event_kind::sent)
				w.bytes.assign(w.bytes.size(), '!');
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
			if (n->p)
				n->look();
		assert_true(pgas_now_ns() < end);
	}
}

struct shared_memory {
	node &owner;
	std::string bytes;
	port_memory m;
	explicit shared_memory(node &n, size_t len = 1 << 16, int rights = kPortRead | kPortWrite)
		: owner(n), bytes(len, '.')
	{
		assert_int_equal(
			owner.p->ops->expose(*owner.p, bytes.data(), len, static_cast<port_rights>(rights), &m), 0);
	}
	~shared_memory()
	{
		if (owner.p)
			owner.p->ops->conceal(*owner.p, m);
	}
};

// Speaks to a port through its own socket, from its own address.
struct stranger {
	unique_fd listener, fd;
	std::string address;

	explicit stranger(const node &dest)
		: listener(socket(AF_INET, SOCK_STREAM, 0)), fd(socket(AF_INET, SOCK_STREAM, 0))
	{
		ip_interface interface = loopback(false);
		auto *own = reinterpret_cast<sockaddr *>(&interface.addr);
		assert_int_equal(bind(listener.get(), own, interface.len), 0);
		assert_int_equal(listen(listener.get(), 1), 0);
		assert_int_equal(getsockname(listener.get(), own, &interface.len), 0);
		char packed[kLinkAddressMost];
		address.assign(packed, address_pack(reinterpret_cast<const char *>(own), interface.len, packed));
		char raw[128];
		assert_true(address_unpack(FI_SOCKADDR, dest.address.data(), dest.address.size(), raw, sizeof raw));
		assert_int_equal(connect(fd.get(), reinterpret_cast<sockaddr *>(raw), sizeof(sockaddr_in)), 0);
	}
	void say(const void *bytes, size_t len) { ::send(fd.get(), bytes, len, MSG_NOSIGNAL); }
	template <class Record>
	void say(const Record &r)
	{
		say(&r, sizeof r);
	}
	void hello(const std::string &as)
	{
		hello_record h{};
		h.head = head_of(record_kind::hello, as.size());
		memcpy(h.address, as.data(), as.size());
		say(h);
	}
	void hello() { hello(address); }
	// The next bytes that the port sends; fewer if it closed the connection.
	std::string hear(node &owner, size_t len)
	{
		std::string got;
		const uint64_t end = link_model::hang_end();
		while (got.size() < len) {
			owner.look();
			pollfd f{fd.get(), POLLIN, 0};
			if (poll(&f, 1, 0) != 1) {
				assert_true(pgas_now_ns() < end);
				continue;
			}
			char room[4096];
			const ssize_t n = recv(fd.get(), room, std::min(sizeof room, len - got.size()), 0);
			if (n <= 0)
				break;
			got.append(room, static_cast<size_t>(n));
		}
		return got;
	}
	bool closed(node &owner) { return hear(owner, 1).empty(); }
	bool welcome(node &owner)
	{
		const record_head want = head_of(record_kind::welcome, 0);
		const std::string got = hear(owner, sizeof(welcome_record));
		return got.size() == sizeof(welcome_record) && memcmp(got.data(), &want, sizeof want) == 0;
	}
};

} // namespace socket_test
