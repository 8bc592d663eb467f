// SPDX-License-Identifier: BSD-3-Clause
// report.cpp: the contents of the figures, and the CSV form, which contains nothing else.
#include "report.hpp"

#include <algorithm>
#include <map>

#include "text.hpp"

namespace ic {

// Several of our results may belong to one row (inlined, table or context forms): the path's name tells them apart.
static figure_bar bar_of(const path_result &result)
{
	if (result.who == "ours")
		return {result.path, result.median, bar_kind::ours, result.description, result.layers, result.ps};
	// A peer that waits for another process polls as long as that takes: its shortest call is the fair one.
	std::string scope = result.description;
	if (result.min != result.max)
		scope = format("shortest of %llu, median %llu", static_cast<unsigned long long>(result.calls),
			       static_cast<unsigned long long>(result.median));
	return {result.setting.empty() ? result.who : result.setting,
		result.min,
		bar_kind::peer,
		scope,
		result.min == result.median ? result.layers : decltype(result.layers){},
		result.ps};
}

static figure_row &row_of(figure &fig, const std::string &name)
{
	for (figure_row &row : fig.rows)
		if (row.name == name)
			return row;
	fig.rows.push_back({name, {}, {}});
	return fig.rows.back();
}

// A peer that was counted in several ways is shown by its best result; the others are named.
static void add_peer(figure_row &row, std::map<std::string, size_t> &best, const path_result &result)
{
	figure_bar bar = bar_of(result);
	auto [known, fresh] = best.emplace(row.name + "|" + result.who, row.bars.size());
	if (fresh) {
		row.bars.push_back(bar);
		return;
	}
	if (bar.count < row.bars[known->second].count)
		std::swap(bar, row.bars[known->second]);
	row.words.push_back(
		format("not the best case: %s: %llu", bar.who.c_str(), static_cast<unsigned long long>(bar.count)));
}

static void add_published(figure &fig, const published_entry &entry)
{
	std::string words = entry.who + ": " + entry.claim + " (" + entry.scope + ")";
	if (entry.claim.empty())
		row_of(fig, entry.row).bars.push_back({entry.who, entry.count, bar_kind::quoted, entry.scope, {}, 0});
	else if (entry.row == "-")
		fig.words.push_back(words);
	else
		row_of(fig, entry.row).words.push_back(words);
}

// Where the target of a counted call is. The paper's targets are on another host, as its own words say.
static std::string target_words(size_t near, size_t far)
{
	if (near + far == 0)
		return "";
	if (far == 0)
		return "Counted: target on the same host.";
	std::string other = "target on another host, which a process of this machine plays";
	return near == 0 ? "Counted: " + other + "."
			 : "Counted: target on the same host; *_far and *_verbs: " + other + ".";
}

static figure build_figure(const path_table &table, const result_set &set, const std::string &id,
			   const std::string &title)
{
	figure fig{id, title, "", {}, {}};
	std::map<std::string, size_t> best;
	size_t near = 0, far = 0;
	for (const published_entry &entry : table.published)
		if (entry.figure == id)
			add_published(fig, entry);
	for (const path_result &result : set.results) {
		// The table decides where a result belongs: results may be older than it.
		const path_entry *path = table.find(result.path);
		std::vector<std::string> where = split(path != nullptr ? path->figure : result.figure, ':');
		if (result.status != path_status::ok || where.size() != 2 || where[0] != id)
			continue;
		(path != nullptr && path->to_another_host() ? far : near)++;
		if (result.who == "ours")
			row_of(fig, where[1]).bars.push_back(bar_of(result));
		else
			add_peer(row_of(fig, where[1]), best, result);
	}
	fig.target = target_words(near, far);
	for (figure_row &row : fig.rows)
		std::stable_sort(row.bars.begin(), row.bars.end(),
				 [](const figure_bar &a, const figure_bar &b) { return a.kind < b.kind; });
	return fig;
}

std::vector<figure> build_figures(const path_table &table, const result_set &set)
{
	std::vector<figure> figures;
	for (const auto &[id, title] : table.titles) {
		figure fig = build_figure(table, set, id, title);
		if (!fig.rows.empty())
			figures.push_back(fig);
	}
	return figures;
}

std::string figure_heading(const figure &fig)
{
	bool papers = !fig.id.empty() && fig.id[0] >= '0' && fig.id[0] <= '9';
	return papers ? "Figure " + fig.id + " of the paper. " + fig.title : fig.title;
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
	std::string out =
		"path,who,status,engine,arch,entry,boundary,calls,min,median,max,budget,syscalls,figure,ps,setting";
	for (const std::string &name : names)
		out += "," + csv_field(name);
	out += "\n";
	for (const path_result &r : set.results) {
		out += join({csv_field(r.path), csv_field(r.who), status_text(r.status), r.engine, set.arch,
			     csv_field(r.entry), csv_field(r.boundary)},
			    ",");
		for (uint64_t n : {r.calls, r.min, r.median, r.max, r.budget, r.syscalls})
			out += format(",%llu", static_cast<unsigned long long>(n));
		out += "," + csv_field(r.figure) + format(",%llu,", static_cast<unsigned long long>(r.ps)) +
		       csv_field(r.setting);
		for (const std::string &name : names) {
			auto found = std::find_if(r.layers.begin(), r.layers.end(),
						  [&](const auto &layer) { return layer.first == name; });
			out += format(",%llu",
				      static_cast<unsigned long long>(found == r.layers.end() ? 0 : found->second));
		}
		out += "\n";
	}
	for (const published_entry &p : table.published) {
		std::string row = csv_field(p.figure + ":" + p.row);
		std::string count = p.claim.empty() ? format("%llu", static_cast<unsigned long long>(p.count))
						    : csv_field(p.claim);
		out += row + "," + csv_field(p.who) + ",published,,,," + csv_field(p.scope) + ",,," + count + ",,,," +
		       row + ",," + std::string(names.size(), ',') + "\n";
	}
	return out;
}

} // namespace ic
