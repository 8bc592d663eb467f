// SPDX-License-Identifier: BSD-3-Clause
//
// Staging memory is allocated in the symmetric heap at init, so nothing is exchanged.
#include "shmem_stage.hpp"
#include "core/shmem_fail.hpp"

#include <algorithm>
#include <string>

namespace shmem {

stage_memory g_stage;

namespace {

tune_table g_tune;

} // namespace

void stage_read(const char *name)
{
	std::string why;
	const char *path = g_shmem.env.tune_file;
	g_tune = tune_defaults();
	if (path && !tune_read(path, g_tune, why))
		fail(name, "SHMEM_TUNE_FILE: %s", why.c_str());
}

uint64_t stage_fingerprint()
{
	return tune_fingerprint(g_tune);
}

void stage_open(bool threads)
{
	g_stage = {};
	auto *room = threads ? nullptr : static_cast<char *>(g_shmem.heap_.alloc(2 * kMostStaged));
	if (room)
		g_stage = {room, room + kMostStaged};
}

void stage_close()
{
	g_stage = {};
	g_tune.clear();
}

size_t stage_limit(const char *kind, tuned what, int pes)
{
	return std::min(kMostStaged, staged_up_to(g_tune, kind, what, pes));
}

} // namespace shmem
