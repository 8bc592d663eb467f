// SPDX-License-Identifier: BSD-3-Clause
// oshrun_hosts.hpp: which hosts a job has, and where each PE goes.
#pragma once

#include "oshrun.hpp"

namespace oshrun {

bool is_this_machine(const std::string &name);

// Finds the hosts of the job from the options, else from a surrounding Slurm or PBS job. Leaves opts.hosts empty if it
// is this machine alone, and sets opts.count. Returns -1, or the exit code after an error line.
int find_hosts(options &opts);

// The host of each rank. The same on all hosts: it depends only on hosts, count, map and oversubscribe.
std::vector<uint32_t> place_ranks(const options &opts);

// Splits hosts [first, last) into at most `groups` parts of about the same size: returns where each begins.
std::vector<int> split_hosts(int first, int last, int groups);

} // namespace oshrun
