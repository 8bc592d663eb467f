// SPDX-License-Identifier: BSD-3-Clause
//
// stats.json: PEs as they are read, each with its row of the heat map, so that none of them need be kept; then the
// totals. shmem-stats(7) describes the fields.
#include "tool_report.hpp"

#include <cinttypes>

namespace pgas_tools {
namespace {

constexpr uint64_t kMostPairs = 1 << 20; // in one file

double seconds(uint64_t ns)
{
	return static_cast<double>(ns) / 1e9;
}

void write_traffic(FILE *out, const char *name, const traffic &t)
{
	fprintf(out, "\"%s\": {\"messages\": %" PRIu64 ", \"bytes\": %" PRIu64 "}", name, t.messages, t.bytes);
}

void write_row(FILE *out, uint32_t pos, const row &r, const char *lead)
{
	fprintf(out, "%s\n    {\"family\": ", lead);
	write_json_string(out, facts_of(pos).family);
	fputs(", \"algorithm\": ", out);
	if (*facts_of(pos).algorithm)
		write_json_string(out, facts_of(pos).algorithm);
	else
		fputs("null", out);
	fprintf(out,
		", \"calls\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"seconds\": %.9f, \"longest_seconds\": %.9f"
		", \"sizes\": {",
		r.calls, r.bytes, seconds(r.ns), seconds(r.longest_ns));
	bool any = false;
	for (uint32_t k = 0; k < kSizes; k++)
		if (r.sizes[k]) {
			fprintf(out, "%s\"%" PRIu64 "\": %" PRIu64, any ? ", " : "", k ? uint64_t{1} << (k - 1) : 0,
				r.sizes[k]);
			any = true;
		}
	fputs("}}", out);
}

} // namespace

void write_json_string(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		const auto c = static_cast<unsigned char>(*text);
		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < 0x20)
			fprintf(out, "\\u%04x", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

bool json_file::open(const char *path)
{
	out_ = fopen(path, "we");
	if (out_)
		fputs("{\n  \"pes\": [", out_);
	return out_ != nullptr;
}

void json_file::add_pe(const head &h, uint64_t span_ns, const pair *pairs, uint32_t count)
{
	fprintf(out_,
		"%s\n    {\"pe\": %u, \"host\": %u, \"seconds\": %.9f, \"waiting_seconds\": %.9f, \"heap_high\": "
		"%" PRIu64 ", \"inlined_calls\": %s, \"to\": [",
		any_ ? "," : "", h.pe, h.host, seconds(span_ns), seconds(h.waiting_ns), h.heap_high,
		h.inlined ? "true" : "false");
	any_ = true;
	bool first = true;
	for (uint32_t i = 0; i < count; i++) {
		if (!pairs[i].target || !pairs[i].messages)
			continue;
		if (pairs_ == kMostPairs) {
			pairs_dropped_++;
			continue;
		}
		pairs_++;
		fprintf(out_, "%s[%u, %" PRIu64 ", %" PRIu64 "]", first ? "" : ", ", pairs[i].target - 1,
			pairs[i].messages, pairs[i].bytes);
		first = false;
	}
	fputs("]}", out_);
}

bool json_file::close(const report &r)
{
	fputs("\n  ],\n  \"program\": ", out_);
	write_json_string(out_, r.program);
	fprintf(out_, ",\n  \"n_pes\": %d, \"reported\": %d, \"hosts\": %d, \"seconds\": %.9f,\n", r.n_pes, r.reported,
		r.hosts, seconds(r.span_ns));
	fputs("  \"ended_early\": ", out_);
	if (r.early)
		write_json_string(out_, r.early);
	else
		fputs("null", out_);
	fprintf(out_, ",\n  \"waiting_seconds\": %.9f, \"heap_high\": %" PRIu64 ", \"heap_total\": %" PRIu64 ",\n  ",
		seconds(r.waiting_ns), r.heap_high, r.heap_total);
	write_traffic(out_, "near", r.near);
	fputs(", ", out_);
	write_traffic(out_, "far", r.far);
	fputs(",\n  ", out_);
	write_traffic(out_, "in_no_pair", r.left_out);
	fprintf(out_, ", \"pairs_not_listed\": %" PRIu64 ",\n  \"families\": [", pairs_dropped_);
	const char *lead = "";
	for (uint32_t i = 0; i < kRows; i++)
		if (r.rows[i].calls) {
			write_row(out_, i, r.rows[i], lead);
			lead = ",";
		}
	fputs("\n  ]\n}\n", out_);
	const bool good = !ferror(out_);
	return fclose(out_) == 0 && good;
}

} // namespace pgas_tools
