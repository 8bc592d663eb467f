// SPDX-License-Identifier: BSD-3-Clause
// path_table.cpp: line formats with fields split by '|'.
#include "path_table.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "arch.hpp"
#include "error.hpp"
#include "locate.hpp"
#include "text.hpp"

namespace ic {

namespace {

[[noreturn]] void bad_line(const std::string &source, size_t line, const std::string &why)
{
	fail(exit_code::usage, "%s:%zu: %s", source.c_str(), line, why.c_str());
}

uint64_t number(const std::string &field, const std::string &source, size_t line)
{
	uint64_t value = 0;
	if (!parse_u64(field, value))
		bad_line(source, line, "'" + field + "' is not a number");
	return value;
}

#ifdef __clang__
constexpr bool kByClang = true;
#else
constexpr bool kByClang = false;
#endif
constexpr uint64_t kSameForAll = 20; // budgets up to this hold whatever the compiler

// A budget: a number, GCC/CLANG, or =NAME for the budget of an earlier path.
budget_pair budget_of(const path_table &table, const std::string &field, budget_pair path_entry::*which,
		      const std::string &source, size_t line)
{
	if (field.starts_with('=')) {
		const path_entry *other = table.find(field.substr(1));
		if (other == nullptr)
			bad_line(source, line, "'" + field + "': there is no such path above");
		return other->*which;
	}
	const size_t slash = field.find('/');
	const uint64_t gcc = number(field.substr(0, slash), source, line);
	if (slash == std::string::npos)
		return {gcc, gcc};
	if (gcc <= kSameForAll)
		bad_line(source, line, "'" + field + "': a budget up to 20 is the same for all compilers");
	return {gcc, number(field.substr(slash + 1), source, line)};
}

// Calls take(fields, line number) for each line that is not empty or a comment.
template <typename Take>
void each_line(const std::string &text, Take take)
{
	size_t line = 0;
	for (const std::string &raw : split(text, '\n')) {
		line++;
		if (!raw.empty() && raw[0] != '#')
			take(split(raw, '|'), line);
	}
}

void parse_directive(path_table &table, const std::vector<std::string> &f, const std::string &source, size_t line)
{
	if (f[0] == "%layer" && f.size() == 4)
		table.layers.push_back({f[1], f[2], f[3] == "-" ? "" : f[3]});
	else if (f[0] == "%routine" && f.size() == 3)
		table.routines.push_back({f[1], f[2], ""});
	else if (f[0] == "%launch" && f.size() == 3)
		table.launchers[f[1]] = f[2];
	else if (f[0] == "%env" && f.size() == 3)
		table.environment.push_back({f[1], f[2]});
	else if (f[0] == "%figure" && f.size() == 3)
		table.titles[f[1]] = f[2];
	else
		bad_line(source, line, "'" + f[0] + "' is not a known directive with the right number of fields");
}

} // namespace

uint64_t path_entry::budget() const
{
	const budget_pair &here = strcmp(arch::kName, "x86_64") == 0 ? budget_x86_64 : budget_aarch64;
	return kByClang ? here.clang : here.gcc;
}

void path_table::parse_paths(const std::string &text, const std::string &source)
{
	each_line(text, [&](const std::vector<std::string> &f, size_t line) {
		if (f[0].starts_with('%'))
			return parse_directive(*this, f, source, line);
		if (f.size() != 10)
			bad_line(source, line, format("%zu fields where a path has 10", f.size()));
		path_entry path;
		path.name = f[0];
		path.who = f[1];
		path.driver = f[2];
		std::vector<std::string> launch = split(f[3], ':');
		path.launcher = launch[0];
		if (launch.size() == 2)
			path.pes = static_cast<unsigned>(number(launch[1], source, line));
		if (path.launcher != "-" &&
		    (launch.size() != 2 || path.pes == 0 || launchers.count(path.launcher) == 0))
			bad_line(source, line, "'" + f[3] + "' is neither '-' nor LAUNCHER:PES with a known launcher");
		path.entry = f[4];
		path.boundary = f[5];
		try {
			entry_point::parse(path.entry);
			boundary::parse(path.boundary);
		} catch (const failure &e) {
			bad_line(source, line, e.what());
		}
		path.budget_x86_64 = budget_of(*this, f[6], &path_entry::budget_x86_64, source, line);
		path.budget_aarch64 = budget_of(*this, f[7], &path_entry::budget_aarch64, source, line);
		path.figure = f[8];
		path.description = f[9];
		if (path.name.empty() || path.driver.empty())
			bad_line(source, line, "a path needs a name and a driver");
		if (find(path.name) != nullptr)
			bad_line(source, line, "path '" + path.name + "' is there twice");
		paths.push_back(path);
	});
}

void path_table::parse_published(const std::string &text, const std::string &source)
{
	each_line(text, [&](const std::vector<std::string> &f, size_t line) {
		if (f.size() != 5)
			bad_line(source, line, format("%zu fields where a published number has 5", f.size()));
		bool words = f[3].size() > 2 && f[3].front() == '"' && f[3].back() == '"';
		if (words)
			published.push_back({f[0], f[1], f[2], 0, f[3].substr(1, f[3].size() - 2), f[4]});
		else
			published.push_back({f[0], f[1], f[2], number(f[3], source, line), "", f[4]});
	});
}

path_table path_table::load()
{
	path_table table;
	std::string text, file = data_file("paths.def");
	if (!read_file(file, text))
		fail(exit_code::internal, "cannot read %s", file.c_str());
	table.parse_paths(text, file);
	file = data_file("published.def");
	if (!read_file(file, text))
		fail(exit_code::internal, "cannot read %s", file.c_str());
	table.parse_published(text, file);
	return table;
}

const path_entry *path_table::find(const std::string &name) const
{
	for (const path_entry &path : paths)
		if (path.name == name)
			return &path;
	return nullptr;
}

std::vector<const path_entry *> path_table::select(const std::vector<std::string> &names) const
{
	std::vector<const path_entry *> out;
	for (const std::string &name : names) {
		size_t before = out.size();
		for (const path_entry &path : paths)
			if (glob_any(name, path.name) && std::find(out.begin(), out.end(), &path) == out.end())
				out.push_back(&path);
		if (out.size() == before && find(name) == nullptr)
			fail(exit_code::usage, "no path '%s' in paths.def ('instr-count list' shows them)",
			     name.c_str());
	}
	if (names.empty())
		for (const path_entry &path : paths)
			out.push_back(&path);
	return out;
}

std::vector<std::string> path_table::layer_names() const
{
	std::vector<std::string> out;
	for (const layer_rule &rule : layers)
		if (std::find(out.begin(), out.end(), rule.layer) == out.end())
			out.push_back(rule.layer);
	out.push_back("other");
	return out;
}

std::string path_table::layer_of(const std::string &image, const std::string &source_file,
				 const std::string &routine) const
{
	for (const layer_rule &rule : routines)
		if (glob_any(rule.image_patterns, routine))
			return rule.layer;
	// Inlining moves code of one layer into another's image; its source file identifies it.
	if (!source_file.empty())
		for (const layer_rule &rule : layers)
			if (glob_any(rule.source_patterns, source_file))
				return rule.layer;
	for (const layer_rule &rule : layers)
		if (glob_any(rule.image_patterns, image))
			return rule.layer;
	return "other";
}

} // namespace ic
