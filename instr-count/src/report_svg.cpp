// SPDX-License-Identifier: BSD-3-Clause
// report_svg.cpp: the figures as bars, and the latency model as a plot. Plain
// SVG without scripts or fonts of its own, so that it shows alike everywhere.
#include <algorithm>
#include <cmath>
#include <set>

#include "report.hpp"
#include "text.hpp"

namespace ic {

namespace {

constexpr double kWidth = 1000, kLabel = 232, kBar = 400;
constexpr double kLine = 19, kBarHeight = 13;
constexpr const char *kColours[] = {"#1f6fb2", "#c8414f", "#4f9d69", "#e6a23c", "#6b5b95", "#7d8aa0", "#2e4057"};
constexpr const char *kQuoted = "#c9ced6", *kGrey = "#9aa3b2";
constexpr const char *kInk = "#1d2433", *kFaint = "#6a7385", *kRule = "#e3e6eb";

std::string text_at(double x, double y, const std::string &text, const std::string &extra = "")
{
	return format("<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, extra.c_str()) + escape_markup(text) + "</text>\n";
}

std::string rect(double x, double y, double width, const char *colour, const std::string &tip)
{
	return format("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"><title>", x, y, width,
		      kBarHeight, colour) +
	       escape_markup(tip) + "</title></rect>\n";
}

std::string line(double x1, double y1, double x2, double y2, const char *colour)
{
	return format("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", x1, y1, x2, y2,
		      colour);
}

const char *colour_of(const std::string &layer, const std::vector<std::string> &layers)
{
	size_t at = static_cast<size_t>(std::find(layers.begin(), layers.end(), layer) - layers.begin());
	return kColours[at % (sizeof(kColours) / sizeof(kColours[0]))];
}

std::string faint(const char *more = "")
{
	return format("fill=\"%s\" font-size=\"11\" %s", kFaint, more);
}

// One bar in layer colours where the layers are known; behind it the number and what it consists of.
std::string draw_bar(const figure_bar &bar, double y, double scale, const std::vector<std::string> &layers)
{
	bool ours = bar.kind == bar_kind::ours;
	std::string out = text_at(kLabel - 10, y + 11, bar.who,
				  ours ? "text-anchor=\"end\" font-weight=\"bold\"" : "text-anchor=\"end\"");
	double x = kLabel;
	std::string tip = bar.who + ": " + bar.scope;
	if (bar.layers.empty()) {
		double width = std::max(1.5, static_cast<double>(bar.count) * scale);
		out += rect(x, y, width, bar.kind == bar_kind::quoted ? kQuoted : kColours[5], tip);
		x += width;
	}
	std::vector<std::string> parts;
	for (const auto &[layer, count] : bar.layers) {
		double width = std::max(1.5, static_cast<double>(count) * scale);
		parts.push_back(format("%s %llu", layer.c_str(), static_cast<unsigned long long>(count)));
		out += rect(x, y, width, colour_of(layer, layers), parts.back());
		x += width;
	}
	std::string number = format("%llu", static_cast<unsigned long long>(bar.count));
	out += text_at(x + 7, y + 11, number, ours ? "font-weight=\"bold\"" : "");
	x += 15 + 7.4 * static_cast<double>(number.size());
	return out + text_at(x, y + 11, parts.empty() ? bar.scope : join(parts, " + "), faint());
}

std::string open_svg(double height)
{
	return format(
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
		"font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" font-size=\"12\" fill=\"%s\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
		kWidth, height, kWidth, height, kInk);
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

// "Figure 6" is the paper's; a letter is ours.
std::string heading(const figure &fig)
{
	bool papers = !fig.id.empty() && fig.id[0] >= '0' && fig.id[0] <= '9';
	return papers ? "Figure " + fig.id + " of the paper. " + fig.title : fig.title;
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
	for (const figure &fig : figures) {
		body += line(20, y, kWidth - 20, y, kRule);
		y += 24;
		body += text_at(20, y, heading(fig), "font-size=\"14\" font-weight=\"bold\"");
		y += 10;
		// One scale per figure, and none that makes a few instructions look long.
		uint64_t longest = 100;
		for (const figure_row &row : fig.rows)
			for (const figure_bar &bar : row.bars)
				longest = std::max(longest, bar.count);
		for (const figure_row &row : fig.rows) {
			y += 16;
			body += text_at(20, y, row.name, faint("font-style=\"italic\""));
			y += 5;
			for (const figure_bar &bar : row.bars) {
				body += draw_bar(bar, y, kBar / static_cast<double>(longest), layers);
				y += kLine;
			}
		}
		y += 14;
	}
	return open_svg(y + 6) + body + "</svg>\n";
}

// Log-log: a straight line for the model, a point for each counted or quoted number.
std::string svg_latency(const std::vector<figure> &figures, const latency_model &model)
{
	constexpr double left = 80, top = 64, width = 890, height = 330, decades = 4;
	auto px = [&](double n) { return left + width * std::clamp(std::log10(std::max(n, 1.0)) / decades, 0.0, 1.0); };
	double low = std::log10(model.ns(1));
	auto py = [&](double ns) {
		return top + height * (1 - std::clamp((std::log10(ns) - low) / decades, 0.0, 1.0));
	};
	std::string body = text_at(20, 26, "Software overhead of one call (the model of the paper's Figure 5)",
				   "font-size=\"14\" font-weight=\"bold\"");
	body += text_at(20, 45, model.text(), faint());
	for (int d = 0; d <= decades; d++) {
		double n = std::pow(10.0, d), ns = model.ns(1) * n;
		body += line(px(n), top, px(n), top + height, kRule) + line(left, py(ns), left + width, py(ns), kRule);
		body += text_at(px(n), top + height + 17, format("%.0f", n), faint("text-anchor=\"middle\""));
		body += text_at(left - 8, py(ns) + 4, ns < 1000 ? format("%.3g ns", ns) : format("%.3g us", ns / 1000),
				faint("text-anchor=\"end\""));
	}
	body += line(px(1), py(model.ns(1)), px(1e4), py(model.ns(10000)), kFaint);
	body += text_at(left + width / 2, top + height + 36, "instructions", faint("text-anchor=\"middle\""));
	// Ours is drawn last, on top. Only rows of the paper show a name; others show theirs under the pointer.
	double label_x = 0;
	for (bar_kind kind : {bar_kind::quoted, bar_kind::peer, bar_kind::ours})
		for (const figure &fig : figures)
			for (const figure_row &row : fig.rows)
				for (const figure_bar &bar : row.bars) {
					if (bar.kind != kind)
						continue;
					const uint64_t n = std::max<uint64_t>(bar.count, 1);
					double x = px(static_cast<double>(n)), y = py(model.ns(n));
					const char *colour = kind == bar_kind::quoted ? kGrey
							     : kind == bar_kind::peer ? kColours[3]
										      : kColours[0];
					body += format("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" fill=\"%s\" "
						       "fill-opacity=\"0.85\"><title>",
						       x, y, colour);
					body += escape_markup(format(
						"%s, %s: %llu instructions, %.1f ns", row.name.c_str(), bar.who.c_str(),
						static_cast<unsigned long long>(bar.count), model.ns(bar.count)));
					body += "</title></circle>\n";
					if (fig.id == "6" && row.name == fig.rows[0].name) {
						// To the left above the line; to the right below it where the last one
						// is close.
						bool above = std::fabs(x - label_x) > 40;
						body += text_at(x + (above ? -9 : 9), y + (above ? -6 : 15), bar.who,
								faint(above ? "text-anchor=\"end\"" : ""));
						label_x = x;
					}
				}
	double x = left + 12;
	for (auto [colour, text] :
	     {std::pair{kColours[0], "this project"}, {kColours[3], "counted in the same run"}, {kGrey, "quoted"}}) {
		body += format("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" fill=\"%s\"/>\n", x, top + 16, colour);
		body += text_at(x + 10, top + 20, text);
		x += 190;
	}
	return open_svg(top + height + 50) + body + "</svg>\n";
}

} // namespace ic
