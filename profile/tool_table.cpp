// SPDX-License-Identifier: BSD-3-Clause
//
// The table that is printed at the end of every job with statistics.
#include "tool_report.hpp"

#include <cinttypes>
#include <cstring>
#include <string>

namespace pgas_tools {
namespace {

constexpr int kTexts = 8;

char *next_text()
{
	static char texts[kTexts][32];
	static unsigned pos = 0;
	return texts[pos++ % kTexts];
}

const char *scaled(double value, double step, const char *const *units, int count)
{
	int unit = 0;
	for (; unit + 1 < count && value >= step * 0.9995; unit++)
		value /= step;
	char *text = next_text();
	snprintf(text, sizeof(char[32]),
		 value < 10 && unit    ? "%.2f %s"
		 : value < 100 && unit ? "%.1f %s"
				       : "%.0f %s",
		 value, units[unit]);
	return text;
}

double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

// "1:12 64:3000 1K:44": the size at which each class begins, and the number of calls
std::string sizes_text(const row &r)
{
	static const char *const units[] = {"", "K", "M", "G", "T"};
	std::string text;
	for (uint32_t k = 0; k < kSizes; k++) {
		if (!r.sizes[k])
			continue;
		char part[48];
		const uint32_t log = k ? k - 1 : 0;
		snprintf(part, sizeof part, "%s%u%s:%" PRIu64, text.empty() ? "" : " ", k ? 1u << log % 10 : 0u,
			 units[log / 10], r.sizes[k]);
		text += part;
	}
	return text;
}

void print_rows(FILE *out, const report &r)
{
	fprintf(out, "  %-14s%-14s%12s%12s%10s%10s%10s%8s\n", "family", "algorithm", "calls", "bytes", "time",
		"per call", "longest", "share");
	for (uint32_t i = 0; i < kRows; i++) {
		const row &x = r.rows[i];
		if (x.calls)
			fprintf(out, "  %-14s%-14s%12" PRIu64 "%12s%10s%10s%10s%7.1f%%\n", facts_of(i).family,
				facts_of(i).algorithm, x.calls, x.bytes ? bytes_text(x.bytes) : "", time_text(x.ns),
				time_text(x.ns / x.calls), time_text(x.longest_ns), percent(x.ns, r.all_ns));
	}
	bool any = false;
	for (uint32_t i = 0; i < kRows; i++) {
		const row &x = r.rows[i];
		if (!x.calls || x.sizes[0] == x.calls)
			continue;
		if (!any)
			fputs("  sizes: from so many bytes on, so many calls\n", out);
		any = true;
		fprintf(out, "  %-14s%-14s%s\n", facts_of(i).family, facts_of(i).algorithm, sizes_text(x).c_str());
	}
}

void print_traffic(FILE *out, const report &r)
{
	fprintf(out, "  near: %s in %s messages; far (other hosts): %s in %s messages\n", bytes_text(r.near.bytes),
		count_text(r.near.messages), bytes_text(r.far.bytes), count_text(r.far.messages));
	for (const heavy_pair &p : r.heaviest)
		if (p.moved.messages)
			fprintf(out, "  PE %d to PE %d: %s in %s message%s%s\n", p.source, p.target,
				bytes_text(p.moved.bytes), count_text(p.moved.messages),
				p.moved.messages == 1 ? "" : "s", p.is_far ? ", far" : "");
	if (r.left_out.messages)
		fprintf(out, "  of them in no pair, a PE keeps %u: %s in %s messages\n", kPairs,
			bytes_text(r.left_out.bytes), count_text(r.left_out.messages));
}

} // namespace

const char *bytes_text(uint64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	return scaled(static_cast<double>(bytes), 1024, units, 5);
}

const char *count_text(uint64_t count)
{
	char *text = next_text();
	snprintf(text, sizeof(char[32]), "%" PRIu64, count);
	return text;
}

const char *time_text(uint64_t ns)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	return scaled(static_cast<double>(ns), 1000, units, 4);
}

void print_table(FILE *out, const report &r)
{
	flockfile(out);
	fprintf(out, "%s statistics of %s: %d PEs on %d host%s, %s\n", kSubject, r.program, r.n_pes, r.hosts,
		r.hosts > 1 ? "s" : "", time_text(r.span_ns));
	if (r.early && r.hosts > 1)
		fprintf(out, "  ended early, %s; these are the %d PEs on host %s, up to then\n", r.early, r.reported,
			r.host);
	else if (r.early)
		fprintf(out, "  ended early, %s; figures up to then\n", r.early);
	if (!r.early || r.hosts == 1)
		if (r.reported < r.n_pes)
			fprintf(out, "  %d PEs have no figures\n", r.n_pes - r.reported);
	if (r.inlined)
		fprintf(out, "  %d PEs run a program with calls inlined by oshcc --inline: these are not counted\n",
			r.inlined);
	print_rows(out, r);
	fprintf(out, "  waiting: %s, %.1f%% of the time of all PEs; most PE %d, %s; least PE %d, %s\n",
		time_text(r.waiting_ns), percent(r.waiting_ns, r.all_ns), r.most_waiting_pe,
		time_text(r.most_waiting_ns), r.least_waiting_pe, time_text(r.least_waiting_ns));
	print_traffic(out, r);
	for (int i = 0; i < r.place_count; i++)
		fprintf(out, "  PE %d was in %s for %s\n", r.places[i].pe, call_text(r.places[i].call),
			time_text(r.places[i].since_ns));
	if (r.heap_total)
		fprintf(out, "  symmetric heap: %s of %s used at most (PE %d)\n", bytes_text(r.heap_high),
			bytes_text(r.heap_total), r.heap_pe);
	fflush(out);
	funlockfile(out);
}

} // namespace pgas_tools
