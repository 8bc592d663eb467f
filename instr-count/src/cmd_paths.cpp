// SPDX-License-Identifier: BSD-3-Clause
// cmd_paths.cpp: list, run and check: the commands that work on paths.def.
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <set>

#include "arch.hpp"
#include "commands.hpp"
#include "locate.hpp"
#include "options.hpp"
#include "report.hpp"
#include "runner.hpp"
#include "text.hpp"
#include "valgrind_engine.hpp"

namespace ic {

static const std::vector<option_spec> kRunOptions = {
	{"--engine", true},       {"--calls", true},  {"--warmup", true},  {"--json", true},
	{"--native-libc", false}, {"--agree", false}, {"--timeout", true}, {"--time", false},
};

static run_settings settings_from(const options &opts)
{
	run_settings settings;
	settings.engine = opts.value("--engine", settings.engine);
	settings.calls = opts.number("--calls", settings.calls);
	settings.warmup = opts.number("--warmup", settings.warmup);
	settings.native_libc = opts.has("--native-libc");
	settings.time = opts.has("--time");
	settings.timeout_s = opts.number("--timeout", settings.timeout_s);
	require_engine_name(settings.engine);
	if (settings.calls == 0)
		fail(exit_code::usage, "option --calls must be at least 1");
	return settings;
}

exit_code cmd_list(const words &args)
{
	options opts("list", args, {});
	path_table table = path_table::load();
	printf("%-26s %-10s %6s  %-28s %-20s %s\n", "path", "driver", "budget", "entry", "boundary", "what");
	for (const path_entry *path : table.select(opts.words())) {
		bool built = !driver_file(split_words(path->driver)[0]).empty();
		std::string budget =
			path->budget() == 0 ? "-" : format("%llu", static_cast<unsigned long long>(path->budget()));
		printf("%-26s %-10s %6s  %-28s %-20s %s\n", path->name.c_str(), built ? "built" : "not built",
		       budget.c_str(), path->entry.c_str(), path->boundary.c_str(), path->description.c_str());
	}
	return exit_code::ok;
}

exit_code cmd_run(const words &args)
{
	options opts("run", args, kRunOptions);
	run_settings settings = settings_from(opts);
	path_table table = path_table::load();
	result_set set = run_paths(table, table.select(opts.words()), settings);
	std::string file = opts.value("--json");
	if (file != "-")
		fputs(text_results(set).c_str(), stdout);
	if (!file.empty())
		write_file(file, set.to_json());
	for (const path_result &result : set.results)
		if (result.status == path_status::failed)
			return exit_code::program_failed;
	// It is also an error if a path requested by name gave no number.
	for (const path_result &result : set.results)
		if (!opts.words().empty() && set.results.size() == 1 && result.status != path_status::ok) {
			fprintf(stderr, "instr-count: %s: %s\n", result.path.c_str(), result.message.c_str());
			return exit_code::program_failed;
		}
	return exit_code::ok;
}

namespace {

enum class verdict { pass, fail, skip };

// A hand-counted function tests the engine: it must match, not just fit.
verdict judge(const path_result &r, std::string &why)
{
	unsigned long long median = r.median, budget = r.budget;
	if (r.status == path_status::not_built || r.status == path_status::unsupported) {
		why = r.message;
		return verdict::skip;
	}
	if (r.status != path_status::ok) {
		why = r.message;
		return verdict::fail;
	}
	bool by_hand = r.who.starts_with("hand");
	if (r.budget == 0 && !by_hand) {
		why = format("%llu, no budget set", median);
		return verdict::skip;
	}
	if (by_hand) {
		why = format("%llu, counted by hand %llu", median, budget);
		return r.median == r.budget && r.min == r.max ? verdict::pass : verdict::fail;
	}
	why = format("%llu of %llu", median, budget);
	if (r.landing_pads != 0)
		why += format(" and %llu landing pads", static_cast<unsigned long long>(r.landing_pads));
	return r.over_budget() ? verdict::fail : verdict::pass;
}

// A routine that only one of the two runs executed; empty if both executed the same ones.
std::string other_way(const path_result &a, const path_result &b)
{
	std::set<std::string> in_a, in_b, differ;
	for (const routine_cost &cost : a.routines)
		in_a.insert(cost.image + "!" + cost.routine);
	for (const routine_cost &cost : b.routines)
		in_b.insert(cost.image + "!" + cost.routine);
	std::set_symmetric_difference(in_a.begin(), in_a.end(), in_b.begin(), in_b.end(),
				      std::inserter(differ, differ.end()));
	return differ.empty() ? "" : *differ.begin();
}

// Both engines count the same calls, so the medians must be equal. If a program takes a different way under the other
// engine (which leaves it less address space, say), it did not make the same call: the routine is named, and the path
// is not judged.
void demand_agreement(const path_table &table, const path_entry &path, const path_result &r, run_settings settings,
		      verdict &v, std::string &why)
{
	std::string why_not;
	settings.engine = settings.engine != "step" ? "step" : valgrind_ready(why_not) ? "valgrind" : "callgrind";
	if (path.boundary != "return" || path.who == "hand-step")
		return;
	path_result other = run_path(table, path, settings);
	if (other.status == path_status::unsupported) {
		why += "; " + other.message;
	} else if (other.status != path_status::ok) {
		why += ", " + settings.engine + ": " + other.message;
		v = verdict::fail;
	} else if (std::string routine = other_way(r, other); !routine.empty()) {
		why += ", another way under " + settings.engine + ": " + routine;
	} else if (other.median != r.median || other.syscalls != r.syscalls) {
		why += format(", but %s counts %llu with %llu system calls", settings.engine.c_str(),
			      static_cast<unsigned long long>(other.median),
			      static_cast<unsigned long long>(other.syscalls));
		v = verdict::fail;
	} else {
		why += ", " + settings.engine + " agrees";
		if (v == verdict::skip)
			v = verdict::pass;
	}
}

// While the kernel does not run the target, the link to it has work to do, and calls take the way that does this work.
// So a path that exceeds its budget is counted again; only one that always does so is too long.
path_result run_within_budget(const path_table &table, const path_entry &path, const run_settings &settings,
			      std::string &note)
{
	path_result r = run_path(table, path, settings);
	for (int again = 0; again < 2 && r.status == path_status::ok && r.over_budget(); again++) {
		note += format(", was %llu", static_cast<unsigned long long>(r.median));
		r = run_path(table, path, settings);
	}
	return r;
}

} // namespace

exit_code cmd_check(const words &args)
{
	options opts("check", args, kRunOptions);
	run_settings settings = settings_from(opts);
	path_table table = path_table::load();
	unsigned passed = 0, failed = 0, skipped = 0;
	for (const path_entry *path : table.select(opts.words())) {
		std::string why, note;
		path_result r = run_within_budget(table, *path, settings, note);
		verdict v = judge(r, why);
		why += note;
		if (opts.has("--agree") && r.status == path_status::ok)
			demand_agreement(table, *path, r, settings, v, why);
		printf("%s %-26s %s\n",
		       v == verdict::pass   ? "PASS"
		       : v == verdict::fail ? "FAIL"
					    : "SKIP",
		       path->name.c_str(), why.c_str());
		fflush(stdout);
		(v == verdict::pass ? passed : v == verdict::fail ? failed : skipped)++;
	}
	printf("%u passed, %u failed, %u skipped (%s, engine %s)\n", passed, failed, skipped, arch::kName,
	       settings.engine.c_str());
	return failed == 0 ? exit_code::ok : exit_code::over_budget;
}

} // namespace ic
