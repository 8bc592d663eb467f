// SPDX-License-Identifier: BSD-3-Clause
//
// A bar per row with a goal and per library: how many times better than the goal, on a log scale. Bars start at 1, and
// extend to the right if the goal is reached.
#include "hosts_compare.hpp"

#include <algorithm>
#include <cmath>

namespace bench::hosts {
namespace {

constexpr double kLabels = 300, kPlot = 560, kTop = 64, kBar = 11, kGap = 10;
constexpr const char *kColours[] = {"#2f6db3", "#c07a2c", "#58a55c"};

struct scale {
	double low = -0.5, high = 0.5; // decades shown
	double x(double ratio) const { return kLabels + kPlot * (std::log10(ratio) - low) / (high - low); }
};

std::vector<row> with_goals(const results &all)
{
	std::vector<row> rows;
	for (const row &r : all.rows)
		if (const goal *g = goal_of(r); g && limit_of(all, *g) > 0)
			rows.push_back(r);
	return rows;
}

scale fit(const results &all, const std::vector<row> &rows)
{
	scale s;
	for (const row &r : rows)
		for (size_t k = results::kFirstLibrary; k < all.columns.size(); k++)
			if (const double v = margin(all, r, *goal_of(r), all.columns[k]); v > 0) {
				s.low = std::min(s.low, std::log10(v) - 0.1);
				s.high = std::max(s.high, std::log10(v) + 0.35);
			}
	return s;
}

void axis(std::FILE *out, const scale &s, double bottom)
{
	for (int decade = static_cast<int>(std::ceil(s.low)); decade <= static_cast<int>(s.high); decade++) {
		const double v = std::pow(10, decade), x = s.x(v);
		fprintf(out,
			"<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.0f\" y2=\"%.1f\" stroke=\"%s\"/>"
			"<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%gx</text>\n",
			x, x, kTop - 6, bottom, decade == 0 ? "#333" : "#ccc", x, kTop - 12, v);
	}
}

void bar(std::FILE *out, const scale &s, double v, double y, const char *colour)
{
	const double source = std::min(s.x(1), s.x(v)), width = std::max(1.0, std::abs(s.x(v) - s.x(1)));
	fprintf(out,
		"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.0f\" fill=\"%s\" fill-opacity=\"%s\"/>"
		"<text x=\"%.1f\" y=\"%.1f\" font-size=\"9\">%.*fx</text>\n",
		source, y, width, kBar - 1, colour, v < 1 ? "0.55" : "1", std::max(s.x(v), s.x(1)) + 4, y + kBar - 2,
		v < 10 ? 2 : 0, v);
}

} // namespace

void write_hosts_svg(std::FILE *out, const results &all)
{
	const std::vector<row> rows = with_goals(all);
	const scale s = fit(all, rows);
	const size_t libraries = all.columns.size() - results::kFirstLibrary;
	const double step = kBar * static_cast<double>(libraries) + kGap;
	const double bottom = kTop + step * static_cast<double>(rows.size()), width = kLabels + kPlot + 50;
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
		"font-family=\"sans-serif\" font-size=\"11\" fill=\"#222\">\n<rect width=\"100%%\" height=\"100%%\" "
		"fill=\"#fff\"/>\n<text x=\"12\" y=\"20\" font-size=\"14\" font-weight=\"bold\">How many times better "
		"than the goal, between two hosts</text>\n<text x=\"12\" y=\"36\" font-size=\"10\" "
		"fill=\"#666\">medians; log scale; paler: not reached</text>\n",
		width, bottom + 20, width, bottom + 20);
	for (size_t k = 0; k < libraries; k++)
		fprintf(out,
			"<rect x=\"%zu\" y=\"11\" width=\"10\" height=\"10\" fill=\"%s\"/><text x=\"%zu\" "
			"y=\"20\">%s</text>\n",
			560 + 120 * k, kColours[k % 3], 574 + 120 * k,
			all.columns[results::kFirstLibrary + k].title.c_str());
	axis(out, s, bottom);
	double y = kTop;
	for (const row &r : rows) {
		const goal &g = *goal_of(r);
		fprintf(out, "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", kLabels - 20,
			y + (step - kGap) / 2 + 4, r.label.c_str());
		for (size_t k = 0; k < libraries; k++) {
			const double v = margin(all, r, g, all.columns[results::kFirstLibrary + k]);
			if (v > 0)
				bar(out, s, v, y + kBar * static_cast<double>(k), kColours[k % 3]);
		}
		y += step;
	}
	fputs("</svg>\n", out);
}

} // namespace bench::hosts
