// SPDX-License-Identifier: BSD-3-Clause
//
// What the library tells about itself: its choices, and the tool's interface.
#pragma once

#include "core/shmem_state.hpp"

namespace shmem {

// --- SHMEM_PROTO_INFO: shmem_choices.cpp -----------------------------------------------------------------------------

void proto_print();                   // by PE 0, after joining
void proto_print_team(const team &t); // by the team's first member, when the team is created

// --- the statistics tool: shmem_profile.cpp --------------------------------------------------------------------------

void tool_joined();
void tool_leaving();
void tool_all_left();

} // namespace shmem
