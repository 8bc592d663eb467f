/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gasnet_profile.h: between the GASNet libraries and a tool of our own that looks on (gasnet-conduit/profile/).  Not
 * installed; both sides come from one build, and a tool of another version is refused.
 *
 * The tool takes over exported names and goes on with the next ones of the same name.  Where it is loaded, the windows
 * and fronts that inline code of clients reads stay closed, so that every call comes to one of these names; the tool
 * itself then does what inline code would have done.  Here is what the names do not tell it.
 */
#ifndef GASNET_TOOL_H
#define GASNET_TOOL_H

#include <gasnetex.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GASNETI_TOOL_VERSION 3u

/* What a tool gives, by this name. */
struct gasneti_tool {
	uint32_t version;
	void (*joined)(void);
	void (*leaving)(void); /* this node leaves the job; others may not */
	/* All nodes leave, and their memory stays until all have returned; or, without `all`, some do not come. */
	void (*all_left)(int all, int code);
};
extern PGAS_EXPORT const struct gasneti_tool gasneti_tool_is_here;

struct gasneti_tool_facts {
	const uint64_t *windows; /* by node, of what is the library's and, but for the next, of segments */
	const uint8_t *outside;  /* by node: its segment has no window */
	char *room; /* the tool's alone, at one address in all nodes; only what is touched becomes memory */
	size_t room_bytes;
	int threads; /* several may call at once */
	/* Values of SHMEM_STATS, SHMEM_TRACE and SHMEM_HANG_AFTER, or null; so many events may a node record. */
	const char *stats, *trace, *hang_after;
	size_t events;
};
PGAS_EXPORT void gasneti_tool_facts(struct gasneti_tool_facts *out) PGAS_NOEXCEPT;
PGAS_EXPORT int gasneti_tool_with(gasnet_node_t node) PGAS_NOEXCEPT; /* has it the tool? */
PGAS_EXPORT gasnet_node_t gasneti_tool_host(gasnet_node_t node, const char **name) PGAS_NOEXCEPT;
/* A word of another host's room, there when the call returns; and bytes of it: zeros before gasnet_attach. */
PGAS_EXPORT void gasneti_tool_set(gasnet_node_t node, uint64_t *mine, uint64_t value) PGAS_NOEXCEPT;
PGAS_EXPORT void gasneti_tool_get(void *dst, gasnet_node_t node, const void *mine, size_t bytes) PGAS_NOEXCEPT;
/* Lets others reach our memory. */
PGAS_EXPORT void gasneti_tool_progress(void) PGAS_NOEXCEPT;

/* An event that is over, for those that wait for it: the client's waits are to be seen, too. */
PGAS_EXPORT gex_Event_t gasneti_tool_over(void) PGAS_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* GASNET_TOOL_H */
