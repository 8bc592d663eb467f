// SPDX-License-Identifier: BSD-3-Clause
//
// Debugging support: backtraces (GASNET_BACKTRACE), and processes that wait for a debugger (GASNET_FREEZE,
// GASNET_FREEZE_ON_ERROR). Fatal signals are caught only if one of these is set; otherwise they keep the system's
// default action.
#include "gasnet_core.hpp"

#include <execinfo.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <initializer_list>

#include <gasnet_tools.h>

extern "C" {
volatile int gasnet_frozen;
}
extern "C" __attribute__((weak)) gasnett_backtrace_type_t gasnett_backtrace_user; // defined by the program, if at all

namespace {

constexpr timespec kNap{0, 100'000'000}; // between checks of a frozen process's flag
volatile int *volatile g_flag;           // of the frozen process

// Uses write(2), because it runs in signal handlers.
void say(const char *text)
{
	for (size_t left = strlen(text); left;) {
		const ssize_t n = write(STDERR_FILENO, text, left);
		if (n <= 0)
			return;
		text += n;
		left -= static_cast<size_t>(n);
	}
}

void unfreeze(int)
{
	if (g_flag)
		*g_flag = 0;
}

const char *name_of(int sig)
{
	switch (sig) {
	case SIGSEGV:
		return "SIGSEGV";
	case SIGBUS:
		return "SIGBUS";
	case SIGFPE:
		return "SIGFPE";
	case SIGILL:
		return "SIGILL";
	case SIGABRT:
		return "SIGABRT";
	default:
		return "signal";
	}
}

void on_fatal_signal(int sig)
{
	char line[128];
	snprintf(line, sizeof line, "*** Caught a fatal signal: %s(%d) on node %u/%u\n", name_of(sig), sig,
		 gasneti_front.mynode, gasneti_front.nodes);
	if (!gasnet::debug_reported())
		say(line);
	gasnet::debug_fatal();
	signal(sig, SIG_DFL);
	raise(sig); // pending until this handler has returned
}

// Gives handlers a stack of their own: after a stack overflow the normal one has no room for a handler.
void handlers_on_own_stack()
{
	alignas(16) static char stack[65536];
	stack_t now;
	if (sigaltstack(nullptr, &now) == 0 && (now.ss_flags & SS_DISABLE)) {
		const stack_t mine = {stack, 0, sizeof stack};
		sigaltstack(&mine, nullptr);
	}
}

// Read from the environment once, because signal handlers query it as well.
class wish {
public:
	constexpr explicit wish(const char *name) : name_(name) {}
	bool granted()
	{
		if (value_.load() < 0)
			value_.store(gasnett_getenv_yesno_withdefault(name_, 0));
		return value_.load() != 0;
	}

private:
	const char *name_;
	std::atomic<int> value_{-1};
};
constinit wish g_backtrace("GASNET_BACKTRACE"), g_freeze("GASNET_FREEZE_ON_ERROR");

std::atomic<bool> g_reported{false};

} // namespace

namespace gasnet {

bool debug_reported() noexcept
{
	return g_reported.load();
}

void debug_fatal() noexcept
{
	if (g_reported.exchange(true))
		return;
	gasnett_print_backtrace_ifenabled(STDERR_FILENO);
	gasnett_freezeForDebuggerErr();
}

void debug_setup() noexcept
{
	const bool backtraces = g_backtrace.granted(), freezes = g_freeze.granted();
	if (gasnett_getenv_yesno_withdefault("GASNET_FREEZE", 0))
		gasnett_freezeForDebuggerNow(&gasnet_frozen, "gasnet_frozen");
	if (!backtraces && !freezes)
		return;
	gasnett_backtrace_init(nullptr);
	handlers_on_own_stack();
	for (const int sig : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
		struct sigaction now;
		if (sigaction(sig, nullptr, &now) != 0 || now.sa_handler != SIG_DFL)
			continue;
		now = {};
		now.sa_handler = on_fatal_signal;
		now.sa_flags = SA_ONSTACK;
		sigaction(sig, &now, nullptr);
	}
}

} // namespace gasnet

extern "C" void gasnett_freezeForDebuggerNow(volatile int *flag, const char *flagsymname)
{
	char text[512];
	snprintf(text, sizeof text,
		 "*** Process frozen for debugger: host=%s  pid=%d\n"
		 "    To unfreeze, attach a debugger and set '%s' to 0, or send a SIGCONT\n",
		 gasnett_gethostname(), static_cast<int>(getpid()), flagsymname);
	*flag = 1;
	g_flag = flag;
	struct sigaction now = {}, before;
	now.sa_handler = unfreeze;
	sigaction(SIGCONT, &now, &before);
	sigset_t cont, mask;
	sigemptyset(&cont);
	sigaddset(&cont, SIGCONT);
	pthread_sigmask(SIG_UNBLOCK, &cont, &mask);
	say(text);
	while (*flag)
		nanosleep(&kNap, nullptr);
	pthread_sigmask(SIG_SETMASK, &mask, nullptr);
	sigaction(SIGCONT, &before, nullptr);
}

extern "C" void gasnett_freezeForDebuggerErr(void)
{
	if (g_freeze.granted())
		gasnett_freezeForDebuggerNow(&gasnet_frozen, "gasnet_frozen");
}

// The first backtrace loads a library, which a signal handler must not do.
extern "C" void gasnett_backtrace_init(const char *)
{
	void *frame;
	backtrace(&frame, 1);
}

extern "C" int gasnett_print_backtrace(int fd)
{
	if (&gasnett_backtrace_user && gasnett_backtrace_user.fnp && gasnett_backtrace_user.fnp(fd) == 0)
		return 0;
	void *frames[64];
	const int n = backtrace(frames, 64);
	backtrace_symbols_fd(frames, n, fd);
	return n > 0 ? 0 : 1;
}

extern "C" int gasnett_print_backtrace_ifenabled(int fd)
{
	return g_backtrace.granted() ? gasnett_print_backtrace(fd) : 1;
}
