/* SPDX-License-Identifier: BSD-3-Clause */
/* report_svg.cpp: the figures as bars, and the latency model as a plot. */
#include <algorithm>
#include <cmath>

#include "report.hpp"
#include "text.hpp"

namespace ic {

namespace {

constexpr double kWidth = 900, kLabel = 300, kBar = 480;
constexpr double kLine = 18, kGap = 12;
constexpr const char *kColours[] = {"#1b6ca8", "#d1495b", "#66a182", "#edae49", "#6f4e7c", "#8d99ae", "#2e4057"};
constexpr const char *kPublished = "#b8bec8";

std::string escape(const std::string &text)
{
	std::string out;
	for (char c : text) {
		switch (c) {
		case '<': out += "&lt;"; break;
		case '>': out += "&gt;"; break;
		case '&': out += "&amp;"; break;
		case '"': out += "&quot;"; break;
		default: out += c;
		}
	}
	return out;
}

std::string text_at(double x, double y, const std::string &text, const char *extra = "")
{
	return format("<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, extra) + escape(text) + "</text>\n";
}

std::string rect(double x, double y, double width, const char *colour, const std::string &tip)
{
	return format("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"><title>", x, y, width,
		      kLine - 5, colour) + escape(tip) + "</title></rect>\n";
}

const char *colour_of(const std::string &layer, const std::vector<std::string> &layers)
{
	size_t at = static_cast<size_t>(std::find(layers.begin(), layers.end(), layer) - layers.begin());
	return kColours[at % (sizeof(kColours) / sizeof(kColours[0]))];
}

/* One bar, in layer colours when the layers are known. */
std::string draw_bar(const figure_bar &bar, double y, double scale, const std::vector<std::string> &layers)
{
	std::string out = text_at(kLabel - 8, y + kLine - 8, bar.who, "text-anchor=\"end\"");
	double x = kLabel;
	if (bar.layers.empty()) {
		double width = std::max(1.0, static_cast<double>(bar.count) * scale);
		out += rect(x, y, width, bar.published ? kPublished : kColours[0], bar.who + ": " + bar.scope);
		x += width;
	}
	for (const auto &[layer, count] : bar.layers) {
		double width = std::max(1.0, static_cast<double>(count) * scale);
		out += rect(x, y, width, colour_of(layer, layers),
			    format("%s: %llu", layer.c_str(), static_cast<unsigned long long>(count)));
		x += width;
	}
	return out + text_at(x + 6, y + kLine - 8, format("%llu", static_cast<unsigned long long>(bar.count)));
}

std::string open_svg(double height)
{
	return format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		      "viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" font-size=\"12\">\n"
		      "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n", kWidth, height, kWidth, height);
}

} // namespace

std::string svg_figures(const std::vector<figure> &figures, const std::vector<std::string> &layers)
{
	std::string body;
	double y = 16;
	double x = 16;
	for (const std::string &layer : layers) {
		body += rect(x, y, 12, colour_of(layer, layers), layer) + text_at(x + 16, y + kLine - 8, layer);
		x += 34 + 7.0 * static_cast<double>(layer.size());
	}
	body += rect(x, y, 12, kPublished, "published") + text_at(x + 16, y + kLine - 8, "published by others");
	y += 2 * kLine;
	for (const figure &fig : figures) {
		y += kLine;
		body += text_at(16, y, "Figure " + fig.id + ": " + fig.title, "font-weight=\"bold\" font-size=\"14\"");
		y += kGap;
		for (const figure_row &row : fig.rows) {
			uint64_t longest = 1;
			for (const figure_bar &bar : row.bars)
				longest = std::max(longest, bar.count);
			y += kLine;
			body += text_at(16, y, row.name, "font-style=\"italic\"");
			y += 4;
			for (const figure_bar &bar : row.bars) {
				body += draw_bar(bar, y, kBar / static_cast<double>(longest), layers);
				y += kLine;
			}
			y += kGap / 2;
		}
		y += kGap;
	}
	return open_svg(y + 16) + body + "</svg>\n";
}

/* Log-log: a straight line for the model, a point for each measured or published count. */
std::string svg_latency(const std::vector<figure> &figures, const latency_model &model)
{
	constexpr double left = 70, top = 40, width = 780, height = 320, decades = 4;
	auto px = [&](double n) { return left + width * std::clamp(std::log10(std::max(n, 1.0)) / decades, 0.0, 1.0); };
	double low = std::log10(model.ns(1));
	auto py = [&](double ns) { return top + height * (1 - std::clamp((std::log10(ns) - low) / decades, 0.0, 1.0)); };
	std::string body = text_at(16, 20, model.text(), "font-weight=\"bold\"");
	for (int d = 0; d <= 4; d++) {
		double n = std::pow(10.0, d);
		body += format("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#dddddd\"/>\n", px(n), top, px(n),
			       top + height);
		body += text_at(px(n), top + height + 16, format("%.0f", n), "text-anchor=\"middle\"");
		double ns = model.ns(1) * n;
		body += format("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#dddddd\"/>\n", left, py(ns),
			       left + width, py(ns));
		body += text_at(left - 6, py(ns) + 4, format("%.3g ns", ns), "text-anchor=\"end\"");
	}
	body += format("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#2e4057\"/>\n", px(1), py(model.ns(1)),
		       px(1e4), py(model.ns(10000)));
	body += text_at(left + width / 2, top + height + 34, "instructions", "text-anchor=\"middle\"");
	for (const figure &fig : figures)
		for (const figure_row &row : fig.rows)
			for (const figure_bar &bar : row.bars) {
				double n = static_cast<double>(bar.count);
				body += format("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"><title>", px(n),
					       py(model.ns(std::max<uint64_t>(bar.count, 1))), bar.published ? kPublished : kColours[0]);
				body += escape(format("%s, %s: %llu instructions, %.1f ns", row.name.c_str(), bar.who.c_str(),
						      static_cast<unsigned long long>(bar.count), model.ns(bar.count)));
				body += "</title></circle>\n";
			}
	return open_svg(top + height + 50) + body + "</svg>\n";
}

std::string html_report(const path_table &table, const result_set &set, const latency_model &model)
{
	std::vector<figure> figures = build_figures(table, set);
	std::string out = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
		"<title>Instructions on the critical path</title>\n<style>body{font-family:sans-serif;margin:2em;max-width:1000px}"
		"table{border-collapse:collapse}td,th{padding:2px 10px;border-bottom:1px solid #ddd;text-align:left}"
		"td.n{text-align:right}tr.over{background:#fbe3e4}tr.none{color:#888}</style></head><body>\n";
	out += "<h1>Instructions on the critical path</h1>\n<p>" + escape(set.arch) + ", engine " + escape(set.engine) +
	       ", user mode, one steady-state call. Grey bars are numbers published by others.</p>\n";
	out += svg_figures(figures, table.layer_names());
	out += "<h2>Latency model</h2>\n" + svg_latency(figures, model);
	out += "<h2>All paths</h2>\n<table><tr><th>path</th><th>instructions</th><th>budget</th><th>system calls</th>"
	       "<th>split</th><th>what</th></tr>\n";
	for (const path_result &r : set.results) {
		bool ok = r.status == path_status::ok;
		std::vector<std::string> parts;
		for (const auto &[layer, count] : r.layers)
			parts.push_back(format("%s %llu", layer.c_str(), static_cast<unsigned long long>(count)));
		out += r.over_budget() ? "<tr class=\"over\">" : ok ? "<tr>" : "<tr class=\"none\">";
		out += "<td>" + escape(r.path) + "</td><td class=\"n\">" +
		       (ok ? format("%llu", static_cast<unsigned long long>(r.median)) : escape(status_text(r.status))) +
		       "</td><td class=\"n\">" + (r.budget != 0 ? format("%llu", static_cast<unsigned long long>(r.budget)) : "-") +
		       "</td><td class=\"n\">" + format("%llu", static_cast<unsigned long long>(r.syscalls)) + "</td><td>" +
		       escape(join(parts, " | ")) + "</td><td>" + escape(r.description) + "</td></tr>\n";
	}
	return out + "</table>\n</body></html>\n";
}

} // namespace ic
