// SPDX-License-Identifier: BSD-3-Clause
// oshrun_hosts.hpp: which hosts a job has, and which PE goes where.
#pragma once

#include "oshrun.hpp"

#include <unordered_map>

namespace oshrun {

// Hosts in the order of their first mention.
class host_set {
public:
	std::vector<host> list;
	host *find(const std::string &name);
	host &add(const std::string &name, int slots); // one that is not there

private:
	std::unordered_map<std::string, size_t> at_; // in list
};

// Each adds to `hosts` and returns nothing, or what is wrong with the text. A host that is there already gets the new
// slots on top.
std::string add_host_list(const std::string &text, host_set &hosts); // "a,b:2"
std::string add_host_line(const std::string &text, host_set &hosts); // "b slots=2 # two"
// Slurm's "n[01-03,7],login" with "2(x3),1,1" slots; an empty text: one each.
std::string add_slurm_hosts(const std::string &names, const std::string &slots, host_set &hosts);

// oshrun_rankfile.cpp: hosts, and the name of the host of each rank; fills opts.rank_cpus. False after an error line.
bool read_rankfile(options &opts, host_set &hosts, strings &names);
bool parse_cpus(const std::string &text, cpu_set_t &set);

bool is_this_machine(const std::string &name);

// The hosts of the job by the options, else by Slurm or PBS around us. Leaves opts.hosts empty when it is this machine
// alone, and sets opts.count. Returns -1, or the exit code after an error line.
int find_hosts(options &opts);

// The host of each rank. The same on all hosts: it depends on nothing but hosts, count, map and oversubscribe.
std::vector<uint32_t> place_ranks(const options &opts);

// Hosts [first, last) in at most `groups` parts of about the same size: where each begins.
std::vector<int> split_hosts(int first, int last, int groups);

} // namespace oshrun
