// SPDX-License-Identifier: BSD-3-Clause
// measurement.cpp: parses requests, and reduces many calls to one result.
#include "measurement.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>

#include "arch.hpp"
#include "error.hpp"
#include "text.hpp"

namespace ic {

boundary boundary::parse(const std::string &text)
{
	if (text.empty() || text == "return")
		return {};
	if (text == "syscall")
		return {at_syscall, {}};
	if (text.starts_with("image:") && text.size() > 6)
		return {at_image, text.substr(6)};
	if (text.starts_with("symbol:") && text.size() > 7)
		return {at_symbol, text.substr(7)};
	fail(exit_code::usage, "boundary '%s' is not one of return, syscall, image:PATTERN, symbol:NAME", text.c_str());
}

std::string boundary::text() const
{
	switch (kind) {
	case at_syscall:
		return "syscall";
	case at_image:
		return "image:" + pattern;
	case at_symbol:
		return "symbol:" + pattern;
	case at_return:
		break;
	}
	return "return";
}

entry_point entry_point::parse(const std::string &text)
{
	entry_point out;
	std::string rest = text;
	// operator!= also contains a '!', but no image precedes it.
	size_t bang = rest.find('!');
	if (bang != std::string::npos && bang > 0 && !rest.starts_with("operator")) {
		out.image_pattern = rest.substr(0, bang);
		rest = rest.substr(bang + 1);
	}
	if (rest.starts_with("mark:")) {
		out.is_mark = true;
		rest = rest.substr(5);
	}
	if (rest.empty())
		fail(exit_code::usage, "entry '%s' names no function", text.c_str());
	out.name = rest;
	return out;
}

std::string entry_point::text() const
{
	return (image_pattern.empty() ? "" : image_pattern + "!") + (is_mark ? "mark:" : "") + name;
}

std::vector<std::string> count_request::environment() const
{
	std::vector<std::string> out = extra_env;
	// With lazy binding each first call would include the dynamic linker.
	out.push_back("LD_BIND_NOW=1");
	out.push_back(format("INSTR_COUNT_CALLS=%u", calls + warmup));
	if (!native_libc) {
		const char *given = getenv("GLIBC_TUNABLES");
		std::string tunables = given != nullptr && *given != '\0' ? std::string(given) + ":" : "";
		out.push_back("GLIBC_TUNABLES=" + tunables + arch::kGlibcTunables);
	}
	return out;
}

uint64_t measurement::min() const
{
	return calls.empty() ? 0 : *std::min_element(calls.begin(), calls.end());
}

uint64_t measurement::max() const
{
	return calls.empty() ? 0 : *std::max_element(calls.begin(), calls.end());
}

uint64_t measurement::median() const
{
	return calls.empty() ? 0 : calls[median_index(calls)];
}

std::vector<routine_cost> measurement::routines() const
{
	std::map<std::pair<std::string, std::string>, uint64_t> sums;
	for (const cost_line &line : lines)
		sums[{line.where.image, line.where.routine}] += line.count;
	std::vector<routine_cost> out;
	for (const auto &[key, count] : sums)
		out.push_back({key.first, key.second, count});
	std::stable_sort(out.begin(), out.end(), [](const auto &a, const auto &b) { return a.count > b.count; });
	return out;
}

void measurement::note_processes(const count_request &request, bool made)
{
	if (made && !request.makes_processes)
		notes.push_back("the program made other processes (fork): calls in those are not counted");
}

size_t median_index(const std::vector<uint64_t> &calls)
{
	std::vector<size_t> order(calls.size());
	std::iota(order.begin(), order.end(), size_t{0});
	std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return calls[a] < calls[b]; });
	return order[(order.size() - 1) / 2];
}

measurement summarize(const count_request &request, const char *engine, std::vector<call_record> records)
{
	measurement out;
	out.engine = engine;
	out.entry = request.entry.text();
	out.boundary = request.entry.is_mark ? "mark" : request.end.text();
	size_t drop = std::min<size_t>(request.warmup, records.empty() ? 0 : records.size() - 1);
	if (drop < request.warmup)
		out.notes.push_back(format("only %zu calls were made: warm-up is not fully dropped", records.size()));
	records.erase(records.begin(), records.begin() + static_cast<ptrdiff_t>(drop));
	if (records.size() > request.calls)
		records.resize(request.calls);
	for (const call_record &record : records)
		out.calls.push_back(record.total);
	if (records.empty())
		return out;
	call_record &chosen = records[median_index(out.calls)];
	out.syscalls = chosen.syscalls;
	out.rep_iterations = chosen.rep_iterations;
	out.exclusive_blocks = chosen.exclusive_blocks;
	out.landing_pads = chosen.landing_pads;
	out.lines = std::move(chosen.lines);
	out.trace = std::move(chosen.trace);
	return out;
}

} // namespace ic
