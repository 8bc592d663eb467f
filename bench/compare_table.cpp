// SPDX-License-Identifier: BSD-3-Clause
//
// The human-readable table and the machine-readable one.
#include "compare.hpp"

#include <algorithm>

namespace bench {
namespace {

constexpr int kRatio = 12;

std::string number(double v)
{
	char text[32];
	snprintf(text, sizeof text, v >= 1000 ? "%.0f" : v >= 100 ? "%.1f" : v >= 1 ? "%.2f" : "%.3f", v);
	return text;
}

std::string failure(const column &c, const row &r)
{
	const auto it = c.by_row.find(r.name);
	return it == c.by_row.end() || it->second.failure.empty() ? "-" : it->second.failure;
}

std::string ratio(double v)
{
	char text[32];
	snprintf(text, sizeof text, v >= 100 ? "%.0fx" : v >= 10 ? "%.1fx" : "%.2fx", v);
	return v == 0 ? "-" : text;
}

} // namespace

void write_table(std::FILE *out, const std::vector<row> &rows, const std::vector<column> &columns)
{
	size_t wide = 4;
	for (const row &r : rows)
		wide = std::max(wide, r.label.size());
	const int label = static_cast<int>(wide);
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
				fprintf(out, "  %20s", failure(c, r).c_str());
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

void write_csv(std::FILE *out, const std::vector<row> &rows, const std::vector<column> &columns)
{
	fprintf(out, "row,group,unit,end,column,best,median,samples,failure,times_%s\n", columns[1].title.c_str());
	for (const row &r : rows) {
		for (const column &c : columns) {
			const auto it = c.by_row.find(r.name);
			const size_t n = it == c.by_row.end() ? 0 : it->second.values.size();
			fprintf(out, "%s,%s,%s,%s,%s,%g,%g,%zu,%s,%g\n", r.name.c_str(), r.group.c_str(),
				r.unit.c_str(), r.delivered ? "delivered" : "counted", c.title.c_str(), c.best(r),
				c.median(r), n, it == c.by_row.end() ? "" : it->second.failure.c_str(),
				speedup(r, c, columns[1]));
		}
	}
}

} // namespace bench
