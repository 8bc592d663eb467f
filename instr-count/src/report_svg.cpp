// SPDX-License-Identifier: BSD-3-Clause
// report_svg.cpp: the figures as bars, and below each the short ones again, enlarged: next to hundreds of instructions
// a path of seven is not visible, and its parts even less.
#include <algorithm>
#include <set>

#include "report.hpp"
#include "svg_draw.hpp"

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
std::string cuts(double x, double y, uint64_t count, double scale)
{
	std::string out;
	for (uint64_t i = 1; scale >= kCutWidth && i < count; i++) {
		double addr = x + static_cast<double>(i) * scale;
		out += line(addr, y, addr, y + kBarHeight, "#ffffff", "stroke-width=\"0.8\"");
	}
	return out;
}

// One bar in layer colours if the layers are known; to its right the number and the parts.
std::string draw_bar(const figure_bar &bar, double y, double scale, const std::vector<std::string> &layers)
{
	bool ours = bar.kind == bar_kind::ours;
	std::string out = text_at(kLabel - 10, y + 11, bar.who,
				  ours ? "text-anchor=\"end\" font-weight=\"bold\"" : "text-anchor=\"end\"");
	double x = kLabel;
	std::string tip = bar.who + ": " + bar.scope;
	if (bar.layers.empty() && bar.count > 0) {
		double width = std::max(1.5, static_cast<double>(bar.count) * scale);
		out += rect(x, y, width, bar.kind == bar_kind::quoted ? kQuoted : kPeer, tip);
		x += width;
	}
	std::vector<std::string> parts;
	for (const auto &[layer, count] : bar.layers) {
		double width = std::max(1.5, static_cast<double>(count) * scale);
		parts.push_back(format("%s %llu", layer.c_str(), static_cast<unsigned long long>(count)));
		out += rect(x, y, width, colour_of(layer, layers), parts.back());
		x += width;
	}
	out += cuts(kLabel, y, bar.count, scale);
	std::string number = format("%llu", static_cast<unsigned long long>(bar.count));
	out += text_at(x + 7, y + 11, number, ours ? "font-weight=\"bold\"" : "");
	x += 15 + 7.4 * static_cast<double>(number.size());
	return out + text_at(x, y + 11, parts.empty() ? bar.scope : join(parts, " + "), faint());
}

std::string legend(const std::vector<figure> &figures, const std::vector<std::string> &layers, double y)
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
	std::string out;
	double x = 20;
	auto item = [&](const char *colour, const std::string &text) {
		out += rect(x, y, kBarHeight, colour, text) + text_at(x + kBarHeight + 6, y + 11, text);
		x += kBarHeight + 24 + 6.6 * static_cast<double>(text.size());
	};
	for (const std::string &layer : layers)
		if (used.count(layer) != 0)
			item(colour_of(layer, layers), layer);
	if (quoted)
		item(kQuoted, "quoted: not counted in this run");
	return out;
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
std::string enlarged(const figure &fig, double usual_scale, double &y, const std::vector<std::string> &layers)
{
	uint64_t longest = longest_bar(fig, true);
	double scale = std::min(kBar / static_cast<double>(std::max<uint64_t>(longest, 1)), 24.0);
	if (longest == 0 || static_cast<double>(longest) * usual_scale > kSeen * kBar)
		return "";
	y += 20;
	std::string out = text_at(20, y, format("Ours, enlarged %.0f times", scale / usual_scale),
				  "font-weight=\"bold\" font-size=\"12\"");
	y += 6;
	for (const figure_row &row : fig.rows)
		for (const figure_bar &bar : row.bars)
			if (bar.kind == bar_kind::ours) {
				out += draw_bar(bar, y, scale, layers);
				y += kLine;
			}
	return out;
}

std::string draw_figure(const figure &fig, double &y, const std::vector<std::string> &layers)
{
	std::string out = line(20, y, kWidth - 20, y, kRule);
	y += 24;
	out += text_at(20, y, figure_heading(fig), "font-size=\"14\" font-weight=\"bold\"");
	for (const std::string &words : fig.words) {
		y += 16;
		out += text_at(20, y, words, faint());
	}
	if (!fig.target.empty()) {
		y += 16;
		out += text_at(20, y, fig.target, format("fill=\"%s\" font-size=\"11\" font-weight=\"bold\"", kInk));
	}
	y += 10;
	// One scale per figure, with a minimum so that a few instructions do not look long.
	double scale = kBar / static_cast<double>(std::max<uint64_t>(longest_bar(fig, false), 100));
	for (const figure_row &row : fig.rows) {
		y += 16;
		out += text_at(20, y, row.name, faint("font-style=\"italic\""));
		y += 5;
		for (const figure_bar &bar : row.bars) {
			out += draw_bar(bar, y, scale, layers);
			y += kLine;
		}
		for (const std::string &words : row.words) {
			out += text_at(kLabel - 60, y + 10, words, faint());
			y += 16;
		}
	}
	out += enlarged(fig, scale, y, layers);
	y += 14;
	return out;
}

} // namespace

std::string svg_figures(const path_table &table, const result_set &set)
{
	std::vector<figure> figures = build_figures(table, set);
	std::vector<std::string> layers = table.layer_names();
	double y = 30;
	std::string body = text_at(20, y, "Instructions on the critical path", "font-size=\"18\" font-weight=\"bold\"");
	y += 20;
	body += text_at(20, y,
			"user instructions of one call, first to last, everything included; " + set.arch + ", engine " +
				set.engine + (set.compiler.empty() ? "" : ", " + set.compiler),
			faint());
	y += 14;
	body += legend(figures, layers, y);
	y += 24;
	for (const figure &fig : figures)
		body += draw_figure(fig, y, layers);
	return open(y + 6) + body + "</svg>\n";
}

} // namespace ic
