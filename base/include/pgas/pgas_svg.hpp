// SPDX-License-Identifier: BSD-3-Clause
//
// The SVG writer of all our programs: a few shapes with attributes, collected as text. A picture has no scripts and no
// fonts of its own, so that it looks the same everywhere. For our own programs: C++, inline, not installed.
//
// A program draws first and says the size of the picture last, when it knows how far it got. Every text and every value
// of an attribute is escaped here, coordinates have at most two decimals, and what is equal prints equal bytes.
#pragma once

#include <cmath>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace pgas::svg {

// For XML and HTML. Control characters cannot be in XML, and are left out.
inline std::string escaped(std::string_view text)
{
	std::string out;
	for (const char c : text) {
		if (c == '<')
			out += "&lt;";
		else if (c == '>')
			out += "&gt;";
		else if (c == '&')
			out += "&amp;";
		else if (c == '"')
			out += "&quot;";
		else if (static_cast<unsigned char>(c) >= 0x20)
			out += c;
	}
	return out;
}

// At most two decimals, without trailing zeros. What is not a number is 0: a viewer would refuse the picture.
inline std::string number(double v)
{
	char text[64];
	std::snprintf(text, sizeof text, "%.2f", std::isfinite(v) ? v : 0.0);
	std::string out = text;
	out.erase(out.find_last_not_of('0') + 1);
	if (out.back() == '.')
		out.pop_back();
	return out == "-0" ? "0" : out;
}

struct attribute {
	std::string name, value;
	attribute(const char *name_arg, std::string_view text) : name(name_arg), value(text) {}
	attribute(const char *name_arg, double v) : name(name_arg), value(number(v)) {}
};
using attributes = std::vector<attribute>;

struct point {
	double x, y;
};

struct page {
	double width, height;
	attributes root{};        // of the whole picture: font, colour of text
	std::string_view paper{}; // colour behind everything; empty: none
	std::string_view style{}; // a style sheet, for class attributes
};

class picture {
public:
	void text(double x, double y, std::string_view words, const attributes &more = {})
	{
		element("text", {{"x", x}, {"y", y}}, more, ">" + escaped(words) + "</text>\n");
	}
	// tip: shown when the pointer is over the shape; empty: none
	void rect(double x, double y, double width, double height, const attributes &more, std::string_view tip = {})
	{
		element("rect", {{"x", x}, {"y", y}, {"width", width}, {"height", height}}, more, ending("rect", tip));
	}
	void line(double x1, double y1, double x2, double y2, std::string_view colour, const attributes &more = {})
	{
		element("line", {{"x1", x1}, {"y1", y1}, {"x2", x2}, {"y2", y2}, {"stroke", colour}}, more, "/>\n");
	}
	void circle(double x, double y, double radius, const attributes &more, std::string_view tip = {})
	{
		element("circle", {{"cx", x}, {"cy", y}, {"r", radius}}, more, ending("circle", tip));
	}
	void polyline(const std::vector<point> &points, std::string_view colour, const attributes &more = {},
		      std::string_view tip = {})
	{
		std::string list;
		for (const point &p : points)
			list += (list.empty() ? "" : " ") + number(p.x) + "," + number(p.y);
		element("polyline", {{"points", list}, {"fill", "none"}, {"stroke", colour}}, more,
			ending("polyline", tip));
	}
	// The whole picture.
	std::string document(const page &p) const
	{
		picture outer;
		outer.element("svg",
			      {{"xmlns", "http://www.w3.org/2000/svg"},
			       {"width", p.width},
			       {"height", p.height},
			       {"viewBox", "0 0 " + number(p.width) + " " + number(p.height)}},
			      p.root, ">\n");
		if (!p.style.empty())
			outer.body_ += "<style>" + escaped(p.style) + "</style>\n";
		if (!p.paper.empty())
			outer.element("rect", {{"width", "100%"}, {"height", "100%"}, {"fill", p.paper}}, {}, "/>\n");
		return outer.body_ + body_ + "</svg>\n";
	}

private:
	static std::string ending(const char *name, std::string_view tip)
	{
		return tip.empty() ? "/>\n" : "><title>" + escaped(tip) + "</title></" + name + ">\n";
	}
	void element(const char *name, std::initializer_list<attribute> place, const attributes &more,
		     std::string_view end)
	{
		body_ += std::string("<") + name;
		for (const attribute &a : place)
			body_ += " " + a.name + "=\"" + escaped(a.value) + "\"";
		for (const attribute &a : more)
			body_ += " " + a.name + "=\"" + escaped(a.value) + "\"";
		body_ += end;
	}

	std::string body_;
};

} // namespace pgas::svg
