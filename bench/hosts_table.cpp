// SPDX-License-Identifier: BSD-3-Clause
//
// The results of hosts_compare next to the goals: a human-readable table, CSV, and a plot.
#include "hosts_compare.hpp"

namespace bench::hosts {
namespace {

std::string stream_row(const row &r)
{
	const size_t digits = r.name.find_last_not_of("0123456789");
	return "tcp_" + r.name.substr(digits + 1);
}

std::string ratio_text(double value, double base)
{
	return value > 0 && base > 0 ? number(value / base) : "";
}

void libraries_head(std::FILE *out, const results &all, int label)
{
	fprintf(out, "%-*s  %-5s  %-16s %-13s", label, "", "", "", "");
	for (size_t k = results::kFirstLibrary; k < all.columns.size(); k++)
		fprintf(out, "  %46s", all.columns[k].title.c_str());
	fprintf(out, "\n%-*s  %-5s  %-16s %-13s", label, "row", "unit", "measured against", "goal");
	for (size_t k = results::kFirstLibrary; k < all.columns.size(); k++)
		fprintf(out, "  %11s%11s%8s%8s%8s", "best", "median", "ratio", "median", "goal");
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
		for (size_t k = results::kFirstLibrary; k < all.columns.size(); k++) {
			const double got = all.median_of(k, std::string("get_") + bytes),
				     many = all.median_of(k, std::string("get_nbi_") + bytes);
			if (got > 0 && many > 0)
				fprintf(out, "; %s %.2f of that, and %.2f B with several under way",
					all.columns[k].title.c_str(), got / alone, many / stream);
		}
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

} // namespace

const row *results::row_named(const std::string &name) const
{
	for (const row &r : rows)
		if (r.name == name)
			return &r;
	return nullptr;
}

double results::best_of(size_t k, const std::string &name) const
{
	const row *r = row_named(name);
	return r && k < columns.size() ? columns[k].best(*r) : 0;
}

double results::median_of(size_t k, const std::string &name) const
{
	const row *r = row_named(name);
	return r && k < columns.size() ? columns[k].median(*r) : 0;
}

const goal *goal_of(const row &r)
{
	for (const goal &g : kGoals)
		if (r.name == g.row)
			return &g;
	return nullptr;
}

double reference(const results &all, const row &r, const goal &g, value_of value)
{
	switch (g.divisor) {
	case against::round_trip:
		return (all.*value)(results::kRaw, "tcp_spin");
	case against::blocking:
		return (all.*value)(results::kRaw, "tcp_block");
	case against::inner: {
		const double inner = (all.*value)(results::kInner, "inner_spin");
		return inner > 0 ? inner : (all.*value)(results::kRaw, "tcp_spin");
	}
	case against::stream:
		return (all.*value)(results::kRaw, stream_row(r));
	default:
		return 1;
	}
}

std::string reference_name(const results &all, const row &r, const goal &g)
{
	switch (g.divisor) {
	case against::round_trip:
		return "R";
	case against::blocking:
		return "blocking TCP";
	case against::inner:
		return all.best_of(results::kInner, "inner_spin") > 0 ? "inner messages" : "R";
	case against::stream:
		return "B, " + (all.row_named(stream_row(r)) ? r.name.substr(r.name.rfind('_') + 1) : "");
	default:
		return "";
	}
}

double limit_of(const results &all, const goal &g)
{
	const bool guess = g.divisor == against::inner && all.best_of(results::kInner, "inner_spin") == 0;
	return guess ? g.limit * kInnerInRoundTrips : g.limit;
}

double margin(const results &all, const row &r, const goal &g, const column &owner)
{
	const double value = owner.median(r), base = reference(all, r, g, &results::median_of),
		     limit = limit_of(all, g);
	if (value <= 0 || base <= 0 || limit <= 0)
		return 0;
	return r.more_is_better() ? value / base / limit : limit / (value / base);
}

namespace {

void write_table(std::FILE *out, const results &all)
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
		const double limit = limit_of(all, *g), base = reference(all, r, *g),
			     middle = reference(all, r, *g, &results::median_of);
		const bool pure = g->divisor == against::nothing;
		fprintf(out, "%-*s  %-5s  %-16s %-13s", label, r.label.c_str(), r.unit.c_str(),
			reference_name(all, r, *g).c_str(),
			limit > 0 ? ((r.more_is_better() ? ">= " : "<= ") + number(limit)).c_str() : "");
		for (size_t k = results::kFirstLibrary; k < all.columns.size(); k++) {
			const column &c = all.columns[k];
			const double best = c.best(r), m = margin(all, r, *g, c);
			if (best == 0) {
				fprintf(out, "  %46s", shown_failure(c, r).c_str());
				continue;
			}
			fprintf(out, "  %11s%11s%8s%8s%8s", number(best).c_str(), number(c.median(r)).c_str(),
				ratio_text(best, pure ? 0 : base).c_str(),
				ratio_text(c.median(r), pure ? 0 : middle).c_str(),
				m == 0   ? ""
				: m >= 1 ? "reached"
					 : "no");
		}
		fputc('\n', out);
	}
	fprintf(out,
		"\nns: less is better; Mop/s, MB/s: more is better. R: round trip of raw TCP, spinning; B: its stream "
		"in writes of\nthat size. Two ratios: of the best samples, and of the medians, by which goals are "
		"reached.\nA g that waits until the target stops to compute shows as 100 ms.\n");
	write_sums(out, all);
	write_variants(out, all);
}

void write_csv(std::FILE *out, const results &all)
{
	fputs("row,unit,column,best,median,samples,against,reference,goal,times_better_than_goal\n", out);
	for (const row &r : all.rows) {
		const goal *g = goal_of(r);
		for (const column &c : all.columns)
			if (c.by_row.count(r.name))
				fprintf(out, "%s,%s,%s,%g,%g,%zu,\"%s\",%g,%g,%g\n", r.name.c_str(), r.unit.c_str(),
					csv_field(c.title).c_str(), c.best(r), c.median(r), c.count(r),
					g ? reference_name(all, r, *g).c_str() : "",
					g ? reference(all, r, *g, &results::median_of) : 0, g ? limit_of(all, *g) : 0,
					g ? margin(all, r, *g, c) : 0);
	}
}

void write_json(pgas::json_writer &out, const results &all)
{
	write_columns(out, all.rows, all.columns);
}

std::string draw(const results &all)
{
	bar_plot plot{
		"How many times better than the goal, between two hosts", "medians; log scale; paler: not reached", {}};
	for (size_t k = results::kFirstLibrary; k < all.columns.size(); k++)
		plot.columns.push_back({all.columns[k].title, {}});
	for (const row &r : all.rows) {
		const goal *g = goal_of(r);
		if (!g || limit_of(all, *g) <= 0)
			continue;
		plot.labels.push_back(r.label);
		for (size_t k = results::kFirstLibrary; k < all.columns.size(); k++)
			plot.columns[k - results::kFirstLibrary].ratios.push_back(margin(all, r, *g, all.columns[k]));
	}
	return draw_bars(plot);
}

} // namespace

bool write_results(const command_line &line, const results &all)
{
	return write_report(line, {write_table, write_csv, write_json, draw}, all);
}

} // namespace bench::hosts
