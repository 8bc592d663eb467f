// SPDX-License-Identifier: BSD-3-Clause
// result_set.cpp: converts measurements to results, and results to JSON and back.
#include "result_set.hpp"

#include <pgas/pgas_json.hpp>

#include <algorithm>
#include <map>

#include "error.hpp"
#include "json.hpp"
#include "source_lines.hpp"
#include "text.hpp"

namespace ic {

static constexpr uint64_t kFormat = 1;

const char *status_text(path_status status)
{
	switch (status) {
	case path_status::ok:
		return "ok";
	case path_status::not_built:
		return "not built";
	case path_status::unsupported:
		return "unsupported";
	case path_status::failed:
		break;
	}
	return "failed";
}

static path_status status_from(const std::string &text)
{
	for (path_status status : {path_status::ok, path_status::not_built, path_status::unsupported})
		if (text == status_text(status))
			return status;
	return path_status::failed;
}

void path_result::fill(const measurement &m, const path_table &table)
{
	status = path_status::ok;
	engine = m.engine;
	entry = m.entry;
	boundary = m.boundary;
	calls = m.calls.size();
	min = m.min();
	median = m.median();
	max = m.max();
	syscalls = m.syscalls;
	rep_iterations = m.rep_iterations;
	exclusive_blocks = m.exclusive_blocks;
	landing_pads = m.landing_pads;
	routines = m.routines();
	notes = m.notes;
	setting = m.setting;

	std::vector<place> places;
	for (const cost_line &line : m.lines)
		places.push_back(line.where);
	source_map sources = find_sources(places);
	std::map<std::string, uint64_t> sums;
	for (const cost_line &line : m.lines) {
		auto found = sources.find({line.where.path, line.where.file_addr});
		sums[table.layer_of(line.where.image, found == sources.end() ? "" : found->second.file,
				    line.where.routine)] += line.count;
	}
	layers.clear();
	for (const std::string &name : table.layer_names())
		if (sums[name] != 0)
			layers.push_back({name, sums[name]});
}

const path_result *result_set::find(const std::string &path) const
{
	for (const path_result &result : results)
		if (result.path == path)
			return &result;
	return nullptr;
}

void result_set::keep(const std::vector<std::string> &patterns, const std::string &source)
{
	auto matches = [](const std::string &pattern) {
		return [&pattern](const path_result &r) { return glob_any(pattern, r.path); };
	};
	for (const std::string &pattern : patterns)
		if (std::none_of(results.begin(), results.end(), matches(pattern)))
			fail(exit_code::usage, "%s has no path '%s'", source.c_str(), pattern.c_str());
	if (!patterns.empty())
		std::erase_if(results, [&](const path_result &r) { return !glob_any(join(patterns, " "), r.path); });
}

void result_set::add(const result_set &other, const std::string &source)
{
	if (other.arch != arch)
		fail(exit_code::usage, "%s was counted on %s, the other results on %s", source.c_str(),
		     other.arch.c_str(), arch.c_str());
	for (const path_result &more : other.results) {
		auto mine = std::find_if(results.begin(), results.end(),
					 [&](const path_result &r) { return r.path == more.path; });
		if (mine == results.end())
			results.push_back(more);
		else if (mine->status != path_status::ok)
			*mine = more;
	}
}

// A new line for the numbers, and one for each list; scripts search for the first of them.
static void write(pgas::json_writer &out, const path_result &r)
{
	out.line().begin_object();
	out.member("path", r.path).member("status", status_text(r.status)).member("who", r.who);
	out.member("figure", r.figure).member("description", r.description).member("entry", r.entry);
	out.member("boundary", r.boundary).member("engine", r.engine).member("message", r.message);
	out.member("setting", r.setting);
	out.line().member("budget", r.budget).member("calls", r.calls).member("min", r.min);
	out.member("median", r.median).member("max", r.max).member("syscalls", r.syscalls);
	out.member("rep_iterations", r.rep_iterations).member("exclusive_blocks", r.exclusive_blocks);
	out.member("landing_pads", r.landing_pads).member("ps", r.ps);
	out.line().key("layers").begin_array();
	for (const auto &[layer, count] : r.layers)
		out.begin_object().member("layer", layer).member("count", count).end_object();
	out.end_array().line().key("routines").begin_array();
	for (const routine_cost &cost : r.routines)
		out.line()
			.begin_object()
			.member("image", cost.image)
			.member("routine", cost.routine)
			.member("count", cost.count)
			.end_object();
	out.end_array().line().key("notes").begin_array();
	for (const std::string &note : r.notes)
		out.value(note);
	out.end_array().end_object();
}

std::string result_set::to_json() const
{
	pgas::json_writer out;
	out.begin_object().member("instr_count", kFormat).member("arch", arch).member("engine", engine);
	out.member("compiler", compiler).member("cpu", cpu).member("mhz", mhz);
	out.line().key("results").begin_array();
	for (const path_result &result : results)
		write(out, result);
	out.line().end_array().line().end_object();
	return out.take();
}

static path_result result_from(const json_value &v)
{
	path_result r;
	r.path = v["path"].str;
	r.status = status_from(v["status"].str);
	r.who = v["who"].str;
	r.figure = v["figure"].str;
	r.description = v["description"].str;
	r.entry = v["entry"].str;
	r.boundary = v["boundary"].str;
	r.engine = v["engine"].str;
	r.message = v["message"].str;
	r.setting = v["setting"].str;
	r.ps = v["ps"].u64();
	r.budget = v["budget"].u64();
	r.calls = v["calls"].u64();
	r.min = v["min"].u64();
	r.median = v["median"].u64();
	r.max = v["max"].u64();
	r.syscalls = v["syscalls"].u64();
	r.rep_iterations = v["rep_iterations"].u64();
	r.exclusive_blocks = v["exclusive_blocks"].u64();
	r.landing_pads = v["landing_pads"].u64();
	for (const json_value &layer : v["layers"].items)
		r.layers.push_back({layer["layer"].str, layer["count"].u64()});
	for (const json_value &cost : v["routines"].items)
		r.routines.push_back({cost["image"].str, cost["routine"].str, cost["count"].u64()});
	for (const json_value &note : v["notes"].items)
		r.notes.push_back(note.str);
	return r;
}

result_set result_set::from_json(const std::string &text, const std::string &source)
{
	json_value root = json_value::parse(text, source);
	if (root["instr_count"].u64() != kFormat)
		fail(exit_code::usage, "%s is not a result file of instr-count", source.c_str());
	result_set set;
	set.arch = root["arch"].str;
	set.engine = root["engine"].str;
	set.compiler = root["compiler"].str;
	set.cpu = root["cpu"].str;
	set.mhz = root["mhz"].u64();
	for (const json_value &item : root["results"].items)
		set.results.push_back(result_from(item));
	return set;
}

result_set result_set::load(const std::string &file)
{
	std::string text;
	if (!read_file(file, text))
		fail(exit_code::usage, "cannot read %s", file.c_str());
	return from_json(text, file);
}

} // namespace ic
