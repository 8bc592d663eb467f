// SPDX-License-Identifier: BSD-3-Clause
// top_who.hpp: what the figures of a tool (profile/) say about where a PE is, and who waits for whom.
#pragma once

#include "top_sample.hpp"

namespace oshtop {

bool is_waiting_call(const std::string &name); // its time is time spent waiting
// "shmem_long_put to PE 3, 80 bytes"
std::string place_of(const pgas_tools::head &h, const call_names &names);
// The conclusions of the hang report, which needs the figures of all PEs.
std::vector<std::string> conclusions_of(const sampler &source, const sample &now);

} // namespace oshtop
