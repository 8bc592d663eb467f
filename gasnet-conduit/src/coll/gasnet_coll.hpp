// SPDX-License-Identifier: BSD-3-Clause
//
// What the files of the collectives share.
#pragma once

#include "core/gasnet_objects.hpp"
#include "core/gasnet_progress.hpp"

#include <gasnet_coll.h>
#include <teams/teams_nb.hpp>

namespace gasnet {

// The event of an operation that was just started; null stands for a completed one.
gex_Event_t coll_event_of(pgas::teams::operation *operation) noexcept;
// Checks that the root exists; ends the job otherwise.
int coll_root(const char *call, gex_TM_t tm, gex_Rank_t root) noexcept;

// Clients of gasnet_progress.hpp: collectives (gasnet_coll.cpp), and a leader's part of a barrier outside of barrier
// calls (gasnet_barrier.cpp).
bool coll_under_way() noexcept;
bool coll_progress() noexcept;
bool barrier_wants_polls() noexcept;
bool barrier_pass_on() noexcept;

// gasnet_team_client.cpp
void teams_setup();                          // called by gasnet_init: every node's memory can be reached
gex_TM_t team_face(pgas::teams::team *core); // what clients see of a team that was created

} // namespace gasnet
