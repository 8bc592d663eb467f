// SPDX-License-Identifier: BSD-3-Clause
//
// The results of hosts_compare next to the goals: a human-readable table, CSV, and a plot.
#include "hosts_compare.hpp"

#include <algorithm>

namespace bench::hosts {
namespace {

std::string ratio_text(double value, double base)
{
	return value > 0 && base > 0 ? number(value / base) : "";
}

void libraries_head(std::FILE *out, const results &all, int label)
{
	fprintf(out, "%-*s  %-5s  %-16s %-13s", label, "", "", "", "");
	for (const column *c : all.libraries())
		fprintf(out, "  %57s", c->title.c_str());
	fprintf(out, "\n%-*s  %-5s  %-16s %-13s", label, "row", "unit", "measured against", "goal");
	for (size_t k = 0; k < all.libraries().size(); k++)
		fprintf(out, "  %11s%11s%11s%8s%8s%8s", "best", "median", "tenth", "ratio", "median", "goal");
	fputc('\n', out);
}

// The bound for a blocking get: the bytes leave when the request has arrived, and the next request leaves when they
// have arrived. By the medians.
void write_sums(std::FILE *out, const results &all)
{
	const double trip = all.median_of(results::kRaw, "tcp_spin") / 1000;
	for (const char *bytes : {"65536", "1048576"}) {
		const double stream = all.median_of(results::kRaw, std::string("tcp_") + bytes),
			     alone = all.median_of(results::kRaw, std::string("tcp_answer_") + bytes);
		if (trip <= 0 || stream <= 0 || alone <= 0)
			continue;
		const double size = std::stod(bytes), most = size / (trip + size / stream);
		fprintf(out,
			"A get of %s bytes that blocks takes R + size/B = %.1f + %.1f us at least: %.0f MB/s, %.2f B; "
			"raw "
			"TCP's\nanswers one by one reach %.0f, %.2f B",
			bytes, trip, size / stream, most, most / stream, alone, alone / stream);
		const row *blocking = all.row_named(std::string("get_") + bytes),
			  *several = all.row_named(std::string("get_nbi_") + bytes);
		for (const column *c : all.libraries())
			if (blocking && several && c->median(*blocking) > 0 && c->median(*several) > 0)
				fprintf(out, "; %s %.2f of that, and %.2f B with several in flight", c->title.c_str(),
					c->median(*blocking) / alone, c->median(*several) / stream);
		fputs(".\n", out);
	}
}

// Only signed packets have a goal.
constexpr char kSigned[] = "FI_PGAS_NET_SIGN=1", kSignedRow[] = "p_1000";
constexpr double kSignedGoal = 0.85;

// The cost of a setting: each row with it, as a share of the speed without it. By the medians.
void write_variants(std::FILE *out, const results &all)
{
	for (const variant &v : all.variants) {
		const column &with = all.columns[v.column], &plain = all.columns[v.plain];
		if (!with.refusal.empty() || !plain.refusal.empty())
			continue;
		fprintf(out, "\nSpeed with %s, as a share of that without (%s), by the medians and the bests:\n",
			v.setting.c_str(), plain.title.c_str());
		for (const row &r : all.rows) {
			const double a = with.median(r), b = plain.median(r);
			if (a <= 0 || b <= 0)
				continue;
			const bool more = r.more_is_better();
			const double share = more ? a / b : b / a,
				     best = more ? with.best(r) / plain.best(r) : plain.best(r) / with.best(r);
			const bool judged = v.setting == kSigned && r.name == kSignedRow;
			fprintf(out, "  %-40s %-6s %-6s %s\n", r.label.c_str(), number(share).c_str(),
				number(best).c_str(),
				!judged                ? ""
				: share >= kSignedGoal ? "goal >= 0.85: reached"
						       : "goal >= 0.85: no");
		}
	}
}

// What a library reached in a row, and how that compares with the goal.
void write_goal_cell(std::FILE *out, const results &all, const row &r, const goal &g, const column &c)
{
	const bool pure = g.divisor == against::nothing;
	const double base = pure ? 0 : reference(all, r, g),
		     middle = pure ? 0 : reference(all, r, g, &results::median_of), best = c.best(r),
		     m = margin(all, r, g, c);
	if (best == 0) {
		fprintf(out, "  %57s", shown_failure(c, r).c_str());
		return;
	}
	fprintf(out, "  %11s%11s%11s%8s%8s%8s", number(best).c_str(), number(c.median(r)).c_str(),
		number(c.tenth_worst(r)).c_str(), ratio_text(best, base).c_str(),
		ratio_text(c.median(r), middle).c_str(),
		m == 0   ? ""
		: m >= 1 ? "reached"
			 : "no");
}

void write_goals(std::FILE *out, const results &all)
{
	const int label = label_width(all.rows);
	fprintf(out, "%-*s  %-5s  %10s%10s\n", label, "between the hosts", "unit", "best", "median");
	for (size_t k = 0; k < results::kFirstLibrary; k++)
		for (const row &r : all.rows)
			if (all.columns[k].best(r) > 0)
				fprintf(out, "%-*s  %-5s  %10s%10s  %s\n", label, r.label.c_str(), r.unit.c_str(),
					number(all.columns[k].best(r)).c_str(),
					number(all.columns[k].median(r)).c_str(), all.columns[k].title.c_str());
	fputc('\n', out);
	libraries_head(out, all, label);
	for (const row &r : all.rows) {
		const goal *g = goal_of(r);
		if (!g)
			continue;
		const double limit = limit_of(all, *g);
		fprintf(out, "%-*s  %-5s  %-16s %-13s", label, r.label.c_str(), r.unit.c_str(),
			reference_name(all, r, *g).c_str(),
			limit > 0 ? ((r.more_is_better() ? ">= " : "<= ") + number(limit)).c_str() : "");
		for (const column *c : all.libraries())
			write_goal_cell(out, all, r, *g, *c);
		fputc('\n', out);
	}
	fputs("\nns: less is better; Mop/s, MB/s: more is better. R: round trip of raw TCP, spinning; B: its stream in "
	      "writes of\nthat size. Two ratios: of the best samples, and of the medians, by which goals are "
	      "reached.\nA "
	      "tenth of the samples is worse than tenth. A g that waits until the target stops to compute shows as 100 "
	      "ms.\n",
	      out);
	write_sums(out, all);
	write_variants(out, all);
}

// Pairs and collectives, where all PEs of both hosts take part.
void write_all_pes(std::FILE *out, const results &all)
{
	const std::vector<row> rows = all.rows_without_goals();
	if (rows.empty())
		return;
	const int label = label_width(rows) + 10;
	const std::string head = std::to_string(all.per_host) + (all.per_host > 1 ? " PEs" : " PE") + " on each host";
	fprintf(out, "%s%-*s  %-5s", all.has_goals() ? "\n" : "", label, head.c_str(), "");
	for (const column *c : all.libraries())
		fprintf(out, "  %46s", c->title.c_str());
	fprintf(out, "\n%-*s  %-5s", label, "row", "unit");
	for (size_t k = 0; k < all.libraries().size(); k++)
		fprintf(out, "  %18s%14s%14s", "best", "median", "tenth-worst");
	fputc('\n', out);
	for (size_t i = 0; i < rows.size(); i++) {
		const row &r = rows[i];
		fprintf(out, "%s%-*s  %-5s", i && rows[i - 1].group != r.group ? "\n" : "", label, r.label.c_str(),
			r.unit.c_str());
		for (const column *c : all.libraries())
			c->best(r) > 0 ? fprintf(out, "  %18s%14s%14s", number(c->best(r)).c_str(),
						 number(c->median(r)).c_str(), number(c->tenth_worst(r)).c_str())
				       : fprintf(out, "  %46s", shown_failure(*c, r).c_str());
		fputc('\n', out);
	}
	fputs("\nns: less is better; Mop/s, MB/s: more is better; of all pairs together. A tenth of the samples is "
	      "worse "
	      "than tenth-worst.\n",
	      out);
}

// Which columns there are, and where their PEs ran.
void write_places(std::FILE *out, const results &all)
{
	fputs("\nWhere the processes ran, as they say themselves:\n", out);
	for (const column &c : all.columns)
		if (c.refusal.empty() && !c.places.empty())
			fprintf(out, "  %s: %s\n", c.title.c_str(), describe_places(c.places).c_str());
	for (const column &c : all.columns)
		if (!c.refusal.empty())
			fprintf(out, "  %s is not shown: %s\n", c.title.c_str(), c.refusal.c_str());
	for (const std::string &note : all.notes)
		fprintf(out, "  %s\n", note.c_str());
	const auto has_no_wire = [&](const column *c) {
		return std::ranges::any_of(all.rows, [&](const row &r) { return c->failure(r) == kNoWire; });
	};
	if (std::ranges::any_of(all.libraries(), has_no_wire))
		fputs("  no-wire: the network between the hosts did not carry what the row sent, so it is no result\n",
		      out);
}

void write_table(std::FILE *out, const std::vector<results> &tables)
{
	for (const results &all : tables) {
		fputs(&all == tables.data() ? "" : "\n", out);
		if (all.has_goals())
			write_goals(out, all);
		write_all_pes(out, all);
		write_places(out, all);
	}
}

void write_csv(std::FILE *out, const std::vector<results> &tables)
{
	fputs("row,unit,column,best,median,samples,against,reference,goal,times_better_than_goal,tenth_worst,"
	      "pes_on_each_host\n",
	      out);
	for (const results &all : tables)
		for (const row &r : all.rows) {
			const goal *g = all.has_goals() ? goal_of(r) : nullptr;
			for (const column &c : all.columns)
				if (c.refusal.empty() && c.by_row.count(r.name))
					fprintf(out, "%s,%s,%s,%g,%g,%zu,\"%s\",%g,%g,%g,%g,%d\n", r.name.c_str(),
						r.unit.c_str(), csv_field(c.title).c_str(), c.best(r), c.median(r),
						c.count(r), g ? reference_name(all, r, *g).c_str() : "",
						g ? reference(all, r, *g, &results::median_of) : 0,
						g ? limit_of(all, *g) : 0, g ? margin(all, r, *g, c) : 0,
						c.tenth_worst(r), all.per_host);
		}
}

void write_json(pgas::json_writer &out, const std::vector<results> &tables)
{
	out.line().key("tables").begin_array();
	for (const results &all : tables) {
		out.line().begin_object().member("pes_on_each_host", all.per_host).key("notes").begin_array();
		for (const std::string &note : all.notes)
			out.line().value(note);
		out.end_array();
		write_columns(out, all.rows, all.columns);
		out.line().end_object();
	}
	out.line().end_array();
}

std::string draw_goals(const results &all)
{
	bar_plot plot{
		"How many times better than the goal, between two hosts", "medians; log scale; paler: not reached", {}};
	for (const column *c : all.libraries())
		plot.columns.push_back({c->title, {}});
	for (const row &r : all.rows) {
		const goal *g = goal_of(r);
		if (!g || limit_of(all, *g) <= 0)
			continue;
		plot.labels.push_back(r.label);
		for (size_t k = 0; k < plot.columns.size(); k++)
			plot.columns[k].ratios.push_back(margin(all, r, *g, *all.libraries()[k]));
	}
	return draw_bars(plot);
}

// Our first column beside the last, which is the peer: one series for each number of PEs on a host.
std::string draw_all_pes(const std::vector<results> &tables)
{
	const std::vector<row> rows = tables[0].rows_without_goals();
	bar_plot plot{
		"How many times faster than the peer, all PEs of two hosts", "medians; log scale; paler: slower", {}};
	for (const row &r : rows)
		plot.labels.push_back(r.label);
	for (const results &all : tables) {
		const std::vector<const column *> shown = all.libraries();
		plot.columns.push_back({std::to_string(all.per_host) + " on each host", {}});
		for (const row &r : rows) {
			const double ours = shown.size() > 1 ? shown.front()->median(r) : 0,
				     theirs = shown.size() > 1 ? shown.back()->median(r) : 0;
			plot.columns.back().ratios.push_back(ours <= 0 || theirs <= 0 ? 0
							     : r.more_is_better()     ? ours / theirs
										      : theirs / ours);
		}
	}
	return draw_bars(plot);
}

std::string draw(const std::vector<results> &tables)
{
	return tables[0].has_goals() ? draw_goals(tables[0]) : draw_all_pes(tables);
}

} // namespace

bool write_results(const command_line &line, const std::vector<results> &all)
{
	return write_report(line, {write_table, write_csv, write_json, draw}, all);
}

bool write_picture(const command_line &line, const results &all)
{
	return write_file(line.svg, [&](std::FILE *out) { fputs(draw_goals(all).c_str(), out); });
}

} // namespace bench::hosts
