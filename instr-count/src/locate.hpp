// SPDX-License-Identifier: BSD-3-Clause
// locate.hpp: where the tables, the drivers and the Pin tools are. Searched in order: INSTR_COUNT_DIR, the build tree
// that contains this command, the installation that contains it.
#pragma once

#include <string>

namespace ic {

std::string valgrind_tool(const std::string &name); // empty if not built
std::string data_file(const std::string &name);     // paths.def, published.def
std::string driver_file(const std::string &name);   // empty when not built
std::string pin_root();                             // empty if no kit is known
std::string pin_tool(const std::string &name);      // empty when not built
std::string own_program();

} // namespace ic
