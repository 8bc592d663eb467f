// SPDX-License-Identifier: BSD-3-Clause
// top_options.hpp: the command line.
#pragma once

#include <set>
#include <string>
#include <sys/types.h>

namespace oshtop {

enum class form { live, once, json };

struct options {
	pid_t job = 0; // 0: the only one of this user
	form output = form::live;
	double interval_s = 1;
	int sort = 0; // position in the list of columns
	bool reverse = false;
	size_t most = 0;   // rows; 0: all
	std::set<int> pes; // to show; empty: all
};

// Returns -1, or the exit code after printing help, version or an error line.
int parse_options(int argc, char **argv, options &opts);

} // namespace oshtop
