// SPDX-License-Identifier: BSD-3-Clause
// oshrun_job.cpp: the life of a job on one host: starts its PEs, forwards their output and our input and signals, and
// ends it. In a job on several hosts an agent owns one of these and is told what concerns the others (job_owner).
//
// running -> ending (SIGTERM was sent, a grace period runs) -> killing (SIGKILL) -> over. The first failure decides the
// exit status and is the only one reported. PEs are process groups; a process that escapes from them comes back to us
// as a child, because oshrun is a subreaper, so "no child but the keeper" is the end.
#include "oshrun_job.hpp"

#include <algorithm>
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
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#ifndef SYS_pidfd_send_signal
// the same number on all architectures; headers before Linux 5.1 lack it
#define SYS_pidfd_send_signal 424
#endif

namespace oshrun {
namespace {

using pgas::boot::board_slot;
constexpr double kWrapperDelay = 0.3; // time in seconds for a wrapper whose PE died to report the exit status
constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGCHLD};

bool is_oshrun(pid_t pid)
{
	struct stat ours, theirs;
	return stat("/proc/self/exe", &ours) == 0 &&
	       stat(("/proc/" + std::to_string(pid) + "/exe").c_str(), &theirs) == 0 && ours.st_dev == theirs.st_dev &&
	       ours.st_ino == theirs.st_ino;
}

} // namespace

job::job(options &opts, placement where, pe_output &out, pe_input &input, job_owner *owner)
	: opts_(opts), where_(std::move(where)), out_(out), in_(input), owner_(owner)
{
}

// --- small queries ---------------------------------------------------------------------------------------------------

std::string job::name(int rank, pid_t pid) const
{
	char text[320];
	snprintf(text, sizeof text, "PE %d (pid %d on %s)", rank, pid, where_.name().c_str());
	return text;
}

std::string job::at_host() const
{
	return owner_ ? "host " + where_.name() + ": " : "";
}

pe *job::find(int rank)
{
	auto item = std::lower_bound(pes_.begin(), pes_.end(), rank, [](const pe &one, int r) { return one.rank < r; });
	return item != pes_.end() && item->rank == rank ? &*item : nullptr;
}

uint32_t job::slot_state(uint32_t rank) const
{
	return std::atomic_ref<uint32_t>(files_.view.slot(rank).state).load(std::memory_order_seq_cst);
}

bool job::someone_joined() const
{
	for (const pe &what : pes_)
		if (slot_state(static_cast<uint32_t>(what.rank)) == pgas::boot::kSlotLive)
			return true;
	return false;
}

void job::note_child(const pe &what, pid_t child)
{
	std::atomic_ref<uint32_t>(files_.page.get()->child_pid[&what - pes_.data()])
		.store(static_cast<uint32_t>(child), std::memory_order_relaxed);
}

bool job::anyone_left()
{
	return live_ > 0 || !strangers().empty();
}

// Children that are neither keeper nor agents. If agent commands need no other machine, agents of other hosts are
// adopted too when their parent has died: they look after themselves.
std::vector<pid_t> job::strangers() const
{
	std::vector<pid_t> known;
	if (owner_)
		known = owner_->helpers();
	known.push_back(keeper_);
	std::vector<pid_t> found = children_but(known);
	if (owner_)
		found.erase(std::remove_if(found.begin(), found.end(),
					   [this](pid_t pid) {
						   return is_oshrun(pid) &&
							  !carries_cookie(pid, files_.view.plan.cookie);
					   }),
			    found.end());
	return found;
}

// --- start -----------------------------------------------------------------------------------------------------------

unique_fd signal_source()
{
	sigset_t set;
	sigemptyset(&set);
	struct sigaction hup = {};
	sigaction(SIGHUP, nullptr, &hup);
	for (int sig : kForwarded)
		if (sig != SIGHUP || hup.sa_handler != SIG_IGN) // nohup(1)
			sigaddset(&set, sig);
	sigprocmask(SIG_BLOCK, &set, nullptr);
	return unique_fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

bool job::start_keeper_first(bool &pmix)
{
	pmix = opts_.pmix == pmix_mode::enabled;
	if (opts_.pmix == pmix_mode::automatic && pmix_available())
		for (const pe &what : pes_)
			if (&what == &pes_[0] || what.program != (&what - 1)->program)
				pmix |= wants_pmix(*what.program);
	keeper_ = begin_keeper(pmix);
	if (keeper_ < 0)
		say("cannot fork: %s", strerror(errno));
	return keeper_ >= 0;
}

bool job::start()
{
	struct rlimit file_limit = {};
	bool pmix = false;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); // exceeding the file size limit becomes an error of ftruncate
	signal(SIGTTOU, SIG_IGN);
	int rank = 0;
	for (const app &program : opts_.apps)
		for (int i = 0; i < program.count; i++, rank++)
			if (where_.host_of[static_cast<size_t>(rank)] == where_.host) {
				pe &what = pes_.emplace_back();
				what.rank = rank;
				what.program = &program;
			}
	// an agent has the streams to its parent and to the PMIx server, and three to each agent below it
	const int others = owner_ ? 5 + 3 * static_cast<int>(owner_->helpers().size()) : 0;
	if (!raise_file_limit(static_cast<int>(pes_.size()), others, file_limit) || !make_files(where_, files_))
		return false;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	signals_ = signal_source();
	if (!start_keeper_first(pmix))
		return false;
	start_pes(pmix, file_limit);
	return true;
}

void job::start_pes(bool pmix, const struct rlimit &file_limit)
{
	std::string why;
	const bool by_file = !opts_.rank_cpus.empty();
	std::vector<cpu_set_t> cpus =
		plan_binding(by_file ? bind_to::none : opts_.bind, static_cast<int>(pes_.size()), why);
	if (by_file && !plan_ranks(cpus))
		return;
	why = by_file ? "bound by --rankfile" : why;
	strings env = base_environment();
	if (opts_.verbose)
		say("%s%zu PEs, PMIx %s, %s", owner_ ? "" : "job of ", pes_.size(), pmix ? "offered" : "not offered",
		    why.c_str());
	for (size_t i = 0; i < pes_.size(); i++) {
		const cpu_set_t *mine = cpus.empty() || !CPU_COUNT(&cpus[i]) ? nullptr : &cpus[i];
		pe &what = pes_[i];
		if (!start_pe(opts_, files_, env, mine, file_limit, pmix, out_, in_, what)) {
			fail(kExitCannotStart, "%s", ""); // an error line was printed
			end(SIGKILL);
			break;
		}
		live_++;
		note_child(what, what.child);
		if (opts_.verbose || opts_.report_bindings)
			say("%s: %s%s%s", name(what.rank, what.child).c_str(), what.program->argv[0].c_str(),
			    mine ? " on CPUs " : ", not bound", mine ? cpu_list(*mine).c_str() : "");
	}
}

// --- ending ----------------------------------------------------------------------------------------------------------

void job::signal_all(int sig)
{
	for (pe &what : pes_)
		if (what.child > 0)
			kill(-what.child, sig);
	if (sig == SIGKILL || sig == SIGTERM)
		for (pid_t child : strangers())
			kill(child, sig); // also processes that left the group
}

void job::end(int sig)
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
	if (owner_)
		owner_->failed(code, text);
	else if (text[0]) // some ends are not failures
		say("%s", text);
	end(SIGTERM);
}

// --- news ------------------------------------------------------------------------------------------------------------

void job::add_polls(std::vector<pollfd> &polls, double &due)
{
	auto earlier = [&due](double when) {
		if (when > 0 && (due == 0 || when < due))
			due = when;
	};
	signals_poll_ = polls.size();
	polls.push_back({signals_.get(), POLLIN, 0});
	mail_poll_ = polls.size();
	polls.push_back({files_.mail_read.get(), POLLIN, 0});
	watch_poll_ = polls.size();
	earlier(deadline_);
	if (opts_.progress && live_ > 0)
		earlier(std::max(look_at_, began_));
	for (pe &what : pes_) {
		if (what.joined_watch.get() >= 0)
			polls.push_back({what.joined_watch.get(), POLLIN, 0});
		if (what.lost_at > 0)
			earlier(what.lost_at + kWrapperDelay);
	}
	in_.add_polls(polls);
	out_.add_polls(polls);
	earlier(out_.deadline());
	if (live_ == 0)
		earlier(now_s() + 0.02); // only adopted processes are left, and one may be adopted at any time
}

void job::handle(const std::vector<pollfd> &polls)
{
	if (polls[signals_poll_].revents) // before the mail: a killed PE is the reason for what its peers write
		read_signals();
	if (polls[mail_poll_].revents)
		read_mail();
	check_watches(polls);
	in_.handle(polls);
	out_.handle(polls);
	check_deadlines();
}

void job::on_signal(int sig)
{
	switch (sig) {
	case SIGCHLD:
		reap();
		break;
	case SIGUSR1:
	case SIGUSR2:
		for (pe &what : pes_) // to the program, not to a shell around it, which it would kill
			if (what.joined_watch)
				syscall(SYS_pidfd_send_signal, what.joined_watch.get(), sig, nullptr, 0);
			else if (what.joined == 0 && what.child > 0)
				kill(-what.child, sig);
		break;
	case SIGTSTP:
		signal_all(SIGTSTP);
		if (owner_)
			break; // it must keep running for the other hosts
		kill(getpid(), SIGSTOP);
		signal_all(SIGCONT);
		break;
	case SIGCONT:
		signal_all(SIGCONT);
		break;
	default:
		end_by_signal(sig);
	}
}

void job::end_by_signal(int sig)
{
	if (failed_) { // the user asked twice, or the job is ending: do not wait any longer
		end(SIGKILL);
		return;
	}
	failed_ = true;
	exit_code_ = 128 + sig;
	char text[320];
	snprintf(text, sizeof text, "%sended by signal %d (%s)", at_host().c_str(), sig, strsignal(sig));
	if (owner_)
		owner_->failed(exit_code_, text);
	else
		say("%s", text);
	end(sig);
}

void job::read_signals()
{
	struct signalfd_siginfo info;
	while (read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info))
		on_signal(static_cast<int>(info.ssi_signo));
}

// The keeper is gone: somebody killed it, or libpmix crashed in it. PEs may be waiting for its PMIx environment; its
// server is not restarted.
void job::replace_keeper()
{
	keeper_page &page = *files_.page.get();
	uint32_t pending = kEnvPending;
	std::atomic_ref<uint32_t>(page.env_state).compare_exchange_strong(pending, kEnvNone);
	syscall(SYS_futex, &page.env_state, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
	scratch_.remove();
	keeper_ = begin_keeper(false);
}

pid_t job::begin_keeper(bool pmix)
{
	int link[2] = {-1, -1};
	if (owner_ && pmix && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link) != 0)
		return -1;
	unique_fd near_end(link[0]), far_end(link[1]);
	if (pmix)
		scratch_.make(); // if it cannot be made, the keeper offers no PMIx
	pid_t pid = start_keeper({files_.view, files_.page.get(), getpid(), files_.life_read.get(),
				  files_.life_write.get(), files_.mail_write.get(), owner_ ? owner_->uplink() : -1,
				  far_end.get(), &where_, &scratch_, opts_.grace_s, pmix, opts_.verbose});
	if (near_end)
		owner_->serve_pmix(std::move(near_end));
	return pid;
}

void job::reap()
{
	int status;
	for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
		if (pid == keeper_)
			replace_keeper();
		else if (owner_)
			owner_->reaped(pid, status);
		for (pe &what : pes_)
			if (what.child == pid) {
				note_child(what, 0);
				ended_.emplace_back(&what, status);
			}
	}
	if (ended_.empty())
		return;
	out_.read_now();
	read_mail();
	for (auto [what, how] : ended_)
		if (what)
			judge(*what, how);
	ended_.clear();
	if (live_ == 0) {
		look_at_ = 0;
		show_progress(now_s()); // there may be no other turn
	}
}

// Prints one line when something has changed, at most a few per second.
void job::show_progress(double now)
{
	if (!opts_.progress || now < look_at_)
		return;
	look_at_ = now + 0.2;
	size_t joined = 0, ended = 0;
	for (const pe &what : pes_) {
		const uint32_t state = slot_state(static_cast<uint32_t>(what.rank));
		joined += what.has_joined || state == pgas::boot::kSlotLive || state == pgas::boot::kSlotDone;
		ended += what.child == 0;
	}
	char text[128];
	snprintf(text, sizeof text, "%zu PEs, %zu have joined, %zu have ended", pes_.size(), joined, ended);
	if (progress_ != text)
		say("%s, %.1f s", text, now - began_); // an agent's lines begin with its host
	progress_ = text;
}

void job::check_deadlines()
{
	const double now = now_s();
	show_progress(now);
	for (pe &what : pes_) {
		if (what.lost_at == 0 || now < what.lost_at + kWrapperDelay)
			continue;
		board_slot &slot = files_.view.slot(static_cast<uint32_t>(what.rank));
		what.lost_at = 0;
		if (slot_state(static_cast<uint32_t>(what.rank)) == pgas::boot::kSlotLive &&
		    slot.pid == static_cast<uint32_t>(what.joined))
			fail(1, "%s: ended without finalize, under a program that still runs",
			     name(what.rank, what.joined).c_str());
	}
	if (out_.reader_gone())
		fail(128 + SIGPIPE, "%s", ""); // no message, like any program whose output goes to head(1)
	if (deadline_ == 0 || now < deadline_)
		return;
	if (phase_ == phase::running) {
		deadline_ = 0;
		fail(kExitTimeout, "job did not end within %g s (--timeout)", opts_.timeout_s);
	} else if (phase_ == phase::ending)
		end(SIGKILL);
}

bool job::over()
{
	if (!anyone_left())
		return true;
	if (phase_ == phase::killing) {
		if (now_s() > deadline_)
			return true;
		if (live_ == 0)
			signal_all(SIGKILL); // newly adopted ones
	}
	if (live_ == 0 && phase_ == phase::running)
		end(SIGTERM); // all PEs have ended; the processes they left behind end, too
	return false;
}

void job::clean_up()
{
	if (keeper_ > 0) {
		kill(keeper_, SIGKILL);
		waitpid(keeper_, nullptr, 0);
	}
	scratch_.remove();
	sigset_t none; // an agent may continue after the job
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, nullptr);
}

void poll_until(std::vector<pollfd> &polls, double due)
{
	int timeout = -1;
	if (due > 0) {
		double left = (due - now_s()) * 1000 + 1;
		timeout = left < 0 ? 0 : left > 1e9 ? 1'000'000'000 : static_cast<int>(left);
	}
	if (poll(polls.data(), polls.size(), timeout) < 0)
		for (pollfd &one : polls)
			one.revents = 0;
}

int run_job(options &opts)
{
	const double started_at = now_s();
	output out(opts.tag_output, opts.output_dir);
	if (!out.make_files(opts.count))
		return kExitCannotStart;
	input incoming;
	job work(opts, on_this_machine(opts.count), out, incoming);
	if (!work.start())
		return kExitCannotStart;
	if (opts.timeout_s > 0)
		work.set_deadline(started_at + opts.timeout_s);
	while (!work.over()) {
		std::vector<pollfd> polls;
		double due = 0;
		work.add_polls(polls, due);
		poll_until(polls, due);
		work.handle(polls);
	}
	out.flush(5);
	work.clean_up();
	if (opts.verbose)
		say("job ended with status %d after %.3f s", work.exit_code(), now_s() - started_at);
	return work.exit_code();
}

} // namespace oshrun
