// SPDX-License-Identifier: BSD-3-Clause
//
// Which algorithm runs: one table per collective. The first row that fits is taken; a row fits when the team is on one
// host or on several, as the row says, and the bytes are at most its limit. The user's choice (client.forced) precedes
// the table. Any algorithm gives the right result on any team, so a forced one is never refused.
#include "teams_algorithms.hpp"

namespace pgas::teams {
namespace {

constexpr size_t kAny = SIZE_MAX;
// crowded_host: one host, with more processes than cores; one_each: several hosts, with one member on each
enum hosts_kind { crowded_host, one_host, several_hosts, one_each };

template <class Algorithm>
struct rule {
	hosts_kind hosts;
	size_t up_to; // bytes
	Algorithm algorithm;
};

using reduce_by = reduce_algorithm;
constexpr rule<reduce_by> kReduce[] = {
	{one_host, kAny, reduce_by::direct},      {one_each, 32 * 1024, reduce_by::recursive},
	{one_each, kAny, reduce_by::shares},      {several_hosts, 4 * 1024, reduce_by::two_level},
	{several_hosts, kAny, reduce_by::shares},
};

using bcast_by = bcast_algorithm;
constexpr rule<bcast_by> kBcast[] = {
	{crowded_host, kAny, bcast_by::flat}, // a hop would cost a time slice
	{one_host, kAny, bcast_by::direct},   {one_each, 256 * 1024, bcast_by::tree},
	{one_each, kAny, bcast_by::scatter},  {several_hosts, kAny, bcast_by::two_level},
};

using fcollect_by = fcollect_algorithm;
constexpr rule<fcollect_by> kFcollect[] = {
	{one_host, kAny, fcollect_by::direct},
	{one_each, 2 * 1024, fcollect_by::recursive},
	{one_each, kAny, fcollect_by::ring},
	{several_hosts, kAny, fcollect_by::two_level},
};

using alltoall_by = alltoall_algorithm;
constexpr rule<alltoall_by> kAlltoall[] = {
	{one_host, kAny, alltoall_by::direct},
	{one_each, kAny, alltoall_by::pairwise},
	{several_hosts, kAny, alltoall_by::two_level},
};

bool is_on(const team &t, hosts_kind hosts)
{
	switch (hosts) {
	case crowded_host:
		return t.hosts == 1 && g_job.crowded;
	case one_host:
		return t.hosts == 1;
	case one_each:
		return t.hosts == t.size;
	default:
		return true;
	}
}

template <class Algorithm, size_t N>
Algorithm choose(const team &t, size_t bytes, Algorithm forced, const rule<Algorithm> (&table)[N])
{
	if (PGAS_UNLIKELY(!t.block)) // other algorithms need a team's flags
		return Algorithm::direct;
	if (PGAS_UNLIKELY(forced != Algorithm::automatic))
		return forced;
	for (const auto &r : table)
		if (is_on(t, r.hosts) && bytes <= r.up_to)
			return r.algorithm;
	return table[0].algorithm;
}

const char *why_text(hosts_kind hosts)
{
	switch (hosts) {
	case crowded_host:
		return "on one host, with more processes than cores";
	case one_host:
		return "on one host";
	case one_each:
		return "one member on each host";
	default:
		return "several hosts, with several members on some";
	}
}

template <class Algorithm, size_t N>
void list_choices(const team &t, Algorithm forced, const rule<Algorithm> (&table)[N],
		  void (*each)(const choice &, void *), void *arg)
{
	if (forced != Algorithm::automatic)
		return each({0, kAny, static_cast<int>(forced), ""}, arg);
	size_t begin = 0;
	for (const auto &r : table) {
		if (!is_on(t, r.hosts))
			continue;
		each({begin, r.up_to, static_cast<int>(r.algorithm), why_text(r.hosts)}, arg);
		if (r.up_to == kAny)
			return;
		begin = r.up_to + 1;
	}
}

} // namespace

barrier_algorithm choose_sync(const team &t)
{
	using kind = barrier_algorithm;
	if (PGAS_UNLIKELY(g_job.forced.barrier != kind::automatic))
		return g_job.forced.barrier;
	if (PGAS_UNLIKELY(t.hosts > 1))
		return t.hosts < t.size ? kind::two_level : kind::dissemination;
	return g_job.crowded ? kind::central : kind::dissemination;
}

reduce_algorithm choose_reduce(const team &t, size_t bytes)
{
	return choose(t, bytes, g_job.forced.reduce, kReduce);
}
bcast_algorithm choose_bcast(const team &t, size_t bytes)
{
	return choose(t, bytes, g_job.forced.bcast, kBcast);
}
fcollect_algorithm choose_fcollect(const team &t, size_t bytes)
{
	return choose(t, bytes, g_job.forced.fcollect, kFcollect);
}
alltoall_algorithm choose_alltoall(const team &t, size_t bytes)
{
	return choose(t, bytes, g_job.forced.alltoall, kAlltoall);
}

void choices(collective which, const team &t, void (*each)(const choice &c, void *arg), void *arg)
{
	const hosts_kind hosts = t.hosts == 1        ? g_job.crowded ? crowded_host : one_host
				 : t.hosts == t.size ? one_each
						     : several_hosts;
	switch (which) {
	case collective::sync:
		return each({0, kAny, static_cast<int>(choose_sync(t)),
			     g_job.forced.barrier == barrier_algorithm::automatic ? why_text(hosts) : ""},
			    arg);
	case collective::reduce:
		return list_choices(t, g_job.forced.reduce, kReduce, each, arg);
	case collective::bcast:
		return list_choices(t, g_job.forced.bcast, kBcast, each, arg);
	case collective::fcollect:
		return list_choices(t, g_job.forced.fcollect, kFcollect, each, arg);
	default:
		return list_choices(t, g_job.forced.alltoall, kAlltoall, each, arg);
	}
}

bool wants_staging(int hosts)
{
	const auto r = g_job.forced.reduce;
	return hosts > 1 || (r != reduce_by::automatic && r != reduce_by::direct);
}

} // namespace pgas::teams
