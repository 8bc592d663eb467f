// SPDX-License-Identifier: BSD-3-Clause
// cmd_explain.cpp: the explain command: the instructions that one call ran, in order, with names and lines.
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "commands.hpp"
#include "count_options.hpp"
#include "locate.hpp"
#include "runner.hpp"
#include "source_lines.hpp"
#include "step_engine.hpp"
#include "subprocess.hpp"
#include "text.hpp"

namespace ic {

namespace {

using code_map = std::map<std::pair<std::string, uint64_t>, std::string>;

// Executed addresses closer than this are disassembled together.
constexpr uint64_t kGap = 256;

void disassemble_range(const std::string &path, uint64_t begin, uint64_t end, code_map &out)
{
	run_options run;
	run.capture = run.hush = true;
	run_result result = run_program({"objdump", "-d", "-C", "--no-show-raw-insn",
					 format("--start-address=0x%llx", static_cast<unsigned long long>(begin)),
					 format("--stop-address=0x%llx", static_cast<unsigned long long>(end)), path},
					run);
	for (const std::string &line : split(result.output, '\n')) {
		size_t colon = line.find(':');
		uint64_t addr;
		if (colon == std::string::npos || !parse_u64("0x" + line.substr(0, colon), addr))
			continue;
		std::string text(trim(line.substr(colon + 1)));
		std::replace(text.begin(), text.end(), '\t', ' ');
		out[{path, addr}] = text;
	}
}

code_map disassemble(const std::vector<place> &trace)
{
	code_map out;
	if (find_program("objdump").empty())
		return out;
	std::map<std::string, std::set<uint64_t>> wanted;
	for (const place &where : trace)
		if (!where.path.empty() && where.path[0] == '/')
			wanted[where.path].insert(where.file_addr);
	for (const auto &[path, addresses] : wanted) {
		uint64_t begin = *addresses.begin(), last = begin;
		for (uint64_t addr : addresses) {
			if (addr > last + kGap) {
				disassemble_range(path, begin, last + 16, out);
				begin = addr;
			}
			last = addr;
		}
		disassemble_range(path, begin, last + 16, out);
	}
	return out;
}

std::string raw_bytes(const place &where)
{
	auto elf = where.path.starts_with('/') ? elf_file::open(where.path) : nullptr;
	std::string out = "bytes";
	if (elf != nullptr)
		for (char c : elf->bytes_at(where.file_addr, 8))
			out += format(" %02x", static_cast<unsigned char>(c));
	return out;
}

// "put.h:31", with the inlined function's name when it is not the routine's own.
std::string source_text(const place &where, const source_map &sources)
{
	auto found = sources.find({where.path, where.file_addr});
	if (found == sources.end() || found->second.file.empty())
		return "";
	const source_line &line = found->second;
	std::string out = format("%s:%u", base_name(line.file).c_str(), line.line);
	// Another alias of the same function does not count as inlined.
	auto elf = elf_file::open(where.path);
	std::vector<std::string> own;
	if (elf != nullptr)
		own = elf->names_at(where.file_addr - where.offset);
	if (line.function != "??" && line.function != where.routine &&
	    std::find(own.begin(), own.end(), line.function) == own.end())
		out += " (" + line.function + ")";
	return out;
}

std::string listing(const measurement &m, unsigned limit)
{
	code_map code = disassemble(m.trace);
	source_map sources = find_sources(m.trace);
	std::string out = format("%s to %s: %llu instructions, %llu system calls (median of %zu calls)\n",
				 m.entry.c_str(), m.boundary.c_str(), static_cast<unsigned long long>(m.median()),
				 static_cast<unsigned long long>(m.syscalls), m.calls.size());
	std::string heading;
	for (size_t i = 0; i < m.trace.size() && i < limit; i++) {
		const place &where = m.trace[i];
		std::string now = where.image + "!" + where.routine;
		if (now != heading)
			out += "\n" + now + "\n";
		heading = now;
		auto found = code.find({where.path, where.file_addr});
		std::string text = found != code.end() ? found->second : raw_bytes(where);
		std::string source = source_text(where, sources);
		out += format("%6zu  +0x%-4llx %-*s%s\n", i + 1, static_cast<unsigned long long>(where.offset),
			      source.empty() ? 0 : 46, text.c_str(), source.c_str());
	}
	if (m.trace.size() > limit)
		out += format("... %zu more (--limit)\n", m.trace.size() - limit);
	out += "\n";
	for (const routine_cost &cost : m.routines())
		out += format("%8llu  %s!%s\n", static_cast<unsigned long long>(cost.count), cost.image.c_str(),
			      cost.routine.c_str());
	return out;
}

// For a path with a launcher: one PE runs explain and writes the result to a file.
std::string explain_launched(const path_table &table, const path_entry &path, const run_settings &settings,
			     const std::string &limit)
{
	std::vector<std::string> argv = launcher_command(table, path.launcher, path.pes);
	if (argv.empty())
		fail(exit_code::program_failed, "launcher %s is not here", path.launcher.c_str());
	scratch_dir dir;
	std::string file = dir.path() + "/listing";
	count_request request = request_for(table, path, settings);
	std::vector<std::string> rest = {
		own_program(), "explain",    "--pe",        "0",         "--entry",
		path.entry,    "--boundary", path.boundary, "--timeout", format("%u", settings.timeout_s),
		"--limit",     limit,        "-o",          file,        "--"};
	argv.insert(argv.end(), rest.begin(), rest.end());
	argv.insert(argv.end(), request.argv.begin(), request.argv.end());
	run_options run;
	run.env = request.extra_env;
	run.env.push_back(format("INSTR_COUNT_CALLS=%u", request.calls + request.warmup));
	run.capture = true;
	run.timeout_s = launcher_timeout(settings.timeout_s);
	run_program(argv, run);
	std::string text;
	if (!read_file(file, text))
		fail(exit_code::program_failed, "%s gave no listing of %s", argv[0].c_str(), path.name.c_str());
	return text;
}

} // namespace

exit_code cmd_explain(const words &args)
{
	options opts("explain", args,
		     {{"--entry", true},
		      {"--boundary", true},
		      {"--pe", true},
		      {"--limit", true},
		      {"-o", true},
		      {"--calls", true},
		      {"--warmup", true},
		      {"--max-instructions", true},
		      {"--timeout", true},
		      {"--native-libc", false}});
	unsigned limit = opts.number("--limit", 2000);
	count_request request;
	if (opts.has("--entry")) {
		request = request_from(opts, "explain");
		request.output_aside = opts.value("-o", "-") == "-";
		become_program_unless_chosen(opts, request);
	} else {
		if (opts.words().size() != 1)
			fail(exit_code::usage, "explain needs one PATH, or --entry FUNCTION -- PROGRAM");
		path_table table = path_table::load();
		run_settings settings;
		settings.timeout_s = opts.number("--timeout", settings.timeout_s);
		const path_entry *path = table.select(opts.words())[0];
		if (driver_file(split_words(path->driver)[0]).empty())
			fail(exit_code::program_failed, "%s: driver %s is not built", path->name.c_str(),
			     path->driver.c_str());
		if (path->launcher != "-") {
			write_file(opts.value("-o", "-"),
				   explain_launched(table, *path, settings, opts.value("--limit", "2000")));
			return exit_code::ok;
		}
		request = request_for(table, *path, settings);
	}
	request.want_trace = true;
	write_file(opts.value("-o", "-"), listing(step_count(request), limit));
	return exit_code::ok;
}

} // namespace ic
