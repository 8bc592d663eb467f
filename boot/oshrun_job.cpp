// SPDX-License-Identifier: BSD-3-Clause
// oshrun_job.cpp: the life of a job: start all PEs, forward what they say and what we are told, and end it.
//
// running -> ending (SIGTERM was sent, a grace period runs) -> killing (SIGKILL) -> over. The first thing that goes
// wrong decides the exit status and is the only one that is reported. PEs are process groups; what escapes from them
// comes back to us as a child, because oshrun is a subreaper, so "no child but the guard" is the end.
#include "oshrun_job.hpp"

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#ifndef SYS_pidfd_open
// the same number on all architectures; headers before Linux 5.3 lack it
#define SYS_pidfd_open 434
#endif

namespace oshrun {
namespace {

using pgas::boot::board_slot;
constexpr double kWrapperDelay = 0.3; // a wrapper whose PE died has so many seconds to tell us the exit status
constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGCHLD};

enum class phase { running, ending, killing };

class job {
public:
	explicit job(options &opts) : opts_(opts), out_(opts.tag_output), started_at_(now_s()) {}
	int run();

private:
	bool start();
	void watch();
	void clean_up();
	std::vector<pollfd> wait_for_news();
	void read_signals();
	void read_mail();
	void reap();
	void replace_guard();
	pid_t begin_guard(bool pmix);
	void judge(int rank, int status);
	void check_watches(const std::vector<pollfd> &polls);
	void check_deadlines();
	void on_signal(int sig);
	void on_hello(const pgas::boot::mail_record &mail);
	void on_abort(const pgas::boot::mail_record &mail);

	__attribute__((format(printf, 3, 4))) void fail(int code, const char *format, ...);
	void begin_end(int sig);
	void signal_all(int sig);
	bool anyone_left();
	std::string name(int rank, pid_t pid) const;
	uint32_t slot_state(uint32_t rank) const;
	bool someone_joined() const;

	options &opts_;
	job_files files_;
	output out_;
	input in_;
	std::vector<pe> pes_;
	pid_t guard_ = -1;
	unique_fd signals_;
	phase phase_ = phase::running;
	double started_at_;
	double deadline_ = 0; // of the phase: --timeout, then the grace period
	int live_ = 0;        // PEs whose child is not reaped
	int exit_code_ = 0;
	bool failed_ = false;
	size_t signals_poll_ = 0, mail_poll_ = 0;
	size_t watch_poll_ = 0; // first pidfd; those of pes_ that have one follow in order
};

// --- small answers ---------------------------------------------------------------------------------------------------

std::string job::name(int rank, pid_t pid) const
{
	char host[256] = "", text[320];
	gethostname(host, sizeof host - 1);
	snprintf(text, sizeof text, "PE %d (pid %d on %s)", rank, pid, host);
	return text;
}

uint32_t job::slot_state(uint32_t rank) const
{
	return std::atomic_ref<uint32_t>(files_.view.slot(rank).state).load(std::memory_order_seq_cst);
}

bool job::someone_joined() const
{
	for (uint32_t rank = 0; rank < static_cast<uint32_t>(opts_.count); rank++)
		if (slot_state(rank) == pgas::boot::kSlotLive)
			return true;
	return false;
}

bool job::anyone_left()
{
	return live_ > 0 || !children_but(guard_).empty();
}

// --- start -----------------------------------------------------------------------------------------------------------

bool job::start()
{
	const uint32_t size = static_cast<uint32_t>(opts_.count);
	struct rlimit file_limit = {};
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); // a limit on file size becomes an error of ftruncate
	signal(SIGTTOU, SIG_IGN);
	if (!raise_file_limit(opts_, file_limit) || !make_files(size, files_))
		return false;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	sigset_t set;
	sigemptyset(&set);
	struct sigaction hup = {};
	sigaction(SIGHUP, nullptr, &hup);
	for (int sig : kForwarded)
		if (sig != SIGHUP || hup.sa_handler != SIG_IGN) // nohup(1)
			sigaddset(&set, sig);
	sigprocmask(SIG_BLOCK, &set, nullptr);
	signals_ = unique_fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));

	bool pmix = opts_.pmix == pmix_mode::on;
	if (opts_.pmix == pmix_mode::automatic && pmix_available())
		for (const app &program : opts_.apps)
			pmix |= wants_pmix(program);
	guard_ = begin_guard(pmix);
	if (guard_ < 0) {
		say("cannot fork: %s", strerror(errno));
		return false;
	}
	std::string why;
	std::vector<cpu_set_t> cpus = plan_binding(opts_, why);
	strings env = base_environment();
	if (opts_.verbose)
		say("job of %d PEs, PMIx %s, %s", opts_.count, pmix ? "offered" : "not offered", why.c_str());
	for (const app &program : opts_.apps)
		for (int i = 0; i < program.count; i++)
			pes_.emplace_back().program = &program;
	for (int rank = 0; rank < opts_.count; rank++) {
		const cpu_set_t *mine = cpus.empty() ? nullptr : &cpus[static_cast<size_t>(rank)];
		pe &what = pes_[static_cast<size_t>(rank)];
		if (!start_pe(opts_, files_, rank, env, mine, file_limit, pmix, out_, in_, what)) {
			exit_code_ = kExitCannotStart;
			failed_ = true;
			begin_end(SIGKILL);
			break;
		}
		live_++;
		if (opts_.verbose || opts_.report_bindings)
			say("%s: %s%s%s", name(rank, what.child).c_str(), what.program->argv[0].c_str(),
			    mine ? " on CPUs " : ", not bound", mine ? cpu_list(*mine).c_str() : "");
	}
	return true;
}

// --- ending ----------------------------------------------------------------------------------------------------------

void job::signal_all(int sig)
{
	for (pe &what : pes_)
		if (what.child > 0)
			kill(-what.child, sig);
	if (sig == SIGKILL || sig == SIGTERM)
		for (pid_t child : children_but(guard_))
			kill(child, sig); // also processes that left the group
}

void job::begin_end(int sig)
{
	if (sig == SIGKILL) {
		phase_ = phase::killing;
		deadline_ = now_s() + 5; // a process that is inside the kernel may never end: do not wait for ever
	} else if (phase_ == phase::running) {
		phase_ = phase::ending;
		deadline_ = now_s() + opts_.grace_s;
	}
	signal_all(sig);
	signal_all(SIGCONT);
}

void job::fail(int code, const char *format, ...)
{
	if (failed_ || phase_ != phase::running)
		return;
	failed_ = true;
	exit_code_ = code;
	char text[900];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (text[0]) // some ends are nobody's fault
		say("%s", text);
	begin_end(SIGTERM);
}

// --- news ------------------------------------------------------------------------------------------------------------

std::vector<pollfd> job::wait_for_news()
{
	std::vector<pollfd> polls;
	signals_poll_ = polls.size();
	polls.push_back({signals_.get(), POLLIN, 0});
	mail_poll_ = polls.size();
	polls.push_back({files_.mail_read.get(), POLLIN, 0});
	watch_poll_ = polls.size();
	double due = deadline_;
	for (pe &what : pes_) {
		if (what.joined_watch.get() >= 0)
			polls.push_back({what.joined_watch.get(), POLLIN, 0});
		if (what.lost_at > 0 && (due == 0 || what.lost_at + kWrapperDelay < due))
			due = what.lost_at + kWrapperDelay;
	}
	in_.add_polls(polls);
	out_.add_polls(polls);
	if (out_.deadline() > 0 && (due == 0 || out_.deadline() < due))
		due = out_.deadline();
	int timeout = -1;
	if (due > 0) {
		double left = (due - now_s()) * 1000 + 1;
		timeout = left < 0 ? 0 : left > 1e9 ? 1'000'000'000 : static_cast<int>(left);
	}
	if (live_ == 0 && (timeout < 0 || timeout > 20))
		timeout = 20; // only adopted processes are left, and one may be adopted at any time
	if (poll(polls.data(), polls.size(), timeout) < 0)
		for (pollfd &one : polls)
			one.revents = 0;
	return polls;
}

void job::on_signal(int sig)
{
	switch (sig) {
	case SIGCHLD:
		reap();
		break;
	case SIGUSR1:
	case SIGUSR2:
		for (pe &what : pes_) // to the program, not to a shell around it, which would die of it
			if (what.joined > 0)
				kill(what.joined, sig);
			else if (what.child > 0)
				kill(-what.child, sig);
		break;
	case SIGTSTP:
		signal_all(SIGTSTP);
		kill(getpid(), SIGSTOP);
		signal_all(SIGCONT);
		break;
	case SIGCONT:
		signal_all(SIGCONT);
		break;
	default:
		if (failed_) { // the user asked twice, or the job is ending: no more patience
			begin_end(SIGKILL);
			break;
		}
		failed_ = true;
		exit_code_ = 128 + sig;
		say("ended by signal %d (%s)", sig, strsignal(sig));
		begin_end(sig);
	}
}

void job::read_signals()
{
	struct signalfd_siginfo info;
	while (read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info))
		on_signal(static_cast<int>(info.ssi_signo));
}

void job::on_hello(const pgas::boot::mail_record &mail)
{
	pe &what = pes_[static_cast<size_t>(mail.rank)];
	what.joined = mail.status;
	what.joined_watch = unique_fd(static_cast<int>(syscall(SYS_pidfd_open, what.joined, 0)));
	if (what.joined_watch.get() < 0)
		what.lost_at = now_s(); // it is gone already, if the slot says that it did not finalize
}

void job::on_abort(const pgas::boot::mail_record &mail)
{
	pe &what = pes_[static_cast<size_t>(mail.rank)];
	bool from_pmix = mail.kind == pgas::boot::kMailPmixAbort;
	int code = mail.status & 0xff;
	if (from_pmix && code == 0)
		code = 1;
	std::string who = name(mail.rank, what.joined > 0 ? what.joined : what.child);
	if (code == 0 && !mail.text[0])
		fail(0, "%s", "");
	else
		fail(code, "%s: ended the job with status %d%s%s", who.c_str(), code, mail.text[0] ? ": " : "",
		     mail.text);
}

void job::read_mail()
{
	pgas::boot::mail_record mail;
	while (read(files_.mail_read.get(), &mail, sizeof mail) == static_cast<ssize_t>(sizeof mail)) {
		if (mail.rank < 0 || mail.rank >= opts_.count)
			continue;
		mail.text[sizeof mail.text - 1] = '\0';
		if (mail.kind == pgas::boot::kMailHello)
			on_hello(mail);
		else if (mail.kind == pgas::boot::kMailExecFailed)
			fail(mail.status == ENOENT ? kExitNotFound : kExitNotExecutable, "PE %d: cannot execute %s: %s",
			     mail.rank, mail.text, strerror(mail.status));
		else
			on_abort(mail);
	}
}

// How one PE ended. Its last words have been forwarded, its mail has been read.
void job::judge(int rank, int status)
{
	board_slot &slot = files_.view.slot(static_cast<uint32_t>(rank));
	const uint32_t state = slot_state(static_cast<uint32_t>(rank));
	const uint32_t pmix = std::atomic_ref<uint32_t>(slot.pmix).load(std::memory_order_acquire);
	pe &what = pes_[static_cast<size_t>(rank)];
	const std::string who = name(rank, std::exchange(what.child, 0));
	what.joined_watch.reset();
	what.joined = 0;
	what.lost_at = 0;
	live_--;
	std::atomic_ref<uint32_t>(slot.state).store(pgas::boot::kSlotGone, std::memory_order_seq_cst);
	if (WIFSIGNALED(status)) {
		int sig = WTERMSIG(status);
		fail(128 + sig, "%s: killed by signal %d (%s%s)", who.c_str(), sig, strsignal(sig),
		     WCOREDUMP(status) ? ", core dumped" : "");
	} else if (WEXITSTATUS(status) != 0)
		fail(WEXITSTATUS(status), "%s: exited with status %d", who.c_str(), WEXITSTATUS(status));
	else if (state == pgas::boot::kSlotLive || pmix == pgas::boot::kPmixConnected)
		fail(1, "%s: exited with status 0, but without finalize", who.c_str());
	else if (state == pgas::boot::kSlotNew && pmix == pgas::boot::kPmixNever) {
		// The PE stores state = live and then loads early_exits; we do the reverse. One of us sees the other.
		std::atomic_ref<uint32_t>(files_.view.head().early_exits).fetch_add(1, std::memory_order_seq_cst);
		if (someone_joined())
			fail(1, "%s: exited with status 0 without joining the job that other PEs have joined",
			     who.c_str());
	}
}

// The guard is gone: somebody killed it, or libpmix crashed in it. PEs may be waiting for its PMIx environment; its
// server does not come back.
void job::replace_guard()
{
	pgas::boot::board_header &head = files_.view.head();
	uint32_t pending = pgas::boot::kEnvPending;
	std::atomic_ref<uint32_t>(head.env_state).compare_exchange_strong(pending, pgas::boot::kEnvNone);
	syscall(SYS_futex, &head.env_state, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
	remove_tmpdir(head);
	guard_ = begin_guard(false);
}

pid_t job::begin_guard(bool pmix)
{
	return start_guard({files_.view, files_.life_read.get(), files_.life_write.get(), files_.mail_write.get(), pmix,
			    opts_.verbose});
}

void job::reap()
{
	std::vector<std::pair<int, int>> ended; // rank, status
	int status;
	for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
		if (pid == guard_)
			replace_guard();
		for (size_t rank = 0; rank < pes_.size(); rank++)
			if (pes_[rank].child == pid)
				ended.emplace_back(static_cast<int>(rank), status);
	}
	if (ended.empty())
		return;
	out_.read_now();
	read_mail();
	for (auto [rank, how] : ended)
		judge(rank, how);
}

// A process that joined below a wrapper ended. If it had finalized, that is fine; if not, the wrapper may be about to
// say so itself.
void job::check_watches(const std::vector<pollfd> &polls)
{
	size_t at = watch_poll_;
	for (pe &what : pes_)
		if (what.joined_watch.get() >= 0 && at < polls.size() && polls[at].fd == what.joined_watch.get() &&
		    polls[at++].revents) {
			what.joined_watch.reset();
			what.lost_at = now_s();
		}
}

void job::check_deadlines()
{
	const double now = now_s();
	for (size_t rank = 0; rank < pes_.size(); rank++) {
		pe &what = pes_[rank];
		if (what.lost_at == 0 || now < what.lost_at + kWrapperDelay)
			continue;
		board_slot &slot = files_.view.slot(static_cast<uint32_t>(rank));
		what.lost_at = 0;
		if (slot_state(static_cast<uint32_t>(rank)) == pgas::boot::kSlotLive &&
		    slot.pid == static_cast<uint32_t>(what.joined))
			fail(1, "%s: ended without finalize, under a program that still runs",
			     name(static_cast<int>(rank), what.joined).c_str());
	}
	if (out_.reader_gone())
		fail(128 + SIGPIPE, "%s", ""); // without a message, as any program whose output goes to head(1)
	if (deadline_ == 0 || now < deadline_)
		return;
	if (phase_ == phase::running) {
		deadline_ = 0;
		fail(kExitTimeout, "job did not end within %g s (--timeout)", opts_.timeout_s);
	} else if (phase_ == phase::ending)
		begin_end(SIGKILL);
}

void job::watch()
{
	if (phase_ == phase::running && opts_.timeout_s > 0)
		deadline_ = started_at_ + opts_.timeout_s;
	while (anyone_left()) {
		if (phase_ == phase::killing) {
			if (now_s() > deadline_)
				break;
			if (live_ == 0)
				signal_all(SIGKILL); // newly adopted ones
		}
		if (live_ == 0 && phase_ == phase::running)
			begin_end(SIGTERM); // all PEs are done; what they left behind goes too
		std::vector<pollfd> polls = wait_for_news();
		if (polls[mail_poll_].revents)
			read_mail();
		if (polls[signals_poll_].revents)
			read_signals();
		check_watches(polls);
		in_.handle(polls);
		out_.handle(polls);
		check_deadlines();
	}
}

void job::clean_up()
{
	out_.flush(5);
	if (guard_ > 0) {
		kill(guard_, SIGKILL);
		waitpid(guard_, nullptr, 0);
	}
	remove_tmpdir(files_.view.head());
	if (opts_.verbose)
		say("job ended with status %d after %.3f s", exit_code_, now_s() - started_at_);
}

int job::run()
{
	if (!start())
		return kExitCannotStart;
	watch();
	clean_up();
	return exit_code_;
}

} // namespace

int run_job(options &opts)
{
	job work(opts);
	return work.run();
}

} // namespace oshrun
