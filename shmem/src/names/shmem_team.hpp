// SPDX-License-Identifier: BSD-3-Clause
//
// SHMEM's teams: what teams and collectives (teams/) get from us, and handles. The code in teams/ knows no handles, no
// contexts and no invalid arguments.
#pragma once

#include "core/shmem_state.hpp"

namespace shmem {

void teams_setup(); // world and shared, at init
void teams_close();
// The team of a call; null: there is none. With SHMEM_DEBUG a team that was destroyed ends the job.
team *team_to_use(const char *routine, shmem_team_t handle);
void team_contexts_close(team &t); // shmem_context.cpp
void sets_close();                 // shmem_coll_set.cpp

} // namespace shmem
