// SPDX-License-Identifier: BSD-3-Clause
// boot_unique_meet.cpp: how a process comes to the process that serves its job: it connects, both prove that they know
// the secret of the id, it says who it is, and waits until all have come. Until then errors are returned to the caller,
// who may try again with a new id.
#include "boot_unique_member.hpp"

#include <pgas/pgas_hostid.h>

#include <algorithm>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace pgas::boot {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kServerSlackNs = 5 * kSecond; // the server's patience begins when the first process comes
constexpr int kRetryMs = 50;

int await_socket(int fd, short events, uint64_t until)
{
	for (;;) {
		const uint64_t now = now_ns();
		pollfd seen = {fd, events, 0};
		const uint64_t left_ms = until > now ? std::min<uint64_t>((until - now) / 1'000'000 + 1, 1000) : 0;
		const int ready = poll(&seen, 1, static_cast<int>(left_ms));
		if (ready > 0)
			return 0;
		if (ready < 0 && errno != EINTR)
			return -errno;
		if (ready == 0 && left_ms == 0)
			return -ETIMEDOUT;
	}
}

int read_bytes(int fd, void *bytes, size_t len, uint64_t until)
{
	char *pos = static_cast<char *>(bytes);
	while (len > 0) {
		if (const int rc = await_socket(fd, POLLIN, until))
			return rc;
		const ssize_t got = recv(fd, pos, len, MSG_DONTWAIT);
		if (got == 0)
			return -ECONNRESET;
		if (got < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (got > 0) {
			pos += got;
			len -= static_cast<size_t>(got);
		}
	}
	return 0;
}

int write_bytes(int fd, const void *bytes, size_t len, uint64_t until)
{
	const char *pos = static_cast<const char *>(bytes);
	while (len > 0) {
		const ssize_t sent = send(fd, pos, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0 && errno == EAGAIN) {
			if (const int rc = await_socket(fd, POLLOUT, until))
				return rc;
		} else if (sent < 0 && errno != EINTR) {
			return -errno;
		}
		if (sent > 0) {
			pos += sent;
			len -= static_cast<size_t>(sent);
		}
	}
	return 0;
}

// Errors after which another attempt may succeed: the server was stopped, a stranger took our place, a cable was out.
bool may_pass(int rc)
{
	return rc == -ECONNRESET || rc == -EPIPE || rc == -ETIMEDOUT || rc == -EHOSTUNREACH || rc == -EAGAIN;
}

int open_line(member &m, uint64_t until)
{
	sockaddr_storage address;
	const socklen_t length = id_address(m.id, address);
	m.line = own_socket(socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
	if (!m.line)
		return -errno;
	if (connect(m.line.get(), reinterpret_cast<sockaddr *>(&address), length) != 0 && errno != EINPROGRESS)
		return -errno;
	if (const int rc = await_socket(m.line.get(), POLLOUT, until))
		return rc;
	int err = 0;
	socklen_t room = sizeof err;
	getsockopt(m.line.get(), SOL_SOCKET, SO_ERROR, &err, &room);
	watch_peer(m.line);
	return -err;
}

// Proves to each other. -EBADMSG: the other side is not the server of this id.
int greet_server(member &m, uint64_t until)
{
	const greeting ours = new_greeting(kCaller);
	welcome first;
	if (const int rc = write_bytes(m.line.get(), &ours, sizeof ours, until))
		return rc;
	if (const int rc = read_bytes(m.line.get(), &first, sizeof first, until))
		return rc;
	const proof due = show_proof(m.id, kServer, ours, first.own);
	if (!is_greeting(first.own, kServer) || !same_mac(due.data(), first.shown.data()))
		return -EBADMSG;
	const proof shown = show_proof(m.id, kCaller, ours, first.own);
	m.seal = record_seal(m.id, kCaller, ours, first.own);
	return write_bytes(m.line.get(), &shown, sizeof shown, until);
}

int say_who(member &m, uint64_t host, uint64_t until)
{
	join_body who{};
	who.rank = m.rank;
	who.size = static_cast<int32_t>(m.size);
	who.host = host;
	who.pid = getpid();
	gethostname(who.name, sizeof who.name - 1);
	return write_record(m, kJoin, &who, sizeof who, until);
}

// Reads one whole record of at most that many bytes, before the thread does it.
int read_record(member &m, uint32_t &kind, std::string &body, uint64_t most, uint64_t until)
{
	record_head head;
	if (const int rc = read_bytes(m.line.get(), &head, sizeof head, until))
		return rc;
	if (!m.seal.opens(head) || head.bytes > most)
		return -EBADMSG;
	body.resize(head.bytes);
	if (const int rc = read_bytes(m.line.get(), body.data(), body.size(), until))
		return rc;
	kind = head.kind;
	return m.seal.fits(head, body) ? 0 : -EBADMSG;
}

void print_refusal(const std::string &body)
{
	end_body words{};
	memcpy(&words, body.data(), std::min(body.size(), sizeof words));
	words.why[sizeof words.why - 1] = '\0';
	print_error("the job cannot start: %s", words.why);
}

// Notes who is on our host.
int enter_job(const member &m, const std::string &body, uint64_t host, job &job, int &server_rank)
{
	started_head head;
	if (body.size() != sizeof head + m.size * sizeof(uint64_t))
		return -EBADMSG;
	memcpy(&head, body.data(), sizeof head);
	if (head.size != m.size)
		return -EBADMSG;
	server_rank = head.server_rank;
	job.rank = m.rank;
	job.size = static_cast<int>(m.size);
	job.local_known = host != 0;
	for (uint32_t rank = 0; rank < m.size; rank++) {
		uint64_t theirs;
		memcpy(&theirs, body.data() + sizeof head + rank * sizeof theirs, sizeof theirs);
		job.local_known = job.local_known && theirs != 0;
		if (theirs == host)
			job.local.push_back(static_cast<int>(rank));
	}
	return 0;
}

// One attempt. -ECANCELED: the server refused, and the line is printed.
int try_to_join(member &m, uint64_t host, job &job, uint64_t until)
{
	int rc = open_line(m, until);
	if (rc == 0)
		rc = greet_server(m, until);
	if (rc == 0)
		rc = say_who(m, host, until);
	uint32_t kind = 0;
	std::string body;
	const uint64_t most = std::max(sizeof(end_body), sizeof(started_head) + m.size * sizeof(uint64_t));
	if (rc == 0)
		rc = read_record(m, kind, body, most, until);
	if (rc != 0)
		return rc;
	if (kind == kRefused) {
		print_refusal(body);
		return -ECANCELED;
	}
	return kind == kStarted ? enter_job(m, body, host, job, m.server_rank) : -EBADMSG;
}

void print_unreachable(const member &m, int rc, uint64_t seconds)
{
	const std::string where = id_show(m.id);
	const char *hint = id_is_loopback(m.id) ? "; it is an address within that host: PGAS_BOOT_INTERFACE, where "
						  "shmemx_get_uniqueid is called, names a network"
						: "";
	if (rc == -ECONNREFUSED)
		print_error(
			"nobody listens at %s: the process that made the unique id has ended, or the job of this id "
			"has started or failed before; an id is good for one job%s",
			where.c_str(), hint);
	else if (rc == -EBADMSG)
		print_error("what listens at %s does not know the secret of the unique id%s", where.c_str(), hint);
	else if (may_pass(rc))
		print_error("no answer of the process that made the unique id, at %s, within %llu s: %s "
			    "(PGAS_BOOT_TIMEOUT; PGAS_BOOT_INTERFACE there chooses another network)",
			    where.c_str(), static_cast<unsigned long long>(seconds), strerror(-rc));
	else
		print_error("cannot reach the process that made the unique id, at %s: %s%s", where.c_str(),
			    strerror(-rc), hint);
}

} // namespace

int write_record(member &m, uint32_t kind, const void *body, size_t bytes, uint64_t until)
{
	const record_head head = m.seal.close(kind, bytes, m.seal.hash(body, bytes));
	if (const int rc = write_bytes(m.line.get(), &head, sizeof head, until))
		return rc;
	return write_bytes(m.line.get(), body, bytes, until);
}

int meet_server(member &m, job &job)
{
	uint64_t seconds, host = 0;
	char why[320];
	if (!id_timeout(seconds))
		return -EINVAL;
	if (pgas_host_id(&host, why, sizeof why) != 0)
		host = 0;
	const uint64_t until = seconds ? now_ns() + seconds * kSecond + kServerSlackNs : UINT64_MAX;
	int rc = try_to_join(m, host, job, until);
	for (; may_pass(rc) && now_ns() < until; rc = try_to_join(m, host, job, until)) {
		job.local.clear();
		usleep(kRetryMs * 1000);
	}
	if (rc != 0 && rc != -ECANCELED)
		print_unreachable(m, rc, seconds);
	return rc;
}

} // namespace pgas::boot
