// SPDX-License-Identifier: BSD-3-Clause
//
// File and line of an address, from the debug information of the file that contains it.
#pragma once

#include <cstdint>
#include <string>

namespace pgas_tools {

// "stencil.c:41", with the name as passed to the compiler; empty when the file has no usable information: it was
// compiled without -g, or its debug information is compressed or in a separate file. "stencil.c, no line of its own":
// the information gives line 0. address: relative to the file.
std::string line_at(const char *path, uint64_t address);

} // namespace pgas_tools
