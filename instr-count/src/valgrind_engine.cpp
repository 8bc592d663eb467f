// SPDX-License-Identifier: BSD-3-Clause
// valgrind_engine.cpp: runs the tool and reads its text output, which has the form of the Pin tool's. The tool gets
// addresses in files, so that names and aliases do not matter, and it does not follow calls, so that it loses none.
#include "valgrind_engine.hpp"

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "arch.hpp"
#include "callgrind_engine.hpp"
#include "error.hpp"
#include "locate.hpp"
#include "pin_engine.hpp"
#include "step_engine.hpp"
#include "subprocess.hpp"
#include "text.hpp"

namespace ic {

namespace {

std::string tool_name()
{
	return strcmp(arch::kName, "x86_64") == 0 ? "path-amd64-linux" : "path-arm64-linux";
}

std::string valgrind_program()
{
	const char *given = getenv("INSTR_COUNT_VALGRIND");
	return find_program(given != nullptr && *given != '\0' ? given : "valgrind");
}

// The folder of Valgrind's files that every tool needs.
std::string valgrind_library()
{
	const char *given = getenv("VALGRIND_LIB");
	for (const std::string &dir : {std::string(given != nullptr ? given : ""), std::string("/usr/libexec/valgrind"),
				       std::string("/usr/lib/valgrind"), std::string("/usr/local/libexec/valgrind")})
		if (!dir.empty() && file_exists(dir + "/default.supp"))
			return dir;
	return "";
}

// Valgrind searches only one folder for tools: make one with its tools and ours.
void fill_library(const std::string &dir)
{
	std::error_code ignored;
	for (const auto &entry : std::filesystem::directory_iterator(valgrind_library(), ignored))
		std::filesystem::create_symlink(entry.path(), dir + "/" + entry.path().filename().string(), ignored);
	std::filesystem::create_symlink(valgrind_tool(tool_name()), dir + "/" + tool_name(), ignored);
}

std::vector<std::string> command(const count_request &request, const entry_facts &facts, const std::string &output)
{
	// Exclusive accesses are emulated: a helper between load and store would lose the reservation. Programs may be
	// started by scripts, which exec them.
	std::vector<std::string> argv = {valgrind_program(),     "-q",
					 "--tool=path",          "--sim-hints=fallback-llsc",
					 "--trace-children=yes", format("--calls=%u", request.calls + request.warmup),
					 "--out=" + output};
	for (uint64_t addr : facts.begins)
		argv.push_back(format("--entry=%s:0x%llx", facts.path.c_str(), static_cast<unsigned long long>(addr)));
	for (uint64_t addr : facts.ends)
		argv.push_back(format("--end=%s:0x%llx", facts.path.c_str(), static_cast<unsigned long long>(addr)));
	argv.insert(argv.end(), request.argv.begin(), request.argv.end());
	return argv;
}

} // namespace

bool valgrind_ready(std::string &why)
{
	if (valgrind_program().empty())
		why = "engine valgrind: no program 'valgrind' (install it, or use --engine step)";
	else if (valgrind_library().empty())
		why = "engine valgrind: valgrind's own files are not found (set VALGRIND_LIB)";
	else if (valgrind_tool(tool_name()).empty())
		why = "engine valgrind: its tool was not built (configure found no valgrind to build it with)";
	return why.empty();
}

measurement valgrind_count(const count_request &request)
{
	std::string why;
	if (!valgrind_ready(why))
		fail(exit_code::no_engine, "%s", why.c_str());
	if (!request.entry.is_mark && request.end.kind != boundary::at_return)
		fail(exit_code::usage, "engine valgrind sees whole calls only, not the boundary '%s'",
		     request.end.text().c_str());
	entry_facts facts = step_probe(request);
	if (!facts.found)
		fail(exit_code::no_symbol, "no image of %s has %s %s", request.argv[0].c_str(),
		     request.entry.is_mark ? "the mark" : "a function", request.entry.name.c_str());
	scratch_dir dir, library;
	fill_library(library.path());
	std::string output = dir.path() + "/calls", text;
	run_options options;
	options.env = request.environment();
	options.env.push_back("VALGRIND_LIB=" + library.path());
	options.aside = request.output_aside;
	options.timeout_s = request.timeout_s;
	run_result result = run_program(command(request, facts, output), options);
	require_good_end(request.argv[0], "valgrind", result);
	output += format(".%d", result.pid);
	if (!read_file(output, text))
		fail(exit_code::internal, "the valgrind tool wrote nothing");
	std::vector<call_record> records = pin_parse(text, output);
	for (call_record &record : records)
		record = valgrind_record(record);
	if (records.empty())
		fail(exit_code::never_called, "%s has %s but never called it", request.argv[0].c_str(),
		     request.entry.text().c_str());
	measurement out = summarize(request, "valgrind", std::move(records));
	out.note_processes(request, text.find("# forked") != std::string::npos);
	return out;
}

} // namespace ic
