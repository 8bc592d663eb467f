// SPDX-License-Identifier: BSD-3-Clause
//
// The hang report: where every PE of a host is, and since when; printed if one of them has been in one call for too
// long, or on SIGUSR1. PEs in equal places are reported together.
//
// Each PE has a thread for this. The thread of the first PE of a host checks the figures of all of them from time to
// time. It requests a backtrace from each by a number in that PE's room; the PE's own thread interrupts the main
// thread, whose handler notes the return addresses, finds their names, and writes both into its room. A thread that is
// blocked in a system call outside of our calls is not interrupted: its call might end early. A PE that does not reply
// in time is reported with what its figures say.
//
// If PEs of one machine do not map each other's memory, each sees only itself, and reports for itself. The PE that the
// others wait for may be in no call, and nobody could ask it: so in that case a PE that has been outside of calls for
// too long reports, too.
#include "tool_figures.hpp"
#include "tool_place.hpp"
#include "tool_report.hpp"

#include <pgas/pgas_ranges.hpp>

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace pgas_tools {
namespace {

constexpr uint64_t kLookNs = 50'000'000;
constexpr int kPatienceLooks = 30; // to wait for a PE's reply
constexpr int kFrames = 32;

struct guard_thread {
	pthread_t thread{}, main{};
	bool runs = false;
	uint64_t after_ns = 0;
	pid_t main_tid = 0;
	const uint32_t *main_inside = nullptr; // t_inside of that thread
	std::vector<figures *> near;           // figures of each PE of my host, or null
	int first = 0;                         // the PE that reports
	bool blind = false;                    // there are PEs on this machine that it does not see
	std::atomic<bool> closing{false}, asked{false};
	void *frames[kFrames];
	std::atomic<int> frame_count{-1};
	struct sigaction old_look {
	}, old_user{};
};
guard_thread g_hang;

int look_signal()
{
	return SIGRTMAX - 3;
}

// --- my own place ----------------------------------------------------------------------------------------------------

void on_look(int, siginfo_t *, void *)
{
	const int saved = errno;
	if (g_hang.frame_count.load() == -1)
		g_hang.frame_count.store(backtrace(g_hang.frames, kFrames));
	errno = saved;
}

void on_user(int, siginfo_t *, void *)
{
	g_hang.asked.store(true);
}

bool is_of_ours(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	for (const char *begin : {"libsma", "libgasnet-pgas", "libpgas", "libc.", "libpthread", "linux-vdso"})
		if (strncmp(name, begin, strlen(begin)) == 0)
			return true;
	return false;
}

const char *comparison(uint32_t how)
{
	static const char *const names[] = {"==", "!=", ">", ">=", "<", "<="};
	return how < 6 ? names[how] : "?";
}

std::string value_of_word(const void *word, uint32_t size)
{
	switch (size) {
	case 2:
		return std::to_string(pgas_load_relaxed(static_cast<const int16_t *>(word)));
	case 4:
		return std::to_string(pgas_load_relaxed(static_cast<const int32_t *>(word)));
	case 8:
		return std::to_string(pgas_load_relaxed(static_cast<const int64_t *>(word)));
	default:
		return "";
	}
}

// Names what my main thread waits for: "      flag + 0x18 is 3, and must be == 9".
size_t name_word(char *text, size_t room)
{
	const head &h = g.mine->head;
	const uint64_t place = pgas_load_relaxed(&h.in_place);
	text[0] = '\0';
	if (!pgas_load_relaxed(&h.in_call) || !place || pgas_load_relaxed(&h.in_pe) != kNoPe)
		return 0;
	const uint32_t how = pgas_load_relaxed(&h.in_how);
	const std::string name = name_of_word(place - 1);
	const void *word = address_of_word(place - 1);
	if (name.empty() || !word)
		return 0;
	std::string line = "      " + name;
	if (const std::string value = value_of_word(word, pgas_load_relaxed(&h.in_size)); how == kForLock)
		line += " is the lock";
	else if (!value.empty())
		line += " is " + value + ", and must be " + comparison(how) + " " +
			std::to_string(static_cast<int64_t>(pgas_load_relaxed(&h.in_value)));
	const int n = snprintf(text, room, "%s\n", line.c_str());
	return std::min(static_cast<size_t>(n), room - 1);
}

// One line per frame of the program itself; frames inside the library are left out.
void name_frames(char *text, size_t room, int count)
{
	size_t used = 0;
	text[0] = '\0';
	for (int i = 0; i < count; i++) {
		Dl_info info{};
		if (!dladdr(g_hang.frames[i], &info) || !info.dli_fname || is_of_ours(info.dli_fname))
			continue;
		const std::string frame = "      " + frame_text(g_hang.frames[i]) + "\n";
		if (frame.size() >= room - used)
			return;
		memcpy(text + used, frame.c_str(), frame.size() + 1);
		used += frame.size();
	}
}

// The system call in which the reported thread is blocked, -1 when it runs, or -2 when the kernel does not tell.
long blocked_call()
{
	char path[64], text[64] = "";
	snprintf(path, sizeof path, "/proc/self/task/%d/syscall", g_hang.main_tid);
	FILE *file = fopen(path, "re");
	const bool told = file && fgets(text, sizeof text, file);
	if (file)
		fclose(file);
	if (!told)
		return -2;
	return strncmp(text, "running", 7) == 0 ? -1 : strtol(text, nullptr, 10);
}

const char *name_of_call(long number)
{
	switch (number) {
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
		return "asleep";
	case SYS_ppoll:
	case SYS_pselect6:
	case SYS_epoll_pwait:
#ifdef SYS_poll
	case SYS_poll:
	case SYS_select:
	case SYS_epoll_wait:
#endif
		return "waiting for a file or a time";
	case SYS_read:
	case SYS_readv:
	case SYS_recvfrom:
	case SYS_recvmsg:
		return "reading";
	case SYS_write:
	case SYS_writev:
	case SYS_sendto:
	case SYS_sendmsg:
		return "writing";
	case SYS_wait4:
	case SYS_waitid:
		return "waiting for a process";
	case SYS_futex:
		return "waiting for a thread";
	default:
		return "in a system call";
	}
}

// A signal ends a sleep, and many other system calls that have a time limit, before their time, whatever its flags say;
// the report must not change the program. The library's own waits go on, and code that runs does not notice.
bool may_interrupt(long call)
{
	return call == -1 || pgas_load_relaxed(g_hang.main_inside) != 0;
}

void answer()
{
	head &mine = g.mine->head;
	const uint64_t number = pgas_load_acquire(&mine.look_asked); // pairs with store_release in ask_all()
	if (number == pgas_load_relaxed(&mine.look_answered))
		return;
	g_hang.frame_count.store(-1);
	const timespec nap = {0, 1'000'000};
	const long call = blocked_call();
	const bool interrupts = may_interrupt(call);
	if (interrupts && pthread_kill(g_hang.main, look_signal()) == 0)
		for (int i = 0; i < 500 && g_hang.frame_count.load() == -1; i++)
			nanosleep(&nap, nullptr);
	char *const text = g.mine->where;
	const size_t used = name_word(text, sizeof g.mine->where), room = sizeof g.mine->where - used;
	if (interrupts)
		name_frames(text + used, room, std::max(g_hang.frame_count.load(), 0));
	else
		snprintf(text + used, room, "      (%s; a backtrace would interrupt it)\n", name_of_call(call));
	pgas_store_release(&mine.look_answered, number); // pairs with load_acquire in has_answered()
}

// --- all PEs ---------------------------------------------------------------------------------------------------------

void nap_one_look()
{
	const timespec nap = {0, static_cast<long>(kLookNs)};
	nanosleep(&nap, nullptr);
}

bool has_answered(const figures *there, uint64_t number)
{
	return pgas_load_acquire(&there->head.look_answered) >= number; // pairs with store_release in answer()
}

void ask_all(uint64_t number)
{
	for (figures *there : g_hang.near)
		if (there)
			pgas_store_release(&there->head.look_asked, number); // pairs with load_acquire in answer()
	for (int i = 0; i < kPatienceLooks; i++) {
		answer(); // this PE is one of them
		bool all = true;
		for (const figures *there : g_hang.near)
			all = all && (!there || has_answered(there, number));
		if (all)
			return;
		nap_one_look();
	}
}

// "shmem_long_put to PE 3, 80 bytes"
std::string place_text(const head &h)
{
	if (!h.in_call)
		return "outside of calls";
	std::string text = call_text(h.in_call - 1);
	char part[128] = "";
	if (h.in_place && h.in_pe == kNoPe && h.in_how == kForLock)
		snprintf(part, sizeof part, " of symmetric 0x%" PRIx64, h.in_place - 1);
	else if (h.in_place && h.in_pe == kNoPe)
		snprintf(part, sizeof part, " for symmetric 0x%" PRIx64 " %s %" PRId64, h.in_place - 1,
			 comparison(h.in_how), static_cast<int64_t>(h.in_value));
	text += part;
	part[0] = '\0';
	if (!h.in_place && h.in_how)
		text += std::string(" of ") + call_text(h.in_how - 1);
	if (h.in_pe != kNoPe)
		snprintf(part, sizeof part, " to PE %d", h.in_pe);
	text += part;
	if (h.in_team_pes)
		text += std::string(", team ") + team_text(h.in_team) + "of " + std::to_string(h.in_team_pes) + " PEs";
	if (h.in_bytes)
		text += ", " + std::to_string(h.in_bytes) + " bytes";
	return text;
}

struct group {
	std::string place, frames;
	std::vector<int> pes;
	uint64_t least_ns, most_ns;
};

std::vector<group> groups(uint64_t number)
{
	std::vector<group> found;
	const uint64_t now = now_ns();
	for (size_t pe = 0; pe < g_hang.near.size(); pe++) {
		const figures *there = g_hang.near[pe];
		if (!there)
			continue;
		const head h = there->head;
		char frames[sizeof there->where] = "      (it does not answer)\n";
		if (has_answered(there, number))
			memcpy(frames, there->where, sizeof frames);
		frames[sizeof frames - 1] = '\0';
		const uint64_t ns = h.in_call ? now - h.in_since_ns : 0;
		const std::string place = place_text(h);
		auto it = std::find_if(found.begin(), found.end(),
				       [&](const group &x) { return x.place == place && x.frames == frames; });
		if (it == found.end())
			it = found.insert(it, {place, frames, {}, ns, ns});
		it->pes.push_back(static_cast<int>(pe));
		it->least_ns = std::min(it->least_ns, ns);
		it->most_ns = std::max(it->most_ns, ns);
	}
	return found;
}

void print_report(const char *why)
{
	static uint64_t number = 0;
	ask_all(++number);
	const pe_place where = where_is(g.my_pe);
	std::string text = std::string(kSubject) + " hang report" + (*where.name ? " of host " : "") + where.name +
			   ": " + why + "\n";
	for (const group &x : groups(number)) {
		text += "  PE " + pgas::ranges_of(x.pes) + ": " + x.place;
		if (x.most_ns)
			text += std::string(", for ") + time_text(x.most_ns);
		text += "\n" + x.frames;
	}
	for (const std::string &sentence : conclusions(g_hang.near))
		text += "  conclusion: " + sentence + "\n";
	fputs(text.c_str(), stderr);
	fflush(stderr);
}

// The PE that has been in one call for longest.
int longest(uint64_t &since)
{
	int who = kNoPe;
	for (size_t pe = 0; pe < g_hang.near.size(); pe++) {
		const figures *there = g_hang.near[pe];
		if (!there || !pgas_load_relaxed(&there->head.in_call) || pgas_load_relaxed(&there->head.left))
			continue;
		const uint64_t pos = pgas_load_relaxed(&there->head.in_since_ns);
		if (who == kNoPe || pos < since) {
			who = static_cast<int>(pe);
			since = pos;
		}
	}
	return who;
}

// Since when this PE has been outside of calls, as far as periodic checks can tell; 0 if it is in a call, or has ended.
uint64_t outside_since()
{
	static uint64_t last_call = 0, since = 0;
	const head &mine = g.mine->head;
	const uint64_t call = pgas_load_relaxed(&mine.in_since_ns);
	if (pgas_load_relaxed(&mine.in_call) || pgas_load_relaxed(&mine.left))
		since = 0;
	else if (!since || call != last_call)
		since = now_ns();
	last_call = call;
	return since;
}

void *guard_main(void *)
{
	uint64_t said_since = 0, limit = g_hang.after_ns;
	for (; !g_hang.closing.load(); nap_one_look()) {
		answer();
		const uint64_t outside = g_hang.blind ? outside_since() : 0;
		if (g.my_pe != g_hang.first)
			continue;
		if (const bool by_launcher = user_asks(); g_hang.asked.exchange(false) || by_launcher)
			print_report("SIGUSR1");
		uint64_t since = outside;
		const int pe = longest(since);
		if (pe == kNoPe && !outside)
			continue;
		if (since != said_since) { // another call
			said_since = since;
			limit = g_hang.after_ns;
		}
		const uint64_t ns = now_ns() - since;
		if (ns < limit)
			continue;
		limit = 2 * ns; // report again when it has taken twice as long
		char why[128];
		if (pe != kNoPe)
			snprintf(why, sizeof why, "PE %d has been in one call for %s", pe, time_text(ns));
		else
			snprintf(why, sizeof why, "PE %d has been outside of calls for %s; others may wait for it",
				 g.my_pe, time_text(ns));
		print_report(why);
	}
	return nullptr;
}

// Machines have names if there are several.
void find_near()
{
	guard_thread &w = g_hang;
	w.near.assign(static_cast<size_t>(g.n_pes), nullptr);
	w.first = g.n_pes;
	w.blind = false;
	for (int pe = 0; pe < g.n_pes; pe++) {
		const pe_place where = where_is(pe);
		if (!where.with_tool)
			continue;
		figures *const there = where.host == g.my_host ? mapped_room(pe) : nullptr;
		w.near[static_cast<size_t>(pe)] = there;
		if (there)
			w.first = std::min(w.first, pe);
		else
			w.blind = w.blind || where.host == g.my_host || !*where.name;
	}
}

void handle(int sig, void (*handler)(int, siginfo_t *, void *), struct sigaction *old)
{
	struct sigaction now {};
	now.sa_sigaction = handler;
	now.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
	sigemptyset(&now.sa_mask);
	sigaction(sig, &now, old);
}

// The signal may be on its way, and must not end the program now: the handler stays where there was none before. A
// handler that the program has installed since is its own.
void leave_user_signal()
{
	struct sigaction now {};
	sigaction(SIGUSR1, nullptr, &now);
	const bool is_ours = (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_user;
	const bool had_none = !(g_hang.old_user.sa_flags & SA_SIGINFO) && g_hang.old_user.sa_handler == SIG_DFL;
	if (is_ours && !had_none)
		sigaction(SIGUSR1, &g_hang.old_user, nullptr);
}

} // namespace

void hang_prepare()
{
	guard_thread &w = g_hang;
	char *end;
	const double seconds = strtod(g.wish.hang_after, &end);
	if (end == g.wish.hang_after || *end || !(seconds > 0) || seconds > 1e9) {
		fprintf(stderr, "PE %d: SHMEM_HANG_AFTER: \"%s\" is not a number of seconds above 0\n", g.my_pe,
			g.wish.hang_after);
		stop_job(1);
	}
	w.after_ns = static_cast<uint64_t>(seconds * 1e9);
	find_near();
	void *frames[2];
	backtrace(frames, 2); // the first call loads a library, which a handler must not do
	w.main = pthread_self();
	w.main_inside = &t_inside;
	w.main_tid = static_cast<pid_t>(syscall(SYS_gettid));
	w.closing = w.asked = false;
	handle(look_signal(), on_look, &w.old_look);
	handle(SIGUSR1, on_user, &w.old_user);
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	w.runs = pthread_create(&w.thread, nullptr, guard_main, nullptr) == 0;
	pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void hang_close()
{
	if (!g_hang.runs)
		return;
	g_hang.closing = true;
	pthread_join(g_hang.thread, nullptr);
	g_hang.runs = false;
	sigaction(look_signal(), &g_hang.old_look, nullptr);
	leave_user_signal();
	g_hang.near.clear();
}

} // namespace pgas_tools
