// SPDX-License-Identifier: BSD-3-Clause
// report_svg.cpp: the figures as bars, and below each the short ones again, enlarged: next to hundreds of instructions
// a path of seven is not visible, and its parts even less.
#include <algorithm>
#include <set>

#include "report.hpp"
#include "svg_draw.hpp"
#include "text.hpp"

namespace ic {

namespace {

using namespace svg;

constexpr double kLabel = 290, kBar = 345, kLine = 19;
// One for each layer, in the order of the table.
constexpr const char *kColours[] = {"#1f6fb2", "#c8414f", "#4f9d69", "#e6a23c", "#6b5b95",
				    "#7d8aa0", "#2e4057", "#b5838d", "#a3b18a"};
// A bar of ours that is longer than this part of the longest is visible enough.
constexpr double kSeen = 0.3;
constexpr double kCutWidth = 4; // width in pixels per instruction from which single ones are marked

const char *colour_of(const std::string &layer, const std::vector<std::string> &layers)
{
	size_t pos = static_cast<size_t>(std::find(layers.begin(), layers.end(), layer) - layers.begin());
	return kColours[pos % (sizeof(kColours) / sizeof(kColours[0]))];
}

// White gaps between the instructions of a bar.
void draw_cuts(picture &out, double x, double y, uint64_t count, double scale)
{
	for (uint64_t i = 1; scale >= kCutWidth && i < count; i++) {
		double pos = x + static_cast<double>(i) * scale;
		out.line(pos, y, pos, y + kBarHeight, "#ffffff", {{"stroke-width", 0.8}});
	}
}

// One bar in layer colours if the layers are known; to its right the number and the parts.
void draw_bar(picture &out, const figure_bar &bar, double y, double scale, const std::vector<std::string> &layers)
{
	const char *weight = bar.kind == bar_kind::ours ? "bold" : "normal";
	out.text(kLabel - 10, y + 11, bar.who, {{"text-anchor", "end"}, {"font-weight", weight}});
	double x = kLabel;
	std::string tip = bar.who + ": " + bar.scope;
	if (bar.layers.empty() && bar.count > 0) {
		double width = std::max(1.5, static_cast<double>(bar.count) * scale);
		draw_box(out, x, y, width, bar.kind == bar_kind::quoted ? kQuoted : kPeer, tip);
		x += width;
	}
	std::vector<std::string> parts;
	for (const auto &[layer, count] : bar.layers) {
		double width = std::max(1.5, static_cast<double>(count) * scale);
		parts.push_back(format("%s %llu", layer.c_str(), static_cast<unsigned long long>(count)));
		draw_box(out, x, y, width, colour_of(layer, layers), parts.back());
		x += width;
	}
	draw_cuts(out, kLabel, y, bar.count, scale);
	std::string number = format("%llu", static_cast<unsigned long long>(bar.count));
	out.text(x + 7, y + 11, number, {{"font-weight", weight}});
	x += 15 + 7.4 * static_cast<double>(number.size());
	out.text(x, y + 11, parts.empty() ? bar.scope : join(parts, " + "), small_text(kFaint));
}

void draw_legend(picture &out, const std::vector<figure> &figures, const std::vector<std::string> &layers, double y)
{
	std::set<std::string> used;
	bool quoted = false;
	for (const figure &fig : figures)
		for (const figure_row &row : fig.rows)
			for (const figure_bar &bar : row.bars) {
				quoted = quoted || bar.kind == bar_kind::quoted;
				for (const auto &[layer, count] : bar.layers)
					used.insert(layer);
			}
	double x = 20;
	auto item = [&](const char *colour, const std::string &text) {
		draw_box(out, x, y, kBarHeight, colour, text);
		out.text(x + kBarHeight + 6, y + 11, text);
		x += kBarHeight + 24 + 6.6 * static_cast<double>(text.size());
	};
	for (const std::string &layer : layers)
		if (used.count(layer) != 0)
			item(colour_of(layer, layers), layer);
	if (quoted)
		item(kQuoted, "quoted: not counted in this run");
}

uint64_t longest_bar(const figure &fig, bool ours_only)
{
	uint64_t longest = 0;
	for (const figure_row &row : fig.rows)
		for (const figure_bar &bar : row.bars)
			if (!ours_only || bar.kind == bar_kind::ours)
				longest = std::max(longest, bar.count);
	return longest;
}

// The second panel: only ours, at its own scale.
void draw_enlarged(picture &out, const figure &fig, double usual_scale, double &y,
		   const std::vector<std::string> &layers)
{
	uint64_t longest = longest_bar(fig, true);
	double scale = std::min(kBar / static_cast<double>(std::max<uint64_t>(longest, 1)), 24.0);
	if (longest == 0 || static_cast<double>(longest) * usual_scale > kSeen * kBar)
		return;
	y += 20;
	out.text(20, y, format("Ours, enlarged %.0f times", scale / usual_scale), heading(12));
	y += 6;
	for (const figure_row &row : fig.rows)
		for (const figure_bar &bar : row.bars)
			if (bar.kind == bar_kind::ours) {
				draw_bar(out, bar, y, scale, layers);
				y += kLine;
			}
}

void draw_figure(picture &out, const figure &fig, double &y, const std::vector<std::string> &layers)
{
	out.line(20, y, kWidth - 20, y, kRule);
	y += 24;
	out.text(20, y, figure_heading(fig), heading(14));
	for (const std::string &words : fig.words) {
		y += 16;
		out.text(20, y, words, small_text(kFaint));
	}
	if (!fig.target.empty()) {
		y += 16;
		out.text(20, y, fig.target, small_bold_text());
	}
	y += 10;
	// One scale per figure, with a minimum so that a few instructions do not look long.
	double scale = kBar / static_cast<double>(std::max<uint64_t>(longest_bar(fig, false), 100));
	for (const figure_row &row : fig.rows) {
		y += 16;
		out.text(20, y, row.name, {{"fill", kFaint}, {"font-size", 11}, {"font-style", "italic"}});
		y += 5;
		for (const figure_bar &bar : row.bars) {
			draw_bar(out, bar, y, scale, layers);
			y += kLine;
		}
		for (const std::string &words : row.words) {
			out.text(kLabel - 60, y + 10, words, small_text(kFaint));
			y += 16;
		}
	}
	draw_enlarged(out, fig, scale, y, layers);
	y += 14;
}

} // namespace

std::string svg_figures(const path_table &table, const result_set &set)
{
	std::vector<figure> figures = build_figures(table, set);
	std::vector<std::string> layers = table.layer_names();
	picture out;
	double y = 30;
	out.text(20, y, "Instructions on the critical path", heading(18));
	y += 20;
	out.text(20, y,
		 "user instructions of one call, first to last, everything included; " + set.arch + ", engine " +
			 set.engine + (set.compiler.empty() ? "" : ", " + set.compiler),
		 small_text(kFaint));
	y += 14;
	draw_legend(out, figures, layers, y);
	y += 24;
	for (const figure &fig : figures)
		draw_figure(out, fig, y, layers);
	return document(out, y + 6);
}

} // namespace ic
