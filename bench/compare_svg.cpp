// SPDX-License-Identifier: BSD-3-Clause
//
// A bar per row and compared column: how many times faster than the base column, on a log scale. Bars start at 1: they
// extend to the right if faster, to the left (red) if slower.
#include "compare.hpp"

#include <algorithm>
#include <cmath>

namespace bench {
namespace {

constexpr double kLabels = 290, kPlot = 560, kTop = 64, kBar = 9, kGap = 8, kGroupGap = 12;
constexpr const char *kColours[] = {"#2f6db3", "#b0b0b0", "#58a55c", "#8e6bbf"};
constexpr const char *kSlower = "#c8452f";

struct scale {
	double low = -1, high = 1; // decades shown
	double x(double ratio) const { return kLabels + kPlot * (std::log10(ratio) - low) / (high - low); }
};

scale fit(const std::vector<row> &rows, const std::vector<column> &columns)
{
	scale s{-0.31, 1};
	for (const row &r : rows)
		for (const column &c : columns)
			if (const double v = speedup(r, c, columns[1]); v > 0) {
				s.low = std::min(s.low, std::log10(v) - 0.1);
				s.high = std::max(s.high, std::log10(v) + 0.3);
			}
	return s;
}

void axis(std::FILE *out, const scale &s, double bottom)
{
	for (int decade = static_cast<int>(std::floor(s.low)); decade <= static_cast<int>(s.high); decade++) {
		for (int step = 1; step < 10; step++) {
			const double v = step * std::pow(10, decade);
			if (std::log10(v) < s.low || std::log10(v) > s.high)
				continue;
			const bool one = std::abs(v - 1) < 1e-9;
			fprintf(out,
				"<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.0f\" y2=\"%.1f\" stroke=\"%s\" "
				"stroke-width=\"%s\"/>\n",
				s.x(v), s.x(v), kTop - 6, bottom,
				one         ? "#333"
				: step == 1 ? "#bbb"
					    : "#eee",
				one ? "1.5" : "1");
			if (step == 1)
				fprintf(out, "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%gx</text>\n", s.x(v),
					kTop - 12, v);
		}
	}
}

void bar(std::FILE *out, const scale &s, double v, double y, const char *colour)
{
	const double source = std::min(s.x(1), s.x(v)), width = std::max(1.0, std::abs(s.x(v) - s.x(1)));
	fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.0f\" fill=\"%s\"/>\n", source, y, width,
		kBar - 1, v < 1 ? kSlower : colour);
	fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"9\">%.*fx</text>\n", std::max(s.x(v), s.x(1)) + 4,
		y + kBar - 1.5,
		v < 10    ? 2
		: v < 100 ? 1
			  : 0,
		v);
}

} // namespace

void write_svg(std::FILE *out, const std::vector<row> &rows, const std::vector<column> &columns)
{
	const scale s = fit(rows, columns);
	const double step = kBar * static_cast<double>(columns.size() - 1) + kGap;
	double bottom = kTop;
	for (size_t i = 0; i < rows.size(); i++)
		bottom += step + (i && rows[i].group != rows[i - 1].group ? kGroupGap : 0);
	const double width = kLabels + kPlot + 50;
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
		"font-family=\"sans-serif\" font-size=\"11\" fill=\"#222\">\n<rect width=\"100%%\" height=\"100%%\" "
		"fill=\"#fff\"/>\n"
		"<text x=\"12\" y=\"20\" font-size=\"14\" font-weight=\"bold\">How many times faster than %s</text>\n"
		"<text x=\"12\" y=\"36\" font-size=\"10\" fill=\"#666\">two processes, one host; best samples; log "
		"scale</text>\n",
		width, bottom + 20, width, bottom + 20, columns[1].title.c_str());
	double legend = kLabels + 120;
	for (size_t k = 0; k < columns.size(); k++) {
		if (k == 1)
			continue;
		fprintf(out,
			"<rect x=\"%.0f\" y=\"11\" width=\"10\" height=\"10\" fill=\"%s\"/><text x=\"%.0f\" "
			"y=\"20\">%s</text>\n",
			legend, kColours[k % 4], legend + 14, columns[k].title.c_str());
		legend += 120;
	}
	fprintf(out,
		"<rect x=\"%.0f\" y=\"11\" width=\"10\" height=\"10\" fill=\"%s\"/><text x=\"%.0f\" "
		"y=\"20\">slower</text>\n",
		legend, kSlower, legend + 14);
	axis(out, s, bottom);
	double y = kTop;
	for (size_t i = 0; i < rows.size(); i++) {
		y += i && rows[i].group != rows[i - 1].group ? kGroupGap : 0;
		fprintf(out, "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", kLabels - 30,
			y + (step - kGap) / 2 + 4, rows[i].label.c_str());
		double addr = y;
		for (size_t k = 0; k < columns.size(); k++) {
			if (k == 1)
				continue;
			if (const double v = speedup(rows[i], columns[k], columns[1]); v > 0)
				bar(out, s, v, addr, kColours[k % 4]);
			addr += kBar;
		}
		y += step;
	}
	fputs("</svg>\n", out);
}

} // namespace bench
