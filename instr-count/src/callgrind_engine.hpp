// SPDX-License-Identifier: BSD-3-Clause
// callgrind_engine.hpp: the second opinion, from Valgrind's callgrind where it is installed.
#pragma once

#include "measurement.hpp"
#include "step_engine.hpp"

namespace ic {

measurement callgrind_count(const count_request &request);

// One dump of callgrind (uncompressed, with instruction addresses).
call_record callgrind_parse(const std::string &text, const entry_facts &facts);

// The same call with names for its addresses, and without the extra checks that only Valgrind executes.
call_record valgrind_record(const call_record &raw);

} // namespace ic
