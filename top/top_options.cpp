// SPDX-License-Identifier: BSD-3-Clause
// top_options.cpp: see top_options.hpp.
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "top_options.hpp"
#include "launch_words.hpp"
#include "top_say.hpp"
#include "top_table.hpp"

#include <climits>
#include <cmath>
#include <cstdlib>
#include <cstring>

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "unknown"
#endif

namespace oshtop {
namespace {

constexpr const char *kHelp =
	"Usage: oshtop [options] [JOB]\n"
	"Show the PEs of a running OpenSHMEM or GASNet job on this machine: CPU, heap, rates, and\n"
	"who waits for whom. The job does nothing for it.\n"
	"\n"
	"  JOB                  pid of its oshrun, or of one of its PEs; default: your only job here\n"
	"  -i, --interval S     seconds between two tables (default 1)\n"
	"  -1, --once           print one table, of the next interval\n"
	"      --json           the same as one JSON document\n"
	"  -s, --sort COLUMN    pe, cpu, time, heap, sync, coll, call, msg, bytes or wait; default pe\n"
	"  -r, --reverse        the other way round\n"
	"  -n, --top N          only the first N rows\n"
	"  -p, --pe LIST        only these PEs: 0-3,8\n"
	"  -h, --help           this text\n"
	"  -V, --version        version\n"
	"\n"
	"Keys: q quits, s sorts by the next column, r reverses, arrows and page keys scroll.\n"
	"Rates of calls and bytes, and the calls, are there if the job was started with\n"
	"oshrun --stats or --hang-after. Exit status: 0 the job has ended, or the table is printed;\n"
	"1 there is no such job, or it cannot be looked into; 2 wrong usage.\n";

using launch::cursor, launch::parse_number, launch::take;

bool take_number(cursor &input, double low, double high, bool is_whole, double &out)
{
	const char *text = take(input);
	if (!text)
		return false;
	if (parse_number(text, low, high, out) && (!is_whole || out == std::floor(out)))
		return true;
	say("%s %s: expected a %snumber from %g to %.15g", input.typed.c_str(), text, is_whole ? "whole " : "", low,
	    high);
	return false;
}

// "0-3,8"
bool parse_list(const char *text, std::set<int> &out)
{
	constexpr long most = 1 << 20;
	for (const char *pos = text;; pos++) {
		char *end;
		const long first = *pos >= '0' && *pos <= '9' ? strtol(pos, &end, 10) : -1;
		if (first < 0 || first >= most)
			return false;
		long last = first;
		if (*end == '-' && end[1] >= '0' && end[1] <= '9')
			last = strtol(end + 1, &end, 10);
		if (last < first || last >= most)
			return false;
		for (long pe = first; pe <= last; pe++)
			out.insert(static_cast<int>(pe));
		pos = end;
		if (!*pos)
			return true;
		if (*pos != ',')
			return false;
	}
}

bool take_list(cursor &input, options &opts)
{
	const char *text = take(input);
	if (!text || parse_list(text, opts.pes))
		return text != nullptr;
	say("%s %s: expected numbers of PEs, as in 0-3,8", input.typed.c_str(), text);
	return false;
}

bool take_sort(cursor &input, options &opts)
{
	const char *text = take(input);
	if (!text)
		return false;
	opts.sort = column_number(text);
	if (opts.sort >= 0)
		return true;
	say("%s %s: expected one of %s", input.typed.c_str(), text, column_words().c_str());
	return false;
}

bool take_job(const char *text, options &opts)
{
	double number;
	if (opts.job != 0) {
		say("%s: one job at a time; see oshtop --help", text);
		return false;
	}
	if (!parse_number(text, 1, INT_MAX, number) || number != std::floor(number)) {
		say("%s is not the number of a process; oshtop without a number finds your jobs", text);
		return false;
	}
	opts.job = static_cast<pid_t>(number);
	return true;
}

// False after an error line.
bool parse_one(cursor &input, options &opts)
{
	constexpr double shortest_s = 0.05, longest_s = 86400;
	const std::string &name = input.typed;
	double number = 0;
	const auto is = [&](const char *brief, const char *full) { return name == brief || name == full; };
	bool good = true;
	if (is("-i", "--interval")) {
		good = take_number(input, shortest_s, longest_s, false, opts.interval_s);
	} else if (is("-1", "--once")) {
		opts.output = opts.output == form::json ? form::json : form::once;
	} else if (name == "--json") {
		opts.output = form::json;
	} else if (is("-s", "--sort")) {
		good = take_sort(input, opts);
	} else if (is("-r", "--reverse")) {
		opts.reverse = true;
	} else if (is("-n", "--top")) {
		good = take_number(input, 1, INT_MAX, true, number);
		opts.most = static_cast<size_t>(number);
	} else if (is("-p", "--pe")) {
		good = take_list(input, opts);
	} else {
		say("there is no option %s; see oshtop --help", name.c_str());
		return false;
	}
	if (good && input.value) {
		say("option %s takes no value", name.c_str());
		good = false;
	}
	return good;
}

} // namespace

int parse_options(int argc, char **argv, options &opts)
{
	cursor input{argc, argv, "oshtop", say};
	bool options_over = false;
	for (; input.index < argc; input.index++) {
		const char *text = argv[input.index];
		if (!options_over && strcmp(text, "--") == 0) {
			options_over = true;
			continue;
		}
		if (options_over || text[0] != '-') {
			if (!take_job(text, opts))
				return kExitUsage;
			continue;
		}
		const char *equals = strncmp(text, "--", 2) == 0 ? strchr(text, '=') : nullptr;
		input.typed = equals ? std::string(text, equals) : text;
		input.value = equals ? equals + 1 : nullptr;
		if (input.typed == "-h" || input.typed == "--help") {
			fputs(kHelp, stdout);
			return kExitDone;
		}
		if (input.typed == "-V" || input.typed == "--version") {
			puts("oshtop " PACKAGE_VERSION);
			return kExitDone;
		}
		if (!parse_one(input, opts))
			return kExitUsage;
	}
	return -1;
}

} // namespace oshtop
