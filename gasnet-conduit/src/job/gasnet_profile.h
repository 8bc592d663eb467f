/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gasnet_profile.h: interface between the GASNet libraries and our own observing tool (gasnet-conduit/profile/). Not
 * installed; both sides come from one build, and a tool of another version is refused.
 *
 * The tool interposes exported names and calls the next definitions of the same names. When it is loaded, the windows
 * and fronts that inline code of clients reads stay closed, so that every call reaches one of these names; the tool
 * itself then does what inline code would have done. This header has what the tool cannot learn from those calls.
 */
#ifndef GASNET_TOOL_H
#define GASNET_TOOL_H

#include <gasnetex.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GASNETI_TOOL_VERSION 3u

/* What a tool defines, under this name. */
struct gasneti_tool {
	uint32_t version;
	void (*joined)(void);
	void (*leaving)(void); /* this node leaves the job; others may not */
	/* All nodes are leaving, and their memory stays until all have returned; without `all`, some did not leave. */
	void (*all_left)(int all, int code);
};
extern PGAS_EXPORT const struct gasneti_tool gasneti_tool_is_here;

struct gasneti_tool_facts {
	const uint64_t *windows; /* by node, of the library's memory and, unless `outside`, of segments */
	const uint8_t *outside;  /* by node: its segment has no window */
	char *room; /* only the tool uses it; at one address in all nodes; untouched pages take no memory */
	size_t room_bytes;
	int threads; /* several threads may call at once */
	/* Values of SHMEM_STATS, SHMEM_TRACE and SHMEM_HANG_AFTER, or null; number of events a node may record. */
	const char *stats, *trace, *hang_after;
	size_t events;
};
PGAS_EXPORT void gasneti_tool_facts(struct gasneti_tool_facts *out) PGAS_NOEXCEPT;
PGAS_EXPORT int gasneti_tool_with(gasnet_node_t node) PGAS_NOEXCEPT; /* whether it has the tool */
PGAS_EXPORT gasnet_node_t gasneti_tool_host(gasnet_node_t node, const char **name) PGAS_NOEXCEPT;
/* Sets a word of another host's room, complete when the call returns; reads bytes of it: zeros before gasnet_attach. */
PGAS_EXPORT void gasneti_tool_set(gasnet_node_t node, uint64_t *mine, uint64_t value) PGAS_NOEXCEPT;
PGAS_EXPORT void gasneti_tool_get(void *dst, gasnet_node_t node, const void *mine, size_t bytes) PGAS_NOEXCEPT;
/* 1: the user asks where the nodes are, and the tool reports it; once for each question. */
PGAS_EXPORT int gasneti_tool_asked(void) PGAS_NOEXCEPT;
/* Lets other nodes reach this node's memory. */
PGAS_EXPORT void gasneti_tool_progress(void) PGAS_NOEXCEPT;

/* A completed event, for those waited for already: the tool has to see the client's waits, too. */
PGAS_EXPORT gex_Event_t gasneti_tool_over(void) PGAS_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* GASNET_TOOL_H */
