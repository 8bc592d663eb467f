// SPDX-License-Identifier: BSD-3-Clause
//
// The goals of hosts_compare: what a row is measured against, and how far a column is from its goal.
#include "hosts_compare.hpp"

namespace bench::hosts {
namespace {

std::string stream_row(const row &r)
{
	const size_t digits = r.name.find_last_not_of("0123456789");
	return "tcp_" + r.name.substr(digits + 1);
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

std::vector<const column *> results::libraries() const
{
	std::vector<const column *> shown;
	for (size_t k = kFirstLibrary; k < columns.size(); k++)
		if (columns[k].refusal.empty())
			shown.push_back(&columns[k]);
	return shown;
}

bool results::has_goals() const
{
	return row_named("tcp_spin") != nullptr;
}

std::vector<row> results::rows_without_goals() const
{
	std::vector<row> few;
	for (const row &r : rows)
		if (r.group == "pairs" || r.group.starts_with("hosts-"))
			few.push_back(r);
	return few;
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

} // namespace bench::hosts
