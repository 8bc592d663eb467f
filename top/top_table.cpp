// SPDX-License-Identifier: BSD-3-Clause
// top_table.cpp: see top_table.hpp. Where a terminal is narrow, columns go first that matter least; the last one, where
// each PE is, gets what is left.
#include "top_table.hpp"

#include <algorithm>
#include <cstring>
#include <map>

namespace oshtop {
namespace {

constexpr size_t kPlaceWidth = 24; // columns are left out until there is room for so much of the last one
constexpr size_t kLeastRows = 3;   // of a small terminal, before the lines below the table
constexpr size_t kStateColumn = 2; // its words are coloured, and begin at its left side
constexpr size_t kSentences = 12;  // that are printed
constexpr const char *kNothing = "-";

struct column {
	const char *word; // for --sort; null: not to sort by
	const char *title;
	size_t width; // at least
	int rank;     // those with the highest are left out first
	std::string (*text)(const row &);
	maybe (*value)(const row &);
};

std::string with(const maybe &value, std::string (*text)(double))
{
	return value ? text(*value) : kNothing;
}

std::string percent_text(double value)
{
	char text[32];
	snprintf(text, sizeof text, value < 99.95 ? "%.1f" : "%.0f", value);
	return text;
}

// A PE that waits for others may run or sleep meanwhile: that depends on how long it has waited.
const char *state_word(const row &r)
{
	const bool may_wait = strcmp(r.state, "running") == 0 || strcmp(r.state, "sleeping") == 0;
	return r.is_waiting && may_wait ? "waiting" : r.state;
}

maybe messages_of(const row &r)
{
	return r.messages_rate                                 ? r.messages_rate
	       : r.arrivals_rate && r.arrivals.value_or(0) > 0 ? r.arrivals_rate
							       : maybe();
}

constexpr column kColumns[] = {
	{"pe", "PE", 4, 0, [](const row &r) { return std::to_string(r.rank); },
	 [](const row &r) { return maybe(r.rank); }},
	{nullptr, "PID", 7, 2, [](const row &r) { return r.pid ? std::to_string(r.pid) : kNothing; }, nullptr},
	{nullptr, "STATE", 9, 0, [](const row &r) { return std::string(state_word(r)); }, nullptr},
	{"cpu", "CPU%", 5, 0, [](const row &r) { return with(r.cpu_percent, percent_text); },
	 [](const row &r) { return r.cpu_percent; }},
	{"time", "TIME", 7, 4, [](const row &r) { return with(r.cpu_s, time_text); },
	 [](const row &r) { return r.cpu_s; }},
	{"heap", "HEAP", 6, 0, [](const row &r) { return with(r.touched_bytes, bytes_text); },
	 [](const row &r) { return r.touched_bytes; }},
	{"sync", "SYNC/s", 6, 1, [](const row &r) { return with(r.syncs_rate, count_text); },
	 [](const row &r) { return r.syncs_rate; }},
	{"coll", "COLL/s", 6, 5, [](const row &r) { return with(r.collectives_rate, count_text); },
	 [](const row &r) { return r.collectives_rate; }},
	{"call", "CALL/s", 6, 1, [](const row &r) { return with(r.calls_rate, count_text); },
	 [](const row &r) { return r.calls_rate; }},
	{"msg", "MSG/s", 6, 3, [](const row &r) { return with(messages_of(r), count_text); }, messages_of},
	{"bytes", "B/s", 6, 1, [](const row &r) { return with(r.bytes_rate, bytes_text); },
	 [](const row &r) { return r.bytes_rate; }},
	{"wait", "WAIT%", 5, 0, [](const row &r) { return with(r.wait_percent, percent_text); },
	 [](const row &r) { return r.wait_percent; }},
};
constexpr int kCount = static_cast<int>(std::size(kColumns));

std::string where_of(const row &r)
{
	if (r.place.empty())
		return kNothing;
	return r.place + (r.call_s.value_or(0) >= 1 ? ", " + time_text(*r.call_s) : "");
}

std::string pad(const std::string &text, size_t width, bool left)
{
	const std::string blanks(width > text.size() ? width - text.size() : 0, ' ');
	return left ? text + blanks : blanks + text;
}

std::string cut(const std::string &text, size_t width)
{
	return width && text.size() > width ? text.substr(0, width) : text;
}

// --- colours ---------------------------------------------------------------------------------------------------------

constexpr const char *kReverse = "\033[7m", *kPlain = "\033[0m";

const char *color_of(const row &r)
{
	if (strcmp(r.state, "stopped") == 0 || strcmp(r.state, "ended") == 0 || strcmp(r.state, "debugged") == 0)
		return "\033[31m";
	if (r.is_waiting)
		return "\033[33m";
	return strcmp(r.state, "running") == 0 ? "\033[32m" : "\033[2m";
}

std::string paint(const std::string &text, const char *color, const page &where)
{
	return where.colored && *color ? color + text + kPlain : text;
}

// --- lines -----------------------------------------------------------------------------------------------------------

std::vector<size_t> widths_of(const std::vector<const row *> &rows)
{
	std::vector<size_t> widths;
	for (const column &c : kColumns) {
		size_t width = std::max(c.width, strlen(c.title));
		for (const row *r : rows)
			width = std::max(width, c.text(*r).size());
		widths.push_back(width);
	}
	return widths;
}

// Which columns are shown.
std::vector<bool> fit(const std::vector<size_t> &widths, size_t width)
{
	std::vector<bool> shown(kCount, true);
	for (int rank = 5; width && rank > 0; rank--) {
		size_t sum = kPlaceWidth;
		for (int i = 0; i < kCount; i++)
			sum += shown[static_cast<size_t>(i)] ? widths[static_cast<size_t>(i)] + 1 : 0;
		if (sum <= width)
			break;
		for (int i = 0; i < kCount; i++)
			if (kColumns[i].rank == rank)
				shown[static_cast<size_t>(i)] = false;
	}
	return shown;
}

std::string head_line(const std::vector<size_t> &widths, const std::vector<bool> &shown, const page &where)
{
	std::string text;
	for (size_t i = 0; i < shown.size(); i++)
		if (shown[i])
			text += pad(kColumns[i].title, widths[i], i == kStateColumn) + " ";
	text = cut(text + "WHERE", where.width);
	return paint(where.colored ? pad(text, where.width, true) : text, kReverse, where);
}

// The state alone is coloured, and what follows is cut before that.
std::string row_line(const row &r, const std::vector<size_t> &widths, const std::vector<bool> &shown, const page &where)
{
	std::string text;
	size_t begin = 0, end = 0;
	for (size_t i = 0; i < shown.size(); i++)
		if (shown[i]) {
			begin = i == kStateColumn ? text.size() : begin;
			text += pad(kColumns[i].text(r), widths[i], i == kStateColumn) + " ";
			end = i == kStateColumn ? text.size() - 1 : end;
		}
	text = cut(text + where_of(r), where.width);
	if (!where.colored || end > text.size())
		return text;
	return text.substr(0, begin) + paint(text.substr(begin, end - begin), color_of(r), where) + text.substr(end);
}

maybe sum_of(const view &v, maybe (*value)(const row &))
{
	maybe sum;
	for (const row &r : v.rows)
		if (const maybe one = value(r))
			sum = sum.value_or(0) + *one;
	return sum;
}

std::string states_text(const view &v)
{
	std::map<std::string, int> counts;
	for (const row &r : v.rows)
		counts[state_word(r)]++;
	std::string text;
	for (const auto &[state, count] : counts)
		text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + state;
	return text;
}

std::string totals_text(const view &v)
{
	std::string text = std::to_string(v.pes) + (v.pes == 1 ? " PE" : " PEs");
	if (v.pes_here < v.pes)
		text += " on " + std::to_string(v.hosts) + " hosts, " + std::to_string(v.pes_here) + " here";
	if (const std::string states = states_text(v); !states.empty())
		text += ": " + states;
	const auto add = [&](const char *before, const maybe &sum, std::string (*words)(double), const char *after) {
		if (sum)
			text += before + words(*sum) + after;
	};
	add("; CPU ", sum_of(v, [](const row &r) { return r.cpu_percent; }), percent_text, "%");
	add("; heap ", sum_of(v, [](const row &r) { return r.touched_bytes; }), bytes_text, "");
	add(" of ", sum_of(v, [](const row &r) { return r.heap_bytes; }), bytes_text, "");
	add("; ", sum_of(v, [](const row &r) { return r.calls_rate; }), count_text, " calls/s");
	add(", ", sum_of(v, messages_of), count_text, " messages/s");
	add(", ", sum_of(v, [](const row &r) { return r.bytes_rate; }), bytes_text, "B/s");
	return text;
}

std::vector<std::string> lines_above(const view &v)
{
	return {"job " + std::to_string(v.job) + " on " + v.host + ", up " + time_text(v.age_s) + ": " + v.command,
		totals_text(v), ""};
}

std::vector<std::string> lines_below(const view &v)
{
	std::vector<std::string> lines;
	if (!v.sentences.empty() || !v.notes.empty())
		lines.push_back("");
	const size_t count = std::min(v.sentences.size(), kSentences);
	lines.insert(lines.end(), v.sentences.begin(), v.sentences.begin() + static_cast<ptrdiff_t>(count));
	if (count < v.sentences.size())
		lines.push_back("... and " + std::to_string(v.sentences.size() - count) + " more sentences");
	for (const std::string &note : v.notes)
		lines.push_back("(" + note + ")");
	return lines;
}

} // namespace

int column_number(const std::string &word)
{
	for (int i = 0; i < kCount; i++)
		if (kColumns[i].word && word == kColumns[i].word)
			return i;
	return -1;
}

std::string column_words()
{
	std::string text;
	for (const column &c : kColumns)
		if (c.word)
			text += (text.empty() ? "" : ", ") + std::string(c.word);
	return text;
}

int next_column(int sort)
{
	do
		sort = (sort + 1) % kCount;
	while (!kColumns[sort].word);
	return sort;
}

// PEs ascend; all else descends, because the largest matters. What is not known comes last.
std::vector<const row *> choose_rows(const view &v, const options &opts)
{
	std::vector<const row *> rows;
	for (const row &r : v.rows)
		if (opts.pes.empty() || opts.pes.count(r.rank))
			rows.push_back(&r);
	const column &key = kColumns[opts.sort];
	const bool ascends = (opts.sort == 0) != opts.reverse;
	std::stable_sort(rows.begin(), rows.end(), [&](const row *a, const row *b) {
		const maybe x = key.value(*a), y = key.value(*b);
		if (!x || !y)
			return x && !y;
		return ascends ? *x < *y : *x > *y;
	});
	if (opts.most && rows.size() > opts.most)
		rows.resize(opts.most);
	return rows;
}

std::vector<std::string> make_table(const view &v, const options &opts, page &where)
{
	const std::vector<const row *> rows = choose_rows(v, opts);
	const std::vector<size_t> widths = widths_of(rows);
	const std::vector<bool> shown = fit(widths, where.width);
	std::vector<std::string> lines;
	for (const std::string &text : lines_above(v))
		lines.push_back(cut(text, where.width));
	lines.push_back(head_line(widths, shown, where));
	std::vector<std::string> below = lines_below(v);
	size_t room = rows.size();
	if (where.height) {
		const size_t above = lines.size();
		while (!below.empty() && above + kLeastRows + 1 + below.size() > where.height)
			below.pop_back();
		room = where.height > above + below.size() ? where.height - above - below.size() : 0;
		if (room < rows.size() && room > 0)
			room--; // for the line that says so
	}
	where.first = std::min(where.first, rows.size() > room ? rows.size() - room : 0);
	const size_t end = std::min(rows.size(), where.first + room);
	for (size_t i = where.first; i < end; i++)
		lines.push_back(row_line(*rows[i], widths, shown, where));
	const size_t left_out = v.rows.size() - (end - where.first);
	if (left_out > 0 && opts.pes.empty())
		lines.push_back(cut("... and " + std::to_string(left_out) + " more PEs", where.width));
	for (const std::string &text : below)
		lines.push_back(cut(text, where.width));
	if (where.height && lines.size() > where.height)
		lines.resize(where.height);
	return lines;
}

} // namespace oshtop
