// SPDX-License-Identifier: BSD-3-Clause
//
// File and line of an address, from the debug information of the file that it is in.
#pragma once

#include <cstdint>
#include <string>

namespace pgas_tools {

// "stencil.c:41", as the compiler was told the name; empty when the file does not say: it was compiled without -g, or
// its debug information is compressed or in a file of its own. "stencil.c, no line of its own": it says line 0.
// address: as the file counts.
std::string line_at(const char *path, uint64_t address);

} // namespace pgas_tools
