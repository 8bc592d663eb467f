// SPDX-License-Identifier: BSD-3-Clause
//
// The same rows with increasing numbers of PEs: a table with a line per library, and a small plot per row. A table that
// was written before can be read again, to draw some of its rows.
#include "compare.hpp"

#include <pgas/pgas_svg.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

namespace bench {
namespace {

constexpr double kWide = 250, kHigh = 170, kLeft = 46, kRight = 14, kAbove = 28, kBelow = 26, kTop = 52;
constexpr size_t kAcross = 4;
constexpr int kLabelWide = 30, kLibraryWide = 12; // columns of the table

struct plot { // of one row: maps its values to coordinates
	const scaling &s;
	double x0, y0, low, high;

	double x(size_t k) const
	{
		const double first = std::log2(s.pes.front()), last = std::log2(s.pes.back());
		const double addr = last > first ? (std::log2(s.pes[k]) - first) / (last - first) : 0;
		return x0 + kLeft + addr * (kWide - kLeft - kRight);
	}
	double y(double value) const
	{
		return y0 + kAbove + (kHigh - kAbove - kBelow) * (high - std::log10(value)) / (high - low);
	}
};

std::string short_time(double ns)
{
	char text[32];
	const double v = ns >= 1e6 ? ns / 1e6 : ns >= 1e3 ? ns / 1e3 : ns;
	snprintf(text, sizeof text, "%.*f %s", v < 10 ? 1 : 0, v, ns >= 1e6 ? "ms" : ns >= 1e3 ? "us" : "ns");
	return text;
}

using pgas::svg::attributes;
using pgas::svg::picture;

void draw_axes(picture &out, const plot &p, const row &r)
{
	const attributes small_end = {{"text-anchor", "end"}, {"font-size", 9}},
			 small_middle = {{"text-anchor", "middle"}, {"font-size", 9}};
	out.text(p.x0 + 8, p.y0 + 16, r.label, {{"font-weight", "bold"}});
	for (int decade = static_cast<int>(std::ceil(p.low)); decade <= static_cast<int>(p.high); decade++) {
		const double v = std::pow(10, decade), y = p.y(v);
		out.line(p.x0 + kLeft, y, p.x0 + kWide - kRight, y, "#ccc");
		out.text(p.x0 + kLeft - 4, y + 3, short_time(v), small_end);
	}
	for (size_t k = 0; k < p.s.pes.size(); k++)
		out.text(p.x(k), p.y0 + kHigh - 12, std::to_string(p.s.pes[k]), small_middle);
}

void draw_row(picture &out, const plot &p, const row &r)
{
	draw_axes(out, p, r);
	for (size_t library = 0; library < p.s.libraries.size(); library++) {
		const char *colour = kColours[library % 4];
		std::vector<pgas::svg::point> line;
		for (size_t k = 0; k < p.s.pes.size(); k++) {
			const double v = p.s.at(library, k).best(r);
			if (v <= 0)
				continue;
			line.push_back({p.x(k), p.y(v)});
			out.circle(p.x(k), p.y(v), 2.5, {{"fill", colour}},
				   std::to_string(p.s.pes[k]) + " PEs: " + short_time(v));
		}
		out.polyline(line, colour, {{"stroke-width", 1.5}});
	}
}

// growth: the time divided by the time at the first number of PEs. The table's head shows the same for the logarithm.
void write_table(std::FILE *out, const scaling &s)
{
	const std::vector<row> &rows = s.rows;
	fprintf(out, "%-*s %-*s", kLabelWide, "best, in ns", kLibraryWide, "PEs");
	for (const int n : s.pes)
		fprintf(out, "%12d", n);
	fprintf(out, "\n%-*s %-*s", kLabelWide, "", kLibraryWide, "log2, grown");
	for (const int n : s.pes)
		fprintf(out, "%12.2f", std::log2(n) / std::log2(s.pes.front()));
	fputc('\n', out);
	for (size_t i = 0; i < rows.size(); i++) {
		const row &r = rows[i];
		fprintf(out, "%s%-*s", i && rows[i - 1].group != r.group ? "\n" : "", kLabelWide, r.label.c_str());
		for (size_t library = 0; library < s.libraries.size(); library++) {
			fprintf(out, "%*s %-*s", library ? kLabelWide : 0, "", kLibraryWide,
				s.libraries[library].c_str());
			for (size_t k = 0; k < s.pes.size(); k++) {
				const double v = s.at(library, k).best(r);
				v > 0 ? fprintf(out, "%12.*f", v < 1000 ? 1 : 0, v) : fprintf(out, "%12s", "-");
			}
			fputc('\n', out);
		}
		const double first = s.at(0, 0).best(r);
		fprintf(out, "%*s %-*s", kLabelWide, "", kLibraryWide, "grown");
		for (size_t k = 0; k < s.pes.size(); k++)
			fprintf(out, "%12.2f", first > 0 ? s.at(0, k).best(r) / first : 0);
		fputc('\n', out);
		if (s.libraries.size() < 2)
			continue;
		fprintf(out, "%*s %-*s", kLabelWide, "", kLibraryWide, "times faster");
		for (size_t k = 0; k < s.pes.size(); k++) {
			const double v = speedup(r, s.at(0, k), s.at(1, k));
			v > 0 ? fprintf(out, "%11.2fx", v) : fprintf(out, "%12s", "-");
		}
		fputc('\n', out);
	}
}

void write_csv(std::FILE *out, const scaling &s)
{
	fputs("row,library,pes,best_ns,median_ns\n", out);
	for (const row &r : s.rows)
		for (size_t library = 0; library < s.libraries.size(); library++)
			for (size_t k = 0; k < s.pes.size(); k++)
				fprintf(out, "%s,%s,%d,%g,%g\n", r.name.c_str(), s.libraries[library].c_str(), s.pes[k],
					s.at(library, k).best(r), s.at(library, k).median(r));
}

void write_json(pgas::json_writer &out, const scaling &s)
{
	out.line().key("pes").begin_array();
	for (size_t k = 0; k < s.columns.size(); k++)
		out.value(s.pes[k % s.pes.size()]);
	out.end_array();
	write_columns(out, s.rows, s.columns);
}

std::string draw(const scaling &s)
{
	const size_t down = (s.rows.size() + kAcross - 1) / kAcross;
	const double width = kWide * static_cast<double>(std::min(kAcross, s.rows.size())),
		     height = kTop + kHigh * static_cast<double>(down);
	picture out;
	out.text(8, 20, "Time by number of PEs", {{"font-size", 14}, {"font-weight", "bold"}});
	out.text(8, 36,
		 (s.about.empty() ? "one host" : s.about) + "; best samples; both scales logarithmic; lower is better",
		 {{"font-size", 10}, {"fill", "#666"}});
	for (size_t library = 0; library < s.libraries.size(); library++) {
		const double x = 200 + 90 * static_cast<double>(library);
		out.rect(x, 11, 10, 10, {{"fill", kColours[library % 4]}});
		out.text(x + 14, 20, s.libraries[library]);
	}
	for (size_t i = 0; i < s.rows.size(); i++) {
		double low = 1e300, high = 0;
		for (const column &c : s.columns)
			if (const double v = c.best(s.rows[i]); v > 0)
				low = std::min(low, v), high = std::max(high, v);
		if (high == 0)
			continue;
		const plot p{s, kWide * static_cast<double>(i % kAcross),
			     kTop + kHigh * static_cast<double>(i / kAcross), std::floor(std::log10(low)),
			     std::ceil(std::log10(high) + 1e-9)};
		draw_row(out, p, s.rows[i]);
	}
	return out.document(
		{width, height, {{"font-family", "sans-serif"}, {"font-size", 11}, {"fill", "#222"}}, "#fff"});
}

std::string trimmed(const std::string &text)
{
	const size_t first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
	return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

// A line of the table: label, library, and a number for each number of PEs.
struct table_line {
	std::string label, library;
	words numbers;

	explicit table_line(const std::string &line)
	{
		const size_t after = kLabelWide + 1 + kLibraryWide;
		if (line.size() <= after)
			return;
		label = trimmed(line.substr(0, kLabelWide));
		library = trimmed(line.substr(kLabelWide, after - kLabelWide));
		std::istringstream rest(line.substr(after));
		for (std::string one; rest >> one;)
			numbers.push_back(one);
	}
};

bool read_head(std::istream &file, scaling &s)
{
	std::string line;
	std::getline(file, line);
	for (const std::string &n : table_line(line).numbers)
		s.pes.push_back(atoi(n.c_str()));
	std::getline(file, line); // how much the logarithm has grown
	return s.pes.size() > 1 && std::ranges::min(s.pes) > 1 && file.good();
}

void add_samples(scaling &s, size_t library, const row &r, const words &numbers)
{
	for (size_t k = 0; k < s.pes.size(); k++)
		if (const double v = atof(numbers[k].c_str()); v > 0)
			s.columns[library * s.pes.size() + k].by_row[r.name].values = {v};
}

} // namespace

bool read_scaling(const std::string &name, scaling &s)
{
	std::ifstream file(name);
	if (!file || !read_head(file, s))
		return false;
	const row *current = nullptr;
	for (std::string text; std::getline(file, text);) {
		const table_line line(text);
		if (!line.label.empty()) {
			const auto found = std::ranges::find(s.rows, line.label, &row::label);
			current = found == s.rows.end() ? nullptr : &*found;
		}
		const bool is_derived = line.library == "grown" || line.library == "times faster";
		if (is_derived || line.numbers.size() != s.pes.size())
			continue;
		const auto library =
			static_cast<size_t>(std::ranges::find(s.libraries, line.library) - s.libraries.begin());
		if (library == s.libraries.size()) {
			s.libraries.push_back(line.library);
			s.columns.resize(s.columns.size() + s.pes.size());
		}
		if (current)
			add_samples(s, library, *current, line.numbers);
	}
	std::erase_if(s.rows, [&](const row &r) { return s.columns.empty() || s.at(0, 0).best(r) <= 0; });
	return !s.rows.empty();
}

int write_scaling(const command_line &line, const scaling &s)
{
	const bool written = write_report(line, {write_table, write_csv, write_json, draw}, s);
	return written && s.columns[0].by_row.size() ? 0 : 1;
}

} // namespace bench
