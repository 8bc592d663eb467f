// SPDX-License-Identifier: BSD-3-Clause
//
// shmem_tune.cpp: the program shmem-tune. Measures collectives on device memory of this machine, staged through host
// memory and direct, and writes up to which length staging is not slower (SHMEM_TUNE_FILE). For each number of PEs it
// starts itself twice under oshrun as the measuring job, with a file that always stages and one that never does.
#include "config.h"

#include <shmem.h>
#include <shmemx.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <string>
#include <vector>

#include "device/shmem_tune_text.hpp"

#include <devices/devices_kind.hpp>

using namespace shmem;

namespace {

constexpr size_t kSizes[] = {8, 64, 512, 2048, 8192, 16384, 32768, 65536, kMostStaged};
constexpr int kSamples = 7;

[[noreturn, gnu::format(printf, 1, 2)]] void give_up(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fputs("shmem-tune: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(2);
}

// --- the job that measures -------------------------------------------------------------------------------------------

double now_us()
{
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
}

struct buffers {
	char *dest, *source;
	double *mine, *slowest; // symmetric
};

// `bytes` is the longer of a PE's two arrays, as in the file.
void once(tuned what, const buffers &b, size_t bytes)
{
	const size_t part = std::max<size_t>(1, bytes / static_cast<size_t>(shmem_n_pes()));
	auto *dst = reinterpret_cast<float *>(b.dest);
	const auto *src = reinterpret_cast<const float *>(b.source);
	switch (what) {
	case tuned::broadcast:
		shmem_broadcastmem(SHMEM_TEAM_WORLD, b.dest, b.source, bytes, 0);
		break;
	case tuned::fcollect:
		shmem_fcollectmem(SHMEM_TEAM_WORLD, b.dest, b.source, part);
		break;
	case tuned::collect:
		shmem_collectmem(SHMEM_TEAM_WORLD, b.dest, b.source, part);
		break;
	case tuned::alltoall:
		shmem_alltoallmem(SHMEM_TEAM_WORLD, b.dest, b.source, part);
		break;
	case tuned::alltoalls: // every other element, on both sides
		shmem_float_alltoalls(SHMEM_TEAM_WORLD, dst, src, 2, 2,
				      std::max<size_t>(1, part / (2 * sizeof(float))));
		break;
	case tuned::alltoallv: {
		const std::vector<size_t> counts(static_cast<size_t>(shmem_n_pes()), part);
		std::vector<size_t> displs;
		for (const size_t one : counts)
			displs.push_back(displs.size() * one);
		shmemx_alltoallvmem(SHMEM_TEAM_WORLD, b.dest, counts.data(), displs.data(), b.source, counts.data(),
				    displs.data());
		break;
	}
	case tuned::gather:
		shmemx_gathermem(SHMEM_TEAM_WORLD, b.dest, b.source, part, 0);
		break;
	case tuned::scatter:
		shmemx_scattermem(SHMEM_TEAM_WORLD, b.dest, b.source, part, 0);
		break;
	case tuned::reduce:
		shmem_float_sum_reduce(SHMEM_TEAM_WORLD, dst, src, bytes / sizeof(float));
		break;
	default:
		shmem_float_sum_inscan(SHMEM_TEAM_WORLD, dst, src, bytes / sizeof(float));
	}
}

// The best of several samples of the slowest PE, in microseconds.
double measure(tuned what, const buffers &b, size_t bytes)
{
	double best = 1e30;
	int count = 1;
	for (int s = -1; s < kSamples; s++) { // the first one opens everything needed, and determines the count
		shmem_barrier_all();
		const double begin = now_us();
		for (int i = 0; i < count; i++) {
			once(what, b, bytes);
			shmem_sync_all(); // dest may be written again
		}
		*b.mine = (now_us() - begin) / count;
		shmem_double_max_reduce(SHMEM_TEAM_WORLD, b.slowest, b.mine, 1);
		if (s < 0)
			count = std::clamp(static_cast<int>(2000 / *b.slowest), 1, 50);
		else
			best = std::min(best, *b.slowest);
	}
	return best;
}

int run_job()
{
	shmem_init();
	buffers b;
	b.dest = static_cast<char *>(shmem_partition_calloc(kMostStaged + 4096, 1, 1));
	b.source = static_cast<char *>(shmem_partition_calloc(kMostStaged + 4096, 1, 1));
	b.mine = static_cast<double *>(shmem_malloc(2 * sizeof(double)));
	if (!b.dest || !b.source || !b.mine)
		shmem_global_exit(2);
	b.slowest = b.mine + 1;
	for (int what = 0; what < static_cast<int>(tuned::count); what++)
		for (const size_t bytes : kSizes) {
			const double best = measure(static_cast<tuned>(what), b, bytes);
			if (shmem_my_pe() == 0) {
				printf("%d %zu %.3f\n", what, bytes, best);
				fflush(stdout);
			}
		}
	shmem_finalize();
	return 0;
}

// --- the program -----------------------------------------------------------------------------------------------------

struct options {
	std::string kind;
	std::vector<int> pes = {2, 4, 8};
	std::string output;
};

using figures = std::map<std::pair<int, size_t>, double>;

std::string beside_us(const char *name)
{
	char self[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	if (n <= 0)
		return name;
	self[n] = '\0';
	*(strrchr(self, '/') + 1) = '\0';
	const std::string there = std::string(self) + name;
	return access(there.c_str(), X_OK) == 0 ? there : name;
}

// Runs the job and records the lines that it prints.
figures run(const options &o, int pes, bool staged)
{
	char file[] = "/tmp/shmem-tune-XXXXXX";
	const int fd = mkstemp(file);
	FILE *out = fd >= 0 ? fdopen(fd, "w") : nullptr;
	if (!out)
		give_up("%s: %s", file, strerror(errno));
	for (int what = 0; what < static_cast<int>(tuned::count); what++)
		fprintf(out, "%s %s 1 %zu\n", o.kind.c_str(), tuned_name(static_cast<tuned>(what)),
			staged ? kMostStaged : 0);
	fclose(out);
	setenv("SHMEM_TUNE_FILE", file, 1);
	setenv("SHMEM_SYMMETRIC_PARTITION1", ("SIZE=4M:KIND=" + o.kind).c_str(), 1);
	char self[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	self[n > 0 ? n : 0] = '\0';
	const std::string count = std::to_string(pes), oshrun = beside_us("oshrun");
	int ends[2];
	if (pipe(ends) != 0)
		give_up("pipe: %s", strerror(errno));
	const pid_t child = fork();
	if (child == 0) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execlp(oshrun.c_str(), "oshrun", "-n", count.c_str(), self, "--job", nullptr);
		fprintf(stderr, "shmem-tune: %s: %s\n", oshrun.c_str(), strerror(errno));
		_exit(127);
	}
	close(ends[1]);
	FILE *input = fdopen(ends[0], "r");
	figures all;
	int what, status = -1;
	size_t bytes;
	double best;
	while (input && fscanf(input, "%d %zu %lf", &what, &bytes, &best) == 3)
		all[{what, bytes}] = best;
	if (input)
		fclose(input);
	waitpid(child, &status, 0);
	unlink(file);
	if (status != 0 || all.size() != static_cast<size_t>(tuned::count) * std::size(kSizes))
		give_up("the job of %d PEs on kind %s failed", pes, o.kind.c_str());
	return all;
}

// The largest size such that staging is never slower at any size up to it; 0: it is slower at the smallest size.
size_t threshold(const figures &staged, const figures &direct, int what)
{
	size_t up_to = 0;
	for (const size_t bytes : kSizes) {
		if (staged.at({what, bytes}) > direct.at({what, bytes}))
			break;
		up_to = bytes;
	}
	return up_to;
}

int tune(const options &o)
{
	std::string rows;
	for (const int pes : o.pes) {
		fprintf(stderr, "%s, %d PEs: staged ...", o.kind.c_str(), pes);
		const figures staged = run(o, pes, true);
		fprintf(stderr, " direct ...");
		const figures direct = run(o, pes, false);
		fprintf(stderr, " done\n");
		printf("\n%s, %d PEs; microseconds, staged and direct\n%-10s", o.kind.c_str(), pes, "");
		for (const size_t bytes : kSizes)
			printf(" %14zu", bytes);
		printf("  staged up to\n");
		for (int what = 0; what < static_cast<int>(tuned::count); what++) {
			const size_t up_to = threshold(staged, direct, what);
			printf("%-10s", tuned_name(static_cast<tuned>(what)));
			for (const size_t bytes : kSizes)
				printf(" %6.1f /%6.1f", staged.at({what, bytes}), direct.at({what, bytes}));
			printf("  %zu\n", up_to);
			rows += o.kind + " " + tuned_name(static_cast<tuned>(what)) + " " + std::to_string(pes) + " " +
				std::to_string(up_to) + "\n";
		}
		fflush(stdout);
	}
	FILE *out = fopen(o.output.c_str(), "we");
	if (!out)
		give_up("%s: %s", o.output.c_str(), strerror(errno));
	char host[65] = "";
	gethostname(host, sizeof host - 1);
	fprintf(out,
		"# shmem-tune " PACKAGE_VERSION " on %s: use it by SHMEM_TUNE_FILE\n"
		"# kind collective PEs-from-here-on bytes-up-to-which-it-is-staged\n%s",
		host, rows.c_str());
	if (ferror(out) || fclose(out) != 0)
		give_up("%s: %s", o.output.c_str(), strerror(errno));
	return 0;
}

void usage(FILE *dst)
{
	fputs("usage: shmem-tune --kind KIND [-n PES[,PES...]] --output FILE\n"
	      "\n"
	      "Measures collectives on device memory of this machine, staged through host memory and not, prints a\n"
	      "table, and writes up to which lengths each is staged. Programs read the file: SHMEM_TUNE_FILE=FILE.\n"
	      "\n"
	      "  -k, --kind KIND     of the partition: cuda, hip, ze, libomp, emulated\n"
	      "  -n PES[,PES...]     numbers of PEs (default 2,4,8)\n"
	      "  -o, --output FILE   what to write\n"
	      "  -h, --help          this text\n"
	      "  -V, --version       the version\n",
	      dst);
}

std::vector<int> numbers(const char *text)
{
	std::vector<int> all;
	for (const char *pos = text;; pos++) {
		char *end = nullptr;
		const long one = strtol(pos, &end, 10);
		if (end == pos || one < 1 || one > 1024 || (*end && *end != ','))
			give_up("-n %s: numbers of PEs from 1 to 1024, with commas between them", text);
		all.push_back(static_cast<int>(one));
		if (!*end)
			return all;
		pos = end;
	}
}

} // namespace

int main(int argc, char **argv)
{
	options o;
	if (argc == 2 && strcmp(argv[1], "--job") == 0)
		return run_job();
	for (int i = 1; i < argc; i++) {
		const std::string a = argv[i];
		const auto value = [&]() -> const char * {
			if (i + 1 >= argc)
				give_up("%s needs a value (see --help)", a.c_str());
			return argv[++i];
		};
		if (a == "-h" || a == "--help") {
			usage(stdout);
			return 0;
		}
		if (a == "-V" || a == "--version") {
			puts("shmem-tune " PACKAGE_VERSION);
			return 0;
		}
		if (a == "-k" || a == "--kind")
			o.kind = value();
		else if (a == "-n")
			o.pes = numbers(value());
		else if (a == "-o" || a == "--output")
			o.output = value();
		else
			give_up("unknown option: %s (see --help)", a.c_str());
	}
	if (o.kind.empty() || o.output.empty())
		give_up("--kind and --output are needed (see --help)");
	if (!pgas::devices::find_kind(o.kind.c_str()))
		give_up("there is no kind %s (%s)", o.kind.c_str(), pgas::devices::kind_names());
	return tune(o);
}
