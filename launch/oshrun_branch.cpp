// SPDX-License-Identifier: BSD-3-Clause
// oshrun_branch.cpp: the agents that this process, head or agent, has started: their commands, hello lines, messages
// and end.
#include "oshrun_agent.hpp"
#include "oshrun_hosts.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/wait.h>

namespace oshrun {
namespace {

constexpr double kStartLimit = 60;               // from the start of the command to the hello line
constexpr double kCloseLimit = 5;                // from the last message to the end of the stream
constexpr double kReapLimit = 1;                 // from the end of the stream to the status of the command
constexpr size_t kNoiseMax = 4096;               // bytes kept of a command's messages
constexpr size_t kHelloNoise = size_t{64} << 10; // before the hello line

// ssh passes words to a shell. Only a name that a shell would split needs quotes, because other commands would pass the
// quotes on.
std::string quoted(const std::string &word)
{
	const bool plain = std::all_of(word.begin(), word.end(), [](char c) {
		return isalnum(static_cast<unsigned char>(c)) || strchr("/._+-=:@%", c);
	});
	if (plain)
		return word;
	std::string text = "'";
	for (char c : word)
		text += c == '\'' ? std::string("'\\''") : std::string(1, c);
	return text + "'";
}

std::string last_line(const std::string &text)
{
	const size_t end = text.find_last_not_of(" \t\r\n");
	if (end == std::string::npos)
		return {};
	const size_t begin = text.find_last_of("\r\n", end);
	return text.substr(begin == std::string::npos ? 0 : begin + 1,
			   end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

std::string how_it_ended(int status)
{
	if (status == -1)
		return "it closed its output";
	if (WIFSIGNALED(status))
		return "killed by signal " + std::to_string(WTERMSIG(status));
	return "exit status " + std::to_string(WEXITSTATUS(status));
}

bool has(const std::string &text, std::initializer_list<const char *> any)
{
	return std::any_of(any.begin(), any.end(),
			   [&](const char *one) { return text.find(one) != std::string::npos; });
}

// Why there is no agent: what its command printed, and our own words for the most common causes.
std::string no_agent(const std::string &noise, int status, const std::string &path)
{
	const std::string line = last_line(noise), quote = line.empty() ? "" : ": " + line;
	if (has(line, {"resolve hostname", "not known", "nknown host", "Invalid node name"}))
		return "unknown host" + quote;
	if (has(line, {"ermission denied", "Host key verification", "assword"}))
		return "it wants a password or a confirmation, which an agent command cannot give" + quote;
	if (status != -1 && WIFEXITED(status) && (WEXITSTATUS(status) == 127 || WEXITSTATUS(status) == 126))
		return "cannot run " + path + " there" + quote;
	return "no agent (" + how_it_ended(status) + ")" + quote;
}

// Messages that give an agent a reason to be over. PEs end only after they have started.
bool gives_reason(const child &source, kind reported)
{
	return reported == kind::fail || (source.started && (reported == kind::gone || reported == kind::early));
}

// Messages about PEs, which have to be started first.
bool is_of_started(kind reported)
{
	return reported == kind::gone || reported == kind::early || reported == kind::fence;
}

[[noreturn]] void become_command(strings words, int input, int out, int err)
{
	setsid(); // a signal to the terminal's process group is for us, not for our agents
	restore_signals();
	dup2(input, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	execvp(words[0].c_str(), pointers(words).data());
	const std::string line = "cannot execute " + words[0] + ": " + strerror(errno) + "\n";
	ssize_t ignored = write(STDERR_FILENO, line.data(), line.size());
	(void)ignored;
	_exit(kExitNotFound);
}

} // namespace

branch::branch(const job_text &job, const std::string &body, branch_owner &owner)
	: job_(job), body_(body), owner_(owner)
{
}

const std::string &branch::name(const child &which) const
{
	return job_.opts.hosts[static_cast<size_t>(which.host)].name;
}

// --- start -----------------------------------------------------------------------------------------------------------

strings branch::command(const child &which) const
{
	const host &dest = job_.opts.hosts[static_cast<size_t>(which.host)];
	if (dest.here)
		return {job_.oshrun_path, "--agent"};
	strings words;
	bool named = false;
	add_words(words, job_.opts.launch_agent);
	for (std::string &word : words)
		for (size_t pos = 0; (pos = word.find("%h", pos)) != std::string::npos; pos += dest.name.size()) {
			word.replace(pos, 2, dest.name);
			named = true;
		}
	if (!named)
		words.push_back(dest.name);
	words.push_back(quoted(job_.oshrun_path));
	words.push_back("--agent");
	return words;
}

bool branch::spawn(child &which)
{
	int ends[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
	bool piped = true;
	for (auto &pair : ends)
		piped = piped && pipe2(pair, O_CLOEXEC) == 0;
	unique_fd far_in(ends[0][0]), input(ends[0][1]), out(ends[1][0]), far_out(ends[1][1]), err(ends[2][0]),
		far_err(ends[2][1]);
	which.pid = piped ? fork() : -1;
	if (which.pid == 0)
		become_command(command(which), far_in.get(), far_out.get(), far_err.get());
	if (which.pid < 0)
		return false;
	fcntl(err.get(), F_SETFL, O_NONBLOCK);
	which.err = std::move(err);
	which.stream.open(std::move(out), std::move(input));
	which.stream.set_ping(ping_interval(job_.opts));
	which.silence_s = silence_limit(job_.opts, !job_.opts.hosts[static_cast<size_t>(which.host)].here);
	which.since = now_s();
	return true;
}

void branch::start(int first, int last)
{
	const std::vector<int> begins = split_hosts(first, last, job_.opts.tree);
	for (size_t i = 0; i < begins.size(); i++) {
		child &which = children_.emplace_back();
		which.host = begins[i];
		which.end = i + 1 < begins.size() ? begins[i + 1] : last;
		if (!spawn(which)) {
			const int why = errno;
			lose(which, std::string("cannot start its agent: ") + strerror(why));
			return;
		}
	}
}

void branch::greet(child &which)
{
	std::string line;
	while (which.stream.take_line(line)) {
		if (line.compare(0, strlen(kHelloBegin), kHelloBegin) != 0) {
			which.noise += line.substr(0, kNoiseMax) + "\n"; // output of a login shell
			continue;
		}
		if (std::string wrong = check_hello(line); !wrong.empty())
			return lose(which, wrong);
		if (job_.opts.verbose && !last_line(which.noise).empty())
			say("host %s: %s", name(which).c_str(), last_line(which.noise).c_str());
		which.noise.clear();
		which.now = child::state::greeted;
		which.stream.send({kind::job, which.host, which.end, body_});
		return;
	}
	if (which.noise.size() + which.stream.rest().size() > kHelloNoise)
		lose(which, "something there that is not oshrun talks on the standard output of its agent");
}

// --- news ------------------------------------------------------------------------------------------------------------

void branch::add_polls(std::vector<pollfd> &polls, double &due)
{
	for (child &which : children_) {
		which.poll_err = SIZE_MAX;
		if (which.now == child::state::closed || which.now == child::state::lost)
			continue;
		which.stream.add_polls(polls, due);
		if (which.err.get() >= 0) {
			which.poll_err = polls.size();
			polls.push_back({which.err.get(), POLLIN, 0});
		}
		double limit = which.stream.heard() + which.silence_s;
		if (which.stream.ended())
			limit = now_s() + 0.02; // its status should arrive soon
		else if (which.now != child::state::greeted)
			limit = which.since + (which.now == child::state::starting ? kStartLimit : kCloseLimit);
		due = sooner(due, limit);
	}
}

void branch::read_noise(child &which)
{
	char part[1024];
	ssize_t got = 0;
	for (int i = 0; i < 64 && which.err.get() >= 0 && (got = read(which.err.get(), part, sizeof part)) > 0; i++) {
		which.noise.append(part, static_cast<size_t>(got));
		if (which.noise.size() > kNoiseMax)
			which.noise.erase(0, which.noise.size() - kNoiseMax);
	}
	if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
		which.err.reset();
}

void branch::take_messages(child &which)
{
	message msg;
	while (which.now == child::state::greeted && which.stream.next(msg)) {
		which.may_end |= gives_reason(which, msg.kind);
		if (msg.kind == kind::over && !which.may_end)
			return lose(which, "its agent ended before any PE of its host did");
		else if (msg.kind == kind::over) {
			which.now = child::state::over;
			which.stream.say_no_more(); // the agent waits for that
			which.since = now_s();
		} else if ((is_of_started(msg.kind) && !which.started) ||
			   (msg.kind != kind::ping && !owner_.from_below(which, msg)))
			return lose(which, "its agent sent message " + std::to_string(static_cast<uint32_t>(msg.kind)) +
						   ", which makes no sense");
	}
	while (which.now == child::state::over && which.stream.next(msg)) {} // reads to the end of the stream
	if (which.now == child::state::greeted && !which.stream.broken().empty())
		lose(which, "its agent sent " + which.stream.broken());
}

void branch::handle(const std::vector<pollfd> &polls)
{
	for (child &which : children_) {
		if (which.now == child::state::closed || which.now == child::state::lost)
			continue;
		const bool ended_before = which.stream.ended();
		if (which.poll_err < polls.size() && polls[which.poll_err].revents)
			read_noise(which);
		which.stream.handle(polls);
		if (which.now == child::state::starting)
			greet(which);
		if (which.now == child::state::greeted || which.now == child::state::over)
			take_messages(which);
		if (which.now == child::state::closed || which.now == child::state::lost)
			continue;
		if (which.stream.ended() && !ended_before)
			which.since = now_s();
		check_limits(which, now_s());
	}
}

void branch::check_limits(child &which, double now)
{
	char text[96];
	if (which.stream.ended()) {
		if (which.status != -1 || now >= which.since + kReapLimit)
			conclude(which);
	} else if (which.now == child::state::starting && now >= which.since + kStartLimit) {
		snprintf(text, sizeof text, "no answer of its agent within %g s", kStartLimit);
		lose(which, text);
	} else if (which.now == child::state::greeted && now >= which.stream.heard() + which.silence_s) {
		snprintf(text, sizeof text, "lost: not a sign of life for %g s (--host-timeout %g)", which.silence_s,
			 job_.opts.host_timeout_s);
		lose(which, text);
	} else if (which.now == child::state::over && now >= which.since + kCloseLimit) {
		kill(-which.pid, SIGKILL); // the agent has ended, but its command has not
		conclude(which);
	}
}

// The stream has ended.
void branch::conclude(child &which)
{
	read_noise(which);
	const std::string line = last_line(which.noise);
	if (which.now == child::state::starting)
		return lose(which, no_agent(which.noise, which.status, job_.oshrun_path));
	if (which.now == child::state::greeted)
		return lose(which, "lost: its agent is gone (" + how_it_ended(which.status) + ")" +
					   (line.empty() ? "" : ": " + line));
	which.now = child::state::closed;
	which.stream.close();
	which.err.reset();
	if (!line.empty())
		say("host %s: %s", name(which).c_str(), line.c_str());
}

void branch::lose(child &which, const std::string &why)
{
	which.now = child::state::lost;
	which.stream.close();
	which.err.reset();
	if (which.pid > 0 && which.status == -1) {
		kill(-which.pid, SIGKILL);
		kill(which.pid, SIGKILL); // in case it is not the leader of its session yet
	}
	owner_.host_lost(which, "host " + name(which) + ": " + why);
}

void branch::reaped(pid_t pid, int status)
{
	for (child &which : children_)
		if (which.pid == pid && which.status == -1)
			which.status = status;
}

void branch::reap()
{
	int status;
	for (child &which : children_)
		if (which.pid > 0 && which.status == -1 && waitpid(which.pid, &status, WNOHANG) == which.pid)
			which.status = status;
}

// --- all of them -----------------------------------------------------------------------------------------------------

void branch::send_all(const message &msg, const child *but)
{
	for (child &which : children_)
		if (&which != but && which.now == child::state::greeted) {
			which.started |= msg.kind == kind::start;
			which.may_end |= msg.kind == kind::end || msg.kind == kind::early; // it reports no other
			which.stream.send(msg);
		}
}

void branch::send_to(const message &msg)
{
	for (child &which : children_)
		if (msg.host >= which.host && msg.host < which.end && which.now == child::state::greeted)
			which.stream.send(msg);
}

bool branch::all(bool child::*flag) const
{
	return std::all_of(children_.begin(), children_.end(), [flag](const child &which) { return which.*flag; });
}

void branch::clear(bool child::*flag)
{
	for (child &which : children_)
		which.*flag = false;
}

bool branch::over() const
{
	return std::all_of(children_.begin(), children_.end(), [](const child &which) {
		return which.now == child::state::closed || which.now == child::state::lost;
	});
}

void branch::stop_starting()
{
	for (child &which : children_)
		if (which.now == child::state::starting)
			lose(which, "the job ends"); // nobody reads this, since the job has failed
}

void branch::hang_up()
{
	for (child &which : children_)
		if (which.now != child::state::closed && which.now != child::state::lost) {
			which.now = child::state::lost;
			which.stream.close();
		}
}

void branch::kill_rest()
{
	reap();
	for (child &which : children_)
		if (which.pid > 0 && which.status == -1)
			kill(-which.pid, SIGKILL);
}

void branch::flush(double seconds)
{
	const double end = now_s() + seconds;
	for (child &which : children_)
		which.stream.flush(std::max(end - now_s(), 0.0));
}

void branch::hear_now()
{
	for (child &which : children_)
		which.stream.hear_now();
}

std::vector<pid_t> branch::pids() const
{
	std::vector<pid_t> list;
	for (const child &which : children_)
		if (which.pid > 0)
			list.push_back(which.pid);
	return list;
}

} // namespace oshrun
