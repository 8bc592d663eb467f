// SPDX-License-Identifier: BSD-3-Clause
// locate.hpp: where the tables, the drivers and the Pin tools are. In order:
// INSTR_COUNT_DIR, the build tree this command lies in, the installation it
// lies in.
#pragma once

#include <string>

namespace ic {

std::string valgrind_tool(const std::string &name); // empty when it is not built
std::string data_file(const std::string &name);     // paths.def, published.def
std::string driver_file(const std::string &name);   // empty when not built
std::string pin_root();                             // empty when no kit is known
std::string pin_tool(const std::string &name);      // empty when not built
std::string own_program();

} // namespace ic
