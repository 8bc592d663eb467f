// SPDX-License-Identifier: BSD-3-Clause
// oshrun_agent.cpp: `oshrun --agent`, the oshrun of one host: its PEs, its parent, and the agents below it.
// oshrun_agent.hpp describes the states.
#include "oshrun_agent.hpp"
#include "oshrun_hosts.hpp"
#include "oshrun_share.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>

namespace oshrun {
namespace {

constexpr double kJobLimit = 60;  // from the start of this process to the job's text
constexpr double kDrainLimit = 5; // for the last output, after the PEs have ended
constexpr double kStopLook = 0.5; // between two checks for stopped PEs; the shortest FI_PGAS_PEER_TIMEOUT is 1

class agent : public branch_owner, public job_owner {
public:
	int run();

	bool from_below(child &source, message &msg) override;
	void host_lost(const child &which, const std::string &line) override;

	void failed(int code, const char *text) override { up_.send({kind::fail, host_, code, text}); }
	void pe_ended(int rank) override;
	void pe_never_joined(int rank, const char *who) override;
	void arrived(uint32_t generation) override;
	void reaped(pid_t pid, int status) override { below_->reaped(pid, status); }
	std::vector<pid_t> helpers() const override { return below_->pids(); }
	int uplink() const override { return up_.in_fd(); }
	void serve_pmix(unique_fd link) override;

private:
	enum class state { waiting, prepared, running, ended }; // of the PEs on this host
	void open_uplink();
	bool from_above(message &msg);
	bool from_server(message &msg);
	bool pmix_from_below(child &source, const message &msg);
	bool pmix_from_above(const message &msg);
	void pmix_to_host(const message &msg, bool from_above);
	bool pass_down(const message &msg);
	bool take_job(const message &msg);
	bool take_share(const message &msg);
	int attempt(int (agent::*what)());
	int prepare(); // 0, or the exit code after an error line
	int begin();
	void start();
	void end(int sig);
	void orphaned();
	void step();
	double patience() const;
	void check_parent();
	void report_stops();
	void advance();
	bool finished();
	static void hear(const char *line);

	static agent *self_; // for hear()
	message_stream up_;
	job_text job_;
	std::string body_;
	int host_ = -1, end_ = -1;
	state now_ = state::waiting;
	std::unique_ptr<branch> below_;
	std::unique_ptr<relay_output> out_;
	std::unique_ptr<relay_input> in_;
	std::unique_ptr<job> work_;
	exchange board_;
	stop_marks stops_;
	double stops_at_ = 0;   // when to check our PEs; 0: not needed
	message_stream server_; // the PMIx server of this host, in the keeper
	int pmix_fences_ = 0;
	bool pmix_arrived_ = false;
	strings said_; // lines held back while collect_ is set
	bool collect_ = false;
	bool ready_sent_ = false, arrived_ = false, told_gone_ = false, told_early_ = false;
	bool orphan_ = false, paused_ = false;
	double drain_by_ = 0;
};
agent *agent::self_;

// Lines for the user go up the tree, and begin with the name of this host.
void agent::hear(const char *line)
{
	if (self_->collect_)
		self_->said_.push_back(line);
	else
		self_->up_.send({kind::say, self_->host_, 0, "host " + self_->work_->where().name() + ": " + line});
}

// One of several steps before PEs run: among all the hosts where it fails, one tells the user why.
int agent::attempt(int (agent::*what)())
{
	said_.clear();
	collect_ = true;
	const int code = (this->*what)();
	collect_ = false;
	if (code != 0)
		failed(code, ("host " + work_->where().name() + ": " + (said_.empty() ? "" : said_.back())).c_str());
	else
		for (const std::string &line : said_)
			hear(line.c_str());
	return code;
}

// --- the job ---------------------------------------------------------------------------------------------------------

bool agent::take_job(const message &msg)
{
	if (work_ || !unpack_job(msg.body, job_))
		return false;
	host_ = msg.host;
	end_ = msg.arg;
	const int hosts = static_cast<int>(job_.opts.hosts.size());
	if (host_ < 0 || host_ >= end_ || end_ > hosts)
		return false;
	body_ = msg.body;
	up_.set_ping(ping_interval(job_.opts));
	placement where;
	where.host_of = place_ranks(job_.opts);
	where.host = static_cast<uint32_t>(host_);
	where.job_cookie = job_.cookie;
	where.by_agent = true;
	for (const host &one : job_.opts.hosts)
		where.names.push_back(one.name);
	if (where.local_size() == 0)
		return false;
	below_ = std::make_unique<branch>(job_, body_, *this);
	out_ = std::make_unique<relay_output>(up_, job_.terminal);
	in_ = std::make_unique<relay_input>(up_, host_);
	work_ = std::make_unique<job>(job_.opts, std::move(where), *out_, *in_, this);
	say_to(hear);
	stops_.open(work_->where().host_of);
	below_->start(host_ + 1, end_);
	now_ = attempt(&agent::prepare) == 0 ? state::prepared : state::ended;
	return true;
}

// Everything that can go wrong before a PE is started: error lines are those of one host, with its name.
int agent::prepare()
{
	for (const std::string &assignment : job_.env)
		putenv(strdup(assignment.c_str()));
	bool all_elsewhere = true;
	for (const app &program : job_.opts.apps)
		all_elsewhere &= !program.wdir.empty() && program.wdir[0] == '/';
	if (chdir(job_.wdir.c_str()) != 0 && !all_elsewhere) {
		say("%s: %s; --wdir names a directory that all hosts have", job_.wdir.c_str(), strerror(errno));
		return kExitCannotStart;
	}
	int rank = 0;
	for (app &program : job_.opts.apps) {
		bool used = false; // by a PE on this host
		for (int i = 0; i < program.count; i++, rank++)
			used |= work_->where().host_of[static_cast<size_t>(rank)] == static_cast<uint32_t>(host_);
		if (int code = used ? resolve(program) : 0)
			return code;
		if (used && is_mpi(program) && !pmix_available() && job_.opts.pmix != pmix_mode::disabled) {
			say("%s is an MPI program, and oshrun was built without PMIx", program.argv[0].c_str());
			return kExitCannotStart;
		}
	}
	return 0;
}

bool agent::take_share(const message &msg)
{
	cpu_share share;
	if (!read_share(msg, share))
		return false;
	if (msg.host == host_)
		work_->set_share(share);
	else
		below_->send_to(msg);
	return true;
}

int agent::begin()
{
	return work_->start() ? 0 : kExitCannotStart;
}

void agent::start()
{
	below_->send_all({kind::start});
	if (attempt(&agent::begin) != 0) {
		now_ = state::ended;
		return;
	}
	board_.open(work_->files().view, work_->where());
	stops_.show(work_->files().view);
	stops_at_ = job_.opts.hosts.size() > 1 ? now_s() : 0;
	now_ = state::running;
}

void agent::end(int sig)
{
	if (below_) {
		below_->send_all({kind::end, -1, sig});
		below_->stop_starting();
	}
	if (now_ == state::running)
		work_->end(sig);
	else
		now_ = state::ended;
}

void agent::pe_ended(int rank)
{
	if (!std::exchange(told_gone_, true)) // one is enough to know that no barrier can complete
		up_.send({kind::gone, -1, rank});
}

void agent::pe_never_joined(int, const char *who)
{
	if (!std::exchange(told_early_, true))
		up_.send({kind::early, -1, 0, who});
}

void agent::arrived(uint32_t generation)
{
	if (generation != board_.generation())
		return work_->result().fail(1, "host %s: %s", work_->where().name().c_str(), pgas::boot::kOverwritten);
	if (board_.is_collected())
		return; // mail that no PE of this host sent
	for (const message &data : board_.collect(generation)) {
		up_.send(data);
		below_->send_all(data);
	}
	arrived_ = true;
}

// --- messages --------------------------------------------------------------------------------------------------------

bool agent::from_below(child &source, message &msg)
{
	switch (msg.kind) {
	case kind::ready:
		source.ready = true;
		return source.ready;
	case kind::fence:
		source.fenced = board_.is_open() && static_cast<uint32_t>(msg.arg) == board_.generation();
		return source.fenced;
	case kind::data:
		if (now_ == state::running && !board_.apply(msg).empty())
			return false;
		below_->send_all(msg, &source);
		[[fallthrough]];
	case kind::out:
	case kind::err:
	case kind::credit:
	case kind::gone:
	case kind::early:
	case kind::fail:
	case kind::say:
		up_.send(msg);
		return true;
	case kind::machine:
		if (msg.host < source.host || msg.host >= source.end)
			return false;
		up_.send(msg);
		return true;
	case kind::stopped:
		if (!stops_.take(msg, source.host, source.end, true))
			return false;
		below_->send_all(msg, &source);
		up_.send(msg);
		return true;
	default:
		return pmix_from_below(source, msg);
	}
}

void agent::host_lost(const child &which, const std::string &line)
{
	for (const message &news : stops_.forget(which.host, which.end)) {
		below_->send_all(news);
		up_.send(news);
	}
	up_.send({kind::fail, -1, kExitCannotStart, line});
}

// Handles messages for one host, and messages for all hosts that concern each host by itself.
bool agent::pass_down(const message &msg)
{
	switch (msg.kind) {
	case kind::input:
	case kind::credit:
		if (msg.host != host_)
			below_->send_to(msg);
		else if (msg.kind == kind::input)
			in_->feed(msg.body);
		else
			out_->credit(msg.arg);
		return true;
	case kind::signal:
		if (!is_signal(msg.arg))
			return false;
		below_->send_all(msg);
		paused_ = msg.arg == SIGTSTP;
		if (now_ == state::running)
			work_->on_signal(msg.arg);
		return true;
	case kind::gone:
		below_->send_all(msg);
		if (now_ == state::running)
			board_.mark_gone(static_cast<uint32_t>(msg.arg));
		return true;
	case kind::stopped:
		if (!stops_.take(msg, host_, end_, false))
			return false;
		below_->send_all(msg);
		return true;
	case kind::early:
		below_->send_all(msg);
		told_early_ = true;
		if (now_ == state::running)
			work_->fail_if_joined(msg.body.c_str());
		return true;
	case kind::share:
		return take_share(msg);
	default:
		return pmix_from_above(msg);
	}
}

// --- PMIx ------------------------------------------------------------------------------------------------------------

void agent::serve_pmix(unique_fd link)
{
	unique_fd also = dup_high(link.get());
	if (also.get() < 0)
		return;
	server_.open(std::move(link), std::move(also));
	server_.set_ping(0);
}

// Passes a message to the PMIx server of one host, by the shortest way in the tree.
void agent::pmix_to_host(const message &msg, bool from_above)
{
	if (msg.host == host_)
		server_.send(msg);
	else if (msg.host > host_ && msg.host < end_)
		below_->send_to(msg);
	else if (!from_above)
		up_.send(msg);
}

bool agent::from_server(message &msg)
{
	switch (msg.kind) {
	case kind::pmix_data:
		up_.send(msg);
		below_->send_all(msg);
		return true;
	case kind::pmix_fence:
		pmix_arrived_ = msg.arg == pmix_fences_;
		return pmix_arrived_;
	case kind::pmix_ask:
	case kind::pmix_answer:
		pmix_to_host(msg, false);
		return true;
	default:
		return false;
	}
}

bool agent::pmix_from_below(child &source, const message &msg)
{
	switch (msg.kind) {
	case kind::pmix_data:
		server_.send(msg);
		below_->send_all(msg, &source);
		up_.send(msg);
		return true;
	case kind::pmix_fence:
		source.pmix_fenced = msg.arg == pmix_fences_;
		return source.pmix_fenced;
	case kind::pmix_ask:
	case kind::pmix_answer:
		pmix_to_host(msg, false);
		return true;
	default:
		return false;
	}
}

bool agent::pmix_from_above(const message &msg)
{
	switch (msg.kind) {
	case kind::pmix_release:
		pmix_fences_++;
		below_->clear(&child::pmix_fenced);
		[[fallthrough]];
	case kind::pmix_data:
		server_.send(msg);
		below_->send_all(msg);
		return true;
	case kind::pmix_ask:
	case kind::pmix_answer:
		pmix_to_host(msg, true);
		return true;
	default:
		return false;
	}
}

bool agent::from_above(message &msg)
{
	if (msg.kind == kind::ping)
		return true;
	if (msg.kind == kind::end) {
		if (!is_signal(msg.arg))
			return false;
		end(msg.arg);
		return true;
	}
	if (msg.kind == kind::job)
		return take_job(msg);
	if (!work_)
		return false;
	switch (msg.kind) {
	case kind::start:
		if (now_ == state::prepared)
			start();
		return true;
	case kind::data:
		below_->send_all(msg);
		return now_ != state::running || board_.apply(msg).empty();
	case kind::release:
		below_->send_all(msg);
		below_->clear(&child::fenced);
		return now_ != state::running || board_.release(static_cast<uint32_t>(msg.arg));
	default:
		return pass_down(msg);
	}
}

// --- life ------------------------------------------------------------------------------------------------------------

// Makes the standard streams the uplink, under numbers that PEs do not use.
void agent::open_uplink()
{
	signal(SIGPIPE, SIG_IGN);
	unique_fd input = dup_high(STDIN_FILENO), out = dup_high(STDOUT_FILENO),
		  null(open("/dev/null", O_RDWR | O_CLOEXEC));
	if (!input || !out || !null) {
		say("cannot open the streams to the oshrun that started this one: %s (ulimit -n?)", strerror(errno));
		_exit(kExitCannotStart);
	}
	const std::string hello = "\n" + hello_line();
	if (write(STDOUT_FILENO, hello.data(), hello.size()) != static_cast<ssize_t>(hello.size())) {
		say("cannot write to the oshrun that started this one: %s", strerror(errno));
		_exit(kExitCannotStart);
	}
	dup2(null.get(), STDIN_FILENO);
	dup2(null.get(), STDOUT_FILENO);
	up_.open(std::move(input), std::move(out));
}

void agent::orphaned()
{
	if (orphan_)
		return;
	orphan_ = true;
	up_.close();
	if (below_)
		below_->hang_up();
	if (now_ == state::running)
		work_->end(SIGKILL);
	else
		now_ = state::ended;
}

// When a silent parent is taken for dead; 0: never.
double agent::patience() const
{
	return paused_ || orphan_ ? 0 : up_.heard() + (work_ ? silence_limit(job_.opts, true) : kJobLimit);
}

void agent::check_parent()
{
	const double limit = patience();
	if (up_.ended() || !up_.broken().empty() || (limit > 0 && now_s() >= limit))
		orphaned();
}

void agent::step()
{
	std::vector<pollfd> polls;
	double due = patience();
	if (drain_by_ > now_s())
		due = sooner(due, drain_by_);
	up_.add_polls(polls, due);
	if (now_ == state::running)
		work_->add_polls(polls, due);
	due = sooner(due, stops_at_);
	if (below_)
		below_->add_polls(polls, due);
	server_.add_polls(polls, due);
	poll_until(polls, due);
	up_.handle(polls);
	server_.handle(polls);
	if (now_ == state::running)
		work_->handle(polls);
	if (below_) {
		if (now_ != state::running)
			below_->reap();
		below_->handle(polls);
	}
	message msg;
	while (!orphan_ && up_.next(msg))
		if (!from_above(msg))
			orphaned(); // a parent that sends nonsense is treated as gone
	while (server_.is_open() && server_.next(msg))
		if (!from_server(msg))
			server_.close();
	if (server_.ended() && server_.is_open())
		server_.close(); // as on one host: it is not restarted
	check_parent();
	advance();
}

// Reads from the kernel which local PEs are stopped, and tells all hosts if that has changed.
void agent::report_stops()
{
	for (auto [rank, stopped] : work_->check_stops()) {
		const message news = {kind::stopped, stopped, rank};
		stops_.take(news, host_, host_ + 1, true);
		below_->send_all(news);
		up_.send(news);
	}
	stops_at_ = now_s() + kStopLook;
}

void agent::advance()
{
	if (stops_at_ > 0 && now_s() >= stops_at_)
		report_stops();
	if (now_ == state::prepared && !ready_sent_ && below_->all(&child::ready)) {
		ready_sent_ = true;
		up_.send(describe_machine(host_));
		up_.send({kind::ready});
	}
	if (now_ == state::running && arrived_ && below_->all(&child::fenced)) {
		arrived_ = false;
		up_.send({kind::fence, -1, static_cast<int>(board_.generation())});
	}
	if (pmix_arrived_ && below_->all(&child::pmix_fenced)) {
		pmix_arrived_ = false;
		up_.send({kind::pmix_fence, -1, pmix_fences_});
	}
	if (now_ == state::running && work_->over()) {
		if (stops_at_ > 0)
			report_stops(); // none is stopped now
		stops_at_ = 0;
		work_->clean_up();
		server_.close();
		now_ = state::ended;
		drain_by_ = now_s() + kDrainLimit;
	}
	if (now_ == state::ended && out_)
		out_->read_now(); // output that had to wait for credit
}

// Waits for the last output as long as the head accepts it, within a limit.
bool agent::finished()
{
	if (now_ != state::ended || (below_ && !orphan_ && !below_->over()))
		return false;
	return orphan_ || !out_ || out_->empty() || now_s() >= drain_by_;
}

int agent::run()
{
	self_ = this;
	open_uplink();
	while (!finished())
		step();
	if (orphan_)
		return kExitCannotStart;
	up_.send({kind::over, host_});
	up_.flush(kDrainLimit);
	up_.wait_end(kDrainLimit);
	return 0;
}

} // namespace

int run_agent()
{
	return agent().run();
}

} // namespace oshrun
