// SPDX-License-Identifier: BSD-3-Clause
//
// What the files of scale_sim share. Each measurement runs in a process of its own, so that memory which one of them
// has touched is not taken for another's, and within a limit of time.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

namespace bench::scale {

struct footprint {
	double resident_bytes = 0, reserved_bytes = 0, seconds = 0;
	double since = 0; // of now() alone: when it was done, from which the next one counts
};

// Of this process, by the kernel's word. seconds: when it was asked for.
footprint now();
footprint operator-(const footprint &a, const footprint &b);

// Runs the body in a child and returns what it returned; nothing when it died or took too long.
std::optional<footprint> apart(const std::function<footprint()> &body);
constexpr unsigned kLimitSeconds = 20;

// Of one connected peer on another host, in the process that has many of them.
struct connection_cost {
	double resident_bytes = 0, heap_bytes = 0, descriptors = 0, seconds = 0;
};
connection_cost connections(const char *provider, size_t peers); // scale_link.cpp; leaves where there is none such
constexpr int kNotHere = 77;

footprint address_vector(size_t ranks); // scale_memory.cpp
footprint front(size_t ranks, bool touched);
footprint board(size_t ranks);
footprint team_of_all(int ranks, int per_host); // scale_coll.cpp
footprint barrier_of_all(int ranks, int per_host);
constexpr size_t kCardBytes = 256; // what a process tells the others at start, about

// What a member of a team sends to other hosts in one collective, the busiest of those looked at.
struct traffic {
	uint64_t messages = 0, bytes = 0;
};
struct coll_line {
	char collective[16], algorithm[16];
	uint64_t payload_bytes;
	double rounds;
	traffic busiest;
	bool ended; // within the limit of time
};
constexpr size_t kMostLines = 16;
struct coll_table {
	size_t count = 0;
	coll_line line[kMostLines];
};
// Every collective, by the algorithm that the library's tables give to such a team.
coll_table collectives(int ranks, int per_host);

} // namespace bench::scale
