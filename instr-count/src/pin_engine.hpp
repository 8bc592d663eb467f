// SPDX-License-Identifier: BSD-3-Clause
// pin_engine.hpp: counts from the Pin tool path_count, where a Pin kit is available.
#pragma once

#include "measurement.hpp"

namespace ic {

measurement pin_count(const count_request &request);

// The tool's output: "call TOTAL SYSCALLS" lines, each followed by
// "at IMAGE_PATH ADDRESS COUNT ROUTINE" lines (see pin/path_count.cpp).
std::vector<call_record> pin_parse(const std::string &text, const std::string &source);

} // namespace ic
