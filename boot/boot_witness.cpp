// SPDX-License-Identifier: BSD-3-Clause
// boot_witness.cpp: tells a launcher that does not watch its processes that this one died. Slurm's pmi2 plugin lets the
// other tasks of a step go on when one of them is killed, and they would wait for it for ever. No peer can end the job
// in its place: it may be computing, or wait for somebody else.
//
// The witness is a child process, since only another process outlives SIGKILL. It has three descriptors: the launcher's
// connection, a pidfd of this process, and a pipe on which this process says whether it is a member of the job:
//
//	member --left--> free --joined--> member; this process ends: a member's end is reported, the witness ends, too
//
// It is made by clone() without a signal: the program's own wait() does not find it, and no SIGCHLD arrives. It calls
// nothing but the kernel, because a thread that does not exist in it may hold any lock.
#include "boot.hpp"

#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434 // the same number on all architectures, as the next one
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

namespace pgas::boot {
namespace {

constexpr int kEndMs = 10'000; // between the end of a process's descriptors and its own
constexpr char kMember = 'm', kFree = 'f';
int g_news = -1; // the pipe
ino_t g_news_ino = 0;
pid_t g_member = 0; // the process that has a witness

void close_between(int first, int last)
{
	if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
		return;
	struct rlimit limit = {};
	getrlimit(RLIMIT_NOFILE, &limit);
	const int end = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 65536)); // Linux before 5.9
	for (int fd = first; fd <= last && fd < end; fd++)
		close(fd);
}

// Standard output among them: whoever reads it waits for its end.
void close_others(int a, int b, int c)
{
	int kept[] = {a, b, c};
	std::sort(std::begin(kept), std::end(kept));
	int next = 0;
	for (const int fd : kept) {
		if (fd < 0)
			continue;
		close_between(next, fd - 1);
		next = fd + 1;
	}
	close_between(next, INT32_MAX);
}

// Reads what the process has said. Returns false at its end.
bool read_news(int news, bool &member)
{
	char text[64];
	ssize_t got;
	while ((got = read(news, text, sizeof text)) > 0)
		member = text[got - 1] == kMember;
	return got < 0 && (errno == EAGAIN || errno == EINTR);
}

[[noreturn]] void run_witness(int news, int process, const abort_words &words)
{
	bool member = true;
	syscall(SYS_setsid);
	prctl(PR_SET_NAME, "pgas-witness");
	close_others(news, process, words.fd);
	pollfd polls[] = {{news, POLLIN, 0}, {process, POLLIN, 0}};
	int patience = -1;
	while (process >= 0 ? !polls[1].revents : polls[0].fd >= 0) {
		const int ready = poll(polls, 2, patience);
		if (ready == 0)
			_exit(0); // it lives and has closed the pipe: it cannot say any more that it leaves
		if (ready > 0 && polls[0].revents && !read_news(news, member)) {
			polls[0].fd = -1;
			patience = kEndMs;
		}
	}
	read_news(news, member);
	if (member) {
		[[maybe_unused]] const ssize_t sent = write(words.fd, words.text, words.length);
	}
	_exit(0);
}

pid_t fork_quietly()
{
	return static_cast<pid_t>(syscall(SYS_clone, 0L, 0L, 0L, 0L, 0L));
}

void start_witness(const abort_words &words)
{
	int news[2];
	if (pipe2(news, O_CLOEXEC | O_NONBLOCK) != 0)
		return;
	const unique_fd process(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before); // the witness keeps it
	const pid_t child = fork_quietly();
	if (child == 0)
		run_witness(news[0], process.get(), words);
	pthread_sigmask(SIG_SETMASK, &before, nullptr);
	close(news[0]);
	struct stat info = {};
	fstat(news[1], &info);
	g_news = news[1];
	g_news_ino = info.st_ino;
	if (child < 0)
		close(std::exchange(g_news, -1));
}

// The program may have closed descriptors that are not its own, and may have another file under that number.
void tell_witness(char what)
{
	struct stat now = {};
	if (g_news < 0 || fstat(g_news, &now) != 0 || now.st_ino != g_news_ino || !S_ISFIFO(now.st_mode))
		return;
	[[maybe_unused]] const ssize_t sent = write(g_news, &what, 1); // never so many that the pipe is full
}

} // namespace

// Slurm alone needs it, in steps of more than one task.
void witness_joined(const job &job)
{
	abort_words words;
	if (g_member == getpid()) {
		tell_witness(kMember);
		return;
	}
	g_member = getpid();
	if (job.size > 1 && !job.be->watches && job.be->describe_abort && pgas_boot_getenv("SLURM_STEP_ID") &&
	    job.be->describe_abort(words))
		start_witness(words);
}

void witness_left()
{
	if (g_member == getpid())
		tell_witness(kFree);
}

} // namespace pgas::boot
