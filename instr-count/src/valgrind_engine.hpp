// SPDX-License-Identifier: BSD-3-Clause
// valgrind_engine.hpp: the second opinion, from a Valgrind tool of our own (valgrind/path_main.c).
#pragma once

#include "measurement.hpp"

namespace ic {

// Says whether the tool is built and valgrind is here, and otherwise why not.
bool valgrind_ready(std::string &why);
measurement valgrind_count(const count_request &request);

} // namespace ic
