// SPDX-License-Identifier: BSD-3-Clause
// main.cpp: picks the subcommand; the only place that turns failures into exit statuses.
#include <algorithm>
#include <cstdio>
#include <exception>

#include "commands.hpp"
#include "config.h"

namespace {

struct command {
	const char *name;
	ic::exit_code (*run)(const ic::words &args);
};

constexpr command kCommands[] = {
	{"list", ic::cmd_list}, {"run", ic::cmd_run},     {"check", ic::cmd_check},     {"report", ic::cmd_report},
	{"diff", ic::cmd_diff}, {"count", ic::cmd_count}, {"explain", ic::cmd_explain},
};

// --help counts only before "--": what follows belongs to the program.
bool wants_help(const ic::words &args)
{
	auto end = std::find(args.begin(), args.end(), "--");
	return std::any_of(args.begin(), end, [](const auto &a) { return a == "--help" || a == "-h"; });
}

ic::exit_code dispatch(const ic::words &args)
{
	if (args.empty()) {
		fputs(ic::help_text("").c_str(), stderr);
		return ic::exit_code::usage;
	}
	if (args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
		fputs(ic::help_text(args.size() > 1 ? args[1] : "").c_str(), stdout);
		return ic::exit_code::ok;
	}
	if (args[0] == "--version") {
		puts("instr-count " PACKAGE_VERSION);
		return ic::exit_code::ok;
	}
	for (const command &candidate : kCommands) {
		if (args[0] != candidate.name)
			continue;
		ic::words rest(args.begin() + 1, args.end());
		if (wants_help(rest)) {
			fputs(ic::help_text(args[0]).c_str(), stdout);
			return ic::exit_code::ok;
		}
		return candidate.run(rest);
	}
	ic::fail(ic::exit_code::usage, "no command '%s' (see instr-count --help)", args[0].c_str());
}

} // namespace

int main(int argc, char **argv)
{
	try {
		return static_cast<int>(dispatch(ic::words(argv + 1, argv + argc)));
	} catch (const ic::failure &e) {
		fprintf(stderr, "instr-count: %s\n", e.what());
		return static_cast<int>(e.code());
	} catch (const std::exception &e) {
		fprintf(stderr, "instr-count: %s\n", e.what());
		return static_cast<int>(ic::exit_code::internal);
	}
}
