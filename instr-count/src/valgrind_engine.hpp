// SPDX-License-Identifier: BSD-3-Clause
// valgrind_engine.hpp: the second opinion, from a Valgrind tool of our own (valgrind/path_main.c).
#pragma once

#include "measurement.hpp"

namespace ic {

// Returns whether the tool is built and valgrind is installed; if not, why says which is missing.
bool valgrind_ready(std::string &why);
measurement valgrind_count(const count_request &request);

} // namespace ic
