// SPDX-License-Identifier: BSD-3-Clause
// source_lines.hpp: source file and line of addresses, by addr2line where it is installed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "image_map.hpp"

namespace ic {

struct source_line {
	std::string function; // innermost, including inlined ones
	std::string file;     // empty when unknown
	unsigned line = 0;
};

// Key: file and address in it. The map is empty without addr2line.
using source_map = std::map<std::pair<std::string, uint64_t>, source_line>;
source_map find_sources(const std::vector<place> &places);

} // namespace ic
