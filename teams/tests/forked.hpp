// SPDX-License-Identifier: BSD-3-Clause
//
// A client of teams that is none of our libraries: forked processes over one shared mapping, in which each has a part
// of its own. It shows that teams and collectives need nothing but what teams_client.hpp says.
#pragma once

#include <cstddef>
#include <cstdint>

#include <teams/teams_coll.hpp>
#include <teams/teams_split.hpp>

namespace forked {

namespace teams = pgas::teams;

// What a process has: [memory of teams][data of the test], at the same offsets in every part.
constexpr size_t kTeamBytes = size_t{32} << 20;
constexpr size_t kDataBytes = size_t{4} << 20;

// How a job runs.
struct job {
	int size = 4;
	int per_host = 1 << 20;    // ranks 0, 1, ... up to so many are on one host, and so on
	int hosts_in_turn = 0;     // or: rank 0 is on host 0, rank 1 on host 1, and so on, around so many
	bool maps_nothing = false; // no memory of another process is mapped, even on the same host
	size_t team_bytes = kTeamBytes / 2;
	teams::algorithms forced;
	teams::agreement agree = teams::agreement::slots;
	bool crowded = true;
	bool nonblocking = false;
};

// The client's own part of a team must outlast what teams do with theirs.
struct own_team : teams::team {
	uint64_t seal = kSeal;
	unsigned ended = 0;
	static constexpr uint64_t kSeal = 0x5ea1;
};

// Calls that came from teams, in this process.
struct calls {
	unsigned mapped, far, teams_new, teams_ended, teams_free;
};
extern calls g_calls;

// In a process of the job: what it works with.
extern int g_rank;
extern own_team g_world;
char *data();                              // my data, symmetric
char *at_rank(const void *mine, int rank); // another process's copy of it, for checks

// Forks the processes, opens teams in each and runs body, then closes them. Returns how many processes failed; a
// process that fails ends the others.
int run(const job &how, void (*body)());
// The same without opening teams.
int run_bare(const job &how, void (*body)());
teams::outcome open_teams(unsigned life = 0); // each life of two has memory of its own, which is new

// Ends this process as failed, with a line.
[[noreturn]] void failed(const char *file, int line, const char *what);

} // namespace forked

#define EXPECT(condition_arg)                                                                                          \
	do {                                                                                                           \
		if (!(condition_arg))                                                                                  \
			forked::failed(__FILE__, __LINE__, #condition_arg);                                            \
	} while (0)
