// SPDX-License-Identifier: BSD-3-Clause
// test_writers.cpp: the writers of SVG and JSON: what they escape, and where commas and new lines stand.
#include <pgas/pgas_json.hpp>
#include <pgas/pgas_svg.hpp>

#include <cstdint>
#include <limits>

#include "tests/check.h"

namespace {

using pgas::json_writer;
using pgas::svg::picture;

bool has(const std::string &text, const char *part)
{
	return text.find(part) != std::string::npos;
}

void test_json_forms()
{
	json_writer spaced;
	spaced.begin_object().member("a", 1).key("b").begin_array().value("x").value(true).null().end_array();
	CHECK_STR(spaced.end_object().take().c_str(), "{\"a\": 1, \"b\": [\"x\", true, null]}\n");
	json_writer compact(json_writer::form::compact);
	compact.begin_object().member("a", -1).line().key("b").begin_array().value("x").value(false).end_array();
	CHECK_STR(compact.line().end_object().take().c_str(), "{\"a\":-1,\n\"b\":[\"x\",false]\n}\n");
}

void test_json_lines_are_indented_by_depth()
{
	json_writer out;
	out.begin_object().line().key("list").begin_array();
	out.line().begin_object().end_object().line().begin_object().end_object();
	out.line().end_array().line().end_object();
	CHECK_STR(out.take().c_str(), "{\n  \"list\": [\n    {},\n    {}\n  ]\n}\n");
}

void test_json_pieces_make_one_text()
{
	json_writer out;
	std::string all = out.begin_array().value(1).take();
	CHECK_STR(all.c_str(), "[1");
	all += out.value(2).take();
	all += out.end_array().take();
	CHECK_STR(all.c_str(), "[1, 2]\n");
	CHECK_STR(out.take().c_str(), "");
}

void test_json_escapes_and_limits()
{
	json_writer out;
	out.begin_array().value("a\"b\\c\nd\x01").value(static_cast<const char *>(nullptr)).value(std::string("ü"));
	CHECK_STR(out.end_array().take().c_str(), "[\"a\\\"b\\\\c\\u000ad\\u0001\", null, \"ü\"]\n");
	out.begin_array().value(std::numeric_limits<uint64_t>::max()).value(std::numeric_limits<int64_t>::min());
	CHECK_STR(out.end_array().take().c_str(), "[18446744073709551615, -9223372036854775808]\n");
	const double inf = std::numeric_limits<double>::infinity();
	out.begin_array().fixed(1.0 / 3, 9).real(1e-7).real(1e300).real(inf).fixed(-inf, 1).real(inf - inf);
	CHECK_STR(out.end_array().take().c_str(), "[0.333333333, 1e-07, 1e+300, null, null, null]\n");
	out.begin_array().fixed(1e300, 2); // longer than any number that we write, and still whole
	CHECK(out.end_array().take().size() == 301 + 3 + 3);
}

void test_svg_numbers()
{
	using pgas::svg::number;
	CHECK_STR(number(1).c_str(), "1");
	CHECK_STR(number(100).c_str(), "100");
	CHECK_STR(number(1.5).c_str(), "1.5");
	CHECK_STR(number(2.0 / 3).c_str(), "0.67");
	CHECK_STR(number(-0.001).c_str(), "0");
	CHECK_STR(number(std::numeric_limits<double>::quiet_NaN()).c_str(), "0");
}

void test_svg_escapes()
{
	CHECK_STR(pgas::svg::escaped("a<b>&\"c\"\x01\n").c_str(), "a&lt;b&gt;&amp;&quot;c&quot;");
	picture out;
	out.text(1, 2, "1 < 2", {{"class", "a\"b"}});
	out.rect(0, 0, 1, 1, {{"fill", "#fff"}}, "R&D");
	const std::string text = out.document({10, 20});
	CHECK(has(text, "<text x=\"1\" y=\"2\" class=\"a&quot;b\">1 &lt; 2</text>\n"));
	CHECK(has(text,
		  "<rect x=\"0\" y=\"0\" width=\"1\" height=\"1\" fill=\"#fff\"><title>R&amp;D</title></rect>\n"));
}

void test_svg_document()
{
	picture out;
	out.line(0, 1, 2, 3, "#000");
	out.circle(1, 2, 3, {{"fill", "red"}});
	out.polyline({{0, 1}, {2.5, 3}}, "blue", {{"stroke-width", 2}});
	const std::string text = out.document({10, 20, {{"font-size", 11}}, "#ffffff", ".a{fill:red}"});
	CHECK_STR(text.c_str(),
		  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"10\" height=\"20\" viewBox=\"0 0 10 20\" "
		  "font-size=\"11\">\n"
		  "<style>.a{fill:red}</style>\n"
		  "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
		  "<line x1=\"0\" y1=\"1\" x2=\"2\" y2=\"3\" stroke=\"#000\"/>\n"
		  "<circle cx=\"1\" cy=\"2\" r=\"3\" fill=\"red\"/>\n"
		  "<polyline points=\"0,1 2.5,3\" fill=\"none\" stroke=\"blue\" stroke-width=\"2\"/>\n"
		  "</svg>\n");
	CHECK_STR(picture().document({1, 1}).c_str(),
		  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1\" height=\"1\" viewBox=\"0 0 1 1\">\n</svg>\n");
}

} // namespace

int main()
{
	test_json_forms();
	test_json_lines_are_indented_by_depth();
	test_json_pieces_make_one_text();
	test_json_escapes_and_limits();
	test_svg_numbers();
	test_svg_escapes();
	test_svg_document();
	return 0;
}
