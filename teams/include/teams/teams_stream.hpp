// SPDX-License-Identifier: BSD-3-Clause
//
// Copies that go around the caches. A plain store to a line that is nowhere near first reads it; a collective that
// writes more than the caches hold pays for that with a third of the memory's bandwidth, and throws out what the
// program had in them. One that writes less pays for going around them: the next reader finds its lines in memory
// instead of a cache.
#pragma once

#include <sched.h>

#include <cstddef>
#include <cstdint>

namespace pgas::teams {

enum class streamer : unsigned { fcollect, collect, alltoall, reduce, count };

// From how many bytes on a collective goes around the caches; the bytes are what all its members on this host read and
// write.
struct stream_limits {
	size_t bytes[static_cast<unsigned>(streamer::count)] = {SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX};
};
// asked: by the user, for all; 0 when not. last_level: bytes of the last-level caches of the CPUs that the members run
// on.
stream_limits stream_limits_of(size_t asked, size_t last_level);
size_t last_level_bytes(const cpu_set_t &cpus);
// As memmove. Ordered before later stores like any other store.
void copy_streamed(void *dst, const void *src, size_t bytes);

} // namespace pgas::teams
