/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmem_profile.h: the interface between libsma and its own tool library (shmem/profile/). Not installed; both sides
 * come from one build, and a tool of another version is refused.
 *
 * The tool interposes shmem_* names and calls pshmem_*. This interface provides what those names do not tell it: when
 * the job begins and ends, where the PEs are, which algorithm a collective takes, how full the heap is; and memory
 * within the symmetric heap where all PEs of a host can read its figures even after their owner has ended.
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
/* exit status of a job whose races were to be found and cannot be */
#define SHMEM_TOOL_CANNOT_CHECK 67

/* Functions that a tool provides. Each of them may use every OpenSHMEM call by its pshmem_ name. */
struct shmem_impl_tool {
	uint32_t version;
	void (*joined)(void);  /* this PE has joined the job */
	void (*leaving)(void); /* this PE has reached its end; others may still run */
	/*
	 * All PEs have reached their ends and all memory is still mapped; it is unmapped after all have returned from
	 * here.
	 */
	void (*all_left)(void);
	void (*ending)(const char *why); /* this PE ends the job; may be called by a signal handler */
};

/* Called by the tool when it is loaded. Returns 0, or -1 when it is of another version. */
int shmem_impl_tool_enter(const struct shmem_impl_tool *tool) SHMEM_IMPL_NOEXCEPT;

/* Symmetric memory for the tool alone, initially zero; only touched pages take memory. */
void *shmem_impl_tool_room(size_t *bytes) SHMEM_IMPL_NOEXCEPT;

struct shmem_impl_tool_pe {
	int with_tool;    /* a job may contain programs without it */
	uint32_t host;    /* hosts are numbered in order of appearance */
	const char *name; /* of the host; "" if there is only one */
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
 * Which algorithm a collective takes on this team, as an index into the words of SHMEM_*_ALGORITHM. bytes: of one PE's
 * part; for alltoall, from one PE to another. team: SHMEM_TEAM_INVALID for an active set that is not all PEs.
 */
int shmem_impl_tool_algorithm(enum shmem_impl_collective which, shmem_team_t team, size_t bytes) SHMEM_IMPL_NOEXCEPT;
const char *shmem_impl_tool_algorithm_name(enum shmem_impl_collective which, int algorithm) SHMEM_IMPL_NOEXCEPT;

void shmem_impl_tool_heap(size_t *high_water, size_t *total) SHMEM_IMPL_NOEXCEPT;

/* 1: the user asks where the PEs are, and the tool reports it; once for each question. */
int shmem_impl_tool_asked(void) SHMEM_IMPL_NOEXCEPT;

/* The offset that identifies a symmetric address on all PEs. */
uint64_t shmem_impl_tool_offset(const void *symmetric) SHMEM_IMPL_NOEXCEPT;

/* The reverse: its address in this PE. */
void *shmem_impl_tool_address(uint64_t offset) SHMEM_IMPL_NOEXCEPT;
int shmem_impl_tool_symmetric(const void *addr, size_t bytes) SHMEM_IMPL_NOEXCEPT;
/*
 * Size of a block of the symmetric heap; 0 if no block begins there. Then the block that contains an address, or null.
 */
size_t shmem_impl_tool_block_bytes(const void *block) SHMEM_IMPL_NOEXCEPT;
const void *shmem_impl_tool_block_around(const void *addr, size_t *bytes) SHMEM_IMPL_NOEXCEPT;

/*
 * The values of SHMEM_STATS, SHMEM_TRACE, SHMEM_HANG_AFTER and SHMEM_CHECK, or null; and how many events a PE may
 * record.
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
