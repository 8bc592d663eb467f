// SPDX-License-Identifier: BSD-3-Clause
//
// Where a variable is declared, from the debug information of the file that contains it.
#pragma once

#include <cstdint>
#include <string>

namespace pgas_tools {

// "stencil.c:12", the declaration of the variable that begins at this address, with the file's name as passed to the
// compiler. Empty when the file has no usable information, as for line_at(). address: relative to the file.
std::string declaration_at(const char *path, uint64_t address);

} // namespace pgas_tools
