// SPDX-License-Identifier: BSD-3-Clause
//
// How a PE ends the job when it cannot continue.
#include "shmem_fail.hpp"

#include <execinfo.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <string>

#include "pgas_boot.h"
#include "tool_place.hpp"

namespace shmem {

namespace {

constexpr int kFrames = 64;
constexpr int kNamingMs = 3000;

// Names need memory, and the program may have crashed while it held the lock of malloc: so a child finds them, which
// may hang and is killed then. It is made by the system call alone, since fork() takes locks, too.
[[noreturn]] void name_frames(void *const *frames, int count)
{
	signal(SIGSEGV, SIG_DFL); // not our handler, which called this
	signal(SIGBUS, SIG_DFL);
	std::string text;
	for (int i = 0; i < count; i++)
		text += "PE " + std::to_string(g_shmem.my_pe) + ": #" + std::to_string(i) + " " +
			pgas_tools::frame_text(frames[i]) + "\n";
	const ssize_t wrote = write(STDERR_FILENO, text.data(), text.size()); // at once: other PEs write, too
	_exit(wrote == static_cast<ssize_t>(text.size()) ? 0 : 1);
}

// True when the child has ended well in time.
bool await_child(pid_t child)
{
	const timespec nap{0, 1'000'000};
	int status = 0;
	for (int i = 0; i < kNamingMs; i++) {
		const pid_t ended = waitpid(child, &status, WNOHANG);
		if (ended == child)
			return WIFEXITED(status) && WEXITSTATUS(status) == 0;
		if (ended < 0 && errno != EINTR) // the program ignores its children: nobody can tell
			return true;
		nanosleep(&nap, nullptr);
	}
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return false;
}

} // namespace

void backtrace_print()
{
	void *frames[kFrames];
	const int count = backtrace(frames, kFrames);
	const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
	if (child == 0)
		name_frames(frames, count);
	if (child < 0 || !await_child(child))
		backtrace_symbols_fd(frames, count, STDERR_FILENO);
}

void fail(const char *routine, const char *format, ...)
{
	char text[512];
	const int n = snprintf(text, sizeof text, "%s: ", routine);
	va_list args;
	va_start(args, format);
	vsnprintf(text + n, sizeof text - static_cast<size_t>(n), format, args);
	va_end(args);
	if (g_shmem.tool && g_shmem.initialized)
		g_shmem.tool->ending(text);
	if (g_shmem.env.backtrace)
		backtrace_print();
	if (g_shmem.initialized)
		pgas_boot_abort(1, text); // the number of the PE is added when it is printed
	if (g_shmem.my_pe >= 0)
		fprintf(stderr, "PE %d: ", g_shmem.my_pe);
	fprintf(stderr, "%s\n", text);
	_exit(1);
}

void require(const char *routine, const char *what, int rc)
{
	if (rc != 0)
		fail(routine, "%s: %s", what, pgas_strerror(rc < 0 ? -rc : rc));
}

// A peer that cannot be reached has usually ended. The launcher knows how, reports it and ends us: give it time for
// that.
void fail_transfer(const context *c, int pe, ssize_t rc, const char *routine)
{
	const auto err = static_cast<int>(rc < 0 ? -rc : rc);
	const int world = teams::world_rank(*c->owner, pe);
	const bool gone = err == FI_EHOSTUNREACH || err == FI_ECONNRESET || err == FI_ENOTCONN || err == FI_ETIMEDOUT;
	if (gone) {
		const timespec patience{1, 0};
		nanosleep(&patience, nullptr);
	}
	char why[200];
	if (!gone || !g_shmem.net.ops->reason(c->ep, static_cast<fi_addr_t>(pe), why, sizeof why))
		snprintf(why, sizeof why, "%s", pgas_strerror(err));
	if (gone && g_shmem.host_names)
		fail(routine, "PE %d on %s is lost: %s", world, g_shmem.host_names[world], why);
	fail(routine, "to PE %d: %s", world, why);
}

void check_lost(const context *c, const char *routine)
{
	fi_addr_t dest = 0;
	const int err = g_shmem.net.ops->failed(c->ep, &dest);
	if (PGAS_LIKELY(!err))
		return;
	if (dest >= static_cast<fi_addr_t>(c->owner->size))
		fail(routine, "%s", pgas_strerror(-err));
	fail_transfer(c, static_cast<int>(dest), err, routine);
}

void check_running(const char *routine)
{
	if (PGAS_UNLIKELY(!g_shmem.initialized))
		fail(routine, g_shmem.finalized ? "called after shmem_finalize" : "called before shmem_init");
}

void check_pe(const char *routine, int pe)
{
	if (PGAS_UNLIKELY(pe < 0 || pe >= g_shmem.n_pes))
		fail(routine, "PE number %d is outside 0..%d", pe, g_shmem.n_pes - 1);
}

} // namespace shmem
