// SPDX-License-Identifier: BSD-3-Clause
// report_latency.cpp: the paper's Figure 5: the cost of a call over the frequency, at several cycles per instruction,
// and the measured times next to the model.
#include <algorithm>
#include <cmath>

#include "report.hpp"
#include "svg_draw.hpp"
#include "text.hpp"

namespace ic {

// For shmem_int_p, as in the paper: the largest quoted number, the shortest counted peer, and ours.
std::vector<model_subject> model_subjects(const std::vector<figure> &figures)
{
	std::vector<model_subject> out;
	for (const figure &fig : figures) {
		if (fig.id != "6" || fig.rows.empty())
			continue;
		const figure_row &row = fig.rows[0];
		for (bar_kind kind : {bar_kind::quoted, bar_kind::peer, bar_kind::ours}) {
			const figure_bar *chosen = nullptr;
			for (const figure_bar &bar : row.bars) {
				if (bar.kind != kind || bar.count == 0)
					continue;
				bool better = chosen == nullptr ||
					      (kind == bar_kind::quoted ? bar.count > chosen->count
									: bar.count < chosen->count);
				// The first of ours is the plain call.
				if (kind == bar_kind::ours ? chosen == nullptr : better)
					chosen = &bar;
			}
			if (chosen != nullptr)
				out.push_back({row.name, *chosen});
		}
	}
	return out;
}

namespace {

using namespace svg;

constexpr double kLeft = 80, kTop = 82, kPlotWidth = 640, kPlotHeight = 360;
constexpr double kFromGhz = 1, kToGhz = 4, kFromNs = 0.5, kToNs = 1000;
constexpr double kRow = 17;

double px(double ghz)
{
	return kLeft + kPlotWidth * std::clamp((ghz - kFromGhz) / (kToGhz - kFromGhz), 0.0, 1.0);
}

double py(double ns)
{
	double part = (std::log10(ns) - std::log10(kFromNs)) / (std::log10(kToNs) - std::log10(kFromNs));
	return kTop + kPlotHeight * (1 - std::clamp(part, 0.0, 1.0));
}

const char *colour_of(bar_kind kind)
{
	return kind == bar_kind::ours ? kOurs : kind == bar_kind::peer ? kPeer : kQuotedInk;
}

void draw_axes(picture &out)
{
	// The paper's observation: more than 200 ns from 1 to 1.8 GHz.
	out.rect(px(kPapersGhz[0]), kTop, px(kPapersGhz[1]) - px(kPapersGhz[0]), py(kPapersNs) - kTop,
		 {{"fill", "#f4f0e6"}});
	out.text(px(kPapersGhz[0]) + 6, kTop + 14, "the paper: above 200 ns from 1 to 1.8 GHz", small_text(kFaint));
	for (double ghz = kFromGhz; ghz <= kToGhz; ghz += 0.5) {
		out.line(px(ghz), kTop, px(ghz), kTop + kPlotHeight, kRule);
		out.text(px(ghz), kTop + kPlotHeight + 17, format("%.1f", ghz), small_text(kFaint, "middle"));
	}
	for (double ns : {0.5, 1.0, 10.0, 100.0, 200.0, 1000.0}) {
		out.line(kLeft, py(ns), kLeft + kPlotWidth, py(ns), kRule);
		out.text(kLeft - 8, py(ns) + 4, format("%.4g ns", ns), small_text(kFaint, "end"));
	}
	out.text(kLeft + kPlotWidth / 2, kTop + kPlotHeight + 36, "core frequency, GHz", small_text(kFaint, "middle"));
}

// overhead = instructions x CPI / frequency
void draw_curve(picture &out, const figure_bar &bar, double cpi)
{
	std::vector<pgas::svg::point> points;
	for (double ghz = kFromGhz; ghz <= kToGhz + 0.01; ghz += 0.1)
		points.push_back({px(ghz), py(static_cast<double>(bar.count) * cpi / ghz)});
	bool measured_by_paper = cpi == kPapersCpi;
	out.polyline(points, colour_of(bar.kind), {{"stroke-width", measured_by_paper ? 2.4 : 1}},
		     format("%s, CPI %.1f", bar.who.c_str(), cpi));
}

// labels: heights already in use. Lines of two calls may coincide.
void draw_subject(picture &out, const model_subject &subject, double ghz, std::vector<double> &labels)
{
	const figure_bar &bar = subject.bar;
	for (double cpi : kModelCpis) {
		draw_curve(out, bar, cpi);
		double y = py(static_cast<double>(bar.count) * cpi / kToGhz) + 4;
		bool taken = std::any_of(labels.begin(), labels.end(), [y](double l) { return std::fabs(l - y) < 10; });
		if (taken || cpi == kPapersCpi) // the paper's CPI is too close to the label of 1.0
			continue;
		labels.push_back(y);
		out.text(px(kToGhz) + 5, y, format("CPI %.1f", cpi), small_text(kFaint));
	}
	double y = py(static_cast<double>(bar.count) / kToGhz) + 4;
	std::vector<std::string> lines = split(bar.who, ',');
	lines.push_back(format("%llu instructions", static_cast<unsigned long long>(bar.count)));
	for (size_t i = 0; i < lines.size(); i++)
		out.text(px(kToGhz) + 62, y + 13 * static_cast<double>(i), lines[i],
			 i == 0 ? small_bold_text(colour_of(bar.kind)) : small_text(kFaint));
	if (bar.ps == 0)
		return;
	double ns = static_cast<double>(bar.ps) / 1000;
	out.circle(px(ghz), py(ns), 5, {{"fill", colour_of(bar.kind)}, {"stroke", "#ffffff"}});
	out.text(px(ghz) + 9, py(ns) + 4, format("measured: %.1f ns", ns), small_text());
}

// Every counted call that was also timed.
void draw_table(picture &out, const std::vector<figure> &figures, const latency_model &model, double &y)
{
	constexpr double columns[] = {20, 270, 640, 740, 850, 970};
	const char *heads[] = {"call", "who", "instructions", "model, ns", "measured, ns", "CPI by that"};
	auto cell = [&](size_t column, const std::string &text, bool bold, const char *colour = kInk) {
		const char *anchor = column >= 2 ? "end" : "start";
		out.text(columns[column], y, text, bold ? small_bold_text(colour, anchor) : small_text(colour, anchor));
	};
	for (size_t i = 0; i < 6; i++)
		cell(i, heads[i], true, kFaint);
	for (const figure &fig : figures)
		for (const figure_row &row : fig.rows)
			for (const figure_bar &bar : row.bars) {
				if (bar.ps == 0)
					continue;
				y += kRow;
				double ns = static_cast<double>(bar.ps) / 1000;
				bool bold = bar.kind == bar_kind::ours;
				cell(0, row.name, bold);
				cell(1, bar.who, bold);
				cell(2, format("%llu", static_cast<unsigned long long>(bar.count)), bold);
				cell(3, format("%.1f", model.ns(bar.count)), bold);
				cell(4, format("%.1f", ns), bold);
				if (bar.count > 0)
					cell(5, format("%.2f", ns * model.ghz / static_cast<double>(bar.count)), bold);
			}
	y += kRow;
}

} // namespace

std::string svg_latency(const std::vector<figure> &figures, const result_set &set, const latency_model &model)
{
	picture out;
	out.text(20, 26, "Figure 5 of the paper. Software overhead of one call, over frequency and CPI", heading(14));
	out.text(20, 44,
		 format("shmem_int_p: overhead = instructions x CPI / frequency; the thick line is CPI %.1f, which "
			"the paper measured",
			kPapersCpi),
		 small_text(kFaint));
	out.text(20, 60,
		 format("dots: measured at full speed on %s, target on the same host, loop included, at %.2f GHz (%s)",
			set.cpu.empty() ? "the machine that counted" : set.cpu.c_str(), model.ghz,
			model.ghz_source.c_str()),
		 small_text(kFaint));
	draw_axes(out);
	std::vector<double> labels;
	for (const model_subject &subject : model_subjects(figures))
		draw_subject(out, subject, model.ghz, labels);
	double y = kTop + kPlotHeight + 66;
	out.text(20, y, "The model beside the clock: " + model.text(), small_text(kFaint));
	y += 22;
	draw_table(out, figures, model, y);
	return document(out, y);
}

} // namespace ic
