// SPDX-License-Identifier: BSD-3-Clause
//
// What teams and collectives need from the library that offers them to programs (the client), and how that library
// starts and ends them. The client fills one struct, once. Hot paths read plain values; function pointers are for what
// is slow or rare anyway: memory that is not mapped here, waiting, failures.
//
// A process of the job has a rank. "Symmetric" memory exists in every process, at an address of its own in each; a
// process names a place in another process's symmetric memory by the local address of the same place.
#pragma once

#include <cstddef>
#include <cstdint>

#include <teams/teams_stream.hpp>

namespace pgas::teams {

struct team;

// --- algorithms; automatic: the tables in teams_choose.cpp decide ----------------------------------------------------

enum class barrier_algorithm : int { automatic, central, tree, dissemination, two_level };
enum class reduce_algorithm : int { automatic, direct, recursive, ring, two_level, shares };
enum class bcast_algorithm : int { automatic, direct, flat, tree, scatter, two_level };
enum class fcollect_algorithm : int { automatic, direct, recursive, ring, two_level };
enum class alltoall_algorithm : int { automatic, direct, pairwise, two_level };

struct algorithms {
	barrier_algorithm barrier{};
	reduce_algorithm reduce{};
	bcast_algorithm bcast{};
	fcollect_algorithm fcollect{}; // collect uses it too
	alltoall_algorithm alltoall{};
};

// How the members of a new team agree on its memory: see teams_memory.cpp.
enum class agreement { slots, bitmask };

// What teams_nb.hpp may do; none: teams have no memory for it.
//
//   any_memory   source and dest may be any memory: all data passes through the teams' memory
//   symmetric    they are symmetric, and dest is ready on all members before any of them calls
enum class nonblocking_kind { none, any_memory, symmetric };

// --- the client ------------------------------------------------------------------------------------------------------

struct client {
	// The job. mapped() is called only for ranks on my host. The array must stay until close().
	int me = 0, size = 0;
	const uint64_t *hosts = nullptr;
	bool crowded = false; // more processes than cores on this host
	bool threads = false; // several threads may make and end teams concurrently
	nonblocking_kind nonblocking = nonblocking_kind::none;

	// The user's choices.
	algorithms forced;
	agreement agree = agreement::slots;
	stream_limits stream;

	// Symmetric memory for teams: all zero, of the same length on every process; pages are committed only when
	// touched. The first lines (teams_team.hpp) belong to the client; at least one.
	char *memory = nullptr;
	size_t memory_bytes = 0;
	uint32_t client_lines = 1;

	// Waiting: poll this many times at once, then call pause() after each poll that finds nothing. `polls` starts
	// at 0. pause_near() is for a word that only processes of this host store to: such a wait need not sleep on the
	// network, whose arrivals do not end it.
	unsigned eager_polls = 64;
	void (*pause)(unsigned &polls) = nullptr;
	void (*pause_near)(unsigned &polls) = nullptr;

	// Where rank's copy of a symmetric address is mapped here, or null. Called once for each rank on my host.
	void *(*mapped)(const void *mine, int rank) = nullptr;

	// Memory that is not mapped. put: source may be reused when it returns. set and add: a process that sees the
	// new value sees all that I wrote before, and all that I put or set at the same rank before; add returns the
	// old value. None of them needs to wait for the other side, so data and the word that announces it make one
	// message. settle: all that I put has arrived. read is atomic, and an acquire.
	void (*put)(void *dest, const void *source, size_t bytes, int rank) = nullptr;
	void (*settle)() = nullptr;
	void (*get)(void *dest, const void *source, size_t bytes, int rank) = nullptr;
	void (*set)(uint64_t *dest, uint64_t value, int rank) = nullptr;
	uint64_t (*add)(uint64_t *dest, uint64_t value, int rank) = nullptr;
	uint64_t (*read)(const uint64_t *source, int rank) = nullptr;

	// The client's teams are structs that begin with struct team. The client allocates (null when out of memory)
	// and frees them, and each is used for one team after another. team_ended lets the client close its own part of
	// a team.
	team *(*team_new)() = nullptr;
	void (*team_ended)(team &t) = nullptr;
	void (*team_free)(team *t) = nullptr;

	// Ends the job with a message; does not return.
	void (*fail)(const char *routine, const char *text) = nullptr;
	// collect() learns the required length of dest only after the members have met. Does not return when that is
	// too long. May be null.
	void (*check_dest)(const char *routine, const void *dest, size_t bytes) = nullptr;
};

// --- start and end ---------------------------------------------------------------------------------------------------

constexpr int kMostRanks = 1 << 20; // see kRounds

enum class outcome { done, out_of_memory, no_room };

// Takes the client's values and makes the team of all ranks. Not collective: members have their memory at the same
// places, because every process takes it in the same order. So after it every rank must call predefine() for the same
// number of teams. Collectives may begin when all members' memory can be reached.
outcome open(const client &c, team &world);
outcome predefine(team &t, const int *ranks, int count); // the caller is one of them
// Ends all teams. No process may use my memory any more.
void close();

// Has a member of one of my teams begun a collective that I have not entered? If I never enter it, that member waits
// forever.
bool is_awaited();

} // namespace pgas::teams
