// SPDX-License-Identifier: BSD-3-Clause
//
// The two hosts of hosts_compare, and how programs are started on both.
#pragma once

#include "compare_tools.hpp"

namespace bench::hosts {

struct pair_of_hosts {
	std::string first = "h1", second = "h2";
	words here;        // precedes a command that runs on the first host
	std::string agent; // precedes a host and a command
	std::string tool;  // that simulates them; empty: they are real
	words places;      // of the hosts, as place.h says it

	pair_of_hosts() = default;
	pair_of_hosts(const pair_of_hosts &) = delete;
	pair_of_hosts &operator=(const pair_of_hosts &) = delete;
	~pair_of_hosts();

	// hosts: "A,B", or empty: simulated ones, with so many CPUs each, and their state in the folder. Returns 0, or
	// the exit status.
	int open(const std::string &hosts, const std::string &given_agent, const std::string &folder, int cpus);
	// Finds the places, by a program that knows --where. Returns false if the hosts cannot be told apart.
	bool find_places(const std::string &program);
	// "A:4,B:4"
	std::string slots(int per_host) const;
	// Where the PEs of a job have to be: the first half on the first host.
	words expected(int per_host) const;
};

// The words that start `per_host` processes on each host. name: oshrun, hydra or mpirun; empty: the first that works.
// Empty: none does.
words our_launcher(const pair_of_hosts &pair, const std::string &top, const std::string &name, int per_host);

// Open MPI's library at its best: the settings that were tried on these hosts, and the column with the best of them.
struct peer {
	std::vector<column> columns; // the best, or nothing
	words notes;                 // a line for each setting: what it reached, or why it is not shown
};
peer best_openmpi(const pair_of_hosts &pair, const std::string &compiler, const column &like, const settings &run,
		  const std::vector<row> &rows, int per_host);

} // namespace bench::hosts
