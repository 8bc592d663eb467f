// SPDX-License-Identifier: BSD-3-Clause
//
// stats.json: PEs as they are read, each with its row of the heat map, so that none of them need be kept; then the
// totals. shmem-stats(7) describes the fields.
#include "tool_report.hpp"

#include <string>

namespace pgas_tools {
namespace {

constexpr uint64_t kMostPairs = 1 << 20; // in one file

double seconds(uint64_t ns)
{
	return static_cast<double>(ns) / 1e9;
}

void write(pgas::json_writer &out, const char *name, const traffic &t)
{
	out.key(name).begin_object().member("messages", t.messages).member("bytes", t.bytes).end_object();
}

void write(pgas::json_writer &out, uint32_t pos, const row &r)
{
	const row_facts facts = facts_of(pos);
	out.line().begin_object().member("family", facts.family);
	out.member("algorithm", *facts.algorithm ? facts.algorithm : nullptr);
	out.member("calls", r.calls).member("bytes", r.bytes).key("seconds").fixed(seconds(r.ns), 9);
	out.key("longest_seconds").fixed(seconds(r.longest_ns), 9).key("sizes").begin_object();
	for (uint32_t k = 0; k < kSizes; k++)
		if (r.sizes[k])
			out.member(std::to_string(k ? uint64_t{1} << (k - 1) : 0), r.sizes[k]);
	out.end_object().end_object();
}

} // namespace

bool json_file::open(const char *path)
{
	out_ = fopen(path, "we");
	json_.begin_object().line().key("pes").begin_array();
	return out_ != nullptr;
}

void json_file::flush()
{
	fputs(json_.take().c_str(), out_);
}

void json_file::add_pe(const head &h, uint64_t span_ns, const pair *pairs, uint32_t count)
{
	json_.line().begin_object().member("pe", h.pe).member("host", h.host);
	json_.key("seconds").fixed(seconds(span_ns), 9).key("waiting_seconds").fixed(seconds(h.waiting_ns), 9);
	json_.member("heap_high", h.heap_high).member("inlined_calls", h.inlined != 0).key("to").begin_array();
	for (uint32_t i = 0; i < count; i++) {
		if (!pairs[i].target || !pairs[i].messages)
			continue;
		if (pairs_ == kMostPairs) {
			pairs_dropped_++;
			continue;
		}
		pairs_++;
		json_.begin_array()
			.value(pairs[i].target - 1)
			.value(pairs[i].messages)
			.value(pairs[i].bytes)
			.end_array();
	}
	json_.end_array().end_object();
	flush();
}

bool json_file::close(const report &r)
{
	json_.line().end_array().line().member("program", r.program);
	json_.line().member("n_pes", r.n_pes).member("reported", r.reported).member("hosts", r.hosts);
	json_.key("seconds").fixed(seconds(r.span_ns), 9).line().member("ended_early", r.early);
	json_.line().key("waiting_seconds").fixed(seconds(r.waiting_ns), 9);
	json_.member("heap_high", r.heap_high).member("heap_total", r.heap_total).line();
	write(json_, "near", r.near);
	write(json_, "far", r.far);
	json_.line();
	write(json_, "in_no_pair", r.left_out);
	json_.member("pairs_not_listed", pairs_dropped_).line().key("families").begin_array();
	for (uint32_t i = 0; i < kRows; i++)
		if (r.rows[i].calls)
			write(json_, i, r.rows[i]);
	json_.line().end_array().line().end_object();
	flush();
	const bool good = !ferror(out_);
	return fclose(out_) == 0 && good;
}

} // namespace pgas_tools
