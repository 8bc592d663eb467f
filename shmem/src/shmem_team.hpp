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
//   signal[2][n]       member j (shmem_coll_signal)   owner
//
// Exchange number r uses in[r % 4]. Whoever takes part in r + 1 has read everything of r; so after exchange r all
// members have completed r - 1, and line r % 4 may be written again for r + 4. Broadcasts have numbers of the same
// sequence but tell their members nothing about each other: after some of them in a row a writer knows too little
// (`known`) and looks at the progress of those it writes to. Up to 8 bytes travel in notes[r % 32], four of which are
// in one cache line: a member that is behind finds several with one miss.
#pragma once

#include "shmem_rma.hpp"

#include <cstring>

namespace shmem {

constexpr uint32_t kTeamLive = 0x7ea3a11e;
constexpr size_t kLine = PGAS_CACHE_LINE;
constexpr size_t kInline = kLine - sizeof(uint64_t); // bytes that travel with a number
constexpr unsigned kRing = 4;
constexpr unsigned kNotes = 32;
// lines with different writers: cores fetch the neighbour of a line too
constexpr int kApart = 2;
constexpr int kFan = 4;                            // of the tree, and most peers per round of the dissemination
constexpr int kRounds = 10;                        // 4^10 is a million PEs; see fan_for
constexpr uintptr_t kReachAsk = 1, kReachNone = 2; // real ones are multiples of the page size
constexpr size_t kStagingBytes = 256 * 1024;

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

constexpr uint32_t block_lines(int n)
{
	return static_cast<uint32_t>(sizeof(block_head) / kLine + (kRing + 1 + 2) * static_cast<size_t>(n));
}

inline line *lines_behind_head(char *block)
{
	return reinterpret_cast<line *>(block + sizeof(block_head));
}
inline line *in_line(const team &t, char *block, uint64_t number, int from)
{
	return lines_behind_head(block) + number % kRing * static_cast<size_t>(t.n_pes) + from;
}
inline line *local_up_line(const team &t, char *block, int from)
{
	return lines_behind_head(block) + kRing * static_cast<size_t>(t.n_pes) + from;
}
inline line *signal_line(const team &t, char *block, int kind, int from)
{
	return lines_behind_head(block) + (kRing + 1 + static_cast<size_t>(kind)) * static_cast<size_t>(t.n_pes) + from;
}
inline block_head *head_of(char *block)
{
	return reinterpret_cast<block_head *>(block);
}

inline int world_pe(const team &t, int member)
{
	return t.members[member];
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
		char *at = t.peer[member] + (reinterpret_cast<char *>(mine) - t.block);
		pgas_store_release(&reinterpret_cast<line *>(at)->number, number); // pairs with await() in the member
		return;
	}
	set_far(t, member, mine, number, nullptr, 0);
}

// The same with up to kInline bytes beside it. budget: 12 instructions for a mapped member and 8 bytes
PGAS_HOT void set_line(team &t, int member, line *mine, uint64_t number, const line &from, size_t bytes)
{
	if (PGAS_LIKELY(is_near(t, member))) {
		line *at = reinterpret_cast<line *>(t.peer[member] + (reinterpret_cast<char *>(mine) - t.block));
		if (bytes <= 8)
			memcpy(at->payload, from.payload, 8);
		else
			memcpy(at->payload, from.payload, kInline);
		pgas_store_release(&at->number, number); // pairs with await() in the member
		return;
	}
	set_far(t, member, mine, number, from.payload, bytes <= 8 ? 8 : kInline);
}

// How to copy what a collective moves: through the caches, or around them when it would only flush them.
enum class copying { cached, streamed };
copying copying_of(streamer who, size_t bytes); // that all members read and write in the collective

// Bytes into member's memory, at its copy of dest. Visible to it after a later set_number.
void push(team &t, int member, void *dest, const void *source, size_t bytes, copying how = copying::cached);
// Member's bytes: where they are when mapped, else a copy of them in room.
const void *view(team &t, int member, const void *source, size_t bytes, void *room);

// --- waiting ---------------------------------------------------------------------------------------------------------

// Polls until ready() holds; ready uses relaxed loads, the fence makes them acquire. Pairs with
// store_release in set_number() and set_line().
template <class Ready>
PGAS_HOT void await(Ready &&ready)
{
	for (unsigned i = 0; i < g.eager_polls; i++)
		if (PGAS_LIKELY(ready())) {
			pgas_fence_acquire();
			return;
		}
	unsigned polls = 0;
	while (!ready())
		wait_pause(polls);
	pgas_fence_acquire();
}

inline void await_number(const line *l, uint64_t number)
{
	await([=] { return pgas_load_relaxed(&l->number) >= number; });
}

// --- moves -----------------------------------------------------------------------------------------------------------

void sync(team &t);      // by the algorithm of the table
void sync_push(team &t); // dissemination: nobody touches my block any more when it returns

// An exchange: begin gives the number; post my line to each member, then gather; after that in_line(t, t.block, number,
// j) is what member j posted, until exchange number + 2 begins.
// until it has completed collective `number`, or a later one
uint64_t await_progress_of(team &t, int member, uint64_t number);
[[gnu::cold, gnu::noinline]] void await_progress(team &t, uint64_t number); // the same of all
inline uint64_t exchange_begin(team &t)
{
	const uint64_t number = ++t.exchanges;
	if (PGAS_UNLIKELY(t.known + kRing < number)) // is my line of number - kRing read everywhere?
		await_progress(t, number - kRing);
	return number;
}
inline void exchange_post(team &t, uint64_t number, int member, const line &from, size_t bytes)
{
	set_line(t, member, in_line(t, t.block, number, t.my_pe), number, from, bytes);
}
void exchange_gather(team &t, uint64_t number);
void exchange(team &t, const void *payload, size_t bytes); // the same bytes for everybody
inline const char *exchanged(const team &t, int from)
{
	return in_line(t, t.block, t.exchanges, from)->payload;
}
void completed(team &t); // says to a later root that I am through with collective t.exchanges

// --- memory and life (shmem_team_memory.cpp, shmem_team.cpp) ---------------------------------------------------------

struct slot {
	uint32_t at = 0;   // in lines from g.internal; 0: none
	uint64_t last = 0; // highest number in it
};
slot arena_take(uint32_t lines);
void arena_give(slot s, uint32_t lines);
slot staging_take(); // kept apart from blocks: what is in it are no numbers
void staging_give(uint32_t at);
void arena_setup(); // at init
void arena_close();
void pool_setup(uint32_t lines); // SHMEM_TEAM_AGREE=bitmask
uint64_t pool_free();            // bit i: place i is free here
slot pool_take(int place);
void pool_give(int place, uint64_t last);
uint64_t pool_last();

bool team_arrays(team &t, int n); // allocates them
void team_release(team &t);       // gives everything of it back; nobody may use it any more
void teams_setup();               // world and shared, at init
void teams_close();
void team_contexts_close(team &t);

// The team of a handle, or null when it is none that may be used.
inline team *live_team(shmem_team_t handle)
{
	if (PGAS_UNLIKELY(handle == SHMEM_TEAM_INVALID))
		return nullptr;
	team *t = from_handle(handle);
	return PGAS_LIKELY(t->magic == kTeamLive) ? t : nullptr;
}

} // namespace shmem
