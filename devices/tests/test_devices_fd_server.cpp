// SPDX-License-Identifier: BSD-3-Clause
//
// test_devices_fd_server.cpp: descriptors from their owner's socket: which process gets which, and that nothing is
// left.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

extern "C" { // cmocka.h has no linkage of its own
#include <cmocka.h>
}
#undef fail // a name of the C++ library

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>
#include <vector>

#include "device_fd_server.hpp"
#include "device_error.hpp"

using namespace pgas::devices;

// A child of fork() starts a thread here.
extern "C" const char *__tsan_default_options()
{
	return "die_after_fork=0";
}

namespace {

constexpr uid_t kNobody = 65534;

int file(const char *text)
{
	const int fd = memfd_create("door", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return fd;
}

bool says(int fd, const char *text)
{
	char got[64] = "";
	return fd >= 0 && pread(fd, got, sizeof got - 1, 0) == static_cast<ssize_t>(strlen(text)) && !strcmp(got, text);
}

int entries(const char *folder)
{
	int n = 0;
	DIR *d = opendir(folder);
	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

// A joined thread is still listed for a moment.
bool comes_to(const char *folder, int wanted)
{
	for (int i = 0; i < 2000 && entries(folder) != wanted; i++)
		usleep(5000);
	return entries(folder) == wanted;
}

// Number of listening sockets on this host with this process's name.
int doors_of(int pid)
{
	char wanted[64], line[512];
	snprintf(wanted, sizeof wanted, "@pgas-device-%d-", pid);
	FILE *f = fopen("/proc/net/unix", "r");
	assert_non_null(f);
	int n = 0;
	while (fgets(line, sizeof line, f))
		n += strstr(line, wanted) && strstr(line, " 00010000 ");
	fclose(f);
	return n;
}

double now()
{
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

// --- another process that offers a file ------------------------------------------------------------------------------

struct offer {
	int32_t pid = -1, fd = -1, other = -1; // `other` is open there, but not offered
	uint64_t door = 0;
};

struct {
	pid_t pid = -1;
	int dst = -1, read_end = -1;
	offer its;
} g_owner;

[[noreturn]] void play_owner(int source, int dest)
{
	offer mine;
	mine.pid = getpid();
	mine.fd = file("offered");
	mine.other = file("secret");
	mine.door = door_offer(mine.fd);
	char c;
	if (write(dest, &mine, sizeof mine) != sizeof mine)
		_exit(2);
	while (read(source, &c, 1) == 1) {
		if (c == 'w')
			door_withdraw(mine.fd);
		else if (c == 'o')
			mine.door = door_offer(mine.fd);
		if (write(dest, &mine, sizeof mine) != sizeof mine)
			_exit(2);
	}
	_exit(0);
}

void tell_owner(char what)
{
	assert_int_equal(write(g_owner.dst, &what, 1), 1);
	assert_int_equal(read(g_owner.read_end, &g_owner.its, sizeof g_owner.its), sizeof g_owner.its);
}

int start_owner(void **)
{
	int there[2], back[2];
	if (pipe(there) != 0 || pipe(back) != 0)
		return -1;
	setenv("PGAS_DEVICE_FDS", "door", 1);
	g_owner.pid = fork();
	if (g_owner.pid == 0) {
		close(there[1]);
		close(back[0]);
		play_owner(there[0], back[1]);
	}
	close(there[0]);
	close(back[1]);
	g_owner.dst = there[1];
	g_owner.read_end = back[0];
	return read(g_owner.read_end, &g_owner.its, sizeof g_owner.its) == sizeof g_owner.its ? 0 : -1;
}

int end_owner(void **)
{
	close(g_owner.dst);
	close(g_owner.read_end);
	if (g_owner.pid > 0) {
		kill(g_owner.pid, SIGCONT);
		waitpid(g_owner.pid, nullptr, 0);
	}
	g_owner.pid = -1;
	unsetenv("PGAS_DEVICE_FDS");
	return 0;
}

int knock_plainly()
{
	sockaddr_un name{};
	name.sun_family = AF_UNIX;
	const int n = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "pgas-device-%d-%016llx", g_owner.its.pid,
			       static_cast<unsigned long long>(g_owner.its.door));
	const int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	const auto len = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(n));
	assert_true(s >= 0);
	assert_int_equal(connect(s, reinterpret_cast<sockaddr *>(&name), len), 0);
	return s;
}

// --- the cases -------------------------------------------------------------------------------------------------------

void test_door_gives_what_is_offered(void **)
{
	const offer &o = g_owner.its;
	assert_true(o.door != 0);
	for (int i = 0; i < 3; i++) {
		const int fd = fd_of_peer(o.pid, o.fd, o.door);
		assert_true(says(fd, "offered"));
		assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
		close(fd);
	}
}

void test_door_gives_nothing_else(void **)
{
	const offer o = g_owner.its;
	assert_int_equal(fd_of_peer(o.pid, o.other, o.door), -EBADF);
	assert_int_equal(fd_of_peer(o.pid, 0, o.door), -EBADF);
	assert_int_equal(fd_of_peer(o.pid, -1, o.door), -EBADF);
	assert_int_equal(fd_of_peer(o.pid, o.fd, o.door + 1), -ECONNREFUSED); // there is no such door
	assert_non_null(strstr(t_error, "socket of process"));
	assert_int_equal(fd_of_peer(o.pid, o.fd, 0), -EPERM); // it has no door
	assert_int_equal(fd_of_peer(getpid(), o.fd, o.door), -ECONNREFUSED);
	const int fd = fd_of_peer(o.pid, o.fd, o.door); // it has survived all of these
	assert_true(says(fd, "offered"));
	close(fd);
}

void test_door_shuts_with_the_last_offer(void **)
{
	const offer before = g_owner.its;
	assert_int_equal(doors_of(before.pid), 1);
	tell_owner('w');
	assert_int_equal(doors_of(before.pid), 0);
	assert_int_equal(fd_of_peer(before.pid, before.fd, before.door), -ECONNREFUSED);
	tell_owner('o');
	assert_true(g_owner.its.door != 0 && g_owner.its.door != before.door);
	const int fd = fd_of_peer(before.pid, before.fd, g_owner.its.door);
	assert_true(says(fd, "offered"));
	close(fd);
}

void test_door_of_a_dead_process_is_none(void **)
{
	const offer o = g_owner.its;
	kill(g_owner.pid, SIGKILL);
	waitpid(g_owner.pid, nullptr, 0);
	g_owner.pid = -1;
	assert_int_equal(doors_of(o.pid), 0);
	const double start = now();
	assert_int_equal(fd_of_peer(o.pid, o.fd, o.door), -ECONNREFUSED);
	assert_true(now() - start < 5);
}

void test_door_waits_for_nobody_long(void **)
{
	const offer &o = g_owner.its;
	const int silent = knock_plainly(), rude = knock_plainly();
	assert_int_equal(send(rude, "what?", 5, 0), 5);
	const int fd = fd_of_peer(o.pid, o.fd, o.door); // after both of them
	assert_true(says(fd, "offered"));
	close(fd);
	close(silent);
	close(rude);
}

void test_asker_waits_for_nobody_for_ever(void **)
{
	const offer &o = g_owner.its;
	kill(g_owner.pid, SIGSTOP);
	int status = 0; // all its threads have stopped once the kernel reports it
	assert_int_equal(waitpid(g_owner.pid, &status, WUNTRACED), g_owner.pid);
	assert_true(WIFSTOPPED(status));
	const double start = now();
	assert_int_equal(fd_of_peer(o.pid, o.fd, o.door), -ETIMEDOUT);
	assert_true(now() - start > 5);
	kill(g_owner.pid, SIGCONT);
	const int fd = fd_of_peer(o.pid, o.fd, o.door);
	assert_true(says(fd, "offered"));
	close(fd);
}

// Runs in the child as another user; returns its exit status.
int ask_as_nobody()
{
	if (setresuid(kNobody, kNobody, kNobody) != 0)
		return 1;
	const offer &o = g_owner.its;
	const int s = knock_plainly();
	pollfd one{s, POLLIN, 0};
	char got[16];
	if (poll(&one, 1, 10000) != 1 || recv(s, got, sizeof got, 0) > 0)
		return 2;
	return fd_of_peer(o.pid, o.fd, o.door) == -EPERM ? 0 : 3;
}

void test_door_is_for_one_user(void **)
{
	if (geteuid() != 0)
		skip(); // this user cannot become another one
	const pid_t child = fork();
	if (child == 0)
		_exit(ask_as_nobody());
	int status = -1;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

void test_door_leaves_nothing_behind(void **)
{
	// ThreadSanitizer starts its own thread with the program's first thread: it must exist before we count.
	std::thread([] {}).join();
	int threads = entries("/proc/self/task");
	for (int unchanged = 0; unchanged < 20; unchanged++) {
		usleep(5000);
		const int now = entries("/proc/self/task");
		if (now != threads)
			unchanged = 0;
		threads = now;
	}
	const int fds = entries("/proc/self/fd");
	for (int i = 0; i < 20; i++) {
		const int a = file("a"), b = file("b");
		const uint64_t door = door_offer(a);
		assert_true(door != 0);
		assert_int_equal(door_offer(b), door);
		assert_int_equal(door_offer(a), door); // a repeated offer counts once
		assert_true(comes_to("/proc/self/task", threads + 1));
		const int got = fd_of_peer(getpid(), b, door);
		assert_true(says(got, "b"));
		close(got);
		door_withdraw(a);
		assert_int_equal(doors_of(getpid()), 1);
		assert_int_equal(fd_of_peer(getpid(), a, door), -EBADF);
		door_withdraw(b);
		door_withdraw(b);
		close(a);
		close(b);
		assert_int_equal(doors_of(getpid()), 0);
	}
	assert_true(comes_to("/proc/self/task", threads));
	assert_int_equal(entries("/proc/self/fd"), fds);
}

void test_door_of_a_parent_is_not_the_childs(void **)
{
	const int a = file("a");
	const uint64_t door = door_offer(a);
	const pid_t child = fork();
	if (child == 0) {
		const int b = file("b");
		const uint64_t own = door_offer(b); // must not wait for a thread that does not exist here
		const int got = own != door ? fd_of_peer(getpid(), b, own) : -1;
		_exit(own && says(got, "b") ? 0 : 1);
	}
	int status = -1;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	const int got = fd_of_peer(getpid(), a, door);
	assert_true(says(got, "a"));
	close(got);
	door_withdraw(a);
	close(a);
}

} // namespace

int main()
{
	signal(SIGPIPE, SIG_IGN);
#define CASE(name_arg) cmocka_unit_test_setup_teardown(name_arg, start_owner, end_owner)
	const CMUnitTest tests[] = {
		CASE(test_door_gives_what_is_offered),
		CASE(test_door_gives_nothing_else),
		CASE(test_door_shuts_with_the_last_offer),
		CASE(test_door_of_a_dead_process_is_none),
		CASE(test_door_waits_for_nobody_long),
		CASE(test_asker_waits_for_nobody_for_ever),
		CASE(test_door_is_for_one_user),
		CASE(test_door_leaves_nothing_behind),
		CASE(test_door_of_a_parent_is_not_the_childs),
	};
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
