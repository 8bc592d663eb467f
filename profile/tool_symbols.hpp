// SPDX-License-Identifier: BSD-3-Clause
//
// Names of functions and variables, from the file that contains them.
#pragma once

#include <cstdint>
#include <string>

namespace pgas_tools {

// The function at an address of this process, in the object file `path`, which is loaded at base, and the offset of the
// address within it. Empty if the file does not have it.
std::string function_at(const char *path, uintptr_t base, uintptr_t address, uint64_t &within);

// The same for a variable; address: as in the file.
std::string variable_at(const char *path, uint64_t address, uint64_t &within);

// The bytes of a variable from this address to its end; 0: the file does not say.
uint64_t bytes_left_at(const char *path, uint64_t address);

} // namespace pgas_tools
