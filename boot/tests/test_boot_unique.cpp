// SPDX-License-Identifier: BSD-3-Clause
//
// test_boot_unique.cpp: attacks on a job that meets by a unique id. Strangers send garbage, stay silent or repeat what
// they have seen; somebody listens in place of the server, or changes bytes on the way; a process that knows the secret
// misbehaves. The members are children of the test; the test itself serves, so that it also tests a server that is no
// member.
#include "boot_unique.hpp"

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
extern "C" {
#include <cmocka.h>
}
#include "check.h"

using namespace pgas::boot;

namespace {

constexpr int kSilent = 200;     // more than the server keeps
constexpr int kPatience = 60000; // ms, a guard against hangs

unique_id new_job()
{
	unique_id id;
	CHECK_OK(pgas_boot_get_uniqueid(&id));
	return id;
}

// --- members ---------------------------------------------------------------------------------------------------------

// What a member does; its exit status is 0, or the error of the start.
[[noreturn]] void be_member(const unique_id &id, int rank, int size)
{
	char all[64] = "", mine = static_cast<char>('a' + rank);
	const int rc = pgas_boot_init_uniqueid(&id, rank, size);
	if (rc != 0)
		_exit(-rc);
	if (pgas_boot_allgather(&mine, 1, all) != 0 || strncmp(all, "abcdefgh", static_cast<size_t>(size)) != 0)
		_exit(200);
	_exit(pgas_boot_barrier() || pgas_boot_finalize() ? 201 : 0);
}

// As a program of its own, because a child of fork() may not start threads where threads are checked.
pid_t start_member(const unique_id &id, int rank, int size)
{
	const std::string ranks[] = {std::to_string(rank), std::to_string(size)};
	char text[2 * sizeof id + 1];
	for (size_t i = 0; i < sizeof id; i++)
		snprintf(text + 2 * i, 3, "%02x", reinterpret_cast<const unsigned char *>(&id)[i]);
	const pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		execl("/proc/self/exe", "member", ranks[0].c_str(), ranks[1].c_str(), text, nullptr);
		_exit(202);
	}
	return pid;
}

[[noreturn]] void be_member_of(char **argv)
{
	unique_id id;
	for (size_t i = 0; i < sizeof id; i++) {
		unsigned byte = 0;
		sscanf(argv[3] + 2 * i, "%2x", &byte);
		reinterpret_cast<unsigned char *>(&id)[i] = static_cast<unsigned char>(byte);
	}
	be_member(id, atoi(argv[1]), atoi(argv[2]));
}

int end_of(pid_t pid)
{
	int status = 0;
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

// --- strangers -------------------------------------------------------------------------------------------------------

int call(const unique_id &id)
{
	sockaddr_storage address;
	const socklen_t length = id_address(id, address);
	const int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(fd >= 0);
	CHECK_OK(connect(fd, reinterpret_cast<sockaddr *>(&address), length));
	return fd;
}

void say(int fd, const void *bytes, size_t len)
{
	[[maybe_unused]] const ssize_t sent = send(fd, bytes, len, MSG_NOSIGNAL); // the server may be gone already
}

// Reads until the end of the connection. Returns how many bytes came, or -1 if it does not end.
ssize_t read_to_end(int fd, std::string *bytes = nullptr)
{
	char part[4096];
	for (ssize_t total = 0;;) {
		pollfd seen = {fd, POLLIN, 0};
		if (poll(&seen, 1, kPatience) != 1)
			return -1;
		const ssize_t got = recv(fd, part, sizeof part, 0);
		if (got <= 0)
			return total;
		total += got;
		if (bytes)
			bytes->append(part, static_cast<size_t>(got));
	}
}

// Says the greeting, takes the server's proof, and says the rest, which the server does not believe.
void say_in_vain(int fd, const char *words, size_t len)
{
	welcome first;
	say(fd, words, sizeof(greeting));
	CHECK_EQ(recv(fd, &first, sizeof first, MSG_WAITALL), sizeof first);
	say(fd, words + sizeof(greeting), len - sizeof(greeting));
	CHECK_EQ(read_to_end(fd), 0);
}

// A connection on which both sides have proved the secret.
struct proven {
	int fd = -1;
	record_seal seal;
};

proven call_proven(const unique_id &id)
{
	proven p;
	welcome first;
	p.fd = call(id);
	const greeting ours = new_greeting(kCaller);
	say(p.fd, &ours, sizeof ours);
	CHECK_EQ(recv(p.fd, &first, sizeof first, MSG_WAITALL), sizeof first);
	const proof shown = show_proof(id, kCaller, ours, first.own);
	say(p.fd, &shown, sizeof shown);
	p.seal = record_seal(id, kCaller, ours, first.own);
	return p;
}

void say_record(proven &p, uint32_t kind, const std::string &body, uint64_t bytes, uint64_t flip = 0)
{
	record_head head = p.seal.close(kind, bytes, p.seal.hash(body.data(), body.size()));
	head.tag[0] ^= flip;
	say(p.fd, &head, sizeof head);
	say(p.fd, body.data(), body.size());
}

std::string join_of(int rank, int size)
{
	join_body who{};
	who.rank = rank;
	who.size = size;
	strcpy(who.name, "nowhere");
	return {reinterpret_cast<const char *>(&who), sizeof who};
}

// Nothing that a stranger says gets an answer but a greeting, and its connection ends.
void try_garbage(const unique_id &id)
{
	int fd = call(id);
	const std::string noise(5000, 'x');
	say(fd, noise.data(), noise.size());
	CHECK_EQ(read_to_end(fd), 0);
	close(fd);
	fd = call(id); // not version 1
	greeting bad = new_greeting(kCaller);
	bad.version++;
	say(fd, &bad, sizeof bad);
	CHECK_EQ(read_to_end(fd), 0);
	close(fd);
	fd = call(id); // reflects the role of the server
	bad = new_greeting(kServer);
	say(fd, &bad, sizeof bad);
	CHECK_EQ(read_to_end(fd), 0);
	close(fd);
	fd = call(id); // guesses the proof
	bad = new_greeting(kCaller);
	const std::string guess = std::string(reinterpret_cast<const char *>(&bad), sizeof bad) + noise;
	say_in_vain(fd, guess.data(), guess.size());
	close(fd);
	fd = call(id); // gives the server's proof back
	welcome first;
	say(fd, &bad, sizeof bad);
	CHECK_EQ(recv(fd, &first, sizeof first, MSG_WAITALL), sizeof first);
	say(fd, &first.shown, sizeof first.shown);
	CHECK_EQ(read_to_end(fd), 0);
	close(fd);
}

void test_unique_strangers_do_not_hinder_the_job(void **)
{
	const unique_id id = new_job();
	int silent[kSilent];
	for (int &fd : silent)
		fd = call(id);
	try_garbage(id);
	const pid_t first = start_member(id, 0, 2);
	try_garbage(id);
	CHECK_EQ(read_to_end(silent[0]), 0); // the oldest went, or was there for too long
	const pid_t second = start_member(id, 1, 2);
	CHECK_EQ(end_of(first), 0);
	CHECK_EQ(end_of(second), 0);
	for (const int fd : silent) {
		CHECK_EQ(read_to_end(fd), 0); // when all had come, nobody else was needed
		close(fd);
	}
}

void test_unique_silent_stranger_goes_by_itself(void **)
{
	const unique_id id = new_job();
	const int fd = call(id);
	CHECK_EQ(read_to_end(fd), 0);
	close(fd);
	const pid_t only = start_member(id, 0, 1);
	CHECK_EQ(end_of(only), 0);
}

// --- in place of the server ------------------------------------------------------------------------------------------

struct listener {
	int fd = -1;
	unique_id id; // names this one
};

listener listen_instead(const unique_id &id)
{
	listener l;
	sockaddr_storage address{};
	sockaddr_in v4{};
	socklen_t length = sizeof v4;
	v4.sin_family = AF_INET;
	v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	memcpy(&address, &v4, sizeof v4);
	l.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(l.fd >= 0);
	CHECK_OK(bind(l.fd, reinterpret_cast<sockaddr *>(&address), length));
	CHECK_OK(listen(l.fd, 16));
	CHECK_OK(getsockname(l.fd, reinterpret_cast<sockaddr *>(&address), &length));
	l.id = id;
	memset(l.id.address, 0, sizeof l.id.address);
	id_seal(l.id, address);
	CHECK(id_fault(l.id) == nullptr);
	return l;
}

void test_unique_false_server_is_not_believed(void **)
{
	unique_id id;
	CHECK(id_create(id));
	const listener l = listen_instead(id);
	for (const char *answer : {"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n\r\n", ""}) {
		const pid_t member = start_member(l.id, 0, 1);
		const int fd = accept(l.fd, nullptr, nullptr);
		greeting theirs;
		CHECK_EQ(recv(fd, &theirs, sizeof theirs, MSG_WAITALL), sizeof theirs);
		welcome first{new_greeting(kServer), {1, 2}}; // a proof of somebody who does not know the secret
		if (*answer)
			say(fd, answer, strlen(answer));
		else
			say(fd, &first, sizeof first);
		CHECK_EQ(end_of(member), EBADMSG);
		CHECK_EQ(read_to_end(fd), 0); // and the member proved nothing
		close(fd);
	}
	close(l.fd);
}

void test_unique_wrong_secret_is_refused_by_both(void **)
{
	const unique_id id = new_job();
	unique_id wrong = id;
	wrong.proof_secret[3] ^= 1;
	sockaddr_storage address;
	id_address(id, address);
	id_seal(wrong, address);
	CHECK_EQ(end_of(start_member(wrong, 0, 1)), EBADMSG);
	CHECK_EQ(end_of(start_member(id, 0, 1)), 0);
}

// Carries bytes between one caller and the server until both ends are closed. Keeps those of the caller; flips a bit of
// the byte at `flipped` (from 0) of those of one side.
struct carried {
	std::string caller;
	ssize_t flip_caller = -1, flip_server = -1;
};

void carry(int caller, int server, carried &c)
{
	size_t passed[2] = {0, 0};
	bool open[2] = {true, true};
	while (open[0] || open[1]) {
		pollfd polls[] = {{open[0] ? caller : -1, POLLIN, 0}, {open[1] ? server : -1, POLLIN, 0}};
		CHECK(poll(polls, 2, kPatience) > 0);
		for (int i = 0; i < 2; i++) {
			char part[4096];
			if (!polls[i].revents)
				continue;
			const ssize_t got = recv(i ? server : caller, part, sizeof part, 0);
			open[i] = got > 0;
			if (got <= 0) {
				shutdown(i ? caller : server, SHUT_WR);
				continue;
			}
			const ssize_t flip = (i ? c.flip_server : c.flip_caller) - static_cast<ssize_t>(passed[i]);
			if (flip >= 0 && flip < got)
				part[flip] ^= 4;
			passed[i] += static_cast<size_t>(got);
			if (i == 0)
				c.caller.append(part, static_cast<size_t>(got));
			say(i ? caller : server, part, static_cast<size_t>(got));
		}
	}
}

void test_unique_conversation_cannot_be_repeated(void **)
{
	const unique_id id = new_job(), next = new_job();
	const listener l = listen_instead(id);
	const pid_t member = start_member(l.id, 0, 1);
	const int caller = accept(l.fd, nullptr, nullptr), server = call(id);
	carried c;
	carry(caller, server, c);
	CHECK_EQ(end_of(member), 0);
	CHECK(c.caller.size() > sizeof(greeting) + sizeof(proof) + sizeof(record_head));
	close(caller);
	close(server);
	close(l.fd);
	const int fd = call(next);
	say_in_vain(fd, c.caller.data(), c.caller.size());
	close(fd);
	CHECK_EQ(end_of(start_member(next, 0, 1)), 0);
}

// The same within one job: rank 1 comes by way of somebody who says its words a second time.
void test_unique_words_of_a_member_are_good_once(void **)
{
	const unique_id id = new_job();
	const listener l = listen_instead(id);
	const pid_t member = start_member(l.id, 1, 2);
	const int caller = accept(l.fd, nullptr, nullptr), server = call(id);
	char words[sizeof(greeting) + sizeof(proof) + sizeof(record_head) + sizeof(join_body)];
	welcome first;
	CHECK_EQ(recv(caller, words, sizeof(greeting), MSG_WAITALL), sizeof(greeting));
	say(server, words, sizeof(greeting));
	CHECK_EQ(recv(server, &first, sizeof first, MSG_WAITALL), sizeof first);
	say(caller, &first, sizeof first);
	const size_t rest = sizeof words - sizeof(greeting);
	CHECK_EQ(recv(caller, words + sizeof(greeting), rest, MSG_WAITALL), rest);
	const int again = call(id);
	say_in_vain(again, words, sizeof words);
	say(server, words + sizeof(greeting), rest);
	const pid_t other = start_member(id, 0, 2);
	carried c;
	carry(caller, server, c);
	CHECK_EQ(end_of(member), 0);
	CHECK_EQ(end_of(other), 0);
	for (const int fd : {again, caller, server, l.fd})
		close(fd);
}

// A changed bit ends the start, or the job, whichever byte it is in; it is never used.
void test_unique_changed_bit_is_noticed(void **)
{
	const size_t said = sizeof(greeting) + sizeof(proof) + sizeof(record_head) + sizeof(join_body);
	const size_t heard = sizeof(welcome) + sizeof(record_head) + sizeof(started_head) + sizeof(uint64_t);
	for (size_t i = 0; i < 2; i++)
		for (size_t offset = i ? said : heard; offset < (i ? said : heard) + sizeof(record_head) + 1;
		     offset += 3) {
			const unique_id id = new_job();
			const listener l = listen_instead(id);
			const pid_t member = start_member(l.id, 0, 1);
			const int caller = accept(l.fd, nullptr, nullptr), server = call(id);
			carried c;
			(i ? c.flip_caller : c.flip_server) = static_cast<ssize_t>(offset);
			carry(caller, server, c);
			CHECK_EQ(end_of(member), 1);
			for (const int fd : {caller, server, l.fd})
				close(fd);
		}
}

// --- who knows the secret --------------------------------------------------------------------------------------------

void test_unique_wild_member_is_refused(void **)
{
	const unique_id id = new_job();
	const struct {
		uint32_t kind;
		std::string body;
		uint64_t bytes;
	} wild[] = {
		{kJoin, join_of(2, 2), sizeof(join_body)},
		{kJoin, join_of(-1, 2), sizeof(join_body)},
		{kJoin, join_of(0, 0), sizeof(join_body)},
		{kJoin, join_of(0, INT32_MAX), sizeof(join_body)},
		{kJoin, "short", 5},
		{kJoin, join_of(0, 2), UINT64_MAX},
		{kJoin, join_of(0, 2), sizeof(join_body) + 1},
		{kBarrier, "", 0},
		{kAbort, std::string(sizeof(end_body), '\1'), sizeof(end_body)},
		{kStarted, "", 0},
		{UINT32_MAX, "", 0},
	};
	for (const auto &w : wild) {
		proven p = call_proven(id);
		say_record(p, w.kind, w.body, w.bytes);
		CHECK_EQ(read_to_end(p.fd), 0);
		close(p.fd);
	}
	proven p = call_proven(id);
	say_record(p, kJoin, join_of(0, 2), sizeof(join_body), 1); // a wrong signature
	CHECK_EQ(read_to_end(p.fd), 0);
	close(p.fd);
	const pid_t first = start_member(id, 0, 2), second = start_member(id, 1, 2);
	CHECK_EQ(end_of(first), 0);
	CHECK_EQ(end_of(second), 0);
}

// After its start: the job ends, and the good member hears of it.
void test_unique_wild_member_ends_the_job(void **)
{
	const struct {
		uint32_t kind;
		uint64_t bytes;
	} wild[] = {{kAllgather, kPieceMost + 1}, {kBarrier, 8}, {kJoin, 0}, {kGathered, 0}, {kLeave, 0}};
	for (const auto &w : wild) {
		const unique_id id = new_job();
		proven p = call_proven(id);
		say_record(p, kJoin, join_of(1, 2), sizeof(join_body));
		const pid_t good = start_member(id, 0, 2);
		char started[sizeof(record_head) + sizeof(started_head) + 2 * sizeof(uint64_t)];
		CHECK_EQ(recv(p.fd, started, sizeof started, MSG_WAITALL), sizeof started);
		say_record(p, w.kind, "", w.bytes);
		CHECK_EQ(end_of(good), 1);
		close(p.fd);
	}
}

} // namespace

int main(int argc, char **argv)
{
	if (argc == 4 && strlen(argv[3]) == 2 * sizeof(unique_id))
		be_member_of(argv);
	setenv("PGAS_BOOT_INTERFACE", "127.0.0.1", 1);
	const CMUnitTest tests[] = {
		cmocka_unit_test(test_unique_strangers_do_not_hinder_the_job),
		cmocka_unit_test(test_unique_silent_stranger_goes_by_itself),
		cmocka_unit_test(test_unique_false_server_is_not_believed),
		cmocka_unit_test(test_unique_wrong_secret_is_refused_by_both),
		cmocka_unit_test(test_unique_conversation_cannot_be_repeated),
		cmocka_unit_test(test_unique_words_of_a_member_are_good_once),
		cmocka_unit_test(test_unique_changed_bit_is_noticed),
		cmocka_unit_test(test_unique_wild_member_is_refused),
		cmocka_unit_test(test_unique_wild_member_ends_the_job),
	};
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
