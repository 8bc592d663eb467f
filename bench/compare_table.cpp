// SPDX-License-Identifier: BSD-3-Clause
//
// The results as a table, as CSV and as JSON, and the parts of tables that other drivers use too.
#include "compare.hpp"

#include <algorithm>

namespace bench {
namespace {

constexpr int kRatio = 12;

std::string ratio(double v)
{
	char text[32];
	snprintf(text, sizeof text, v >= 100 ? "%.0fx" : v >= 10 ? "%.1fx" : "%.2fx", v);
	return v == 0 ? "-" : text;
}

void write_table(std::FILE *out, const comparison &all)
{
	const std::vector<row> &rows = all.rows;
	const std::vector<column> &columns = all.columns;
	const int label = label_width(rows);
	const column &base = columns[1];
	fprintf(out, "%-*s    %-5s", label, "", "");
	for (const column &c : columns)
		fprintf(out, "  %20s", c.title.c_str());
	fprintf(out, "  %*s\n%-*s    %-5s", kRatio, ("times " + base.title).c_str(), label, "row", "unit");
	for (size_t i = 0; i < columns.size(); i++)
		fprintf(out, "  %10s%10s", "best", "median");
	for (const column &c : columns)
		if (&c != &base)
			fprintf(out, "  %*s", kRatio, c.title.c_str());
	fputc('\n', out);
	for (size_t i = 0; i < rows.size(); i++) {
		const row &r = rows[i];
		if (i && rows[i - 1].group != r.group)
			fputc('\n', out);
		fprintf(out, "%-*s %c  %-5s", label, r.label.c_str(), r.delivered ? 'd' : 'c', r.unit.c_str());
		for (const column &c : columns) {
			if (c.best(r) == 0)
				fprintf(out, "  %20s", shown_failure(c, r).c_str());
			else
				fprintf(out, "  %10s%10s", number(c.best(r)).c_str(), number(c.median(r)).c_str());
		}
		for (const column &c : columns)
			if (&c != &base)
				fprintf(out, "  %*s", kRatio, ratio(speedup(r, c, base)).c_str());
		fputc('\n', out);
	}
	fprintf(out,
		"\nns: less is better; Mop/s, MB/s: more is better. times %s: by best, above 1 is faster than %s.\n"
		"d: the clock stops when every byte is at its destination (seen there, or in hand for reads and "
		"messages).\n"
		"c: each operation waits for its counter only; the end of the sample waits for the data.\n",
		base.title.c_str(), base.title.c_str());
}

void write_csv(std::FILE *out, const comparison &all)
{
	fprintf(out, "row,group,unit,end,column,best,median,samples,failure,times_%s\n", all.columns[1].title.c_str());
	for (const row &r : all.rows)
		for (const column &c : all.columns)
			fprintf(out, "%s,%s,%s,%s,%s,%g,%g,%zu,%s,%g\n", r.name.c_str(), r.group.c_str(),
				r.unit.c_str(), r.delivered ? "delivered" : "counted", csv_field(c.title).c_str(),
				c.best(r), c.median(r), c.count(r), c.failure(r).c_str(),
				speedup(r, c, all.columns[1]));
}

void write_json(pgas::json_writer &out, const comparison &all)
{
	write_columns(out, all.rows, all.columns);
}

std::string draw(const comparison &all)
{
	const column &base = all.columns[1];
	bar_plot plot{"How many times faster than " + base.title,
		      "two processes, one host; best samples; log scale; paler: slower",
		      {}};
	for (size_t i = 0; i < all.rows.size(); i++) {
		plot.labels.push_back(all.rows[i].label);
		if (i && all.rows[i].group != all.rows[i - 1].group)
			plot.gaps.push_back(i);
	}
	for (const column &c : all.columns) {
		if (&c == &base)
			continue;
		plot.columns.push_back({c.title, {}});
		for (const row &r : all.rows)
			plot.columns.back().ratios.push_back(speedup(r, c, base));
	}
	return draw_bars(plot);
}

} // namespace

std::string number(double v)
{
	char text[32];
	snprintf(text, sizeof text, v >= 1000 ? "%.0f" : v >= 100 ? "%.1f" : v >= 1 ? "%.2f" : "%.3f", v);
	return text;
}

std::string shown_failure(const column &c, const row &r)
{
	const std::string text = c.failure(r);
	return text.empty() ? "-" : text;
}

int label_width(const std::vector<row> &rows)
{
	size_t width = 4;
	for (const row &r : rows)
		width = std::max(width, r.label.size());
	return static_cast<int>(width);
}

std::string csv_field(const std::string &text)
{
	return text.find(',') == std::string::npos ? text : '"' + text + '"';
}

void write_columns(pgas::json_writer &out, const std::vector<row> &rows, const std::vector<column> &columns)
{
	out.line().key("columns").begin_array();
	for (const column &c : columns) {
		out.line().begin_object().member("title", c.title);
		if (!c.expected.empty()) {
			out.member("refused", c.refusal).key("places").begin_array();
			for (const std::string &place : c.places)
				out.value(place);
			out.end_array();
		}
		out.key("rows").begin_array();
		for (const row &r : rows) {
			const auto it = c.by_row.find(r.name);
			if (it == c.by_row.end())
				continue;
			out.line().begin_object().member("name", r.name).member("label", r.label);
			out.member("unit", r.unit).key("best").real(c.best(r)).key("median").real(c.median(r));
			out.key("tenth_worst").real(c.tenth_worst(r)).key("samples").begin_array();
			for (const double v : it->second.values)
				out.real(v);
			out.end_array().member("failure", it->second.failure).end_object();
		}
		out.line().end_array().end_object();
	}
	out.line().end_array();
}

int write_comparison(const command_line &line, const comparison &c)
{
	const bool written = write_report(line, {write_table, write_csv, write_json, draw}, c);
	return written && c.columns[0].by_row.size() ? 0 : 1;
}

} // namespace bench
