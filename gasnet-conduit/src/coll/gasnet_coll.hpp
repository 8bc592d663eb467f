// SPDX-License-Identifier: BSD-3-Clause
//
// What the files of the collectives share.
#pragma once

#include "kinds/gasnet_objects.hpp"

#include <gasnet_coll.h>
#include <teams/teams_nb.hpp>

namespace gasnet {

// The event of an operation that was just started; null stands for a completed one.
gex_Event_t coll_event_of(pgas::teams::operation *operation) noexcept;
// Checks that the root exists; ends the job otherwise.
int coll_root(const char *call, gex_TM_t tm, gex_Rank_t root) noexcept;

} // namespace gasnet
