// SPDX-License-Identifier: BSD-3-Clause
//
// A bar for each row and column, on a log scale: see bar_plot.
#include "compare.hpp"

#include <pgas/pgas_svg.hpp>

#include <algorithm>
#include <cmath>

namespace bench {

const char *const kColours[4] = {"#2f6db3", "#c07a2c", "#58a55c", "#8e6bbf"};

namespace {

using pgas::svg::picture, pgas::svg::point;

constexpr double kLabels = 300, kPlot = 560, kTop = 28, kBar = 10, kGap = 9, kGroupGap = 12, kMargin = 50;
// The legend begins right of the subtitle. A sign of a name is as wide as the widest fonts have it on average.
constexpr double kLegend = 550, kLegendLine = 16, kSquare = 10, kSign = 7, kLegendGap = 18;

struct scale {
	double low = -0.31, high = 0.5; // decades shown

	explicit scale(const bar_plot &plot)
	{
		for (const bar_plot::series &s : plot.columns)
			for (const double v : s.ratios)
				if (v > 0) {
					low = std::min(low, std::log10(v) - 0.1);
					high = std::max(high, std::log10(v) + 0.35);
				}
	}
	double x(double ratio) const { return kLabels + kPlot * (std::log10(ratio) - low) / (high - low); }
};

// Draws the names of the columns beside each other, in as many lines as they need; a line has one at least. Returns
// where it ends.
point draw_legend(picture &out, const bar_plot &plot)
{
	double x = kLegend, y = 36;
	point end{kLabels + kPlot + kMargin, y};
	for (size_t k = 0; k < plot.columns.size(); k++) {
		const std::string &name = plot.columns[k].name;
		const double width = kSquare + 4 + kSign * static_cast<double>(name.size());
		if (x > kLegend && x + width > kLabels + kPlot + kMargin) {
			x = kLegend;
			y += kLegendLine;
		}
		out.rect(x, y - 9, kSquare, kSquare, {{"fill", kColours[k % 4]}});
		out.text(x + kSquare + 4, y, name);
		end = {std::max(end.x, x + width), y};
		x += width + kLegendGap;
	}
	return end;
}

void draw_axis(picture &out, const scale &s, double top, double bottom)
{
	for (int decade = static_cast<int>(std::floor(s.low)); decade <= static_cast<int>(s.high); decade++) {
		for (int step = 1; step < 10; step++) {
			const double v = step * std::pow(10, decade), x = s.x(v);
			if (std::log10(v) < s.low || std::log10(v) > s.high)
				continue;
			const bool one = decade == 0 && step == 1;
			out.line(x, top - 6, x, bottom, one ? "#333" : step == 1 ? "#bbb" : "#eee");
			char text[32];
			snprintf(text, sizeof text, "%gx", v);
			if (step == 1)
				out.text(x, top - 12, text, {{"text-anchor", "middle"}});
		}
	}
}

void draw_bar(picture &out, const scale &s, double v, double y, const char *colour)
{
	const double left = std::min(s.x(1), s.x(v)), width = std::max(1.0, std::abs(s.x(v) - s.x(1)));
	out.rect(left, y, width, kBar - 1, {{"fill", colour}, {"fill-opacity", v < 1 ? 0.55 : 1}});
	char text[32];
	if (v < 0.01)
		snprintf(text, sizeof text, "%.1gx", v);
	else
		snprintf(text, sizeof text, "%.*fx", v < 10 ? 2 : v < 100 ? 1 : 0, v);
	out.text(std::max(s.x(v), s.x(1)) + 4, y + kBar - 2, text, {{"font-size", 9}});
}

} // namespace

std::string draw_bars(const bar_plot &plot)
{
	const scale s(plot);
	const double step = kBar * static_cast<double>(plot.columns.size()) + kGap;
	picture out;
	const point legend = draw_legend(out, plot);
	const double top = legend.y + kTop;
	const double bottom = top + step * static_cast<double>(plot.labels.size()) +
			      kGroupGap * static_cast<double>(plot.gaps.size());
	out.text(12, 20, plot.title, {{"font-size", 14}, {"font-weight", "bold"}});
	out.text(12, 36, plot.subtitle, {{"font-size", 10}, {"fill", "#666"}});
	draw_axis(out, s, top, bottom);
	double y = top;
	for (size_t i = 0; i < plot.labels.size(); i++, y += step) {
		y += std::ranges::find(plot.gaps, i) != plot.gaps.end() ? kGroupGap : 0;
		out.text(kLabels - 20, y + (step - kGap) / 2 + 4, plot.labels[i], {{"text-anchor", "end"}});
		for (size_t k = 0; k < plot.columns.size(); k++)
			if (const double v = plot.columns[k].ratios[i]; v > 0)
				draw_bar(out, s, v, y + kBar * static_cast<double>(k), kColours[k % 4]);
	}
	return out.document(
		{legend.x, bottom + 20, {{"font-family", "sans-serif"}, {"font-size", 11}, {"fill", "#222"}}, "#fff"});
}

} // namespace bench
