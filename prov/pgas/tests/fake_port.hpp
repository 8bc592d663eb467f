// SPDX-License-Identifier: BSD-3-Clause
//
// A port for tests of the link: a network inside one process. Packets to one address arrive in order, but late, and the
// port refuses them now and then; completions come in any order. It can cut an address off, kill it, and change
// packets.
#pragma once

#include "wire/net/port/net_port.hpp"

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace fake {

using namespace pgas;

// A line is the number of the peer, and a bit that tells who called: we, or the peer. More bits mark a third party that
// claims to be that peer: nobody sees packets sent there.
inline constexpr uint64_t kOurs = 1 << 16;
inline constexpr unsigned kElse = 17;

struct arrival {
	std::string bytes;
	unsigned wait; // polls of the receiver until it is delivered
	uint64_t line; // of the receiver
	// of a put: place, value, writer; a packet has no place
	uint64_t *place = nullptr;
	uint64_t value = 0, sender = 0;
	uint32_t word = 0, owner = 0;
};

struct fake_put : port_put {
	struct fake_port *port = nullptr;
	uint64_t line = 0;
};

struct fake_port : port {
	struct network *net = nullptr;
	uint16_t number = 0;
	std::deque<arrival> inbox;
	std::vector<port_event> events; // of its sends
	std::map<void *, std::unique_ptr<std::string>> lent;
	uint64_t next_key = 2;
	std::map<uint64_t, fake_put> puts;     // by receiver
	std::map<uint64_t, std::string> peers; // by line
	uint64_t trusted = 0, dropped = 0;     // lines
};

struct network {
	std::mt19937_64 random{1};
	std::map<uint16_t, fake_port *> ports;
	std::map<uint16_t, bool> cut; // packets to and from it vanish silently
	unsigned refuse_every = 7;    // every n-th send returns -FI_EAGAIN; 0: none
	unsigned delay_most = 3;
	uint64_t sends = 0;
	bool lines =
		true; // of ports opened later; false: as over a network of libfabric, where any peer may send anything
	// Changes a packet in flight; returns false to drop it. Null: packets stay as they are.
	bool (*change)(network &, std::string &) = nullptr;

	unsigned below(unsigned n) { return static_cast<unsigned>(random() % n); }
	port *open(uint16_t number, size_t packet = 16384);
};

inline fake_port &of(port &p)
{
	return static_cast<fake_port &>(p);
}
inline uint16_t number_of(const char *addr)
{
	uint16_t n;
	memcpy(&n, addr, sizeof n);
	return n;
}

inline void port_close(port *p)
{
	of(*p).net->ports.erase(of(*p).number);
	delete &of(*p);
}
inline size_t port_address(const port &p, char *out)
{
	memcpy(out, &static_cast<const fake_port &>(p).number, 2);
	return 2;
}
inline std::string port_show(const port &, const char *addr, size_t len)
{
	return len == 2 ? "fake:" + std::to_string(number_of(addr)) : "";
}
inline int port_insert(port &, const char *addr, size_t len, uint64_t *dst)
{
	*dst = len == 2 ? number_of(addr) | kOurs : 0;
	return len == 2 ? 0 : -22;
}
inline void port_remove(port &, uint64_t)
{
}
inline bool port_keep(port &, uint64_t)
{
	return true;
}
inline const std::string &port_peer(const port &base, uint64_t line)
{
	const auto number = static_cast<uint16_t>(line);
	std::string &a = const_cast<fake_port &>(static_cast<const fake_port &>(base)).peers[line];
	a.assign(reinterpret_cast<const char *>(&number), sizeof number);
	return a;
}
inline void port_trust(port &base, uint64_t, const uint64_t *)
{
	of(base).trusted++;
}
inline void port_drop(port &base, uint64_t line, const char *)
{
	of(base).dropped++;
	port_event e{port_event_kind::lost, -104};
	e.line = line;
	of(base).events.push_back(e);
}

inline port_sent send_packet(port &source, uint64_t line, const void *bytes, size_t len, void *, port_work *work)
{
	fake_port &p = of(source);
	network &n = *p.net;
	if (n.refuse_every && ++n.sends % n.refuse_every == 0)
		return {-11};
	if (line >> kElse)
		return {0, port_send::done};
	const auto it = n.ports.find(static_cast<uint16_t>(line));
	if (it == n.ports.end()) {
		p.events.push_back({port_event_kind::failed, -111, work});
		return {0};
	}
	std::string copy(static_cast<const char *>(bytes), len);
	const bool lost = n.cut[p.number] || n.cut[static_cast<uint16_t>(line)];
	if (!lost && (!n.change || n.change(n, copy)))
		it->second->inbox.push_back(
			{std::move(copy), n.below(n.delay_most + 1), p.number | (line & kOurs ? 0 : kOurs)});
	if (n.below(4) == 0)
		return {0, port_send::done};
	p.events.push_back({port_event_kind::sent, 0, work});
	return {0};
}

inline port_put *port_put_ready(port &base, uint64_t line, uint64_t)
{
	fake_port &p = of(base);
	if (p.net->below(8) == 0)
		return nullptr;
	fake_put &s = p.puts[line];
	s.ready = true;
	s.port = &p;
	s.line = line;
	return &s;
}
inline int port_put_word(port_put &put, uint64_t addr, uint64_t value, size_t, uint32_t word)
{
	fake_put &s = static_cast<fake_put &>(put);
	network &n = *s.port->net;
	const auto it = n.ports.find(static_cast<uint16_t>(s.line));
	if (it == n.ports.end() || (n.refuse_every && ++n.sends % n.refuse_every == 0))
		return -11;
	if (!n.cut[s.port->number] && !n.cut[it->first])
		it->second->inbox.push_back({"", n.below(n.delay_most + 1),
					     s.port->number | (s.line & kOurs ? 0 : kOurs),
					     reinterpret_cast<uint64_t *>(addr), value, s.port->number, word, s.owner});
	return 0;
}

inline int port_poll(port &base, port_event *out, int most)
{
	fake_port &p = of(base);
	int n = 0;
	while (n < most && !p.events.empty() && p.net->below(2)) {
		const size_t i = p.net->below(static_cast<unsigned>(p.events.size()));
		out[n++] = p.events[i];
		p.events.erase(p.events.begin() + static_cast<std::ptrdiff_t>(i));
	}
	while (n < most && !p.inbox.empty()) {
		if (p.inbox.front().wait) {
			p.inbox.front().wait--;
			break;
		}
		if (const arrival &a = p.inbox.front(); a.place) {
			*a.place = a.value;
			port_event e{port_event_kind::put_received};
			e.line = a.line;
			e.word = a.word;
			out[n++] = e;
			if (const auto src = p.net->ports.find(static_cast<uint16_t>(a.sender));
			    src != p.net->ports.end()) {
				port_event done{port_event_kind::put_done};
				done.line = p.number | (a.line & kOurs ? 0 : kOurs);
				done.word = a.owner;
				src->second->events.push_back(done);
			}
			p.inbox.pop_front();
			continue;
		}
		const uint64_t line = p.inbox.front().line;
		auto bytes = std::make_unique<std::string>(std::move(p.inbox.front().bytes));
		p.inbox.pop_front();
		port_event e{port_event_kind::received, 0, nullptr, bytes->data(), bytes->size(), bytes.get(),
			     p.ops->keep ? line : 0};
		p.lent[bytes.get()] = std::move(bytes);
		out[n++] = e;
	}
	return n;
}
inline void port_give_back(port &p, void *buffer)
{
	of(p).lent.erase(buffer);
}
inline int port_expose(port &base_port, void *base, size_t, port_rights, port_memory *out)
{
	*out = {reinterpret_cast<uint64_t>(base), of(base_port).next_key++, nullptr};
	return 0;
}
inline void port_conceal(port &, port_memory &m)
{
	m = {};
}
inline bool port_gone(port &base, uint64_t, const char *addr, size_t)
{
	return !of(base).net->ports.count(number_of(addr));
}

inline port *network::open(uint16_t number, size_t packet)
{
	static constexpr port_ops ops = {
		.close = port_close,
		.address = port_address,
		.show = port_show,
		.insert = port_insert,
		.remove = port_remove,
		.keep = port_keep,
		.peer = port_peer,
		.trust = port_trust,
		.drop = port_drop,
		.send = send_packet,
		.poll = port_poll,
		.give_back = port_give_back,
		.write = nullptr,
		.read = nullptr,
		.put_ready = port_put_ready,
		.put = port_put_word,
		.expose = port_expose,
		.expose_device = nullptr,
		.conceal = port_conceal,
		.gone = port_gone,
		.life = nullptr,
		.trouble = nullptr,
		.arm = nullptr,
		.wait = nullptr,
		.ring = nullptr,
	};
	static constexpr port_ops without_lines = [](port_ops o) {
		o.keep = nullptr;
		o.peer = nullptr;
		o.trust = nullptr;
		o.drop = nullptr;
		o.put_ready = nullptr;
		o.put = nullptr;
		return o;
	}(ops);
	auto *p = new fake_port;
	p->ops = lines ? &ops : &without_lines;
	p->net = this;
	p->number = number;
	p->kind = 'f';
	p->limits = {packet, 0, false};
	p->name = "fake";
	ports[number] = p;
	return p;
}

} // namespace fake
