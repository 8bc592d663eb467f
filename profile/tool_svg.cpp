// SPDX-License-Identifier: BSD-3-Clause
//
// stats.svg: time per family, sizes, and heat maps of bytes and messages from PE to PE, near and far separately. One
// file without scripts or embedded fonts; it is readable on a light and on a dark page.
#include "tool_report.hpp"

#include <pgas/pgas_svg.hpp>

#include <algorithm>
#include <cmath>
#include <cstdarg>

namespace pgas_tools {
namespace {

constexpr int kWidth = 960, kMargin = 24, kLine = 18, kMap = 400;

class picture {
public:
	explicit picture(const report &r) : r_(r) {}
	std::string draw();

private:
	void text(double x, double y, const char *anchor, const char *style, const char *format, ...)
		__attribute__((format(printf, 6, 7)));
	int bars();
	int sizes(int top);
	int maps(int top);
	void map(int left, int top, bool far, bool bytes);
	int height() const;
	int bar_count() const;
	uint64_t largest_cell(bool far, bool bytes) const;
	bool has_far() const { return r_.far.messages != 0; }

	const report &r_;
	pgas::svg::picture out_;
};

void picture::text(double x, double y, const char *anchor, const char *style, const char *format, ...)
{
	char line[512];
	va_list args;
	va_start(args, format);
	vsnprintf(line, sizeof line, format, args);
	va_end(args);
	out_.text(x, y, line, {{"text-anchor", anchor}, {"class", style}});
}

int picture::bar_count() const
{
	int count = 0;
	for (const row &x : r_.rows)
		count += x.calls != 0;
	return count;
}

int picture::height() const
{
	return kMargin + 3 * kLine + bar_count() * kLine + 2 * kLine + 130 + 2 * kLine +
	       (has_far() ? 2 : 1) * (kMap + 4 * kLine) + kMargin;
}

// One bar per row of the table, with a length proportional to its time.
int picture::bars()
{
	int y = kMargin + kLine;
	text(kMargin, y, "start", "h", "%s: %d PEs on %d host%s, %s%s%s", r_.program, r_.n_pes, r_.hosts,
	     r_.hosts > 1 ? "s" : "", time_text(r_.span_ns), r_.early ? ", ended early: " : "",
	     r_.early ? r_.early : "");
	y += kLine;
	text(kMargin, y, "start", "s", "time in calls, of all PEs; waiting %s of %s%s%s", time_text(r_.waiting_ns),
	     time_text(r_.all_ns), r_.heap_total ? "; symmetric heap at most " : "",
	     r_.heap_total ? bytes_text(r_.heap_high) : "");
	uint64_t most = 1;
	for (const row &x : r_.rows)
		most = std::max(most, x.ns);
	y += kLine;
	for (uint32_t i = 0; i < kRows; i++) {
		const row &x = r_.rows[i];
		if (!x.calls)
			continue;
		const row_facts f = facts_of(i);
		const double wide = 420.0 * static_cast<double>(x.ns) / static_cast<double>(most);
		text(kMargin + 180, y, "end", "t", "%s %s", f.family, f.algorithm);
		out_.rect(kMargin + 190, y - 10, std::max(wide, 0.5), 12, {{"class", f.is_waiting ? "w" : "b"}});
		text(kMargin + 190 + wide + 6, y, "start", "t", "%s, %s calls%s%s", time_text(x.ns),
		     count_text(x.calls), x.bytes ? ", " : "", x.bytes ? bytes_text(x.bytes) : "");
		y += kLine;
	}
	return y;
}

// Calls by size, for all families that move data together; logarithmic.
int picture::sizes(int top)
{
	uint64_t all[kSizes] = {}, most = 1;
	uint32_t last = 1;
	for (uint32_t i = 0; i < kRows; i++)
		for (uint32_t k = 1; k < kSizes; k++)
			if (!facts_of(i).is_memory)
				all[k] += r_.rows[i].sizes[k];
	for (uint32_t k = 1; k < kSizes; k++)
		if (all[k]) {
			most = std::max(most, all[k]);
			last = k;
		}
	text(kMargin, top + kLine, "start", "s", "calls by bytes (from, logarithmic)");
	const int base = top + kLine + 100;
	const double step = std::min(60.0, (kWidth - 2.0 * kMargin) / last);
	for (uint32_t k = 1; k <= last; k++) {
		const double high = all[k] ? 8 + 62 * std::log1p(static_cast<double>(all[k])) /
							     std::log1p(static_cast<double>(most))
					   : 0;
		const double x = kMargin + (k - 1) * step;
		out_.rect(x, base - high, step - 2, high, {{"class", "b"}});
		if (all[k])
			text(x + step / 2, base - high - 4, "middle", "t", "%s", count_text(all[k]));
		if (step > 30 || k % 5 == 1)
			text(x + step / 2, base + 14, "middle", "t", "%s", bytes_text(uint64_t{1} << (k - 1)));
	}
	return base + kLine;
}

uint64_t picture::largest_cell(bool far, bool bytes) const
{
	uint64_t most = 0;
	for (int source = 0; source < r_.grid; source++)
		for (int dest = 0; dest < r_.grid; dest++) {
			const traffic &t = r_.cells[far][source][dest];
			most = std::max(most, bytes ? t.bytes : t.messages);
		}
	return most;
}

void picture::map(int left, int top, bool far, bool bytes)
{
	const uint64_t most = largest_cell(far, bytes);
	const double cell = static_cast<double>(kMap) / r_.grid;
	text(left, top, "start", "s", "%s, %s; darkest: %s", bytes ? "bytes" : "messages",
	     far ? "far (other hosts)" : "near (same host)", bytes ? bytes_text(most) : count_text(most));
	top += 10;
	out_.rect(left, top, kMap, kMap, {{"class", "f"}});
	for (int source = 0; source < r_.grid; source++)
		for (int dest = 0; dest < r_.grid; dest++) {
			const traffic &t = r_.cells[far][source][dest];
			const uint64_t value = bytes ? t.bytes : t.messages;
			if (!t.messages)
				continue;
			const double share = most ? static_cast<double>(value) / static_cast<double>(most) : 0;
			char tip[160], shade[16];
			snprintf(tip, sizeof tip, "PE %d to PE %d: %s in %s messages", source * r_.pes_per_cell,
				 dest * r_.pes_per_cell, bytes_text(t.bytes), count_text(t.messages));
			snprintf(shade, sizeof shade, "%.3f", 0.08 + 0.92 * share);
			out_.rect(left + dest * cell, top + source * cell, cell, cell,
				  {{"fill", far ? "#d9480f" : "#1c7ed6"}, {"fill-opacity", shade}}, tip);
		}
	const int last = r_.n_pes - 1;
	text(left, top + kMap + 14, "start", "t", "0");
	text(left + kMap / 2, top + kMap + 14, "middle", "t", "to PE");
	text(left + kMap, top + kMap + 14, "end", "t", "%d", last);
	char turned[64];
	snprintf(turned, sizeof turned, "translate(%d %d) rotate(-90)", left - 6, top + kMap / 2);
	out_.text(0, 0, "from PE", {{"text-anchor", "middle"}, {"class", "t"}, {"transform", turned}});
}

int picture::maps(int top)
{
	const int right = kMargin + 20 + kMap + 40;
	if (r_.pes_per_cell > 1)
		text(kMargin, top, "start", "s", "%d PEs in a cell; the number is that of the first", r_.pes_per_cell);
	for (const bool far : {false, true}) {
		if (far && !has_far())
			break;
		map(kMargin + 20, top + kLine, far, true);
		map(right, top + kLine, far, false);
		top += kMap + 4 * kLine;
	}
	return top;
}

constexpr char kStyle[] = "text{font-family:sans-serif;font-size:12px;fill:#495057}.h{font-size:16px;font-weight:bold}"
			  ".t{font-size:11px}.b{fill:#1c7ed6}.w{fill:#adb5bd}.f{fill:none;stroke:#adb5bd}"
			  "@media (prefers-color-scheme:dark){text{fill:#ced4da}}";

std::string picture::draw()
{
	maps(sizes(bars()) + kLine);
	return out_.document({kWidth, static_cast<double>(height()), {}, {}, kStyle});
}

} // namespace

bool write_svg(const char *path, const report &r)
{
	FILE *out = fopen(path, "we");
	if (!out)
		return false;
	fputs(picture(r).draw().c_str(), out);
	const bool good = !ferror(out);
	return fclose(out) == 0 && good;
}

} // namespace pgas_tools
