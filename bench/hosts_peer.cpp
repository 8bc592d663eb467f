// SPDX-License-Identifier: BSD-3-Clause
//
// Open MPI at its best. Which of its transports is best depends on the machine and on how many PEs a host has, so each
// is tried shortly, and the best is measured. A setting whose PEs are not on both hosts is out.
#include "hosts_pair.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace bench::hosts {
namespace {

struct setting {
	std::string name;
	words options; // of mpirun
};

// Its SHMEM is spml ucx; barriers and collectives go through the pml of its MPI, ucx or ob1.
std::vector<setting> settings_to_try(const pair_of_hosts &pair, int per_host)
{
	const char *given = getenv("UCX_TLS");
	words transports{"tcp,self"};
	if (per_host > 1)
		transports.insert(transports.end(), {"tcp,self,posix", "tcp,self,sysv"});
	if (pair.tool.empty())
		transports.insert(transports.begin(), "all"); // an adapter, if the hosts have one
	if (given)
		transports = {given};
	std::vector<setting> all;
	for (const std::string &transport : transports)
		for (const char *pml : {"ucx", "ob1"}) {
			words options{"--mca", "spml", "ucx", "--mca", "pml", pml, "-x", "UCX_TLS=" + transport};
			// it would not take part without an adapter that it knows
			if (std::string(pml) == "ucx")
				options = joined(options, {"--mca", "osc", "ucx", "--mca", "opal_common_ucx_tls", "any",
							   "--mca", "opal_common_ucx_devices", "any"});
			else
				options =
					joined(options, {"--mca", "btl", per_host > 1 ? "tcp,self,vader" : "tcp,self"});
			all.push_back({std::string("pml ") + pml + ", UCX_TLS=" + transport, options});
		}
	return all;
}

// How many times faster a is than b, over all rows that both have; 0 if a lacks one that b has.
double advantage(const std::vector<row> &rows, const column &a, const column &b)
{
	double sum = 0;
	int count = 0;
	for (const row &r : rows) {
		if (b.median(r) <= 0)
			continue;
		if (a.median(r) <= 0)
			return 0;
		sum += std::log(r.more_is_better() ? a.median(r) / b.median(r) : b.median(r) / a.median(r));
		count++;
	}
	return count ? std::exp(sum / count) : 1;
}

size_t results_of(const std::vector<row> &rows, const column &c)
{
	return static_cast<size_t>(std::ranges::count_if(rows, [&](const row &r) { return c.median(r) > 0; }));
}

// What settings are compared by: a latency, a rate, large blocks and what all PEs do together.
std::vector<row> rows_to_try(const std::vector<row> &rows)
{
	const words names{"p_quiet", "g_latency", "put_65536",     "get_65536",   "barrier",
			  "pairs_g", "pairs_put", "hosts_barrier", "hosts_sum_8", "hosts_alltoall_4k"};
	std::vector<row> few = rows;
	std::erase_if(few, [&](const row &r) { return std::ranges::find(names, r.name) == names.end(); });
	return few.empty() ? rows : few;
}

} // namespace

peer best_openmpi(const pair_of_hosts &pair, const std::string &compiler, const column &like, const settings &run_arg,
		  const std::vector<row> &rows, int per_host)
{
	peer found;
	const words command = openmpi_launcher(compiler);
	if (command.empty())
		return found;
	std::vector<column> tried;
	for (const setting &one : settings_to_try(pair, per_host)) {
		const words options = joined(one.options, {"--mca", "plm_rsh_agent", pair.agent, "--host",
							   pair.slots(per_host), "-n", std::to_string(2 * per_host)});
		column c = column_of("Open MPI, " + one.name, like.program,
				     joined(joined(pair.here, joined(command, options)), like.launcher));
		c.groups = like.groups, c.extra = like.extra, c.expected = like.expected;
		tried.push_back(c);
	}
	settings shortly = run_arg;
	shortly.rounds = 1;
	shortly.extra.insert(shortly.extra.end(), {"--samples", "3"});
	const std::vector<row> few = rows_to_try(rows);
	run(shortly, few, tried);
	const column *best = nullptr;
	for (const column &c : tried) {
		const size_t count = results_of(few, c), most = best ? results_of(few, *best) : 0;
		found.notes.push_back(c.title + ": " +
				      (!c.refusal.empty() ? "not shown: " + c.refusal
				       : count ? std::to_string(count) + " of " + std::to_string(few.size()) +
							 " rows tried have a result"
					       : "does not run"));
		if (count > most || (count && count == most && advantage(few, c, *best) > 1))
			best = &c;
	}
	if (best) {
		found.columns.push_back(*best);
		found.columns[0].by_row.clear();
		found.notes.push_back(best->title + ": the best of these, and the one that is measured");
	}
	return found;
}

} // namespace bench::hosts
