// SPDX-License-Identifier: BSD-3-Clause
// svg_draw.hpp: the colours and the few shapes that both pictures use, drawn by the SVG writer of base/.
#pragma once

#include <pgas/pgas_svg.hpp>

#include <string>

namespace ic::svg {

using pgas::svg::attributes;
using pgas::svg::picture;

constexpr double kWidth = 1000, kBarHeight = 13;
constexpr const char *kOurs = "#1f6fb2", *kPeer = "#e6a23c", *kQuoted = "#c9ced6", *kQuotedInk = "#9aa3b2";
constexpr const char *kInk = "#1d2433", *kFaint = "#6a7385", *kRule = "#e3e6eb";

inline attributes heading(double size)
{
	return {{"font-size", size}, {"font-weight", "bold"}};
}

inline attributes small_text(const char *colour = kInk, const char *anchor = "start")
{
	return {{"fill", colour}, {"font-size", 11}, {"text-anchor", anchor}};
}

inline attributes small_bold_text(const char *colour = kInk, const char *anchor = "start")
{
	return {{"fill", colour}, {"font-size", 11}, {"text-anchor", anchor}, {"font-weight", "bold"}};
}

inline void draw_box(picture &out, double x, double y, double width, const char *colour, const std::string &tip)
{
	out.rect(x, y, width, kBarHeight, {{"fill", colour}}, tip);
}

inline std::string document(const picture &out, double height)
{
	return out.document(
		{kWidth,
		 height,
		 {{"font-family", "Helvetica, Arial, 'DejaVu Sans', sans-serif"}, {"font-size", 12}, {"fill", kInk}},
		 "#ffffff"});
}

} // namespace ic::svg
