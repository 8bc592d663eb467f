// SPDX-License-Identifier: BSD-3-Clause
#include "teams_host_plan.hpp"

#include <algorithm>
#include <cstdlib>

namespace pgas::teams {
namespace {

[[gnu::cold, gnu::noinline]] host_plan *make_plan(const team &t)
{
	const auto n = static_cast<size_t>(t.size), hosts = static_cast<size_t>(t.hosts);
	auto *plan = static_cast<host_plan *>(malloc(sizeof(host_plan) + (n + 2 * hosts + 1) * sizeof(int)));
	if (!plan)
		fail("collective", "out of memory");
	*plan = {};
	int *by_host = reinterpret_cast<int *>(plan + 1), *first = by_host + n, *next = first + hosts + 1;
	std::fill_n(first, hosts + 1, 0);
	for (int j = 0; j < t.size; j++)
		first[t.host[j] + 1]++;
	plan->least = *std::min_element(first + 1, first + hosts + 1);
	plan->most = *std::max_element(first + 1, first + hosts + 1);
	for (size_t h = 0; h < hosts; h++) {
		first[h + 1] += first[h];
		next[h] = first[h];
	}
	plan->group = t.host[t.me];
	plan->groups = t.hosts;
	plan->by_host = by_host;
	plan->first_of = first;
	plan->local = by_host + first[plan->group];
	plan->locals = plan->count_of(plan->group);
	for (int j = 0; j < t.size; j++) {
		if (j == t.me)
			plan->index = next[plan->group] - first[plan->group];
		by_host[next[t.host[j]]++] = j;
	}
	return plan;
}

} // namespace

const host_plan &host_plan_of(team &t)
{
	if (PGAS_UNLIKELY(!t.plan))
		t.plan = make_plan(t);
	return *t.plan;
}

} // namespace pgas::teams
