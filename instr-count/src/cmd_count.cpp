// SPDX-License-Identifier: BSD-3-Clause
// cmd_count.cpp: the count command: any function of any program, also on one PE of a job.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include "arch.hpp"
#include "commands.hpp"
#include "count_options.hpp"
#include "report.hpp"
#include "runner.hpp"
#include "text.hpp"

namespace ic {

count_request request_from(const options &opts, const char *command)
{
	if (!opts.has("--entry"))
		fail(exit_code::usage, "%s needs --entry FUNCTION", command);
	if (opts.program().empty() || !opts.words().empty())
		fail(exit_code::usage, "%s needs the program after '--'", command);
	count_request request;
	request.argv = opts.program();
	request.entry = entry_point::parse(opts.value("--entry"));
	request.end = boundary::parse(opts.value("--boundary", "return"));
	request.calls = opts.number("--calls", request.calls);
	request.warmup = opts.number("--warmup", request.warmup);
	request.max_instructions = opts.number("--max-instructions", static_cast<unsigned>(request.max_instructions));
	request.native_libc = opts.has("--native-libc");
	request.timeout_s = opts.number("--timeout", request.timeout_s);
	if (request.calls == 0)
		fail(exit_code::usage, "option --calls must be at least 1");
	if (request.entry.is_mark && request.end.kind != boundary::at_return)
		fail(exit_code::usage, "a marked path ends at its end mark: --boundary does not apply");
	return request;
}

void become_program_unless_chosen(const options &opts, const count_request &request)
{
	if (!opts.has("--pe"))
		return;
	int rank = rank_from_environment();
	if (rank < 0)
		fail(exit_code::usage, "--pe is given, but no launcher set a rank (OSHRUN_RANK, PMIX_RANK, PMI_RANK, "
				       "OMPI_COMM_WORLD_RANK, SLURM_PROCID)");
	if (static_cast<unsigned>(rank) == opts.number("--pe", 0))
		return;
	// Drivers run the same number of calls on every PE.
	setenv("INSTR_COUNT_CALLS", format("%u", request.calls + request.warmup).c_str(), 1);
	if (request.output_aside)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	std::vector<char *> argv;
	for (const std::string &arg : request.argv)
		argv.push_back(const_cast<char *>(arg.c_str()));
	argv.push_back(nullptr);
	execvp(argv[0], argv.data());
	fail(exit_code::program_failed, "cannot run %s: %s", argv[0], strerror(errno));
}

static void print_count(const path_result &r)
{
	printf("%s to %s, engine %s, %llu calls\n", r.entry.c_str(), r.boundary.c_str(), r.engine.c_str(),
	       static_cast<unsigned long long>(r.calls));
	printf("  instructions: min %llu, median %llu, max %llu; system calls: %llu\n",
	       static_cast<unsigned long long>(r.min), static_cast<unsigned long long>(r.median),
	       static_cast<unsigned long long>(r.max), static_cast<unsigned long long>(r.syscalls));
	if (r.rep_iterations != 0)
		printf("  %llu of them are repetitions of string instructions\n",
		       static_cast<unsigned long long>(r.rep_iterations));
	if (r.exclusive_blocks != 0)
		printf("  %llu exclusive load/store sequences, each counted as one pass\n",
		       static_cast<unsigned long long>(r.exclusive_blocks));
	for (const std::string &note : r.notes)
		printf("  note: %s\n", note.c_str());
	for (const routine_cost &cost : r.routines)
		printf("  %8llu  %s!%s\n", static_cast<unsigned long long>(cost.count), cost.image.c_str(),
		       cost.routine.c_str());
}

exit_code cmd_count(const words &args)
{
	options opts("count", args,
		     {{"--entry", true},
		      {"--boundary", true},
		      {"--pe", true},
		      {"--engine", true},
		      {"--calls", true},
		      {"--warmup", true},
		      {"--max-instructions", true},
		      {"--timeout", true},
		      {"--json", true},
		      {"--quiet", false},
		      {"--native-libc", false}});
	count_request request = request_from(opts, "count");
	std::string engine = opts.value("--engine", "step"), file = opts.value("--json");
	require_engine_name(engine);
	request.output_aside = file == "-";
	become_program_unless_chosen(opts, request);

	result_set set;
	set.arch = arch::kName;
	set.engine = engine;
	path_result result;
	result.path = result.entry = request.entry.text();
	result.boundary = request.end.text();
	result.engine = engine;
	exit_code code = exit_code::ok;
	std::string trouble;
	try {
		path_table table;
		try {
			table = path_table::load();
		} catch (const failure &) {
			// Without the tables there are no layers, but still a count.
		}
		result.fill(measure_with(engine, request), table);
	} catch (const failure &e) {
		code = e.code();
		trouble = e.what();
		result.status = status_of(code);
		result.message = e.what();
	}
	set.results.push_back(result);
	if (!file.empty())
		write_file(file, set.to_json());
	if (code != exit_code::ok)
		fail(code, "%s", trouble.c_str());
	if (file != "-" && !opts.has("--quiet"))
		print_count(result);
	return exit_code::ok;
}

} // namespace ic
