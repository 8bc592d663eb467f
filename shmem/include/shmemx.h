/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmemx.h: what this library offers beyond OpenSHMEM 1.6; every name starts with shmemx_ or SHMEMX_, but those of
 * partitions, which others have named.
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

/*
 * Partitions: symmetric memory of the kinds that SHMEM_SYMMETRIC_PARTITION<ID> asks for, device memory among them; see
 * shmem_partition_malloc(3). Allocation is local and waits for no other PE: all PEs make the same calls in the same
 * order. A full partition gives NULL.
 */
void *shmem_partition_malloc(size_t size, int id) SHMEM_IMPL_NOEXCEPT;
void *shmem_partition_calloc(size_t count, size_t size, int id) SHMEM_IMPL_NOEXCEPT;
void *shmem_partition_align(size_t alignment, size_t size, int id) SHMEM_IMPL_NOEXCEPT;
void shmem_partition_free(void *ptr) SHMEM_IMPL_NOEXCEPT;

int shmemx_partition_count(void) SHMEM_IMPL_NOEXCEPT;
/* the ID of partition 0 to count - 1; -1: there is none */
int shmemx_partition_id(int index) SHMEM_IMPL_NOEXCEPT;
/* "host", "cuda", ...; NULL: no such partition */
const char *shmemx_partition_kind(int id) SHMEM_IMPL_NOEXCEPT;
size_t shmemx_partition_size(int id) SHMEM_IMPL_NOEXCEPT;
size_t shmemx_partition_free_bytes(int id) SHMEM_IMPL_NOEXCEPT;
/* the ID of the partition that has this address; -1: none */
int shmemx_partition_of(const void *addr) SHMEM_IMPL_NOEXCEPT;
/* Between this PE's own memory of any kinds: returns when the bytes are there. */
void shmemx_partition_copy(void *dest, const void *source, size_t bytes) SHMEM_IMPL_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* SHMEMX_H */
