// SPDX-License-Identifier: BSD-3-Clause
// pin_engine.cpp: runs the Pin tool and reads its text output.
#include "pin_engine.hpp"

#include "error.hpp"
#include "locate.hpp"
#include "subprocess.hpp"
#include "text.hpp"

namespace ic {

std::vector<call_record> pin_parse(const std::string &text, const std::string &source)
{
	std::vector<call_record> records;
	size_t line_number = 0;
	for (const std::string &line : split(text, '\n')) {
		line_number++;
		std::vector<std::string> f = split(line, '\t');
		if (line.empty() || line[0] == '#')
			continue;
		if (f[0] == "call" && f.size() == 3) {
			records.emplace_back();
			if (parse_u64(f[1], records.back().total) && parse_u64(f[2], records.back().syscalls))
				continue;
		} else if (f[0] == "at" && f.size() == 5 && !records.empty()) {
			cost_line cost;
			cost.where.path = f[1];
			cost.where.image = base_name(f[1]);
			cost.where.routine = demangle(f[4]);
			if (parse_u64(f[2], cost.where.file_addr) && parse_u64(f[3], cost.count)) {
				records.back().lines.push_back(cost);
				continue;
			}
		}
		fail(exit_code::internal, "%s:%zu: not a line of path_count", source.c_str(), line_number);
	}
	return records;
}

measurement pin_count(const count_request &request)
{
	std::string root = pin_root();
	if (root.empty())
		fail(exit_code::no_engine,
		     "engine pin: no Pin kit is known (configure --with-pin=DIR, or set PIN_ROOT)");
	std::string pin = find_program(root + "/pin"), tool = pin_tool("path_count.so");
	if (pin.empty())
		fail(exit_code::no_engine, "engine pin: %s has no program 'pin'", root.c_str());
	if (tool.empty())
		fail(exit_code::no_engine,
		     "engine pin: path_count.so is not built (make -C instr-count/pin PIN_ROOT=%s)", root.c_str());
	scratch_dir dir;
	std::string output = dir.path() + "/pin.out";
	std::vector<std::string> argv = {pin,
					 "-t",
					 tool,
					 "-entry",
					 request.entry.text(),
					 "-boundary",
					 request.end.text(),
					 "-calls",
					 format("%u", request.calls + request.warmup),
					 "-o",
					 output,
					 "--"};
	argv.insert(argv.end(), request.argv.begin(), request.argv.end());
	run_options options;
	options.env = request.environment();
	options.aside = request.output_aside;
	options.timeout_s = request.timeout_s;
	run_result result = run_program(argv, options);
	require_good_end(request.argv[0], "Pin", result);
	std::string text;
	bool wrote = read_file(output, text);
	if (!wrote || text.find("# no-symbol") != std::string::npos)
		fail(exit_code::no_symbol, "no image of %s has %s %s", request.argv[0].c_str(),
		     request.entry.is_mark ? "the mark" : "a function", request.entry.name.c_str());
	std::vector<call_record> records = pin_parse(text, output);
	if (records.empty())
		fail(exit_code::never_called, "%s has %s but never called it", request.argv[0].c_str(),
		     request.entry.text().c_str());
	measurement out = summarize(request, "pin", std::move(records));
	out.note_processes(request, text.find("# forked") != std::string::npos);
	return out;
}

} // namespace ic
