// SPDX-License-Identifier: BSD-3-Clause
// oshrun_keeper.cpp: the keeper, a child of oshrun that waits for oshrun to die without having ended its job.
//
// It then kills the remaining PEs and removes the PMIx server's directory. It has a session of its own, so a signal to
// the terminal's process group does not reach it. When a job ends normally, oshrun kills the keeper. The PMIx server
// also lives in this process: libpmix starts threads, and oshrun itself must stay single-threaded to fork PEs.
#include "oshrun.hpp"
#include "oshrun_process.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifndef SYS_close_range
// the same number on all architectures; headers before Linux 5.9 lack it
#define SYS_close_range 436
#endif

namespace oshrun {
namespace {

bool kill_by_cookie(uint64_t cookie)
{
	bool any = false;
	DIR *proc = opendir("/proc");
	if (!proc)
		return false;
	while (dirent *entry = readdir(proc)) {
		int pid = atoi(entry->d_name);
		if (pid > 1 && pid != getpid() && carries_cookie(pid, cookie)) {
			kill(pid, SIGKILL);
			any = true;
		}
	}
	closedir(proc);
	return any;
}

// oshrun was killed. Searches several times, in case a process was being forked during a search.
void end_job(const keeper_setup &setup)
{
	for (uint32_t i = 0; i < setup.board.plan.local_size; i++)
		if (uint32_t pid = std::atomic_ref<uint32_t>(setup.page->child_pid[i]).load(std::memory_order_relaxed))
			kill(-static_cast<pid_t>(pid), SIGKILL);
	for (int round = 0; round < 10 && kill_by_cookie(setup.board.plan.cookie); round++)
		usleep(5000);
	setup.scratch->remove();
}

void announce_env(keeper_page &page, uint32_t state)
{
	// pairs with load_acquire in add_pmix(), by a child about to exec
	std::atomic_ref<uint32_t>(page.env_state).store(state, std::memory_order_release);
	syscall(SYS_futex, &page.env_state, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// Closes everything else that the keeper inherited, above all the write end of `life`: if that stayed open, nobody
// would see that oshrun is gone. On a kernel without the call only that one is closed.
void close_all_but(std::vector<int> keep, int life_write)
{
	close(life_write);
	std::sort(keep.begin(), keep.end());
	unsigned source = STDERR_FILENO + 1;
	for (int fd : keep)
		if (fd > STDERR_FILENO) {
			if (static_cast<unsigned>(fd) > source)
				syscall(SYS_close_range, source, static_cast<unsigned>(fd) - 1, 0);
			source = static_cast<unsigned>(fd) + 1;
		}
	syscall(SYS_close_range, source, ~0U, 0);
}

// Waits until oshrun is gone. An agent that has lost its parent ends its PEs and itself; one that cannot, because it
// was stopped, is killed. poll reports that the other end of the uplink has hung up, so the keeper does not read, and
// takes nothing away.
void await_end(const keeper_setup &setup)
{
	struct pollfd seen[] = {
		{setup.life_read_fd, POLLIN, 0}, {setup.uplink_fd, POLLRDHUP, 0}, {setup.pmix_fd, POLLIN, 0}};
	for (;;) {
		seen[0].revents = seen[1].revents = seen[2].revents = 0;
		if (poll(seen, 3, -1) < 0 && errno == EINTR)
			continue;
		if (seen[2].revents && !handle_pmix_link())
			seen[2].fd = -1;
		if (seen[0].revents)
			return;
		if (seen[1].revents)
			break;
	}
	const int patience_ms = static_cast<int>(std::min(setup.grace_s, 60.0) * 1000) + 3000;
	while (poll(seen, 1, patience_ms) < 0 && errno == EINTR) {}
	if (!seen[0].revents && getppid() == setup.launcher)
		kill(setup.launcher, SIGKILL);
}

[[noreturn]] void keeper_main(const keeper_setup &setup)
{
	close_all_but({setup.life_read_fd, setup.mail_write_fd, setup.uplink_fd, setup.pmix_fd, setup.scratch->fd(),
		       setup.scratch->parent_fd()},
		      setup.life_write_fd);
	setsid();
	prctl(PR_SET_NAME, "oshrun-keeper");
	for (int sig : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2, SIGTSTP})
		signal(sig, SIG_IGN);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, nullptr);
	// the keeper must not hold these open: readers of oshrun's output wait for its end
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = STDIN_FILENO; fd <= (setup.verbose ? STDOUT_FILENO : STDERR_FILENO); fd++)
		dup2(null, fd);
	if (setup.pmix)
		announce_env(*setup.page, start_pmix_server(setup) ? kEnvReady : kEnvNone);
	await_end(setup);
	end_job(setup);
	_exit(0);
}

} // namespace

pid_t start_keeper(const keeper_setup &setup)
{
	pid_t pid = fork();
	if (pid == 0)
		keeper_main(setup);
	return pid;
}

} // namespace oshrun
