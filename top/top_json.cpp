// SPDX-License-Identifier: BSD-3-Clause
// top_json.cpp: a view as JSON. What cannot be known is null.
#include "top_table.hpp"

#include <pgas/pgas_json.hpp>

namespace oshtop {
namespace {

void add_number(pgas::json_writer &out, const char *name, const maybe &value, int decimals)
{
	out.key(name);
	if (value)
		out.fixed(*value, decimals);
	else
		out.null();
}

void add_text(pgas::json_writer &out, const char *name, const std::string &text)
{
	out.key(name);
	if (text.empty())
		out.null();
	else
		out.value(text);
}

void add_row(pgas::json_writer &out, const row &r)
{
	out.line().begin_object();
	out.member("pe", r.rank).member("host", r.host).member("pid", static_cast<int>(r.pid));
	out.member("state", r.state).member("waiting", r.is_waiting);
	add_number(out, "cpu_percent", r.cpu_percent, 1);
	add_number(out, "cpu_s", r.cpu_s, 2);
	out.member("cpu", r.cpu).member("threads", r.threads);
	add_number(out, "resident_bytes", r.resident_bytes, 0);
	add_number(out, "heap_bytes", r.heap_bytes, 0);
	add_number(out, "heap_touched_bytes", r.touched_bytes, 0);
	add_number(out, "heap_high_bytes", r.heap_high_bytes, 0);
	add_number(out, "syncs", r.syncs, 0);
	add_number(out, "syncs_per_s", r.syncs_rate, 1);
	add_number(out, "collectives", r.collectives, 0);
	add_number(out, "collectives_per_s", r.collectives_rate, 1);
	add_number(out, "arrivals", r.arrivals, 0);
	add_number(out, "arrivals_per_s", r.arrivals_rate, 1);
	add_number(out, "calls", r.calls, 0);
	add_number(out, "calls_per_s", r.calls_rate, 1);
	add_number(out, "messages", r.messages, 0);
	add_number(out, "messages_per_s", r.messages_rate, 1);
	add_number(out, "bytes", r.bytes, 0);
	add_number(out, "bytes_per_s", r.bytes_rate, 1);
	add_number(out, "wait_percent", r.wait_percent, 1);
	add_text(out, "call", r.call);
	add_number(out, "call_s", r.call_s, 3);
	add_text(out, "where", r.place);
	out.end_object();
}

void add_numbers(pgas::json_writer &out, const char *name, const std::vector<int> &numbers)
{
	out.key(name).begin_array();
	for (const int number : numbers)
		out.value(number);
	out.end_array();
}

void add_texts(pgas::json_writer &out, const char *name, const std::vector<std::string> &texts)
{
	out.line().key(name).begin_array();
	for (const std::string &text : texts)
		out.value(text);
	out.end_array();
}

} // namespace

std::string make_json(const view &v, const options &opts)
{
	pgas::json_writer out;
	out.begin_object();
	out.line().member("job", static_cast<int>(v.job)).member("host", v.host).member("command", v.command);
	out.line().member("pes", v.pes).member("pes_here", v.pes_here).member("hosts", v.hosts);
	out.key("age_s").fixed(v.age_s, 1).key("interval_s").fixed(v.interval_s, 3);
	out.line().key("rows").begin_array();
	for (const row *r : choose_rows(v, opts))
		add_row(out, *r);
	out.line().end_array();
	out.line().key("meetings").begin_array();
	for (const meeting &one : v.meetings) {
		out.begin_object().member("what", one.what).member("certain", one.is_certain);
		out.member("awaited_count", one.awaited_count);
		add_numbers(out, "waiting", one.waiting);
		add_numbers(out, "awaited", one.awaited);
		out.end_object();
	}
	out.end_array();
	add_numbers(out.line(), "stopped_elsewhere", v.stopped_elsewhere);
	add_texts(out, "conclusions", v.sentences);
	add_texts(out, "notes", v.notes);
	out.line().end_object();
	return out.take();
}

} // namespace oshtop
