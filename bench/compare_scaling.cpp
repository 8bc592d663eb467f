// SPDX-License-Identifier: BSD-3-Clause
//
// The same rows with increasing numbers of PEs: a table with a line per library, and a small plot per row.
#include "compare.hpp"

#include <algorithm>
#include <cmath>

namespace bench {
namespace {

constexpr double kWide = 250, kHigh = 170, kLeft = 46, kRight = 14, kAbove = 28, kBelow = 26, kTop = 52;
constexpr size_t kAcross = 4;
constexpr const char *kColours[] = {"#2f6db3", "#c07a2c", "#58a55c"};

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

void draw(std::FILE *out, const plot &p, const row &r)
{
	fprintf(out, "<text x=\"%.0f\" y=\"%.0f\" font-weight=\"bold\">%s</text>\n", p.x0 + 8, p.y0 + 16,
		r.label.c_str());
	for (int decade = static_cast<int>(std::ceil(p.low)); decade <= static_cast<int>(p.high); decade++) {
		const double v = std::pow(10, decade), y = p.y(v);
		fprintf(out, "<line x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ccc\"/>", p.x0 + kLeft,
			p.x0 + kWide - kRight, y, y);
		fprintf(out, "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\" font-size=\"9\">%s</text>\n",
			p.x0 + kLeft - 4, y + 3, short_time(v).c_str());
	}
	for (size_t k = 0; k < p.s.pes.size(); k++)
		fprintf(out, "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\" font-size=\"9\">%d</text>\n", p.x(k),
			p.y0 + kHigh - 12, p.s.pes[k]);
	for (size_t library = 0; library < p.s.libraries.size(); library++) {
		std::string line;
		for (size_t k = 0; k < p.s.pes.size(); k++) {
			const double v = p.s.at(library, k).best(r);
			if (v <= 0)
				continue;
			char point[64];
			snprintf(point, sizeof point, "%.1f,%.1f ", p.x(k), p.y(v));
			line += point;
			fprintf(out,
				"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" fill=\"%s\"><title>%d PEs: "
				"%s</title></circle>\n",
				p.x(k), p.y(v), kColours[library % 3], p.s.pes[k], short_time(v).c_str());
		}
		fprintf(out, "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\"/>\n",
			line.c_str(), kColours[library % 3]);
	}
}

} // namespace

// growth: the time divided by the time at the first number of PEs. The table's head shows the same for the logarithm.
void write_scaling_table(std::FILE *out, const std::vector<row> &rows, const scaling &s)
{
	fprintf(out, "%-30s %-12s", "best, in ns", "PEs");
	for (const int n : s.pes)
		fprintf(out, "%12d", n);
	fprintf(out, "\n%-30s %-12s", "", "log2, grown");
	for (const int n : s.pes)
		fprintf(out, "%12.2f", std::log2(n) / std::log2(s.pes.front()));
	fputc('\n', out);
	for (size_t i = 0; i < rows.size(); i++) {
		const row &r = rows[i];
		fprintf(out, "%s%-30s", i && rows[i - 1].group != r.group ? "\n" : "", r.label.c_str());
		for (size_t library = 0; library < s.libraries.size(); library++) {
			fprintf(out, "%*s %-12s", library ? 30 : 0, "", s.libraries[library].c_str());
			for (size_t k = 0; k < s.pes.size(); k++) {
				const double v = s.at(library, k).best(r);
				v > 0 ? fprintf(out, "%12.*f", v < 1000 ? 1 : 0, v) : fprintf(out, "%12s", "-");
			}
			fputc('\n', out);
		}
		const double first = s.at(0, 0).best(r);
		fprintf(out, "%30s %-12s", "", "grown");
		for (size_t k = 0; k < s.pes.size(); k++)
			fprintf(out, "%12.2f", first > 0 ? s.at(0, k).best(r) / first : 0);
		fputc('\n', out);
		if (s.libraries.size() < 2)
			continue;
		fprintf(out, "%30s %-12s", "", "times faster");
		for (size_t k = 0; k < s.pes.size(); k++) {
			const double v = speedup(r, s.at(0, k), s.at(1, k));
			v > 0 ? fprintf(out, "%11.2fx", v) : fprintf(out, "%12s", "-");
		}
		fputc('\n', out);
	}
}

void write_scaling_csv(std::FILE *out, const std::vector<row> &rows, const scaling &s)
{
	fputs("row,library,pes,best_ns,median_ns\n", out);
	for (const row &r : rows)
		for (size_t library = 0; library < s.libraries.size(); library++)
			for (size_t k = 0; k < s.pes.size(); k++)
				fprintf(out, "%s,%s,%d,%g,%g\n", r.name.c_str(), s.libraries[library].c_str(), s.pes[k],
					s.at(library, k).best(r), s.at(library, k).median(r));
}

void write_scaling_svg(std::FILE *out, const std::vector<row> &rows, const scaling &s)
{
	const size_t down = (rows.size() + kAcross - 1) / kAcross;
	const double width = kWide * static_cast<double>(std::min(kAcross, rows.size())),
		     height = kTop + kHigh * static_cast<double>(down);
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
		"font-family=\"sans-serif\" font-size=\"11\" fill=\"#222\">\n<rect width=\"100%%\" height=\"100%%\" "
		"fill=\"#fff\"/>\n"
		"<text x=\"8\" y=\"20\" font-size=\"14\" font-weight=\"bold\">Time by number of PEs</text>\n"
		"<text x=\"8\" y=\"36\" font-size=\"10\" fill=\"#666\">one host; best samples; both scales "
		"logarithmic</text>\n",
		width, height, width, height);
	for (size_t library = 0; library < s.libraries.size(); library++)
		fprintf(out,
			"<rect x=\"%zu\" y=\"27\" width=\"10\" height=\"10\" fill=\"%s\"/><text x=\"%zu\" "
			"y=\"36\">%s</text>\n",
			300 + 110 * library, kColours[library % 3], 314 + 110 * library, s.libraries[library].c_str());
	for (size_t i = 0; i < rows.size(); i++) {
		double low = 1e300, high = 0;
		for (const column &c : s.columns)
			if (const double v = c.best(rows[i]); v > 0)
				low = std::min(low, v), high = std::max(high, v);
		if (high == 0)
			continue;
		const plot p{s, kWide * static_cast<double>(i % kAcross),
			     kTop + kHigh * static_cast<double>(i / kAcross), std::floor(std::log10(low)),
			     std::ceil(std::log10(high) + 1e-9)};
		draw(out, p, rows[i]);
	}
	fputs("</svg>\n", out);
}

} // namespace bench
