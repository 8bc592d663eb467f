// SPDX-License-Identifier: BSD-3-Clause
//
// The loopback wire, for tests (FI_PGAS_LOOP=1): endpoints of one process. It knows nothing of shared memory and offers
// a minimum: connections take several tries, and packets arrive late and are refused now and then. So it shows that the
// table of pgas_wire.hpp is enough, and that the rest of the provider works with a wire of few abilities: writes, reads
// and atomics are requests that the target's progress runs, and so are the bytes of long messages. It is not in the
// library that is installed, but in a second one that the tests load (prov/pgas/tests/loop/libpgas.la).
//
// Everything is in one directory of the process, under one mutex, because endpoints of several domains (and thus of
// several threads) meet there. A packet belongs to its receiver's queue as soon as it is sent.
#include "engine/pgas_ep.hpp"
#include "support/pgas_iov.hpp"
#include "engine/pgas_peer.hpp"
#include "engine/pgas_request.hpp"

#include <pgas/pgas_random.hpp>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>

namespace pgas {

extern const wire_ops g_loop_wire;

namespace {

constexpr uint32_t kSources = 1 << 20; // endpoints that one process may open in total
constexpr size_t kPacketBytes = 2048;  // of a control message
constexpr size_t kShortBytes = 1024;   // longer messages are fetched by the receiver
constexpr size_t kQueueMost = 32;      // packets that wait for one receiver; beyond that, senders must try again
constexpr uint32_t kConnectTries = 3;  // that a connection takes
constexpr uint32_t kRefuseEvery = 7;   // packets: one of them is refused; the next try succeeds
constexpr uint32_t kDelay = 2;         // polls of the receiver before it sees a packet

constexpr uint32_t kTokenMask = 0xffffff; // of tokens: addresses have little room for them

enum class packet_kind : uint8_t { message, control };

struct packet {
	packet_kind what = packet_kind::message;
	control_kind control = control_kind::request;
	uint16_t code = 0;
	uint32_t src = 0;
	bool tagged = false, is_long = false, has_data = false;
	uint64_t len = 0, tag = 0, data = 0;
	std::vector<char> bytes; // of the message or control message; for a long one, the id of the sender's operation
	uint32_t wait = kDelay;
};

struct loop_ep : wire_ep {
	uint32_t number = 0;      // the number by which receivers know us
	uint32_t token = 0;       // in our address: random, so that no other process has the same
	uint32_t posted = 0;      // packets that we tried to send
	std::deque<packet> inbox; // under the directory's mutex, like `leaving`
	bool leaving = false;
};

struct loop_peer : wire_peer {
	uint32_t token = 0;
	uint32_t tries = 0; // tries to connect
};

// Endpoints by token, and the names of all past and present ones by number: a message may outlive its sender.
struct directory {
	std::mutex mutex;
	std::map<uint32_t, loop_ep *> eps;
	std::vector<ep_name> names;
};

directory &the_directory()
{
	static directory *d = new directory; // threads may outlive static destruction
	return *d;
}

loop_ep &loop_of(wire_ep &ep)
{
	return static_cast<loop_ep &>(ep);
}

const loop_ep &loop_of(const wire_ep &ep)
{
	return static_cast<const loop_ep &>(ep);
}

loop_peer &loop_of(const peer &p)
{
	return wire_state_of<loop_peer>(p, g_loop_wire);
}

bool read_token(std::string_view part, uint32_t &token)
{
	const auto [end, err] = std::from_chars(part.data(), part.data() + part.size(), token, 16);
	return err == std::errc{} && end == part.data() + part.size() && token != 0;
}

// --- life, addresses -------------------------------------------------------------------------------------------------

int loop_domain_open(domain &dom, wire_domain **out)
{
	*out = new wire_domain{&g_loop_wire, &dom};
	return 0;
}

void loop_domain_close(wire_domain *d)
{
	delete d;
}

int loop_ep_open(wire_domain &, ep_core &ep, wire_ep **out)
{
	auto opened = std::make_unique<loop_ep>();
	opened->ops = &g_loop_wire;
	opened->ep = &ep;
	directory &d = the_directory();
	const std::lock_guard lock(d.mutex);
	if (d.names.size() == kSources) {
		PGAS_WARN(FI_LOG_EP_CTRL, "loop: this process opened %u endpoints already\n", kSources);
		return -FI_ENOSPC;
	}
	opened->number = static_cast<uint32_t>(d.names.size());
	d.names.push_back({});
	while (!opened->token || d.eps.count(opened->token)) {
		if (!random_fill(&opened->token, sizeof opened->token))
			return -errno;
		opened->token &= kTokenMask;
	}
	d.eps[opened->token] = opened.get();
	*out = opened.release();
	return 0;
}

void loop_ep_ready(wire_ep &ep)
{
	directory &d = the_directory();
	const std::lock_guard lock(d.mutex);
	d.names[loop_of(ep).number] = ep.ep->name;
}

void loop_ep_leave(wire_ep &ep)
{
	const std::lock_guard lock(the_directory().mutex);
	loop_of(ep).leaving = true;
}

void loop_ep_close(wire_ep *ep)
{
	directory &d = the_directory();
	{
		const std::lock_guard lock(d.mutex);
		d.eps.erase(loop_of(*ep).token);
	}
	delete static_cast<loop_ep *>(ep);
}

void loop_address(const wire_ep &ep, char *part, size_t room, bool)
{
	snprintf(part, room, "%x", loop_of(ep).token);
}

bool loop_canonical(std::string_view part, char *out, size_t room)
{
	uint32_t token;
	if (!read_token(part, token))
		return false;
	return snprintf(out, room, "%x", token) < static_cast<int>(room);
}

std::string loop_show(std::string_view part)
{
	return "loop=" + std::string(part);
}

int loop_cost(const wire_ep &, std::string_view part)
{
	uint32_t token;
	if (!read_token(part, token))
		return -1;
	directory &d = the_directory();
	const std::lock_guard lock(d.mutex);
	return d.eps.count(token) ? kCostBest : -1;
}

// --- connections -----------------------------------------------------------------------------------------------------

int loop_connect(wire_ep &, peer &dest, std::string_view part)
{
	uint32_t token;
	if (!read_token(part, token))
		return -FI_EINVAL;
	if (!dest.wire_state) {
		auto p = std::make_unique<loop_peer>();
		p->token = token;
		dest.wire_state = own_wire_peer(std::move(p));
	}
	return ++loop_of(dest).tries < kConnectTries ? -FI_EAGAIN : 0;
}

void loop_disconnect(peer &)
{
	// peer::wire_state is all that there is
}

bool loop_departed(const peer &p)
{
	directory &d = the_directory();
	const std::lock_guard lock(d.mutex);
	const auto it = p.wire_state ? d.eps.find(loop_of(p).token) : d.eps.end();
	return p.wire_state && (it == d.eps.end() || it->second->leaving);
}

bool loop_silent(const wire_ep &ep, const peer &p)
{
	if (!loop_departed(p))
		return false;
	const std::lock_guard lock(the_directory().mutex);
	return loop_of(ep).inbox.empty();
}

bool loop_bury(peer &)
{
	return true; // nothing of the peer is mapped
}

uint64_t loop_sender(const wire_ep &, uint32_t src, ep_name *name)
{
	directory &d = the_directory();
	const std::lock_guard lock(d.mutex);
	if (name)
		*name = d.names[src];
	return src; // numbers are never reused
}

// --- sending ---------------------------------------------------------------------------------------------------------

int post(peer &dest, packet &&p)
{
	loop_ep &source = loop_of(*dest.owner);
	directory &d = the_directory();
	const std::lock_guard lock(d.mutex);
	const auto it = d.eps.find(loop_of(dest).token);
	if (it == d.eps.end() || it->second->leaving)
		return -FI_ECONNRESET;
	if (++source.posted % kRefuseEvery == 0 || it->second->inbox.size() >= kQueueMost)
		return -FI_EAGAIN;
	p.src = source.number;
	it->second->inbox.push_back(std::move(p));
	domain_wake_sleepers(it->second->ep->dom); // under the mutex: the domain cannot close meanwhile
	return 0;
}

int loop_one_sided(wire_ep &ep, peer &p, op &o)
{
	return request_submit(ep, p, std::move(o));
}

packet message_of(const op &o)
{
	packet m;
	m.tagged = o.tagged;
	m.has_data = o.carries_data;
	m.len = o.len;
	m.tag = o.tag;
	m.data = o.data;
	return m;
}

int loop_send(wire_ep &ep, peer &dest, op &o)
{
	packet m = message_of(o);
	if (o.len <= kShortBytes && !(o.flags & FI_DELIVERY_COMPLETE)) {
		m.bytes.resize(o.len);
		iov_gather(o.iov, o.iov_count, 0, m.bytes.data(), o.len);
		return post(dest, std::move(m));
	}
	op *kept = op_keep(ep, std::move(o), &dest);
	if (!kept)
		return -FI_EIO;
	m.is_long = true;
	m.bytes.resize(sizeof kept->id);
	memcpy(m.bytes.data(), &kept->id, sizeof kept->id);
	if (const int err = post(dest, std::move(m))) {
		op_take_back(ep, kept, o);
		return err;
	}
	return kKept;
}

int loop_send_pieces(peer &dest, const void *head, size_t head_len, const void *data, size_t len)
{
	packet m;
	m.len = head_len + len;
	m.bytes.resize(m.len);
	memcpy(m.bytes.data(), head, head_len);
	if (len)
		memcpy(m.bytes.data() + head_len, data, len);
	return post(dest, std::move(m));
}

int loop_control(peer &dest, const control &c)
{
	packet m;
	m.what = packet_kind::control;
	m.control = c.kind;
	m.code = c.code;
	m.len = c.len;
	m.data = c.data;
	m.bytes.resize(c.head_len + c.iov_len);
	if (c.head_len)
		memcpy(m.bytes.data(), c.head, c.head_len);
	iov_gather(c.iov, c.iov_count, c.skip, m.bytes.data() + c.head_len, c.iov_len);
	return post(dest, std::move(m));
}

size_t loop_control_room(const peer &)
{
	return kPacketBytes;
}

// --- receiving -------------------------------------------------------------------------------------------------------

// Takes the first packet if it has waited long enough: they arrive in order.
bool next_packet(loop_ep &ep, packet &out)
{
	const std::lock_guard lock(the_directory().mutex);
	if (ep.inbox.empty())
		return false;
	if (ep.inbox.front().wait) {
		ep.inbox.front().wait--;
		return false;
	}
	out = std::move(ep.inbox.front());
	ep.inbox.pop_front();
	return true;
}

void handle(loop_ep &ep, const packet &p)
{
	if (p.what == packet_kind::message) {
		rx_deliver({.ep = &ep,
			    .src = p.src,
			    .tagged = p.tagged,
			    .is_long = p.is_long,
			    .has_data = p.has_data,
			    .len = p.len,
			    .tag = p.tag,
			    .data = p.data,
			    .bytes = p.bytes.data(),
			    .bytes_len = p.bytes.size()});
		return;
	}
	switch (p.control) {
	case control_kind::request:
		request_run(ep, p.src, p.code, p.bytes.data(), p.bytes.size());
		break;
	case control_kind::response:
		response_take(ep, p.bytes.data(), p.bytes.size());
		break;
	case control_kind::cq_data:
		rx_deliver_data(ep, p.src, p.len, p.data);
		break;
	}
}

bool loop_progress(wire_ep &base_ep)
{
	loop_ep &ep = loop_of(base_ep);
	bool moved = false;
	packet p;
	while (next_packet(ep, p)) {
		handle(ep, p);
		moved = true;
	}
	if (ep.keeps())
		moved |= request_push_all(ep);
	return moved;
}

// A delayed packet must be polled for again; no poll word signals it.
bool loop_retries(const wire_ep &ep)
{
	if (request_retries(ep))
		return true;
	const std::lock_guard lock(the_directory().mutex);
	return !loop_of(ep).inbox.empty();
}

// Everything is a request, and requests run in the order of submission.
bool loop_in_order(const peer &)
{
	return true;
}

bool loop_settle(wire_ep &)
{
	return true; // no endpoint of this process dies alone
}

// Runs when the library is loaded.
[[gnu::constructor]] void join_wires()
{
	g_test_wire = &g_loop_wire;
}

} // namespace

constinit const wire_ops g_loop_wire = {
	.name = "lo",
	.limits = {.sources = kSources},
	.domain_open = loop_domain_open,
	.domain_close = loop_domain_close,
	.ep_open = loop_ep_open,
	.ep_ready = loop_ep_ready,
	.ep_leave = loop_ep_leave,
	.ep_close = loop_ep_close,
	.address = loop_address,
	.canonical = loop_canonical,
	.show = loop_show,
	.cost = loop_cost,
	.connect = loop_connect,
	.disconnect = loop_disconnect,
	.departed = loop_departed,
	.silent = loop_silent,
	.bury = loop_bury,
	.rma = loop_one_sided,
	.amo = loop_one_sided,
	.send = loop_send,
	.send_pieces = loop_send_pieces,
	.pull = request_pull_announced,
	.discard = request_discard_announced,
	.pull_over = request_long_done,
	.sender = loop_sender,
	.control = loop_control,
	.control_room = loop_control_room,
	.settle = loop_settle,
	.progress = loop_progress,
	.retries = loop_retries,
	.noticed = [](const wire_ep &) { return false; },
	.in_order = loop_in_order,
};

} // namespace pgas
