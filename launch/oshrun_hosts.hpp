// SPDX-License-Identifier: BSD-3-Clause
// oshrun_hosts.hpp: which hosts a job has, and where each PE goes.
#pragma once

#include "oshrun.hpp"

#include <unordered_map>

namespace oshrun {

// Hosts in the order of their first mention.
class host_set {
public:
	std::vector<host> list;
	host *find(const std::string &name);
	host &add(const std::string &name, int slots); // adds a host that is not there yet

private:
	std::unordered_map<std::string, size_t> at_; // in list
};

// Each adds to `hosts` and returns an error about the text, or nothing. A host that is already there gets the new slots
// in addition.
std::string add_host_list(const std::string &text, host_set &hosts); // "a,b:2"
std::string add_host_line(const std::string &text, host_set &hosts); // "b slots=2 # two"
// Slurm's "n[01-03,7],login" with "2(x3),1,1" slots; an empty text: one each.
std::string add_slurm_hosts(const std::string &names, const std::string &slots, host_set &hosts);

// oshrun_rankfile.cpp: hosts, and the host name of each rank; fills opts.rank_cpus. False after an error line.
bool read_rankfile(options &opts, host_set &hosts, strings &names);
bool parse_cpus(const std::string &text, cpu_set_t &set);

bool is_this_machine(const std::string &name);

// Finds the hosts of the job from the options, else from a surrounding Slurm or PBS job. Leaves opts.hosts empty if it
// is this machine alone, and sets opts.count. Returns -1, or the exit code after an error line.
int find_hosts(options &opts);

// The host of each rank. The same on all hosts: it depends only on hosts, count, map and oversubscribe.
std::vector<uint32_t> place_ranks(const options &opts);

// Splits hosts [first, last) into at most `groups` parts of about the same size: returns where each begins.
std::vector<int> split_hosts(int first, int last, int groups);

} // namespace oshrun
