// SPDX-License-Identifier: BSD-3-Clause
//
// Names of functions and variables, from the file that they are in.
#pragma once

#include <cstdint>
#include <string>

namespace pgas_tools {

// The function at an address of this process, in the object of that path which is loaded at base, and how far within it
// the address is. Empty: the file does not say.
std::string function_at(const char *path, uintptr_t base, uintptr_t address, uint64_t &within);

// The same of a variable; address: as the file counts.
std::string variable_at(const char *path, uint64_t address, uint64_t &within);

} // namespace pgas_tools
