// SPDX-License-Identifier: BSD-3-Clause
// report.cpp: the figures' contents, and the CSV form which is no more than that.
#include "report.hpp"

#include <algorithm>

#include "text.hpp"

namespace ic {

// Ours may be inlined, table or context forms of the same row: the path says which.
static figure_bar bar_of(const path_result &result)
{
	if (result.who == "ours")
		return {result.path, result.median, bar_kind::ours, result.description, result.layers};
	// A peer that waits for another process spins as long as that takes: its
	// shortest call is the fair one.
	std::string scope = result.description;
	if (result.min != result.max)
		scope = format("shortest of %llu, median %llu", static_cast<unsigned long long>(result.calls),
			       static_cast<unsigned long long>(result.median));
	return {result.who, result.min, bar_kind::peer, scope,
		result.min == result.median ? result.layers : decltype(result.layers){}};
}

static figure_row &row_of(figure &fig, const std::string &name)
{
	for (figure_row &row : fig.rows)
		if (row.name == name)
			return row;
	fig.rows.push_back({name, {}});
	return fig.rows.back();
}

std::vector<figure> build_figures(const path_table &table, const result_set &set)
{
	std::vector<figure> figures;
	for (const auto &[id, title] : table.titles) {
		figure fig{id, title, {}};
		for (const published_entry &entry : table.published)
			if (entry.figure == id)
				row_of(fig, entry.row)
					.bars.push_back({entry.who, entry.count, bar_kind::quoted, entry.scope, {}});
		for (const path_result &result : set.results) {
			if (result.status != path_status::ok)
				continue;
			std::vector<std::string> where = split(result.figure, ':');
			if (where.size() == 2 && where[0] == id)
				row_of(fig, where[1]).bars.push_back(bar_of(result));
		}
		for (figure_row &row : fig.rows)
			std::stable_sort(row.bars.begin(), row.bars.end(),
					 [](const figure_bar &a, const figure_bar &b) { return a.kind < b.kind; });
		if (!fig.rows.empty())
			figures.push_back(fig);
	}
	return figures;
}

static std::string csv_field(const std::string &text)
{
	if (text.find_first_of(",\"\n") == std::string::npos)
		return text;
	std::string out = "\"";
	for (char c : text)
		out += c == '"' ? std::string("\"\"") : std::string(1, c);
	return out + "\"";
}

std::string csv_report(const path_table &table, const result_set &set)
{
	std::vector<std::string> names = table.layer_names();
	std::string out = "path,who,status,engine,arch,entry,boundary,calls,min,median,max,budget,syscalls,figure";
	for (const std::string &name : names)
		out += "," + csv_field(name);
	out += "\n";
	for (const path_result &r : set.results) {
		out += join({csv_field(r.path), csv_field(r.who), status_text(r.status), r.engine, set.arch,
			     csv_field(r.entry), csv_field(r.boundary)},
			    ",");
		for (uint64_t n : {r.calls, r.min, r.median, r.max, r.budget, r.syscalls})
			out += format(",%llu", static_cast<unsigned long long>(n));
		out += "," + csv_field(r.figure);
		for (const std::string &name : names) {
			auto found = std::find_if(r.layers.begin(), r.layers.end(),
						  [&](const auto &layer) { return layer.first == name; });
			out += format(",%llu",
				      static_cast<unsigned long long>(found == r.layers.end() ? 0 : found->second));
		}
		out += "\n";
	}
	for (const published_entry &p : table.published)
		out += csv_field(p.figure + ":" + p.row) + "," + csv_field(p.who) + ",published,,,," +
		       csv_field(p.scope) + format(",,,%llu,,,,", static_cast<unsigned long long>(p.count)) +
		       csv_field(p.figure + ":" + p.row) + std::string(names.size(), ',') + "\n";
	return out;
}

} // namespace ic
