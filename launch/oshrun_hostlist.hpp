// SPDX-License-Identifier: BSD-3-Clause
// oshrun_hostlist.hpp: lists of hosts, as users, Slurm and --rankfile write them.
#pragma once

#include "oshrun.hpp"

#include <unordered_map>

namespace oshrun {

constexpr int kSlotsMost = 1 << 20;

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

// The names of "n[01-03,7],login", without changing any set. Returns an error, or nothing.
std::string expand_host_names(const std::string &text, strings &names);

// --rankfile (oshrun_rankfile.cpp): hosts, and the host name of each rank; fills opts.rank_cpus. False after an error
// line.
bool read_rankfile(options &opts, host_set &hosts, strings &names);

} // namespace oshrun
