// SPDX-License-Identifier: BSD-3-Clause
//
// Lines: how ours call, how all end, and whether a silent one may still come back.
#include "wire/net/port/port_address.hpp"
#include "port_socket.hpp"

#include <pgas/pgas_proof.hpp>

#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cstring>

namespace pgas {
namespace {

constexpr int kAskMostSeconds = 5;   // the kernel asks a silent host at least this often
constexpr int kKeepAliveTries = 127; // the link's patience decides, not the kernel's
#ifndef TCP_RTO_MAX_MS
constexpr int TCP_RTO_MAX_MS = 44; // Linux 6.15
#endif
constexpr int kRepeatMostMs = 1000;
constexpr int kNeverMs = 86'400'000;
constexpr int kLeaveMs = 5000; // time for acknowledgements after we close
constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kAnswerMs = 1000; // how long an acknowledgement may take

void move_to(socket_port &p, socket_line &l, line_state dest)
{
	const auto unsettled = [](line_state s) { return s == line_state::calling || s == line_state::greeting; };
	p.unsettled += unsettled(dest);
	p.unsettled -= unsettled(l.state);
	l.state = dest;
	const bool up = dest == line_state::up && !l.unknown;
	if (l.listed_up == up)
		return;
	l.listed_up = up;
	if (up)
		p.up.push_back(&l);
	else
		std::erase(p.up, &l);
}

// Sets how long the kernel continues without an acknowledgement.
void set_user_timeout(int fd, int ms)
{
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
}

// Seconds between two keepalive questions: less than patience, so that the last answer is never as old.
int ask_seconds(uint64_t patience_ns)
{
	return static_cast<int>(std::clamp<uint64_t>(patience_ns / 4'000'000'000, 1, kAskMostSeconds));
}

void let_go(socket_port &p, socket_line &l)
{
	line_leave(l);
	l.fd.reset();
	l.watched = 0;
	if (l.chunk)
		chunk_release(p, std::exchange(l.chunk, nullptr));
	l.begin = l.end = 0;
	l.has_more = false;
	l.bulk_lately = 0;
}

void no_longer_unknown(socket_port &p, socket_line &l)
{
	if (std::exchange(l.unknown, false))
		std::erase(p.unknown, &l);
}

// Calls from the interface whose address the peer was told, so that it can recognize us.
bool begin_call(const socket_port &p, socket_line &l, int fd)
{
	char raw[128];
	address_unpack(FI_SOCKADDR, l.address.data(), l.address.size(), raw, sizeof raw);
	auto *const dst = reinterpret_cast<sockaddr *>(raw);
	sockaddr_storage source = p.own;
	if (source.ss_family == AF_INET6) {
		reinterpret_cast<sockaddr_in6 &>(source).sin6_port = 0;
		reinterpret_cast<sockaddr_in6 *>(dst)->sin6_scope_id =
			reinterpret_cast<sockaddr_in6 &>(source).sin6_scope_id;
	} else {
		reinterpret_cast<sockaddr_in &>(source).sin_port = 0;
	}
	const int enable = 1;
	return setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &enable, sizeof enable) == 0 &&
	       bind(fd, reinterpret_cast<sockaddr *>(&source), p.own_len) == 0 &&
	       (connect(fd, dst, p.own_len) == 0 || errno == EINPROGRESS);
}

} // namespace

// Sends without delay, and makes the kernel ask a silent host now and then whether it is there. If the kernel can, it
// repeats lost data every second instead of at intervals that double. It must not give up before the link does: by
// default it counts its tries, which are then over after 15 s.
bool prepare_socket(const socket_port &p, int fd)
{
	const int enable = 1, ask = ask_seconds(p.patience_ns);
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &enable, sizeof enable);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &ask, sizeof ask);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &ask, sizeof ask);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &kKeepAliveTries, sizeof kKeepAliveTries);
	setsockopt(fd, IPPROTO_TCP, TCP_RTO_MAX_MS, &kRepeatMostMs, sizeof kRepeatMostMs);
	set_user_timeout(fd, static_cast<int>(std::min<uint64_t>(3 * p.patience_ns / kMs + 30'000, kNeverMs)));
	return setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &enable, sizeof enable) == 0;
}

// Otherwise the kernel would continue for as long as the link would, for a host that may be gone.
void line_leave(const socket_line &l)
{
	if (l.fd)
		set_user_timeout(l.fd.get(), kLeaveMs);
}

// For the first bytes of a connection, which always fit.
bool send_head(int fd, const void *bytes, size_t len)
{
	return send(fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(len);
}

socket_line &line_new(socket_port &p, const std::string &address)
{
	p.lines.push_back(std::make_unique<socket_line>());
	socket_line &l = *p.lines.back();
	l.address = address;
	return l;
}

// The line stays allocated, as failed, until the next poll(): reported events may still name it.
void line_remove(socket_port &p, socket_line &l)
{
	move_to(p, l, line_state::failed);
	no_longer_unknown(p, l);
	l.kept = false;
	let_go(p, l);
	std::erase_if(p.found,
		      [&l](const port_event &e) { return e.kind == port_event_kind::lost && e.line == number_of(l); });
	if (std::exchange(l.listed_pending, false))
		std::erase(p.pending, &l);
	const auto place = std::ranges::find_if(p.lines, [&l](const auto &mine) { return mine.get() == &l; });
	if (place == p.lines.end())
		return;
	p.dead_lines.push_back(std::move(*place));
	p.lines.erase(place);
}

bool watch_descriptor(socket_port &p, socket_watched &w)
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
			p.found.push_back({port_event_kind::failed, status, w});
	};
	failed(std::exchange(l.bulk, {}).work);
	for (const record_out &r : l.out)
		failed(r.work);
	for (const read_out &r : l.reads)
		failed(r.work);
	l.out.clear();
	l.reads.clear();
	l.answers = 0;
	if (!l.kept) {
		line_remove(p, l);
		return;
	}
	no_longer_unknown(p, l);
	port_event e{port_event_kind::lost, status};
	e.line = number_of(l);
	p.found.push_back(e);
}

void line_drop(socket_port &p, socket_line &l, const char *what, int status)
{
	log_dropped(p, address_claimed(l.address), what);
	line_lost(p, l, status, std::string("it sent ") + what);
}

void line_trust(socket_port &p, socket_line &l)
{
	no_longer_unknown(p, l);
	l.trusted = true;
	move_to(p, l, l.state);
}

// --- calling ---------------------------------------------------------------------------------------------------------

void line_call(socket_port &p, socket_line &l)
{
	unique_fd fd(socket(p.own.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
	if (!fd && (errno == EMFILE || errno == ENFILE))
		complain_of_descriptors(p, "cannot call a peer");
	if (!fd || !prepare_socket(p, fd.get()) || !begin_call(p, l, fd.get())) {
		const int err = errno;
		line_lost(p, l, -err, strerror(err));
		return;
	}
	l.fd = std::move(fd);
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
	for (size_t i = 0; i < std::size(l.nonce); i++)
		h.nonce[i] = l.nonce[i] = random_word();
	h.features = p.tls ? kRecordTls : 0;
	if (!err && !send_head(l.fd.get(), &h, sizeof h))
		err = errno;
	if (err) {
		line_lost(p, l, -err, strerror(err));
		return;
	}
	move_to(p, l, line_state::greeting);
	line_watch(p, l, EPOLLIN);
}

void line_answered(socket_port &p, socket_line &l, const welcome_record &r)
{
	const bool tls = r.features & kRecordTls;
	if (r.head.kind == record_kind::refuse || tls != p.tls) {
		line_lost(p, l, -ECONNREFUSED,
			  "one side encrypts and the other does not: set FI_PGAS_NET_TLS to the same on all hosts");
		return;
	}
	std::string why;
	if (p.tls && !tls_begin(l.fd.get(), p, {tls_side::caller, l.nonce, r.nonce, p.address, l.address}, why)) {
		line_lost(p, l, -EPROTO, why);
		return;
	}
	move_to(p, l, line_state::up);
}

void line_adopt(socket_port &p, socket_line &l, unique_fd fd)
{
	l.fd = std::move(fd);
	l.unknown = true;
	p.unknown.push_back(&l);
	line_watch(p, l, EPOLLIN);
	move_to(p, l, line_state::up);
}

// --- silence ---------------------------------------------------------------------------------------------------------

// For a connection that has not failed. The peer's kernel acknowledges what it gets, asked for or not (the keepalive),
// as long as the process has the connection, even if it is stopped: after a recent acknowledgement, the peer is there.
// If its memory is full and it accepts nothing, it is asked more and more rarely; two questions without an answer mean
// that it is gone. Our kernel sees such a host acknowledge nothing, so its own timeout is practically removed from then
// on. Otherwise something of ours is being repeated: what was sent after the patience was over must be acknowledged
// soon.
port_life line_life(const socket_line &l, uint64_t silent_ns, uint64_t patience_ns)
{
	tcp_info i{};
	socklen_t room = sizeof i;
	if (!l.fd || getsockopt(l.fd.get(), IPPROTO_TCP, TCP_INFO, &i, &room) != 0)
		return port_life::lost;
	if (l.state == line_state::calling)
		return port_life::retrying;
	const uint64_t patience = patience_ns / kMs, acked = i.tcpi_last_ack_recv, sent = i.tcpi_last_data_sent;
	int unsent = 0;
	const bool full = !i.tcpi_unacked && ioctl(l.fd.get(), SIOCOUTQNSD, &unsent) == 0 && unsent;
	if (full)
		set_user_timeout(l.fd.get(), kNeverMs);
	if (acked < std::max(patience, (2 * static_cast<uint64_t>(ask_seconds(patience_ns)) + 1) * 1000))
		return port_life::reachable;
	if (full)
		return i.tcpi_probes < 2 ? port_life::reachable : port_life::lost;
	if (!i.tcpi_unacked)
		return port_life::lost; // the keepalive has no answer
	const uint64_t silent = std::min(silent_ns / kMs, acked);
	const bool tried_since = sent + patience < silent;
	return tried_since && sent > kAnswerMs ? port_life::lost : port_life::retrying;
}

} // namespace pgas
