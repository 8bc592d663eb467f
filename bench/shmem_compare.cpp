// SPDX-License-Identifier: BSD-3-Clause
//
// shmem_compare: one OpenSHMEM benchmark source, compiled by our oshcc (as a call, and inlined) and by Open MPI's, run
// with each library's launcher on two PEs, interleaved in one run, as a table (and CSV, and SVG). Without Open MPI it
// says so and shows ours alone. No pass or fail by speed: it exits 0 whenever the table was made.
#include "compare.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace {

constexpr char kUsage[] =
	"usage: shmem_compare [options]\n"
	"Measures this OpenSHMEM library beside Open MPI's between two PEs of this host, or collectives of more.\n"
	"  --pes N          so many PEs; when not 2, only the rows of collectives and teams (default 2)\n"
	"  --pes N,M,...    collectives and teams with each of these: a table and plot of how they grow\n"
	"  --rounds N       rounds; each runs every row on every library (default 5)\n"
	"  --samples N      samples of a row in a round (default 5)\n"
	"  --rows A,B,...   only these rows (names: shmem_compare --list)\n"
	"  --timeout-ms N   a row that takes longer than this is reported as timeout (default 20000)\n"
	"  --oshcc FILE     Open MPI's oshcc (default: oshcc.openmpi, or an oshcc in PATH that is Open MPI's)\n"
	"  --alone          leave Open MPI out\n"
	"  --no-inline      leave out the column compiled with oshcc --inline\n"
	"  --caches         collectives that never and that always store around the caches, one number of PEs\n"
	"  --quick          one round, one short sample: shows that it works, measures nothing\n"
	"  --csv FILE       write all results as CSV\n"
	"  --svg FILE       plot the ratios, or the growth\n"
	"  --list           name the rows\n"
	"  --help\n";

using words = std::vector<std::string>;

struct arguments {
	bench::options common;
	const char *oshcc = nullptr;
	std::vector<int> pes{2};
	bool alone = false, inlined = true, list = false, caches = false;
};

std::vector<int> numbers(const std::string &text)
{
	std::vector<int> all;
	for (size_t at = 0; at <= text.size(); at = std::min(text.find(',', at), text.size()) + 1)
		all.push_back(atoi(text.c_str() + at));
	return all;
}

bool parse(int argc, char **argv, arguments &a)
{
	for (int i = 1; i < argc; i++) {
		const std::string word = argv[i];
		const bool more = i + 1 < argc;
		if (a.common.take(argc, argv, i))
			continue;
		if (word == "--alone")
			a.alone = true;
		else if (word == "--no-inline")
			a.inlined = false;
		else if (word == "--list")
			a.list = true;
		else if (word == "--caches")
			a.caches = a.alone = true;
		else if (word == "--oshcc" && more)
			a.oshcc = argv[++i];
		else if (word == "--pes" && more)
			a.pes = numbers(argv[++i]);
		else
			return false;
	}
	if (a.caches && a.pes.size() > 1)
		return false;
	return a.common.run.rounds > 0 && !a.pes.empty() && std::ranges::min(a.pes) >= 2;
}

std::string shell_quoted(const words &command)
{
	std::string line;
	for (const std::string &word : command) {
		line += line.empty() ? "'" : " '";
		for (const char c : word)
			line += c == '\'' ? std::string("'\\''") : std::string(1, c);
		line += '\'';
	}
	return line;
}

bool run_quietly(const words &command)
{
	return system((shell_quoted(command) + " >/dev/null 2>&1").c_str()) == 0;
}

bool run_loudly(const words &command)
{
	const bool good = system(shell_quoted(command).c_str()) == 0;
	if (!good)
		fprintf(stderr, "shmem_compare: failed: %s\n", shell_quoted(command).c_str());
	return good;
}

// Returns the file that a shell would run, or nothing.
std::string in_path(const std::string &name)
{
	if (name.find('/') != std::string::npos)
		return access(name.c_str(), X_OK) == 0 ? name : "";
	const char *path = getenv("PATH");
	for (std::string rest = path ? path : "/usr/bin:/bin"; !rest.empty();) {
		const size_t colon = rest.find(':');
		const std::string file = rest.substr(0, colon) + "/" + name;
		if (access(file.c_str(), X_OK) == 0)
			return file;
		rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
	}
	return "";
}

// Open MPI's compiler wrapper prints its name on request; other wrappers do not know that option.
std::string openmpi_compiler(const arguments &a)
{
	words names{"oshcc.openmpi", "oshcc"};
	if (a.oshcc)
		names = {a.oshcc};
	for (const std::string &name : names) {
		const std::string file = in_path(name);
		const std::string asks = shell_quoted({file}) + " --showme:version 2>&1 | grep -qiE 'open (mpi|shmem)'";
		if (!file.empty() && system(asks.c_str()) == 0)
			return file;
	}
	return "";
}

// The mpirun that lies beside the compiler. The benchmark itself pins the PEs. Open MPI 4.1 crashes in shmem_init of 8
// PEs and more when their addresses are random.
words openmpi_launcher(const std::string &compiler, int pes)
{
	const std::string folder = compiler.substr(0, compiler.rfind('/') + 1);
	const std::string setarch = in_path("setarch");
	words command;
	if (!setarch.empty() && run_quietly({setarch, "-R", "true"}))
		command = {setarch, "-R"};
	for (const char *name : {"oshrun.openmpi", "mpirun.openmpi", "oshrun", "mpirun"})
		if (access((folder + name).c_str(), X_OK) == 0) {
			command.insert(command.end(), {folder + name, "--allow-run-as-root", "--oversubscribe",
						       "--bind-to", "none", "-n", std::to_string(pes)});
			return command;
		}
	return {};
}

// Runs a command with SHMEM_BENCH_START set to the time of its start. What it says goes to a file: Open MPI 4.1 ends
// many jobs with a crash in its shmem_finalize, after all results are there.
words stamped(words launcher, const std::string &log)
{
	const std::string line = "SHMEM_BENCH_START=$(date +%s%N) exec \"$@\" 2>>" + shell_quoted({log});
	launcher.insert(launcher.begin(), {"/bin/sh", "-c", line, "sh"});
	return launcher;
}

// The log of a column that lacks results explains why.
void explain(const std::vector<bench::row> &rows, const std::vector<bench::column> &columns)
{
	for (const bench::column &c : columns)
		for (const bench::row &r : rows)
			if (c.best(r) == 0 && r.group != "teams") { // a library older than 1.5 has none
				fprintf(stderr, "shmem_compare: %s has no result for %s; it said:\n", c.title.c_str(),
					r.name.c_str());
				run_loudly({"cat", c.program + ".log"});
				break;
			}
}

struct workshop { // a folder for what is compiled here; it is removed at the end
	std::string folder;
	workshop()
	{
		char name[] = "/tmp/shmem_compare_XXXXXX";
		if (mkdtemp(name))
			folder = name;
	}
	~workshop()
	{
		if (!folder.empty())
			run_quietly({"rm", "-rf", folder});
	}
};

bool compile(const std::string &compiler, const words &options, const std::string &program)
{
	const std::string source = BENCH_SOURCE_DIR;
	words command{compiler};
	command.insert(command.end(), options.begin(), options.end());
	command.insert(command.end(), {"-O2", "-std=gnu11", "-o", program, source + "/shmem_bench.c",
				       source + "/shmem_rows.c", source + "/shmem_rows_coll.c"});
	return run_loudly(command);
}

bench::column column_of(const std::string &title, const std::string &program, const words &launcher)
{
	bench::column c;
	c.title = title;
	c.program = program;
	c.provider = title;
	c.launcher = stamped(launcher, program + ".log");
	return c;
}

// The library's own choice beside both choices that it has: shows where its limits should lie on a machine.
std::vector<bench::column> cache_columns(const std::string &program, const words &launcher)
{
	const auto with = [&](const char *from) {
		words command{"env", std::string("SHMEM_STREAM_FROM=") + from};
		command.insert(command.end(), launcher.begin(), launcher.end());
		return command;
	};
	return {column_of("pgas", program, launcher), column_of("never around", program, with("1t")),
		column_of("always around", program, with("1"))};
}

// In the build tree our tools look for headers and libraries there.
void use_build_tree(const std::string &top, int pes)
{
	setenv("OSHCC_INCLUDEDIR", BENCH_INCLUDE_DIR, 0);
	setenv("OSHCC_LIBDIR", (top + "/.libs").c_str(), 0);
	const char *old = getenv("LD_LIBRARY_PATH");
	setenv("LD_LIBRARY_PATH", (top + "/.libs" + (old ? std::string(":") + old : "")).c_str(), 1);
	setenv("IPATH_NO_BACKTRACE", "1", 0);
	if (pes > 4) // 16 MiB for each PE, twice; Open MPI reads it too, and needs more
		setenv("SHMEM_SYMMETRIC_SIZE", "2048M", 0);
	setenv("OMPI_MCA_btl_base_warn_component_unused", "0", 0);
}

} // namespace

int main(int argc, char **argv)
{
	arguments a;
	if (argc > 1 && !strcmp(argv[1], "--help"))
		return fputs(kUsage, stdout) < 0;
	if (!parse(argc, argv, a))
		return fputs(kUsage, stderr), 2;
	const std::string top = bench::own_folder() + "/..", oshcc = top + "/shmem/bin/oshcc";
	const std::string peer = a.alone ? "" : openmpi_compiler(a); // asked before our own tools come first in PATH
	use_build_tree(top, std::ranges::max(a.pes));
	const workshop shop;
	const auto launcher = [&](int pes) {
		return words{top + "/boot/oshrun", "-n", std::to_string(pes), "--bind", "none"};
	};
	const std::string ours = shop.folder + "/ours", theirs = shop.folder + "/openmpi",
			  inlined = shop.folder + "/inlined";
	if (!compile(oshcc, {}, ours))
		return 1;
	const bool beside = !peer.empty() && !openmpi_launcher(peer, 2).empty() && compile(peer, {}, theirs);
	if (!beside && !a.caches)
		fprintf(stderr, "shmem_compare: %s\n",
			a.alone ? "this library alone" : "Open MPI's oshcc is not installed: this library alone");
	std::vector<bench::row> rows = bench::list_rows(ours);
	std::erase_if(rows, [&](const bench::row &r) {
		const bool any_size = r.group == "teams" || r.group.starts_with("coll");
		return !a.common.wants(r) || (a.pes != std::vector{2} && !any_size);
	});
	if (rows.empty()) {
		fprintf(stderr, "shmem_compare: no such rows\n");
		return 1;
	}
	if (a.list) {
		for (const bench::row &r : rows)
			printf("%s\t%s\t%s\t%s\n", r.name.c_str(), r.group.c_str(), r.unit.c_str(), r.label.c_str());
		return 0;
	}
	if (a.pes.size() > 1) {
		bench::scaling s{a.pes, {"pgas"}, {}};
		for (const int n : a.pes)
			s.columns.push_back(column_of("pgas", ours, launcher(n)));
		if (beside)
			s.libraries.emplace_back("Open MPI");
		for (const int n : beside ? a.pes : std::vector<int>{})
			s.columns.push_back(column_of("Open MPI", theirs, openmpi_launcher(peer, n)));
		bench::run(a.common.run, rows, s.columns);
		explain(rows, s.columns);
		return bench::write_scaling(a.common, rows, s);
	}
	const int pes = a.pes[0];
	std::vector<bench::column> columns{column_of("pgas", ours, launcher(pes))};
	if (beside)
		columns.push_back(column_of("Open MPI", theirs, openmpi_launcher(peer, pes)));
	if (a.caches)
		columns = cache_columns(ours, launcher(pes));
	else if (a.inlined && compile(oshcc, {"--inline", BENCH_INLINE_FLAGS}, inlined))
		columns.insert(columns.size() < 2 ? columns.begin() : columns.end(),
			       column_of("pgas inline", inlined, launcher(pes)));
	if (columns.size() < 2)
		columns.push_back(columns[0]), columns[1].title += " again";
	bench::run(a.common.run, rows, columns);
	explain(rows, columns);
	return bench::write_results(a.common, rows, columns);
}
