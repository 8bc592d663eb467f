// SPDX-License-Identifier: BSD-3-Clause
//
// Finds, compiles and runs the programs to compare: see compare_tools.hpp.
#include "compare_tools.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace bench {
namespace {

// Runs a command with SHMEM_BENCH_START set to its start time. Its stderr goes to a file: Open MPI 4.1 ends many jobs
// with a crash in its shmem_finalize, after all results have been printed.
words stamped(words launcher, const std::string &log)
{
	const std::string line = "SHMEM_BENCH_START=$(date +%s%N) exec \"$@\" 2>>" + shell_quoted({log});
	launcher.insert(launcher.begin(), {"/bin/sh", "-c", line, "sh"});
	return launcher;
}

} // namespace

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
		fprintf(stderr, "%s: failed: %s\n", program_invocation_short_name, shell_quoted(command).c_str());
	return good;
}

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
std::string openmpi_compiler(const std::string &given)
{
	words names{"oshcc.openmpi", "oshcc"};
	if (!given.empty())
		names = {given};
	for (const std::string &name : names) {
		const std::string file = in_path(name);
		const std::string asks = shell_quoted({file}) + " --showme:version 2>&1 | grep -qiE 'open (mpi|shmem)'";
		if (!file.empty() && system(asks.c_str()) == 0)
			return file;
	}
	return "";
}

// The benchmark itself pins the PEs. Open MPI 4.1 crashes in shmem_init with 8 or more PEs if their addresses are
// randomized.
words openmpi_launcher(const std::string &compiler)
{
	const std::string folder = compiler.substr(0, compiler.rfind('/') + 1);
	const std::string setarch = in_path("setarch");
	words command;
	if (!setarch.empty() && run_quietly({setarch, "-R", "true"}))
		command = {setarch, "-R"};
	for (const char *name : {"oshrun.openmpi", "mpirun.openmpi", "oshrun", "mpirun"})
		if (access((folder + name).c_str(), X_OK) == 0) {
			command.insert(command.end(),
				       {folder + name, "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"});
			return command;
		}
	return {};
}

workshop::workshop()
{
	char name[] = "/tmp/shmem_compare_XXXXXX";
	if (mkdtemp(name))
		folder = name;
}

workshop::~workshop()
{
	if (!folder.empty())
		run_quietly({"rm", "-rf", folder});
}

bool compile(const std::string &compiler, const words &options, const std::string &program)
{
	words command{compiler};
	command.insert(command.end(), options.begin(), options.end());
	command.insert(command.end(), {"-O2", "-std=gnu11", "-o", program});
	for (const char *source : {"shmem_bench.c", "shmem_rows.c", "shmem_rows_coll.c", "hosts_rows.c"})
		command.push_back(std::string(BENCH_SOURCE_DIR "/") + source);
	return run_loudly(command);
}

column column_of(const std::string &title, const std::string &program, const words &launcher)
{
	column c;
	c.title = title;
	c.program = program;
	c.provider = title;
	c.launcher = stamped(launcher, program + ".log");
	return c;
}

void explain(const std::vector<row> &rows, const std::vector<column> &columns, const words &optional)
{
	for (const column &c : columns)
		for (const row &r : rows)
			if (c.best(r) == 0 && c.failure(r) != kNoWire &&
			    std::ranges::find(optional, r.group) == optional.end()) {
				fprintf(stderr, "%s: %s has no result for %s; it said:\n",
					program_invocation_short_name, c.title.c_str(), r.name.c_str());
				run_loudly({"sh", "-c", "tail -n 20 \"$0\" >&2", c.program + ".log"});
				break;
			}
}

words clear_launcher_variables()
{
	words names;
	for (char **variable = environ; *variable; variable++) {
		const std::string text = *variable;
		for (const char *prefix : {"OMPI_MCA_", "PRTE_", "PMIX_MCA_"})
			if (text.starts_with(prefix))
				names.push_back(text.substr(0, text.find('=')));
	}
	for (const std::string &name : names)
		unsetenv(name.c_str());
	return names;
}

void use_build_tree(const std::string &top)
{
	setenv("OSHCC_INCLUDEDIR", BENCH_INCLUDE_DIR, 0);
	setenv("OSHCC_LIBDIR", (top + "/.libs").c_str(), 0);
	const char *old = getenv("LD_LIBRARY_PATH");
	setenv("LD_LIBRARY_PATH", (top + "/.libs" + (old ? std::string(":") + old : "")).c_str(), 1);
	setenv("IPATH_NO_BACKTRACE", "1", 0);
	setenv("OMPI_MCA_btl_base_warn_component_unused", "0", 0);
}

} // namespace bench
