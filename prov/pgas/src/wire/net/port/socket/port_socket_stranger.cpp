// SPDX-License-Identifier: BSD-3-Clause
//
// Processes that call this one: callers, which connected and did not say who they are, and unknown lines, whose hello
// arrived but which the link does not trust yet. Anybody may be either, so their number, their lifetime and their log
// lines are bounded.
#include "wire/net/port/port_address.hpp"
#include "port_socket.hpp"

#include <pgas/pgas_counter.h>
#include <pgas/pgas_proof.hpp>

#include <fcntl.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cstring>

namespace pgas {
namespace {

constexpr uint64_t kCallerNs = 2'000'000'000;
constexpr uint64_t kCheckNs = 1'500'000'000; // between checks by a sleeping process; longer: no thread polled
constexpr uint64_t kDeafNs = 100'000'000;    // pause if callers cannot be accepted

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

// --- unknown lines ---------------------------------------------------------------------------------------------------

void forget_oldest(socket_port &p)
{
	line_lost(p, *p.unknown.front(), -FI_ECONNRESET, "others want its place");
}

// Takes a valid hello. The welcome is sent in plain text, the bytes after it may be encrypted.
void caller_known(socket_port &p, unique_fd fd, const hello_record &h)
{
	const std::string address(h.address, h.head.bytes);
	welcome_record w{};
	w.head = head_of(record_kind::welcome, 0);
	w.features = p.tls ? kRecordTls : 0;
	for (uint64_t &n : w.nonce)
		n = random_word();
	if (h.features != w.features) {
		w.head = head_of(record_kind::refuse, static_cast<size_t>(record_refusal::tls));
		send_head(fd.get(), &w, sizeof w);
		log_dropped(p, address_claimed(address), "a hello that differs from us in FI_PGAS_NET_TLS");
		return;
	}
	if (!send_head(fd.get(), &w, sizeof w))
		return; // the caller closed
	std::string why;
	if (p.tls && !tls_begin(fd.get(), p, {tls_side::callee, h.nonce, w.nonce, address, p.address}, why)) {
		log_dropped(p, address_claimed(address), why.c_str());
		return;
	}
	if (p.unknown.size() >= p.unknown_most)
		forget_oldest(p);
	socket_line &l = line_new(p, address);
	l.born_at = pgas_now_ns();
	line_adopt(p, l, std::move(fd));
}

// --- callers ---------------------------------------------------------------------------------------------------------

unique_fd caller_take_out(socket_port &p, socket_caller *c)
{
	const auto it = std::ranges::find_if(p.callers, [c](const auto &mine) { return mine.get() == c; });
	unique_fd fd = std::move(c->fd);
	p.dead_callers.push_back(std::move(*it));
	p.callers.erase(it);
	return fd;
}

// If there is no descriptor for a caller, a stranger makes room; otherwise the caller is closed at once, so that epoll
// does not report it forever.
bool make_room(socket_port &p)
{
	if (!p.unknown.empty()) {
		forget_oldest(p);
		return true;
	}
	if (p.callers.size() > 1) {
		caller_take_out(p, p.callers.front().get());
		return true;
	}
	if (!p.reserve)
		return false;
	p.reserve.reset();
	const bool refused = bool(unique_fd(accept4(p.listener.fd.get(), nullptr, nullptr, SOCK_CLOEXEC)));
	p.reserve = unique_fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
	return refused;
}

// Callers cannot be accepted, for the kernel's reason `err`. Stops watching the listener, because epoll would report
// them again and again.
void be_deaf(socket_port &p, int err)
{
	log_dropped(p, "a caller", strerror(err));
	epoll_ctl(p.epoll.get(), EPOLL_CTL_DEL, p.listener.fd.get(), nullptr);
	p.deaf_until = pgas_now_ns() + kDeafNs;
}

void caller_add(socket_port &p, unique_fd fd)
{
	prepare_socket(p, fd.get());
	if (p.callers.size() >= p.callers_most)
		caller_read(p, p.callers.front().get()); // it may have said hello meanwhile
	if (p.callers.size() >= p.callers_most) {
		log_dropped(p, "a caller", "no greeting, and others wait");
		caller_take_out(p, p.callers.front().get());
	}
	p.callers.push_back(std::make_unique<socket_caller>());
	socket_caller &c = *p.callers.back();
	c.fd = std::move(fd);
	c.born_at = pgas_now_ns();
	watch_descriptor(p, c);
}

bool is_hello(const hello_record &h, size_t got)
{
	return got < sizeof h.head || (h.head.magic == kRecordMagic && h.head.version == kRecordVersion &&
				       h.head.kind == record_kind::hello && h.head.bytes <= sizeof h.address);
}

} // namespace

void complain_of_descriptors(socket_port &p, const char *what)
{
	if (!std::exchange(p.told_of_descriptors, true))
		PGAS_WARN(FI_LOG_EP_CTRL,
			  "link: %s: this process may open no more files (one per process that it talks to): raise "
			  "ulimit -n\n",
			  what);
}

void callers_accept(socket_port &p)
{
	for (;;) {
		unique_fd fd(accept4(p.listener.fd.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
		if (fd) {
			caller_add(p, std::move(fd));
			continue;
		}
		const int err = errno;
		if (err == EAGAIN || err == EWOULDBLOCK)
			return;
		if (err == ECONNABORTED || err == EINTR)
			continue;
		if (err == EMFILE || err == ENFILE) {
			complain_of_descriptors(p, "a peer called and there was no room for it");
			if (make_room(p))
				continue;
		}
		be_deaf(p, err);
		return;
	}
}

void caller_read(socket_port &p, socket_caller *c)
{
	const ssize_t n = recv(c->fd.get(), c->bytes + c->got, sizeof c->bytes - c->got, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return;
	c->got += n > 0 ? static_cast<size_t>(n) : 0;
	hello_record h{};
	memcpy(&h, c->bytes, c->got);
	const bool ours = is_hello(h, c->got);
	if (n > 0 && ours && c->got < sizeof h)
		return;
	unique_fd fd = caller_take_out(p, c);
	if (!ours) {
		log_dropped(p, "a caller", "it sent what is not of this protocol, or of another version");
		return;
	}
	if (n <= 0)
		return; // the caller closed
	const std::string address(h.address, h.head.bytes);
	sockaddr_storage source{};
	socklen_t room = sizeof source;
	if (getpeername(fd.get(), reinterpret_cast<sockaddr *>(&source), &room) != 0)
		return; // the caller closed
	if (!same_host(source, address) || address == p.address) {
		log_dropped(p, address_claimed(address), "it said hello from another host");
		return;
	}
	epoll_ctl(p.epoll.get(), EPOLL_CTL_DEL, fd.get(), nullptr);
	caller_known(p, std::move(fd), h);
}

// Time in which no thread of this process polled does not count: what strangers sent may be here unread.
void expire_strangers(socket_port &p)
{
	const uint64_t now = pgas_now_ns(), since = now - p.checked_at;
	if (p.deaf_until && now > p.deaf_until) {
		p.deaf_until = 0;
		watch_descriptor(p, p.listener);
	}
	const uint64_t missed = since > kCheckNs ? since : 0;
	p.checked_at = now;
	for (socket_line *l : p.unknown)
		l->born_at = std::min(l->born_at + missed, now);
	for (const auto &c : p.callers)
		c->born_at = std::min(c->born_at + missed, now);
	while (!p.unknown.empty() && now > p.unknown.front()->born_at + kStrangerNs)
		line_lost(p, *p.unknown.front(), -FI_ECONNRESET, "it did not prove itself");
	while (!p.callers.empty() && now > p.callers.front()->born_at + kCallerNs) {
		log_dropped(p, "a caller", "it did not identify itself");
		caller_take_out(p, p.callers.front().get());
	}
}

} // namespace pgas
