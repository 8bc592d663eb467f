// SPDX-License-Identifier: BSD-3-Clause
// oshrun_head.cpp: the oshrun that the user started, in a job on several hosts. It has the standard streams, the limits
// and the verdict; the agents have the PEs (oshrun_agent.hpp).
#include "oshrun_agent.hpp"
#include "oshrun_hosts.hpp"
#include "oshrun_share.hpp"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <map>
#include <sys/signalfd.h>

namespace oshrun {
namespace {

constexpr double kAgentDelay = 3; // agents keep the grace period; this much later, repeat the order; then give up

// Our standard input, sent to one PE as fast as that reads it.
class head_input {
public:
	void add_polls(std::vector<pollfd> &polls)
	{
		poll_ = SIZE_MAX;
		if (ended_ || window_ == 0 || !may_read_stdin())
			return;
		poll_ = polls.size();
		polls.push_back({STDIN_FILENO, POLLIN, 0});
	}
	// Returns true if there is something to send; an empty text is the end.
	bool take(const std::vector<pollfd> &polls, std::string &bytes)
	{
		if (poll_ >= polls.size() || !polls[poll_].revents)
			return false;
		char part[kStreamBytes];
		ssize_t got = read(STDIN_FILENO, part, std::min(sizeof part, window_));
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			return false;
		ended_ = got <= 0;
		bytes.assign(part, got > 0 ? static_cast<size_t>(got) : 0);
		window_ -= bytes.size();
		return true;
	}
	void credit(int bytes)
	{
		if (bytes > 0)
			window_ = std::min(window_ + static_cast<size_t>(bytes), kStreamWindow);
	}

private:
	size_t window_ = kStreamWindow;
	bool ended_ = false;
	size_t poll_ = SIZE_MAX;
};

class head : public branch_owner {
public:
	explicit head(options &opts);
	int run();
	bool from_below(child &source, message &msg) override;
	void host_lost(const child &which, const std::string &line) override;

private:
	enum class phase { starting, running, ending, killing };
	bool prepare();
	void step();
	void advance();
	void start();
	void give_credit();
	void check_deadlines();
	void read_signals();
	void on_signal(int sig);
	void stop();
	void end(int sig);
	bool take_output(const child &source, const message &msg);
	bool take_stop(const child &source, const message &msg);

	options &opts_;
	job_text job_;
	std::string body_;
	std::vector<uint32_t> host_of_;
	stop_marks stops_;
	machine_table machines_;
	branch below_;
	output out_;
	head_input in_;
	std::map<int, size_t> owed_; // by host: output bytes for which to give credit once they are written
	unique_fd signals_;
	phase phase_ = phase::starting;
	uint32_t generation_ = 0; // of the current barrier
	int pmix_fences_ = 0;
	double started_at_, deadline_ = 0;
	verdict verdict_;
	bool told_gone_ = false, told_early_ = false;
	size_t signals_poll_ = SIZE_MAX;
};

head::head(options &opts)
	: opts_(opts), below_(job_, body_, *this), out_(opts.tag_output, opts.output_dir), started_at_(now_s()),
	  verdict_([this](int, const char *line, int sig) {
		  if (line[0])
			  say("%s", line);
		  end(sig);
	  })
{
}

// --- start -----------------------------------------------------------------------------------------------------------

bool head::prepare()
{
	char path[PATH_MAX];
	const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
	char *here = getcwd(nullptr, 0);
	job_.opts = opts_;
	job_.oshrun_path = length > 0 ? std::string(path, static_cast<size_t>(length)) : "oshrun";
	if (!here) {
		say("the current directory: %s", strerror(errno));
		return false;
	}
	job_.wdir = here;
	free(here);
	job_.env = carried_environment();
	job_.terminal = own_terminal();
	job_.cookie = fresh_cookie();
	body_ = pack_job(job_);
	host_of_ = place_ranks(opts_);
	stops_.open(host_of_);
	app command; // to check that the command exists
	add_words(command.argv, opts_.launch_agent);
	if (command.argv.empty()) {
		say("--launch-agent: no command");
		return false;
	}
	bool others = false;
	for (const host &one : opts_.hosts)
		others |= !one.here;
	if (others && resolve(command) != 0) {
		say("--launch-agent %s: command not found; oshrun needs it to reach other hosts",
		    opts_.launch_agent.c_str());
		return false;
	}
	return true;
}

// --- the verdict -----------------------------------------------------------------------------------------------------

void head::end(int sig)
{
	below_.send_all({kind::end, -1, sig});
	below_.stop_starting();
	if (sig == SIGKILL) {
		phase_ = phase::killing;
		deadline_ = now_s() + 5 + kAgentDelay;
	} else if (phase_ != phase::killing) {
		phase_ = phase::ending;
		deadline_ = now_s() + opts_.grace_s + kAgentDelay;
	}
}

void head::check_deadlines()
{
	if (out_.reader_gone())
		verdict_.fail(128 + SIGPIPE, "%s", ""); // no message, like any program whose output goes to head(1)
	const double now = now_s();
	if (opts_.timeout_s > 0 && now >= started_at_ + opts_.timeout_s)
		verdict_.fail(kExitTimeout, "job did not end within %g s (--timeout)", opts_.timeout_s);
	if (deadline_ == 0 || now < deadline_)
		return;
	if (phase_ == phase::ending)
		end(SIGKILL);
	else
		below_.hang_up();
}

// --- messages --------------------------------------------------------------------------------------------------------

bool head::take_output(const child &source, const message &msg)
{
	if (msg.arg < 0 || msg.arg >= opts_.count)
		return false;
	const int host = static_cast<int>(host_of_[static_cast<size_t>(msg.arg)]);
	if (host < source.host || host >= source.end)
		return false;
	out_.feed(msg.arg, msg.kind == kind::err, msg.body);
	owed_[host] += msg.body.size();
	return true;
}

bool head::take_stop(const child &source, const message &msg)
{
	if (!stops_.take(msg, source.host, source.end, true))
		return false;
	below_.send_all(msg, &source);
	return true;
}

bool head::from_below(child &source, message &msg)
{
	switch (msg.kind) {
	case kind::ready:
		source.ready = true;
		return source.ready;
	case kind::out:
	case kind::err:
		return take_output(source, msg);
	case kind::credit:
		in_.credit(msg.arg);
		return true;
	case kind::data:
	case kind::pmix_data:
		below_.send_all(msg, &source);
		return true;
	case kind::machine:
		return machines_.take(msg, source.host, source.end);
	case kind::stopped:
		return take_stop(source, msg);
	case kind::fence:
		source.fenced = static_cast<uint32_t>(msg.arg) == generation_;
		return source.fenced;
	case kind::pmix_fence:
		source.pmix_fenced = msg.arg == pmix_fences_;
		return source.pmix_fenced;
	case kind::pmix_ask:
	case kind::pmix_answer:
		below_.send_to(msg);
		return true;
	case kind::gone: // one is enough to know that no barrier can complete
	case kind::early:
		if (!std::exchange(msg.kind == kind::gone ? told_gone_ : told_early_, true))
			below_.send_all(msg);
		return true;
	case kind::fail:
		verdict_.fail(msg.arg & 0xff, "%s", msg.body.c_str());
		return true;
	case kind::say:
		say("%s", msg.body.c_str());
		return true;
	default:
		return false;
	}
}

void head::host_lost(const child &which, const std::string &line)
{
	for (const message &news : stops_.forget(which.host, which.end))
		below_.send_all(news);
	verdict_.fail(kExitCannotStart, "%s", line.c_str());
}

void head::give_credit()
{
	if (owed_.empty() || out_.full())
		return;
	for (auto [host, bytes] : owed_)
		if (bytes > 0)
			below_.send_to({kind::credit, host, static_cast<int>(bytes)});
	owed_.clear();
}

void head::start()
{
	phase_ = phase::running;
	if (opts_.verbose)
		say("job of %d PEs on %zu hosts, all of them ready after %.3f s; one that says nothing for %g s is "
		    "lost",
		    opts_.count, opts_.hosts.size(), now_s() - started_at_, silence_limit(opts_, true));
	std::vector<int> pes(opts_.hosts.size(), 0);
	for (const uint32_t host : host_of_)
		pes[host]++;
	for (const message &share : machines_.divide(pes))
		below_.send_to(share);
	below_.send_all({kind::start});
}

void head::advance()
{
	if (phase_ == phase::starting && below_.all(&child::ready))
		start();
	if (below_.all(&child::fenced)) {
		below_.clear(&child::fenced);
		below_.send_all({kind::release, -1, static_cast<int>(generation_++)});
	}
	if (below_.all(&child::pmix_fenced)) {
		below_.clear(&child::pmix_fenced);
		below_.send_all({kind::pmix_release, -1, pmix_fences_++});
	}
	give_credit();
}

// --- life ------------------------------------------------------------------------------------------------------------

// Agents keep running, and are told not to take the head's silence for its death.
void head::stop()
{
	below_.send_all({kind::signal, -1, SIGTSTP});
	below_.flush(1);
	kill(getpid(), SIGSTOP);
	below_.hear_now();
	below_.send_all({kind::signal, -1, SIGCONT});
}

void head::on_signal(int sig)
{
	switch (sig) {
	case SIGCHLD:
		break; // step() reaps them
	case SIGUSR1:
	case SIGUSR2:
	case SIGCONT:
		below_.send_all({kind::signal, -1, sig});
		break;
	case SIGTSTP:
		stop();
		break;
	default:
		if (!verdict_.interrupt(sig, ""))
			end(SIGKILL); // do not wait any longer
	}
}

void head::read_signals()
{
	struct signalfd_siginfo info;
	while (read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info))
		on_signal(static_cast<int>(info.ssi_signo));
}

void head::step()
{
	std::vector<pollfd> polls;
	double due = deadline_;
	signals_poll_ = polls.size();
	polls.push_back({signals_.get(), POLLIN, 0});
	const bool feeds = phase_ == phase::running && opts_.stdin_pe >= 0;
	if (feeds)
		in_.add_polls(polls);
	out_.add_polls(polls);
	below_.add_polls(polls, due);
	due = sooner(due, out_.deadline());
	if (opts_.timeout_s > 0 && !verdict_.is_decided())
		due = sooner(due, started_at_ + opts_.timeout_s);
	poll_until(polls, due);
	if (polls[signals_poll_].revents)
		read_signals();
	below_.reap();
	below_.handle(polls);
	std::string bytes;
	if (feeds && in_.take(polls, bytes))
		below_.send_to(
			{kind::input, static_cast<int>(host_of_[static_cast<size_t>(opts_.stdin_pe)]), 0, bytes});
	out_.handle(polls);
	advance();
	check_deadlines();
}

int head::run()
{
	if (!prepare() || !out_.make_files(opts_.count))
		return kExitCannotStart;
	for (int sig : {SIGPIPE, SIGXFSZ, SIGTTOU})
		signal(sig, SIG_IGN);
	signals_ = signal_source();
	below_.start(0, static_cast<int>(opts_.hosts.size()));
	while (!below_.over())
		step();
	out_.flush(5);
	below_.kill_rest();
	if (opts_.verbose)
		say("job ended with status %d after %.3f s", verdict_.exit_code(), now_s() - started_at_);
	return verdict_.exit_code();
}

} // namespace

int run_head(options &opts)
{
	return head(opts).run();
}

} // namespace oshrun
