// SPDX-License-Identifier: BSD-3-Clause
// oshrun_job.cpp: the life of a job on one host: starts its PEs, forwards their output and our input and signals, and
// ends it. In a job on several hosts an agent owns one of these and is told what concerns the others (job_owner).
//
// running -> ending (SIGTERM was sent, a grace period runs) -> killing (SIGKILL) -> over. The first failure decides the
// exit status and is the only one reported. PEs are process groups; a process that escapes from them comes back to us
// as a child, because oshrun is a subreaper, so "no child but the keeper" is the end.
#include "oshrun_job.hpp"
#include "oshrun_process.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace oshrun {
namespace {

constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGCHLD};

} // namespace

job::job(options &opts, placement where, pe_output &out, pe_input &input, job_owner *owner)
	: opts_(opts), where_(std::move(where)), out_(out), in_(input), owner_(owner),
	  verdict_([this](int code, const char *line, int sig) { announce(code, line, sig); })
{
}

// --- small queries ---------------------------------------------------------------------------------------------------

bool job::anyone_left()
{
	return pes_.live() > 0 || !strangers().empty();
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
		for (const app *last = nullptr; const pe &one : pes_) {
			if (one.program != last)
				pmix |= wants_pmix(*one.program);
			last = one.program;
		}
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
	pes_.fill(opts_.apps);
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

bool job::plan_cpus(std::vector<cpu_set_t> &cpus, std::string &why)
{
	if (opts_.rank_cpus.empty())
		cpus = plan_binding(opts_.bind, static_cast<int>(pes_.size()), share_, why);
	else if (!plan_by_rankfile(opts_.rank_cpus, pes_.ranks(), cpus, why)) {
		verdict_.fail(kExitCannotStart, "%s%s", where_.at_host().c_str(), why.c_str());
		end(SIGKILL);
		return false;
	}
	return true;
}

void job::start_pes(bool pmix, const struct rlimit &file_limit)
{
	std::string why;
	std::vector<cpu_set_t> cpus;
	if (!plan_cpus(cpus, why))
		return;
	const start_plan plan = {opts_, files_, base_environment(), file_limit, pmix};
	if (opts_.verbose)
		say("%s%zu PEs, PMIx %s, %s", owner_ ? "" : "job of ", pes_.size(), pmix ? "offered" : "not offered",
		    why.c_str());
	auto bound = cpus.begin(); // if PEs are bound, one for each
	for (pe &one : pes_) {
		const cpu_set_t *given = cpus.empty() ? nullptr : &*bound++;
		const cpu_set_t *mine = given && CPU_COUNT(given) ? given : nullptr;
		const pid_t child = start_pe(plan, one.rank, *one.program, mine, out_, in_);
		if (child < 0) {
			verdict_.fail(kExitCannotStart, "%s", ""); // an error line was printed
			end(SIGKILL);
			break;
		}
		pes_.note_started(one, child);
		if (opts_.verbose || opts_.report_bindings)
			say("%s: %s%s%s", pes_.name(one, child).c_str(), one.program->argv[0].c_str(),
			    mine ? " on CPUs " : ", not bound", mine ? cpu_list(*mine).c_str() : "");
	}
}

// --- ending ----------------------------------------------------------------------------------------------------------

void job::signal_all(int sig)
{
	pes_.signal_groups(sig);
	if (sig == SIGKILL || sig == SIGTERM)
		for (pid_t child : strangers())
			kill(child, sig); // also processes that left the group
}

void job::end(int sig)
{
	verdict_.close();
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

void job::announce(int code, const char *line, int sig)
{
	if (owner_)
		owner_->failed(code, line);
	else if (line[0])
		say("%s", line);
	end(sig);
}

// --- news ------------------------------------------------------------------------------------------------------------

void job::add_polls(std::vector<pollfd> &polls, double &due)
{
	signals_poll_ = polls.size();
	polls.push_back({signals_.get(), POLLIN, 0});
	mail_poll_ = polls.size();
	polls.push_back({files_.mail_read.get(), POLLIN, 0});
	judge_.add_polls(polls, due);
	due = sooner(due, deadline_);
	due = sooner(due, survey_.deadline());
	if (opts_.progress && pes_.live() > 0)
		due = sooner(due, std::max(progress_at_, began_));
	in_.add_polls(polls);
	out_.add_polls(polls);
	due = sooner(due, out_.deadline());
	if (pes_.live() == 0)
		due = sooner(due,
			     now_s() + 0.02); // only adopted processes are left, and one may be adopted at any time
}

void job::handle(const std::vector<pollfd> &polls)
{
	if (polls[signals_poll_].revents) // before the mail: a killed PE is the reason for what its peers write
		read_signals();
	if (polls[mail_poll_].revents)
		judge_.read_mail();
	judge_.check_watches(polls);
	in_.handle(polls);
	out_.handle(polls);
	check_deadlines();
}

// With --hang-after the PEs have a handler for the signal, which is not the program's.
bool job::makes_hang_reports() const
{
	constexpr const char *name = "SHMEM_HANG_AFTER";
	bool given = getenv(name) != nullptr;
	for (const app &program : opts_.apps)
		for (const std::string &assignment : program.set_env)
			given |= assignment.compare(0, strlen(name) + 1, std::string(name) + "=") == 0;
	return given;
}

// A process with a handler for the signal gets it. It would end any other process, so these do not.
void job::ask_places()
{
	if (!makes_hang_reports())
		pes_.signal_handlers(SIGUSR1);
	survey_.ask();
}

void job::on_signal(int sig)
{
	switch (sig) {
	case SIGCHLD:
		reap();
		break;
	case SIGUSR1:
		ask_places();
		break;
	case SIGUSR2:
		pes_.signal_programs(sig);
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
		if (!verdict_.interrupt(sig, where_.at_host()))
			end(SIGKILL); // do not wait any longer
	}
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
		for (pe &one : pes_)
			if (one.child == pid) {
				pes_.note_reaped(one);
				judge_.add_ended(one, status);
			}
	}
	if (!judge_.has_ended())
		return;
	out_.read_now();
	judge_.read_mail();
	judge_.judge_ended();
	if (pes_.live() == 0) {
		progress_at_ = 0;
		show_progress(now_s()); // there may be no other turn
	}
}

// Prints one line when something has changed, at most a few per second.
void job::show_progress(double now)
{
	if (!opts_.progress || now < progress_at_)
		return;
	progress_at_ = now + 0.2;
	const std::string text = pes_.progress();
	if (progress_ != text)
		say("%s, %.1f s", text.c_str(), now - began_); // an agent's lines begin with its host
	progress_ = text;
}

void job::check_deadlines()
{
	const double now = now_s();
	show_progress(now);
	survey_.check(now);
	judge_.check_lost(now);
	if (out_.reader_gone())
		verdict_.fail(128 + SIGPIPE, "%s", ""); // no message, like any program whose output goes to head(1)
	if (deadline_ == 0 || now < deadline_)
		return;
	if (phase_ == phase::running) {
		deadline_ = 0;
		verdict_.fail(kExitTimeout, "job did not end within %g s (--timeout)", opts_.timeout_s);
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
		if (pes_.live() == 0)
			signal_all(SIGKILL); // newly adopted ones
	}
	if (pes_.live() == 0 && phase_ == phase::running)
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
		say("job ended with status %d after %.3f s", work.result().exit_code(), now_s() - started_at);
	return work.result().exit_code();
}

} // namespace oshrun
