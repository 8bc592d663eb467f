// SPDX-License-Identifier: BSD-3-Clause
// boot_unique_wire.cpp: what both sides of a connection do alike: sockets that a child of fork() loses, proofs, and the
// signatures of records.
#include "boot_unique.hpp"

#include <algorithm>
#include <cstdlib>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

namespace pgas::boot {
namespace {

constexpr uint64_t kLabelProof = 0x65757169'6e750000, kLabelKey = 0x79656b'00000000, kLabelBody = 0x79646f62'00000000;
constexpr unsigned long kPatienceSeconds = 30; // as FI_PGAS_PEER_TIMEOUT

forever<std::vector<int>> g_sockets; // of this process
pthread_mutex_t g_sockets_mutex = PTHREAD_MUTEX_INITIALIZER;

void before_fork()
{
	pthread_mutex_lock(&g_sockets_mutex);
}
void after_fork()
{
	pthread_mutex_unlock(&g_sockets_mutex);
}
void close_in_child()
{
	for (const int fd : g_sockets.it)
		::close(fd);
	g_sockets.it.clear();
	pthread_mutex_unlock(&g_sockets_mutex);
}

// What a proof or a key is made of.
struct hashed_text {
	uint64_t label;
	uint64_t role;
	greeting caller, server;
};
static_assert(std::has_unique_object_representations_v<hashed_text>);

secret hash_text(const unique_id &id, uint64_t label, uint32_t role, const greeting &caller, const greeting &server)
{
	const hashed_text text{label, role, caller, server};
	return mac_of(secret_from(id.proof_secret, sizeof id.proof_secret), &text, sizeof text);
}

// The number makes every record different.
secret tag_of(const secret &key, uint64_t number, const record_head &head)
{
	const uint64_t words[] = {number, uint64_t{head.zero} << 32 | head.kind, head.bytes, head.body_hash[0],
				  head.body_hash[1]};
	return mac_of(key, words, sizeof words);
}

} // namespace

own_socket::own_socket(int fd)
{
	if (fd < 0)
		return;
	const mutex_holder held(g_sockets_mutex);
	static const int registered = pthread_atfork(before_fork, after_fork, close_in_child);
	(void)registered;
	g_sockets.it.push_back(fd);
	fd_ = fd;
}

own_socket &own_socket::operator=(own_socket &&o) noexcept
{
	if (this != &o) {
		reset();
		fd_ = std::exchange(o.fd_, -1);
	}
	return *this;
}

void own_socket::reset()
{
	if (fd_ < 0)
		return;
	const mutex_holder held(g_sockets_mutex);
	// a child of fork() has none of them any more, and may have other files under these numbers
	const auto entry = std::find(g_sockets.it.begin(), g_sockets.it.end(), fd_);
	if (entry != g_sockets.it.end()) {
		g_sockets.it.erase(entry);
		::close(fd_);
	}
	fd_ = -1;
}

void watch_peer(const own_socket &line)
{
	const char *text = pgas_boot_getenv("FI_PGAS_PEER_TIMEOUT");
	const unsigned long asked = text ? strtoul(text, nullptr, 10) : 0;
	const int patience = static_cast<int>(std::min(asked ? asked : kPatienceSeconds, 10'000ul));
	const int yes = 1, part = std::max(1, patience / 3), probes = 6;
	const unsigned limit_ms = 2000u * static_cast<unsigned>(patience);
	setsockopt(line.get(), SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
	setsockopt(line.get(), IPPROTO_TCP, TCP_KEEPIDLE, &part, sizeof part);
	setsockopt(line.get(), IPPROTO_TCP, TCP_KEEPINTVL, &part, sizeof part);
	setsockopt(line.get(), IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
	setsockopt(line.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, sizeof limit_ms);
	setsockopt(line.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

uint64_t now_ns()
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

greeting new_greeting(uint32_t role)
{
	return {kIdMagic, kIdVersion, role, {random_word(), random_word()}};
}

bool is_greeting(const greeting &g, uint32_t role)
{
	return g.magic == kIdMagic && g.version == kIdVersion && g.role == role;
}

proof show_proof(const unique_id &id, uint32_t role, const greeting &caller, const greeting &server)
{
	return hash_text(id, kLabelProof, role, caller, server);
}

record_seal::record_seal(const unique_id &id, uint32_t role, const greeting &caller, const greeting &server)
	: out_key_(hash_text(id, kLabelKey, role, caller, server)),
	  in_key_(hash_text(id, kLabelKey, role == kCaller ? kServer : kCaller, caller, server)),
	  body_key_(hash_text(id, kLabelBody, 0, {}, {}))
{
}

record_head record_seal::close(uint32_t kind, uint64_t bytes, const secret &body_hash)
{
	record_head head{kind, 0, bytes, body_hash, {}};
	head.tag = tag_of(out_key_, sent_++, head);
	return head;
}

bool record_seal::opens(const record_head &head)
{
	const secret due = tag_of(in_key_, received_++, head);
	return head.zero == 0 && same_mac(due.data(), head.tag.data());
}

bool record_seal::fits(const record_head &head, const std::string &body) const
{
	const secret due = hash(body.data(), body.size());
	return body.size() == head.bytes && same_mac(due.data(), head.body_hash.data());
}

} // namespace pgas::boot
