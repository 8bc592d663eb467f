// SPDX-License-Identifier: BSD-3-Clause
// count_options.hpp: what count and explain read from their command lines alike.
#pragma once

#include "measurement.hpp"
#include "options.hpp"

namespace ic {

count_request request_from(const options &opts, const char *command);

// With --pe: on any other rank this process turns into the program and does
// not come back.
void become_program_unless_chosen(const options &opts, const count_request &request);

} // namespace ic
