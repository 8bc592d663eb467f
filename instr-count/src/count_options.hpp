// SPDX-License-Identifier: BSD-3-Clause
// count_options.hpp: the command-line options that count and explain share.
#pragma once

#include "measurement.hpp"
#include "options.hpp"

namespace ic {

count_request request_from(const options &opts, const char *command);

// With --pe: on any other rank this process becomes the program and does not return.
void become_program_unless_chosen(const options &opts, const count_request &request);

} // namespace ic
