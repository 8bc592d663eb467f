// SPDX-License-Identifier: BSD-3-Clause
// oshrun_share.hpp: hosts of a job that are one machine, as containers and network namespaces are. Their agents bind
// PEs without knowing of one another, so the head tells each which of the common CPUs are its own.
#pragma once

#include "oshrun_agent.hpp"

#include <unordered_map>

namespace oshrun {

// agent: the machine that it runs on, for the head.
message describe_machine(int host);

// head: what the agents have reported.
class machine_table {
public:
	// Takes the report of one of the hosts [first, end). False: it is malformed, and nothing was done.
	bool take(const message &msg, int first, int end);
	// What to tell the hosts that share a machine with others. pes: the number of PEs by host.
	std::vector<message> divide(const std::vector<int> &pes) const;

private:
	struct machine {
		int host;
		cpu_set_t cpus; // those that its agent may use
	};
	std::unordered_map<uint64_t, std::vector<machine>> machines_; // by number of the running kernel
};

// agent: reads what the head has told. False: it is malformed.
bool read_share(const message &msg, cpu_share &share);

} // namespace oshrun
