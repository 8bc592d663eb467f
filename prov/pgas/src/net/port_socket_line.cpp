// SPDX-License-Identifier: BSD-3-Clause
//
// Lines: who calls whom, which of two connections stays, and how they end.
#include "net_proof.hpp"
#include "port_ofi.hpp"
#include "port_socket.hpp"

#include <pgas/pgas_counter.h>

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cstring>

namespace pgas {
namespace {

constexpr uint64_t kRestLeastNs = 1'000'000; // doubled each time

void move_to(socket_port &p, socket_line &l, line_state to)
{
	const auto rests = [](line_state s) { return s == line_state::crossed || s == line_state::resting; };
	const auto unsettled = [rests](line_state s) {
		return s == line_state::calling || s == line_state::greeting || rests(s);
	};
	p.unsettled += unsettled(to);
	p.unsettled -= unsettled(l.state);
	if (rests(l.state))
		std::erase(p.resting, &l);
	if (rests(to))
		p.resting.push_back(&l);
	l.state = to;
	if (to == line_state::up)
		l.calls = 0;
	if (l.listed_up != (to == line_state::up)) {
		l.listed_up = !l.listed_up;
		if (l.listed_up)
			p.up.push_back(&l);
		else
			std::erase(p.up, &l);
	}
}

// As many lines in the log as somebody can read, however many there are.
void log_dropped(socket_port &p, const std::string &who, const char *what)
{
	p.dropped++;
	if ((p.dropped & (p.dropped - 1)) == 0)
		PGAS_WARN(FI_LOG_EP_CTRL, "link: the connection of %s was closed: it sent %s (%llu so far)\n",
			  who.c_str(), what, static_cast<unsigned long long>(p.dropped));
}

std::string show(const std::string &address)
{
	const std::string text = address_show(FI_SOCKADDR, address.data(), address.size());
	return text.empty() ? "somebody" : text;
}

bool without_delay(int fd)
{
	const int on = 1;
	return setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0;
}

void let_go(socket_port &p, socket_line &l)
{
	l.fd.reset();
	l.watched = 0;
	if (l.chunk)
		chunk_release(p, std::exchange(l.chunk, nullptr));
	l.begin = l.end = 0;
	l.has_more = false;
	l.bulk_lately = 0;
}

// It is of the first bytes of a connection, which always fit.
bool send_head(int fd, const void *bytes, size_t len)
{
	return send(fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(len);
}

// A connection that the peer did not close, or that has something for us.
bool alive(int fd)
{
	char one;
	const ssize_t n = recv(fd, &one, 1, MSG_DONTWAIT | MSG_PEEK);
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR));
}

bool same_host(const sockaddr_storage &a, const std::string &address)
{
	char raw[128];
	if (!address_unpack(FI_SOCKADDR, address.data(), address.size(), raw, sizeof raw))
		return false;
	if (a.ss_family == AF_INET && address.size() == 6)
		return memcmp(&reinterpret_cast<const sockaddr_in &>(a).sin_addr, address.data(), 4) == 0;
	return a.ss_family == AF_INET6 && address.size() == 18 &&
	       memcmp(&reinterpret_cast<const sockaddr_in6 &>(a).sin6_addr, address.data(), 16) == 0;
}

// Lines that nobody asked for: what strangers can make this process keep is bounded.
void forget_unknown(socket_port &p)
{
	size_t unknown = 0;
	socket_line *oldest = nullptr;
	for (const auto &l : p.lines) {
		if (l->users)
			continue;
		unknown++;
		oldest = oldest ? oldest : l.get();
	}
	if (unknown > p.unknown_most)
		p.dead_lines.push_back(line_take_out(p, *oldest));
}

void adopt(socket_port &p, socket_line &l, unique_fd fd)
{
	let_go(p, l);
	l.fd = std::move(fd);
	line_watch(p, l, EPOLLIN);
	move_to(p, l, line_state::up);
	const record_head welcome = head_of(record_kind::welcome, 0);
	if (!send_head(l.fd.get(), &welcome, sizeof welcome))
		line_lost(p, l, -FI_ECONNRESET, "it let go of its call");
}

void caller_known(socket_port &p, unique_fd fd, const std::string &address)
{
	const auto it = p.by_address.find(address);
	socket_line *l = it == p.by_address.end() ? nullptr : it->second;
	if (l && l->state == line_state::up && !alive(l->fd.get()))
		line_lost(p, *l, -FI_ECONNRESET, "the peer closed the connection");
	if (l && l->state == line_state::up) {
		if (alive(fd.get())) // else it let go of this call when ours came
			log_dropped(p, show(address), "a second greeting, and the first connection works");
		return;
	}
	if (l && (l->state == line_state::calling || l->state == line_state::greeting) && p.address < address) {
		const record_head crossed = head_of(record_kind::crossed, 0);
		send_head(fd.get(), &crossed, sizeof crossed);
		return;
	}
	if (!l || l->state == line_state::failed)
		l = &line_new(p, address);
	adopt(p, *l, std::move(fd));
	forget_unknown(p);
}

void no_descriptors(socket_port &p, const char *what)
{
	if (!std::exchange(p.told_of_descriptors, true))
		PGAS_WARN(FI_LOG_EP_CTRL,
			  "link: %s: this process may open no more files (one per process that it talks to): raise "
			  "ulimit -n\n",
			  what);
}

// Where there is no descriptor for a caller it shall hear so, and not be asked for ever.
bool refuse_caller(socket_port &p)
{
	if (!p.reserve)
		return false;
	p.reserve.reset();
	const bool refused = bool(unique_fd(accept4(p.listener.fd.get(), nullptr, nullptr, SOCK_CLOEXEC)));
	p.reserve = unique_fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
	return refused;
}

} // namespace

socket_line &line_new(socket_port &p, const std::string &address)
{
	p.lines.push_back(std::make_unique<socket_line>());
	socket_line &l = *p.lines.back();
	l.address = address;
	p.by_address[address] = &l;
	return l;
}

std::unique_ptr<socket_line> line_take_out(socket_port &p, socket_line &l)
{
	move_to(p, l, line_state::failed);
	let_go(p, l);
	std::erase_if(p.told,
		      [&l](const port_event &e) { return e.kind == port_event_kind::lost && e.to == number_of(l); });
	if (const auto it = p.by_address.find(l.address); it != p.by_address.end() && it->second == &l)
		p.by_address.erase(it);
	if (l.listed_pending)
		std::erase(p.pending, &l);
	const auto at = std::ranges::find_if(p.lines, [&l](const auto &mine) { return mine.get() == &l; });
	std::unique_ptr<socket_line> out = std::move(*at);
	p.lines.erase(at);
	return out;
}

bool watch(socket_port &p, socket_watched &w)
{
	epoll_event e{};
	e.events = EPOLLIN;
	e.data.ptr = &w;
	return epoll_ctl(p.epoll.get(), EPOLL_CTL_ADD, w.fd.get(), &e) == 0;
}

void line_watch(socket_port &p, socket_line &l, uint32_t events)
{
	if (l.watched == events)
		return;
	epoll_event e{};
	e.events = events;
	e.data.ptr = static_cast<socket_watched *>(&l);
	epoll_ctl(p.epoll.get(), l.watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, l.fd.get(), &e);
	l.watched = events;
}

void line_lost(socket_port &p, socket_line &l, int status, const std::string &why)
{
	if (l.state == line_state::failed)
		return;
	move_to(p, l, line_state::failed);
	let_go(p, l);
	l.trouble = why;
	const auto failed = [&](port_work *w) {
		if (w)
			p.told.push_back({port_event_kind::failed, status, w});
	};
	failed(std::exchange(l.bulk, {}).work);
	for (const record_out &r : l.out)
		failed(r.work);
	for (const read_out &r : l.reads)
		failed(r.work);
	l.out.clear();
	l.reads.clear();
	l.answers = 0;
	if (l.users) {
		port_event e{port_event_kind::lost, status};
		e.to = number_of(l);
		p.told.push_back(e);
	}
}

void line_drop(socket_port &p, socket_line &l, const char *what)
{
	log_dropped(p, show(l.address), what);
	line_lost(p, l, -FI_ECONNRESET, std::string("it sent ") + what);
}

// --- calling ---------------------------------------------------------------------------------------------------------

void line_call(socket_port &p, socket_line &l)
{
	char raw[128];
	address_unpack(FI_SOCKADDR, l.address.data(), l.address.size(), raw, sizeof raw);
	auto *const to = reinterpret_cast<sockaddr *>(raw);
	unique_fd fd(socket(to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
	if (!fd && (errno == EMFILE || errno == ENFILE))
		no_descriptors(p, "cannot call a peer");
	// from the interface whose address the peer was told, so that it can see that it is us
	sockaddr_storage from = p.own;
	if (from.ss_family == AF_INET6) {
		reinterpret_cast<sockaddr_in6 &>(from).sin6_port = 0;
		reinterpret_cast<sockaddr_in6 *>(to)->sin6_scope_id =
			reinterpret_cast<sockaddr_in6 &>(from).sin6_scope_id;
	} else {
		reinterpret_cast<sockaddr_in &>(from).sin_port = 0;
	}
	const int on = 1;
	if (!fd || !without_delay(fd.get()) ||
	    setsockopt(fd.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on) != 0 ||
	    bind(fd.get(), reinterpret_cast<sockaddr *>(&from), p.own_len) != 0 ||
	    (connect(fd.get(), to, p.own_len) != 0 && errno != EINPROGRESS)) {
		const int err = errno;
		line_lost(p, l, -err, strerror(err));
		return;
	}
	l.fd = std::move(fd);
	l.calls++;
	move_to(p, l, line_state::calling);
	line_watch(p, l, EPOLLOUT);
}

void line_connected(socket_port &p, socket_line &l)
{
	int err = 0;
	socklen_t room = sizeof err;
	getsockopt(l.fd.get(), SOL_SOCKET, SO_ERROR, &err, &room);
	hello_record h{};
	h.head = head_of(record_kind::hello, p.address.size());
	memcpy(h.address, p.address.data(), p.address.size());
	if (!err && !send_head(l.fd.get(), &h, sizeof h))
		err = errno;
	if (err) {
		line_unanswered(p, l, err, strerror(err));
		return;
	}
	move_to(p, l, line_state::greeting);
	line_watch(p, l, EPOLLIN);
}

void line_welcomed(socket_port &p, socket_line &l)
{
	move_to(p, l, line_state::up);
}

// The peer calls us: that call stays, and may be here already. If it never comes, because the peer changed its mind, we
// call again.
void line_crossed(socket_port &p, socket_line &l)
{
	if (l.calls >= kCallsMost) {
		line_lost(p, l, -FI_ECONNRESET, "it said that it calls us, and did not");
		return;
	}
	let_go(p, l);
	l.call_at = pgas_now_ns() + p.rest_most_ns;
	move_to(p, l, line_state::crossed);
}

// Whoever has too many callers at once lets the oldest go. Nothing was sent by this call but who we are, so another one
// may follow. Not all at the same moment: those who were let go together shall not come together again.
void line_unanswered(socket_port &p, socket_line &l, int err, const std::string &why)
{
	if ((err != ECONNRESET && err != EPIPE) || l.calls >= kCallsMost) {
		line_lost(p, l, -err, why);
		return;
	}
	let_go(p, l);
	const uint64_t rest = std::min(kRestLeastNs << (l.calls - 1), p.rest_most_ns);
	l.call_at = pgas_now_ns() + rest / 2 + random_word() % rest;
	move_to(p, l, line_state::resting);
}

void rested_call(socket_port &p)
{
	const uint64_t now = pgas_now_ns();
	for (size_t i = p.resting.size(); i-- > 0;)
		if (socket_line &l = *p.resting[i]; now >= l.call_at)
			line_call(p, l); // which takes it out
}

// --- being called ----------------------------------------------------------------------------------------------------

void callers_accept(socket_port &p)
{
	for (;;) {
		unique_fd fd(accept4(p.listener.fd.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
		if (!fd && (errno == EMFILE || errno == ENFILE)) {
			no_descriptors(p, "a peer called and was refused");
			if (refuse_caller(p))
				continue;
		}
		if (!fd && (errno == ECONNABORTED || errno == EINTR))
			continue;
		if (!fd)
			return;
		without_delay(fd.get());
		if (p.callers.size() == kCallersMost)
			caller_read(p, p.callers.front().get()); // it may have said hello meanwhile
		if (p.callers.size() == kCallersMost) {
			log_dropped(p, "a caller", "no greeting, and others wait");
			p.dead_callers.push_back(std::move(p.callers.front()));
			p.dead_callers.back()->fd.reset();
			p.callers.erase(p.callers.begin());
		}
		p.callers.push_back(std::make_unique<socket_caller>());
		socket_caller &c = *p.callers.back();
		c.fd = std::move(fd);
		watch(p, c);
	}
}

void caller_read(socket_port &p, socket_caller *c)
{
	const auto it = std::ranges::find_if(p.callers, [c](const auto &mine) { return mine.get() == c; });
	const ssize_t n = recv(c->fd.get(), c->bytes + c->got, sizeof c->bytes - c->got, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return;
	c->got += n > 0 ? static_cast<size_t>(n) : 0;
	hello_record h{};
	memcpy(&h, c->bytes, c->got);
	const bool ours = c->got < sizeof h.head ||
			  (h.head.magic == kRecordMagic && h.head.version == kRecordVersion &&
			   h.head.kind == record_kind::hello && h.head.bytes <= sizeof h.address);
	if (n > 0 && ours && c->got < sizeof h)
		return;
	unique_fd fd = std::move(c->fd);
	p.dead_callers.push_back(std::move(*it));
	p.callers.erase(it);
	if (!ours) {
		log_dropped(p, "a caller", "what is not of this protocol, or of another version");
		return;
	}
	if (n <= 0)
		return; // it let go
	const std::string address(h.address, h.head.bytes);
	sockaddr_storage from{};
	socklen_t room = sizeof from;
	if (getpeername(fd.get(), reinterpret_cast<sockaddr *>(&from), &room) != 0)
		return; // likewise
	if (!same_host(from, address) || address == p.address) {
		log_dropped(p, show(address), "that from another host");
		return;
	}
	epoll_ctl(p.epoll.get(), EPOLL_CTL_DEL, fd.get(), nullptr);
	caller_known(p, std::move(fd), address);
}

} // namespace pgas
