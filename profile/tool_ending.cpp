// SPDX-License-Identifier: BSD-3-Clause
//
// A job that ends early: a PE crashed, or called exit with a status, abort or shmem_global_exit, and the launcher ends
// the others by SIGTERM. The figures of all PEs of a host lie in memory that each of them has mapped, even when the
// owner is gone. So the first PE of a host that learns of the end reports for all of them.
//
// It may learn of it in a signal handler, in the middle of anything. So a thread waits to be told and does the work. A
// handler of a fault waits meanwhile, but only for a limited time: the fault may have happened under a lock that the
// thread needs. A handler of a signal that was sent returns at once, and the thread sends the signal again when it is
// done. Then the signal is handled as it was before the tool was loaded.
#include "tool_trace.hpp"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

namespace pgas_tools {
namespace {

constexpr int kSignals[] = {SIGTERM, SIGINT, SIGHUP, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
constexpr size_t kSignalCount = sizeof kSignals / sizeof *kSignals;
constexpr int kPatienceMs = 1500; // launchers kill after two seconds or more

struct watcher {
	pthread_t thread{};
	bool runs = false;
	pid_t pid = 0;
	sem_t heard;
	std::atomic<bool> told{false}, done{false}, closing{false};
	std::atomic<int> sent{0}; // which of the signals to send again, + 1
	char why[128] = "";
	struct sigaction old[kSignalCount] {};
	const figures **near = nullptr; // of each PE of my host, where it is mapped
	uint64_t *claim = nullptr;      // one PE claims the report
	int first = 0;                  // of my host
	bool sees_all = true;           // all PEs of my host
};
watcher g_watcher;

bool read_near(int pe, size_t offset, void *dst, size_t bytes)
{
	const figures *there = g_watcher.near[pe];
	if (!there || pgas_load_acquire(&there->head.magic) != kMagic) // pairs with store_release in joined()
		return false;
	memcpy(dst, reinterpret_cast<const char *>(there) + offset, bytes);
	return true;
}

void *report_when_told(void *)
{
	watcher &w = g_watcher;
	while (sem_wait(&w.heard) != 0 && errno == EINTR) {}
	uint64_t nobody = 0;
	// a PE that cannot read the others leaves it to the first one, unless it fails itself
	const bool mine_to_say = w.sees_all || !w.sent.load() || g.my_pe == w.first;
	if (!w.closing.load() && w.claim && mine_to_say &&
	    __atomic_compare_exchange_n(w.claim, &nobody, uint64_t{1}, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
		if (g.wish.stats)
			report_early({read_near}, w.why);
		if (g.wish.trace)
			trace_early({read_near});
		also_ending();
	}
	w.done.store(true);
	if (const int pos = w.sent.load() - 1; pos >= 0) {
		sigaction(kSignals[pos], &w.old[pos], nullptr);
		kill(getpid(), kSignals[pos]);
	}
	return nullptr;
}

void tell()
{
	if (!g_watcher.told.exchange(true))
		sem_post(&g_watcher.heard);
}

// Signal handlers call this too: use only what is allowed there.
void tell_and_wait()
{
	watcher &w = g_watcher;
	if (w.pid != getpid() || !w.runs) // a child of fork() is not a PE
		return;
	tell();
	const timespec nap = {0, 1'000'000};
	for (int i = 0; i < kPatienceMs && !w.done.load(); i++)
		nanosleep(&nap, nullptr);
}

void on_signal(int sig, siginfo_t *info, void *)
{
	watcher &w = g_watcher;
	const int saved = errno;
	size_t pos = 0;
	while (pos + 1 < kSignalCount && kSignals[pos] != sig)
		pos++;
	if (!w.told.load()) { // printf is not allowed here
		char *dst = stpcpy(w.why, "PE ");
		char digits[12];
		int n = 0;
		for (int value = g.my_pe; n == 0 || value; value /= 10)
			digits[n++] = static_cast<char>('0' + value % 10);
		while (n)
			*dst++ = digits[--n];
		dst = stpcpy(dst, " got signal ");
		if (sig >= 10)
			*dst++ = static_cast<char>('0' + sig / 10);
		*dst++ = static_cast<char>('0' + sig % 10);
		*dst = '\0';
	}
	if (info->si_code <= 0 && sig != SIGABRT && w.pid == getpid() && !w.done.load()) {
		w.sent.store(static_cast<int>(pos) + 1);
		tell();
	} else {
		tell_and_wait();
		sigaction(sig, &w.old[pos], nullptr);
		if (info->si_code <= 0 && sig != SIGABRT)
			raise(sig);
		// a fault happens again, abort() continues by itself
	}
	errno = saved;
}

// Registered after the library's own handler, so it runs first.
void on_exit_status(int status, void *)
{
	if (status == 0 || !g.mine || g_watcher.pid != getpid())
		return;
	char why[64];
	snprintf(why, sizeof why, "PE %d called exit(%d)", g.my_pe, status);
	ending(why);
}

void install_handlers()
{
	struct sigaction now {};
	now.sa_sigaction = on_signal;
	now.sa_flags = SA_SIGINFO | SA_ONSTACK;
	sigemptyset(&now.sa_mask);
	for (size_t i = 0; i < kSignalCount; i++) {
		sigaction(kSignals[i], nullptr, &g_watcher.old[i]);
		if (g_watcher.old[i].sa_handler != SIG_IGN)
			sigaction(kSignals[i], &now, nullptr);
	}
}

void remove_handlers()
{
	for (size_t i = 0; i < kSignalCount; i++) {
		struct sigaction here;
		sigaction(kSignals[i], nullptr, &here);
		if (here.sa_sigaction == on_signal) // otherwise the program has installed its own
			sigaction(kSignals[i], &g_watcher.old[i], nullptr);
	}
}

bool start_thread()
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const bool good = pthread_create(&g_watcher.thread, nullptr, report_when_told, nullptr) == 0;
	pthread_sigmask(SIG_SETMASK, &before, nullptr);
	return good;
}

} // namespace

void ending_prepare(bool exit_is_early)
{
	watcher &w = g_watcher;
	w.near = new (std::nothrow) const figures *[static_cast<size_t>(g.n_pes)];
	if (!w.near)
		return;
	w.claim = nullptr;
	w.first = g.n_pes;
	w.sees_all = true;
	for (int pe = 0; pe < g.n_pes; pe++) {
		w.near[pe] = nullptr;
		if (g.host_of[pe] != g.my_host)
			continue;
		figures *const there = mapped_room(pe);
		w.near[pe] = there;
		const pe_place where = where_is(pe);
		if (!where.with_tool)
			continue;
		w.first = std::min(w.first, pe);
		w.sees_all = w.sees_all && there;
		if (!w.claim && there)
			w.claim = &there->head.claimed;
	}
	w.pid = getpid();
	w.told = w.done = w.closing = false;
	w.sent = 0;
	sem_init(&w.heard, 0, 0);
	w.runs = start_thread();
	static const bool registered = !exit_is_early || on_exit(on_exit_status, nullptr) == 0;
	if (w.runs && registered)
		install_handlers();
}

void ending_close()
{
	watcher &w = g_watcher;
	if (w.runs) {
		remove_handlers();
		w.closing = true;
		tell();
		pthread_join(w.thread, nullptr);
		w.runs = false;
	}
	delete[] w.near;
	w.near = nullptr;
}

void ending(const char *why)
{
	watcher &w = g_watcher;
	if (!w.told.load()) {
		strncpy(w.why, why, sizeof w.why - 1);
		w.why[sizeof w.why - 1] = '\0';
	}
	tell_and_wait();
}

} // namespace pgas_tools
