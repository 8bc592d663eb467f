// SPDX-License-Identifier: BSD-3-Clause
// cmd_report.cpp: report and diff: the commands that work on results.
#include <cstdio>
#include <tuple>

#include "commands.hpp"
#include "locate.hpp"
#include "options.hpp"
#include "report.hpp"
#include "runner.hpp"
#include "text.hpp"

namespace ic {

// A program whose CPI stands for all paths: one of ours if possible, else a hand-made one.
static std::vector<std::string> cpi_probe(const path_table &table, const result_set &set)
{
	for (const char *who : {"ours", "hand"})
		for (const path_result &result : set.results) {
			const path_entry *path = table.find(result.path);
			if (result.status != path_status::ok || path == nullptr || path->who != who ||
			    path->launcher != "-")
				continue;
			count_request request = request_for(table, *path, {});
			if (!request.argv[0].empty())
				return request.argv;
		}
	return {};
}

exit_code cmd_report(const words &args)
{
	options opts("report", args,
		     {{"--engine", true},
		      {"--calls", true},
		      {"--warmup", true},
		      {"--native-libc", false},
		      {"--timeout", true},
		      {"--time", false},
		      {"--from", true},
		      {"--json", false},
		      {"--csv", false},
		      {"--html", false},
		      {"--svg", false},
		      {"--latency-svg", false},
		      {"--short", false},
		      {"-o", true},
		      {"--cpi", true},
		      {"--ghz", true}});
	unsigned forms = 0;
	for (const char *form : {"--json", "--csv", "--html", "--svg", "--latency-svg", "--short"})
		forms += opts.has(form);
	if (forms > 1)
		fail(exit_code::usage, "choose one of --json, --csv, --html, --svg, --latency-svg, --short");
	double cpi = opts.has("--cpi") ? opts.real("--cpi", 1) : 0, ghz = opts.has("--ghz") ? opts.real("--ghz", 1) : 0;

	path_table table = path_table::load();
	result_set set;
	if (opts.has("--from")) {
		std::vector<std::string> files = opts.values("--from");
		set = result_set::load(files[0]);
		for (size_t i = 1; i < files.size(); i++)
			set.add(result_set::load(files[i]), files[i]);
		set.keep(opts.words(), join(files, ", "));
	} else {
		run_settings settings;
		settings.engine = opts.value("--engine", settings.engine);
		settings.calls = opts.number("--calls", settings.calls);
		settings.warmup = opts.number("--warmup", settings.warmup);
		settings.native_libc = opts.has("--native-libc");
		settings.time = opts.has("--time");
		settings.timeout_s = opts.number("--timeout", settings.timeout_s);
		set = run_paths(table, table.select(opts.words()), settings);
	}
	if (opts.has("--short")) {
		write_file(opts.value("-o", "-"), short_report(table, set));
		return exit_code::ok;
	}
	// Stored results belong to the machine that counted, not to this one.
	bool kept = opts.has("--from");
	latency_model model =
		make_latency_model(cpi, ghz, cpi > 0 || kept ? std::vector<std::string>{} : cpi_probe(table, set));
	if (kept && ghz == 0 && set.mhz != 0) {
		model.ghz = static_cast<double>(set.mhz) / 1000;
		model.ghz_source = "as the machine that counted reports";
	}
	std::string text;
	if (opts.has("--json"))
		text = set.to_json();
	else if (opts.has("--csv"))
		text = csv_report(table, set);
	else if (opts.has("--html"))
		text = html_report(table, set, model);
	else if (opts.has("--svg"))
		text = svg_figures(table, set);
	else if (opts.has("--latency-svg"))
		text = svg_latency(build_figures(table, set), set, model);
	else
		text = text_report(table, set, model);
	write_file(opts.value("-o", "-"), text);
	return exit_code::ok;
}

exit_code cmd_diff(const words &args)
{
	options opts("diff", args, {});
	if (opts.words().size() != 2)
		fail(exit_code::usage, "diff needs two result files");
	result_set before = result_set::load(opts.words()[0]), after = result_set::load(opts.words()[1]);
	if (before.arch != after.arch)
		fail(exit_code::usage, "%s was counted on %s, %s on %s: counts of two machines do not compare",
		     opts.words()[0].c_str(), before.arch.c_str(), opts.words()[1].c_str(), after.arch.c_str());
	for (auto [what, then, now] : {std::tuple{"engine", &before.engine, &after.engine},
				       std::tuple{"compiler", &before.compiler, &after.compiler}})
		if (*then != *now)
			printf("note: %s %s against %s\n", what, then->c_str(), now->c_str());
	bool grew = false;
	unsigned same = 0;
	for (const path_result &now : after.results) {
		const path_result *then = before.find(now.path);
		bool had = then != nullptr && then->status == path_status::ok, has = now.status == path_status::ok;
		unsigned long long a = had ? then->median : 0, b = now.median;
		if (had && has && a == b) {
			same++;
		} else if (had && has) {
			printf("%-26s %7llu -> %7llu  %+lld\n", now.path.c_str(), a, b,
			       static_cast<long long>(b) - static_cast<long long>(a));
			grew = grew || b > a;
		} else if (has) {
			printf("%-26s %7s -> %7llu  new\n", now.path.c_str(), "-", b);
		} else if (had) {
			printf("%-26s %7llu -> %7s  %s\n", now.path.c_str(), a, "-", status_text(now.status));
		}
	}
	for (const path_result &then : before.results)
		if (then.status == path_status::ok && after.find(then.path) == nullptr)
			printf("%-26s %7llu -> %7s  gone\n", then.path.c_str(),
			       static_cast<unsigned long long>(then.median), "-");
	printf("%u paths unchanged\n", same);
	return grew ? exit_code::over_budget : exit_code::ok;
}

} // namespace ic
