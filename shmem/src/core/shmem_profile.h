/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmem_profile.h: between libsma and a tool of its own that looks on (shmem/profile/). Not installed; both sides come
 * from one build, and a tool of another version is refused.
 *
 * The tool takes over shmem_* names and goes on with pshmem_*.  Here is what these names do not tell it: when the job
 * begins and ends, where the PEs are, which algorithm a collective takes, how full the heap is; and a room in symmetric
 * memory, where all PEs of a host see its figures even when their owner is gone.
 */
#ifndef SHMEM_TOOL_H
#define SHMEM_TOOL_H

#include <shmem.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SHMEM_TOOL_VERSION 2u

/* What a tool gives: calls of its own.  Each of them may use every call of OpenSHMEM by its second name. */
struct shmem_impl_tool {
	uint32_t version;
	void (*joined)(void);  /* this PE has joined the job */
	void (*leaving)(void); /* it has come to its end; others may not */
	/* All PEs have come to their ends, and all memory is still there; it goes when all have returned from here. */
	void (*all_left)(void);
	void (*ending)(const char *why); /* this PE ends the job; may be called by a signal handler */
};

/* Called by the tool as it is loaded.  Returns 0, or -1 when it is of another version. */
int shmem_impl_tool_enter(const struct shmem_impl_tool *tool) SHMEM_IMPL_NOEXCEPT;

/* Symmetric and zero, only what is touched becomes memory; the tool's alone. */
void *shmem_impl_tool_room(size_t *bytes) SHMEM_IMPL_NOEXCEPT;

struct shmem_impl_tool_pe {
	int with_tool;    /* a job may have programs without it */
	uint32_t host;    /* hosts are numbered as they come */
	const char *name; /* of the host; "" where there is one only */
};
void shmem_impl_tool_where(int pe, struct shmem_impl_tool_pe *out) SHMEM_IMPL_NOEXCEPT;

enum shmem_impl_collective {
	SHMEM_TOOL_SYNC,
	SHMEM_TOOL_REDUCE,
	SHMEM_TOOL_BCAST,
	SHMEM_TOOL_FCOLLECT,
	SHMEM_TOOL_ALLTOALL,
};
/*
 * Which algorithm it takes on this team, as an index into the words of SHMEM_*_ALGORITHM.  bytes: of one PE's part; of
 * alltoall, from one PE to another.  team: SHMEM_TEAM_INVALID for an active set that is not all PEs.
 */
int shmem_impl_tool_algorithm(enum shmem_impl_collective which, shmem_team_t team, size_t bytes) SHMEM_IMPL_NOEXCEPT;
const char *shmem_impl_tool_algorithm_name(enum shmem_impl_collective which, int algorithm) SHMEM_IMPL_NOEXCEPT;

void shmem_impl_tool_heap(size_t *high_water, size_t *total) SHMEM_IMPL_NOEXCEPT;

/* What a symmetric address is called on all PEs. */
uint64_t shmem_impl_tool_offset(const void *symmetric) SHMEM_IMPL_NOEXCEPT;

/* The other way round: where it is in this PE. */
void *shmem_impl_tool_address(uint64_t offset) SHMEM_IMPL_NOEXCEPT;
int shmem_impl_tool_symmetric(const void *addr, size_t bytes) SHMEM_IMPL_NOEXCEPT;
/* Of a block of the symmetric heap; 0 when it does not begin there.  The block that has an address, or null. */
size_t shmem_impl_tool_block_bytes(const void *block) SHMEM_IMPL_NOEXCEPT;
const void *shmem_impl_tool_block_around(const void *addr, size_t *bytes) SHMEM_IMPL_NOEXCEPT;

/*
 * The values of SHMEM_STATS, SHMEM_TRACE, SHMEM_HANG_AFTER and SHMEM_CHECK, or null; so many events may a PE record.
 */
struct shmem_impl_tool_wish {
	const char *stats, *trace, *hang_after, *check;
	size_t events;
};
void shmem_impl_tool_wish(struct shmem_impl_tool_wish *out) SHMEM_IMPL_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* SHMEM_TOOL_H */
