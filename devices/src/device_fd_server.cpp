// SPDX-License-Identifier: BSD-3-Clause
#include "device_fd_server.hpp"

#include "device_error.hpp"
#include "device_fd.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <vector>

namespace pgas::devices {
namespace {

constexpr int kAnswerMs = 1000;    // time that the owner gives one client
constexpr int kPatienceMs = 10000; // time that a client gives the owner, which may be serving others, or be stopped

struct question { // one packet
	uint64_t door;
	int32_t fd;
	uint32_t unused;
};

struct answer { // one packet; carries the descriptor if error is 0
	int32_t error;
};

socklen_t name_of(int pid, uint64_t door, sockaddr_un &out)
{
	out = {};
	out.sun_family = AF_UNIX;
	// the first byte stays 0: no file
	const int n = snprintf(out.sun_path + 1, sizeof out.sun_path - 1, "pgas-device-%d-%016llx", pid,
			       static_cast<unsigned long long>(door));
	return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(n));
}

// Is the process at the other end one of ours? pid 0: any process of this user.
bool is_ours(int socket, int pid)
{
	ucred other{};
	socklen_t len = sizeof other;
	return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &len) == 0 && other.uid == geteuid() &&
	       (!pid || other.pid == pid);
}

// --- the owner -------------------------------------------------------------------------------------------------------

// Never destroyed: the thread may still run when the process's other static objects are destroyed.
struct owner {
	std::mutex life;          // serializes open() and shut(); taken before the other mutex
	std::mutex mutex;         // guards offered and door, which the thread reads
	std::vector<int> offered; // descriptors that the thread may give away
	uint64_t door = 0;        // 0: closed
	int pid = 0; // of the process that opened it: a child of fork() has neither its thread nor its peers
	int listener = -1, end = -1;
	pthread_t thread{};

	bool open();
	void shut();
	void close_both();
	int answer_to(int asker);
	void serve();
};

owner &mine()
{
	static owner *const one = new owner;
	return *one;
}

// Signals are left to the program's threads.
bool start_thread(pthread_t &out)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const auto run_server_thread = [](void *) -> void * {
		mine().serve();
		return nullptr;
	};
	const bool good = pthread_create(&out, nullptr, run_server_thread, nullptr) == 0;
	pthread_sigmask(SIG_SETMASK, &before, nullptr);
	return good;
}

int send_fd(int dest, int fd)
{
	answer said{0};
	iovec piece{&said, sizeof said};
	alignas(cmsghdr) char room[CMSG_SPACE(sizeof fd)] = {};
	msghdr message{};
	message.msg_iov = &piece;
	message.msg_iovlen = 1;
	message.msg_control = room;
	message.msg_controllen = sizeof room;
	cmsghdr *c = CMSG_FIRSTHDR(&message);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
	return sendmsg(dest, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

int owner::answer_to(int asker)
{
	question asked{};
	if (!is_ours(asker, 0))
		return -EPERM;
	pollfd one{asker, POLLIN, 0};
	if (poll(&one, 1, kAnswerMs) <= 0 || recv(asker, &asked, sizeof asked, MSG_DONTWAIT) != sizeof asked)
		return -ETIMEDOUT;
	const std::lock_guard<std::mutex> lock(mutex); // the fd must not be closed meanwhile
	if (asked.door == door && std::find(offered.begin(), offered.end(), asked.fd) != offered.end())
		return send_fd(asker, asked.fd);
	const answer said{EBADF};
	return send(asker, &said, sizeof said, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

void owner::serve()
{
	pollfd both[] = {{listener, POLLIN, 0}, {end, POLLIN, 0}};
	while (true) {
		if (poll(both, 2, -1) < 0)
			continue; // a signal that cannot be blocked
		if (both[1].revents)
			return;
		const int asker = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
		if (asker >= 0) {
			answer_to(asker);
			close(asker);
		} else if (errno != EAGAIN) {
			usleep(10000); // out of descriptors: the program may close some
		}
	}
}

// The number is random, so that no other process can take the name first.
bool owner::open()
{
	uint64_t number = 0;
	if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number || !number)
		return false;
	sockaddr_un name;
	const socklen_t len = name_of(getpid(), number, name);
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	end = eventfd(0, EFD_CLOEXEC);
	pid = getpid();
	{
		const std::lock_guard<std::mutex> lock(mutex);
		door = number;
	}
	if (listener >= 0 && end >= 0 && bind(listener, reinterpret_cast<sockaddr *>(&name), len) == 0 &&
	    listen(listener, 128) == 0 && start_thread(thread))
		return true;
	const std::lock_guard<std::mutex> lock(mutex);
	door = 0;
	close_both();
	return false;
}

void owner::close_both()
{
	for (int *one : {&listener, &end}) {
		if (*one >= 0)
			close(*one);
		*one = -1;
	}
}

// The caller does not hold the other mutex: the thread may need it for its last reply.
void owner::shut()
{
	const uint64_t one = 1;
	if (pid == getpid() && write(end, &one, sizeof one) == sizeof one)
		pthread_join(thread, nullptr);
	close_both();
	door = 0;
	offered.clear();
}

// --- the peer --------------------------------------------------------------------------------------------------------

int64_t now_ms()
{
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return int64_t{t.tv_sec} * 1000 + t.tv_nsec / 1000000;
}

// The owner's queue may be full for a while.
int knock(int socket, const sockaddr_un &name, socklen_t len, int64_t until)
{
	while (connect(socket, reinterpret_cast<const sockaddr *>(&name), len) != 0) {
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		if (now_ms() >= until)
			return -ETIMEDOUT;
		usleep(1000);
	}
	return 0;
}

int hear_fd(int socket, int64_t until)
{
	pollfd one{socket, POLLIN, 0};
	int got;
	while ((got = poll(&one, 1, static_cast<int>(std::max<int64_t>(until - now_ms(), 0)))) < 0 && errno == EINTR)
		;
	if (got <= 0)
		return got == 0 ? -ETIMEDOUT : -errno;
	answer said{EPROTO};
	iovec piece{&said, sizeof said};
	int fd = -1;
	alignas(cmsghdr) char room[CMSG_SPACE(sizeof fd)] = {};
	msghdr message{};
	message.msg_iov = &piece;
	message.msg_iovlen = 1;
	message.msg_control = room;
	message.msg_controllen = sizeof room;
	const ssize_t n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (n != sizeof said)
		return n < 0 ? -errno : -ECONNRESET; // the owner closed the door, or refuses to talk to us
	const cmsghdr *c = CMSG_FIRSTHDR(&message);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof fd))
		memcpy(&fd, CMSG_DATA(c), sizeof fd);
	if (said.error == 0 && fd >= 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return said.error > 0 ? -said.error : -EPROTO;
}

int ask(int socket, int pid, int fd, uint64_t door)
{
	const int64_t until = now_ms() + kPatienceMs;
	sockaddr_un name;
	const socklen_t len = name_of(pid, door, name);
	if (const int rc = knock(socket, name, len, until))
		return rc;
	if (!is_ours(socket, pid))
		return -EPERM;
	const question asked{door, fd, 0};
	if (send(socket, &asked, sizeof asked, MSG_NOSIGNAL) != sizeof asked)
		return -errno;
	return hear_fd(socket, until);
}

int by_door(int pid, int fd, uint64_t door)
{
	const int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s < 0)
		return -errno;
	const int rc = ask(s, pid, fd, door);
	close(s);
	return rc;
}

bool always_by_door()
{
	const char *how = getenv("PGAS_DEVICE_FDS");
	return how && strcmp(how, "door") == 0;
}

} // namespace

uint64_t door_offer(int fd)
{
	owner &o = mine();
	const std::lock_guard<std::mutex> alone(o.life);
	if (o.door && o.pid != getpid())
		o.shut(); // the parent process's
	{
		const std::lock_guard<std::mutex> lock(o.mutex);
		if (std::find(o.offered.begin(), o.offered.end(), fd) == o.offered.end())
			o.offered.push_back(fd);
	}
	return o.door || o.open() ? o.door : 0;
}

void door_withdraw(int fd)
{
	owner &o = mine();
	const std::lock_guard<std::mutex> alone(o.life);
	{
		const std::lock_guard<std::mutex> lock(o.mutex);
		if (std::erase(o.offered, fd) == 0 || !o.offered.empty() || !o.door)
			return;
	}
	o.shut();
}

int fd_of_peer(int pid, int fd, uint64_t door)
{
	const int taken = always_by_door() ? -EPERM : fd_of_process(pid, fd);
	if (taken >= 0)
		return taken;
	if (taken == -EBADF || taken == -ESRCH || !door)
		return failed(taken, "pidfd_getfd", strerror(-taken));
	const int given = by_door(pid, fd, door);
	if (given >= 0)
		return given;
	char why[kErrorRoom - 20];
	snprintf(why, sizeof why, "%.50s; at the socket of process %d: %.50s", strerror(-taken), pid, strerror(-given));
	return failed(given, "pidfd_getfd", why);
}

} // namespace pgas::devices
