// SPDX-License-Identifier: BSD-3-Clause
//
// Where the blocks of teams come from. The client's memory for teams is address space that costs nothing until it is
// touched; a block is taken from a list of returned blocks of its size, or from the end. Every process does this for
// itself: members of a team need not use the same place, because they tell each other theirs. Hence there is no
// agreement and no maximum, and no two live teams of a process share a place.
//
// agreement::bitmask is the classic way, kept for comparison: a pool of 64 places that are the same on every process,
// and a mask of free ones that is combined by AND over the parent.
#include "teams_memory.hpp"

#include <new>
#include <vector>

namespace pgas::teams {
namespace {

constexpr unsigned kClasses = 27; // blocks of 2^k lines
constexpr int kPlaces = 64;

struct arena {
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	std::vector<arena_range> given_back[kClasses];
	std::vector<arena_range> staging[kClasses];
	uint64_t end = g_job.client_lines;
	// the pool
	uint32_t pool_at = 0, pool_lines = 0;
	uint64_t pool_free = 0;
	uint64_t pool_last = 0;
};
arena *g_here = nullptr;

unsigned class_of(uint32_t lines)
{
	return lines <= 1 ? 0 : 32u - static_cast<unsigned>(__builtin_clz(lines - 1));
}

uint32_t take_from_end(uint64_t lines)
{
	if ((g_here->end + lines) * kLine > g_job.memory_bytes)
		return 0;
	const uint64_t pos = g_here->end;
	g_here->end += lines;
	return static_cast<uint32_t>(pos);
}

arena_range take(std::vector<arena_range> &given_back, uint64_t lines)
{
	if (given_back.empty())
		return {take_from_end(lines), 0};
	const arena_range s = given_back.back();
	given_back.pop_back();
	return s;
}

} // namespace

arena_range arena_take(uint32_t lines)
{
	const unsigned c = class_of(lines);
	if (c >= kClasses)
		return {};
	const locked lock(g_here->mutex);
	return take(g_here->given_back[c], uint64_t{1} << c);
}

arena_range staging_take(uint32_t lines)
{
	const unsigned c = class_of(lines);
	if (c >= kClasses)
		return {};
	const locked lock(g_here->mutex);
	return take(g_here->staging[c], uint64_t{1} << c);
}

void staging_give(uint32_t pos, uint32_t lines)
{
	if (!pos)
		return;
	const locked lock(g_here->mutex);
	g_here->staging[class_of(lines)].push_back({pos, 0});
}

void arena_give(arena_range s, uint32_t lines)
{
	if (!s.line)
		return;
	const locked lock(g_here->mutex);
	g_here->given_back[class_of(lines)].push_back(s);
}

bool arena_setup()
{
	g_here = new (std::nothrow) arena;
	return g_here != nullptr;
}

void arena_close()
{
	delete g_here;
	g_here = nullptr;
}

void pool_setup(uint32_t lines)
{
	g_here->pool_lines = lines;
	g_here->pool_at = take_from_end(uint64_t{lines} * kPlaces);
	g_here->pool_free = g_here->pool_at ? UINT64_MAX : 0;
	g_here->pool_last = 0;
}

uint64_t pool_free()
{
	const locked lock(g_here->mutex);
	return g_here->pool_free;
}

arena_range pool_take(int place)
{
	const locked lock(g_here->mutex);
	g_here->pool_free &= ~(uint64_t{1} << place);
	return {g_here->pool_at + g_here->pool_lines * static_cast<uint32_t>(place), g_here->pool_last};
}

void pool_give(int place, uint64_t last)
{
	const locked lock(g_here->mutex);
	g_here->pool_free |= uint64_t{1} << place;
	if (last > g_here->pool_last)
		g_here->pool_last = last;
}

uint64_t pool_last()
{
	const locked lock(g_here->mutex);
	return g_here->pool_last;
}

} // namespace pgas::teams
