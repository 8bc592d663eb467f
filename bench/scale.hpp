// SPDX-License-Identifier: BSD-3-Clause
//
// Shared by the files of scale_sim. Each measurement runs in a process of its own, so that memory which one of them has
// touched is not attributed to another, and within a time limit.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

namespace bench::scale {

struct footprint {
	double resident_bytes = 0, reserved_bytes = 0, seconds = 0;
	double since = 0; // only for now(): time of completion, from which the next measurement counts
};

// The footprint of this process, as the kernel reports it. seconds: time of the query.
footprint now();
footprint operator-(const footprint &a, const footprint &b);

// Runs the body in a child and returns its result; nothing if it died or took too long.
std::optional<footprint> apart(const std::function<footprint()> &body);
constexpr unsigned kLimitSeconds = 20;

// The cost of one connected peer on another host, in the process that has many of them.
struct connection_cost {
	double resident_bytes = 0, heap_bytes = 0, descriptors = 0, seconds = 0;
};
connection_cost connections(const char *provider, size_t peers); // scale_link.cpp; exits if there is no such provider
constexpr int kNotHere = 77;

footprint address_vector(size_t ranks); // scale_memory.cpp
footprint front(size_t ranks, bool touched);
footprint board(size_t ranks);
footprint team_of_all(int ranks, int per_host); // scale_coll.cpp
footprint barrier_of_all(int ranks, int per_host);
constexpr size_t kCardBytes = 256; // approximate size of what a process publishes at start

// What a member of a team sends to other hosts in one collective: the maximum over the members examined.
struct traffic {
	uint64_t messages = 0, bytes = 0;
};
struct coll_line {
	char collective[16], algorithm[16];
	uint64_t payload_bytes;
	double rounds;
	traffic busiest;
	bool ended; // within the time limit
};
constexpr size_t kMostLines = 16;
struct coll_table {
	size_t count = 0;
	coll_line line[kMostLines];
};
// Every collective, with the algorithm that the library's tables choose for such a team.
coll_table collectives(int ranks, int per_host);

} // namespace bench::scale
