/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmemx.h: what this library offers beyond OpenSHMEM 1.6; every name starts with shmemx_ or SHMEMX_.
 *
 * Teams of any set of PEs.  Both calls are collective over parent_team, return 0 or a nonzero value on all members
 * alike, and take config and mask as shmem_team_split_strided does.
 */
#ifndef SHMEMX_H
#define SHMEMX_H

#include "shmem.h"

/* color of a PE that joins no new team; *new_team becomes SHMEM_TEAM_INVALID there */
#define SHMEMX_COLOR_NONE (-1)

#ifdef __cplusplus
extern "C" {
#endif

/*
 * PEs of the same color form a team; members are numbered by key, equal keys by their number in parent_team.
 */
int shmemx_team_split_color(shmem_team_t parent_team, int color, int key, const shmem_team_config_t *config,
			    long config_mask, shmem_team_t *new_team) SHMEM_IMPL_NOEXCEPT;

/*
 * The listed PEs (numbers in parent_team, each at most once, same list on every member of parent_team) form a team, in
 * the order of the list; PEs not in the list get SHMEM_TEAM_INVALID.
 */
int shmemx_team_create_group(shmem_team_t parent_team, const int *pes, int npes, const shmem_team_config_t *config,
			     long config_mask, shmem_team_t *new_team) SHMEM_IMPL_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* SHMEMX_H */
