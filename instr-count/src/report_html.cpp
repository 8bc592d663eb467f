// SPDX-License-Identifier: BSD-3-Clause
// report_html.cpp: one self-contained page: the pictures, then every number they show.
#include <pgas/pgas_svg.hpp>

#include "report.hpp"
#include "text.hpp"

namespace ic {

namespace {

using pgas::svg::escaped;

constexpr const char *kHead =
	"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	"<meta name=\"viewport\" content=\"width=device-width\">\n<title>Instructions on the critical path</title>\n"
	"<style>\nbody{font-family:Helvetica,Arial,sans-serif;color:#1d2433;margin:2em auto;max-width:1000px;padding:0 "
	"1em}\n"
	"svg{max-width:100%;height:auto}\ntable{border-collapse:collapse;font-size:14px;width:100%}\n"
	"td,th{padding:4px 10px;border-bottom:1px solid #e3e6eb;text-align:left;vertical-align:top}\n"
	"td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}\ntr.over td{background:#fbe3e4}\ntr.none "
	"td{color:#8a93a3}\n"
	"tr.peer td:first-child{color:#6a7385}\nsummary{cursor:pointer}\ncode{font-size:13px}\n</style></head><body>\n";

std::string number(uint64_t n)
{
	return format("%llu", static_cast<unsigned long long>(n));
}

std::string cell(const std::string &text, bool right = false)
{
	return (right ? "<td class=\"n\">" : "<td>") + escaped(text) + "</td>";
}

std::string row(const path_result &r)
{
	bool ok = r.status == path_status::ok;
	std::vector<std::string> parts;
	for (const auto &[layer, count] : r.layers)
		parts.push_back(layer + " " + number(count));
	const char *kind = r.over_budget() ? "over" : !ok ? "none" : r.who == "ours" ? "" : "peer";
	std::string count = ok ? number(r.median) : status_text(r.status);
	if (ok && r.min != r.max)
		count += " (" + number(r.min) + "–" + number(r.max) + ")";
	std::string budget = r.budget != 0 ? number(r.budget) : "–";
	return format("<tr class=\"%s\">", kind) + cell(r.path) + cell(count, true) + cell(budget, true) +
	       cell(ok ? number(r.syscalls) : "", true) +
	       cell(r.ps != 0 ? format("%.1f", static_cast<double>(r.ps) / 1000) : "", true) +
	       cell(ok ? join(parts, " + ") : r.message) +
	       cell(r.description + (r.setting.empty() ? "" : ": " + r.setting)) + "</tr>\n";
}

// The instructions of a path by routine.
std::string routines(const path_result &r)
{
	std::string out = "<details><summary><code>" + escaped(r.path) + "</code>, " + number(r.median) +
			  "</summary><table>\n";
	for (const routine_cost &cost : r.routines)
		out += "<tr>" + cell(number(cost.count), true) + cell(cost.image) + cell(cost.routine) + "</tr>\n";
	return out + "</table></details>\n";
}

} // namespace

std::string html_report(const path_table &table, const result_set &set, const latency_model &model)
{
	std::string out = kHead + svg_figures(table, set) + svg_latency(build_figures(table, set), set, model);
	out += "<h2>Every path</h2>\n<table><tr><th>path</th><th class=\"n\">instructions</th><th "
	       "class=\"n\">budget</th>"
	       "<th class=\"n\">system calls</th><th class=\"n\">ns, measured</th><th>split</th><th>what</th></tr>\n";
	for (const path_result &r : set.results)
		if (!r.who.starts_with("hand"))
			out += row(r);
	out += "</table>\n<h2>By routine</h2>\n";
	for (const path_result &r : set.results)
		if (r.status == path_status::ok && !r.who.starts_with("hand"))
			out += routines(r);
	out += "<h2>The engine itself</h2>\n<p>Functions that a person counted; the engine must find these "
	       "numbers.</p>\n<table>\n";
	for (const path_result &r : set.results)
		if (r.who.starts_with("hand"))
			out += row(r);
	return out + "</table>\n</body></html>\n";
}

} // namespace ic
