// SPDX-License-Identifier: BSD-3-Clause
// oshrun_hosts.cpp: see oshrun_hosts.hpp.
#include "oshrun_hosts.hpp"
#include "oshrun_hostlist.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

namespace oshrun {

bool is_this_machine(const std::string &name)
{
	if (name == "localhost" || name == "127.0.0.1" || name == "::1")
		return true;
	char own[256] = "";
	gethostname(own, sizeof own - 1);
	const std::string me = own;
	if (name == me)
		return true;
	// one name with its domain and one without; a numeric address is not a name with a domain
	const bool numeric = name.find_first_not_of("0123456789.:") == std::string::npos;
	const size_t dot = name.find('.'), my_dot = me.find('.');
	return !numeric && (dot == std::string::npos) != (my_dot == std::string::npos) &&
	       name.substr(0, dot) == me.substr(0, my_dot);
}

namespace {

bool read_host_file(const std::string &path, host_set &hosts)
{
	FILE *file = fopen(path.c_str(), "re");
	if (!file) {
		say("hostfile %s: %s", path.c_str(), strerror(errno));
		return false;
	}
	char *line = nullptr;
	size_t room = 0;
	std::string wrong;
	int number = 0;
	errno = 0;
	while (wrong.empty() && getline(&line, &room, file) >= 0) {
		number++;
		wrong = add_host_line(line, hosts);
	}
	if (wrong.empty() && ferror(file)) // for instance, a directory
		wrong = strerror(errno);
	free(line);
	fclose(file);
	if (!wrong.empty())
		say("hostfile %s, line %d: %s", path.c_str(), number, wrong.c_str());
	return wrong.empty();
}

const char *variable(const char *name)
{
	const char *value = getenv(name);
	return value && *value ? value : nullptr;
}

// Finds the hosts of the allocation around this job. If srun started several tasks, each of them is on its own.
bool find_allocation(host_set &hosts)
{
	const char *tasks = variable("SLURM_STEP_NUM_TASKS");
	const char *list = variable("SLURM_JOB_NODELIST");
	if (list && !(tasks && atoi(tasks) > 1)) {
		const char *slots = variable("SLURM_TASKS_PER_NODE");
		if (!slots)
			slots = variable("SLURM_JOB_CPUS_PER_NODE");
		std::string wrong = add_slurm_hosts(list, slots ? slots : "", hosts);
		if (!wrong.empty()) {
			say("the hosts of the Slurm allocation: %s", wrong.c_str());
			return false;
		}
		return true;
	}
	if (const char *file = variable("PBS_NODEFILE"))
		return read_host_file(file, hosts);
	return true;
}

// In a Slurm allocation Slurm's own command reaches the hosts, which may be reachable in no other way.
const char *usual_agent(const std::vector<host> &hosts)
{
	const char *list = variable("SLURM_JOB_NODELIST");
	strings names;
	const bool known = list && expand_host_names(list, names).empty();
	const std::unordered_set<std::string> allocated(names.begin(), names.end());
	const bool inside = known && std::all_of(hosts.begin(), hosts.end(), [&](const host &one) {
				    return one.here || allocated.count(one.name) > 0;
			    });
	return inside ? "srun -Q -w %h -N1 -n1 --overlap --cpu-bind=none --mpi=none" : "ssh -x -o BatchMode=yes";
}

bool read_lists(const options &opts, host_set &hosts)
{
	for (const std::string &list : opts.host_lists)
		if (std::string wrong = add_host_list(list, hosts); !wrong.empty()) {
			say("-H %s: %s", list.c_str(), wrong.c_str());
			return false;
		}
	for (const std::string &file : opts.host_files)
		if (!read_host_file(file, hosts))
			return false;
	if (hosts.list.empty())
		say("hostfile %s: no host in it", opts.host_files.back().c_str());
	return !hosts.list.empty();
}

bool only_this_machine(const std::vector<host> &hosts)
{
	return std::all_of(hosts.begin(), hosts.end(), [](const host &one) { return is_this_machine(one.name); });
}

// All names of this machine become one name, by which agents on other hosts can reach it too.
void settle_names(std::vector<host> &hosts)
{
	char own[256] = "localhost";
	gethostname(own, sizeof own - 1);
	std::vector<host> settled;
	size_t ours = SIZE_MAX; // index in settled
	for (host &one : hosts) {
		const bool here = is_this_machine(one.name);
		if (here && ours != SIZE_MAX) {
			settled[ours].slots += one.slots;
			continue;
		}
		if (here)
			ours = settled.size();
		settled.push_back({here ? std::string(own) : one.name, one.slots, here});
	}
	hosts = std::move(settled);
}

bool settle_slots(options &opts, std::vector<host> &hosts)
{
	long slots = 0;
	for (host &one : hosts) {
		one.slots = opts.ppn > 0 ? opts.ppn : std::max(one.slots, 1);
		slots += one.slots;
	}
	if (opts.count == 0 && slots <= kSlotsMost)
		opts.apps[0].count = opts.count = static_cast<int>(slots);
	if (opts.count > 0 && (opts.count <= slots || opts.oversubscribe))
		return true;
	if (opts.count == 0)
		say("the hosts have %ld slots, a job has %d PEs at most: use -n", slots, kSlotsMost);
	else
		say("%d PEs, but the %zu host%s %ld slot%s: name more (host:N, slots=N or --ppn N), or use "
		    "--oversubscribe",
		    opts.count, hosts.size(), hosts.size() == 1 ? " has" : "s have", slots, slots == 1 ? "" : "s");
	return false;
}

} // namespace

// Finds the hosts that --rankfile names.
static int find_ranks(options &opts)
{
	host_set found;
	std::vector<host> &hosts = found.list;
	strings names;
	if (!opts.host_lists.empty() || !opts.host_files.empty() || opts.ppn > 0) {
		say("--rankfile says where PEs go; -H, --hostfile and --ppn cannot");
		return kExitUsage;
	}
	if (!read_rankfile(opts, found, names))
		return kExitUsage;
	const int count = static_cast<int>(names.size());
	if (opts.count > 0 && opts.count != count) {
		say("--rankfile %s has %d ranks, and -n is %d", opts.rankfile.c_str(), count, opts.count);
		return kExitUsage;
	}
	settle_names(hosts);
	if (opts.count == 0)
		opts.apps[0].count = opts.count = count;
	std::unordered_map<std::string, uint32_t> number;
	uint32_t ours = 0;
	for (uint32_t i = 0; i < hosts.size(); i++) {
		number[hosts[i].name] = i;
		ours = hosts[i].here ? i : ours;
	}
	for (const std::string &name : names)
		opts.rank_hosts.push_back(is_this_machine(name) ? ours : number[name]);
	if (!only_this_machine(hosts))
		opts.hosts = std::move(hosts);
	if (opts.launch_agent.empty())
		opts.launch_agent = usual_agent(opts.hosts);
	return -1;
}

int find_hosts(options &opts)
{
	host_set found;
	std::vector<host> &hosts = found.list; // settle_names() changes names
	const bool asked = !opts.host_lists.empty() || !opts.host_files.empty();
	if (!opts.rankfile.empty())
		return find_ranks(opts);
	if (!(asked ? read_lists(opts, found) : find_allocation(found)))
		return kExitUsage;
	const bool alone = only_this_machine(hosts);
	if (alone && !asked && opts.ppn == 0) {
		if (opts.count == 0)
			opts.apps[0].count = opts.count = 1;
		return -1;
	}
	if (hosts.empty())
		hosts.push_back({"localhost", opts.ppn, true});
	settle_names(hosts);
	if (!settle_slots(opts, hosts))
		return kExitUsage;
	if (alone)
		return -1;
	if (opts.map == map_by::other) {
		say("--map-by: expected slot or node for a job on several hosts");
		return kExitUsage;
	}
	opts.hosts = std::move(hosts);
	const std::vector<uint32_t> used = place_ranks(opts);
	opts.hosts.resize(*std::max_element(used.begin(), used.end()) + 1); // the others get no PE
	if (only_this_machine(opts.hosts))
		opts.hosts.clear();
	if (opts.launch_agent.empty())
		opts.launch_agent = usual_agent(opts.hosts);
	return -1;
}

// Slots are filled first, host by host or one on each host in turn; the remaining PEs go round again.
std::vector<uint32_t> place_ranks(const options &opts)
{
	if (!opts.rank_hosts.empty())
		return opts.rank_hosts;
	std::vector<uint32_t> where;
	const size_t count = static_cast<size_t>(opts.count);
	const int rounds = std::max_element(opts.hosts.begin(), opts.hosts.end(), [](const host &a, const host &b) {
				   return a.slots < b.slots;
			   })->slots;
	where.reserve(count);
	while (where.size() < count)
		for (int round = 0; round < (opts.map == map_by::node ? rounds : 1) && where.size() < count; round++)
			for (uint32_t h = 0; h < opts.hosts.size() && where.size() < count; h++) {
				const int slots = opts.hosts[h].slots;
				const int some = opts.map == map_by::node ? (round < slots ? 1 : 0) : slots;
				where.insert(where.end(), std::min(static_cast<size_t>(some), count - where.size()), h);
			}
	return where;
}

std::vector<int> split_hosts(int first, int last, int groups)
{
	std::vector<int> begins;
	const int count = last - first, parts = std::min(count, groups);
	for (int i = 0; i < parts; i++)
		begins.push_back(first + static_cast<int>(static_cast<long>(count) * i / parts));
	return begins;
}

} // namespace oshrun
