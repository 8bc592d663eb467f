// SPDX-License-Identifier: BSD-3-Clause
//
// Copies that bypass the caches. A plain store to an uncached line first reads it; a collective that writes more than
// the caches hold pays for that with a third of the memory bandwidth, and evicts the program's data. One that writes
// less pays for bypassing them: the next reader finds its lines in memory instead of a cache.
#pragma once

#include <sched.h>

#include <cstddef>
#include <cstdint>

namespace pgas::teams {

enum class streamer : unsigned { fcollect, collect, alltoall, reduce, count };

// The size from which a collective bypasses the caches, counted in bytes that all its members on this host read and
// write.
struct stream_limits {
	size_t bytes[static_cast<unsigned>(streamer::count)] = {SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX};
};
// asked: the user's limit for all; 0 if not set. last_level: total size of the last-level caches of the CPUs that the
// members run on.
stream_limits stream_limits_of(size_t asked, size_t last_level);
size_t last_level_bytes(const cpu_set_t &cpus);
// Like memmove. Ordered before later stores like any other store.
void copy_streamed(void *dst, const void *src, size_t bytes);

} // namespace pgas::teams
