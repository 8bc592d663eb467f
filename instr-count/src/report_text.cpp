// SPDX-License-Identifier: BSD-3-Clause
// report_text.cpp: tables for a terminal.
#include <algorithm>

#include "report.hpp"
#include "text.hpp"

namespace ic {

namespace {

std::string layer_text(const std::vector<std::pair<std::string, uint64_t>> &layers)
{
	std::vector<std::string> parts;
	for (const auto &[name, count] : layers)
		parts.push_back(format("%s %llu", name.c_str(), static_cast<unsigned long long>(count)));
	return join(parts, " | ");
}

std::string rule(size_t width)
{
	return std::string(width, '-') + "\n";
}

std::string bar_text(uint64_t count, uint64_t longest)
{
	constexpr uint64_t kWidth = 40;
	uint64_t n = longest == 0 ? 0 : (count * kWidth + longest - 1) / longest;
	return std::string(static_cast<size_t>(n), '#');
}

std::string range_text(const path_result &r)
{
	if (r.min == r.max)
		return "";
	return format("%llu..%llu", static_cast<unsigned long long>(r.min), static_cast<unsigned long long>(r.max));
}

} // namespace

std::string text_results(const result_set &set)
{
	std::string out =
		format("%-26s %7s %7s %-12s %8s  %s\n", "path", "instr", "budget", "min..max", "syscalls", "split");
	out += rule(100);
	for (const path_result &r : set.results) {
		if (r.status != path_status::ok) {
			out += format("%-26s %7s  %s\n", r.path.c_str(), "-",
				      r.status == path_status::not_built
					      ? ("not built: " + r.message).c_str()
					      : (std::string(status_text(r.status)) + ": " + r.message).c_str());
			continue;
		}
		std::string budget = r.budget == 0 ? "-" : format("%llu", static_cast<unsigned long long>(r.budget));
		out += format("%-26s %7llu %7s %-12s %8llu  %s%s\n", r.path.c_str(),
			      static_cast<unsigned long long>(r.median), budget.c_str(), range_text(r).c_str(),
			      static_cast<unsigned long long>(r.syscalls), layer_text(r.layers).c_str(),
			      r.over_budget() ? "  OVER BUDGET" : "");
		for (const std::string &note : r.notes)
			out += format("%-26s note: %s\n", "", note.c_str());
	}
	return out;
}

static std::string text_figures(const std::vector<figure> &figures)
{
	std::string out;
	for (const figure &fig : figures) {
		out += "\n" + figure_heading(fig) + "\n";
		for (const std::string &words : fig.words)
			out += "  " + words + "\n";
		if (!fig.target.empty())
			out += "  " + fig.target + "\n";
		for (const figure_row &row : fig.rows) {
			uint64_t longest = 0;
			for (const figure_bar &bar : row.bars)
				longest = std::max(longest, bar.count);
			out += "\n  " + row.name + "\n";
			for (const figure_bar &bar : row.bars)
				out += format("  %s %-44s %6llu %-40s %s\n", bar.kind == bar_kind::ours ? "*" : " ",
					      bar.who.c_str(), static_cast<unsigned long long>(bar.count),
					      bar_text(bar.count, longest).c_str(),
					      bar.layers.empty() ? bar.scope.c_str() : layer_text(bar.layers).c_str());
			for (const std::string &words : row.words)
				out += "    " + words + "\n";
		}
	}
	return out;
}

// The paper's Figure 5 as a table: nanoseconds over frequency and CPI.
static std::string text_model(const std::vector<figure> &figures)
{
	std::string out = "\nFigure 5 of the paper. Software overhead of one call, over frequency and CPI\n";
	out += format("  The paper measured CPI %.1f, and more than %.0f ns from %.1f to %.1f GHz.\n", kPapersCpi,
		      kPapersNs, kPapersGhz[0], kPapersGhz[1]);
	for (const model_subject &subject : model_subjects(figures)) {
		const figure_bar &bar = subject.bar;
		out += format("\n  %s, %s: %llu instructions; ns at\n    %-8s", subject.what.c_str(), bar.who.c_str(),
			      static_cast<unsigned long long>(bar.count), "");
		constexpr double frequencies[] = {1.0, 1.8, 2.5, 3.0, 4.0};
		for (double ghz : frequencies)
			out += format(" %6.1f GHz", ghz);
		for (double cpi : kModelCpis) {
			out += format("\n    CPI %-4.1f", cpi);
			for (double ghz : frequencies)
				out += format(" %10.1f", static_cast<double>(bar.count) * cpi / ghz);
		}
		out += "\n";
	}
	return out;
}

static std::string text_latency(const std::vector<figure> &figures, const latency_model &model)
{
	std::string out = "\nThe model beside the clock\n  " + model.text() + "\n\n";
	out += format("    %-32s %-44s %7s %10s %12s %6s\n", "operation", "who", "instr", "model", "measured", "CPI");
	for (const figure &fig : figures)
		for (const figure_row &row : fig.rows)
			for (const figure_bar &bar : row.bars) {
				double ns = static_cast<double>(bar.ps) / 1000;
				std::string measured = bar.ps == 0 ? "" : format("%9.1f ns", ns);
				std::string cpi =
					bar.ps == 0 || bar.count == 0
						? ""
						: format("%6.2f", ns * model.ghz / static_cast<double>(bar.count));
				out += format("  %s %-32s %-44s %7llu %7.1f ns %12s %6s\n",
					      bar.kind == bar_kind::ours ? "*" : " ", row.name.c_str(), bar.who.c_str(),
					      static_cast<unsigned long long>(bar.count), model.ns(bar.count),
					      measured.c_str(), cpi.c_str());
			}
	return out;
}

static std::string title(const result_set &set)
{
	return format("Instructions on the critical path (%s, engine %s, user mode%s%s)\n", set.arch.c_str(),
		      set.engine.c_str(), set.compiler.empty() ? "" : ", ", set.compiler.c_str());
}

std::string text_report(const path_table &table, const result_set &set, const latency_model &model)
{
	std::vector<figure> figures = build_figures(table, set);
	return title(set) + "\n" + text_results(set) + text_figures(figures) + text_model(figures) +
	       text_latency(figures, model);
}

std::string short_report(const path_table &table, const result_set &set)
{
	std::string out = title(set) + "Targets are on the same host, but those of *_far and *_verbs.\n" +
			  format("\n%-28s %5s  %-32s %s\n", "operation", "ours", "of which", "others") + rule(110);
	for (const figure &fig : build_figures(table, set))
		for (const figure_row &row : fig.rows) {
			std::vector<std::string> others;
			for (const figure_bar &bar : row.bars)
				if (bar.kind != bar_kind::ours)
					others.push_back(format("%s %llu%s", bar.who.c_str(),
								static_cast<unsigned long long>(bar.count),
								bar.kind == bar_kind::quoted ? "*" : ""));
			bool first = true;
			for (const figure_bar &bar : row.bars)
				if (bar.kind == bar_kind::ours) {
					// If there are several forms of ours, the path's name tells them apart.
					out += format("%-28s %5llu  %-32s %s\n",
						      first ? row.name.c_str() : ("  " + bar.who).c_str(),
						      static_cast<unsigned long long>(bar.count),
						      layer_text(bar.layers).c_str(),
						      first ? join(others, ", ").c_str() : "");
					first = false;
				}
		}
	return out + "* quoted: the paper's numbers, or counted on another machine\n";
}

} // namespace ic
