// SPDX-License-Identifier: BSD-3-Clause
//
// The shared memory of a team, and the few primitives that all collectives are made of.
//
// Each member has a block in its own symmetric memory, at a place of its own choice; members learn the places when the
// team is made. A block consists of cache lines, and every line begins with a number. Numbers only grow: during the
// life of a team, and from one team to the next that gets the same memory (a team starts at the highest number that any
// of its blocks has seen). So no flag is ever reset, a peer that is one collective ahead does no harm, and stale
// numbers of an earlier team mean nothing.
//
//   line               written by                     read by
//   progress           owner: last numbered           the member that sends to it in a broadcast, before it uses a
//                      collective it completed        line again
//   notes[32]          broadcast: the parent          owner
//   arrived, released  central sync, in the block of  all members
//                      member 0
//   up[], down         tree sync: children, parent    owner
//   hop[]              dissemination: one peer each   owner
//   host_down          two-level sync: the leader     owner
//   in[4][n]           member j writes in[..][j]      owner
//   local_up[n]        two-level sync: member j       owner, when it is its host's leader
//   signal[2][n]       member j (teams_signal.hpp)    owner
//
// Exchange number r uses in[r % 4]. A member that takes part in r + 1 has read everything of r; so after exchange r all
// members have completed r - 1, and line r % 4 may be written again for r + 4. Broadcasts take numbers of the same
// sequence, but in a broadcast members report nothing to each other: after several in a row a writer knows too little
// (`known`) and reads the progress of the members it writes to. Up to 8 bytes travel in notes[r % 32], four of which
// share a cache line: a member that lags reads several with one cache miss.
#pragma once

#include <cstring>

#include <pgas/pgas_atomic.h>
#include <teams/teams_client.hpp>

namespace pgas::teams {

constexpr uint32_t kTeamLive = 0x7ea3a11e;
constexpr size_t kLine = PGAS_CACHE_LINE;
constexpr size_t kInline = kLine - sizeof(uint64_t); // bytes that travel with a number
constexpr unsigned kRing = 4;
constexpr unsigned kNotes = 32;
// lines with different writers are two apart: cores prefetch the adjacent line too
constexpr int kApart = 2;
constexpr int kFan = 4;     // of the tree; also one more than the most peers per round of the dissemination
constexpr int kRounds = 10; // 4^10 is a million members; see fan_for
constexpr uintptr_t kReachAsk = 1, kReachNone = 2; // real ones are multiples of the page size
constexpr size_t kStagingBytes = 512 * 1024;

struct channels;  // teams_channel.hpp
struct host_plan; // teams_host_plan.hpp

// A team as one member sees it. The arrays have one entry per member and share one allocation. A client's own team
// struct begins with this one.
struct team {
	uint32_t magic = 0; // kTeamLive while it may be used
	int me = -1;
	int size = 0;
	int start = 0, stride = 0; // of the world; stride 0: irregular
	int hosts = 1;             // that the members are on
	int fan = 2;               // of the dissemination
	int *leaders = nullptr;    // first member on each host
	uint64_t first = 0;        // all numbers start here
	uint64_t round = 0;        // syncs so far
	uint64_t exchanges = 0;    // numbered collectives so far: exchange and broadcast
	uint64_t known = 0;        // all members are known to have completed collectives up to this number
	uint64_t known_below = 0;  // the same for my children in broadcasts whose root is `below_root`
	int below_root = -1;
	// my part of the team's shared memory; null for a set, which brings its own flags (teams_coll.hpp)
	char *block = nullptr;
	// block of each member, as mapped here; null: not resolved yet, or on another host
	char **peer = nullptr;
	// offset from my symmetric address to that member's mapping; or kReachAsk, kReachNone
	uintptr_t *reach = nullptr;
	// block of each member, as a symmetric address in my memory: for one-sided calls
	uint64_t *block_at = nullptr;
	// the same for staging memory; only in teams that use algorithms for several hosts
	uint64_t *staging_at = nullptr;
	int *members = nullptr; // world ranks
	// host of each member, numbered from 0 in the order of appearance
	int *host = nullptr;
	const void **rows = nullptr;                   // working space of reductions: one address per member
	uint64_t *sent = nullptr, *received = nullptr; // signals to and from each member: teams_signal.hpp
	uint64_t pieces = 0;                           // recursive doublings so far
	uint64_t alltoalls = 0;                        // of short blocks across hosts, so far
	host_plan *plan = nullptr;                     // made at the first use
	uint64_t *flags = nullptr;                     // of a set
	uint32_t block_lines = 0;                      // taken from the arena
	uint32_t staging_lines = 0;                    // the same, as staging memory
	size_t pieces_at = 0;                          // offset of the channels' pieces in staging memory
	channels *channel = nullptr;                   // only for clients that want channels
	int pool_place = -1;                           // agreement::bitmask: place in the pool
	int room = 0;                                  // number of members that the arrays have room for
	team *next = nullptr, *prev = nullptr;         // in one of the lists of struct job
};

// All state of this process: the client's values, and what follows from them.
struct job : client {
	uintptr_t *reach_of_rank = nullptr; // as in struct team, for all world ranks
	int world_hosts = 1;
	int lanes = 0;             // of channels: teams_channel.hpp
	bool has_pieces = false;   // channels have staging memory
	bool has_landings = false; // blocks have the lines of teams_nb_symmetric.cpp
	team *predefined = nullptr, *made = nullptr;
	team *spare = nullptr; // ended teams, which keep their arrays
};
// visibility must be given on the extern declaration too, or accesses go through the GOT
extern __attribute__((visibility("hidden"))) job g_job;

struct line {
	uint64_t number;
	char payload[kInline];
};

struct note { // begins like a line
	uint64_t number;
	char payload[8];
};

struct block_head {
	line progress, arrived, released, down, host_down;
	line up[kFan];
	line hop[kRounds * (kFan - 1) * kApart];
	note notes[kNotes];
};
static_assert(sizeof(line) == kLine && sizeof(block_head) % kLine == 0);

constexpr uint32_t lines_of_collectives(int n)
{
	return static_cast<uint32_t>(sizeof(block_head) / kLine + (kRing + 1 + 2) * static_cast<size_t>(n));
}
uint32_t block_lines(int n); // including the lines of channels, which follow

inline line *lines_behind_head(char *block)
{
	return reinterpret_cast<line *>(block + sizeof(block_head));
}
inline line *in_line(const team &t, char *block, uint64_t number, int source)
{
	return lines_behind_head(block) + number % kRing * static_cast<size_t>(t.size) + source;
}
inline line *local_up_line(const team &t, char *block, int source)
{
	return lines_behind_head(block) + kRing * static_cast<size_t>(t.size) + source;
}
inline line *signal_line(const team &t, char *block, int kind, int source)
{
	return lines_behind_head(block) + (kRing + 1 + static_cast<size_t>(kind)) * static_cast<size_t>(t.size) +
	       source;
}
inline block_head *head_of(char *block)
{
	return reinterpret_cast<block_head *>(block);
}

// Ends the job with the message "routine: text".
[[noreturn, gnu::cold]] void fail(const char *routine, const char *text);

inline int world_rank(const team &t, int member)
{
	return t.members[member];
}

// The member number of a world rank in a team, or -1.
inline int member_of(const team &t, int rank)
{
	if (t.stride) {
		const int away = rank - t.start;
		const int pos = away / t.stride;
		return away % t.stride == 0 && pos >= 0 && pos < t.size ? pos : -1;
	}
	for (int j = 0; j < t.size; j++)
		if (t.members[j] == rank)
			return j;
	return -1;
}

// --- reaching members ------------------------------------------------------------------------------------------------

[[gnu::cold, gnu::noinline]] uintptr_t resolve(team &t, int member); // fills reach[member] and peer[member]

inline uintptr_t reach_of(team &t, int member)
{
	const uintptr_t r = t.reach[member];
	return PGAS_LIKELY(r != kReachAsk) ? r : resolve(t, member);
}

// Is the member's memory mapped here? If so, `address_at(t, j, ptr)` is its copy of ptr.
inline bool is_near(team &t, int member)
{
	return reach_of(t, member) != kReachNone;
}
template <class T>
inline T *address_at(const team &t, int member, T *mine)
{
	return reinterpret_cast<T *>(reinterpret_cast<uintptr_t>(mine) + t.reach[member]);
}

// Where one-sided calls write a line of the member's block.
template <class T>
inline T *own_address(const team &t, int member, const T *in_my_block)
{
	const uintptr_t offset = reinterpret_cast<uintptr_t>(in_my_block) - reinterpret_cast<uintptr_t>(t.block);
	return reinterpret_cast<T *>(t.block_at[member] + offset);
}

[[gnu::cold, gnu::noinline]] void set_far(team &t, int member, line *mine, uint64_t number, const void *payload,
					  size_t bytes);

// Sets the number of the line in the member's block at the same offset as `mine` in my block. A reader that acquires
// the number sees everything written before.
PGAS_HOT void set_number(team &t, int member, line *mine, uint64_t number)
{
	if (PGAS_LIKELY(is_near(t, member))) {
		char *pos = t.peer[member] + (reinterpret_cast<char *>(mine) - t.block);
		pgas_store_release(&reinterpret_cast<line *>(pos)->number, number); // pairs with await() in the member
		return;
	}
	set_far(t, member, mine, number, nullptr, 0);
}

// The same with up to kInline bytes of payload. budget: 12 instructions for a mapped member and 8 bytes
PGAS_HOT void set_line(team &t, int member, line *mine, uint64_t number, const line &source, size_t bytes)
{
	if (PGAS_LIKELY(is_near(t, member))) {
		line *item = reinterpret_cast<line *>(t.peer[member] + (reinterpret_cast<char *>(mine) - t.block));
		if (bytes <= 8)
			memcpy(item->payload, source.payload, 8);
		else
			memcpy(item->payload, source.payload, kInline);
		pgas_store_release(&item->number, number); // pairs with await() in the member
		return;
	}
	set_far(t, member, mine, number, source.payload, bytes <= 8 ? 8 : kInline);
}

// Sets one word of symmetric memory at a member; a reader that acquires the value sees everything written before.
void set_word(team &t, int member, uint64_t *mine, uint64_t value);

// How to copy a collective's data: through the caches, or around them when it would only flush them.
enum class copying { cached, streamed };
copying copying_of(streamer who, size_t bytes); // bytes: all that the members read and write in the collective

// Copies bytes into the member's memory, at its copy of dest. Visible to that member after a later set_number to it,
// and to every member that I notify after settle().
void push(team &t, int member, void *dest, const void *source, size_t bytes, copying how = copying::cached);
inline void settle()
{
	g_job.settle();
}
// The member's bytes: in place when they are mapped, else copied to `room`.
const void *view(team &t, int member, const void *source, size_t bytes, void *room);

// --- waiting ---------------------------------------------------------------------------------------------------------

// Is the member on this host? Then its stores, and nothing from the network, end a wait for it.
inline bool on_my_host(const team &t, int member)
{
	return t.hosts == 1 || t.host[member] == t.host[t.me];
}

// Polls until ready() returns true; ready uses relaxed loads, which the fence turns into acquires. Pairs with
// store_release in set_number() and set_line(). near: whoever makes it true is on this host.
template <class Ready>
PGAS_HOT void await(Ready &&ready, bool near)
{
	for (unsigned i = 0; i < g_job.eager_polls; i++)
		if (PGAS_LIKELY(ready())) {
			pgas_fence_acquire();
			return;
		}
	unsigned polls = 0;
	void (*const pause)(unsigned &) = near ? g_job.pause_near : g_job.pause;
	while (!ready())
		pause(polls);
	pgas_fence_acquire();
}

inline void await_number(const line *l, uint64_t number, bool near)
{
	await([=] { return pgas_load_relaxed(&l->number) >= number; }, near);
}

// --- moves -----------------------------------------------------------------------------------------------------------

void sync(team &t);      // by the algorithm of the table
void sync_push(team &t); // members write only to each other: no member accesses my block after it returns

// Waits until the member has completed collective `number` or a later one; returns the number it has reached.
uint64_t await_progress_of(team &t, int member, uint64_t number);
[[gnu::cold, gnu::noinline]] void await_progress(team &t, uint64_t number); // the same for all members

// An exchange: begin returns the number; post my line to each member, then gather. After that in_line(t, t.block,
// number, j) is what member j posted, until exchange number + 2 begins.
inline uint64_t exchange_begin(team &t)
{
	const uint64_t number = ++t.exchanges;
	if (PGAS_UNLIKELY(t.known + kRing < number)) // is my line of number - kRing read everywhere?
		await_progress(t, number - kRing);
	return number;
}
inline void exchange_post(team &t, uint64_t number, int member, const line &source, size_t bytes)
{
	set_line(t, member, in_line(t, t.block, number, t.me), number, source, bytes);
}
void exchange_gather(team &t, uint64_t number);
void exchange(team &t, const void *payload, size_t bytes); // posts the same bytes to all members
inline const char *exchanged(const team &t, int source)
{
	return in_line(t, t.block, t.exchanges, source)->payload;
}
void report_completed(team &t); // reports to later roots that I have completed collective t.exchanges

} // namespace pgas::teams
