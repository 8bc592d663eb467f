// SPDX-License-Identifier: BSD-3-Clause
//
// The shared memory of a team, and the few moves that all collectives are made of.
//
// Each member has a block in its own symmetric memory, at a place of its own choice; members learn the places when the
// team is made. A block consists of cache lines, every line begins with a number, and numbers only grow: in the life of
// a team, and from one team to the next that gets the same memory (a team starts at the highest number any of its
// blocks has seen). So no flag is ever reset, a peer that is one collective ahead does no harm, and what an earlier
// team left behind means nothing.
//
//   line               written by                     read by
//   progress           owner: last numbered           whoever told it in a broadcast, before it uses a line again
//                      collective it completed
//   notes[32]          broadcast: the member above    owner
//   arrived, released  central sync, in the block of  all members
//                      member 0
//   up[], down         tree sync: children, parent    owner
//   hop[]              dissemination: one peer each   owner
//   host_down          two-level sync: the leader     owner
//   in[4][n]           member j writes in[..][j]      owner
//   local_up[n]        two-level sync: member j       owner, when it is its host's leader
//   signal[2][n]       member j (teams_signal.hpp)    owner
//
// Exchange number r uses in[r % 4]. Whoever takes part in r + 1 has read everything of r; so after exchange r all
// members have completed r - 1, and line r % 4 may be written again for r + 4. Broadcasts have numbers of the same
// sequence but tell their members nothing about each other: after some of them in a row a writer knows too little
// (`known`) and looks at the progress of those it writes to. Up to 8 bytes travel in notes[r % 32], four of which are
// in one cache line: a member that is behind finds several with one miss.
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
// lines with different writers: cores fetch the neighbour of a line too
constexpr int kApart = 2;
constexpr int kFan = 4;                            // of the tree, and most peers per round of the dissemination
constexpr int kRounds = 10;                        // 4^10 is a million members; see fan_for
constexpr uintptr_t kReachAsk = 1, kReachNone = 2; // real ones are multiples of the page size
constexpr size_t kStagingBytes = 256 * 1024;

struct channels; // teams_channel.hpp

// A team as one of its members sees it. The arrays are one per member, in one allocation. A client's own team begins
// with it.
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
	uint64_t known = 0;        // all members are known to have completed the collectives up to this number
	uint64_t known_below = 0;  // the same of those that I tell in a broadcast whose root is `below_root`
	int below_root = -1;
	// my part of the team's shared memory; null: a set, which brings its own flags (teams_coll.hpp)
	char *block = nullptr;
	// block of each member, as mapped here; null: not asked yet, or on another host
	char **peer = nullptr;
	// what turns a symmetric address of mine into that member's; kReachAsk, kReachNone
	uintptr_t *reach = nullptr;
	// block of each member, as a symmetric address of mine: for one-sided calls
	uint64_t *block_at = nullptr;
	// the same of staging memory; only of teams that use algorithms for several hosts
	uint64_t *staging_at = nullptr;
	int *members = nullptr; // world ranks
	// host of each member, numbered from 0 in the order of appearance
	int *host = nullptr;
	const void **rows = nullptr;                   // working space of reductions: one address per member
	uint64_t *sent = nullptr, *received = nullptr; // signals to and from each member: teams_signal.hpp
	uint64_t pieces = 0;                           // recursive doublings so far
	uint64_t ring_messages = 0;                    // of reductions by ring, so far
	uint64_t *flags = nullptr;                     // of a set
	uint32_t block_lines = 0;                      // taken from the arena
	uint32_t staging_lines = 0;                    // the same
	size_t pieces_at = 0;                          // of channels, in staging memory
	channels *channel = nullptr;                   // of a client that wants them
	int pool_slot = -1;                            // agreement::bitmask: place in the pool
	int room = 0;                                  // members that the arrays have room for
	team *next = nullptr, *prev = nullptr;         // in one of the lists of struct job
};

// All state of this process: what the client said, and what follows from it.
struct job : client {
	uintptr_t *reach_of_rank = nullptr; // as in struct team, of all ranks
	int world_hosts = 1;
	int lanes = 0; // of channels: teams_channel.hpp
	team *predefined = nullptr, *made = nullptr;
	team *spare = nullptr; // ended, with their arrays
};
// an extern declaration needs it said, or goes through the GOT
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
uint32_t block_lines(int n); // with those of channels behind them

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

// One line "routine: text", and the job ends.
[[noreturn, gnu::cold]] void fail(const char *routine, const char *text);

inline int world_rank(const team &t, int member)
{
	return t.members[member];
}

// Number of a world rank in a team, or -1.
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

// Is the member's memory mapped here? Then `there(t, j, ptr)` is its copy of ptr.
inline bool is_near(team &t, int member)
{
	return reach_of(t, member) != kReachNone;
}
template <class T>
inline T *there(const team &t, int member, T *mine)
{
	return reinterpret_cast<T *>(reinterpret_cast<uintptr_t>(mine) + t.reach[member]);
}

// Where a line of member's block is written by one-sided calls.
template <class T>
inline T *as_mine(const team &t, int member, const T *in_my_block)
{
	const uintptr_t offset = reinterpret_cast<uintptr_t>(in_my_block) - reinterpret_cast<uintptr_t>(t.block);
	return reinterpret_cast<T *>(t.block_at[member] + offset);
}

[[gnu::cold, gnu::noinline]] void set_far(team &t, int member, line *mine, uint64_t number, const void *payload,
					  size_t bytes);

// Sets the number of the line that lies in member's block where `mine` lies in mine. Everything written before is seen
// by whoever acquires the number.
PGAS_HOT void set_number(team &t, int member, line *mine, uint64_t number)
{
	if (PGAS_LIKELY(is_near(t, member))) {
		char *pos = t.peer[member] + (reinterpret_cast<char *>(mine) - t.block);
		pgas_store_release(&reinterpret_cast<line *>(pos)->number, number); // pairs with await() in the member
		return;
	}
	set_far(t, member, mine, number, nullptr, 0);
}

// The same with up to kInline bytes beside it. budget: 12 instructions for a mapped member and 8 bytes
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

// One word of symmetric memory at a member; everything written before is seen by whoever acquires it.
void set_word(team &t, int member, uint64_t *mine, uint64_t value);

// How to copy what a collective moves: through the caches, or around them when it would only flush them.
enum class copying { cached, streamed };
copying copying_of(streamer who, size_t bytes); // that all members read and write in the collective

// Bytes into member's memory, at its copy of dest. Visible to it after a later set_number at the same member, and to
// all that I tell anything after settle().
void push(team &t, int member, void *dest, const void *source, size_t bytes, copying how = copying::cached);
inline void settle()
{
	g_job.settle();
}
// Member's bytes: where they are when mapped, else a copy of them in room.
const void *view(team &t, int member, const void *source, size_t bytes, void *room);

// --- waiting ---------------------------------------------------------------------------------------------------------

// Polls until ready() holds; ready uses relaxed loads, the fence makes them acquire. Pairs with
// store_release in set_number() and set_line().
template <class Ready>
PGAS_HOT void await(Ready &&ready)
{
	for (unsigned i = 0; i < g_job.eager_polls; i++)
		if (PGAS_LIKELY(ready())) {
			pgas_fence_acquire();
			return;
		}
	unsigned polls = 0;
	while (!ready())
		g_job.pause(polls);
	pgas_fence_acquire();
}

inline void await_number(const line *l, uint64_t number)
{
	await([=] { return pgas_load_relaxed(&l->number) >= number; });
}

// --- moves -----------------------------------------------------------------------------------------------------------

void sync(team &t);      // by the algorithm of the table
void sync_push(team &t); // members write to each other only: nobody touches my block any more when it returns

// Returns when the member has completed collective `number`, or a later one; which one it was.
uint64_t await_progress_of(team &t, int member, uint64_t number);
[[gnu::cold, gnu::noinline]] void await_progress(team &t, uint64_t number); // the same of all

// An exchange: begin gives the number; post my line to each member, then gather; after that in_line(t, t.block, number,
// j) is what member j posted, until exchange number + 2 begins.
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
void exchange(team &t, const void *payload, size_t bytes); // the same bytes for everybody
inline const char *exchanged(const team &t, int source)
{
	return in_line(t, t.block, t.exchanges, source)->payload;
}
void completed(team &t); // says to a later root that I am through with collective t.exchanges

} // namespace pgas::teams
