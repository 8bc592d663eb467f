// SPDX-License-Identifier: BSD-3-Clause
//
// start_bench: the time that a job takes that does nothing, from the start of oshrun to its end. Three rows in turn, so
// that other load on the machine affects all of them: the program alone, without oshrun and without a call; the same
// under oshrun; and with shmem_init and shmem_finalize. Best, median and worst of many rounds, and the processor time
// of the best. With --goal it exits with 1 if the best of the last row is above it.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits.h>
#include <spawn.h>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

extern char **environ;

namespace {

using words = std::vector<std::string>;

struct arguments {
	int pes = 2, rounds = 50;
	double goal = 0;
	std::string oshrun, program;
	words more; // for oshrun
};

struct round_of {
	double seconds, cpu;
};

struct row {
	const char *label;
	words command;
	std::vector<round_of> rounds;
};

constexpr char kUsage[] =
	"usage: start_bench [-n PES] [--rounds N] [--goal SECONDS] [--oshrun FILE] [--program FILE] [-- OPTION OF "
	"OSHRUN...]\n"
	"  How long a job takes that does nothing: 2 PEs and 50 rounds, by the oshrun of this build tree, unless "
	"told.\n"
	"  --goal SECONDS  end with 1 when the best time is above it\n"
	"  --program FILE  another program, for which any argument means to end at once (default: start_empty)\n";

[[noreturn]] void wrong(const std::string &what)
{
	fprintf(stderr, "start_bench: %s\n%s", what.c_str(), kUsage);
	exit(2);
}

double number(const char *name, const char *text, double least, double most)
{
	char *end = nullptr;
	const double value = text ? strtod(text, &end) : 0;
	if (!text || end == text || *end || !(value >= least) || !(value <= most))
		wrong(std::string(name) + " wants a number from " + std::to_string(static_cast<long>(least)) + " to " +
		      std::to_string(static_cast<long>(most)) + ", not " + (text ? text : "nothing"));
	return value;
}

std::string beside(const char *path)
{
	char self[PATH_MAX];
	const ssize_t length = readlink("/proc/self/exe", self, sizeof self);
	if (length <= 0 || static_cast<size_t>(length) == sizeof self)
		return path;
	std::string folder(self, static_cast<size_t>(length));
	folder.resize(folder.rfind('/') + 1);
	return folder + path;
}

arguments read_arguments(int argc, char **argv)
{
	arguments a;
	a.oshrun = beside("../launch/oshrun");
	a.program = beside("start_empty");
	for (int i = 1; i < argc; i += 2) { // all but --help and -- have a value
		const std::string word = argv[i];
		char *value = i + 1 < argc ? argv[i + 1] : nullptr;
		if (word == "--help") {
			fputs(kUsage, stdout);
			exit(0);
		}
		if (word == "--") {
			a.more.assign(argv + i + 1, argv + argc);
			break;
		}
		if (word == "-n")
			a.pes = static_cast<int>(number("-n", value, 1, 4096));
		else if (word == "--rounds")
			a.rounds = static_cast<int>(number("--rounds", value, 1, 100000));
		else if (word == "--goal")
			a.goal = number("--goal", value, 0, 1000);
		else if (word == "--oshrun" && value)
			a.oshrun = value;
		else if (word == "--program" && value)
			a.program = value;
		else
			wrong(word + ": no such option, or no value for it");
	}
	for (const std::string *file : {&a.oshrun, &a.program})
		if (access(file->c_str(), X_OK))
			wrong(*file + ": cannot be run: " + strerror(errno));
	return a;
}

double now()
{
	timespec t = {};
	clock_gettime(CLOCK_MONOTONIC, &t);
	return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double seconds(const timeval &t)
{
	return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
}

round_of run_once(const words &command)
{
	std::vector<char *> argv;
	for (const std::string &word : command)
		argv.push_back(const_cast<char *>(word.c_str()));
	argv.push_back(nullptr);
	const double source = now();
	pid_t pid = 0;
	if (const int error = posix_spawn(&pid, argv[0], nullptr, nullptr, argv.data(), environ)) {
		fprintf(stderr, "start_bench: %s: %s\n", argv[0], strerror(error));
		exit(1);
	}
	int status = 0;
	rusage used = {}; // includes its children that were waited for: the PEs
	if (wait4(pid, &status, 0, &used) != pid || status != 0) {
		fprintf(stderr, "start_bench: %s ended with status %d\n", argv[0], status);
		exit(1);
	}
	return {now() - source, seconds(used.ru_utime) + seconds(used.ru_stime)};
}

// Returns the best round.
round_of print(row &r)
{
	std::sort(r.rounds.begin(), r.rounds.end(),
		  [](const round_of &a, const round_of &b) { return a.seconds < b.seconds; });
	const round_of best = r.rounds.front();
	printf("%-44s %8.1f %8.1f %8.1f %8.1f\n", r.label, 1e3 * best.seconds,
	       1e3 * r.rounds[r.rounds.size() / 2].seconds, 1e3 * r.rounds.back().seconds, 1e3 * best.cpu);
	return best;
}

} // namespace

int main(int argc, char **argv)
{
	const arguments a = read_arguments(argc, argv);
	words launch = {a.oshrun, "-n", std::to_string(a.pes)};
	launch.insert(launch.end(), a.more.begin(), a.more.end());
	launch.push_back(a.program);
	words nothing = launch;
	nothing.push_back("nothing");
	row rows[] = {
		{"the program alone, no call", {a.program, "nothing"}, {}},
		{"oshrun, no call", nothing, {}},
		{"oshrun, shmem_init, shmem_finalize", launch, {}},
	};
	for (row &r : rows)
		run_once(r.command); // loads the files' pages
	for (int i = 0; i < a.rounds; ++i)
		for (row &r : rows)
			r.rounds.push_back(run_once(r.command));
	printf("%d PEs, %ld cores, %d rounds; milliseconds\n", a.pes, sysconf(_SC_NPROCESSORS_ONLN), a.rounds);
	printf("%-44s %8s %8s %8s %8s\n", "", "best", "median", "worst", "CPU");
	round_of best = {};
	for (row &r : rows)
		best = print(r);
	if (a.goal <= 0)
		return 0;
	printf("goal: %.1f ms: %s\n", 1e3 * a.goal, best.seconds <= a.goal ? "met" : "missed");
	return best.seconds <= a.goal ? 0 : 1;
}
