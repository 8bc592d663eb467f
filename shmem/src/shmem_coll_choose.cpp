// SPDX-License-Identifier: BSD-3-Clause
//
// Which algorithm: one table per collective. The first row that fits is taken; a row fits when the team is on one host
// or on several, as the row says, and the bytes are at most its limit. A variable of the environment
// (SHMEM_..._ALGORITHM) comes before the table. Any algorithm gives the right result on any team, so a forced one is
// never refused.
#include "shmem_coll.hpp"

namespace shmem {
namespace {

constexpr size_t kAny = SIZE_MAX;
// crowded_host: one host, with more PEs than cores; one_pe_each: several hosts, with one member on each
enum hosts_kind { crowded_host, one_host, several_hosts, one_pe_each };

template <class Algorithm>
struct rule {
	hosts_kind hosts;
	size_t up_to; // bytes
	Algorithm algorithm;
};

using reduce_by = reduce_algorithm_kind;
constexpr rule<reduce_by> kReduce[] = {
	{one_host, kAny, reduce_by::direct},
	{one_pe_each, 16 * 1024, reduce_by::recursive},
	{one_pe_each, kAny, reduce_by::ring},
	{several_hosts, kAny, reduce_by::two_level},
};

using bcast_by = bcast_algorithm_kind;
constexpr rule<bcast_by> kBcast[] = {
	{crowded_host, kAny, bcast_by::flat}, // a hop would cost a time slice
	{one_host, kAny, bcast_by::direct},     {one_pe_each, 256 * 1024, bcast_by::tree},
	{one_pe_each, kAny, bcast_by::scatter}, {several_hosts, kAny, bcast_by::two_level},
};

using fcollect_by = fcollect_algorithm_kind;
constexpr rule<fcollect_by> kFcollect[] = {
	{one_host, kAny, fcollect_by::direct},
	{one_pe_each, 2 * 1024, fcollect_by::recursive},
	{one_pe_each, kAny, fcollect_by::ring},
	{several_hosts, kAny, fcollect_by::two_level},
};

using alltoall_by = alltoall_algorithm_kind;
constexpr rule<alltoall_by> kAlltoall[] = {
	{one_host, kAny, alltoall_by::direct},
	{one_pe_each, kAny, alltoall_by::pairwise},
	{several_hosts, kAny, alltoall_by::two_level},
};

bool is_on(const team &t, hosts_kind hosts)
{
	switch (hosts) {
	case crowded_host:
		return t.hosts == 1 && g.oversubscribed;
	case one_host:
		return t.hosts == 1;
	case one_pe_each:
		return t.hosts == t.n_pes;
	default:
		return true;
	}
}

template <class Algorithm, size_t N>
Algorithm choose(const team &t, size_t bytes, Algorithm forced, const rule<Algorithm> (&table)[N])
{
	if (PGAS_UNLIKELY(!t.block)) // the others need the flags of a team
		return Algorithm::direct;
	if (PGAS_UNLIKELY(forced != Algorithm::automatic))
		return forced;
	for (const auto &r : table)
		if (is_on(t, r.hosts) && bytes <= r.up_to)
			return r.algorithm;
	return table[0].algorithm;
}

} // namespace

barrier_algorithm_kind choose_sync(const team &t)
{
	using by = barrier_algorithm_kind;
	if (PGAS_UNLIKELY(g.env.barrier_algorithm != by::automatic))
		return g.env.barrier_algorithm;
	if (PGAS_UNLIKELY(t.hosts > 1))
		return t.hosts < t.n_pes ? by::two_level : by::dissemination;
	return g.oversubscribed ? by::central : by::dissemination;
}

reduce_algorithm_kind choose_reduce(const team &t, size_t bytes)
{
	return choose(t, bytes, g.env.reduce_algorithm, kReduce);
}
bcast_algorithm_kind choose_bcast(const team &t, size_t bytes)
{
	return choose(t, bytes, g.env.bcast_algorithm, kBcast);
}
fcollect_algorithm_kind choose_fcollect(const team &t, size_t bytes)
{
	return choose(t, bytes, g.env.fcollect_algorithm, kFcollect);
}
alltoall_algorithm_kind choose_alltoall(const team &t, size_t bytes)
{
	return choose(t, bytes, g.env.alltoall_algorithm, kAlltoall);
}

bool wants_staging(int hosts)
{
	const auto r = g.env.reduce_algorithm;
	return r == reduce_by::automatic ? hosts > 1 : r != reduce_by::direct;
}

} // namespace shmem
