// SPDX-License-Identifier: BSD-3-Clause
// svg_draw.hpp: the few shapes and colours that the pictures use. Plain SVG without scripts or fonts of its own, so
// that it looks the same everywhere.
#pragma once

#include <string>

#include "text.hpp"

namespace ic::svg {

constexpr double kWidth = 1000, kBarHeight = 13;
constexpr const char *kOurs = "#1f6fb2", *kPeer = "#e6a23c", *kQuoted = "#c9ced6", *kQuotedInk = "#9aa3b2";
constexpr const char *kInk = "#1d2433", *kFaint = "#6a7385", *kRule = "#e3e6eb";

inline std::string text_at(double x, double y, const std::string &text, const std::string &extra = "")
{
	return format("<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, extra.c_str()) + escape_markup(text) + "</text>\n";
}

inline std::string rect(double x, double y, double width, const char *colour, const std::string &tip)
{
	return format("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"><title>", x, y, width,
		      kBarHeight, colour) +
	       escape_markup(tip) + "</title></rect>\n";
}

inline std::string line(double x1, double y1, double x2, double y2, const char *colour, const char *extra = "")
{
	return format("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" %s/>\n", x1, y1, x2, y2,
		      colour, extra);
}

inline std::string faint(const char *more = "")
{
	return format("fill=\"%s\" font-size=\"11\" %s", kFaint, more);
}

inline std::string open(double height)
{
	return format(
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
		"font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" font-size=\"12\" fill=\"%s\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
		kWidth, height, kWidth, height, kInk);
}

} // namespace ic::svg
