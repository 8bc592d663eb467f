// SPDX-License-Identifier: BSD-3-Clause
//
// Places in the memory of teams: see teams_memory.cpp.
#pragma once

#include <pgas/pgas_base.hpp>

#include <teams/teams_team.hpp>

namespace pgas::teams {

// Holds a mutex; costs nothing when there is only one thread.
class locked : pgas::mutex_holder {
public:
	explicit locked(pthread_mutex_t &mutex) : mutex_holder(mutex, g_job.threads) {}
};

struct arena_range {
	uint32_t line = 0; // in lines from g_job.memory; 0: none
	uint64_t last = 0; // highest number in it
};
inline char *arena_address(uint32_t pos)
{
	return g_job.memory + size_t{pos} * kLine;
}

bool arena_setup(); // false: out of memory
void arena_close();
arena_range arena_take(uint32_t lines);
void arena_give(arena_range s, uint32_t lines);
arena_range staging_take(uint32_t lines); // kept apart from blocks: it does not hold numbers
void staging_give(uint32_t pos, uint32_t lines);

// agreement::bitmask
void pool_setup(uint32_t lines);
uint64_t pool_free(); // bit i: place i is free here
arena_range pool_take(int place);
void pool_give(int place, uint64_t last);
uint64_t pool_last();

} // namespace pgas::teams
