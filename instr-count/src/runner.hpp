// SPDX-License-Identifier: BSD-3-Clause
// runner.hpp: from a path of the table to a result, with any engine, with or without a launcher.
#pragma once

#include "error.hpp"
#include "measurement.hpp"
#include "path_table.hpp"
#include "result_set.hpp"

namespace ic {

struct run_settings {
	std::string engine = "step";
	unsigned calls = 20;
	unsigned warmup = 3;
	unsigned timeout_s = 600; // for each program; 0: no limit
	bool native_libc = false;
	bool time = false; // also measure the time of a call
};

// Engines by name; an unknown name is a usage error.
measurement measure_with(const std::string &engine, const count_request &request);
void require_engine_name(const std::string &engine);

// Does not throw when a single path fails: the result records it.
path_result run_path(const path_table &table, const path_entry &path, const run_settings &settings);
result_set run_paths(const path_table &table, const std::vector<const path_entry *> &paths,
		     const run_settings &settings);

// The request for a path that needs no launcher; driver must be built.
count_request request_for(const path_table &table, const path_entry &path, const run_settings &settings);

// How a failure shows in a table.
path_status status_of(exit_code code);

// Launcher words for n PEs; empty if none of the alternatives is available.
std::vector<std::string> launcher_command(const path_table &table, const std::string &name, unsigned pes);

// The time limit for a launcher whose programs have this limit; 0 is no limit.
unsigned launcher_timeout(unsigned timeout_s);

// Returns the rank that the launcher assigned, or -1 without a launcher.
int rank_from_environment();

} // namespace ic
