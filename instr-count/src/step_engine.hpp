// SPDX-License-Identifier: BSD-3-Clause
// step_engine.hpp: exact counts by single-stepping, on any Linux, with nothing installed.
#pragma once

#include "measurement.hpp"

namespace ic {

measurement step_count(const count_request &request);

// Starts the program, lets the dynamic linker load it, and locates the entry without running main(). Other engines
// match names, which aliases defeat; this gives them all the names and the file address.
struct entry_facts {
	bool found = false;
	std::string path;                                       // file that contains the entry
	std::vector<std::string> names;                         // all names of the function
	std::vector<std::pair<uint64_t, uint64_t>> mark_ranges; // file addresses
	std::vector<uint64_t> begins, ends;                     // file addresses of the entry, and of end marks
};
entry_facts step_probe(const count_request &request);

} // namespace ic
