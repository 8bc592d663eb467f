// SPDX-License-Identifier: BSD-3-Clause
//
// SHMEM's teams: what teams and collectives (teams/) get from us, and handles. The machinery itself knows no handles,
// no contexts and no arguments that are wrong.
#pragma once

#include "core/shmem_state.hpp"

namespace shmem {

void teams_setup(); // world and shared, at init
void teams_close();
void team_contexts_close(team &t); // shmem_context.cpp
void sets_close();                 // shmem_coll_set.cpp

// The team of a handle, or null when it is none that may be used.
inline team *live_team(shmem_team_t handle)
{
	if (PGAS_UNLIKELY(handle == SHMEM_TEAM_INVALID))
		return nullptr;
	team *t = from_handle(handle);
	return PGAS_LIKELY(t->magic == teams::kTeamLive) ? t : nullptr;
}

} // namespace shmem
