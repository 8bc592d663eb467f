// SPDX-License-Identifier: BSD-3-Clause
// agent_fuzz.cpp: random and changed messages for their readers: the reader itself and the parsers of bodies, in this
// process; a head whose agent is this program; an agent whose head is. It fails if one of them ends by a signal or by a
// sanitizer, or does not end. It prints the seed of each failure.
//
//	agent_fuzz [SEED]		AGENT_FUZZ_SECONDS=N: how long, in total (default 6)
//	agent_fuzz as-agent SEED	is the agent command of the second kind
//	OSHRUN				the launcher (default ./launch/oshrun)
#include "oshrun_agent.hpp"
#include "oshrun_hosts.hpp"
#include "oshrun_pmix_link.hpp"
#include "oshrun_share.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <random>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

using namespace oshrun;

namespace {

using rng = std::mt19937;
constexpr int kSanitizer = 97; // exit status that sanitizers are told to use

uint32_t below(rng &random, uint32_t end)
{
	return static_cast<uint32_t>(random()) % end;
}

int odd_number(rng &random)
{
	const int odd[] = {0, 1, 2, -1, 15, 255, 65536, 1 << 20, INT32_MAX, INT32_MIN, SIGTERM, SIGKILL, SIGTSTP};
	return below(random, 3) ? odd[below(random, std::size(odd))] : static_cast<int>(random());
}

std::string random_text(rng &random, size_t most)
{
	std::string text(below(random, static_cast<uint32_t>(most) + 1), '\0');
	for (char &c : text)
		c = static_cast<char>(random());
	return text;
}

// Flips, overwrites, cuts, doubles and inserts bytes, at most `times` times.
void mutate(std::string &text, rng &random, uint32_t times)
{
	for (uint32_t n = below(random, times + 1); n > 0 && !text.empty(); n--) {
		const uint32_t size = static_cast<uint32_t>(text.size()), pos = below(random, size);
		const int value = odd_number(random);
		switch (below(random, 6)) {
		case 0:
			text[pos] = static_cast<char>(text[pos] ^ (1 << below(random, 8)));
			break;
		case 1:
			text[pos] = static_cast<char>(random());
			break;
		case 2: // a number
			text.replace(pos, sizeof value, reinterpret_cast<const char *>(&value), sizeof value);
			break;
		case 3:
			text.resize(pos);
			break;
		case 4:
			text.insert(pos, text.substr(below(random, size), below(random, 64)));
			break;
		default:
			text.erase(pos, below(random, 32));
		}
	}
}

// It names no existing command but /bin/true, however it is changed.
std::string job_body(rng &random)
{
	job_text job;
	job.wdir = "/";
	job.oshrun_path = "/nonexistent/oshrun";
	job.opts.launch_agent = "/nonexistent/agent";
	job.cookie = random();
	job.env = {"AGENT_FUZZ=1"};
	for (uint32_t i = 0, hosts = 1 + below(random, 3); i < hosts; i++)
		job.opts.hosts.push_back({"host" + std::to_string(i), 1 + static_cast<int>(below(random, 3)), false});
	app program;
	program.count = 1 + static_cast<int>(below(random, 4));
	program.argv = {"/bin/true", random_text(random, 8)};
	std::replace(program.argv[1].begin(), program.argv[1].end(), '\0', '0');
	job.opts.apps.push_back(program);
	job.opts.grace_s = 20; // how long a keeper waits before it kills an agent whose parent is gone
	job.opts.host_timeout_s = 5;
	job.opts.pmix = pmix_mode::disabled;
	return pack_job(job);
}

// Cells and keys in the format of exchange::collect().
std::string data_body(rng &random)
{
	const uint32_t cell = below(random, 64), keys = below(random, 64);
	packer body;
	for (uint32_t word : {below(random, 5), cell, below(random, 2) * keys, keys})
		body.u32(word);
	return body.text + std::string(cell + keys, 'x');
}

message any_message(rng &random)
{
	message msg;
	msg.kind = static_cast<kind>(1 + below(random, static_cast<uint32_t>(kind::last)));
	msg.host = below(random, 2) ? static_cast<int>(below(random, 4)) - 1 : odd_number(random);
	msg.arg = below(random, 2) ? static_cast<int>(below(random, 4)) : odd_number(random);
	if (msg.kind == kind::job)
		msg.body = job_body(random);
	else if (msg.kind == kind::data)
		msg.body = data_body(random);
	else if (msg.kind == kind::machine && below(random, 8))
		msg.body = describe_machine(0).body;
	else if (msg.kind == kind::stopped && below(random, 8))
		msg.host = below(random, 4) ? static_cast<int>(below(random, 2)) : msg.host;
	else if (msg.kind >= kind::pmix_data || below(random, 2))
		msg.body = random_text(random, below(random, 8) ? 40 : 5000);
	return msg;
}

std::string any_stream(rng &random, uint32_t messages)
{
	std::string text;
	for (uint32_t n = below(random, messages + 1); n > 0; n--)
		text += bytes_of(any_message(random));
	mutate(text, random, 3);
	return text;
}

// --- in this process -------------------------------------------------------------------------------------------------

struct pair_of_sockets {
	unique_fd ours, theirs;
	pair_of_sockets()
	{
		int ends[2] = {-1, -1};
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
			_exit(99);
		ours = unique_fd(ends[0]);
		theirs = unique_fd(ends[1]);
		fcntl(theirs.get(), F_SETFL, O_NONBLOCK);
	}
};

// Gives the reader the stream in pieces of any size, and parses every message as its owners do.
void read_stream(const std::string &text, rng &random, exchange &board, stop_marks &stops)
{
	pair_of_sockets way;
	message_stream link;
	machine_table machines;
	cpu_share share;
	link.open(unique_fd(dup(way.ours.get())), std::move(way.ours));
	message msg;
	for (size_t pos = 0; pos < text.size() && link.broken().empty();) {
		const size_t some = std::min<size_t>(1 + below(random, 5000), text.size() - pos);
		const ssize_t sent = write(way.theirs.get(), text.data() + pos, some);
		pos += sent > 0 ? static_cast<size_t>(sent) : 0;
		std::vector<pollfd> polls;
		double due = 0;
		link.add_polls(polls, due);
		poll_until(polls, now_s());
		link.handle(polls);
		while (link.next(msg)) {
			job_text job;
			if (msg.kind == kind::job && unpack_job(msg.body, job))
				place_ranks(job.opts);
			else if (msg.kind == kind::data)
				board.apply(msg);
			else if (msg.kind == kind::release)
				board.release(static_cast<uint32_t>(msg.arg));
			else if (msg.kind == kind::gone)
				board.mark_gone(static_cast<uint32_t>(msg.arg));
			else if (msg.kind == kind::machine)
				machines.take(msg, 0, 2);
			else if (msg.kind == kind::share)
				read_share(msg, share);
			else if (msg.kind == kind::stopped)
				stops.take(msg, 0, 1, below(random, 2));
		}
	}
	if (machines.divide({2, 1}).size() > 2)
		_exit(99);
}

void read_as_pmix(const std::string &text)
{
	pair_of_sockets way;
	pmix_link link;
	if (!link.open(way.ours.get(), 0))
		_exit(99);
	link.fence("mine", [](bool, const std::string &) {});
	link.ask(1, 1, [](bool, const std::string &) {});
	const ssize_t sent = write(way.theirs.get(), text.data(), text.size());
	way.theirs.reset();
	auto asked = [&link](const message &question) { link.answer(question, true, "it", 2); };
	for (int i = 0; sent > 0 && i < 100 && link.handle(asked); i++) {}
}

// Writes what PEs of this host may have written into their slots.
void scribble(const job_files &files, rng &random)
{
	for (uint32_t rank = 0; rank < files.view.plan.size; rank++)
		for (size_t i = 0; i < sizeof(pgas::boot::board_slot); i++)
			reinterpret_cast<char *>(&files.view.slot(rank))[i] = static_cast<char>(random());
}

// oshrun keeps its one board until it ends; here there are thousands.
void unmap_board(const job_files &files)
{
	struct stat board;
	if (fstat(files.board.get(), &board) != 0 || munmap(files.view.base, static_cast<size_t>(board.st_size)) != 0)
		_exit(99);
}

void fuzz_here(unsigned seed)
{
	rng random(seed);
	placement where{{0, 1, 0, 1}, 0, {"a", "b"}};
	job_files files;
	exchange board;
	stop_marks stops;
	if (!make_files(where, files))
		_exit(99);
	board.open(files.view, where);
	stops.open(where.host_of);
	stops.show(files.view);
	for (int i = 0; i < 20; i++) {
		const std::string text = any_stream(random, 8);
		read_stream(text, random, board, stops);
		read_as_pmix(text);
		scribble(files, random);
		board.collect(board.generation());
		if (stops.forget(0, 2).size() > where.host_of.size())
			_exit(99);
		job_text job;
		std::string body = job_body(random);
		mutate(body, random, 3);
		unpack_job(body, job);
		std::string hello = hello_line();
		mutate(hello, random, 2);
		check_hello(kHelloBegin + hello);
	}
	unmap_board(files);
}

// --- this process as an agent ----------------------------------------------------------------------------------------

void write_all(int fd, const std::string &text)
{
	for (size_t pos = 0; pos < text.size();) {
		const ssize_t sent = write(fd, text.data() + pos, text.size() - pos);
		if (sent <= 0)
			return;
		pos += static_cast<size_t>(sent);
	}
}

constexpr unsigned kEarlySeed = 0; // of an agent whose PE ends before it was started

// Mostly behaves well for a while: otherwise a head stops after the first message.
int as_agent(unsigned seed)
{
	rng random(seed);
	signal(SIGPIPE, SIG_IGN);
	std::string text;
	if (seed == kEarlySeed) {
		write_all(STDOUT_FILENO, "\n" + hello_line() + bytes_of({kind::early, -1, 1}) + bytes_of({kind::over}));
		return 0;
	}
	if (below(random, 4))
		text += bytes_of({kind::ready});
	if (below(random, 2))
		text += bytes_of({kind::out, -1, 1, "a line\n"}) + bytes_of({kind::fence, -1, 0});
	if (below(random, 2))
		text += any_stream(random, 6);
	if (below(random, 4) == 0)
		text += bytes_of({kind::gone, -1, 1});
	const bool over = below(random, 2);
	if (over)
		text += bytes_of({kind::over});
	write_all(STDOUT_FILENO, "\n" + hello_line() + text);
	char part[4096];
	for (ssize_t got = 1; over && got > 0;)
		got = read(STDIN_FILENO, part, sizeof part); // until the head closes the connection
	return 0;
}

// --- oshrun as another process ---------------------------------------------------------------------------------------

double limit_s()
{
	const char *slow = getenv("TEST_SLOW");
	return 20 * (slow && atof(slow) > 0 ? atof(slow) : 5);
}

struct command {
	pid_t pid = -1;
	unique_fd write_end, read_end;
};

command start(strings words)
{
	int input[2], out[2];
	if (pipe2(input, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
		_exit(99);
	command one;
	one.write_end = unique_fd(input[1]);
	one.read_end = unique_fd(out[0]);
	unique_fd far_in(input[0]), far_out(out[1]), null(open("/dev/null", O_WRONLY | O_CLOEXEC));
	one.pid = fork();
	if (one.pid == 0) {
		setpgid(0, 0);
		const struct rlimit few = {300, 300}; // a changed number may ask for a million PEs
		setrlimit(RLIMIT_NOFILE, &few);
		dup2(far_in.get(), STDIN_FILENO);
		dup2(far_out.get(), STDOUT_FILENO);
		if (!getenv("AGENT_FUZZ_VERBOSE"))
			dup2(null.get(), STDERR_FILENO);
		execv(words[0].c_str(), pointers(words).data());
		_exit(99);
	}
	return one;
}

// Waits, reading the output. Returns what is wrong with its end, or an empty string.
std::string await(command &one)
{
	const double end = now_s() + limit_s();
	int status = 0;
	char part[4096];
	fcntl(one.read_end.get(), F_SETFL, O_NONBLOCK);
	pid_t reaped = 0;
	while ((reaped = waitpid(one.pid, &status, WNOHANG)) == 0 && now_s() < end) {
		struct pollfd said = {one.read_end.get(), POLLIN, 0};
		if (poll(&said, 1, 5) == 1 && read(one.read_end.get(), part, sizeof part) <= 0)
			usleep(1000);
	}
	if (reaped == 0) {
		kill(-one.pid, SIGKILL);
		waitpid(one.pid, &status, 0);
		return "it does not end";
	}
	if (WIFSIGNALED(status))
		return "killed by signal " + std::to_string(WTERMSIG(status));
	return WEXITSTATUS(status) == kSanitizer ? "a sanitizer ended it" : "";
}

const char *launcher()
{
	const char *path = getenv("OSHRUN");
	return path && *path ? path : "./launch/oshrun";
}

std::string fuzz_head(const char *self, unsigned seed)
{
	// "honest" is a correct agent, which waits for the other
	const std::string agent = "env AGENT_FUZZ_SELF=" + std::string(self) +
				  " AGENT_FUZZ_SEED=" + std::to_string(seed) + " sh " + getenv("AGENT_FUZZ_COMMAND");
	command one = start({launcher(), "--no-pmix", "--grace", "0.1", "--host-timeout", "5", "--launch-agent", agent,
			     "-H", "honest:1,fuzz:1", "/bin/true"});
	one.write_end.reset();
	return await(one);
}

constexpr unsigned kSignalSeed = 1518; // a message about signal 2147483647

std::string fuzz_agent(unsigned seed)
{
	rng random(seed);
	command one = start({launcher(), "--agent"});
	std::string job = bytes_of({kind::job, 0, 1, job_body(random)});
	mutate(job, random, 2);
	std::string text = below(random, 8) ? job : "";
	if (below(random, 2))
		text += bytes_of({kind::start});
	text += any_stream(random, 6);
	write_all(one.write_end.get(), text);
	if (below(random, 2))
		usleep(below(random, 20000)); // PEs may have started
	one.write_end.reset();
	return await(one);
}

struct round_counts {
	unsigned here = 0, head = 0, agent = 0;
};

int report(const char *what, unsigned seed, const std::string &wrong)
{
	printf("FAILED: %s, seed %u: %s\n", what, seed, wrong.c_str());
	return 1;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "as-agent") == 0)
		return as_agent(static_cast<unsigned>(strtoul(argv[2], nullptr, 10)));
	const char *seconds = getenv("AGENT_FUZZ_SECONDS");
	const double end = now_s() + (seconds && *seconds ? atof(seconds) : 6);
	unsigned seed = argc > 1 ? static_cast<unsigned>(strtoul(argv[1], nullptr, 10)) : 1;
	const bool once = argc > 1;
	int failures = 0;
	round_counts counts;
	if (!getenv("AGENT_FUZZ_COMMAND")) {
		puts("AGENT_FUZZ_COMMAND is not set: agent_fuzz.sh starts this program");
		return 99;
	}
	signal(SIGPIPE, SIG_IGN); // a reader may close its end at any time
	setenv("ASAN_OPTIONS", "exitcode=97:detect_leaks=0", 0);
	setenv("UBSAN_OPTIONS", "halt_on_error=1:exitcode=97", 0);
	if (std::string wrong = fuzz_head(argv[0], kEarlySeed); !once && !wrong.empty())
		failures += report("head", kEarlySeed, wrong);
	if (std::string wrong = fuzz_agent(kSignalSeed); !once && !wrong.empty())
		failures += report("agent", kSignalSeed, wrong);
	do {
		alarm(static_cast<unsigned>(limit_s())); // for a reader that does not end
		for (unsigned i = 0; i < 5; i++, counts.here++)
			fuzz_here(seed * 1000 + i);
		alarm(0);
		if (std::string wrong = fuzz_agent(seed); counts.agent++, !wrong.empty())
			failures += report("agent", seed, wrong);
		if (std::string wrong = fuzz_head(argv[0], seed); counts.head++, !wrong.empty())
			failures += report("head", seed, wrong);
		seed++;
	} while (!once && now_s() < end && failures < 10);
	printf("%u readers, %u agents, %u heads; %d failures\n", counts.here * 20, counts.agent, counts.head, failures);
	return failures > 0;
}
