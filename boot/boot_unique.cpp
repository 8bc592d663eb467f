// SPDX-License-Identifier: BSD-3-Clause
// boot_unique.cpp: a process of a job with a unique id, as a backend. A thread reads the connection to the process that
// serves the job, so that the end of the job ends this process whatever it is doing; the caller's thread writes, and
// sleeps until the thread has the result.
#include "boot_unique_member.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace pgas::boot {
namespace {

constexpr int kEndMs = 3000; // until the thread ends this process; the server takes two seconds at most
constexpr size_t kReadBytes = size_t{64} << 10;

member *g_member; // from join to finalize

// --- the thread ------------------------------------------------------------------------------------------------------

// The job is over: so is this process. A process that aborts keeps its own status.
[[noreturn]] void end_process(const member &m, int status, const char *why)
{
	const int own = m.aborting.load(std::memory_order_acquire); // pairs with the release in unique_abort()
	if (own != kNotAborting)
		_exit(own);
	if (*why)
		print_error("the job ends: %s", why);
	_exit(status);
}

[[noreturn]] void end_by_server(const member &m, const std::string &body)
{
	end_body words{};
	memcpy(&words, body.data(), std::min(body.size(), sizeof words));
	words.why[sizeof words.why - 1] = '\0';
	end_process(m, words.status & 0xff, words.why);
}

void lose_server(const member &m, const char *what)
{
	if (m.leaving.load(std::memory_order_acquire)) // pairs with the release in unique_finalize()
		return;
	char why[kReasonBytes];
	if (m.server_rank >= 0)
		snprintf(why, sizeof why, "PE %d, which serves it, %s", m.server_rank, what);
	else
		snprintf(why, sizeof why, "the process on host %s that made the unique id, and serves it, %s",
			 m.id.host, what);
	end_process(m, 1, why);
}

uint64_t body_limit(const member &m, uint32_t kind)
{
	return kind == kGathered ? m.size * (kPieceMost + sizeof(uint64_t)) : kind == kEnded ? sizeof(end_body) : 0;
}

void deliver(member &m, std::string &&body)
{
	const mutex_holder held(m.mutex);
	m.result = std::move(body);
	m.has_result = true;
	pthread_cond_signal(&m.arrived);
}

// Returns true if the head of the next record is here.
bool take_head(member &m)
{
	if (m.has_head || m.input.size() < sizeof m.head)
		return m.has_head;
	memcpy(&m.head, m.input.data(), sizeof m.head);
	m.input.erase(0, sizeof m.head);
	m.has_head = true;
	return true;
}

// Handles one whole record of the input. Returns false if there is none. over: nothing follows.
bool take_record(member &m, bool &over)
{
	const bool began = m.has_head;
	if (!take_head(m))
		return false;
	if (!began && (!m.seal.opens(m.head) || m.head.bytes > body_limit(m, m.head.kind))) {
		lose_server(m, "sent a record that makes no sense, or that somebody changed");
		over = true;
		return false;
	}
	if (m.input.size() < m.head.bytes)
		return false;
	m.has_head = false;
	std::string body = m.input.substr(0, m.head.bytes);
	m.input.erase(0, m.head.bytes);
	over = m.head.kind == kBye;
	if (!m.seal.fits(m.head, body)) {
		lose_server(m, "sent a record that somebody changed");
		over = true;
	} else if (m.head.kind == kEnded) {
		end_by_server(m, body);
	} else if (m.head.kind == kGathered) {
		deliver(m, std::move(body));
	}
	return !over;
}

void read_line(member &m)
{
	char part[kReadBytes];
	for (bool over = false; !over;) {
		const ssize_t got = recv(m.line.get(), part, sizeof part, 0);
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got == 0)
			return lose_server(m, "ended without leaving the job");
		if (got < 0)
			return lose_server(m, errno == ETIMEDOUT ? "does not answer: its host, or the network, is gone"
								 : "ended without leaving the job");
		m.input.append(part, static_cast<size_t>(got));
		while (take_record(m, over)) {}
	}
}

void *run_reader(void *argument)
{
	auto &m = *static_cast<member *>(argument);
	const int rc = guard([&] {
		read_line(m);
		return 0;
	});
	if (rc != 0)
		end_process(m, 1, strerror(-rc));
	return nullptr;
}

int start_reader(member &m)
{
	fcntl(m.line.get(), F_SETFL, fcntl(m.line.get(), F_GETFL) & ~O_NONBLOCK);
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); // the thread must get none of the application's signals
	const int err = pthread_create(&m.reader, nullptr, run_reader, &m);
	pthread_sigmask(SIG_SETMASK, &before, nullptr);
	if (err)
		print_error("cannot start a thread: %s", strerror(err));
	return -err;
}

// --- calls -----------------------------------------------------------------------------------------------------------

int send_to_server(member &m, uint32_t kind, const void *body, size_t bytes)
{
	m.sending.store(true, std::memory_order_relaxed);
	const int rc = write_record(m, kind, body, bytes, UINT64_MAX);
	m.sending.store(false, std::memory_order_relaxed);
	if (rc == 0)
		return 0;
	poll(nullptr, 0, kEndMs); // the thread says why, and ends this process
	print_error("the connection to the process that serves the job is broken: %s", strerror(-rc));
	return rc;
}

// Passes our piece, and waits for those of all.
int exchange(uint32_t kind, const void *piece, size_t bytes, std::string &all)
{
	member &m = *g_member;
	if (bytes > kPieceMost) {
		print_error("%zu bytes are too many for one exchange: at most %llu", bytes,
			    static_cast<unsigned long long>(kPieceMost));
		return -EMSGSIZE;
	}
	if (const int rc = send_to_server(m, kind, piece, bytes))
		return rc;
	const mutex_holder held(m.mutex);
	while (!m.has_result)
		pthread_cond_wait(&m.arrived, &m.mutex);
	m.has_result = false;
	all = std::move(m.result);
	return 0;
}

// Calls take(rank, piece, bytes) for the piece of each rank. False: the result is malformed.
template <class Take>
bool each_piece(const std::string &all, Take &&take)
{
	size_t pos = 0;
	for (uint32_t rank = 0; rank < g_member->size; rank++) {
		uint64_t bytes;
		if (all.size() - pos < sizeof bytes)
			return false;
		memcpy(&bytes, all.data() + pos, sizeof bytes);
		pos += sizeof bytes;
		if (all.size() - pos < bytes || !take(rank, all.data() + pos, static_cast<size_t>(bytes)))
			return false;
		pos += static_cast<size_t>(bytes);
	}
	return pos == all.size();
}

int reject_result()
{
	print_error("the process that serves the job sent an exchange that makes no sense");
	return -EPROTO;
}

// Key-value records as they travel: two lengths, key, value.
bool read_values(std::map<std::string, std::string> &values, const char *pos, size_t bytes)
{
	while (bytes > 0) {
		uint32_t lengths[2];
		if (bytes < sizeof lengths)
			return false;
		memcpy(lengths, pos, sizeof lengths);
		pos += sizeof lengths;
		bytes -= sizeof lengths;
		if (bytes < uint64_t{lengths[0]} + lengths[1])
			return false;
		values[std::string(pos, lengths[0])].assign(pos + lengths[0], lengths[1]);
		pos += size_t{lengths[0]} + lengths[1];
		bytes -= size_t{lengths[0]} + lengths[1];
	}
	return true;
}

int unique_init(job &)
{
	return kNotMine; // nothing but a call joins such a job
}

int unique_finalize()
{
	member &m = *g_member;
	m.leaving.store(true, std::memory_order_release); // pairs with the acquire in lose_server()
	const int rc = send_to_server(m, kLeave, nullptr, 0);
	pthread_join(m.reader, nullptr);
	const unique_id id = m.id;
	delete std::exchange(g_member, nullptr);
	end_serving(id);
	return rc;
}

int unique_put(const char *key, const void *value, size_t bytes)
{
	std::string &staged = g_member->staged;
	const uint32_t lengths[] = {static_cast<uint32_t>(strlen(key)), static_cast<uint32_t>(bytes)};
	if (bytes > kPieceMost || staged.size() + sizeof lengths + lengths[0] + bytes > kPieceMost) {
		print_error("put %s: %zu bytes do not fit, %llu bytes for all keys between two fences", key + 1, bytes,
			    static_cast<unsigned long long>(kPieceMost));
		return -ENOSPC;
	}
	staged.append(reinterpret_cast<const char *>(lengths), sizeof lengths);
	staged.append(key, lengths[0]);
	if (bytes)
		staged.append(static_cast<const char *>(value), bytes);
	return 0;
}

int unique_commit()
{
	return 0; // nobody may expect it before the fence
}

int unique_fence()
{
	std::string all;
	member &m = *g_member;
	if (const int rc = exchange(kFence, m.staged.data(), m.staged.size(), all))
		return rc;
	m.staged.clear();
	const bool good = each_piece(all, [&](uint32_t rank, const char *piece, size_t bytes) {
		return read_values(m.values[rank], piece, bytes);
	});
	return good ? 0 : reject_result();
}

ssize_t unique_get(int rank, const char *key, void *value, size_t room)
{
	const auto &values = g_member->values[static_cast<size_t>(rank)];
	const auto found = values.find(key);
	if (found == values.end())
		return -ENOENT;
	const size_t copied = std::min(room, found->second.size());
	if (copied)
		memcpy(value, found->second.data(), copied);
	return static_cast<ssize_t>(found->second.size());
}

int unique_allgather(const void *mine, size_t bytes, void *all)
{
	std::string pieces;
	if (const int rc = exchange(kAllgather, mine, bytes, pieces))
		return rc;
	const bool good = each_piece(pieces, [&](uint32_t rank, const char *piece, size_t got) {
		if (got == bytes)
			memcpy(static_cast<char *>(all) + rank * bytes, piece, bytes);
		return got == bytes;
	});
	return good ? 0 : reject_result();
}

int unique_barrier()
{
	std::string nothing;
	return exchange(kBarrier, nullptr, 0, nothing);
}

// Async-signal-safe: the record is small, and if it does not fit, the end of the connection says the same.
void unique_abort(int status, const char *message)
{
	member &m = *g_member;
	if (message)
		print_error("%s", message);
	m.aborting.store(status & 0xff, std::memory_order_release); // pairs with the acquire in end_process()
	end_body words{};
	words.status = status & 0xff;
	for (size_t i = 0; message && message[i] && i < sizeof words.why - 1; i++)
		words.why[i] = message[i];
	char bytes[sizeof(record_head) + sizeof words];
	ssize_t sent = 0;
	if (!m.sending.exchange(true, std::memory_order_relaxed)) {
		const record_head head = m.seal.close(kAbort, sizeof words, m.seal.hash(&words, sizeof words));
		memcpy(bytes, &head, sizeof head);
		memcpy(bytes + sizeof head, &words, sizeof words);
		sent = send(m.line.get(), bytes, sizeof bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	if (sent != static_cast<ssize_t>(sizeof bytes))
		shutdown(m.line.get(), SHUT_WR); // in the middle of another record
	poll(nullptr, 0, kEndMs);                // the thread ends this process when the others know
	_exit(status & 0xff);
}

bool unique_secret(void *bytes, size_t room)
{
	if (room != sizeof g_member->id.link_secret)
		return false;
	memcpy(bytes, g_member->id.link_secret, room);
	return true;
}

int check_arguments(const unique_id &id, int rank, int size)
{
	if (const char *fault = id_fault(id))
		print_error("the unique id cannot be used: %s", fault);
	else if (size < 1 || static_cast<uint32_t>(size) > kRanksMost)
		print_error("a job of %d processes: 1 to %u are possible", size, kRanksMost);
	else if (rank < 0 || rank >= size)
		print_error("rank %d is not one of a job of %d: 0 to %d", rank, size, size - 1);
	else
		return 0;
	return -EINVAL;
}

} // namespace

int unique_join(const unique_id &id, int rank, int size, job &job)
{
	if (const int rc = check_arguments(id, rank, size))
		return rc;
	auto *m = new member;
	m->id = id;
	m->rank = rank;
	m->size = static_cast<uint32_t>(size);
	m->values.resize(m->size);
	complain_as(rank);
	serve_own(id, rank);
	int rc = meet_server(*m, job);
	const bool refused = rc == -ECANCELED;
	if (rc == 0)
		rc = start_reader(*m);
	if (rc != 0) {
		delete m;
		complain_as(kNobody);
		if (refused)
			end_serving(id);
		return rc;
	}
	g_member = m;
	return 0;
}

constinit const backend g_unique = {.name = "uniqueid",
				    .init = unique_init,
				    .finalize = unique_finalize,
				    .put = unique_put,
				    .commit = unique_commit,
				    .fence = unique_fence,
				    .get = unique_get,
				    .allgather = unique_allgather,
				    .barrier = unique_barrier,
				    .abort = unique_abort,
				    .watches = true,
				    .secret = unique_secret};

} // namespace pgas::boot
