// SPDX-License-Identifier: BSD-3-Clause
//
// GASNet-EX's objects as the library sees them. There is one client, its first endpoint and that endpoint's segment;
// gasnet_init creates them, whichever interface the program uses. More endpoints and segments are in gasnet_kinds.hpp.
#pragma once

#include "gasnet_core.hpp"

#include <teams/teams_team.hpp>

namespace pgas::teams {
struct operation;
}

struct gasneti_client {
	void *cdata;
	gex_Flags_t flags;
	char name[64];
};

struct gasneti_segment {
	void *cdata;
	gex_Flags_t flags;
	void *address; // in the owner's address space
	uintptr_t bytes;
};

namespace gasnet {
struct team;
}

struct gasneti_endpoint {
	void *cdata;
	gex_Flags_t flags;
	gasneti_segment *segment; // or null
	gex_EP_Index_t index;
	gex_EP_Capabilities_t capabilities;
	gasnet::team *pairs[GASNET_MAXEPS]; // with endpoints of others, by index; null: not requested yet
	fid_mr *mr;                         // of a host segment that is not the first one
	gex_AM_Entry_t entries[256];        // handlers; those of gasnet_attach have no name, and accept any arguments
};

namespace gasnet {

constexpr unsigned kAnyArgs = ~0u; // gex_nargs of a handler that gasnet_attach registered

extern gasneti_client g_client;
extern gasneti_endpoint g_endpoint;
extern gasneti_endpoint *g_endpoints[GASNET_MAXEPS]; // by index; the first is g_endpoint
extern gasneti_segment g_segment;

// What a member, or several together, passed to a barrier.
struct barrier_said {
	enum kind_t : uint32_t { anonymous, named, mismatch } kind;
	int32_t name;
};
// The barrier of a team that the client created (gasnet_coll_barrier.cpp).
struct team_barrier {
	pgas::teams::operation *operation; // null: complete
	bool open;                         // notified but not waited for
	barrier_said mine, outcome;
};

// A team, with the fields that only the library uses. The team of all is g_world; pairs are also teams of all, at
// another address, and without collectives. A pair of endpoints that are not both the first has no windows, and size 0,
// so that calls do not find the rank.
struct team {
	gasneti_endpoint *local; // of such a pair
	gex_EP_Index_t remote;
	void *cdata;
	gex_Flags_t flags;
	bool pair;
	pgas::teams::team *core; // null if it is a pair
	gex_Memvec_t scratch;    // given by the client, and returned to it; not used
	gex_Rank_t *by_jobrank;  // ranks in the order of jobranks; null: the core finds them without a table
	team_barrier barrier;
	gasneti_team face; // what clients see; its windows follow
};
extern team *g_world, *g_pair; // valid after gasnet_init

inline team *team_of(gex_TM_t tm)
{
	return reinterpret_cast<team *>(reinterpret_cast<char *>(tm) - offsetof(team, face));
}
inline bool is_world(gex_TM_t tm)
{
	return team_of(tm) == g_world;
}
// Allocates a zeroed team with that many windows, and memory after them; ends the job if there is none.
team *team_alloc(size_t windows, size_t behind);
// The same with windows for every possible rank; pages become memory when they are touched.
team *team_of_all_alloc();
// The team's core, for collectives; ends the job if tm is a pair or invalid.
inline pgas::teams::team &core_of(const char *call, gex_TM_t tm)
{
	if (tm == GEX_TM_INVALID || !team_of(tm)->core)
		fail("%s: not a team (a pair has no collectives)", call);
	return *team_of(tm)->core;
}
// The pair of endpoints that tm is; ends the job if it is not a pair, or the rank does not exist.
const team *pair_of(const char *call, gex_TM_t tm, gex_Rank_t rank);
// The same; the local endpoint must have capability `what`.
const team *able_pair_of(const char *call, gex_TM_t tm, gex_Rank_t rank, gex_EP_Capabilities_t what);
// Ends the job: rank is not in the team, or a pair's endpoint lacks the capability.
[[noreturn, gnu::cold]] void no_member(const char *call, gex_TM_t tm, gex_Rank_t rank);
// The rank in the job; ends the job if the rank does not exist.
inline gasnet_node_t team_jobrank(const char *call, gex_TM_t tm, gex_Rank_t rank)
{
	if (rank >= tm->size)
		no_member(call, tm, rank);
	return tm->jobranks[rank];
}

void objects_setup();            // called by gasnet_init: the job's ranks are known
void objects_segment_attached(); // this node's segment has its size

// gasnet_outside.cpp: tables of windows that clients read, by rank; a node that goes outside loses its entries
void windows_made(uint64_t *windows, const gasnet_node_t *jobranks, size_t count);
void windows_gone(uint64_t *windows);
void node_is_outside(gasnet_node_t node);

// --- what kinds/ does for the rooms below it -------------------------------------------------------------------------

// Transfers through pairs of endpoints that are not both the first.
struct pair_calls {
	gex_Event_t (*put)(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes,
			   gasneti_until until, int implicit) noexcept;
	gex_Event_t (*get)(gex_TM_t tm, void *dest, gex_Rank_t rank, const void *src, size_t nbytes,
			   gasneti_until until, int implicit) noexcept;
	// for a vector, indexed or strided transfer
	gex_Event_t (*move)(const char *call, bool put, const team *p, gex_Rank_t rank, void *theirs, void *mine,
			    size_t nbytes) noexcept;
	// the payload of a long message, for the segment of an endpoint that is not the first
	void (*put_payload)(const char *call, gasnet_node_t node, gex_EP_Index_t index, void *dst, const void *src,
			    size_t nbytes) noexcept;
};
extern const pair_calls *g_pair_calls; // gasnet_init sets it

// Copies of devices that were submitted and may not be complete.
struct copy_calls {
	void (*finish)(const char *call) noexcept;   // waits until all are complete
	bool (*are_idle)(const char *call) noexcept; // the same, without waiting
};
extern const copy_calls *g_copy_calls; // null until the first device is opened
inline void finish_copies(const char *call) noexcept
{
	if (const copy_calls *calls = pgas_load_relaxed(&g_copy_calls))
		calls->finish(call);
}
inline bool copies_are_idle(const char *call) noexcept
{
	const copy_calls *calls = pgas_load_relaxed(&g_copy_calls);
	return !calls || calls->are_idle(call);
}

} // namespace gasnet
