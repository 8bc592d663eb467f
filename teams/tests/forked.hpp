// SPDX-License-Identifier: BSD-3-Clause
//
// A client of teams that is not one of our libraries: forked processes over one shared mapping, in which each has its
// own part. It shows that teams and collectives need only what teams_client.hpp declares.
#pragma once

#include <cstddef>
#include <cstdint>

#include <teams/teams_coll.hpp>
#include <teams/teams_split.hpp>

namespace forked {

namespace teams = pgas::teams;

// A process's memory: [memory of teams][data of the test], at the same offsets in every part.
constexpr size_t kTeamBytes = size_t{32} << 20;
constexpr size_t kDataBytes = size_t{4} << 20;

// How a job runs.
struct job {
	int size = 4;
	int per_host = 1 << 20;    // ranks 0, 1, ... up to this many share a host, and so on
	int hosts_in_turn = 0;     // or: ranks are spread round-robin over this many hosts
	bool maps_nothing = false; // no memory of another process is mapped, even on the same host
	size_t team_bytes = kTeamBytes / 2;
	teams::algorithms forced;
	teams::agreement agree = teams::agreement::slots;
	bool crowded = true;
	bool nonblocking = false;
};

// The client's own part of a team, which must outlive the teams' use of it.
struct own_team : teams::team {
	uint64_t seal = kSeal;
	unsigned ended = 0;
	static constexpr uint64_t kSeal = 0x5ea1;
};

// Calls from teams, in this process.
struct calls {
	unsigned mapped, far, teams_new, teams_ended, teams_free;
};
extern calls g_calls;

// State of a process of the job.
extern int g_rank;
extern own_team g_world;
char *data();                              // my data, symmetric
char *at_rank(const void *mine, int rank); // another process's copy of it, for checks

// Forks the processes, opens teams in each and runs body, then closes them. Returns how many processes failed; a
// process that fails ends the others.
int run(const job &how, void (*body)());
// The same without opening teams.
int run_bare(const job &how, void (*body)());
teams::outcome open_teams(unsigned life = 0); // each of two lives has its own, fresh memory

// Ends this process as failed, with a line.
[[noreturn]] void failed(const char *file, int line, const char *what);

} // namespace forked

#define EXPECT(condition_arg)                                                                                          \
	do {                                                                                                           \
		if (!(condition_arg))                                                                                  \
			forked::failed(__FILE__, __LINE__, #condition_arg);                                            \
	} while (0)
