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

using pgas::svg::picture;

constexpr double kLabels = 300, kPlot = 560, kTop = 64, kBar = 10, kGap = 9, kGroupGap = 12, kLegend = 150;

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

void draw_axis(picture &out, const scale &s, double bottom)
{
	for (int decade = static_cast<int>(std::floor(s.low)); decade <= static_cast<int>(s.high); decade++) {
		for (int step = 1; step < 10; step++) {
			const double v = step * std::pow(10, decade), x = s.x(v);
			if (std::log10(v) < s.low || std::log10(v) > s.high)
				continue;
			const bool one = decade == 0 && step == 1;
			out.line(x, kTop - 6, x, bottom, one ? "#333" : step == 1 ? "#bbb" : "#eee");
			char text[32];
			snprintf(text, sizeof text, "%gx", v);
			if (step == 1)
				out.text(x, kTop - 12, text, {{"text-anchor", "middle"}});
		}
	}
}

void draw_bar(picture &out, const scale &s, double v, double y, const char *colour)
{
	const double left = std::min(s.x(1), s.x(v)), width = std::max(1.0, std::abs(s.x(v) - s.x(1)));
	out.rect(left, y, width, kBar - 1, {{"fill", colour}, {"fill-opacity", v < 1 ? 0.55 : 1}});
	char text[32];
	snprintf(text, sizeof text, "%.*fx", v < 10 ? 2 : v < 100 ? 1 : 0, v);
	out.text(std::max(s.x(v), s.x(1)) + 4, y + kBar - 2, text, {{"font-size", 9}});
}

} // namespace

std::string draw_bars(const bar_plot &plot)
{
	const scale s(plot);
	const double step = kBar * static_cast<double>(plot.columns.size()) + kGap;
	const double bottom = kTop + step * static_cast<double>(plot.labels.size()) +
			      kGroupGap * static_cast<double>(plot.gaps.size());
	picture out;
	out.text(12, 20, plot.title, {{"font-size", 14}, {"font-weight", "bold"}});
	out.text(12, 36, plot.subtitle, {{"font-size", 10}, {"fill", "#666"}});
	draw_axis(out, s, bottom);
	for (size_t k = 0; k < plot.columns.size(); k++) {
		const double x = kLabels + 250 + kLegend * static_cast<double>(k);
		out.rect(x, 27, 10, 10, {{"fill", kColours[k % 4]}});
		out.text(x + 14, 36, plot.columns[k].name);
	}
	double y = kTop;
	for (size_t i = 0; i < plot.labels.size(); i++, y += step) {
		y += std::ranges::find(plot.gaps, i) != plot.gaps.end() ? kGroupGap : 0;
		out.text(kLabels - 20, y + (step - kGap) / 2 + 4, plot.labels[i], {{"text-anchor", "end"}});
		for (size_t k = 0; k < plot.columns.size(); k++)
			if (const double v = plot.columns[k].ratios[i]; v > 0)
				draw_bar(out, s, v, y + kBar * static_cast<double>(k), kColours[k % 4]);
	}
	const double width =
		std::max(kLabels + kPlot, kLabels + 250 + kLegend * static_cast<double>(plot.columns.size()));
	return out.document({width + 50,
			     bottom + 20,
			     {{"font-family", "sans-serif"}, {"font-size", 11}, {"fill", "#222"}},
			     "#fff"});
}

} // namespace bench
